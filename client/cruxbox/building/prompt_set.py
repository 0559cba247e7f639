"""Prompt sets: TOML files that say how a row of a benchmark becomes a prompt, and how its completion is read.

Texts may hold `{code}`, `{input}`, `{output}`, `{call}` (the whole call), `{function}` (its name) and, in a reply,
`{thought}`; any other brace stays as it is. docs/prompts.md says what each key means. Ours are in `prompt_sets`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from cruxbox.building.extraction import (
    ANSWER_CLOSE,
    ANSWER_OPEN,
    Rules,
    extract_arguments,
    extract_expression,
    extract_input,
    extract_output,
)
from cruxbox.building.rows import Row
from cruxbox.building.toml_file import file_of, read_toml
from cruxbox.errors import DataError

SHIPPED = Path(__file__).parent / "prompt_sets"
ANSWERS = ("assertion", "arguments", "expression")

_VARIABLE = re.compile(r"\{(code|input|output|call|function|thought)\}")
# What the question of each mode would give away.
_SECRETS = {"input": ("input", "call"), "output": ("output",)}


@dataclass(frozen=True)
class Example:
    """One worked example."""

    code: str
    input: str
    output: str
    thought: str = ""


@dataclass(frozen=True)
class PromptSet:
    """How prompts are laid out.

    Args:
        name: what the set is called.
        mode: "input" or "output", what is to be predicted.
        question: how a task is put; examples are put the same way.
        reply: how an example is answered, behind its question.
        form: "completion" (one text) or "chat" (messages, a turn for each example).
        instruction: what stands before everything else.
        system: the system message of a chat.
        separator: what stands between instruction, examples and question of a completion.
        stop: where generation is to stop.
        answer: how a completion is read: a whole "assertion", the "arguments" behind `f(`, or an "expression".
        answer_tags: tags around the answer that the completion itself holds; empty where the prompt opens them.
        shots: the worked examples.
    """

    name: str
    mode: str
    question: str
    reply: str = ""
    form: str = "completion"
    instruction: str = ""
    system: str = ""
    separator: str = "\n\n"
    stop: tuple[str, ...] = ()
    answer: str = "assertion"
    answer_tags: tuple[str, ...] = ()
    shots: tuple[Example, ...] = ()

    def record(self, row: Row) -> dict[str, Any]:
        """The line of a prompts file: id, prompt or messages, stop."""
        known: dict[str, Any] = {"id": row.id}
        if self.form == "chat":
            known["messages"] = self.messages(row)
        else:
            known["prompt"] = self.text(row)
        known["stop"] = list(self.stop)
        if row.function != "f":
            known["function"] = row.function
        return known

    def generation(self, completion: str, *, rules: Rules = Rules.LENIENT, function: str = "f") -> str:
        """What is scored of a completion of this set's prompts.

        Args:
            completion: what the model wrote.
            rules: for whole assertions, how a completion without tags is read.
            function: the name of the task's function, for calls that the prompt began.
        """
        if self.answer == "arguments":
            return extract_arguments(completion, stops=self.stop, function=function)
        if self.answer == "expression":
            return extract_expression(completion, stops=self.stop)
        extract = extract_input if self.mode == "input" else extract_output
        opening, *closing = self.answer_tags or (ANSWER_OPEN,)
        stops = (*self.stop, *closing)
        return extract(completion, cot=bool(self.answer_tags), stops=stops, rules=rules, open_tag=opening)

    def text(self, row: Row) -> str:
        """The prompt as one text."""
        parts = [_filled(self.instruction, row)] if self.instruction else []
        parts += [question + reply for question, reply in self._examples()]
        return self.separator.join([*parts, _filled(self.question, row)])

    def messages(self, row: Row) -> list[dict[str, str]]:
        """The prompt as chat messages. The instruction begins the first message of the user."""
        turns = [turn for pair in self._examples() for turn in pair] + [_filled(self.question, row)]
        if self.instruction:
            turns[0] = _filled(self.instruction, row) + self.separator + turns[0]
        first = [{"role": "system", "content": self.system}] if self.system else []
        roles = ("user", "assistant")
        return first + [{"role": roles[at % 2], "content": text} for at, text in enumerate(turns)]

    def _examples(self) -> list[tuple[str, str]]:
        found = []
        for shot in self.shots:
            row = Row(shot.code, shot.input, shot.output)
            found.append((_filled(self.question, row), _filled(self.reply, row, shot.thought)))
        return found


def _filled(text: str, row: Row, thought: str = "") -> str:
    """`text` with its variables, all at once: what is put in is never looked at again."""
    values: Mapping[str, str] = {
        "code": row.code,
        "input": row.input,
        "output": row.output,
        "call": row.call,
        "function": row.function,
        "thought": thought,
    }
    return _VARIABLE.sub(lambda match: values[match[1]], text)


def shipped_sets() -> list[str]:
    """The names of the sets that come with cruxbox."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def load_prompt_set(name: str) -> PromptSet:
    """The set of a TOML file, or one that comes with cruxbox by its name. DataError names file and key."""
    path = file_of(name)
    if path is None:
        if name not in shipped_sets():
            raise DataError(f"prompt set {name!r} is not known; there are {', '.join(shipped_sets())}, and .toml files")
        path = SHIPPED / f"{name}.toml"
    values = read_toml(path)
    known = [item.name for item in fields(PromptSet) if item.name != "name"]
    for key in values:
        if key not in known:
            raise DataError(f"{path}: {key!r} is no key of a prompt set; known are {', '.join(known)}")
    for key in ("mode", "question"):
        if key not in values:
            raise DataError(f"{path}: {key} is missing")
    ready = {key: _READERS.get(key, _text)(path, key, value) for key, value in values.items()}
    return _checked(path, PromptSet(path.stem, **ready))


def _checked(path: Path, found: PromptSet) -> PromptSet:
    """What no single key can be wrong about."""
    for secret in _SECRETS[found.mode]:
        if f"{{{secret}}}" in found.question + found.instruction:
            raise DataError(f"{path}: question and instruction of mode {found.mode!r} may not give away {{{secret}}}")
    right = {"arguments": "input", "expression": "output"}.get(found.answer, found.mode)
    if right != found.mode:
        raise DataError(f"{path}: answer {found.answer!r} is one of mode {right!r}, not {found.mode!r}")
    if found.shots and not found.reply:
        raise DataError(f"{path}: reply is missing, which says how the shots are answered")
    if found.answer_tags and len(found.answer_tags) != 2:
        raise DataError(f"{path}: answer_tags must be two texts, as in {[ANSWER_OPEN, ANSWER_CLOSE]}")
    return found


def _text(path: Path, key: str, value: object) -> Any:
    if not isinstance(value, str):
        raise DataError(f"{path}: {key} must be a string, is {value!r:.60}")
    return value


def _one_of(*allowed: str) -> Any:
    def read(path: Path, key: str, value: object) -> Any:
        if value not in allowed:
            raise DataError(f"{path}: {key} is {value!r:.60}; allowed are {', '.join(allowed)}")
        return value

    return read


def _texts(path: Path, key: str, value: object) -> Any:
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        raise DataError(f"{path}: {key} must be a list of strings that are not empty, is {value!r:.60}")
    return tuple(value)


def _shots(path: Path, key: str, value: object) -> Any:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise DataError(f"{path}: {key} must be tables, [[shots]]")
    names = [item.name for item in fields(Example)]
    found = []
    for at, one in enumerate(value, 1):
        for name in one:
            if name not in names:
                raise DataError(f"{path}: shot {at}: {name!r} is no key of a shot; known are {', '.join(names)}")
        for name in ("code", "input", "output"):
            if name not in one:
                raise DataError(f"{path}: shot {at}: {name} is missing")
        found.append(Example(**{name: _text(path, f"{name} of shot {at}", text) for name, text in one.items()}))
    return tuple(found)


_READERS = {
    "mode": _one_of("input", "output"),
    "form": _one_of("completion", "chat"),
    "answer": _one_of(*ANSWERS),
    "stop": _texts,
    "answer_tags": _texts,
    "shots": _shots,
}
