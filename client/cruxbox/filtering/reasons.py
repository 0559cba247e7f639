"""Why a pair is refused: every reason there is, with a sentence for people. No behaviour."""

from __future__ import annotations

from collections.abc import Mapping

# What the text says by itself; decided here, by plain string functions.
TEXT: Mapping[str, str] = {
    "UNPRINTABLE": "holds a character that is neither printable nor a tab or newline",
    "FORBIDDEN_TEXT": "holds one of the forbidden texts",
    "LENGTH": "the function with its input is too short or too long",
    "DUPLICATE": "the same function and input came before",
}
# What parsing says; decided by a worker.
PARSED: Mapping[str, str] = {
    "SYNTAX": "the function or the input does not parse",
    "IMPORT_NAME": "imports something",
    "UNUSED_ARGUMENT": "f does not use every argument",
    "CALL_SHAPE": "the call is not one call of f, or f stands inside its arguments",
    "OUTPUT_SHAPE": "the output is not written with constants, lists, tuples, sets and dicts alone",
    "UNINSPECTED": "nested too deep for its operations to be looked at",
}
# What the operands are; seen by a worker while it runs.
OPERANDS: Mapping[str, str] = {
    "OPS_BIG": "an operation on two numbers beyond 3",
    "POWER_BIG": "a power of a number beyond 1",
    "TRUE_DIVIDE": "a true division",
    "FLOAT_OPS": "an operation on a float",
    "OPS_LONG": "an operation on two texts or lists longer than 3",
}
# How it ended, where it gave no output that can be kept.
ENDED: Mapping[str, str] = {
    "RAISED": "raises an exception",
    "STEPS": "takes too many steps",
    "TIME": "takes too much time",
    "MEMORY": "takes too much memory",
    "OUTPUT_TOO_LONG": "the output is too long",
    "VIOLATION": "tries what is forbidden",
    "CRASHED": "ends its process",
    "NONDETERMINISTIC": "gives another output under another hash seed",
    "UNDECIDED": "the sandbox failed; nothing is known",
}
# Only known where every trace event is counted.
EVENTS: Mapping[str, str] = {
    "LIBRARY_CODE": "library code runs while it does (importing a codec), which the released filter traced as well",
    "EXCEPTION_EVENT": "an exception is raised, even if it is caught",
}
OUTPUT_DIFFERS = "OUTPUT_DIFFERS"
BAD_ROW = "BAD_ROW"
SENTENCES: Mapping[str, str] = {
    **TEXT,
    **PARSED,
    **OPERANDS,
    **ENDED,
    **EVENTS,
    OUTPUT_DIFFERS: "the output that came with it is not the one it has",
    BAD_ROW: "the row cannot be used",
}
# A pair these hold for has no output to keep, whatever the rules say.
ALWAYS = frozenset(ENDED) - {"NONDETERMINISTIC"} | {"SYNTAX"}
