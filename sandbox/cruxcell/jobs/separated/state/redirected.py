"""Streams that the program has put in the place of its standard output and error, and that the script prints to: in a
function of the script's that the program calls, and in a `with` block of a context manager of the program's."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable  # noqa: F401 - in type comments

_NAMES = ("stdout", "stderr")
_MOST = 1_000  # texts that are told as they were written, before the rest in one
_PRINTS = frozenset(["print", "pprint", "stdout", "stderr"])


class Redirected:
    """Of the test's half. `ask` asks the candidate; `names`: those in the script."""

    def __init__(self, ask, names):
        # type: (Any, Iterable[str]) -> None
        self.is_needed = not _PRINTS.isdisjoint(names)
        self._ask, self._may_be = ask, True
        self._shown = []  # type: list[tuple[str, Any, Any]]  # names, streams of the program's, what each has replaced
        self._blocks = []  # type: list[int]

    def begin(self):
        # type: () -> int
        """The script prints to what the program has by now, unless it has printed there before: then what it has is by
        itself. Gives what `end` goes back to."""
        count = len(self._shown)
        told = self._ask("streams") if self._may_be else None  # type: Any
        self._may_be = type(told) is list and len(told) == len(_NAMES)
        for name, stream in zip(_NAMES, told if self._may_be else ()):
            if stream is not None and not any(stream is each for _, each, _ in self._shown[:count]):
                self._shown.append((name, stream, getattr(sys, name)))
                setattr(sys, name, stream)
        return count

    def end(self, count):
        # type: (int) -> None
        while len(self._shown) > count:
            name, stream, before = self._shown.pop()
            if getattr(sys, name) is stream:
                setattr(sys, name, before)

    def behind(self, name):
        # type: (str) -> Any
        """What the script has under this name, be it behind what the program has put there."""
        found = getattr(sys, name)
        for of, shown, before in reversed(self._shown):
            if of == name and found is shown:
                found = before
        return found

    def follow(self, method, answer):
        # type: (object, object) -> None
        """A block of a context manager of the program's has begun, or ended."""
        if method == "__enter__" and not issubclass(type(answer), BaseException):
            self._blocks.append(self.begin())
        elif method == "__exit__" and self._blocks:
            self.end(self._blocks.pop())


class Streams:
    """Of the candidate's half: its standard streams, `own`, from before the program runs."""

    def __init__(self, own):
        # type: (dict[str, Any]) -> None
        self._own, self._heard = own, {name: HeardStream(stream) for name, stream in own.items()}
        self._known = [*own.values(), *self._heard.values()]  # type: list[Any]
        self._are_named = True

    def begin(self, text):
        # type: (str) -> None
        """The program has run, which is this text, and has its streams by now."""
        self._are_named = any(name in text for name in _NAMES)
        self._known += [getattr(sys, name, None) for name in _NAMES]

    def hear(self, _target, names, are_one):
        # type: (object, list[str], bool) -> None
        """The script hears what is printed to these streams from now on, as one if they `are_one`: what is printed to
        either stays in its order then. What the program has kept of its streams from before nobody hears."""
        for name in _NAMES:
            now = getattr(sys, name, None)
            if any(now is each for each in (*self._own.values(), *self._heard.values())):
                heard = self._heard["stdout" if are_one else name]
                setattr(sys, name, heard if name in names else self._own[name])

    def printed(self, _target, name):
        # type: (object, str) -> tuple[str, ...]
        """What was printed there since the last time this was asked, as it was written."""
        return self._heard[name].take()

    def has_news(self):
        # type: () -> bool
        return any(each.has_parts() for each in self._heard.values())

    def streams(self, _target):
        # type: (object) -> list[Any] | None
        """What the program has put in the place of its streams, None of one that is its own; None if it names none."""
        if not self._are_named:
            return None
        found = [getattr(sys, name, None) for name in _NAMES]
        return [None if any(each is known for known in self._known) else each for each in found]


class HeardStream:
    """In the place of a standard stream while the script hears what is printed there. All goes to that stream, too."""

    def __init__(self, own):
        # type: (Any) -> None
        self._own, self._parts = own, []  # type: Any, list[str]

    def write(self, text):
        # type: (str) -> int
        size = self._own.write(text)  # type: int
        self._parts.append(str.__str__(text))
        return size

    def writelines(self, lines):
        # type: (Iterable[str]) -> None
        for line in lines:
            self.write(line)

    def has_parts(self):
        # type: () -> bool
        return bool(self._parts)

    def take(self):
        # type: () -> tuple[str, ...]
        found = self._parts[:]
        del self._parts[: len(found)]  # another thread may have printed more by now
        return (*found[:_MOST], *filter(None, ["".join(found[_MOST:])]))

    @property
    def buffer(self):
        # type: () -> Any
        return type(self._own.buffer)(self)

    def __getattr__(self, name):
        # type: (str) -> Any
        return getattr(self._own, name)
