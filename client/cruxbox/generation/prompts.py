"""The prompts that are sent: lines of a file that `cruxbox prompts` wrote, or of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cruxbox.building.rows import records
from cruxbox.errors import DataError
from cruxbox.reading import kind_of


@dataclass(frozen=True)
class Prompt:
    """One prompt: a text, or the messages of a chat; `stop` are its own stop words."""

    id: str
    text: str = ""
    messages: tuple[Mapping[str, str], ...] = ()
    stop: tuple[str, ...] = ()


def read_prompt_file(path: Path) -> list[Prompt]:
    """The prompts of a JSONL file, `{id, prompt, stop}` or `{id, messages, stop}` a line.

    Args:
        path: the file. A line without an id is called by its number, from 0.

    Returns:
        The prompts, in their order.

    Raises:
        DataError: a line is not a prompt, or an id is there twice; names file and line.
    """
    found = []
    ids: dict[str, int] = {}
    for number, (line, record) in enumerate(records(path)):
        where = f"{path}, line {line}"
        if isinstance(record, str):
            raise DataError(f"{where}: {record}")
        prompt = prompt_of(record, str(number), where)
        if prompt.id in ids:
            raise DataError(f"{where}: id {prompt.id!r} is taken by line {ids[prompt.id]}")
        ids[prompt.id] = line
        found.append(prompt)
    if not found:
        raise DataError(f"{path}: holds no prompts")
    return found


def prompt_of(record: Mapping[str, Any], default_id: str, where: str) -> Prompt:
    """The prompt of one record. DataError, beginning with `where`, says what is wrong with it."""
    id = record.get("id", default_id)
    if not isinstance(id, str):
        raise DataError(f"{where}: 'id' must be a string, is {id!r:.40}")
    stop = record.get("stop", [])
    if not isinstance(stop, list) or not all(isinstance(one, str) and one for one in stop):
        raise DataError(f"{where}: 'stop' must be a list of strings, is {stop!r:.60}")
    if ("prompt" in record) == ("messages" in record):
        raise DataError(f"{where}: needs either a 'prompt' or 'messages'")
    if "prompt" in record:
        if not isinstance(record["prompt"], str):
            raise DataError(f"{where}: 'prompt' must be a string, is {kind_of(record['prompt'])}")
        return Prompt(id, record["prompt"], (), tuple(stop))
    return Prompt(id, "", _messages(record["messages"], where), tuple(stop))


def _messages(value: Any, where: str) -> tuple[Mapping[str, str], ...]:
    def is_message(one: Any) -> bool:
        return isinstance(one, dict) and all(isinstance(one.get(key), str) for key in ("role", "content"))

    if not isinstance(value, list) or not value or not all(map(is_message, value)):
        raise DataError(f"{where}: 'messages' must be a list of objects with 'role' and 'content'")
    return tuple({"role": one["role"], "content": one["content"]} for one in value)
