"""How objects, classes and exceptions of one half are written, and what the other makes of them.

objects       what is not plain data
by_name       what both halves have
classes       what is told of a class that only one half has
exceptions    what is told of an exception, and one made of that
told_states   what a test was told that objects hold, objects within them, and what of it has changed
numbered      what each half has shown to the other, and the proxies it holds
"""
