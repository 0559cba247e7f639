"""What all commands that run samples have in common: a run that is killed goes on, one bad row is its own; and
`cruxbox bigcodebench`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from unittest.mock import ANY

import pytest
from cruxbox.cli import main
from cruxbox.cli.resuming import Going, going_on
from cruxbox.errors import DataError
from cruxbox.problems.records import BadRow, entry_point
from samples_by_hand import DOUBLE, lines_of, run, write

CRUXBOX = [sys.executable, "-c", "import sys; from cruxbox.cli import main; sys.exit(main())"]


# ---- entry points ----------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.parametrize("name", ["Solution().solve", "Solution.solve", "Solution"])
def test_an_entry_point_may_be_a_method_or_a_class(server, tmp_path, capsys, name):
    calls = {
        "Solution().solve": "candidate(2)",
        "Solution.solve": "candidate(None, 2)",
        "Solution": "candidate().solve(2)",
    }
    problem = {
        **DOUBLE,
        "entry_point": name,
        "prompt": "",
        "test": f"def check(candidate):\n    assert {calls[name]} == 4\n",
    }
    programs = [f"class Solution:\n    def solve(self, x):\n        return {answer}\n" for answer in ("2 * x", "3 * x")]
    samples = [{"task_id": "Mine/0", "solution": program} for program in programs]
    _, lines = run(tmp_path, capsys, problem, samples, "--server", server)
    assert [(line["passed"], line["assurance"]) for line in lines] == [(True, "SEPARATED"), (False, "SEPARATED")]


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("test", "why"),
    [
        ("    assert candidate(2 == 4\n", "the script: "),
        ("    assert candidate(2) == 4\0\n", "script.script holds a NUL character"),
    ],
    ids=["no Python", "NUL"],
)
def test_a_test_that_cannot_be_used_is_not_the_sample_s_failure(server, tmp_path, capsys, test, why):
    problem = {**DOUBLE, "test": f"def check(candidate):\n{test}"}
    samples = [{"task_id": "Mine/0", "completion": text} for text in ("    return 2 * x\n", "    return x\0\n")]
    summary, (right, broken) = run(tmp_path, capsys, problem, samples, "--server", server)
    assert (right["passed"], right["outcome"], summary["masked"]) == (None, "INVALID", 1)
    assert right["result"].startswith(f"invalid: {tmp_path}/p.jsonl, line 1: {why}")
    assert (broken["passed"], broken["result"]) == (False, "failed: program holds a NUL character")


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("solution", "passed"),
    [("    return str(x + 1)\n", [True, False, False]), ("    return f'(lambda: {x + 1})()'\n", [True, None, None])],
    ids=["a text that may run", "code"],
)
def test_who_gives_code_to_a_test_that_runs_texts_fails_unless_that_is_right(
    server, tmp_path, capsys, solution: str, passed: list
):
    problem = {
        **DOUBLE,
        "test": "def check(candidate):\n    assert eval(candidate(2)) == 3\n",
        "canonical_solution": solution,
    }
    bodies = ["    return '3'\n", "    return '(lambda: 3)()'\n", "    return '__import__(\"os\").getpid()'\n"]
    samples = [{"task_id": "Mine/0", "completion": body} for body in bodies]
    summary, lines = run(tmp_path, capsys, problem, samples, "--server", server)
    assert [line["passed"] for line in lines] == passed
    assert summary["masked"] == passed.count(None)


@pytest.mark.kernel
def test_a_list_without_a_sample_is_told_and_is_nobody_s_failure(server, tmp_path, capfd):
    files = write(
        tmp_path / "s.jsonl",
        {"task_id": "Mine/0", "completions": []},
        {"task_id": "Mine/1", "completion": "    return 2 * x\n"},
    )
    problems = write(tmp_path / "p.jsonl", DOUBLE, {**DOUBLE, "task_id": "Mine/1"})
    words = ["humaneval", files, "--problems", problems, "--out", "-", "--server", server]
    assert main(words) == 0
    shown = capfd.readouterr()
    none, right = map(json.loads, shown.out.splitlines())
    assert (none["passed"], none["outcome"], right["passed"]) == (None, "INVALID", True)
    assert f"{tmp_path}/s.jsonl, line 1: field 'completions' is an empty list" in shown.err
    assert not list(Path().glob("-*"))


@pytest.mark.parametrize("name", ["", "()", "f(", "f(1)", "a b", "a..b", "().f", "f()g", "f.(x)", "f(()"])
def test_what_is_no_entry_point(name):
    with pytest.raises(BadRow):
        entry_point(name)


def test_many_calls_behind_no_name_are_looked_at_once():
    with pytest.raises(BadRow):
        entry_point("()" * 300_000 + "x")


# ---- killed and gone on with -----------------------------------------------------


def kill_at_work(words: list[str], journal: Path) -> None:
    """Run a command, and kill it when it has done a few parts."""
    process = subprocess.Popen([*CRUXBOX, *words], stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 5) and time.monotonic() < until:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL


@pytest.mark.kernel
def test_a_killed_run_loses_nothing_and_repeats_nothing(server, tmp_path, capsys):
    """Each sample takes a while, so that the kill is in the midst of them."""
    body = "    import time\n    until = time.process_time() + 0.05\n    while time.process_time() < until: pass\n"
    samples = [{"task_id": "Mine/0", "completion": f"{body}    return {2 + n % 3} * x  # {n}\n"} for n in range(40)]
    files = [write(tmp_path / "s.jsonl", *samples), "--problems", write(tmp_path / "p.jsonl", DOUBLE)]
    words = ["humaneval", *files, "--out", str(tmp_path / "r.jsonl"), "--server", server, "--json"]
    partial = tmp_path / "r.jsonl.partial"
    kill_at_work(words, partial)
    partial.write_bytes(partial.read_bytes() + b'{"at": 39, "fie')  # as if it had been killed in the midst of a line
    before = lines_of_journal(partial)
    assert 5 <= len(before) < 40

    assert main(words) == 2
    assert "--resume continues it" in capsys.readouterr().err
    assert main([*words, "--resume", "--cpu-limit", "3"]) == 2
    assert "differs in limits.cpu_ms: 10000 there, 3000 now; --restart" in capsys.readouterr().err
    assert main([*words, "--resume"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["resumed"] == len(before)
    lines = lines_of(tmp_path / "r.jsonl")
    assert [line["completion"] for line in lines] == [sample["completion"] for sample in samples]
    assert [line["passed"] for line in lines] == [n % 3 == 0 for n in range(40)]
    assert not partial.exists()

    assert main([*words, "--resume"]) == 0  # nothing is left to be done
    assert json.loads(capsys.readouterr().out) == {**summary, "resumed": 40, "elapsed_s": ANY}
    assert lines_of(tmp_path / "r.jsonl") == lines
    assert main([*words, "--resume", "--cpu-limit", "3"]) == 2
    assert "r.jsonl: the finished run differs in limits.cpu_ms: 10000 there" in capsys.readouterr().err
    for name, what in (("s.jsonl", "samples"), ("p.jsonl", "problems")):
        before = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(before + b"\n")
        assert main([*words, "--resume"]) == 2
        assert f"the finished run differs in {what}: other content now; --restart" in capsys.readouterr().err
        (tmp_path / name).write_bytes(before)
    (tmp_path / "r.jsonl").write_text("")  # changed since: everything runs again
    assert main([*words, "--resume"]) == 0
    assert json.loads(capsys.readouterr().out)["resumed"] == 0
    assert sorted(os.listdir(tmp_path)) == ["p.jsonl", "r.jsonl", "r.jsonl.done", "s.jsonl"]


@pytest.mark.kernel
def test_a_killed_scoring_loses_nothing_and_repeats_nothing(server, tmp_path, capsys):
    body = (
        "import time\ndef f(x):\n    until = time.process_time() + 0.05\n    while time.process_time() < until: pass\n"
    )
    data = write(tmp_path / "d.jsonl", {"code": f"{body}    return x % 3\n", "input": "1", "output": "1", "id": "a"})
    (tmp_path / "g.json").write_text(json.dumps({"a": [f"f({n})" for n in range(40)] + ["f(", "f(1) or 1"]}))
    words = ["score", str(tmp_path / "g.json"), "--dataset", data, "--mode", "input", "--server", server, "--json"]
    words += ["--max-steps", "1000000000", "--out", str(tmp_path / "r.json")]
    assert main(words) == 0
    whole, summary = json.loads((tmp_path / "r.json").read_text()), json.loads(capsys.readouterr().out)
    assert sorted(os.listdir(tmp_path)) == ["d.jsonl", "g.json", "r.json"]
    (tmp_path / "r.json").unlink()

    journal = tmp_path / "r.json.partial"
    kill_at_work(words, journal)
    before = journal.read_bytes()
    assert main([*words, "--resume", "--restart"]) == 2
    assert "exclude each other" in capsys.readouterr().err
    assert main([*words, "--resume", "--cpu-limit", "2"]) == 2
    assert "differs in limits.cpu_ms: 3000 there, 2000 now; --restart" in capsys.readouterr().err
    assert main([*words, "--resume"]) == 0
    assert json.loads(capsys.readouterr().out) == {**summary, "elapsed_s": ANY}
    assert without_times(json.loads((tmp_path / "r.json").read_text())) == without_times(whole)
    done = (tmp_path / "r.json.done").read_bytes()
    assert done.startswith(before[: before.rindex(b"\n") + 1])
    asked = [json.loads(line)["at"] for line in done.splitlines()[1:-1]]
    assert len(asked) == len(set(asked))  # nothing was asked twice
    assert not journal.exists()

    before = (tmp_path / "r.json").read_bytes()  # nothing is left to be done, so no server is needed
    assert main([*words, "--resume", "--server", "127.0.0.1:9"]) == 0
    assert (tmp_path / "r.json").read_bytes() == before
    for asked in ("--resume", "--restart"):
        assert main([*words[:6], asked]) == 2
        assert f"{asked} needs --out FILE" in capsys.readouterr().err

    journal.write_bytes(b"".join(done.splitlines(keepends=True)[:3]))
    assert main(words) == 2
    told = "an unfinished run is here; --resume continues it, --restart starts over"
    assert told in capsys.readouterr().err
    assert journal.exists()
    assert main([*words, "--restart"]) == 0
    assert sorted(os.listdir(tmp_path)) == ["d.jsonl", "g.json", "r.json"]


def without_times(scored: dict) -> dict:
    for row in scored["verdicts"].values():
        for verdict in row:
            del verdict["cpu_ms"], verdict["steps"]  # of a wait
    return scored


def lines_of_journal(path: Path) -> list[int]:
    """The numbers of the samples that are done."""
    whole = path.read_text().rpartition("\n")[0]
    return [record["at"] for record in map(json.loads, whole.splitlines()) if "at" in record]


def test_a_journal_of_another_kind_is_refused(tmp_path, capsys):
    sample = {"task_id": "Mine/0", "completion": ""}
    files = [write(tmp_path / "s.jsonl", sample), "--problems", write(tmp_path / "p.jsonl", DOUBLE)]
    write(tmp_path / "r.jsonl.partial", {"identity": {}}, {"at": "x"})
    assert main(["humaneval", *files, "--out", str(tmp_path / "r.jsonl"), "--resume"]) == 2
    assert "r.jsonl.partial, line 2: is no line of the journal of a run" in capsys.readouterr().err


_CHANGES = [
    (b'"at": 1', b'"at": 0'),  # another sample's
    (b'"passed": false', b'"passed": true'),
    (b'"outcome": "FAILED"', b'"outcome": "PASSED"'),
    (b'"assurance": "SEPARATED"', b'"assurance": "LITERAL"'),
    (b'"k": "1"', b'"k": "2"'),
]


@pytest.mark.parametrize(("before", "now"), _CHANGES)
def test_a_line_of_a_journal_that_was_changed_is_none(tmp_path, before, now):
    """It would be a verdict that nobody has given, or that of another sample."""
    path, identity = tmp_path / "r.jsonl", {"k": "1"}
    said = [(True, "PASSED"), (False, "FAILED")]
    fields = {at: {"passed": yes, "outcome": word, "assurance": "SEPARATED"} for at, (yes, word) in enumerate(said)}
    assert killed(Going([path]), identity, fields) == {}
    assert killed(Going([path], resume=True), identity, {}) == fields
    partial = tmp_path / "r.jsonl.partial"
    written = partial.read_bytes()
    assert before in written
    partial.write_bytes(written.replace(before, now))
    with pytest.raises(DataError, match=r"r\.jsonl\.partial, line \d: is no line of the journal of a run"):
        killed(Going([path], resume=True), identity, {})


def killed(going, identity, fields):
    """Do a part of a run; what had been done before."""
    with suppress(KeyboardInterrupt), going_on(going, identity, dict) as done:
        before = dict(done.fields)
        for at, own in fields.items():
            done.add(at, own)
        raise KeyboardInterrupt
    return before
