"""The confined part of cruxbox: what runs inside zygotes and workers. Standard library only, Python 3.8 and later."""
