"""What the process of each half has of its own, and the other half sees.

lending       what a script sets in its own process for the program
borrowing     what the program has of that
patched_places the places that the script may patch
seeds         where the random numbers are that it sets
context_variables requests and applications of flask that are under way
library_settings those of django and matplotlib
search_path   `sys.path`, from which the script imports nothing of the program's
decimals      the context of decimal numbers, which it sets, too
mocks         mocks of the script that it reads back from the program
figures       figures of pyplot, of which both have the same
folders       the scratch folder of one half
changed_times when files of the other half were changed
files         files that the script passes, and those that the program makes
listening     warnings and logs of the program that the script listens to
redirected    streams of the program's that the script prints to
measured      CPU time that a script measures
running_threads threads that it counts
traced        memory that it traces
waits         what is heard of the program's threads while it waits
"""
