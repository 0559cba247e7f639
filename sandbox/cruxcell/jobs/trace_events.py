"""Steps as the CRUXEval paper counts them: trace events of a whole script."""

import os
import sys
from sys import settrace

from cruxcell.analysis.bytecode import all_codes
from cruxcell.analysis.parsing import PROGRAM
from cruxcell.protocol import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

_HARNESS = __file__.rpartition("/jobs/")[0] + "/"
_LONGEST_CODEC = 30  # characters of a codec's name
_FOLDER_OF_A_SCRIPT = os.__file__.rpartition("/")[0] + "/json"


def _load_codecs(code):
    # type: (CodeType) -> None
    """Load the codecs a program names: the released numbers are those of a process that had used them before."""
    import _codecs
    import encodings
    import encodings.aliases

    aliases = encodings.aliases.aliases
    known = {*aliases, *aliases.values()}
    for name in _texts_of(code):
        if len(name) > _LONGEST_CODEC or not name.isascii():
            continue
        if encodings.normalize_encoding(name).lower() in known:
            try:
                _codecs.lookup(name)
            except LookupError:
                pass


def _texts_of(code):
    # type: (CodeType) -> list[str]
    """The texts among the constants of a code and those within it, also in tuples."""
    constants = [constant for each in all_codes(code) for constant in each.co_consts]
    parts = [part for each in constants for part in (each if isinstance(each, tuple) else (each,))]
    return [part for part in parts if isinstance(part, str)]


def count_events(code, namespace):
    # type: (CodeType, dict[str, Any]) -> tuple[int, set[str]]
    """numsteps of the released code: every call, line, opcode, return and exception event of every Python frame.

    Also whether there was an exception, and whether a frame was not the program's own (the import of a codec): the
    released filter applied its rules to those frames, too.
    """
    count = 0
    found = set()  # type: set[str]

    def trace(frame, event, _argument):
        # type: (FrameType, str, Any) -> Any
        nonlocal count
        if frame.f_code.co_filename.startswith(_HARNESS):
            return None  # what stands in for C, which has no events: stdout in memory, opening instead of stat
        count += 1
        if event == "exception":
            found.add(messages.EXCEPTION_EVENT)
        elif event == "call" and frame.f_code.co_filename != PROGRAM:
            found.add(messages.LIBRARY_CODE)
        frame.f_trace_opcodes = True
        return trace

    _load_codecs(code)
    # An import looks into the script's own folder first; a folder of the runtime that holds no such module stands in.
    # A look for what is not there lets the import system know all folders, as a script's own imports would have.
    sys.path.insert(0, _FOLDER_OF_A_SCRIPT)
    sys.meta_path[-1].find_spec("no_such_module", None)
    settrace(trace)
    try:
        exec(code, namespace)
    finally:
        settrace(None)
    return count, found
