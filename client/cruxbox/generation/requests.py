"""What is asked of an endpoint: parameters, and the body of a request. Pure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from cruxbox.errors import InvalidRequest
from cruxbox.generation.prompts import Prompt


@dataclass(frozen=True)
class Parameters:
    """How completions are drawn.

    Args:
        model: the endpoint's name of the model.
        temperature, top_p: of the sampling.
        max_tokens: the longest completion, in tokens; None leaves it to the endpoint.
        stop: stop words instead of those of the prompts; None takes theirs.
        seed: of the sampling. A request for the completions of a prompt from the i-th on is sent with seed + i.
        system: a system message before each prompt; makes chats of plain prompts.
        chat: send plain prompts as the message of a user; prompts with messages are chats anyway.
    """

    model: str
    temperature: float = 0.2
    top_p: float = 0.95
    max_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    seed: int | None = None
    system: str = ""
    chat: bool = False

    def __post_init__(self) -> None:
        if not self.model:
            raise InvalidRequest("--model must be the name of a model, not empty.")
        if not 0 <= self.temperature <= 10:
            raise InvalidRequest(f"--temperature must be between 0 and 10, not {self.temperature:g}.")
        if not 0 < self.top_p <= 1:
            raise InvalidRequest(f"--top-p must be above 0 and at most 1, not {self.top_p:g}.")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise InvalidRequest(f"--max-tokens must be at least 1, not {self.max_tokens}.")

    def body(self, prompt: Prompt) -> dict[str, Any]:
        """The request's body without n and seed; with `messages` it is one of a chat, with `prompt` a plain one."""
        body: dict[str, Any] = {"model": self.model, "temperature": self.temperature, "top_p": self.top_p}
        stop = prompt.stop if self.stop is None else self.stop
        if self.max_tokens is not None:
            body["max_tokens"] = self.max_tokens
        if stop:
            body["stop"] = list(stop)
        messages = list(prompt.messages)
        if not messages and (self.chat or self.system):
            messages = [{"role": "user", "content": prompt.text}]
        if messages and self.system:
            messages = [{"role": "system", "content": self.system}, *(m for m in messages if m["role"] != "system")]
        body.update({"messages": messages} if messages else {"prompt": prompt.text})
        return body

    def key(self, prompt: Prompt) -> str:
        """What a completion is remembered by: model, prompt and parameters, not the endpoint nor how many are drawn."""
        text = json.dumps({**self.body(prompt), "seed": self.seed}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()
