"""`cruxbox run`: prompts, completions, generations and scores in one command, and again after a kill."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cruxbox.cli import main

TASKS = Path(__file__).parents[2] / "examples" / "tasks.jsonl"
ROWS = [json.loads(line) for line in TASKS.read_text().splitlines()]


def answer(body, number):
    """The right answer with even numbers, and none with odd ones."""
    text = body["prompt"] if "prompt" in body else body["messages"][-1]["content"]
    row = next(
        row for row in ROWS if text.rpartition(row["code"])[1] and row["code"] in text[-len(row["code"]) - 400 :]
    )
    wanted = f"assert f({row['input']}) == {row['output']}"
    thought = "I think.\n[/THOUGHT]\n[ANSWER]\n" if text.endswith("[THOUGHT]\n") else ""
    return thought + (wanted if number % 2 == 0 else "no idea") + "\n"


def arguments(endpoint, out, mode, *more):
    return [
        *("run", str(TASKS), "--mode", mode, "--base-url", endpoint.url, "--model", "lab/m-1", "--out", str(out)),
        *("--n", "4", "--seed", "0", *more),
    ]


@pytest.mark.parametrize("cot", [False, True])
@pytest.mark.parametrize("mode", ["input", "output"])
def test_from_prompts_to_scores(endpoint, tmp_path, capsys, mode, cot):
    endpoint.script = answer
    assert main([*arguments(endpoint, tmp_path / "runs", mode, *(["--cot"] if cot else [])), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    name = f"lab_m-1{'+cot' if cot else ''}_temp0.2_{mode}"
    assert summary["files"][0]["pass_at_k"]["1"] == 50.0
    assert summary["generation"] == {"completions": 4 * len(ROWS), "cached": 0, "requests": len(ROWS)}
    kinds = ("prompts.jsonl", "raw.jsonl", "raw.jsonl.cache", "generations.json")
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == sorted(
        [*(f"{name}.{kind}" for kind in kinds), "scored"]
    )
    scored = tmp_path / "runs" / "scored" / f"{name}.json"
    assert set(map(tuple, json.loads(scored.read_text())["raw_scored_generations"].values())) == {
        (True, False, True, False)
    }
    assert main(["leaderboard", str(scored), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["models"][0][f"{mode[0]}@1"] == 50.0


def test_a_killed_run_goes_on(endpoint, tmp_path, capsys):
    endpoint.script = answer
    out = tmp_path / "runs"
    assert main(arguments(endpoint, tmp_path / "whole", "output")) == 0
    endpoint.delay_s = 0.2
    whole = len(endpoint.requests)
    command = [sys.executable, "-c", "import sys; from cruxbox.cli import main; sys.exit(main())"]
    process = subprocess.Popen(
        [*command, *arguments(endpoint, out, "output", "--concurrency", "1")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(os.environ),
    )
    cache = out / "lab_m-1_temp0.2_output.raw.jsonl.cache"
    until = time.monotonic() + 60
    while not cache.exists() or not cache.read_bytes().count(b"\n"):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = cache.read_bytes().count(b"\n")
    endpoint.delay_s, before = 0.0, len(endpoint.requests)
    assert main(arguments(endpoint, out, "output")) == 2
    assert "--resume continues it" in capsys.readouterr().err
    assert main(arguments(endpoint, out, "output", "--resume")) == 0
    assert len(endpoint.requests) - before == whole - kept
    for name in ("lab_m-1_temp0.2_output.raw.jsonl", "lab_m-1_temp0.2_output.generations.json"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (["--runtime", "none"], "--runtime is 'none'; this server has default"),
        (["--cpu-limit", "61"], "--cpu-limit is 61 s; allowed are"),
        (["--python", "/bin/true"], "/bin/true is not a working Python"),
        (["--server", "localhost"], "--server must be host:port"),
        (["--key-env", "NOT_SET"], "--key-env names 'NOT_SET', which is not set."),
    ],
)
def test_what_cannot_be_scored_is_not_asked_for(endpoint, tmp_path, capsys, wrong, sentence):
    """Completions may cost hours, or money."""
    assert main(arguments(endpoint, tmp_path / "runs", "input", *wrong)) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert (endpoint.requests, (tmp_path / "runs").exists()) == ([], False)


def test_a_prompt_set_gives_the_name(endpoint, tmp_path, capsys):
    endpoint.script = answer
    arguments_ = arguments(endpoint, tmp_path, "output", "--template", "zero-shot-output", "--temperature", "0.8")
    assert main(arguments_) == 0
    assert (tmp_path / "scored" / "lab_m-1+zero-shot_temp0.8_output.json").exists()
    assert re.search("50.00", capsys.readouterr().out)
