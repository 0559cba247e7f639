"""A script check in two processes: the candidate serves calls, the test makes them.

The candidate's half never sees the script, the test's half never runs a line of the candidate. What is plain data
crosses by value; of everything else its owner keeps the object, and the other side holds a proxy for it.

    candidate     the half that loads the program and serves
    test          the half that runs the script
    script_link   its end of the link: what the script asks, what it is told, and where it ends at once
    permissions   what the candidate may ask of the test, and how that is done for it
    submodules    those that a script takes of a package, which the program has imported
    steady        what is not asked twice in a row
    alongside     what goes with a question: what the script has set before it, what the program printed and wrote after
    own_code      what code is the script's own
    texts         what a script runs as code beside itself
    pickles       pickles of one half that the other loads
    copies        copies that one half makes of its objects for the other
    databases     SQL that may be the candidate's: which functions it calls, what it attaches
    memory        objects of libraries that reach the memory of their process
    by_libraries  what a library of the test's does because the candidate says so
    looking       what a test that looks at the program is told: by dir, vars, inspect
    configurations what configurations for logging, documents of YAML and expressions of pandas name
    docstrings    doctests that a script runs over the program
    script        what a script says about itself: its names, and what it raises by itself
    program_names which names of the program a script has, and what stands behind them
    lending       what a script sets in its own process for the program
    patched_places the places that it may patch
    seeds         where the random numbers are that it sets
    decimals      the context of decimal numbers, which it sets, too
    borrowing     what the program has of that
    mocks         mocks of the script that it reads back from the program
    figures       figures of pyplot, of which both have the same
    folders       the scratch folder of one half
    files         files that the script passes, and those that the program makes
    listening     warnings and logs of the program that the script listens to
    measured      CPU time that a script measures
    traced        memory that it traces
    redirected    streams of the program's that the script prints to
    link          the messages between them, one at a time, each side serving while it waits
    line          who may change what is known of the connection
    one_thread    questions of one thread, each side serving while it waits
    partners      whose question is open where several threads ask, and who may send
    numbered      what each side has shown to the other, and the proxies it holds
    objects       how such things are written and read
    classes       what is told of a class that only one side has
    exceptions    what is told of an exception, and one made of that
    shared_names  what both sides have, and which of it may be asked for by name
    placing       where objects have their place in sets and dicts that are read
    asking        what special methods of proxies ask, those of values among them
    proxy_classes the classes of proxies, and what their special methods ask
    readings      what a value is in another form
    equality      when two objects of a class of the program's are equal to a test
    compared_tables tables of pandas' that a script has an object of the program's compared with
    doubts        what a test took for different, and a class says is equal
    remote        the proxies
    libraries     which classes of libraries they are of, for a script that asks
    told          what classes of the other side have, as it tells
    deriving      classes that a script derives from the program's
    signatures    what the program sees of a function of the script
    runs          what runs in steps: generators, awaitables, context managers
    awaiting      the event loop of what the test awaits
    loops         how long event loops run, their time, the order of ends
    operations    what may be asked of an object of the other side

What the candidate sends is hostile: it is only ever decoded to plain data, proxies, and classes made here.
"""

from cruxcell.jobs.separated.candidate import run_serve
from cruxcell.jobs.separated.link import CHANNEL
from cruxcell.jobs.separated.test import run_test

__all__ = ["CHANNEL", "run_serve", "run_test"]
