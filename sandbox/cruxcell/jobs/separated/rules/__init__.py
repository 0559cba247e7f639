"""What a script has and runs, and what of that the candidate may not decide.

script        what a script says about itself: its names, and what it raises by itself
own_code      what code is the script's own
program_names which names of the program it has, and what stands behind them
submodules    those that it takes of a package, which the program has imported
texts         what it runs as code beside itself
made_code     code that libraries make of identifiers
pickles       pickles of one half that the other loads
docstrings    doctests that it runs over the program
configurations what configurations for logging, documents of YAML and expressions of pandas name
databases     SQL that may be the candidate's: which functions it calls, what it attaches
by_libraries  what a library of the test's does because the candidate says so
memory        what reaches the memory of the test's process
truths        whether arrays that come of comparisons are true
"""
