"""`cruxbox generate` against a real HTTP server that fails in every way it can, and runs that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from cruxbox.cli import main
from cruxbox.errors import DataError, InvalidRequest, Unauthenticated, Unavailable
from cruxbox.generation import Cache, Parameters, Prompt, generate
from cruxbox.generation.endpoint import Endpoint
from cruxbox.retry import Backoff
from scripted_endpoint import ScriptedEndpoint, echo

QUICK = Backoff(retries=4, base_s=0.01, cap_s=0.02)
PROMPTS = [Prompt(f"p{at}", f"prompt {at}", stop=("[/ANSWER]",)) for at in range(6)]


def drawn(endpoint, tmp_path, prompts=PROMPTS, *, n=3, timeout_s=20.0, concurrency=2, **parameters):
    cache = Cache(tmp_path / "cache")
    try:
        return generate(
            prompts,
            Parameters("m", **parameters),
            lambda: Endpoint(endpoint.url, timeout_s=timeout_s, connections=concurrency),
            cache,
            n=n,
            backoff=QUICK,
        )
    finally:
        cache.close()


def wanted(prompts=PROMPTS, n=3):
    return {one.id: [echo({"prompt": one.text}, at) for at in range(n)] for one in prompts}


# ---- what is asked --------------------------------------------------------------


def test_one_request_a_prompt_where_the_endpoint_lets(endpoint, tmp_path):
    result = drawn(endpoint, tmp_path, temperature=0.8, top_p=0.9, max_tokens=50)
    assert result.completions == wanted()
    assert len(endpoint.requests) == 6
    first = endpoint.requests[0]
    assert {key: first[key] for key in ("model", "temperature", "top_p", "max_tokens", "n", "stop", "_path")} == {
        "model": "m",
        "temperature": 0.8,
        "top_p": 0.9,
        "max_tokens": 50,
        "n": 3,
        "stop": ["[/ANSWER]"],
        "_path": "/v1/completions",
    }
    assert "seed" not in first
    progress = result.progress
    assert (progress.done, progress.cached, progress.requests, progress.retries) == (18, 0, 6, 0)
    assert (progress.prompt_tokens, progress.completion_tokens) == (42, 54)


@pytest.mark.parametrize("many", ["one", "refused"])
def test_many_requests_where_it_does_not(endpoint, tmp_path, many):
    endpoint.many = many
    result = drawn(endpoint, tmp_path, seed=0)
    assert result.completions == wanted()
    assert endpoint.samples == 18
    assert sorted(one["seed"] for one in endpoint.answered) == [0] * 6 + [1] * 6 + [2] * 6


def test_messages_and_system_make_chats(endpoint, tmp_path):
    endpoint.script = lambda body, number: json.dumps(body["messages"])
    messages = ({"role": "system", "content": "old"}, {"role": "user", "content": "hi"})
    prompts = [Prompt("plain", "text"), Prompt("chat", messages=messages)]
    result = drawn(endpoint, tmp_path, prompts, n=1, system="new", stop=("x",))
    assert {one["_path"] for one in endpoint.requests} == {"/v1/chat/completions"}
    assert {tuple(one["stop"]) for one in endpoint.requests} == {("x",)}
    asked = {id: json.loads(texts[0]) for id, texts in result.completions.items()}
    system = {"role": "system", "content": "new"}
    assert asked == {
        "plain": [system, {"role": "user", "content": "text"}],
        "chat": [system, {"role": "user", "content": "hi"}],
    }


def test_prompts_that_are_alike_get_completions_of_their_own(endpoint, tmp_path):
    prompts = [Prompt("a", "same"), Prompt("b", "other"), Prompt("c", "same")]
    found = drawn(endpoint, tmp_path, prompts, n=2).completions
    assert list(found) == ["a", "b", "c"]
    same = [echo({"prompt": "same"}, at) for at in range(4)]
    assert (found["a"], found["c"]) == (same[:2], same[2:])


# ---- faults ---------------------------------------------------------------------


@pytest.mark.parametrize("fault", [408, 429, 500, 502, 503, 529, "drop", "half", "garbage", "empty"])
def test_a_failure_that_passes_is_tried_again(endpoint, tmp_path, fault):
    endpoint.faults = {0: fault, 3: fault, 4: fault}
    result = drawn(endpoint, tmp_path)
    assert result.completions == wanted()
    assert endpoint.samples == 18
    assert result.progress.retries == 3


def test_an_answer_that_does_not_come_is_asked_for_again(endpoint, tmp_path):
    endpoint.faults = {1: "hang"}
    result = drawn(endpoint, tmp_path, timeout_s=0.5)
    assert result.completions == wanted()
    assert result.progress.retries >= 1  # on a machine that pauses others may be late, too


def test_the_endpoint_says_how_long_to_wait(endpoint, tmp_path):
    endpoint.faults = {0: 429}
    endpoint.headers_of_faults = {"retry-after": "0.7"}
    started = time.monotonic()
    drawn(endpoint, tmp_path, PROMPTS[:1])
    assert time.monotonic() - started >= 0.7


@pytest.mark.parametrize(
    ("fault", "error", "sentence"),
    [
        (401, Unauthenticated, "does not know the caller: 401"),
        (403, Unauthenticated, "403"),
        (404, InvalidRequest, "no such model or path"),
        (400, InvalidRequest, r"refused the first prompt \(p0\): 400"),
    ],
)
def test_what_no_repetition_mends_ends_the_run(endpoint, tmp_path, fault, error, sentence):
    endpoint.refuses = lambda body: fault
    with pytest.raises(error, match=sentence):
        drawn(endpoint, tmp_path, concurrency=1, n=1)
    assert len(endpoint.requests) == 1


def test_an_endpoint_that_is_not_there(endpoint, tmp_path):
    endpoint.stop()
    with pytest.raises(Unavailable, match="failed 5 times in a row: no connection"):
        drawn(endpoint, tmp_path)
    endpoint._server = ScriptedEndpoint()._server


@pytest.mark.parametrize("fault", [400, 500])
def test_one_prompt_that_fails_does_not_spoil_the_others(endpoint, tmp_path, fault):
    endpoint.refuses = lambda body: fault if body["prompt"] == "prompt 3" else None
    result = drawn(endpoint, tmp_path)
    assert list(result.progress.failed) == ["p3"]
    assert str(fault) in result.progress.failed["p3"]
    assert result.completions == {id: texts for id, texts in wanted().items() if id != "p3"}


# ---- what is kept ---------------------------------------------------------------


def test_what_is_there_is_not_asked_for_again(endpoint, tmp_path):
    drawn(endpoint, tmp_path, PROMPTS[:3], n=2)
    assert endpoint.samples == 6
    assert drawn(endpoint, tmp_path, PROMPTS[:3], n=2).progress.cached == 6
    assert endpoint.samples == 6
    drawn(endpoint, tmp_path, PROMPTS[:3], n=3)
    assert endpoint.samples == 9
    drawn(endpoint, tmp_path, PROMPTS[:3], n=2, temperature=0.8)
    assert endpoint.samples == 15


@pytest.mark.parametrize("name", ["key", "at", "completions", "finish"])
def test_a_line_that_was_changed_is_none(endpoint, tmp_path, name):
    """It would give a prompt what no model has said, or another prompt's completions."""
    drawn(endpoint, tmp_path, PROMPTS[:2])
    first, second = [json.loads(line) for line in (tmp_path / "cache").read_text().splitlines()]
    changed = {**first, name: second[name] if name in ("key", "completions") else [4, 5]}
    (tmp_path / "cache").write_text(json.dumps(changed) + "\n")
    with pytest.raises(DataError, match=r"cache, line 1: is no line of a cache; remove the file"):
        drawn(endpoint, tmp_path, PROMPTS[:2])


def test_a_line_that_a_kill_cut_short_is_dropped(endpoint, tmp_path):
    drawn(endpoint, tmp_path, PROMPTS[:2])
    whole = (tmp_path / "cache").read_bytes()
    (tmp_path / "cache").write_bytes(whole[:-5])
    result = drawn(endpoint, tmp_path, PROMPTS[:2])
    assert (result.progress.cached, endpoint.samples) == (3, 9)
    assert result.completions == wanted(PROMPTS[:2])
    assert len((tmp_path / "cache").read_bytes().splitlines()) == 2


# ---- the command ----------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"id": one.id, "prompt": one.text}) + "\n" for one in PROMPTS))
    return prompts, tmp_path / "raw.jsonl"


def command(endpoint, files, *more):
    prompts, out = files
    return ["generate", str(prompts), "--base-url", endpoint.url, "--model", "m", "--out", str(out), "--n", "3", *more]


def completions(path):
    return {one["id"]: one["completions"] for one in map(json.loads, path.read_text().splitlines())}


def test_the_command(endpoint, files, capsys):
    assert main(command(endpoint, files, "--json")) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["completions"], facts["cached"], facts["requests"], facts["failed"]) == (18, 0, 6, 0)
    assert completions(files[1]) == wanted()
    assert main(command(endpoint, files)) == 2
    told = capsys.readouterr().err
    assert "holds 18 completions of an earlier run; --resume continues it, --restart" in told
    assert main(command(endpoint, files, "--resume", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["requests"] == 0
    assert main(command(endpoint, files, "--restart")) == 0
    assert endpoint.samples == 36


def test_a_failed_prompt_is_exit_code_1_and_no_file(endpoint, files, capsys):
    endpoint.refuses = lambda body: (400, {"message": "too long"}) if body["prompt"] == "prompt 3" else None
    assert main(command(endpoint, files)) == 1
    out, err = capsys.readouterr()
    assert "prompt p3 has no completions: 400: " in err
    assert not files[1].exists()
    assert str(files[1]) not in out + err  # which is not there
    endpoint.refuses = lambda body: None
    assert main(command(endpoint, files, "--resume")) == 0
    assert endpoint.samples == 18
    assert completions(files[1]) == wanted()


def test_a_key_that_is_missing_is_named(endpoint, files, capsys, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    endpoint.faults = {0: 401}
    assert main(command(endpoint, files, "--concurrency", "1")) == 2
    assert capsys.readouterr().err.endswith("; the key is read from OPENAI_API_KEY, which is not set\n")


def test_the_key_is_sent_and_told_to_nobody(endpoint, files, capsys, tmp_path):
    endpoint.faults = {0: (401, {"message": "Incorrect API key: sk-very-secret"})}
    assert main(command(endpoint, files, "--concurrency", "1")) == 2
    out, err = capsys.readouterr()
    assert endpoint.authorizations == ["Bearer sk-very-secret"]
    assert "Incorrect API key: ***" in err
    assert "CRUXBOX_TOKEN" not in err
    assert main(command(endpoint, files)) == 0
    out, err = capsys.readouterr()
    for text in (out, err, *(path.read_text() for path in tmp_path.iterdir())):
        assert "sk-very-secret" not in text


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--base-url", "ftp://x"], "--base-url must begin with http:// or https://"),
        (["--temperature", "-1"], "--temperature must be between 0 and 10"),
        (["--top-p", "0"], "--top-p must be above 0"),
        (["--resume", "--restart"], "--resume and --restart exclude each other"),
        (["--model", ""], "--model must be the name"),
    ],
)
def test_a_mistake_is_one_sentence(endpoint, files, capsys, more, sentence):
    assert main(command(endpoint, files, *more)) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{}", "line 1: needs either a 'prompt' or 'messages'"),
        ('{"prompt": 5}', "line 1: 'prompt' must be a string, is a number"),
        ('{"messages": []}', "line 1: 'messages' must be a list of objects"),
        ('{"prompt": "x", "stop": "y"}', "line 1: 'stop' must be a list"),
        ('{"prompt": "x", "id": "a"}\n{"prompt": "y", "id": "a"}', "line 2: id 'a' is taken by line 1"),
        ("", "holds no prompts"),
    ],
)
def test_a_prompt_that_is_none_is_told(endpoint, files, capsys, line, sentence):
    files[0].write_text(line)
    assert main(command(endpoint, files)) == 2
    assert sentence in capsys.readouterr().err


def test_two_runs_do_not_write_one_cache(endpoint, files, capsys):
    held = Cache(files[1].with_name("raw.jsonl.cache"))
    assert main(command(endpoint, files)) == 2
    assert "another run is writing it" in capsys.readouterr().err
    held.close()


def test_a_killed_run_pays_for_nothing_twice(endpoint, files, tmp_path):
    """Killed once answers are on the disk: what is there is not asked for again, and the result is the same."""
    endpoint.delay_s = 0.3
    arguments = [sys.executable, "-c", "import sys; from cruxbox.cli import main; sys.exit(main())"]
    arguments += command(endpoint, files, "--concurrency", "1")
    cache = files[1].with_name("raw.jsonl.cache")
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ))
    until = time.monotonic() + 60
    while not cache.exists() or cache.read_bytes().count(b"\n") < 2:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not files[1].exists()
    kept = cache.read_bytes().count(b"\n")
    before = len(endpoint.requests)
    endpoint.delay_s = 0.0
    assert main(command(endpoint, files, "--resume")) == 0
    assert len(endpoint.requests) - before == 6 - kept
    assert completions(files[1]) == wanted()
