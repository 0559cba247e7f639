"""Structured logs: one JSON object a line on standard error. Text of a candidate is never logged; what may carry
bytes of a client (ids, peer names) is escaped by JSON and bounded."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_MAX_VALUE = 300
_MOST_LINES = 1_000  # that wait for whoever reads the log
_LAST_S = 1.0  # for the last of them, at the end


class JsonFormatter(logging.Formatter):
    """A record as one JSON object: time, level, logger, message, and whatever `extra` held."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:_MAX_VALUE],
        }
        for name, value in vars(record).items():
            if name not in _OWN:
                line[name] = value if isinstance(value, (int, float, bool)) else str(value)[:_MAX_VALUE]
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True)


# By their names: one of the two is gRPC's own, and nothing here imports that.
_FAULTS_OF_CALLERS = frozenset(["UnicodeDecodeError", "ExecuteBatchError"])


def _is_no_callers_fault(record: logging.LogRecord) -> bool:
    """gRPC logs each header that is not UTF-8, with its bytes, which may be the token; and each RPC whose caller has
    left, or broken its connection, just before it was told something. Both with a traceback, and as errors."""
    return not (record.exc_info and type(record.exc_info[1]).__name__ in _FAULTS_OF_CALLERS)


def configure_logging(level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("grpc._cython.cygrpc").addFilter(_is_no_callers_fault)


class Beside(logging.Handler):
    """Writes to a descriptor on a thread of its own. Nobody may read there (a full pipe, a terminal that is stopped, a
    disk that hangs), and a write then lasts as long: the event loop does not wait for it. Of lines that come meanwhile
    so many wait; the others are dropped, and a line says how many."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._dropped = 0
        self._writing = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._writing.start()

    def emit(self, record: logging.LogRecord) -> None:
        if self._lines.qsize() < _MOST_LINES:
            self._lines.put(self.format(record))
        else:
            self._dropped += 1

    def close(self) -> None:
        """Write what waits, if that can be done in a moment."""
        self._lines.put(None)
        self._writing.join(_LAST_S)
        super().close()

    def _write_all(self) -> None:
        while (line := self._lines.get()) is not None:
            self._write(line)
            dropped = self._taken() if self._lines.empty() else 0
            if dropped:
                record = logging.makeLogRecord(
                    {"name": __name__, "levelname": "WARNING", "msg": _DROPPED, "lines": dropped}
                )
                self._write(self.format(record))

    def _taken(self) -> int:
        """How many lines were dropped since it was last asked."""
        self.acquire()
        try:
            dropped, self._dropped = self._dropped, 0
        finally:
            self.release()
        return dropped

    def _write(self, line: str) -> None:
        left = line.encode() + b"\n"
        with contextlib.suppress(OSError):  # nobody reads any more, or the disk is full: there is no place to say so
            while left:
                left = left[os.write(self._descriptor, left) :]


_DROPPED = "lines of the log were dropped: nobody took them"


@contextlib.contextmanager
def written_beside() -> Iterator[None]:
    """Within the body the log is written on a thread of its own."""
    root = logging.getLogger()
    direct = next((handler for handler in root.handlers if isinstance(handler.formatter, JsonFormatter)), None)
    if direct is None or sys.stderr is None:  # which may have been closed from the start
        yield
        return
    beside = Beside(sys.stderr.fileno())
    beside.setFormatter(direct.formatter)
    root.addHandler(beside)
    root.removeHandler(direct)
    try:
        yield
    finally:
        root.addHandler(direct)
        root.removeHandler(beside)
        beside.close()
