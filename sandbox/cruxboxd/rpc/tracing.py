"""A span for each RPC where OpenTelemetry is installed; otherwise nothing.

Only the API is used. The operator chooses the exporter (`opentelemetry-instrument cruxboxd serve ...`). A span carries
the method and the status, and nothing of what was checked.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterable, Iterator
from typing import Any


class Tracer:
    """Opens spans; the caller's `traceparent` becomes their parent."""

    def __init__(self) -> None:
        self._trace: Any = None
        if importlib.util.find_spec("opentelemetry") is not None:
            self._trace = importlib.import_module("opentelemetry.trace")
            self._propagate = importlib.import_module("opentelemetry.propagate")

    @contextlib.contextmanager
    def span(self, method: str, metadata: Iterable[tuple[str, Any]]) -> Iterator[None]:
        """A span around an RPC, named as gRPC names the method."""
        if self._trace is None:
            yield
            return
        carrier = {key: value for key, value in metadata if isinstance(value, str)}
        tracer = self._trace.get_tracer("cruxboxd")
        attributes = {"rpc.system": "grpc", "rpc.method": method}
        with tracer.start_as_current_span(
            method.lstrip("/"),
            context=self._propagate.extract(carrier),
            kind=self._trace.SpanKind.SERVER,
            attributes=attributes,
        ):
            yield
