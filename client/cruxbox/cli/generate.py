"""`cruxbox generate`: prompts in, a model's completions out."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from cruxbox.cli.connect import AsJson
from cruxbox.cli.outputs import file_path, sum_up
from cruxbox.cli.show import note, resumable
from cruxbox.errors import DataError, InvalidRequest
from cruxbox.files import check_output, output_file
from cruxbox.generation import Cache, Parameters, Progress, Prompt, Result, generate, read_prompt_file
from cruxbox.generation.endpoint import KEY_VARIABLE, Endpoint
from cruxbox.generation.runner import BACKOFF
from cruxbox.printable import counted
from cruxbox.reading import STANDARD
from cruxbox.retry import Backoff

BaseUrl = Annotated[
    str, typer.Option("--base-url", metavar="URL", help="URL of an OpenAI-compatible endpoint, including /v1.")
]
Model = Annotated[str, typer.Option("--model", metavar="M", help="Name of the model at the endpoint.")]
Samples = Annotated[int, typer.Option("--n", help="Completions for each prompt.", min=1)]
Temperature = Annotated[float, typer.Option(help="Sampling temperature.")]
TopP = Annotated[float, typer.Option(help="Nucleus of the sampling (top_p).")]
MaxTokens = Annotated[
    Optional[int], typer.Option(help="Maximum length of a completion, in tokens. Default: the endpoint's.", min=1)
]
Stop = Annotated[Optional[list[str]], typer.Option(help="Stop word, instead of the prompts' own; repeatable.")]
Seed = Annotated[Optional[int], typer.Option(help="Sampling seed, if the endpoint supports one.")]
System = Annotated[str, typer.Option(metavar="TEXT", help="System message; implies --chat.")]
Chat = Annotated[bool, typer.Option("--chat", help="Send plain prompts as chat messages.")]
Concurrency = Annotated[int, typer.Option(help="Requests in flight at the same time.", min=1, max=4096)]
Resume = Annotated[bool, typer.Option("--resume", help="Continue an interrupted run with its cached completions.")]
Restart = Annotated[
    bool, typer.Option("--restart", help="Discard an interrupted run with its cached completions, and begin again.")
]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", help="Time limit of one request.", min=0.01)]
Retries = Annotated[int, typer.Option(help="How often a failed request is retried.", min=0, max=1000)]
KeyVariable = Annotated[
    str, typer.Option("--key-env", metavar="NAME", help="Environment variable that contains the API key.")
]


def command(
    prompts: Annotated[
        Path, typer.Argument(metavar="PROMPTS.jsonl", help="Prompts, as `cruxbox prompts` writes them.")
    ],
    *,
    base_url: BaseUrl,
    model: Model,
    out: Annotated[
        Path,
        typer.Option(metavar="RAW.jsonl", parser=file_path, help="File for the completions, one line for each prompt."),
    ],
    n: Samples = 10,
    temperature: Temperature = 0.2,
    top_p: TopP = 0.95,
    max_tokens: MaxTokens = None,
    stop: Stop = None,
    seed: Seed = None,
    system: System = "",
    chat: Chat = False,
    concurrency: Concurrency = 16,
    resume: Resume = False,
    restart: Restart = False,
    timeout: Timeout = 600.0,
    retries: Retries = BACKOFF.retries,
    key_env: KeyVariable = KEY_VARIABLE,
    as_json: AsJson = False,
) -> None:
    """Complete all prompts at an OpenAI-compatible endpoint: vLLM, SGLang, llama.cpp, or a hosted one.

    Each answer is written to RAW.jsonl.cache when it arrives; after a kill, --resume requests only what is missing. The
    API key is read from the environment (OPENAI_API_KEY). The exit code is 1 if a prompt has failed.
    """
    parameters = Parameters(model, temperature, top_p, max_tokens, tuple(stop) if stop else None, seed, system, chat)
    if os.fspath(out) == STANDARD:
        raise InvalidRequest("--out must name a file, not -: a run that is killed goes on with it.")
    check_output(out, prompts)
    started = time.monotonic()
    result = complete(
        prompts, out, parameters, n, resume, restart,
        Endpoints(base_url, key_env, timeout, concurrency, retries),
    )  # fmt: skip
    _report(result.progress, time.monotonic() - started, out, as_json)
    if result.progress.failed:
        raise typer.Exit(1)


@dataclass(frozen=True)
class Endpoints:
    """How an endpoint is called: its URL, the variable with the key, seconds for a request, requests at a time, and how
    often one is retried."""

    base_url: str
    key_variable: str
    timeout_s: float
    concurrency: int
    retries: int

    def __post_init__(self) -> None:
        if self.key_variable != KEY_VARIABLE and self.key_variable not in os.environ:
            raise InvalidRequest(f"--key-env names {self.key_variable[:80]!r}, which is not set.")

    def open(self) -> Endpoint:
        return Endpoint(
            self.base_url, key_variable=self.key_variable, timeout_s=self.timeout_s, connections=self.concurrency
        )


def complete(
    prompts: Path, out: Path, parameters: Parameters, n: int, resume: bool, restart: bool, how: Endpoints
) -> Result:
    """Complete the prompts of a file and write `out`. If a prompt has failed, it is not written; stderr says which."""
    asked = read_prompt_file(prompts)
    with open_cache(out, resume, restart) as cache, progress_line() as watch:
        backoff = Backoff(how.retries, BACKOFF.base_s, BACKOFF.cap_s)
        result = generate(asked, parameters, how.open, cache, n=n, backoff=backoff, watch=watch)
    if result.progress.failed:
        _tell_failures(result.progress)
    else:
        _write_raw(out, asked, result)
    return result


@contextmanager
def open_cache(out: Path, resume: bool, restart: bool) -> Iterator[Cache]:
    """The cache of completions beside `out`. DataError if it holds some and no option says what to do with them."""
    path = out.with_name(out.name + ".cache")
    if resume and restart:
        raise InvalidRequest("--resume and --restart exclude each other.")
    cache = Cache(path)
    try:
        if len(cache) and not resume and not restart:
            raise DataError(
                f"{path}: holds {counted(len(cache), 'completion')} of an earlier run; --resume continues it, "
                "--restart discards them"
            )
        if restart:
            cache.clear()
        with resumable(lambda: path if len(cache) else None):
            yield cache
    finally:
        cache.close()


def _write_raw(out: Path, prompts: list[Prompt], result: Result) -> None:
    """A line `{id, completions, finish_reasons}` for each prompt, in their order."""
    with output_file(out) as file:
        file.write_text(
            "".join(
                json.dumps(
                    {
                        "id": prompt.id,
                        "completions": result.completions[prompt.id],
                        "finish_reasons": result.finish[prompt.id],
                    }
                )
                + "\n"
                for prompt in prompts
            )
        )


def _tell_failures(progress: Progress) -> None:
    """Which prompts have failed, and what to do about it."""
    for id, why in list(progress.failed.items())[:10]:
        note(f"prompt {id} has no completions: {why}")
    failed = counted(len(progress.failed), "prompt")
    note(f"{failed} failed; nothing is written yet. --resume asks only for what is missing.")


def _report(progress: Progress, elapsed_s: float, out: Path, as_json: bool) -> None:
    facts: dict[str, Any] = {
        "completions": progress.done,
        "cached": progress.cached,
        "requests": progress.requests,
        "retries": progress.retries,
        "prompt_tokens": progress.prompt_tokens,
        "completion_tokens": progress.completion_tokens,
        "failed": len(progress.failed),
        "elapsed_s": round(elapsed_s, 3),
        "out": str(out),
    }
    sentence = (
        f"{counted(progress.done, 'completion')} ({progress.cached:,} were there), "
        f"{counted(progress.requests, 'request')}, {progress.retries:,} of them again, "
        f"{progress.prompt_tokens:,} + {progress.completion_tokens:,} tokens, {elapsed_s:.1f} s"
    )
    sentence += "" if progress.failed else f": {out}"
    sum_up(sentence, facts, as_json=as_json, out=out)


@contextmanager
def progress_line() -> Iterator[Callable[[Progress], None]]:
    """A function that moves a bar on stderr; it does nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _progress: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from cruxbox.terminal import Terminal

    rate = TextColumn("{task.fields[rate]:,.1f}/s, {task.fields[tokens]:,} tokens", markup=False)
    columns = TextColumn("generating"), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn()
    with Bar(*columns, console=Terminal(stderr=True), transient=True, refresh_per_second=4) as shown:
        bar, started = shown.add_task("", total=None, rate=0.0, tokens=0), time.monotonic()

        def move(progress: Progress) -> None:
            rate = (progress.done - progress.cached) / max(time.monotonic() - started, 1e-9)
            shown.update(
                bar, total=progress.total, completed=progress.done, rate=rate, tokens=progress.completion_tokens
            )

        yield move
