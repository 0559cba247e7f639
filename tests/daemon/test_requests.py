"""What a request may not be, in the words that say so; and options that override one another field by field."""

from __future__ import annotations

import re
import tracemalloc
from dataclasses import replace

import pytest
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxboxd.judging import outcomes
from cruxboxd.judging.outcomes import Assurance, CheckResult, Clock, Outcome
from cruxboxd.judging.tasks import CallCheck as CallAsk
from cruxboxd.judging.tasks import InvalidCheck, StepCount, as_text
from cruxboxd.judging.tasks import ScriptCheck as ScriptAsk
from cruxboxd.judging.tasks import StdioCheck as StdioAsk
from cruxboxd.judging.tasks import Task as TaskAsk
from cruxboxd.rpc import codec
from cruxboxd.rpc.codec import Offer, Origin, RequestError, Stamp, outline_of, read_tasks, size_of, write_verdict
from cruxboxd.rpc.outline import Outline
from cruxboxd.rpc.wire import field
from cruxboxd.settings.config import DEFAULT_LIMITS, MAXIMUM_LIMITS, MIB
from offered import TERMS

CALL = pb.Check(call=pb.CallCheck(call="f(1)", expected="1"))
EVALUATE = pb.Check(evaluate=pb.EvaluateCheck(call="f(1)"))


def task(*checks: pb.Check, **fields: object) -> pb.Task:
    return pb.Task(checks=checks or [CALL], **fields)


def read(*tasks: pb.Task, interactive: bool = True, **options: object) -> list[TaskAsk]:
    request = pb.CheckRequest(tasks=tasks, options=pb.Options(**options))
    return read_bytes(request.SerializeToString(), interactive)


def read_bytes(data: bytes, interactive: bool = True, offer: Offer = TERMS) -> list[TaskAsk]:
    outline, found = Outline(), []
    for _ in outline_of(data, outline):
        pass
    for _ in read_tasks(data, outline, offer, Origin("lab", interactive, 0), found):
        pass
    return found


def call(**fields: str) -> pb.Check:
    return pb.Check(call=pb.CallCheck(**{"call": "f(1)", "expected": "1", **fields}))


def stdio(expected: str) -> pb.Check:
    return pb.Check(stdio=pb.StdioCheck(expected_stdout=expected))


REFUSED = [
    ([], {}, "tasks is empty"),
    ([pb.Task()], {}, "tasks[0].checks is empty; nothing to check is never a pass"),
    ([task(pb.Check())], {}, "tasks[0].checks[0] has no kind; it is one of call, stdio, script, evaluate and run"),
    ([task(id="a"), task(id="a")], {}, "tasks[1].id is 'a' a second time"),
    ([task(CALL, CALL)], {}, "tasks[0].checks[1].id is '' a second time"),
    ([task(id="a\nb")], {}, r"tasks[0].id is 'a\nb'; an id holds printable characters only"),
    ([task(id="x" * 257)], {}, f"tasks[0].id begins with {'x' * 80!r} and is over 256 bytes"),
    ([task(id="é" * 129)], {}, f"tasks[0].id begins with {'é' * 80!r} and is over 256 bytes"),
    ([task()], {"runtime": "py27"}, "tasks[0].options.runtime is 'py27'; this server has default, py39"),
    ([task()], {"isolation": 9}, "isolation is 9; allowed are 0 (UNSPECIFIED), 1 (AUTO), 2 (PROCESS), 3 (TASK)"),
    ([task()], {"isolation": pb.ISOLATION_TASK}, "isolation is TASK, but tasks[0].checks[0] is no evaluate"),
    (
        [task(EVALUATE)], {"isolation": pb.ISOLATION_TASK, "require_assurance": pb.ASSURANCE_SEPARATED},
        "tasks[0].options.isolation is TASK, which does not go with require_assurance SEPARATED",
    ),
    ([task()], {"require_assurance": pb.ASSURANCE_LITERAL}, "require_assurance is LITERAL; allowed are SEPARATED and"),
    ([task()], {"repeat": 3}, "tasks[0].options.repeat is 3; allowed are 0, 1 and 2"),
    ([task()], {"step_count": 5}, "tasks[0].options.step_count is 5; allowed are 0 (UNSPECIFIED), 1 (INSTRUCTIONS)"),
    ([task()], {"priority": -1}, "tasks[0].options.priority is -1; allowed are 0 (UNSPECIFIED), 1 (INTERACTIVE), 2"),
    ([task()], {"limits": pb.Limits(cpu_ms=60_001)}, "tasks[0].options.limits.cpu_ms is 60001; allowed are 0"),
    ([task(), task(id="b", options=pb.Options(limits=pb.Limits(steps=-1)))], {}, "tasks[1].options.limits.steps is -1"),
]  # fmt: skip


@pytest.mark.parametrize(("tasks", "options", "sentence"), REFUSED, ids=[case[2][:60] for case in REFUSED])
def test_what_is_refused_is_named(tasks: list[pb.Task], options: dict[str, object], sentence: str):
    with pytest.raises(RequestError) as caught:
        read(*tasks, **options)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("names", "last"),
    [([f"library-{n}" for n in range(900)], "library-167 and others"), (["é" * 9_000], "é and others")],
)
def test_of_many_runtimes_a_refusal_names_some(names: list[str], last: str):
    """A client gives up on a status of more than 8 KiB, and takes that for a server without room."""
    offer = Offer(frozenset(names), names[0], DEFAULT_LIMITS, MAXIMUM_LIMITS)
    request = pb.CheckRequest(tasks=[task()], options=pb.Options(runtime="r" * 500))
    with pytest.raises(RequestError) as caught:
        read_bytes(request.SerializeToString(), offer=offer)
    assert str(caught.value).startswith(f"tasks[0].options.runtime is {'r' * 80!r}; this server has {names[0][:80]}")
    assert str(caught.value).endswith(last)
    assert len(str(caught.value)) < 1_200


def test_too_many_checks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(codec, "MAX_CHECKS", 1)
    with pytest.raises(RequestError, match="at most 1 checks"):
        read(task(), task(id="b"))
    with pytest.raises(RequestError, match="at most 1 tasks"):
        read(pb.Task(), pb.Task())


def test_too_many_different_options(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(codec, "MAX_DISTINCT_OPTIONS", 2)
    own = [pb.Options(limits=pb.Limits(steps=steps)) for steps in (1, 2, 1, 3)]
    assert len(read(*[task(id=str(at), options=own[at]) for at in range(3)])) == 3
    with pytest.raises(RequestError, match="at most 2 different options"):
        read(*[task(id=str(at), options=own[at]) for at in range(4)])


WRONG = [
    (call(call=""), "", "call.call is empty"),
    (call(expected=" \n"), "", "call.expected is empty"),
    (call(call="f(\0)"), "", "call.call holds a NUL character"),
    (call(entry_point="f(1)"), "", "call.entry_point is 'f(1)', which is not a Python name"),
    (stdio("1"), "", "program is empty"),
    (stdio("\n"), "x", "stdio.expected_stdout is blank; silence never passes"),
    (pb.Check(script=pb.ScriptCheck()), "x", "script.script is empty"),
    (pb.Check(script=pb.ScriptCheck(script="s", entry_point="1f")), "x", "script.entry_point is '1f', which is not a"),
    (pb.Check(evaluate=pb.EvaluateCheck()), "x", "evaluate.call is empty"),
    (CALL, "x\0", "program holds a NUL character"),
]


@pytest.mark.parametrize(("check", "program", "why"), WRONG, ids=[why for _, _, why in WRONG])
def test_what_is_wrong_with_one_check_is_its_own(check: pb.Check, program: str, why: str):
    other, mine, last = read(task(id="a"), task(check, id="b", program=program), task(id="c"))
    assert isinstance(mine.checks[0], InvalidCheck)
    assert mine.checks[0].why.startswith(f"task 'b', check '': {why}")
    assert [type(one.checks[0]) for one in (other, last)] == [CallAsk, CallAsk]


def test_a_program_that_is_wrong_is_every_check_of_its_task():
    (found,) = read(task(pb.Check(id="1", call=CALL.call), pb.Check(id="2", call=CALL.call), program="\0"))
    assert [ask.why for ask in found.checks] == [f"task '', check '{n}': program holds a NUL character" for n in "12"]


def test_what_is_wrong_around_a_program_is_every_check_of_its_task():
    (found,) = read(task(env={"1": "x"}))
    assert found.checks[0].why == "task '', check '': env names '1'; a variable's name is made of letters, digits and _"


def test_a_text_may_be_as_long_as_the_message():
    (found,) = read(task(pb.Check(stdio=pb.StdioCheck(stdin="é" * (4 << 20), expected_stdout="1")), program="x"))
    assert isinstance(found.checks[0], StdioAsk)
    assert as_text(found.checks[0].stdin) == "é" * (4 << 20)


def test_a_task_of_many_checks_is_read_in_pieces():
    checks = [pb.Check(id=str(at), call=CALL.call) for at in range(1_000)]
    asked = task(*checks, id="t", program="p", options=pb.Options(repeat=2))
    (found,) = read(asked)
    assert [ask.id for ask in found.checks] == [check.id for check in checks]
    assert (found.id, found.program, found.repeat) == ("t", b"p", 2)
    assert [steps_of(asked), steps_of(task())] == [4 + 1 + 1_000 + 1, 1 + 1 + 1 + 1]
    assert steps_of(task(program="x" * (1 << 15))) == 2 + 1 + 1 + 1  # its program alone is as long as a piece


def test_a_long_task_is_read_in_pieces_of_so_many_bytes(monkeypatch: pytest.MonkeyPatch):
    """However few checks it has: each of them may be thousands of empty fields."""
    parsed: list[int] = []
    of = codec._add_piece

    def add_piece(task: pb.Task, piece: bytes) -> None:
        parsed.append(len(piece))
        of(task, piece)

    monkeypatch.setattr(codec, "_add_piece", add_piece)
    checks = [pb.Check(id=str(at), call=pb.CallCheck(call="f(1)" + " " * 4_000, expected="1")) for at in range(200)]
    (found,) = read(task(*checks, pb.Check(id="a", stdio=pb.StdioCheck(stdin="x" * MIB, expected_stdout="y"))))
    assert len(found.checks) == 201
    whole, *others = sorted(parsed, reverse=True)
    assert MIB < whole < MIB + 100
    assert (others[0] <= codec._BYTES_A_PIECE, len(others)) == (True, 25)


def test_what_a_request_counts_for():
    """Its bytes, and what is made of it: a variable of six bytes is a hundred more when it is parsed."""
    variables = {f"{number:02d}": "" for number in range(64)}
    run = pb.Check(run=pb.RunCheck(env=variables, files={"f": b""}, arguments=["", "a"], read_files=["f"]))
    asked = task(*[pb.Check(id=str(at), stdio=pb.StdioCheck(env=variables, arguments=["a"])) for at in range(9)], run)
    asked.env["E"], asked.files["F"] = "", b""
    asked.checks.add(id="short").stdio.arguments.append("a")
    data, outline = pb.CheckRequest(tasks=[asked]).SerializeToString(), Outline()
    list(outline_of(data, outline))
    assert outline.parts == 9 * 65 + 68 + 2
    assert size_of(data, outline) == len(data) + 12 * 1024 + outline.parts * 256


def steps_of(*tasks: pb.Task) -> int:
    """How often reading them lets others go on."""
    data, outline = pb.CheckRequest(tasks=tasks).SerializeToString(), Outline()
    list(outline_of(data, outline))
    return len(list(read_tasks(data, outline, TERMS, Origin("", True, 0), [])))


def test_every_kind_is_read():
    checks = [
        pb.Check(id="a", call=pb.CallCheck(call="f(1)", expected="2", entry_point="f")),
        pb.Check(id="b", stdio=pb.StdioCheck(stdin="x", expected_stdout="y")),
        pb.Check(id="c", script=pb.ScriptCheck(script="s", entry_point="f")),
        pb.Check(id="d", evaluate=pb.EvaluateCheck(call="f(1)", inspect=True)),
    ]
    (found,) = read(task(*checks, id="t", program="p"))
    assert found.checks == [
        CallAsk("a", "f(1)", "2", "f"),
        StdioAsk("b", "x", "y"),
        ScriptAsk("c", "s", "f"),
        CallAsk("d", "f(1)", None, inspect=True),
    ]
    assert (found.id, found.program, found.tenant) == ("t", b"p", "lab")


def test_a_tasks_own_options_override_field_by_field():
    own = pb.Options(limits=pb.Limits(steps=9), isolation=pb.ISOLATION_PROCESS, priority=pb.PRIORITY_BULK)
    options = {"limits": pb.Limits(steps=5, cpu_ms=77), "runtime": "py39", "repeat": 2}
    mine, plain = read(task(id="a", options=own), task(id="b"), **options)
    assert (mine.limits.steps, mine.limits.cpu_ms, mine.runtime, mine.repeat) == (9, 77, "py39", 2)
    assert (mine.share, mine.interactive) == (False, False)
    assert (plain.limits.steps, plain.share, plain.interactive) == (5, True, True)


@pytest.mark.parametrize(("asked", "is_read"), [(0, True), (64, False), (128, True)])
def test_more_than_a_program_may_print_is_not_expected(asked: int, is_read: bool):
    (found,) = read(task(stdio("x" * 100), program="x"), limits=pb.Limits(output_bytes=asked))
    assert isinstance(found.checks[0], StdioAsk) is is_read


def test_what_is_not_said_has_a_default():
    (found,) = read(task(), interactive=False)
    assert found.limits == DEFAULT_LIMITS
    assert (found.runtime, found.share, found.require, found.repeat) == ("default", True, None, 1)
    assert (found.step_count, found.interactive) == (StepCount.INSTRUCTIONS, False)


@pytest.mark.parametrize(
    ("options", "share", "together", "require"),
    [
        ({}, True, False, None),
        ({"isolation": pb.ISOLATION_TASK}, True, True, None),
        ({"isolation": pb.ISOLATION_PROCESS}, False, False, None),
        ({"require_assurance": pb.ASSURANCE_SEPARATED}, True, False, Assurance.SEPARATED),
    ],
)
def test_who_shares_a_worker(options: dict[str, object], share: bool, together: bool, require: Assurance | None):
    (found,) = read(task(EVALUATE), **options)
    assert (found.share, found.together, found.require) == (share, together, require)


@pytest.mark.parametrize(
    ("options", "counts", "how"),
    [
        ({}, False, StepCount.INSTRUCTIONS),
        ({"limits": pb.Limits(steps=5)}, True, StepCount.INSTRUCTIONS),
        ({"step_count": pb.STEP_COUNT_INSTRUCTIONS}, True, StepCount.INSTRUCTIONS),
        ({"step_count": pb.STEP_COUNT_EVENTS}, True, StepCount.EVENTS),
    ],
)
def test_steps_are_counted_on_request(options: dict[str, object], counts: bool, how: StepCount):
    (found,) = read(task(), **options)
    assert (found.counts_steps, found.step_count) == (counts, how)
    assert found.limits_of_scripts == (found.limits if counts else replace(found.limits, steps=0))
    assert found.limits.steps


def test_an_id_may_be_long_in_any_script():
    ids = ["é" * 128, "é"]
    assert [found.id for found in read(*[task(id=name) for name in ids])] == ids


# ---- answers ----------------------------------------------------------------------

STAMP = Stamp({"default": "3.11.7"}, "digest", ("landlock",))


def written(judged: CheckResult, second: CheckResult | None = None) -> pb.Verdict:
    (asked,) = read(task(id="t"))
    return pb.Verdict.FromString(b"".join(write_verdict(asked, asked.checks[0], judged, second, STAMP)))


def test_a_verdict_says_where_it_was_made():
    found = written(CheckResult(Outcome.PASSED, assurance=Assurance.SEPARATED, shown="1", steps=7))
    assert (found.task_id, found.outcome, found.assurance) == ("t", pb.OUTCOME_PASSED, pb.ASSURANCE_SEPARATED)
    assert (found.runtime_version, found.profile_digest, list(found.degraded)) == ("3.11.7", "digest", ["landlock"])
    assert (found.value, found.steps, found.attempts) == ("1", 7, 1)


def test_a_verdict_says_all_that_was_found():
    found = written(
        CheckResult(
            Outcome.TIMED_OUT, clock=Clock.WALL, detail="why", exception=("E", "m", 3), stderr=b"e", exit_code=0,
            findings=("order",),
        )
    )  # fmt: skip
    assert (found.clock, found.detail, found.stderr, list(found.findings)) == (Clock.WALL.value, "why", "e", ["order"])
    assert (found.exception.type, found.exception.message, found.exception.line) == ("E", "m", 3)
    assert (found.HasField("exit_code"), found.exit_code) == (True, 0)
    plain = written(CheckResult(Outcome.PASSED, stdout=b"o"))
    assert (plain.stdout, plain.HasField("exit_code"), plain.HasField("exception")) == ("o", False, False)


def test_what_a_program_printed_and_wrote_is_on_the_wire():
    files = (("a", b""), ("b/ä", b"\xff" * 300))
    for out, err in (("", ""), ("ä\n" * 200, ""), ("", "e\0\ufffd"), ("o", "e")):
        found = written(
            CheckResult(Outcome.EXECUTED, stdout=out.encode(), stderr=err.encode(), files=files, shown="last")
        )
        assert (found.stdout, found.stderr, dict(found.files), found.value) == (out, err, dict(files), "last")


def test_what_is_long_is_copied_once_for_the_wire():
    (asked,) = read(task(id="t"))
    judged = CheckResult(Outcome.EXECUTED, stdout=b"o" * MIB, files=(("a", b"f" * MIB),))
    tracemalloc.start()
    try:
        field(1, *write_verdict(asked, asked.checks[0], judged, None, STAMP))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.5 * MIB  # both in one


def test_no_outcome_is_never_a_pass():
    assert written(CheckResult(None)).outcome == pb.OUTCOME_SANDBOX_ERROR


def test_the_wire_names_a_second_run_that_differs():
    first = CheckResult(Outcome.PASSED, shown="[1, 2]")
    told = [written(first, second) for second in (None, first, CheckResult(Outcome.RAISED), CheckResult(None))]
    shown = [(found.nondeterministic, found.other_value) for found in told]
    assert shown == [(False, ""), (True, "[1, 2]"), (True, "RAISED"), (True, "")]


@pytest.mark.parametrize("name", ["Outcome", "TestOutcome", "Assurance"])
def test_the_numbers_of_the_wire_are_ours(name: str):
    prefix = re.sub("(?<=t)O", "_O", name).upper()
    ours = {f"{prefix}_{each}": member.value for each, member in getattr(outcomes, name).__members__.items()}
    assert {f"{prefix}_UNSPECIFIED": 0, **ours} == dict(getattr(pb, name).items())
