"""What a script runs as code beside itself: never a text that it may have from the candidate.

Scripts evaluate texts, unpickle bytes and run doctests. Once the candidate has answered, what they run may be the
candidate's, and would run in the test's process, where it decides. From then on a test's worker ends where the script
runs what is neither its own nor harmless. An audit hook sees that before any of it has run, and cannot be removed.
"""

import builtins
import os
import sys
from opcode import hasname, opmap

from cruxcell.analysis.bytecode import LOADS, Anatomy, loaded_names, nested_codes
from cruxcell.analysis.hermetic import SAFE_BUILTINS
from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated.operations import is_public
from cruxcell.jobs.separated.remote import RemoteType
from cruxcell.jobs.separated.script import texts_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType  # noqa: F401 - in type comments
    from typing import Any, Callable  # noqa: F401 - in type comments

# Audit events of what makes code run that was no function before: what the interpreter itself does raises none.
_RUNS = ("exec", "function.__new__", "object.__setattr__", "pickle.find_class")
# They run texts that they put together from identifiers.
_BUILDERS = frozenset(["collections", "dataclasses"])
_IMPORTERS = frozenset(["_frozen_importlib", "_frozen_importlib_external", "_pytest.assertion.rewrite"])
_IMPORTERS |= {"importlib._bootstrap", "importlib._bootstrap_external"}
_ATTRIBUTES = frozenset([opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in opmap])
_MORE = frozenset(hasname) - LOADS - _ATTRIBUTES
_CALM = frozenset(
    [name for name in SAFE_BUILTINS if not isinstance(getattr(builtins, name), type)]
    + ["bool", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "range", "set", "str", "tuple"]
)
_FLAGS = 0x1FF0000  # of a code: which `from __future__ import` were in force
_TWIN = "cruxcell.native.pure"  # whose hook is a function of Python's itself
_frame = sys._getframe


def guard(hear, script, may_be_foreign, given, leave):
    # type: (Callable[..., object], CodeType, Callable[[], bool], Callable[[], list[str]], Callable[[int], None]) -> None
    """From now on, and as long as this process lives.

    Args:
        hear: that of the native helper.
        script: the script's code.
        may_be_foreign: may the script hold texts of the candidate?
        given: the names of the program that the script was given.
        leave: ends the worker; it is told the line of the script.
    """
    own = _Own(script)
    runtime = [each for each in (sys.prefix, sys.base_prefix, *sys.path) if os.path.isabs(each)]
    folders = ("<frozen ", *[os.path.join(each, "") for each in runtime])

    def listen(event, arguments):
        # type: (str, tuple[Any, ...]) -> None
        if not may_be_foreign() or (event == "object.__setattr__" and arguments[1] != "__code__"):
            return
        caller = _frame(1)  # type: Any
        while _name_of(caller) == _TWIN:
            caller = caller.f_back
        code = arguments[0] if event in ("exec", "function.__new__") else None
        if not (
            _is_of_a_module(caller, code, folders) or (code is not None and own.has(code, _Known(given(), caller)))
        ):
            leave(_line_of(caller))

    hear(_RUNS, listen)


class _Own:
    """What a script may run at any time: code of its own, and what only uses the program and constants."""

    def __init__(self, script):
        # type: (CodeType) -> None
        self._script = script
        self._codes = None  # type: set[CodeType] | None

    def has(self, code, given):
        # type: (CodeType, Any) -> bool
        if _is_harmless(code, given):
            return True
        if self._codes is None:
            self._codes = _codes_of(self._script)
        return code in self._codes


def _is_harmless(code, given):
    # type: (CodeType, Any) -> bool
    """Does it bind nothing, and use no names but the program's and those of pure functions? Of what it meets there it
    may take what the candidate might take of the test's objects anyhow."""
    anatomy = Anatomy(code)
    if anatomy.all_operations & _MORE or not all(map(is_public, anatomy.all_names)):
        return False
    return all(name in _CALM or name in given for name in loaded_names(code))


class _Known:
    """The names that are the program's: those that the script was given, and its variables that hold such objects."""

    def __init__(self, given, frame):
        # type: (list[str], FrameType) -> None
        self._given, self._variables = given, (frame.f_locals, frame.f_globals)

    def __contains__(self, name):
        # type: (str) -> bool
        if name in self._given:
            return True
        value = next((each[name] for each in self._variables if name in each), None)
        return isinstance(type(value), RemoteType) or type(value) is RemoteType


def _codes_of(script):
    # type: (CodeType) -> set[CodeType]
    """The script's functions, and what its constant texts are as code."""
    codes = [script]  # type: list[Any]
    for each in codes:
        codes += nested_codes(each)
    flags, found = script.co_flags & _FLAGS, set(codes)
    for text in texts_in([const for each in codes for const in each.co_consts]):
        for source, mode in _sources(text):
            try:
                found.add(compile(source, CHECK, mode, flags, True))
            except (SyntaxError, ValueError, MemoryError, RecursionError):
                pass
    return found


def _sources(text):
    # type: (str) -> list[tuple[str, str]]
    """A text as `eval` and `exec` read it, and the examples of a docstring."""
    found = [(text.lstrip(" \t"), "eval"), (text, "exec")]
    doctest = sys.modules.get("doctest")  # type: Any
    if doctest is not None and ">>>" in text:
        try:
            found += [(each.source, "single") for each in doctest.DocTestParser().get_examples(text)]
        except ValueError:
            pass
    return found


def _is_of_a_module(caller, code, folders):
    # type: (FrameType, CodeType | None, tuple[str, ...]) -> bool
    """Does our own code run it, a module that makes code of identifiers, or the import of a file of the runtime?"""
    name = _name_of(caller)
    if name in _BUILDERS or name.partition(".")[0] == "cruxcell":
        return True
    frame, file = caller, "" if code is None else code.co_filename  # type: FrameType | None, str
    while frame is not None and frame.f_code.co_filename != CHECK:
        if _name_of(frame) in _IMPORTERS:
            return file.startswith(folders)
        file, frame = frame.f_code.co_filename, frame.f_back
    return False


def _name_of(frame):
    # type: (FrameType) -> str
    return str(frame.f_globals.get("__name__", ""))


def _line_of(frame):
    # type: (FrameType | None) -> int
    """The script's line that is under way; 0 if it is in another thread."""
    while frame is not None and frame.f_code.co_filename != CHECK:
        frame = frame.f_back
    return frame.f_lineno if frame is not None else 0
