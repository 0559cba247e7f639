"""Records of a report: a worker writes each one with a single write to the report pipe.

Nothing here is believed by the daemon beyond "this is what the worker says": see the verdict table there.
"""

import struct

from cruxcell.protocol import frames, messages
from cruxcell.values.canonical import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

# index, steps, cpu ns, wall ns, flags
NUMBERS = struct.Struct("<IQQQB")
KIND_AT, INDEX_AT = 8, 13  # in an answer: behind two lengths its letter, behind another the index
OUT_OF_MEMORY = 4  # a flag
# Flags of a test's half, of which none lets a script pass: it compared objects of the program, whose classes would say
# more; its script uses what each of two processes has for itself; it had Python's own builtins where the program has
# functions or classes by their names.
BY_IDENTITY, OF_ITS_OWN, PYTHONS_OWN = 8, 16, 32

_RAISE = frozenset(
    number for name, number in __import__("opcode").opmap.items() if name in ("RAISE_VARARGS", "RERAISE")
)


# Asked of the base: a class of the program's may answer for itself (`__getattribute__`), or let nothing be set (as a
# frozen dataclass).
traceback_of = vars(BaseException)["__traceback__"].__get__
dict_of = vars(BaseException)["__dict__"].__get__
set_traceback = vars(BaseException)["__traceback__"].__set__


def text_bytes(text, limit=messages.MAX_TEXT):
    # type: (str, int) -> bytes
    return text[:limit].encode("utf-8", "backslashreplace")


def plan(hermetic, classes, details):
    # type: (bool, str, list[str]) -> bytes
    """The first record: what parsing found. `details` are the sentences of the invalid checks, in order."""
    return frames.frame(
        [messages.PLAN, b"1" if hermetic else b"0", classes.encode()] + [text_bytes(detail) for detail in details]
    )


def section(place):
    # type: (int) -> bytes
    """What stands before the records of one job of a bundle."""
    return frames.frame([messages.SECTION, struct.pack("<I", place)])


def value(numbers, kind, canonical, shown, stdout=b"", stderr=b""):  # noqa: PLR0917 - the fields of the record, in order
    # type: (bytes, bytes, bytes, bytes, bytes, bytes) -> bytes
    return frames.frame([messages.VALUE, numbers, kind, canonical, shown, stdout, stderr])


def raised(numbers, error, stdout=b"", stderr=b"", text_of=str):
    # type: (bytes, BaseException, bytes, bytes, Callable[[BaseException], object]) -> bytes
    """`text_of` asks the error for its text, which may run the candidate's code."""
    line = line_of(error)
    return frames.frame(
        [
            messages.RAISED,
            numbers,
            text_bytes(type_name(error), 200),
            text_bytes(message_of(error, text_of)),
            struct.pack("<i", line if 0 <= line < 1 << 31 else 0),
            stdout,
            stderr,
        ]
    )


def limit(kind, index, steps):
    # type: (bytes, int, int) -> bytes
    return _HEADS[kind] + NUMBERS.pack(index, steps, 0, 0, 0)


# How a record that consists of numbers begins: there is one for each run of each check, and nobody reads most. Made
# beforehand, as what a check is the first to make here breaks its seal.
_HEADS = {kind: frames.frame([kind, bytes(NUMBERS.size)])[: -NUMBERS.size] for kind in messages.LIMITS}


def ended(numbers, stdout=b"", stderr=b"", token=b""):
    # type: (bytes, bytes, bytes, bytes) -> bytes
    """`token` proves that the harness says so: not the candidate, as far as that goes in one process, and no library in
    the test's that came by the descriptor."""
    return frames.frame([messages.ENDED, numbers, stdout, stderr, token])


def findings(index, found):
    # type: (int, list[set[str]]) -> bytes
    """The record of what was found of check `index` and those behind it."""
    return frames.frame([messages.FINDINGS, struct.pack("<I", index)] + [_places(names) for names in found])


def _places(names):
    # type: (set[str]) -> bytes
    return bytes([place for place, name in enumerate(messages.FINDING_NAMES) if name in names])


def tests(results):
    # type: (list[tuple[bytes, str, str]]) -> bytes
    """The record of a suite's tests: (letter, name, message). What is long is cut, and the last ones most."""
    room, parts = messages.MAX_TESTS_BYTES // 2, []  # type: int, list[bytes]
    for letter, name, message in results:
        fields = [letter, text_bytes(name, min(200, room)), text_bytes(message, min(500, room))]
        room = max(room - len(fields[1]) - len(fields[2]), 0)
        parts.append(frames.frame(fields))
    return frames.frame([messages.TESTS, b"".join(parts)])


def harness_error(text):
    # type: (str) -> bytes
    return frames.frame([messages.HARNESS_ERROR, text_bytes(text)])


def message_of(error, text_of=str):
    # type: (Any, Callable[[Any], object]) -> str
    """str(error), which may run the candidate's code: still inside its limits, and whatever it does it is only text.
    Likewise of what a script gives as a text: it may be anything, and a class of the program's derived from str."""
    try:
        text = text_of(error)
    except BaseException:
        return "<no message>"
    return str.__str__(text) if issubclass(type(text), str) else "<no message>"


def line_of(error):
    # type: (BaseException) -> int
    """The line of the program or check that raised: the innermost frame whose file is one of ours to name."""
    line, trace = 0, traceback_of(error)
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in ("<program>", "<check>"):
            line = trace.tb_lineno or 0
        trace = trace.tb_next
    return line


def is_out_of_memory(error):
    # type: (BaseException) -> bool
    """A MemoryError that the interpreter or an extension raised, not one that a `raise` statement made up.

    Extensions have subclasses of their own. The class is asked, not the object, which could answer for itself.
    """
    if not issubclass(type(error), MemoryError):
        return False
    trace = traceback_of(error)
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_lasti < 0:
        return True
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] not in _RAISE
