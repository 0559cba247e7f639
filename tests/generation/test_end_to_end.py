"""From nothing to a report: candidates, filter, sample, prompts, completions, generations, scores, comparison.

Once in one go, and once with every stage killed and begun again: all files are the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cruxbox.cli import main
from scripted_endpoint import ScriptedEndpoint

COMMAND = [sys.executable, "-c", "import sys; from cruxbox.cli import main; sys.exit(main())"]
PROGRAMS = [
    "def f(text, n):\n    kept = []\n    for part in text.split('-'):\n        if len(part) > n:\n"
    "            kept.append(part.upper())\n    kept.append('{tag}')\n    return kept",
    "def f(text, n):\n    result = '{tag}'\n    for letter in text:\n        if letter not in result:\n"
    "            result = letter + result\n    return result[n:]",
    "def f(text, n):\n    import os\n    return os.path.join(text, '{tag}', 'and some more text to be long enough')",
    "def f(text, n):\n    while len(text) > n:\n        text = text.replace('{tag}', 'x') + 'y'\n"
    "    return text.lower().strip()",
]
INPUTS = ["'ab-cde-f', 1", "'', 0", "'{tag}', 2", "'no', 'number'"]


def model(body, number):
    """Writes functions when it is asked for functions, and predicts values: right, wrong, wrong, right, ..."""
    prompt = body["prompt"]
    tag = hashlib.sha256(f"{prompt}{number}".encode()).hexdigest()[:6]
    if prompt.endswith("[/TASK]\n[PYTHON]\n"):
        program = PROGRAMS[int(tag, 16) % len(PROGRAMS)].replace("{tag}", tag)
        tests = "\n".join(f"assert f({text.replace('{tag}', tag)}) == ??" for text in INPUTS)
        return f"{program}\n[/PYTHON]\n[TEST]\n{tests}\n"
    program, _, call = prompt.rpartition("[PYTHON]\n")[2].partition("\n[/PYTHON]")[0].rpartition("\nassert ")
    space: dict[str, object] = {}
    exec(program, space)
    value = repr(eval(call.removesuffix(" == ??"), space))
    is_right = number % 3 == 0 if body["model"] == "small" else number % 3 < 2
    return f"assert {call.removesuffix(' == ??')} == {value if is_right else 'None'}\n"


def stages(folder: Path, url: str) -> Iterator[tuple[list[str], list[str], str]]:
    """(arguments, what a repetition adds, the file that shows the stage at work), stage by stage."""
    drawn = ["--base-url", url, "--seed", "0", "--concurrency", "2"]
    path = {name: str(folder / name) for name in FILES}
    few = str(folder / "few.jsonl")
    yield ["prompts", "candidates", "--out", path["asked.jsonl"]], [], "asked.jsonl"
    lines = (folder / "asked.jsonl").read_text().splitlines()[::170]
    Path(few).write_text("".join(line + "\n" for line in lines))
    candidates = ["--model", "writer", "--n", "3", "--temperature", "1", "--out", path["written.jsonl"]]
    yield ["generate", few, *drawn, *candidates], ["--resume"], "written.jsonl.cache"
    yield ["extract", "candidates", path["written.jsonl"], "--out", path["pool.jsonl"]], [], "pool.jsonl"
    refused = ["--rejects", path["refused.jsonl"]]
    yield ["filter", path["pool.jsonl"], "--out", path["kept.jsonl"], *refused], ["--resume"], "kept.jsonl.journal"
    yield ["sample", path["kept.jsonl"], "--n", "10", "--out", path["data.jsonl"]], [], "data.jsonl"
    yield ["prompts", "output", path["data.jsonl"], "--out", path["prompts.jsonl"]], [], "prompts.jsonl"
    for name in ("small", "large"):
        raw, done, scored = (path[f"{name}.{kind}"] for kind in ("raw.jsonl", "generations.json", "json"))
        more = ["--model", name, "--n", "6", "--out", raw]
        yield ["generate", path["prompts.jsonl"], *drawn, *more], ["--resume"], f"{name}.raw.jsonl.cache"
        yield ["extract", "output", raw, "--out", done], [], f"{name}.generations.json"
        data = ["--dataset", path["data.jsonl"], "--mode", "output"]
        yield ["score", done, *data, "--out", scored], ["--resume"], f"{name}.json.partial"
    compared = ["--dataset", path["data.jsonl"], "--resamples", "500", "--html", path["report.html"]]
    yield ["compare", path["small.json"], path["large.json"], *compared], [], "report.html"


FILES = [
    "asked.jsonl", "written.jsonl", "pool.jsonl", "kept.jsonl", "refused.jsonl", "data.jsonl", "prompts.jsonl",
    "small.raw.jsonl", "small.generations.json", "small.json", "large.raw.jsonl", "large.generations.json",
    "large.json", "report.html",
]  # fmt: skip


def kill(arguments: list[str], sign: Path) -> bool:
    """Start a stage and kill it once its file, or a part of it, is there; was it still at work?

    The filter has the lower priority: or on a busy host it may be done before this process looks again.
    """
    command = [*(["nice"] if arguments[0] == "filter" else []), *COMMAND, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while process.poll() is None and not _begun(sign):
        assert time.monotonic() < until
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def _begun(sign: Path) -> bool:
    if sign.suffix == ".cache":
        return sign.exists() and sign.read_bytes().count(b"\n") > 0
    return sign.exists() or any(each.name.startswith(f".{sign.name}.") for each in sign.parent.iterdir())


def run(arguments: list[str]) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(arguments)
    assert code == 0, f"{arguments[:2]}: {said.getvalue()}"


@pytest.mark.timeout(500)
def test_all_stages_killed_and_begun_again(server, tmp_path, monkeypatch):
    monkeypatch.setenv("CRUXBOX_SERVER", server)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    endpoint = ScriptedEndpoint(model)
    killed: dict[str, bool] = {}
    try:
        for folder in ("whole", "killed"):
            (tmp_path / folder).mkdir()
            for number, (arguments, more, sign) in enumerate(stages(tmp_path / folder, endpoint.url)):
                again = []
                if folder == "killed":
                    endpoint.delay_s = 0.4
                    was_at_work = kill(arguments, tmp_path / folder / sign)
                    while arguments[0] == "filter" and not was_at_work:  # it was faster than this process
                        for name in ("kept.jsonl", "refused.jsonl"):
                            (tmp_path / folder / name).unlink()
                        was_at_work = kill(arguments, tmp_path / folder / sign)
                    killed[f"{number} {arguments[0]}"] = was_at_work
                    endpoint.delay_s = 0.0
                    again = more if was_at_work and (tmp_path / folder / sign).exists() else []
                    if more and not was_at_work:
                        continue
                run([*arguments, *again])
        samples = endpoint.samples
    finally:
        endpoint.stop()
    assert all(was_at_work for name, was_at_work in killed.items() if name.endswith(("generate", "filter")))
    for name in FILES:
        whole, other = ((tmp_path / folder / name).read_text() for folder in ("whole", "killed"))
        if name in ("small.json", "large.json"):
            whole, other = map(without_times, (whole, other))
        assert whole == other, name
        assert whole.strip()
    # Two runs; each kill may cost what was under way, two requests, of each of three stages.
    once = 13 * 3 + 2 * 10 * 6
    assert samples <= 2 * once + 2 * (3 + 6 + 6)
    kept = (tmp_path / "whole" / "kept.jsonl").read_text().splitlines()
    refused = [json.loads(line)["reasons"] for line in (tmp_path / "whole" / "refused.jsonl").read_text().splitlines()]
    assert len(kept) >= 10
    assert {reason for reasons in refused for reason in reasons} >= {"RAISED", "STEPS", "IMPORT_NAME"}
    small, large = (json.loads((tmp_path / "whole" / f"{name}.json").read_text()) for name in ("small", "large"))
    assert (round(small["pass_at_1"], 6), round(large["pass_at_1"], 6)) == (33.333333, 66.666667)
    assert "sk-very-secret" not in "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert not [each for each in os.listdir(tmp_path / "killed") if each.endswith((".part", ".partial", ".journal"))]


def without_times(text: str) -> str:
    scored = json.loads(text)
    for row in scored["verdicts"].values():
        for verdict in row:
            del verdict["cpu_ms"]
    return json.dumps(scored)
