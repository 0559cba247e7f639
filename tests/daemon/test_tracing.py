"""Spans: of every call, below the caller's own, and with nothing in them of what was checked."""

from __future__ import annotations

import importlib.util

import grpc
import pytest
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxbox_proto.v1 import sandbox_pb2_grpc as pb_grpc
from cruxboxd.rpc.tracing import Tracer
from cruxboxd.server.engine import Engine
from cruxboxd.server.network import Server
from cruxboxd.settings.config import Config
from cruxboxd.zygotes.commands import Commands
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
EXPORTER = InMemorySpanExporter()


@pytest.fixture(scope="module", autouse=True)
def provider() -> None:
    """Providers are set once a process."""
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(EXPORTER))
    trace.set_tracer_provider(made)


@pytest.fixture(autouse=True)
def spans() -> InMemorySpanExporter:
    EXPORTER.clear()
    return EXPORTER


def only(spans: InMemorySpanExporter) -> ReadableSpan:
    (span,) = spans.get_finished_spans()
    return span


def test_a_call_is_a_span_below_its_callers(spans):
    with Tracer().span("/cruxbox.v1.Sandbox/Check", [("traceparent", f"00-{TRACE}-{PARENT}-01"), ("x-bin", b"1")]):
        pass
    span = only(spans)
    assert span.name == "cruxbox.v1.Sandbox/Check"
    assert span.kind is trace.SpanKind.SERVER
    assert dict(span.attributes or {}) == {"rpc.system": "grpc", "rpc.method": "/cruxbox.v1.Sandbox/Check"}
    assert span.parent is not None
    assert (f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, PARENT)


def test_a_call_that_fails_is_a_span_that_says_so(spans):
    with pytest.raises(ValueError, match="no"), Tracer().span("/x/y", ()):
        raise ValueError("no")
    assert only(spans).status.status_code is trace.StatusCode.ERROR


@pytest.mark.kernel
async def test_a_real_server_traces_its_calls(spans, tmp_path):
    target = f"unix:{tmp_path}/s.sock"
    engine = Engine(Config(listen=(target,), workers=1), Commands())
    await engine.open()
    try:
        server = Server(engine)
        await server.start()
        async with grpc.aio.insecure_channel(target) as channel:
            check = pb.Check(call=pb.CallCheck(call="f(7)", expected="7"))
            task = pb.Task(id="t", program="def f(x): return x", checks=[check])
            answer = await pb_grpc.SandboxStub(channel).Check(pb.CheckRequest(tasks=[task]))
        await server.drain()
    finally:
        await engine.close()
    assert answer.verdicts[0].outcome == pb.OUTCOME_PASSED
    span = only(spans)
    assert span.name == "cruxbox.v1.Sandbox/Check"
    assert "f(7)" not in span.to_json()


def test_without_the_library_there_is_nothing(spans, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with Tracer().span("/x/y", ()):
        pass
    assert spans.get_finished_spans() == ()
