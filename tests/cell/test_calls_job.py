"""Which calls of a job follow each other in a worker, and when nothing may follow: the rules, with a made-up helper."""

from __future__ import annotations

import types
from collections.abc import Callable

import pytest
from calls_by_hand import FORMATS, HERMETIC, ODD, Context, fields, job, this_process_stays_as_it_is
from cruxcell.analysis.parsing import CHECK, PROGRAM, Invalid, OutOfRoom
from cruxcell.jobs import bundles, calls, checker_guard
from cruxcell.jobs.context import RULE
from cruxcell.jobs.separated.rules import configurations
from cruxcell.protocol import frames, messages
from cruxcell.protocol.payloads import (
    BUNDLED,
    CHECKER,
    INSPECT,
    RUN_EXPRESSIONS,
    SHARE,
    TOGETHER,
)
from cruxcell.values import transfer

__all__ = ["this_process_stays_as_it_is"]  # a fixture that every test here uses

JOBS = {
    "they share": (SHARE, HERMETIC, ("f(1)", "f(2)"), "1dd", "s 0=1 . s0 1=2 . s1"),
    "constants first": (SHARE, HERMETIC, ("f(1)", "2"), "1dc", "s 1=2 . s1 0=1 . s0"),
    "nobody asked them to": (0, HERMETIC, ("f(1)", "f(2)"), "0dd", "! 0=1 ."),
    "constants alone": (0, HERMETIC, ("2", "f(1)"), "0cd", "0=2 . ! 1=1 ."),
    "not hermetic": (SHARE, ODD, ("f(1)", "f(2)", "3"), "0ddc", "2=3 . ! 0=1 ."),
    "for better or worse": (SHARE | TOGETHER, ODD, ("f(1)", "f(2)"), "0dd", "! 0=1 . 1=2 ."),
    "together, hermetic": (SHARE | TOGETHER, HERMETIC, ("f(1)", "f(2)"), "1dd", "s 0=1 . s0 1=2 . s1"),
    "one that may not share": (SHARE, HERMETIC, ("f(1)", "exec('')"), "1du", "s 0=1 . s0"),
    "none that may": (SHARE, HERMETIC, ("exec('')", "exec('1')"), "0dd", "! 0=None ."),
    "together, one that may not": (SHARE | TOGETHER, HERMETIC, ("f(1)", "exec('')"), "0dd", "! 0=1 . 1=None ."),
    "bundled": (SHARE | BUNDLED, HERMETIC, ("f(1)",), "1d", "s 0=1 . s0"),
    "bundled, not hermetic": (SHARE | BUNDLED, ODD, ("f(1)", "3"), "0dc", "s 1=3 . s1"),
    "bundled, may not": (SHARE | BUNDLED, HERMETIC, ("exec('')",), "1u", "s"),
    "expressions elsewhere": (SHARE, HERMETIC, ("f(1)", "f(1) + 1", "f(f(1))"), "1dxa", "s 0=1 . s0"),
    "expressions here": (RUN_EXPRESSIONS, HERMETIC, ("f(1) + 1", "f(2)"), "0xd", "! 0=2 ."),
    "formats that calls give": (
        SHARE,
        FORMATS,
        ("f('{}')", "'{0.real}'", "f('a')"),
        "1dcd",
        "s 1='{0.real}' . s1 0='1' . s0 2='a' . s2",
    ),
    "a format that reaches for something": (SHARE, FORMATS, ("f('{}')", "f('{0.real}')"), "0dd", "! 0='1' ."),
    "bundled, a format that reaches for something": (SHARE | BUNDLED, FORMATS, ("f('{0.real}')",), "0d", "s"),
    "formats beside an expression": (SHARE, FORMATS, ("f('{}')", "f('{' + f('}'))"), "0da", "! 0='1' ."),
    "formats beside what is no call": (SHARE, FORMATS, ("f('{}')", "f("), "1di", "s 0='1' . s0"),
    "formats, and nobody asked": (0, FORMATS, ("f('{}')", "f('{}')"), "0dd", "! 0='1' ."),
    "no program": (SHARE, "", ("len('ab')", "3"), "1dc", "s 1=3 . s1 0=2 . s0"),
    "an invalid call": (SHARE, HERMETIC, ("f(", "f(2)"), "1id", "s 1=2 . s1"),
    "an invalid program": (SHARE, "def f(", ("f(1)", "3"), "1ii", "s"),
    "a call that raises": (SHARE, HERMETIC, ("f()", "f(2)"), "1dd", "s 0:TypeError . s0 1=2 . s1"),
}


@pytest.mark.parametrize("name", JOBS)
def test_which_calls_follow_each_other(name: str):
    flags, program, texts, plan, done = JOBS[name]
    found = job(flags, program, *texts)
    assert found[:2] == (plan, done)
    goes_on = plan[0] == "1" or flags & BUNDLED or "d" not in plan or flags & TOGETHER
    assert (found[2] >= 0) is bool(goes_on)


DEEP = "(" * 100


@pytest.mark.parametrize(
    ("source", "calls_", "is_beside", "classes"),
    [
        (DEEP, ["f(1)"], False, messages.INVALID),
        (DEEP, ["f(1)"], True, messages.ALONE),
        (DEEP, ["f(1)", "f(2)"], False, messages.ALONE * 2),
        ("f =", ["f(1)", "f(2)"], True, messages.INVALID * 2),
        ("", [DEEP], False, messages.INVALID),
        ("", [DEEP], True, messages.ALONE),
        ("", [DEEP, "1"], False, messages.ALONE + messages.CONSTANT),
        ("", ["f(", "1"], True, messages.INVALID + messages.CONSTANT),
    ],
)
def test_a_text_that_had_no_room_beside_others_has_another_worker(
    source: str, calls_: list[str], is_beside: bool, classes: str, monkeypatch: pytest.MonkeyPatch
):
    def parsed(text: str, *_: object) -> types.CodeType:
        if text == DEEP:
            raise OutOfRoom("too deep")
        if text.endswith(("=", "(")):
            raise Invalid("no")
        return compile(text, "", "exec")

    monkeypatch.setattr(calls, "compile_text", parsed)
    monkeypatch.setattr(calls, "classify_call", lambda text, _: (messages.CONSTANT, "", parsed(text)))
    _, plan = calls._parse(source, tuple(("f", each) for each in calls_), is_beside, "")
    assert "".join(each[0] for each in plan) == classes


def test_where_there_is_no_program_only_the_call_runs():
    context = Context()
    assert job(SHARE, "", "len('a')", context=context) == ("1d", "s 0=1 . s0", 1)
    assert context.ran == 1


def test_where_nothing_is_sealed_nothing_is_shared():
    context = Context()
    context.seals = False
    assert job(SHARE, HERMETIC, "f(1)", "f(2)", context=context)[:2] == ("0dd", "! 0=1 .")
    context = Context()
    context.helper.arm = lambda: False
    assert job(SHARE, HERMETIC, "f(1)", context=context)[1] == "0=1 ."


def test_a_test_can_open_the_rule():
    assert job(SHARE, ODD, "f(1)", "exec('')", context=Context(RULE))[:2] == ("1dd", "s 0=1 . s0 1=None . s1")
    assert job(0, HERMETIC, "f(1)", "f(2)", context=Context(RULE))[0] == "0dd"


@pytest.mark.parametrize("texts", [("f(1)", "f(2)"), ("3", "4")])
@pytest.mark.parametrize("what", ["slow", "forged", "loaded", "garbage", "unclear", "none"])
def test_nothing_follows_what_left_something(what: str, texts: tuple[str, str], monkeypatch: pytest.MonkeyPatch):
    context = Context()
    context.used_cpu_ns = {"slow": calls.SPENT_NS + 1, "forged": "1"}.get(what, 1)
    context.is_clean = what != "unclear"
    loaded = iter(range(100))
    if what == "loaded":
        monkeypatch.setattr(calls, "loaded_count", lambda: next(loaded))
    monkeypatch.setattr(calls.gc, "collect", lambda: int(what == "garbage"))
    _, done, used = job(SHARE, HERMETIC, *texts, context=context)
    assert ("s1" in done, used >= 0) == ((True, True) if what == "none" else (False, False))


def test_garbage_that_is_gone_the_second_time_is_none(monkeypatch: pytest.MonkeyPatch):
    left = iter([1, 0, 0, 0])
    monkeypatch.setattr(calls.gc, "collect", lambda: next(left))
    assert job(SHARE, HERMETIC, "f(1)", "f(2)")[2] == 2


def test_what_imports_something_shares_no_worker(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    before = calls.loaded_count()
    monkeypatch.setitem(calls.sys.modules, "made_up_for_this", types.ModuleType("made_up_for_this"))
    assert calls.loaded_count() == before + 1


def test_jobs_of_a_bundle_follow_each_other_until_they_took_long(monkeypatch: pytest.MonkeyPatch):
    limits: list[int] = []
    monkeypatch.setattr(bundles, "getrecursionlimit", lambda: 1000)
    monkeypatch.setattr(bundles, "setrecursionlimit", limits.append)
    packed = [frames.pack(fields(SHARE, HERMETIC, f"f({at})")) for at in range(4)]
    context = Context()
    bundles.run_bundle(context, packed)  # type: ignore[arg-type]
    assert (context.done.count("B"), limits) == (4, [1001] * 4)
    context = Context()
    context.used_cpu_ns = calls.SPENT_NS // 2
    bundles.run_bundle(context, packed)  # type: ignore[arg-type]
    assert context.done.count("B") == 3
    context = Context()
    context.is_clean = False
    bundles.run_bundle(context, packed)  # type: ignore[arg-type]
    assert context.done.count("B") == 1


# ---- what filters ask ----------------------------------------------------------------


class Inspecting(Context):
    """Keeps what was found."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[list[set[str]]] = []

    def note(self, record: list[bytes]) -> None:
        if record[0] == messages.FINDINGS:
            self.found.append([{messages.FINDING_NAMES[place] for place in places} for places in record[2:]])
        super().note(record)


def inspected(program: str, *texts: str, flags: int = INSPECT, look: object = None) -> list[list[set[str]]]:
    context = Inspecting()
    context.helper.evaluate = lambda *_: None
    job(flags, program, *texts, context=context)
    return context.found


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that an inspector had a look at; it finds one thing in each."""
    seen: list[str] = []

    def look(_self: object, call: str, *_: object) -> set[str]:
        seen.append(call)
        return set() if "9" in call else {messages.OPS_LONG}

    monkeypatch.setattr(calls.Inspector, "look", look)
    return seen


def test_texts_and_runs_are_inspected_where_that_is_asked(looks: list[str]):
    assert inspected(HERMETIC, "f(1)", flags=SHARE) == []
    texts, *runs = inspected(HERMETIC, "f(1)", "f([f])", "f(", "2", "f(9)", flags=INSPECT | SHARE)
    assert messages.SEEDLESS in texts[0]
    assert texts[2] == set()
    assert looks == ["f(1)", "f(9)"]
    assert runs[0] == [{messages.OPS_LONG}]
    assert inspected("def f(", "f(1)") == []


def test_only_a_call_of_what_is_blind_to_the_seed_is_blind(looks: list[str]):
    for program, call, is_blind in (
        (HERMETIC, "f(1)", True), (HERMETIC, "f({1})", False), (HERMETIC, "f({1: 2})", True),
        (HERMETIC, "len('a')", False), ("def f(x):\n    return {x}\n", "f(1)", False), (ODD, "f(1)", False),
        (FORMATS, "f('{}')", False),
    ):  # fmt: skip
        (found, *_) = inspected(program, call)
        assert (messages.SEEDLESS in found[0]) is is_blind, call


def test_who_is_not_hermetic_is_blind_to_nothing(monkeypatch: pytest.MonkeyPatch, looks: list[str]):
    monkeypatch.setattr(calls, "is_seedless", lambda *_: True)
    seedless = [messages.SEEDLESS in inspected(program, "f(1)")[0][0] for program in (HERMETIC, ODD)]
    assert seedless == [True, False]


def test_what_a_run_shows_is_told_with_its_value(looks: list[str]):
    assert inspected(HERMETIC, "f(1)")[1:] == [[{messages.OPS_LONG}]]
    assert inspected("def f(x):\n    return f\n", "f(1)")[1:] == [[{messages.OPS_LONG, messages.OUTPUT_SHAPE}]]
    assert inspected(HERMETIC, "f(9)")[1:] == []
    assert inspected("def f(x):\n    raise KeyError\n", "f(1)")[1:] == [[{messages.OPS_LONG}]]


def test_what_ran_out_of_memory_in_company_is_looked_at_when_it_runs_alone(looks: list[str]):
    program = "def f(x):\n    return 'a' * (1 << 62)\n"
    assert len(inspected(program, "f(1)", flags=INSPECT)) == 2
    assert len(inspected(program, "f(1)", flags=INSPECT | SHARE | BUNDLED)) == 1
    assert len(inspected("def f(x):\n    return x[0]\n", "f(1)", flags=INSPECT | SHARE | BUNDLED)) == 2


# ---- arguments -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "done"),
    [
        (((1,), {}), "d 0=1"),
        (((), {"x": 2}), "d 0=2"),
        (((), {}), "d 0:TypeError"),
        ([(1,), {}], "garbled"),
        (((1,),), "garbled"),
        (((1,), {}, 1), "garbled"),
        (([1], {}), "garbled"),
        (((1,), []), "garbled"),
        (((1,), {1: 2}), "garbled"),
    ],
)
def test_a_function_is_applied_to_arguments_and_to_nothing_else(pair: object, done: str):
    context = Context()
    context.index = 0
    calls.run_apply(context, [HERMETIC.encode(), b"f", transfer.encode(pair, 1000)])  # type: ignore[arg-type]
    said = " ".join(context.done)
    assert said == done if done != "garbled" else said.startswith("the program: not a pair")


@pytest.mark.parametrize(
    ("program", "done"),
    [
        (b"def check(*given): return given == ('\xe2\x82\xac', '\xef\xbf\xbd1', 'e')", "d 0=True"),
        (b"check = 1", "d 0:TypeError"),
        (b"", "d 0:NameError"),
        (b"def check(", "the program: '(' was never closed"),
    ],
)
def test_a_checker_is_given_texts_of_bytes_that_may_be_none(program: bytes, done: str):
    context = Context()
    context.index = 0
    calls.run_checker(context, [program, b"\xe2\x82\xac", b"\xff1", b"e"])  # type: ignore[arg-type]
    assert " ".join(context.done).startswith(done)


@pytest.fixture(autouse=True)
def followed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which libraries a checker's texts are followed in: that changes them for as long as a process lives."""
    names: list[str] = []

    def noted(name: str) -> Callable[[object], None]:
        return lambda _: names.append(name)

    monkeypatch.setattr(checker_guard, "follow_expressions", noted("follow_expressions"))
    for word, follow in configurations.FOLLOWED.items():
        monkeypatch.setitem(configurations.FOLLOWED, word, noted(follow.__name__))
    return names


@pytest.mark.parametrize(
    ("names", "follows"),
    [
        ("", []),
        ("import yaml\n", ["follow_documents"]),
        ("from logging.config import dictConfig\n", ["follow_configurations"]),
    ],
)
def test_what_a_checker_names_of_the_library_is_followed(names: str, follows: list[str], followed: list[str]):
    calls.guard_of(Context(), compile(f"{names}def check(*texts): pass", CHECK, "exec"))()  # type: ignore[arg-type]
    assert followed == ["follow_expressions", *follows]


@pytest.mark.parametrize(
    ("flags", "program", "guards"),
    [(CHECKER, ODD, 1), (CHECKER | SHARE, ODD, 1), (CHECKER | SHARE, HERMETIC, 0), (SHARE, ODD, 0), (0, ODD, 0)],
)
def test_a_checker_that_is_alone_runs_no_code_that_is_not_its_own(flags: int, program: str, guards: int):
    context = Context()
    job(0, program, "f(1)")  # the same text as a program
    job(flags, program, "f(1)", context=context)
    assert calls._last[1].co_filename == (CHECK if flags & CHECKER else PROGRAM)
    assert len(context.helper.listeners) == guards
    for listen in context.helper.listeners:
        listen("exec", (compile("1", "", "eval"),))
        with pytest.raises(ValueError, match="may be what was printed"):
            listen("exec", (compile("lambda: 1", "", "eval"),))


def test_who_is_inspected_and_may_not_share_is_alone(looks: list[str]):
    context = Inspecting()
    context.helper.evaluate = lambda *_: None
    assert job(INSPECT, HERMETIC, "f(1)", "f(", "f(2)", context=context)[0] == "0did"
    assert len(context.plans[0]) == 4  # with one sentence, of the call that is none
    assert "2=2" not in context.done
