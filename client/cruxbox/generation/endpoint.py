"""One OpenAI-compatible endpoint, by the `openai` package: a request, and what its failure means.

The key is read from the environment and is in no message, file or log: an endpoint that repeats it is cut short.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cruxbox.errors import InvalidRequest, ServerError, Unauthenticated
from cruxbox.printable import printable

KEY_VARIABLE = "OPENAI_API_KEY"
_AGAIN = frozenset({408, 409, 425, 429})
_LONGEST_WAIT_S = 600.0
_WORDS = 300


@dataclass(frozen=True)
class Answer:
    """Completions of one request: texts, why each ended, and the tokens of prompt and completions."""

    texts: list[str]
    finish: list[str]
    tokens: tuple[int, int]


class Refused(Exception):
    """The endpoint will not answer this prompt, however often it is asked."""


class Again(Exception):
    """A failure that may pass: too many requests, an error of the server, a timeout, a broken connection."""

    def __init__(self, sentence: str, wait_s: float | None = None) -> None:
        super().__init__(sentence)
        self.wait_s = wait_s


class EndpointUnauthenticated(Unauthenticated):
    """The endpoint does not accept the key. No server of cruxbox, and no token of one, is meant."""


class Endpoint:
    """Where completions come from.

    Args:
        base_url: up to and with `/v1`.
        key_variable: the environment variable that holds the key; endpoints of one's own need none.
        timeout_s: of one request, in seconds.
        connections: how many requests may be under way.
    """

    def __init__(
        self, base_url: str, *, key_variable: str = KEY_VARIABLE, timeout_s: float = 600.0, connections: int = 16
    ) -> None:
        import openai

        if not base_url.startswith(("http://", "https://")):
            raise InvalidRequest(f"--base-url must begin with http:// or https://, not {base_url[:80]!r}.")
        self._openai: Any = openai
        self._key_variable = key_variable
        self._key = os.environ.get(key_variable, "")
        self._client: Any = openai.AsyncOpenAI(
            base_url=base_url, api_key=self._key or "none", max_retries=0, timeout=timeout_s
        )
        self.connections = connections

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def ask(self, body: Mapping[str, Any], n: int, seed: int | None) -> Answer:
        """Up to `n` completions. Raises Again, Refused, or a cruxbox error that ends the run."""
        more: dict[str, Any] = {**body, **({"n": n} if n > 1 else {}), **({} if seed is None else {"seed": seed})}
        resource = self._client.chat.completions if "messages" in body else self._client.completions
        try:
            return self._answer(await resource.create(**more), chat="messages" in body)
        except self._openai.APIStatusError as error:
            raise self._status(error) from None
        except self._openai.APITimeoutError:
            raise Again("no answer in time") from None
        except self._openai.APIConnectionError as error:
            raise Again(self._plain(f"no connection: {error.__cause__ or error}")) from None
        except (self._openai.OpenAIError, ValueError, TypeError, AttributeError, KeyError) as error:
            raise Again(self._plain(f"the answer is no completion: {error}")) from None

    def _answer(self, reply: Any, *, chat: bool) -> Answer:
        choices = reply.choices
        if not choices:
            raise ValueError("it holds no choices")
        if chat and any(one.message is None for one in choices):
            raise ValueError("a choice holds no message")
        texts = [(one.message.content if chat else one.text) or "" for one in choices]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("a choice is no text")
        usage = getattr(reply, "usage", None)
        tokens = (getattr(usage, "prompt_tokens", 0) or 0, getattr(usage, "completion_tokens", 0) or 0)
        return Answer(texts, [str(getattr(one, "finish_reason", None) or "") for one in choices], tokens)

    def _status(self, error: Any) -> Exception:
        status = error.status_code
        words = self._plain(f"{status}: {error.message}")
        if status == 429 and getattr(error, "code", None) == "insufficient_quota":
            return ServerError(f"The endpoint has no quota left: {words}")
        if status in _AGAIN or status >= 500:
            return Again(words, _wait_of(error.response.headers))
        if status in (401, 403):
            hint = "" if self._key else f"; the key is read from {self._key_variable}, which is not set"
            return EndpointUnauthenticated(f"The endpoint does not know the caller: {words}{hint}")
        if status == 404:
            return InvalidRequest(f"The endpoint has no such model or path: {words}")
        return Refused(words)

    def _plain(self, text: str) -> str:
        """A stranger's words for people: bounded, printable, without the key."""
        text = text.replace(self._key, "***") if self._key else text
        return printable(text[:_WORDS])


def _wait_of(headers: Mapping[str, str]) -> float | None:
    """Seconds that the endpoint asks to wait, if it says a number that can be believed."""
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds <= _LONGEST_WAIT_S else None
