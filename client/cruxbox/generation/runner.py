"""Completions for all prompts: many requests at once, failures tried again, each answer kept before the next is asked.

Prompts that are alike share a key; each gets completions of its own, in the order of the prompts.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from cruxbox.errors import InvalidRequest, Unavailable
from cruxbox.generation.cache import Cache
from cruxbox.generation.endpoint import Again, Answer, Endpoint, Refused
from cruxbox.generation.prompts import Prompt
from cruxbox.generation.requests import Parameters
from cruxbox.printable import counted
from cruxbox.retry import Backoff

BACKOFF = Backoff(retries=8, base_s=0.5, cap_s=30.0)
# After this many failed requests without an answer in between, the endpoint is considered dead.
_HOPELESS = 3


class GivenUp(Exception):
    """A request that failed as often as it may; others may go through."""


@dataclass
class Progress:
    """How far a run is: completions there, of how many; what this run asked, and what it used."""

    total: int = 0
    done: int = 0
    cached: int = 0
    requests: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failed: dict[str, str] = field(default_factory=dict)  # id of a prompt -> why it has not all completions


@dataclass(frozen=True)
class Result:
    """Completions of each prompt and why each ended, by id in the order of the prompts; only those that have all."""

    completions: dict[str, list[str]]
    finish: dict[str, list[str]]
    progress: Progress


def generate(
    prompts: Sequence[Prompt],
    parameters: Parameters,
    endpoint: Callable[[], Endpoint],
    cache: Cache,
    *,
    n: int = 10,
    backoff: Backoff = BACKOFF,
    watch: Callable[[Progress], None] = lambda _progress: None,
) -> Result:
    """Complete each prompt `n` times; what `cache` holds is not asked for again.

    Args:
        prompts: the prompts.
        parameters: what each request says beside the prompt.
        endpoint: makes the connection; called at most once.
        cache: holds every answer as soon as it is there.
        n: completions of each prompt; at least 1.
        backoff: how often, and after how many seconds, a request that failed is tried again.
        watch: called with the progress at the start and after each answer.

    Returns:
        All completions. A prompt that alone is refused is in `progress.failed`.

    Raises:
        CruxboxError: going on makes no sense: a key that is not known, a model that is not there, an endpoint that does
            not answer at all.
    """
    if n < 1:
        raise InvalidRequest(f"--n must be at least 1, not {n}.")
    return asyncio.run(_Run(_Plan(prompts, parameters, cache, n, backoff, watch)).run(endpoint))


@dataclass(frozen=True)
class _Plan:
    """What `generate` was told."""

    prompts: Sequence[Prompt]
    parameters: Parameters
    cache: Cache
    n: int
    backoff: Backoff
    watch: Callable[[Progress], None]


class _Run:
    def __init__(self, plan: _Plan) -> None:
        self._prompts, self._parameters, self._cache = plan.prompts, plan.parameters, plan.cache
        self._n, self._backoff, self._watch = plan.n, plan.backoff, plan.watch
        prompts, parameters, n = plan.prompts, plan.parameters, plan.n
        self._keys = [parameters.key(prompt) for prompt in prompts]
        self._counts = Counter(self._keys)
        self._progress = Progress(total=n * len(prompts))
        self._answers = 0
        self._given_up = 0  # requests, since the last answer
        self._takes_many = True  # until the endpoint shows that it does not know n

    async def run(self, connect: Callable[[], Endpoint]) -> Result:
        """Ask for what is missing, and put together what is there."""
        work = self._missing()
        self._progress.cached = self._progress.done = self._progress.total - sum(len(numbers) for _, numbers in work)
        self._watch(self._progress)
        if work:
            endpoint = connect()
            queue = iter(work)
            workers = [asyncio.ensure_future(self._work(endpoint, queue)) for _ in range(endpoint.connections)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
                await endpoint.close()
        return self._result()

    def _missing(self) -> list[tuple[Prompt, list[int]]]:
        """The first prompt of each key, and the numbers of the completions that are not there."""
        first = dict(zip(reversed(self._keys), reversed(self._prompts)))
        found = []
        for key in self._counts:
            numbers = self._cache.missing(key, self._n * self._counts[key])
            if numbers:
                found.append((first[key], numbers))
        return found

    async def _work(self, endpoint: Endpoint, queue: Iterator[tuple[Prompt, list[int]]]) -> None:
        for prompt, numbers in queue:
            try:
                await self._one(endpoint, prompt, numbers)
            except (Refused, GivenUp) as error:
                if not self._answers:
                    raise InvalidRequest(f"The endpoint refused the first prompt ({prompt.id}): {error}") from None
                self._progress.failed[prompt.id] = str(error)

    async def _one(self, endpoint: Endpoint, prompt: Prompt, numbers: list[int]) -> None:
        """All the missing completions of one key, by as few requests as the endpoint lets."""
        key, body = self._parameters.key(prompt), self._parameters.body(prompt)
        refused_many = False
        while numbers:
            at = numbers[0]
            run = next((many for many, number in enumerate(numbers) if number != at + many), len(numbers))
            count = run if self._takes_many and not refused_many else 1
            seed = None if self._parameters.seed is None else self._parameters.seed + at
            try:
                answer = await self._asked(endpoint, body, count, seed)
            except Refused:
                if count == 1:
                    raise
                refused_many = True  # because of n, or for another reason: one alone will tell
                continue
            texts, finish = answer.texts[:count], answer.finish[:count]
            if refused_many or (count > 1 and len(texts) == 1):
                self._takes_many = False
            self._cache.add(key, at, texts, finish, answer.tokens)
            numbers = numbers[len(texts) :]
            self._count(len(texts), answer)

    def _count(self, completions: int, answer: Answer) -> None:
        self._answers += 1
        self._given_up = 0
        self._progress.done += completions
        self._progress.prompt_tokens += answer.tokens[0]
        self._progress.completion_tokens += answer.tokens[1]
        self._watch(self._progress)

    async def _asked(self, endpoint: Endpoint, body: dict[str, object], count: int, seed: int | None) -> Answer:
        """The endpoint's answer, after as many tries as it takes. Raises Unavailable where none helps anybody."""
        attempt = 0
        while True:
            self._progress.requests += 1
            try:
                return await endpoint.ask(body, count, seed)
            except Again as failure:
                if attempt >= self._backoff.retries:
                    raise self._give_up(attempt + 1, failure) from None
                self._progress.retries += 1
                await asyncio.sleep(self._backoff.delay_s(attempt, failure.wait_s))
                attempt += 1

    def _give_up(self, times: int, failure: Again) -> Exception:
        """What is raised after so many tries."""
        self._given_up += 1
        if not self._answers or self._given_up >= _HOPELESS:
            return Unavailable(f"The endpoint failed {counted(times, 'time')} in a row: {failure}")
        return GivenUp(f"failed {times} times, last with {failure}")

    def _result(self) -> Result:
        taken: Counter[str] = Counter()
        completions, finish = {}, {}
        for prompt, key in zip(self._prompts, self._keys):
            numbers = range(taken[key] * self._n, (taken[key] + 1) * self._n)
            taken[key] += 1
            if self._cache.missing(key, numbers.stop):
                self._progress.failed.setdefault(prompt.id, "another prompt with the same text has failed")
                continue
            completions[prompt.id], finish[prompt.id] = self._cache.completions(key, numbers)
        return Result(completions, finish, self._progress)
