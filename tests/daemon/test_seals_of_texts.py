"""The text of an error, and a second look at operands, reach no variable of the harness (3.13 can write them)."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes.jobs import Job
from cruxcell.protocol import messages, payloads

sys.path.append(str(Path(__file__).resolve().parents[1] / "cell"))

from interpreters import sharing_interpreters
from sealed_workers import started

# Stands for the harness's own, and sends another value.
CONTEXT = """
class Context:
    def __init__(self, context):
        self.context = context
    def __getattr__(self, name):
        return getattr(self.context, name)
    def send_value(self, value, steps=None):
        self.context.send_value([66], steps)
"""

LATE_WORDS = (
    CONTEXT
    + """
class Late(Exception):
    def __str__(self):
        frame = self.__traceback__.tb_frame
        while frame:
            if "planned" in frame.f_locals:
                frame.f_locals["context"] = Context(frame.f_locals["context"])
            frame = frame.f_back
        return "late"
raise Late
"""
)


@pytest.mark.kernel
@pytest.mark.parametrize(("version", "python"), sharing_interpreters(), ids=str)
async def test_the_text_of_an_error_reaches_no_variable_of_the_harness(version: tuple[int, int], python: Path):
    """It is read after the check, when the harness itself may look at frames."""
    async with started(python) as worker:
        result = await worker.run(["sorted('ba')", f"exec({LATE_WORDS!r})", "sorted('ba')"])
        assert b"66" not in result.report
        # Until 3.9 the interpreter does not make known who looks at frames, but there nobody can write to them.
        assert version < (3, 10) or "audit" in result.unsealed


SECOND_LOOK = (
    CONTEXT
    + """
import sys
def f(x):
    if "@Add" in globals():
        frame = sys._getframe()
        while frame:
            if "planned" in frame.f_locals:
                frame.f_locals["context"] = Context(frame.f_locals["context"])
            frame = frame.f_back
    return x + 1
"""
)


@pytest.mark.kernel
@pytest.mark.parametrize("python", [python for _, python in sharing_interpreters()], ids=str)
async def test_a_look_at_operands_is_sealed_too(python: Path):
    async with started(python) as worker:
        flags = payloads.CALLS_FLAGS.pack(payloads.SHARE | payloads.INSPECT)
        for program, kinds in (("def f(x): return x + 1", ()), (SECOND_LOOK, ("audit",))):
            fields = [flags, program.encode(), b"", b"f(1)", b"", b"f(2)"]
            job = Job(worker.key, messages.JOB_CALLS, fields, DEFAULT_LIMITS, checks=2, seals=3)
            worker.zygote.run(job)
            result = await asyncio.wait_for(job.future, 30)
            assert b"66" not in result.report
            assert set(kinds) <= set(result.unsealed)
            assert bool(kinds) == bool(result.unsealed)
