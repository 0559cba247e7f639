"""The step counter of the pure twin: by `sys.settrace` up to 3.11, by `sys.monitoring` from 3.12 on."""

import os
import sys
from _thread import get_ident as _get_ident
from sys import getprofile, gettrace, setprofile, settrace

from cruxcell.protocol import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType  # noqa: F401 - in type comments
    from typing import Any

# Taken now: what a candidate puts in their place later changes nothing.
_exit, _write = os._exit, os.write

_TOOL_NAME = "cruxcell"
_CodeType = type((lambda: None).__code__)
_monitoring: "Any" = vars(sys).get("monitoring")


class _State:
    """What changes with each run."""

    __slots__ = ("running", "steps")

    def __init__(self):
        # type: () -> None
        self.running, self.steps = False, 0


_state = _State()


def run(code, globals, limit, fd, report):
    # type: (CodeType, dict[str, object], int, int, bytes) -> object
    """Evaluate a code object and count the steps of the frames it starts.

    Args:
        code: what to evaluate, without free variables.
        globals: its namespace; gets `__builtins__` when it has none.
        limit: the most steps allowed; 0 means no limit. One more writes the report and ends the process.
        fd: where the report goes.
        report: what is written before the process ends with status 61, which nothing can catch.
    """
    if not isinstance(code, _CodeType):
        raise TypeError("run takes a code object, not %s" % type(code).__name__)
    if code.co_freevars:
        raise TypeError("run takes a code object without free variables")
    if _state.running:  # or a candidate could start its count anew
        raise RuntimeError("run is already running")
    _state.running = True
    try:
        return _count(code, globals, limit, fd, report)
    finally:
        _state.running = False


def evaluate(code, globals):
    # type: (CodeType, dict[str, object]) -> object
    """Evaluates a code object and counts nothing."""
    before, _state.running = _state.running, True
    try:
        return eval(code, globals)
    finally:
        _state.running = before


def steps():
    # type: () -> int
    """The count of the last `run`."""
    return _state.steps


def _stop(fd, report):
    # type: (int, bytes) -> None
    """The step limit: nothing of the candidate runs after this, not even an exception handler."""
    try:
        while report:
            report = report[_write(fd, report) :]
    finally:
        _exit(messages.EXIT_STEPS)


def _count_traced(code, globals, limit, fd, report):
    # type: (CodeType, dict[str, object], int, int, bytes) -> object
    """Up to 3.11: opcode events of sys.settrace."""
    count = 0

    def started(frame, event, arg):
        # type: (FrameType, str, object) -> Any
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return happened

    def happened(frame, event, arg):
        # type: (FrameType, str, object) -> Any
        nonlocal count
        if event == "opcode":
            count += 1
            if count > limit > 0:
                _stop(fd, report)
        return happened

    settrace(started)
    try:
        return eval(code, globals)
    finally:
        settrace(None)
        setprofile(None)  # one that the candidate set must not watch what comes after it
        _state.steps = count


def _count_monitored(code, globals, limit, fd, report):
    # type: (CodeType, dict[str, object], int, int, bytes) -> object
    """From 3.12 on: INSTRUCTION events of sys.monitoring, without the ones of this function."""
    global _tool
    event = _monitoring.events.INSTRUCTION
    count = 0
    thread = _get_ident()

    def happened(code, offset):
        # type: (CodeType, int) -> None
        nonlocal count
        if code is not own and _get_ident() == thread:
            count += 1
            if count > limit > 0:
                _stop(fd, report)

    own = _count_monitored.__code__  # looked up by name: asking for a frame is refused to guarded code
    if _monitoring.get_tool(_tool) != _TOOL_NAME:  # what ran before gave our number away
        _tool = _take_tool()
    _monitoring.register_callback(_tool, event, happened)
    _monitoring.set_events(_tool, event)
    try:
        return eval(code, globals)
    finally:
        if _monitoring.get_tool(_tool) is not None:
            _monitoring.set_events(_tool, 0)
        if gettrace() is not None:
            settrace(None)
        if getprofile() is not None:
            setprofile(None)
        _state.steps = count


def _take_tool():
    # type: () -> int
    """A free tool number of sys.monitoring, from the end that debuggers and profilers do not use by convention."""
    for number in (4, 3, 5, 2, 1, 0):
        try:
            _monitoring.use_tool_id(number, _TOOL_NAME)
        except ValueError:
            continue
        return number
    raise ImportError("every tool number of sys.monitoring is taken")


_tool = _take_tool() if _monitoring else -1
_count = _count_monitored if _monitoring else _count_traced
