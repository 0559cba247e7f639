"""A script check in two processes: the candidate serves calls, the test makes them.

The candidate's half never sees the script, the test's half never runs a line of the candidate. What is plain data
crosses by value; of everything else its owner keeps the object, and the other half holds a proxy for it.

    candidate     the half that loads the program and serves
    test          the half that runs the script
    script_link   the test's link: what the script asks, what it is told, and where it ends at once
    followed      what it does with a library that the candidate has a part in
    exchange      questions and answers between the halves, and what goes with them
    crossing      how objects, classes and exceptions are written and read
    state         what each half's process has of its own and the other sees: files, settings, streams, figures, times
    rules         what a script has and runs, and what of that the candidate may not decide
    proxies       what stands for an object of the other half, and what it asks

What the candidate sends is hostile: it is only ever decoded to plain data, proxies, and classes made here.
"""

from cruxcell.jobs.separated.candidate import run_serve
from cruxcell.jobs.separated.exchange.link import CHANNEL
from cruxcell.jobs.separated.test import run_test

__all__ = ["CHANNEL", "run_serve", "run_test"]
