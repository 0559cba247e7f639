"""The audit: what shared a worker runs again alone, and one difference makes all of the call run alone."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from cruxbox import Assurance, CallCheck, Check, Client, EvaluateCheck, Isolation, Limits, Outcome, ScriptCheck, Task
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxbox_proto.v1 import sandbox_pb2_grpc as rpc
from cruxcell.jobs import calls, series, streams
from cruxcell.jobs.context import JobContext
from in_company import EVIL, HERMETIC, RIGHT, seen
from shared_stream_cases import poisoned
from support.daemons import Served
from support.waiting import until

LIMITS = Limits(cpu_ms=3000, steps=2_000_000, output_bytes=2000, memory_bytes=128 << 20)
# Replaces the way in which the harness reports values: whatever follows in this worker has the value [66].
_TAKING_OVER = """
imp\\x6frt sys
frame = sys._getframe()
while 'context' not in frame.f_locals:
    frame = frame.f_back
kind = type(frame.f_locals['context'])
kind.send_value = lambda self, value, steps=None, send=kind.send_value: send(self, [66], steps)
"""
TAKEOVER = 'exec("' + _TAKING_OVER.replace("\n", "\\n") + '")'


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A daemon that has no layer but the audit, which takes every check."""
    with Served(tmp_path_factory.mktemp("opened"), "--audit-share=1", opened="rule,seal") as served:
        yield served


def generations(evil: int, of: int) -> list[Task]:
    """As `cruxbox score --mode output` asks for them: right ones, wrong ones, and evil ones here and there."""
    chance = random.Random(evil * of)
    attacks = set(chance.sample(range(of), evil))
    tasks = []
    for at in range(of):
        output = repr([at, chance.choice("abc") * 3, {"k": at % 7}])
        said = chance.choice([EVIL, TAKEOVER]) if at in attacks else output if at % 3 else "[66]"
        tasks.append(Task("", [CallCheck(said, output)], id=str(at), limits=LIMITS))
    return tasks


_SORTED = "exec('imp' 'ort builtins\\nbuiltins.sorted = lambda *_, **more: [66]')\n"
_VALUES = 'exec(\'imp\' \'ort sys\\nsys.modules["cruxcell.jobs.series"]._of_value = lambda *_: (b"v", b"i66;")\')\n'


def scripts(evil: int, of: int) -> list[Task]:
    """Scripts that are judged by their calls: right ones, wrong ones, and programs that would change how others end."""
    chance = random.Random(evil * of)
    attacks = set(chance.sample(range(of), evil))
    tasks = []
    for at in range(of):
        attack = chance.choice([_SORTED, _VALUES]) if at in attacks else ""
        program = f"{attack}def f(x):\n    return sorted(str(x)) + [{at}]\n"
        script = f"def check(candidate):\n    assert candidate(21) == ['1', '2', {at}]\n    assert candidate(3) == "
        script += f"['3', {at}]\ncheck(f)" if at % 3 else "[66]\ncheck(f)"
        tasks.append(Task(program, [ScriptCheck(script, "f")], id=f"script {at}", limits=LIMITS))
    return tasks


def mixed() -> list[Task]:
    return [*generations(50, 800), *scripts(10, 80)]


def alone(client: Client, tasks: list[Task]) -> list[tuple]:
    return [seen(verdict) for verdict in client.check([replace(task, isolation=Isolation.PROCESS) for task in tasks])]


@pytest.fixture(scope="module")
def isolated(opened: Served) -> list[tuple]:
    """What becomes of `mixed()` where nothing shares a worker."""
    with opened.client() as client:
        return alone(client, mixed())


def test_what_attacks_look_for_is_there():
    """An attack that looks for a name which the harness no longer has shows nothing, here or in the tests beside."""
    assert {"context", "planned"} <= set(calls.run_calls.__code__.co_varnames)
    assert {"context", "inputs"} <= set(streams.run_streams.__code__.co_varnames)
    assert {"send", "send_value"} <= vars(JobContext).keys()
    assert "_of_value" in vars(series)


@pytest.mark.kernel
def test_the_audit_alone_gives_the_verdicts_of_isolation(opened: Served, isolated: list[tuple]):
    with opened.client() as client:
        before = opened.metric("cruxbox_audit_mismatches_total")
        assert [seen(verdict) for verdict in client.check(mixed())] == isolated
    assert opened.metric("cruxbox_audit_mismatches_total") > before
    assert opened.metric("cruxbox_audits_total") > 0


@pytest.mark.kernel
def test_without_any_layer_verdicts_are_flipped(tmp_path: Path, isolated: list[tuple]):
    """What the tests beside this one attack with does reach others where no layer is."""
    tasks = mixed()
    with Served(tmp_path, "--audit-share=0", opened="rule,seal") as served, served.client() as client:
        found = [seen(verdict) for verdict in client.check(tasks)]
        flipped = [task for task, one, other in zip(tasks, found, isolated) if one != other]
        assert {type(task.checks[0]) for task in flipped} == {CallCheck, ScriptCheck}
        assert [seen(verdict) for verdict in client.check(poisoned())] != alone(client, poisoned())
        assert served.metric("cruxbox_audits_total") == 0


@pytest.mark.kernel
def test_the_rule_alone_gives_the_verdicts_of_isolation(tmp_path: Path, isolated: list[tuple]):
    with Served(tmp_path, "--audit-share=0", opened="seal") as served, served.client() as client:
        assert [seen(verdict) for verdict in client.check(mixed())] == isolated


@pytest.mark.kernel
def test_the_seal_alone_gives_the_verdicts_of_isolation(tmp_path: Path, isolated: list[tuple]):
    with Served(tmp_path, "--audit-share=0", opened="rule") as served, served.client() as client:
        assert [seen(verdict) for verdict in client.check(mixed())] == isolated
        assert served.metric("cruxbox_audits_total") == 0
        until(lambda: served.log.count("a seal broke") >= 40)  # the log has a thread of its own


@pytest.mark.kernel
@pytest.mark.parametrize(
    "check",
    [EvaluateCheck(RIGHT[0]), ScriptCheck("assert sorted('ba') == ['a', 'b']"), CallCheck(*RIGHT)],
    ids=["evaluate", "script", "call"],
)
def test_every_kind_of_check_is_audited(opened: Served, check: Check):
    tasks = [
        Task(f"{HERMETIC}  # {at}", [CallCheck(EVIL, "None") if at == 3 else check], id=str(at)) for at in range(60)
    ]
    with opened.client() as client:
        expected = alone(client, tasks)
        assert [seen(verdict) for verdict in client.check(tasks)] == expected


@pytest.mark.kernel
def test_runs_of_a_program_on_many_inputs_are_audited(opened: Served):
    with opened.client() as client:
        expected = alone(client, poisoned())
        before = opened.metric("cruxbox_audit_mismatches_total")
        assert [seen(verdict) for verdict in client.check(poisoned())] == expected
    assert opened.metric("cruxbox_audit_mismatches_total") > before


# What is told of those behind such a check, in ways that are no other outcome, value or steps.
_AND = """
told = kind.send.__globals__
records, messages = told['records'], told['messages']
first, real = kind.send_value, records.findings
def shows(self, value, steps=None):
    kind, value = told['_encoded'](value, self.budget)
    self.send(records.value(self.numbers(), kind, value, b'66', *self.output()))
def notes(self, value, steps=None):
    records.findings = lambda at, found: real(at, [set(messages.FINDING_NAMES)] * len(found))
    first(self, value, steps)
def waits(self, value, steps=None):
    imp\\x6frt _thread
    lock = _thread.allocate_lock()
    while lock.acquire(): pass
def plans(self, value, steps=None):
    real = records.plan
    records.plan = lambda sharing, kinds, details: real(sharing, 'x' * len(kinds), [])
    kind.send_value = lambda *_: None
def behind(self, value, steps=None):
    kind.send_value = THEN
    first(self, value, steps)
kind.send_value = behind
"""


@pytest.mark.kernel
@pytest.mark.parametrize("then", ["notes", "plans", "shows", "waits"])
def test_what_is_audited_is_in_all_what_it_is_alone(opened: Served, then: str):
    """An honest check was TIMED_OUT, as a wall clock proves nothing; a filter kept rows by notes of others."""
    attack = _TAKING_OVER[: _TAKING_OVER.index("kind.send_value")] + _AND.replace("THEN", then)
    evil = 'exec("' + attack.replace("\n", "\\n") + '")'
    limits = replace(LIMITS, wall_ms=1500)
    tasks = [
        Task(
            f"{HERMETIC}  # {at}",
            [EvaluateCheck(evil) if at % 10 == 3 else EvaluateCheck(RIGHT[0], inspect=True)], id=str(at), limits=limits,
        )
        for at in range(30)
    ]  # fmt: skip
    with opened.client() as client:
        found = client.check(tasks)
    honest = {(v.outcome, v.value, v.assurance, v.findings) for at, v in enumerate(found) if at % 10 != 3}
    assert honest == {(Outcome.EVALUATED, RIGHT[1], Assurance.SEPARATED, ("CALL_SHAPE",))}


@pytest.mark.kernel
def test_both_runs_of_a_repeated_check_are_audited(opened: Served):
    checks = [CallCheck(EVIL, "None", id="evil"), *[CallCheck(*RIGHT, id=str(at)) for at in range(20)]]
    with opened.client() as client:
        verdicts = client.check([Task(HERMETIC, checks, repeat=2, limits=LIMITS)])
    assert {verdict.outcome for verdict in verdicts[1:]} == {Outcome.PASSED}
    assert not any(verdict.nondeterministic for verdict in verdicts[1:])


@pytest.mark.kernel
def test_a_mismatch_is_logged_with_its_task_escaped(opened: Served):
    name = "Aufgabe \N{SNOWMAN}"
    checks = [
        pb.Check(id="evil", call=pb.CallCheck(call=EVIL, expected="None")),
        pb.Check(id="right", call=pb.CallCheck(call=RIGHT[0], expected=RIGHT[1])),
    ]
    with grpc.insecure_channel(opened.target) as channel:
        rpc.SandboxStub(channel).Check(pb.CheckRequest(tasks=[pb.Task(id=name, program=HERMETIC, checks=checks)]))

    def logged() -> list[tuple[str, str]]:
        lines = [json.loads(line) for line in opened.log.splitlines() if "came to something else" in line]
        return [(line["task"], line["check"]) for line in lines]

    until(lambda: (ascii(name), "'right'") in logged())


@pytest.mark.kernel
def test_honest_checks_never_differ(tmp_path: Path):
    """No layer is opened, every check is audited, and nothing is found."""
    programs = [
        "def f(x):\n    return sorted({str(x), 'b', 'c'}), x / (x - 3)",
        "def f(x):\n    print(x)\n    raise KeyError(x, f)",
        "def f(x):\n    while x == 2: pass\n    return (y for y in [x])",
        "def f(x):\n    return 'é'.encode('cp1252' if x == 2 else 'utf-8')",
        "def f(x):\n    return f'{f} {len}'",
    ]
    calls = ["f(1)", "f(2)", "f(3)", "f()", "7", "sorted('ba')", "g(1)"]
    tasks = [
        Task(f"{programs[at % 5]}\n# {at}", [EvaluateCheck(call, id=call) for call in calls], limits=LIMITS)
        for at in range(40)
    ]
    with Served(tmp_path, "--audit-share=1") as served, served.client() as client:
        client.check(tasks)
        assert served.metric("cruxbox_audits_total") > 100
        assert served.metric("cruxbox_audit_mismatches_total") == 0, served.log


@pytest.mark.kernel
def test_one_mismatch_makes_all_of_an_answer_run_again(tmp_path: Path):
    """A unary answer holds all of its verdicts: what an audit finds at its end changes those at its beginning."""
    tasks = []
    for number in range(10):
        checks = [pb.Check(id="evil", call=pb.CallCheck(call=TAKEOVER, expected="None"))]
        checks += [pb.Check(id=str(at), call=pb.CallCheck(call=f"abs({at})", expected=str(at))) for at in range(30)]
        tasks.append(pb.Task(id=str(number), checks=checks))
    with Served(tmp_path, "--audit-share=1/10", opened="rule,seal") as served:
        with grpc.insecure_channel(served.target) as channel:
            answer = rpc.SandboxStub(channel).Check(pb.CheckRequest(tasks=tasks))
        outcomes = {verdict.outcome for verdict in answer.verdicts if verdict.check_id != "evil"}
        assert (len(answer.verdicts), outcomes) == (310, {pb.OUTCOME_PASSED})
        assert 0 < served.metric("cruxbox_audit_mismatches_total") < 300
