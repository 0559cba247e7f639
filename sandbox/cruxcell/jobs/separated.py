"""A script check in two processes: the candidate serves calls, the test makes them. Plain data goes between.

The candidate's half never sees the script, the test's half never runs a line of the candidate. For every name the
script uses and does not define, the test holds a proxy if the program has a callable of that name, or the plain value.
A proxy sends its arguments, and gets back the result, in-place changes of mutable arguments, or an exception of a
builtin class. What the candidate sends is hostile: it is only ever decoded to plain data.
"""

import builtins
import os

from cruxcell.analysis.parsing import CHECK, PROGRAM, Invalid, compile_text
from cruxcell.jobs.context import Workbench  # noqa: F401 - in type comments
from cruxcell.namespace import fresh_namespace, set_recursion_depth
from cruxcell.protocol import frames, messages, records
from cruxcell.values import transfer
from cruxcell.values.canonical import NotPlain, TooLarge, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

CHANNEL = 5
_MAX_MESSAGE = 16 << 20
_Code = type((lambda: None).__code__)
_CALL = compile("f(*a, **k)", CHECK, "eval")

# Requests of the test and answers of the candidate; the first field of each message.
LOOK_UP, CALL = b"look", b"call"
RESULT, ERROR, OPAQUE, CALLABLE, VALUE, MISSING = b"r", b"e", b"x", b"c", b"v", b"m"


# ---- the candidate's half ------------------------------------------------------------------------------------------


def run_serve(bench, fields):
    # type: (Workbench, list[bytes]) -> None
    """fields: program. Load it, then answer until the test hangs up; then report steps and output."""
    try:
        program = compile_text(fields[0].decode("utf-8", "surrogatepass"), PROGRAM, "exec")
    except Invalid as error:
        bench.send(records.plan(False, messages.INVALID, ["the program: %s" % error]))
        return
    bench.send(records.plan(False, messages.DIRECT, []))
    bench.last_check()
    set_recursion_depth(2)
    namespace = fresh_namespace()
    bench.begin(0)
    try:
        bench.run(program, namespace)
    except BaseException as error:
        bench.send_raised(error)
        return
    steps = 0
    while True:
        try:
            request = frames.read_frame(CHANNEL, _MAX_MESSAGE)
        except (frames.FrameError, OSError):
            break
        answer = _look_up(namespace, request) if request[0] == LOOK_UP else _answer_call(bench, namespace, request)
        steps += bench.kernel.steps() if request[0] == CALL else 0  # type: ignore[attr-defined]
        frames.write_all(CHANNEL, frames.frame(answer))
    bench.send(records.ended(bench.numbers(0, steps), *bench.output()))


def _look_up(namespace, request):
    # type: (dict[str, object], list[bytes]) -> list[bytes]
    name = request[1].decode()
    if name not in namespace:
        return [MISSING]
    value = namespace[name]
    try:
        return [VALUE, transfer.encode(value, _MAX_MESSAGE)]
    except (NotPlain, TooLarge):
        return [CALLABLE if callable(value) else MISSING]


def _answer_call(bench, namespace, request):
    # type: (Workbench, dict[str, object], list[bytes]) -> list[bytes]
    """[RESULT, value, changed arguments or b""], [ERROR, class, message] or [OPAQUE, type]."""
    pair = transfer.decode(request[2])  # type: tuple[tuple[object, ...], dict[str, object]]  # type: ignore[assignment]
    positional, keywords = pair
    try:
        function = namespace[request[1].decode()]
        value = bench.run(_CALL, {"f": function, "a": positional, "k": keywords})
        after = transfer.encode((positional, keywords), _MAX_MESSAGE)
        return [RESULT, transfer.encode(value, _MAX_MESSAGE), b"" if after == request[2] else after]
    except (NotPlain, TooLarge) as error:
        return [OPAQUE, records.text_bytes(str(error))]
    except BaseException as error:
        return [ERROR, records.text_bytes(type_name(error)), records.text_bytes(records.message_of(error))]


# ---- the test's half -----------------------------------------------------------------------------------------------


def run_test(bench, fields):
    # type: (Workbench, list[bytes]) -> None
    """fields: script, entry point. ENDED if the script comes to its end; see `_Line` for other ends."""
    entry_point = fields[1].decode()
    try:
        script = compile_text(fields[0].decode("utf-8", "surrogatepass"), CHECK, "exec")
    except Invalid as error:
        bench.send(records.plan(False, messages.INVALID, ["the script: %s" % error]))
        return
    bench.send(records.plan(False, messages.DIRECT, []))
    bench.last_check()
    set_recursion_depth(1)
    bench.begin(0)
    line = _Line(bench)
    try:
        namespace = _proxies(line, script, entry_point)
        bench.run(script, namespace)
    except BaseException as error:
        bench.send_raised(error)
    else:
        bench.send(records.ended(bench.numbers(), *bench.output()))


class _Line:
    """The test's end of the socket. What cannot go on ends the test at once, so that the script cannot catch it."""

    def __init__(self, bench):
        # type: (Workbench) -> None
        self._bench = bench

    def ask(self, request):
        # type: (list[bytes]) -> list[bytes]
        try:
            frames.write_all(CHANNEL, frames.frame(request))
            return frames.read_frame(CHANNEL, _MAX_MESSAGE)
        except (frames.FrameError, OSError):
            return self.leave(messages.CANDIDATE_GONE, "the candidate is gone")

    def leave(self, kind, text):
        # type: (bytes, str) -> list[bytes]
        """Report the reason and end. Never returns."""
        self._bench.send(frames.frame([kind, self._bench.numbers(), records.text_bytes(text)]))
        os._exit(messages.EXIT_DONE)

    def call(self, name, arguments, keywords):
        # type: (str, tuple[object, ...], dict[str, object]) -> object
        try:
            sent = transfer.encode((arguments, keywords), _MAX_MESSAGE)
        except (NotPlain, TooLarge) as error:
            self.leave(messages.CANNOT_CROSS, "an argument of %s is not plain data (%s)" % (name, error))
        answer = self.ask([CALL, name.encode(), sent])
        if answer[:1] == [ERROR] and len(answer) == 3:
            raise _exception(answer[1].decode("utf-8", "replace"), answer[2].decode("utf-8", "replace"))
        if answer[:1] == [OPAQUE] and len(answer) == 2:
            text = "%s returned what is not plain data (%s)" % (name, answer[1].decode("utf-8", "replace"))
            self.leave(messages.NOT_PLAIN, text)
        try:
            _, value, after = answer
            result = transfer.decode(value)
            if after:
                _copy_back(transfer.decode(after), arguments, keywords)
        except (transfer.Garbled, ValueError, IndexError, KeyError, TypeError):
            self.leave(messages.CANDIDATE_GONE, "the candidate answered with something that is no answer")
        return result


def _exception(name, message):
    # type: (str, str) -> BaseException
    """The candidate's exception: of the builtin class of that name, or of a class made for it.

    One that ends an iteration would end one of the test's own, `all(map(candidate, ...))`, and leave it content.
    """
    kind = getattr(builtins, name, None)
    if kind in (StopIteration, StopAsyncIteration):
        return RuntimeError("the candidate raised %s" % name)
    if not (isinstance(kind, type) and issubclass(kind, BaseException)):
        kind = type(str(name), (Exception,), {})
    try:
        error = kind(message)  # type: BaseException
    except TypeError:  # UnicodeDecodeError and its like want more than a message
        return Exception(message)
    return error


def _copy_back(pair, arguments, keywords):
    # type: (Any, tuple[Any, ...], dict[str, Any]) -> None
    positional, named = pair
    for mine, theirs in list(zip(arguments, positional)) + [(keywords[key], named[key]) for key in keywords]:
        if type(mine) is not type(theirs):
            continue
        if isinstance(mine, (list, bytearray)):
            mine[:] = theirs
        elif isinstance(mine, (dict, set)):
            mine.clear()
            mine.update(theirs)


def _proxies(line, script, entry_point):
    # type: (_Line, object, str) -> dict[str, object]
    """The script's namespace: a proxy or plain value for each name of the program that it uses."""
    namespace = fresh_namespace()
    for name in sorted(_names(script) | {entry_point}):
        if hasattr(builtins, name) or name == "candidate":
            continue
        answer = line.ask([LOOK_UP, name.encode()])
        if answer[0] == CALLABLE:
            namespace[name] = _proxy(line, name)
        elif answer[0] == VALUE:
            try:
                namespace[name] = transfer.decode(answer[1])
            except (transfer.Garbled, IndexError):
                continue
    if entry_point in namespace:
        namespace["candidate"] = namespace[entry_point]
    return namespace


def _proxy(line, name):
    # type: (_Line, str) -> object
    def proxy(*arguments, **keywords):
        # type: (object, object) -> object
        return line.call(name, arguments, keywords)

    proxy.__name__ = proxy.__qualname__ = name
    return proxy


def _names(code):
    # type: (object) -> set[str]
    found = set(code.co_names)  # type: ignore[attr-defined]
    for const in code.co_consts:  # type: ignore[attr-defined]
        if type(const) is _Code:
            found |= _names(const)
    return found
