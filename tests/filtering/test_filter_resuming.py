"""Runs over files that are interrupted, killed or run out of disk: they go on where they were, or say why not."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from cruxbox.cli import main
from cruxbox.errors import DataError
from cruxbox.files import Unwritable
from cruxbox.filtering import PAPER, Plan, Rules, files, filter_file
from cruxbox.filtering.seen import Seen
from cruxbox.model import Limits
from filter_lines import BODY, read, write

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.workload import candidates


def test_a_run_that_is_interrupted_says_how_to_go_on(tmp_path, server, capsys, monkeypatch):
    """A run that has done nothing leaves nothing to go on with."""
    write(tmp_path / "in.jsonl", list(candidates(4, 20)))
    words = ["filter", str(tmp_path / "in.jsonl"), "--out", str(tmp_path / "kept.jsonl"), "--server", server]
    judge = files._take
    done = []

    def interrupted(*arguments):
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(judge(*arguments))

    monkeypatch.setattr(files, "_take", interrupted)
    assert main(words) == 130
    assert "kept.jsonl.journal; --resume continues it" in capsys.readouterr().err
    assert main([*words, "--restart"]) == 130
    assert capsys.readouterr().err == ""
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


# A process that filters, and is killed at a row of the input.
@contextmanager
def full_disk(size):
    """No file grows beyond `size` meanwhile, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("out", ["kept.jsonl", "kept.jsonl.gz"])
def test_a_full_disk_is_one_sentence_and_the_run_can_go_on(tmp_path, server, capsys, out):
    source = write(tmp_path / "in.jsonl", [{"code": BODY + f"    return {n}", "input": "'a'"} for n in range(150)])
    words = ["filter", str(source), "--out", str(tmp_path / out), "--rules", "released", "--server", server]
    with full_disk(1 << 10):  # there is no room for what has to be there first
        assert main(words) == 2
    assert "kept" in (sentence := capsys.readouterr().err)
    assert sentence.count("\n") == 1
    assert "cannot be written" in sentence
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
    with full_disk(20 << 10):
        assert main(words) == 2
    note, sentence = capsys.readouterr().err.splitlines()
    assert note.endswith(f"{out}.journal; --resume continues it")
    assert sentence.endswith(f"{out}: cannot be written: File too large")
    assert main([*words, "--resume"]) == 0
    assert "150 of 150 pairs kept" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", out]


def test_what_remembers_the_pairs_may_be_full_or_no_such_file(tmp_path):
    seen = Seen(tmp_path / "k.seen")
    for place in range(4000):
        assert not seen.came_before("f", str(place), place)
    with full_disk(64 << 10), pytest.raises(Unwritable, match=r"k\.seen: cannot be written: "):
        seen.save()
    seen.close()
    (tmp_path / "k.seen").write_bytes(b"x" * 5000)
    with pytest.raises(DataError, match=r"k\.seen: is not what a run has left .*; use --restart to start over"):
        Seen(tmp_path / "k.seen")


_KILLED = """
import os, signal, sys
from pathlib import Path
from cruxbox import Client, Limits
from cruxbox.filtering import PAPER, Plan, filter_file
folder, target, row = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
plan = Plan(folder / "in.jsonl", folder / "kept.jsonl", folder / "refused.jsonl", PAPER.with_limits(Limits(cpu_ms=200)),
            resume=True, checkpoint_s=float(sys.argv[4]))
with Client(target) as client:
    filter_file(plan, client, on_progress=lambda all: os.kill(os.getpid(), signal.SIGKILL) if all.rows == row else None)
"""


def test_a_run_that_is_killed_twice_loses_and_repeats_nothing(tmp_path, server, client):
    works = [work for work in candidates(3, 170) if "10 **" not in work["code"] and ".append(w + " not in work["code"]]
    items = [*works[:60], "not json\n", *works[40:]]
    for name in ("killed", "whole"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "in.jsonl", items)
    for row, checkpoint_s in ((45, 0.0), (110, 0.01), (0, 1.0)):
        command = [sys.executable, "-c", _KILLED, str(tmp_path / "killed"), server, str(row), str(checkpoint_s)]
        done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
        assert done.returncode == (-signal.SIGKILL if row else 0), done.stderr
        assert (tmp_path / "killed" / "kept.jsonl.journal").exists() == bool(row)
    whole = tmp_path / "whole"
    rules = PAPER.with_limits(Limits(cpu_ms=200))
    summary = filter_file(Plan(whole / "in.jsonl", whole / "kept.jsonl", whole / "refused.jsonl", rules), client)
    assert summary.rows == len(items)
    assert summary.bad_rows == 1
    for name in ("kept.jsonl", "refused.jsonl"):
        assert (tmp_path / "killed" / name).read_bytes() == (whole / name).read_bytes()
    assert len(read(whole / "kept.jsonl")) + len(read(whole / "refused.jsonl")) == summary.pairs + 1


def killed_after(tmp_path, server, row):
    """A run over rows of which one is there twice, before and behind the row at which it is killed."""
    works = list(candidates(4, 12))
    write(tmp_path / "in.jsonl", [*works, *works[:6]])
    command = [sys.executable, "-c", _KILLED, str(tmp_path), server, str(row), "0"]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    rules = PAPER.with_limits(Limits(cpu_ms=200))
    plan = Plan(tmp_path / "in.jsonl", tmp_path / "kept.jsonl", tmp_path / "refused.jsonl", rules)
    return replace(plan, resume=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state["summary"].update(kept=0, rejected=state["summary"]["pairs"]),
        lambda state: state.update(sizes=[state["sizes"][0] - 9, state["sizes"][1]]),
        lambda state: state.update(rows=4, summary={**state["summary"], "rows": 4}),
        lambda state: state["identity"].update(runtime="py3"),
        lambda state: state.update(done=True),
        lambda state: state.pop("seal"),
    ],
    ids=["counts", "sizes", "rows", "runtime", "done", "seal"],
)
def test_a_journal_that_was_changed_is_none(tmp_path, server, client, change):
    plan = killed_after(tmp_path, server, 10)
    journal = tmp_path / "kept.jsonl.journal"
    state = json.loads(journal.read_text())
    change(state)
    journal.write_text(json.dumps(state))
    with pytest.raises(DataError, match=r"journal: is not the journal of a run; use --restart to start over"):
        filter_file(plan, client)


@pytest.mark.parametrize("name", ["kept.jsonl.partial", "refused.jsonl.partial"])
def test_rows_that_were_changed_since_are_none_of_the_run_s(tmp_path, server, client, name):
    plan = killed_after(tmp_path, server, 10)
    path = tmp_path / name
    for held in (path.read_bytes().replace(b'"code"', b'"CODE"', 1), path.read_bytes()[:-1]):
        path.write_bytes(held)
        with pytest.raises(DataError, match=rf"{name}: does not hold what kept.jsonl.journal says; use --restart"):
            filter_file(plan, client)


def test_what_came_before_is_what_the_run_has_left(tmp_path, server, client):
    """Without it, or with another's, the pairs that come again would be kept again."""
    plan = killed_after(tmp_path, server, 10)
    names = [f"kept.jsonl.seen{each}" for each in ("", "-wal", "-shm")]
    left = {name: (tmp_path / name).read_bytes() for name in names if (tmp_path / name).exists()}
    other = Seen(tmp_path / "other.seen")
    for _ in range(100):
        other.save()
    other.close()
    for another in (None, (tmp_path / "other.seen").read_bytes()):
        for name in names:
            (tmp_path / name).unlink(missing_ok=True)
        if another is not None:
            (tmp_path / names[0]).write_bytes(another)
        with pytest.raises(DataError, match="the record of duplicates is not what the run has left; use --restart"):
            filter_file(plan, client)
    for name, held in left.items():
        (tmp_path / name).write_bytes(held)
    whole = filter_file(replace(plan, out=tmp_path / "whole.jsonl", rejects=tmp_path / "r.jsonl", resume=False), client)
    assert filter_file(plan, client).as_dict() == whole.as_dict()
    assert whole.reasons["DUPLICATE"]


LAST = (Path, "unlink", 0, "kept.jsonl.journal")


@pytest.mark.parametrize("first", [(os, "replace", 1, "refused.jsonl"), LAST], ids=["between", "behind"])
def test_a_run_that_is_killed_while_its_files_take_their_names_goes_on(tmp_path, client, monkeypatch, first):
    plan = Plan(
        write(tmp_path / "in.jsonl", list(candidates(3, 20))), tmp_path / "kept.jsonl", tmp_path / "refused.jsonl"
    )
    filter_file(plan, client)
    whole = [path.read_bytes() for path in (plan.out, plan.rejects)]
    for resume, (module, name, at, file) in ((False, first), (True, LAST), (True, LAST)):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, killed_at(getattr(module, name), at, tmp_path / file))
            with pytest.raises(KeyboardInterrupt):
                filter_file(replace(plan, resume=resume), client)
    assert filter_file(replace(plan, resume=True), client).rows == 20
    assert [path.read_bytes() for path in (plan.out, plan.rejects)] == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "kept.jsonl", "refused.jsonl"]


def killed_at(call, at, path):
    """`call`, which ends the run when its argument number `at` is `path`."""

    def killing(*arguments, **keywords):
        if Path(arguments[at]) == path:
            raise KeyboardInterrupt
        return call(*arguments, **keywords)

    return killing


def test_an_unfinished_run_is_not_overwritten_or_continued_by_mistake(tmp_path, server, client):
    write(tmp_path / "in.jsonl", list(candidates(4, 20)))
    command = [sys.executable, "-c", _KILLED, str(tmp_path), server, "5", "0"]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    plan = Plan(tmp_path / "in.jsonl", tmp_path / "kept.jsonl", tmp_path / "refused.jsonl")
    with pytest.raises(DataError, match="an unfinished run is here"):
        filter_file(plan, client)
    with pytest.raises(DataError, match="the unfinished run differs in rules"):
        filter_file(Plan(plan.candidates, plan.out, plan.rejects, resume=True), client)
    with plan.candidates.open("ab") as file:  # behind all that was read when it was killed
        file.write(b"\n")
    with pytest.raises(DataError, match=r"differs in candidates.content: other content now; --restart starts over"):
        filter_file(Plan(plan.candidates, plan.out, plan.rejects, resume=True), client)
    fast = Rules(**{**vars(PAPER), "max_seconds": 0.1})
    assert filter_file(Plan(plan.candidates, plan.out, plan.rejects, fast, restart=True), client).rows == 20


@pytest.mark.parametrize("more", [{}, {"resume": True}, {"restart": True}])
def test_two_runs_with_one_output_do_not_disturb_each_other(tmp_path, client, more):
    plan = Plan(write(tmp_path / "in.jsonl", list(candidates(4, 20))), tmp_path / "kept.jsonl", checkpoint_s=0.0)
    other = Plan(write(tmp_path / "b.jsonl", list(candidates(5, 5))), plan.out, tmp_path / "refused.jsonl", **more)
    told = []

    def meanwhile(summary):
        if summary.rows == 5:
            with pytest.raises(DataError) as caught:
                filter_file(other, client)
            told.append(str(caught.value))

    assert filter_file(plan, client, on_progress=meanwhile).rows == 20
    assert "another run is writing it" in told[0] or "an unfinished run is here" in told[0]
    together = plan.out.read_bytes()
    filter_file(plan, client)
    assert plan.out.read_bytes() == together
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.jsonl", "in.jsonl", "kept.jsonl"]
