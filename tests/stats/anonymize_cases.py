"""Programs and what they are called after renaming: title, program, input, renamed program, renamed input."""

from __future__ import annotations

CASES = {
    "arguments and variables in order of appearance": (
        """\
def f(text, n):
    out = text * n
    return out""",
        "'a', 2",
        """\
def f(x1, x2):
    x3 = x1 * x2
    return x3""",
        "'a', 2",
    ),
    "keywords of the call": (
        """\
def f(a, *, key=1):
    return a + key""",
        "1, key=2",
        """\
def f(x1, *, x2=1):
    return x1 + x2""",
        "1, x2=2",
    ),
    "keywords of builtins and methods stay": (
        """\
def f(key, sep):
    key.sort(key=len)
    return sorted(key, key=lambda s: s + sep), '{sep}'.format(sep=1)""",
        "['bb', 'a'], 'x'",
        """\
def f(x1, x2):
    x1.sort(key=len)
    return sorted(x1, key=lambda x3: x3 + x2), '{sep}'.format(sep=1)""",
        "['bb', 'a'], 'x'",
    ),
    "local functions and their keywords": (
        """\
def f(n):
    def half(m, by=2):
        return m // by
    return half(n, by=3) + half(m=n)""",
        "12",
        """\
def f(x1):
    def x2(x3, x4=2):
        return x3 // x4
    return x2(x1, x4=3) + x2(x3=x1)""",
        "12",
    ),
    "a helper beside f, and recursion": (
        """\
def aid(n):
    return n if n < 2 else aid(n - 1) + f(n - 2)
def f(n):
    return aid(n)""",
        "9",
        """\
def x1(x2):
    return x2 if x2 < 2 else x1(x2 - 1) + f(x2 - 2)
def f(x2):
    return x1(x2)""",
        "9",
    ),
    "globals, in the program and in the input": (
        """\
total = [1]
def f(x):
    global total
    total = total + x
    return total""",
        "total[:]",
        """\
x1 = [1]
def f(x2):
    global x1
    x1 = x1 + x2
    return x1""",
        "x1[:]",
    ),
    "a global defined after f": (
        """\
def f(a):
    return a + late

late = 3""",
        "1",
        """\
def f(x1):
    return x1 + x2

x2 = 3""",
        "1",
    ),
    "nonlocal": (
        """\
def f(n):
    count = 0
    def up():
        nonlocal count
        count += n
        return count
    up()
    return up()""",
        "2",
        """\
def f(x1):
    x2 = 0
    def x3():
        nonlocal x2
        x2 += x1
        return x2
    x3()
    return x3()""",
        "2",
    ),
    "comprehensions have scopes of their own": (
        """\
def f(x):
    y = 5
    z = [y for y in x if y] + [x for x in x for y in range(x)]
    return y, z""",
        "[1, 0, 2]",
        """\
def f(x1):
    x2 = 5
    x3 = [x2 for x2 in x1 if x2] + [x1 for x1 in x1 for x2 in range(x1)]
    return x2, x3""",
        "[1, 0, 2]",
    ),
    "a variable called like a builtin, and the builtin": (
        """\
def f(list):
    def g(x):
        return max(x)
    max_ = g(list)
    return str(max_)
def h(str):
    return str""",
        "[1, 3]",
        """\
def f(x1):
    def x2(x3):
        return max(x3)
    x4 = x2(x1)
    return str(x4)
def x5(x6):
    return x6""",
        "[1, 3]",
    ),
    "the walrus binds outside the comprehension": (
        """\
def f(x):
    y = [(last := i) for i in x]
    return last, y""",
        "[4, 5]",
        """\
def f(x1):
    x2 = [(x3 := x4) for x4 in x1]
    return x3, x2""",
        "[4, 5]",
    ),
    "exceptions, loops, with, deletion, stars": (
        """\
def f(a):
    try:
        first, *rest = a
    except ValueError as err:
        return err.args
    for i, c in enumerate(rest):
        first += i * c
    del rest
    return first""",
        "[1, 2, 3]",
        """\
def f(x1):
    try:
        x2, *x3 = x1
    except ValueError as x4:
        return x4.args
    for x5, x6 in enumerate(x3):
        x2 += x5 * x6
    del x3
    return x2""",
        "[1, 2, 3]",
    ),
    "attributes stay": (
        """\
def f(count):
    return count.count(1) + count.index(2)""",
        "[1, 2]",
        """\
def f(x1):
    return x1.count(1) + x1.index(2)""",
        "[1, 2]",
    ),
    "f stays even as a variable": (
        """\
def f(n):
    for f in range(n):
        pass
    return f""",
        "3",
        """\
def f(x1):
    for f in range(x1):
        pass
    return f""",
        "3",
    ),
    "new names make way for names that stay": (
        """\
def f(a, b):
    c = dict(x1=a)
    return c, x2(b)""",
        "1, 2",
        """\
def f(x3, x4):
    x5 = dict(x1=x3)
    return x5, x2(x4)""",
        "1, 2",
    ),
    "names that look new already": (
        """\
def f(x2, x1):
    return x2 - x1""",
        "5, x1=3",
        """\
def f(x1, x2):
    return x1 - x2""",
        "5, x2=3",
    ),
    "keywords that cannot be told stay with their parameters": (
        """\
def f(n):
    def g(by, n):
        return by + n
    h = g
    return h(by=n, n=1)""",
        "2",
        """\
def f(n):
    def x1(by, n):
        return by + n
    x2 = x1
    return x2(by=n, n=1)""",
        "2",
    ),
    "double stars reach every parameter": (
        """\
def f(a, b):
    c = {'a': 1}
    def g(a):
        return a
    return g(**c) + b""",
        "1, 2",
        """\
def f(a, b):
    x1 = {'a': 1}
    def x2(a):
        return a
    return x2(**x1) + b""",
        "1, 2",
    ),
    "collected keywords are data": (
        """\
def f(x, **more):
    return x, more""",
        "1, y=2",
        """\
def f(x1, **x2):
    return x1, x2""",
        "1, y=2",
    ),
    "classes and what they bind stay": (
        """\
def f(value):
    class Box:
        size = 2
        def grow(self, by):
            return self.size + by
    box = Box()
    return box.grow(by=value)""",
        "3",
        """\
def f(x1):
    class Box:
        size = 2
        def grow(x2, by):
            return x2.size + by
    x3 = Box()
    return x3.grow(by=x1)""",
        "3",
    ),
    "imports stay": (
        """\
import functools
def f(a):
    def g(by, n):
        return by * n
    return functools.partial(g, by=a)(3)""",
        "2",
        """\
import functools
def f(x1):
    def x2(by, x3):
        return by * x3
    return functools.partial(x2, by=x1)(3)""",
        "2",
    ),
    "a lambda in the input keeps its own names": (
        """\
k = 2
def f(g, a):
    return g(a)""",
        "lambda x1, a=1: x1 * k + a, 3",
        """\
x2 = 2
def f(x3, x4):
    return x3(x4)""",
        "lambda x1, a=1: x1 * x2 + a, 3",
    ),
    "layout and comments stay": (
        """\
def f( a,b ) :  # adds a and b
    c =a+ b ; c+=0

    return (c)""",
        " 1,  2 ",
        """\
def f( x1,x2 ) :  # adds a and b
    x3 =x1+ x2 ; x3+=0

    return (x3)""",
        " 1,  2 ",
    ),
    "letters beyond ASCII": (
        """\
def f(größe, b):
    s = 'größe' + größe; t = b
    return s, t""",
        "'é', größe=3",
        """\
def f(x1, x2):
    x3 = 'größe' + x1; x4 = x2
    return x3, x4""",
        "'é', x1=3",
    ),
}
