"""Mutants of the modules that judge: would a test notice if a check were gone? `make mutation` runs it."""
