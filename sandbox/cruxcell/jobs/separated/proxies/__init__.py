"""What stands for an object of the other half, and what it asks.

remote        the proxies
facts         what is known of a proxy: its number, its age, how a test came by it
proxy_classes their classes
special_methods what these have in the place of each special method of what they stand for
metaclasses   what the class of a class says of it
asking        what special methods of proxies ask, those of values among them
flags         members of an IntFlag, which are numbers
counting      what a test compares and reckons with counters of the other half
members       members of enums that the script has read from their class
operations    what may be asked of an object of the other half
marks         attributes that the program sets of the script's functions
shared_names  what both halves have, and which of it may be asked for by name
told          what classes of the other half have, as it tells
libraries     which classes of libraries proxies are of, for a script that asks
library_values what objects equal whose `==` is a library's
deriving      classes that a script derives from the program's
signatures    what the program sees of a function of the script
looking       what a test that looks at the program is told: by dir, vars, inspect
copies        copies that one half makes of its objects for the other
placing       where objects have their place in sets and dicts that are read
equality      when two objects of a class of the program's are equal to a test
matching      what stands at the same place in two containers, whatever its hash
notes         what objects of a program's held before a test made another
doubts        what a test took for different, and a class says is equal
compared_tables tables of pandas' that a script has an object of the program's compared with
readings      what a value is in another form
item_by_item  arrays and tables that objects hold, whose `==` is neither true nor false
runs          what runs in steps: generators, awaitables, context managers
awaiting      the event loop of what the test awaits
loops         how long event loops run, their time, the order of ends
"""
