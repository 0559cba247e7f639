"""Captures standard output and error of a call in bounded memory."""

from io import BufferedIOBase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable  # noqa: F401 - in type comments


class Capture:
    """A text stream that keeps what is written, and calls `overflow` once the limit (in characters) is passed. Where
    that comes back, it keeps nothing.

    It stands in for sys.stdout and sys.stderr while a call is evaluated; file descriptors 1 and 2 are /dev/null.
    """

    # Where the seal looks at them; the rest is what programs may give a stream.
    __slots__ = ("__dict__", "__weakref__", "_limit", "_overflow", "_parts", "_room")

    encoding, errors, newlines, closed, mode, name = "utf-8", "surrogateescape", None, False, "w", "<captured>"
    line_buffering = write_through = False
    descriptor = 1

    def __init__(self, overflow):
        # type: (Callable[[], None]) -> None
        self._overflow = overflow
        self._parts = []  # type: list[str]
        self._limit = self._room = 0

    def set_limit(self, limit):
        # type: (int) -> None
        self._limit = self._room = limit

    def reset(self):
        # type: () -> None
        self._room = self._limit  # also where nothing was kept: what was over the limit took from it
        self._parts = []  # whatever stands there: it need not be a list any more

    def is_used(self):
        # type: () -> bool
        """Is anything here that `reset` would take away?"""
        return type(self._parts) is not list or len(self._parts) > 0 or self._room is not self._limit

    def take(self):
        # type: () -> str
        return "".join(self._parts) if self._parts else ""

    def write(self, text):
        # type: (str) -> int
        if not isinstance(text, str):
            raise TypeError("write() argument must be str, not %s" % type(text).__name__)
        if not str.isascii(text):
            str.encode(text, "utf-8", type(self).errors)  # what a stream of Python's cannot write is an error here, too
        text = str.__str__(text)  # a class of the candidate's could act when it is let go, and say any length
        self._room -= len(text)
        if self._room < 0:
            self._overflow()
            self._parts = []  # where it comes back, nobody reads what is printed
        else:
            self._parts.append(text)
        return len(text)

    def writelines(self, lines):
        # type: (Iterable[str]) -> None
        for line in lines:
            self.write(line)

    def flush(self):
        # type: () -> None
        pass

    def close(self):
        # type: () -> None
        pass

    def isatty(self):
        # type: () -> bool
        return False

    def writable(self):
        # type: () -> bool
        return True

    def readable(self):
        # type: () -> bool
        return False

    def seekable(self):
        # type: () -> bool
        return False

    def fileno(self):
        # type: () -> int
        """What is written there is kept nowhere."""
        return self.descriptor

    def reconfigure(self, *, encoding=None, errors=None, newline=None, line_buffering=None, write_through=None):
        # type: (object, object, object, object, object) -> None
        """As a stream of Python's takes it. What is written is kept as text, however it would be encoded."""

    def detach(self):
        # type: () -> _Bytes
        return self.buffer

    @property
    def buffer(self):
        # type: () -> _Bytes
        return _Bytes(self)


class ErrorCapture(Capture):
    """The same in place of sys.stderr, which writes whatever there is."""

    __slots__ = ()
    errors, descriptor = "backslashreplace", 2


class _Bytes(BufferedIOBase):
    """The binary side of a Capture, for programs that write to sys.stdout.buffer, or put another stream around it."""

    def __init__(self, text):
        # type: (Capture) -> None
        self._text = text

    def writable(self):
        # type: () -> bool
        return True

    def write(self, data):  # type: ignore[override]
        # type: (bytes) -> int
        data = bytes(data)
        self._text.write(data.decode("utf-8", "surrogateescape"))
        return len(data)
