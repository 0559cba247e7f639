"""Structured logs: one JSON object a line on standard error. Text of a candidate is never logged; what may carry
bytes of a client (ids, peer names) is escaped by JSON and bounded."""

from __future__ import annotations

import json
import logging
import sys
import time

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_MAX_VALUE = 300


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


def _is_no_callers_fault(record: logging.LogRecord) -> bool:
    """gRPC logs each header that is not UTF-8, with its bytes and a traceback. It may be the token."""
    return not (record.exc_info and isinstance(record.exc_info[1], UnicodeDecodeError))


def configure_logging(level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("grpc._cython.cygrpc").addFilter(_is_no_callers_fault)
