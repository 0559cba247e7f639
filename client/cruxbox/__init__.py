"""cruxbox: run model-written Python in a hardened sandbox and get a verdict for each check."""

from __future__ import annotations

import importlib

from cruxbox_proto import __version__ as __version__

TYPE_CHECKING = False  # type checkers take it for true; `typing` is longer to import than all the rest here
if TYPE_CHECKING:
    from typing import Any

    from cruxbox.aio import AsyncClient
    from cruxbox.channel import Tls
    from cruxbox.client import Client
    from cruxbox.errors import (
        CruxboxError,
        DataError,
        DeadlineExceeded,
        EmbeddedServerError,
        InvalidRequest,
        Overloaded,
        ServerError,
        Unauthenticated,
        Unavailable,
    )
    from cruxbox.info import Layer, Runtime, ServerInfo
    from cruxbox.model import (
        Assurance,
        CallCheck,
        Check,
        Clock,
        EvaluateCheck,
        ExceptionInfo,
        Isolation,
        Limits,
        Outcome,
        Priority,
        RunCheck,
        ScriptCheck,
        StdioCheck,
        StepCount,
        Task,
        TestOutcome,
        TestResult,
        Tolerance,
        Verdict,
    )
    from cruxbox.passk import pass_at_k
    from cruxbox.session import Event

# Where each name lives. Imported at first use: gRPC takes longer to import than a small program takes to run, and the
# command line answers Ctrl-C only when this module is there.
_LAZY = {
    "Assurance": "model",
    "AsyncClient": "aio",
    "CallCheck": "model",
    "Check": "model",
    "Client": "client",
    "Clock": "model",
    "CruxboxError": "errors",
    "DataError": "errors",
    "DeadlineExceeded": "errors",
    "EmbeddedServerError": "errors",
    "EvaluateCheck": "model",
    "Event": "session",
    "ExceptionInfo": "model",
    "InvalidRequest": "errors",
    "Isolation": "model",
    "Layer": "info",
    "Limits": "model",
    "Outcome": "model",
    "Overloaded": "errors",
    "Priority": "model",
    "RunCheck": "model",
    "Runtime": "info",
    "ScriptCheck": "model",
    "ServerError": "errors",
    "ServerInfo": "info",
    "StdioCheck": "model",
    "StepCount": "model",
    "Task": "model",
    "TestOutcome": "model",
    "TestResult": "model",
    "Tls": "channel",
    "Tolerance": "model",
    "Unauthenticated": "errors",
    "Unavailable": "errors",
    "Verdict": "model",
    "pass_at_k": "passk",
}

__all__ = [
    "Assurance",
    "AsyncClient",
    "CallCheck",
    "Check",
    "Client",
    "Clock",
    "CruxboxError",
    "DataError",
    "DeadlineExceeded",
    "EmbeddedServerError",
    "EvaluateCheck",
    "Event",
    "ExceptionInfo",
    "InvalidRequest",
    "Isolation",
    "Layer",
    "Limits",
    "Outcome",
    "Overloaded",
    "Priority",
    "RunCheck",
    "Runtime",
    "ScriptCheck",
    "ServerError",
    "ServerInfo",
    "StdioCheck",
    "StepCount",
    "Task",
    "TestOutcome",
    "TestResult",
    "Tls",
    "Tolerance",
    "Unauthenticated",
    "Unavailable",
    "Verdict",
    "pass_at_k",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY.values():  # the module itself: `import cruxbox` alone is enough for `cruxbox.model`
        return importlib.import_module(f"{__name__}.{name}")
    home = _LAZY.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
