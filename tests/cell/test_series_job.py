"""The calls of a script in one worker, and a script on what they gave: the rules, with a made-up helper."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from calls_by_hand import FORMATS, HERMETIC, ODD, Context, fields, job, noting, this_process_stays_as_it_is, written
from cruxcell.analysis import operands
from cruxcell.analysis.compiled import told
from cruxcell.jobs import bundles, calls, replay, series
from cruxcell.protocol import frames
from cruxcell.protocol.payloads import (
    AS_IT_IS,
    BUNDLED,
    CALLS_FLAGS,
    CAME_VALUE,
    SERIES,
    SHARE,
    SINGLE,
    TRUTH,
    WHOLE,
)
from cruxcell.values import transfer
from cruxcell.values.canonical import NotPlain

__all__ = ["this_process_stays_as_it_is"]  # a fixture that every test here uses

# ---- a script's calls ----------------------------------------------------------------

CALLS = frames.pack([transfer.encode([([1], {}), ([2], {})], 1000), AS_IT_IS, TRUTH])
SERIES_JOBS = {
    "shared": (SHARE, HERMETIC, True, "1d", "s b4 . s0", True),
    "shared, bundled": (SHARE | BUNDLED, HERMETIC, True, "1d", "s b4 . s0", True),
    "nobody asked": (0, HERMETIC, True, "0d", "! b4 .", False),
    "not hermetic": (SHARE, ODD, True, "0d", "! b4 .", False),
    "bundled, not hermetic": (SHARE | BUNDLED, ODD, True, "0d", "s", True),
    "nothing is sealed": (SHARE, HERMETIC, False, "0d", "! b4 .", False),
    "no program": (SHARE, "def f(", True, "1i", "s", True),
    "a name that is none": (SHARE, "f = 1", True, "1d", "s b0 . s0", True),
    "bound anew": (SHARE, "def f(x):\n    global f\n    f = 1\n", True, "1d", "s b0 . s0", True),
    "an error": (SHARE, "def f(x):\n    raise ValueError(x)\n", True, "1d", "s b2 . s0", True),
    "an error when loaded": (SHARE, "1 / 0\n" + HERMETIC, True, "1d", "s b0 . s0", True),
    "an error of a tuple": (SHARE, "def f(x):\n    raise KeyError((x,))\n", True, "1d", "s b2 . s0", True),
    "an error of tuples": (SHARE, "def f(x):\n    raise KeyError(((x,),))\n", True, "1d", "s b0 . s0", True),
    "an error of a list": (SHARE, "def f(x):\n    raise KeyError([x])\n", True, "1d", "s b0 . s0", True),
    "no plain value": (SHARE, "def f(x):\n    return f\n", True, "1d", "s b0 . s0", True),
    "its truth is its own": (SHARE, "def f(x):\n    return x if x == 1 else f\n", True, "1d", "s b2 . s0", True),
    "not a number": (SHARE, "def f(x):\n    return float('nan')\n", True, "1d", "s b0 . s0", True),
    "formats": (SHARE, FORMATS, True, "0d", "! b2 .", False),  # nobody looks at what they are given
    "memory": (SHARE, "def f(x):\n    return 'a' * (1 << 62)\n", True, "1d", "s 0:MemoryError . s0", True),
}


def series_job(
    monkeypatch: pytest.MonkeyPatch,
    flags: int,
    program: str,
    context: Any,
    name: str = "f",
    asked: bytes = CALLS,
    others: tuple[bytes, ...] = (),
) -> tuple[str, str, int]:
    """(hermetic or not and the classes, what was done, what run_series says)."""
    for each in ("set_recursion_depth", "gc", "loaded_count"):
        monkeypatch.setattr(series, each, getattr(calls, each))
    context.helper.seal, context.budget = noting(context), 1000
    context.steps, context.text_of = lambda: 1, str
    context.send_body = lambda body, _steps: context.done.append(f"b{len(frames.unpack(body))}")
    context.send_raised = lambda error, _steps: context.done.append(f"0:{type(error).__name__}")
    given = [CALLS_FLAGS.pack(flags & ~BUNDLED), program.encode(), name.encode(), asked, frames.pack(list(others))]
    used = series.run_series(context, given, flags & BUNDLED)
    for record in written:
        context.send(record)
    return (context.plans[0][1] + context.plans[0][2]).decode(), " ".join(context.done), used


@pytest.mark.parametrize("name", SERIES_JOBS)
def test_the_calls_of_a_script_are_as_one_call(name: str, monkeypatch: pytest.MonkeyPatch):
    flags, program, seals, *expected, goes_on = SERIES_JOBS[name]
    context = Context()
    context.seals = seals
    plan, done, used = series_job(monkeypatch, flags, program, context)
    assert ([plan, done], used >= 0) == (expected, goes_on)
    assert (len(context.plans[0]) == 4) is (plan == "1i")  # with what is wrong


def test_a_scripts_calls_are_sealed_only_by_what_was_armed(monkeypatch: pytest.MonkeyPatch):
    context = Context()
    context.helper.arm = lambda: False
    assert series_job(monkeypatch, SHARE, HERMETIC, context)[1] == "b4 ."


def test_a_scripts_calls_of_what_may_not_share_are_not_made(monkeypatch: pytest.MonkeyPatch):
    assert series_job(monkeypatch, SHARE | BUNDLED, HERMETIC, Context(), "exec") == ("1u", "s", 0)


@pytest.mark.parametrize(
    ("program", "body"), [("", "b4"), ("def sum(x):\n    return 3\n", "b0"), ("from math import *\n", "b4")]
)
def test_no_call_is_made_where_the_program_has_a_name_of_the_script_s(
    program: str, body: str, monkeypatch: pytest.MonkeyPatch
):
    calls_of_two = frames.pack([told([([1], {}), ([2], {})]), WHOLE, WHOLE])
    others = (b"len", b"sum")
    assert series_job(monkeypatch, 0, program + HERMETIC, Context(), "f", calls_of_two, others)[1] == f"! {body} ."


def test_a_scripts_calls_in_a_bundle_are_those_of_a_script(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bundles, "setrecursionlimit", int)
    ran: list[str] = []

    def note(name: str) -> int:
        ran.append(name)
        return 0

    monkeypatch.setattr(bundles, "run_series", lambda *_: note("series"))
    monkeypatch.setattr(bundles, "run_calls", lambda *_: note("calls"))
    flags = (SHARE, SHARE | SERIES, SHARE)
    bundles.run_bundle(Context(), [frames.pack(fields(each, HERMETIC)) for each in flags])  # type: ignore[arg-type]
    assert ran == ["calls", "series", "calls"]


def test_only_what_shares_a_worker_has_a_namespace_that_is_no_module(monkeypatch: pytest.MonkeyPatch):
    made: list[str] = []

    def noting(name: str, make: Any) -> Any:
        def noted() -> Any:
            made.append(name)
            return make()

        return noted

    for module in (calls, series):
        for name in ("fresh_namespace", "module_namespace"):
            monkeypatch.setattr(module, name, noting(name, getattr(module, name)))
    for flags in (SHARE, 0):
        job(flags, HERMETIC, "f(1)")
        series_job(monkeypatch, flags, HERMETIC, Context())
    assert made == ["fresh_namespace"] * 2 + ["module_namespace"] * 2


def test_of_a_value_its_truth_is_looked_at_where_that_is_asserted():
    assert series._seen(2, TRUTH) is True
    assert series._seen(2, AS_IT_IS) == 2
    assert series._seen(False, SINGLE) == [False, True, False]


def test_of_a_value_all_is_told_where_a_script_is_run_on_it():
    context: Any = Context()
    context.budget = 100
    assert series._of_value(context, WHOLE, (1, [2])) == (CAME_VALUE, transfer.encode((1, [2]), 100))
    assert series._of_value(context, AS_IT_IS, [2]) == (CAME_VALUE, b"[1:i2;")
    assert series._of_value(context, WHOLE, f := float("nan")) is series._of_value(context, AS_IT_IS, f) is None


class Says(type):
    """Its classes say that they equal whatever they are compared with, and have no hash."""

    def __eq__(cls, other: object) -> bool:
        raise SystemExit("it was asked")

    __hash__ = None  # type: ignore[assignment]


def test_no_metaclass_is_asked_what_its_classes_equal(monkeypatch: pytest.MonkeyPatch):
    """Nor are addresses compared, where the seal would hear of it."""
    for module in (series, operands):
        monkeypatch.setattr(module, "id", None, raising=False)
    odd: Any = Says("Odd", (), {})
    with pytest.raises(NotPlain):
        series._seen(odd(), TRUTH)
    assert series._of_error(Context(), Says("Error", (ValueError,), {})()) is None  # type: ignore[arg-type, operator]
    assert series._of_error(Context(), ValueError(odd())) is None  # type: ignore[arg-type]
    assert series._of_error(Context(), KeyError((1, odd()))) is None  # type: ignore[arg-type]
    assert not operands.is_literal([odd()])
    seen: set[str] = set()
    with pytest.raises(TypeError):
        operands.operations(seen)["@Add"](odd(), 1)  # type: ignore[operator]
    assert not seen


# ---- a script on what its calls gave -------------------------------------------------

TABLE = "for x in [1, 2]:\n    assert f(x) == x\n"
REPLAYED = {
    "all": (TABLE, [1, 2], "D2"),
    "one more": (TABLE, [1], "D2"),
    "fewer": (TABLE, [1, 2, 3], "D2"),
    "another": ("f = given\n" + TABLE, [1, 3], "AssertionError2"),
    "an error": (TABLE + "given(1)(2)", [1, 2, 3], "TypeError3"),
    "no script": ("for", [], "invalid syntax (line 1)"),
}


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("name", REPLAYED)
def test_a_script_is_run_on_what_its_calls_gave(name: str, is_known: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    script, values, said = REPLAYED[name]
    code = told(compile(script, "<check>", "exec")) if is_known and "invalid" not in said else b""
    context: Any = Context()
    context.output = lambda: (b"", b"")
    context.numbers = lambda _index, made: b"%d" % made
    context.send_raised = lambda error, steps: context.done.append(f"{type(error).__name__}{steps}")
    context.note = lambda record: context.done.append(b"".join(record).decode())
    given = frames.pack([transfer.encode(each, 100) for each in values])
    replay.run_replay(context, [script.encode(), code, frames.pack([b"f", b"given"]), given])
    assert said in context.done[-1]
