"""What stands in front of a program: a benchmark's imports, or all that it lacks of them."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

# What stands in brackets ends at the next one that opens: else each import without an end would be read to the end.
_FUTURE = re.compile(r"^from[ \t]+__future__[ \t]+import[ \t]*(?:\([^()]*\)|[^\n(]*)[^\n]*(?:\n|\Z)", re.MULTILINE)

_ANY_WORD = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(rf"(?<![\w.]){_ANY_WORD.pattern}")  # that is no attribute
# What binds names in a statement, and which: without end, it would be read again from each word of a long line.
_BINDS = re.compile(
    r"^[ \t]*(?:global|nonlocal)\b(.*)|\b(?:as|class)[ \t]+(\w+)|\bfor\b(.{0,100}?)\bin\b|\blambda\b([^:]{0,200})"
)
_PARAMETERS = re.compile(r"\bdef[ \t]+(\w+)([^)]{0,400})")
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?import\b[ \t]*(\([^()]*\)|[^\n(;#]*)", re.MULTILINE)
_IN_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_ASSIGNS = re.compile(r"(?<![=<>!:])=(?!=)")
_RENAMED = re.compile(r"[A-Za-z_]\w*[ \t]+as\b")
_OF_A_BLOCK = re.compile(r"[ \t]*(?:if|elif|else|while|for|with|try|except|finally|def|class)\b")
_WALRUS = re.compile(r"\b([A-Za-z_]\w*)[ \t]*:=")
_FUNCTION = re.compile(r"[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)")
_MOST_AROUND = 20
_DEEPEST = 4


@dataclass(frozen=True)
class Head:
    """What a benchmark's harness has in front of answers, which use it without saying so.

    Args:
        starred: modules of which all names are there, in the order in which they hide each other's.
        others: modules that are there by their names alone.
        depth: the recursion limit; 0 leaves Python's.
    """

    starred: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    depth: int = 0

    @property
    def modules(self) -> list[str]:
        return sorted({*self.starred, *self.others})

    @property
    def text(self) -> str:
        """All of it."""
        stars = [f"from {name} import *\n" for name in self.starred]
        stars.insert(-1, "from builtins import *\n")  # pow is math's and operator's, too; typing hides none
        return "".join([*stars, f"import {', '.join(self.modules)}\n", self._limit])

    def lacking(self, program: str) -> str:
        """What the program names of it and does not seem to bind, on one line; "" for a program that is whole, which
        stays as it is. Read off its words: one too many changes nothing, as the program's own names come later."""
        names = _names(self)
        named = {*_WORD.findall(_IMPORT.sub("", program))} & names.keys()
        used = sorted(named - _bound(program)) if named else []
        parts = [f"import {word}" if names[word] == word else f"from {names[word]} import {word}" for word in used]
        if self.depth and "setrecursionlimit" not in program and _calls_itself(program):
            parts.append(f"import sys; {self._limit.strip()}")
        return "; ".join(parts) + "\n" if parts else ""

    @property
    def _limit(self) -> str:
        return f"sys.setrecursionlimit({self.depth})\n" if self.depth else ""


@cache
def _names(head: Head) -> Mapping[str, str]:
    """The module of each name that is there; a module is its own."""
    found = {}
    for module in head.starred:
        of_it = importlib.import_module(module)
        found.update({name: module for name in getattr(of_it, "__all__", dir(of_it)) if not name.startswith("_")})
    builtins = set(dir(importlib.import_module("builtins")))
    return {name: found[name] for name in found.keys() - builtins} | {name: name for name in head.modules}


def _bound(program: str) -> set[str]:
    """The words that a statement binds, as far as one line shows it. None that it only names: `for x in count(y)`,
    `def f(a: List[int], b=inf)`, `ends: Deque = x`. One too few is one too many in front, which changes nothing."""
    found = {*_WALRUS.findall(program)}.union(*map(_first_words, _IMPORT.findall(program)))
    for line in program.splitlines():
        for statement in line.partition("#")[0].split(";"):
            plain = statement
            for _ in range(_DEEPEST if "[" in statement else 0):
                plain = _IN_BRACKETS.sub(" ", plain)
            parts = [part for each in _BINDS.findall(statement) + _PARAMETERS.findall(plain) for part in each if part]
            found.update(*map(_first_words, parts), _assigned(plain))
    return found


def _first_words(text: str) -> list[str]:
    """The word that each part between commas begins with: of parameters, targets and what an import names."""
    words = (_ANY_WORD.search(part) for part in _RENAMED.sub("", text).split(","))
    return [each.group() for each in words if each is not None]


def _assigned(statement: str) -> list[str]:
    """The words on the left of each `=`."""
    found: list[str] = []
    for left in _ASSIGNS.split(statement)[:-1]:
        if "(" in left:  # of a call
            break
        before, colon, behind_it = left.partition(":")
        found += _WORD.findall(behind_it if colon and _OF_A_BLOCK.match(before) else before)
    return found


def _calls_itself(program: str) -> bool:
    """Does a function of the program name itself?"""
    around: list[tuple[int, str]] = []  # the functions that a line stands in: how far their `def` is from the left
    for line in filter(str.strip, program.splitlines()):
        space = len(line) - len(line.lstrip())
        while around and around[-1][0] >= space:
            around.pop()
        if around and not {name for _, name in around[-_MOST_AROUND:]}.isdisjoint(_ANY_WORD.findall(line)):
            return True
        function = _FUNCTION.match(line)
        if function is not None:
            around.append((space, function.group(1)))
            if function.group(1) in _ANY_WORD.findall(line[function.end() :]):
                return True
    return False


def behind(head: str, program: str) -> str:
    """`program` behind `head`; imports from __future__ have to stand before both.

    A byte order mark that begins the program is left out, as in a file of its own: inside a text it is an error.
    """
    program = program.removeprefix("\ufeff")
    futures = _FUTURE.findall(program)
    if futures:
        program = _FUTURE.sub("", program)
    return "".join([*[each.rstrip("\n") + "\n" for each in futures], head, program])
