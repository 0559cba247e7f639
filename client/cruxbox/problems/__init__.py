"""Problem sets with tests as their authors publish them, read into one shape.

functions, evalplus    HumanEval, MBPP and EvalPlus, and EvalPlus's own files
contests, packed       APPS, CodeContests and LiveCodeBench, and the latter's pickles
bigcodebench           BigCodeBench
shapes                 what they are read into: problems, samples, what is to be run
records, reading       rows of files and folders; rows made into problems and samples
heads, sanitizing      what stands in front of a program; code out of chat
packages               what tests import and a runtime lacks
running, results       stages and windows; result lines and pass@k
"""
