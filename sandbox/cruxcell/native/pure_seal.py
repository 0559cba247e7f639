"""The seal of the pure twin: what `native/src/seal.c` and `watch.c` do, by values and in Python.

The tokens and the snapshot are in closures, which are out of reach only as long as nobody asks the garbage collector or
a frame for them. That is made known to audit hooks, and such an event breaks the seal; but who gets there first can
switch the hook off. So this seal notices what candidates change; against code that is after the seal itself it is worth
less than the native one, whose state is in C memory.
"""

import _contextvars
import _locale
import _thread
import os
import sys
from operator import is_

from cruxcell.protocol import frames, messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

_PLACE = {name: place for place, name in enumerate(messages.SEAL_NAMES)}
_KIND_AT, _INDEX_AT = 8, 13  # in an answer; see seal.c
_STREAMS = 5
_FUNCTION_PARTS = ("__code__", "__defaults__", "__kwdefaults__", "__closure__")
_FunctionType = type(lambda: None)
_HARMLESS = frozenset(
    ["import", "open", "compile", "exec", "marshal.loads", "marshal.load", "os.listdir", "os.scandir"]
)
_LINE = ("tb_frame", "f_code")  # the harness looks for the line that raised
_VALUES = (int, float, str)


def make(state):  # noqa: PLR0915 - closures keep what nobody else may have
    # type: (Any) -> tuple[Any, ...]
    """(read_payload, watch, say, arm, seal, begin_run) of one process. `state`: is code of a task `running`; is the step
    counter being switched (`switching`), which is our own doing?"""
    tokens, watched, snapshot = [], [], []  # type: list[bytes], list[tuple[Any, ...]], list[tuple[Any, ...]]
    said = answers = answered = noticed = 0
    armed = inspecting = has_run = is_sealing = False
    write, leave, take_frame, clear = os.write, os._exit, sys._getframe, _clear_types

    def read_payload(fd, limit):
        # type: (int, int) -> list[bytes]
        nonlocal said, answers, has_run
        said = answers = 0  # a rehearsal in the zygote said something, too
        has_run = False
        fields = frames.read_frame(fd, limit)
        if len(fields) < 3:
            raise frames.FrameError("a payload has at least three fields")
        data = fields.pop(2)
        tokens[:] = [data[at : at + messages.TOKEN_BYTES] for at in range(0, len(data), messages.TOKEN_BYTES)]
        return fields

    def watch(entries):
        # type: (list[tuple[Any, ...]]) -> None
        watched.extend(entries)

    def say(fd, record):
        # type: (int, bytes) -> None
        nonlocal said, answers, answered
        if len(record) < 4 or int.from_bytes(record[:4], "little") != len(record) - 4:
            raise ValueError("say takes one whole record")
        frames.write_all(fd, record)
        if state.running:
            return
        said += len(record)
        if record[_KIND_AT : _KIND_AT + 1] in (messages.VALUE, messages.RAISED):
            answers += 1
            answered = int.from_bytes(record[_INDEX_AT : _INDEX_AT + 4], "little")

    def audit(event, args):
        # type: (str, tuple[object, ...]) -> None
        nonlocal noticed
        if not has_run or is_sealing or state.switching or event in _HARMLESS:
            return
        if not state.running and (inspecting or (event == "object.__getattr__" and args[1] in _LINE)):
            return
        noticed |= 1 << _PLACE["audit"]

    def arm(inspects):
        # type: (bool) -> bool
        nonlocal armed, inspecting
        if tokens and not armed and not state.running:
            sys.addaudithook(audit)
            snapshot[:] = [(place, look, look()) for place, look in _lookers(watched)]
            snapshot.append((_PLACE["frames"], lambda: _stack(take_frame(2)), _stack(take_frame(1))))
            armed = True
        inspecting = inspects
        return armed

    def seal(fd, index):
        # type: (int, int) -> None
        nonlocal has_run, answers, said, is_sealing
        if not armed or not tokens or state.running:
            raise RuntimeError("there is nothing to seal")
        is_sealing = True
        found = noticed
        if (has_run or answers) if index < 0 else (answers != 1 or answered != index):
            found |= 1 << _PLACE["report"]
        if has_run:
            clear()
            for place, look, before in snapshot:
                if not _same(look(), before):
                    found |= 1 << place
        if found:
            frames.write_all(fd, frames.frame([messages.UNSEALED, found.to_bytes(8, "little")]))
            leave(messages.EXIT_UNSEALED)
        if index < 0:  # only the harness has run: what it keeps for itself may be another now
            own = _PLACE["harness"]
            snapshot[:] = [(place, look, look() if place == own else before) for place, look, before in snapshot]
        record = frames.frame([messages.SEAL, tokens.pop(0) + messages.SEAL_TAIL.pack(said)])
        said += write(fd, record)
        has_run = is_sealing = False
        answers = 0

    def begin_run():
        # type: () -> None
        nonlocal has_run
        has_run = True

    return read_payload, watch, say, arm, seal, begin_run


# A changed type that was changed back may have left what was found meanwhile in here.
_clear_types = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache  # type: Any


def _same(now, before):
    # type: (object, object) -> bool
    """Only what compares without anybody's code is compared by value."""
    if now is before:
        return True
    if type(now) is not type(before):
        return False
    if type(now) in _VALUES:
        return now == before
    if not isinstance(now, (tuple, list)) or len(now) != len(before):  # type: ignore[arg-type]
        return False
    return all(map(is_, now, before)) or all(map(_same, now, before))  # type: ignore[call-overload]


def _lookers(watched):
    # type: (list[tuple[Any, ...]]) -> list[tuple[int, Callable[[], object]]]
    """(place, function that shows what is there now) of each entry, and of what the helper adds by itself."""
    found = [(entry[0], _looker(*entry[1:])) for entry in watched]
    found.append((_PLACE["context"], lambda: _context_of(_contextvars.copy_context())))
    found.append((_PLACE["locale"], lambda: _locale.setlocale(_locale.LC_ALL, None)))
    found.append((_PLACE["descriptors"], _descriptors))
    found.append((_PLACE["threads"], _thread._count))
    return found


def _context_of(context):
    # type: (Any) -> list[object]
    return [one for pair in sorted(context.items(), key=lambda pair: id(pair[0])) for one in pair]


def _looker(thing, third=None):  # noqa: PLR0911 - one for each kind of thing
    # type: (Any, Any) -> Callable[[], object]
    if type(third) is tuple:
        return lambda: thing(*third)
    if third is not None:  # a random generator: bytes that Python cannot see
        return thing.getstate  # type: ignore[no-any-return]
    if isinstance(thing, dict):
        return lambda: [type(thing), *dict.keys(thing), *dict.values(thing)]
    if isinstance(thing, (list, set, frozenset)):
        return lambda: [type(thing), *thing]
    if isinstance(thing, type):
        space = type.__dict__["__dict__"].__get__(thing)
        return lambda: [*thing.__mro__, *thing.__bases__, thing.__flags__ & ~(1 << 19), *space, *space.values()]
    if type(thing) is _FunctionType:
        return lambda: [getattr(thing, name) for name in _FUNCTION_PARTS]
    return lambda: type(thing)


def _stack(frame):
    # type: (Any) -> list[object]
    found = []
    while frame is not None:
        found.append(frame.f_code)
        frame = frame.f_back
    return found


def _descriptors():
    # type: () -> list[object]
    """Which files the worker's descriptors are, how they are open, and which number is the next free one."""
    found = []  # type: list[object]
    for fd in range(_STREAMS):
        try:
            facts = os.fstat(fd)
        except OSError:
            found.append(None)
        else:
            found += [facts.st_dev, facts.st_ino, os.get_blocking(fd)]
    try:
        free = os.dup(_STREAMS - 1)
    except OSError:
        return found
    os.close(free)
    return [*found, free]
