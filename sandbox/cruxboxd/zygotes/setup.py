"""Which zygotes there are, and how one is started."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ZygoteKey:
    """Which zygote a job needs: a runtime, how much is imported beforehand, and the hash seed.

    `preloaded` says whether the usual modules of the standard library are; `packages` names those of the operator's.
    `threads` says whether its workers may start threads; its zygote has the modules for that imported. `scratch` says
    whether they have a scratch folder each.
    """

    runtime: str
    preloaded: bool
    hash_seed: str
    packages: tuple[str, ...] = ()
    threads: bool = False
    scratch: bool = False

    @property
    def template(self) -> ZygoteKey:
        """What its template is chosen by. A zygote has scratch folders or not only when it is confined."""
        return replace(self, scratch=False)


# A text that imports something and holds one of these words may start threads, or runs an event loop.
_THREAD_WORDS = (b"thread", b"concurrent", b"asyncio", b"Asyncio")


# What a text holds that works with files, beside `open(`, which needs no import.
_FILE_WORDS = (
    b"tempfile", b"pathlib", b"shutil", b"sqlite", b"zipfile", b"tarfile", b"shelve", b"dbm", b"fileinput", b"glob",
    b"FileHandler", b"mkdir", b"makedirs", b"chdir", b"getcwd", b"expanduser", b"matplotlib", b"savefig", b".to_csv",
    b".to_json", b".to_pickle", b".save", b"os.remove", b"os.rename", b"os.listdir", b"os.walk", b"os.scandir",
)  # fmt: skip
# Modules that do nothing with files. A whole program that imports another one has a scratch folder, as a library may
# want one for itself.
_FILELESS = frozenset(
    b"__future__ abc array ast asyncio base64 bisect builtins calendar cmath collections concurrent contextlib copy "
    b"copyreg csv ctypes dataclasses datetime decimal difflib enum errno fractions functools gc hashlib heapq hmac "
    b"html inspect io itertools json keyword locale math numbers operator platform pprint queue random re secrets "
    b"signal statistics string struct sys textwrap threading time timeit traceback types typing unicodedata unittest "
    b"uuid warnings weakref zlib zoneinfo numpy networkx sortedcontainers sympy".split()
)
# A longer text that imports anything is taken to work with files and threads: to look for all of the words takes too
# long.
_MOST_READ = 1 << 19  # bytes
_MOST_IMPORTS, _LONGEST_IMPORT = 1_000, 2_000  # statements, bytes
# Each begins with a character that the search runs to at once: a script may be hundreds of kilobytes of constants, and
# the event loop waits meanwhile. An import begins a line.
_IMPORTED = re.compile(rb"\n[ \t]*(?:from[ \t]+(\w+)|import[ \t]+([^#;\n]+))")
_ODD_IMPORTS = [
    re.compile(pattern)
    for pattern in (rb"importlib", rb"__import__", rb";[ \t]*(?:import|from)\b", rb":[ \t]*import\b")
]
# What stands in no word that is looked for, and is most of such constants.
_BETWEEN_WORDS = b"0123456789+-*/=,;:()[]{}'\" \t\n"


def _works_with_files(importing: list[_Text], is_whole: bool) -> bool:
    """May texts that import want a scratch folder for what they import? `is_whole` says that they are programs and
    scripts, not calls."""
    if _hold_any(importing, _FILE_WORDS):
        return True
    return is_whole and any(_imports_oddly(each.text) or modules_named(each.text) - _FILELESS for each in importing)


class _Text:
    """A text that words are looked for in: first without what is in no word, of which little may be left."""

    __slots__ = ("short", "text")

    def __init__(self, text: bytes) -> None:
        self.text, self.short = text, text.translate(None, _BETWEEN_WORDS)

    def holds(self, word: bytes) -> bool:
        return word in self.short and word in self.text


def _hold_any(texts: list[_Text], words: Iterable[bytes]) -> bool:
    return any(each.holds(word) for each in texts for word in words)


def _imports_oddly(text: bytes) -> bool:
    return any(pattern.search(text) for pattern in _ODD_IMPORTS)


def modules_named(text: bytes) -> set[bytes]:
    """The modules that a text imports by ordinary statements, without their submodules. Of a text that is made of
    imports no more than so many are looked at, and b"" stands for the others."""
    names: set[bytes] = set()
    for at, found in enumerate(_IMPORTED.finditer(b"\n" + text)):
        module, modules = found.groups()
        if at == _MOST_IMPORTS or len(modules or b"") > _LONGEST_IMPORT:
            names.add(b"")
            break
        parts = [module] if module else modules.split(b",")
        names |= {part.split(b" as ")[0].strip().partition(b".")[0] for part in parts}
    return names


class ZygoteKinds:
    """Chooses the kind of zygote for a job by its texts alone. Preloaded imports change the number of steps, so
    the choice must not depend on which zygotes are free.

    Args:
        packages: by runtime, the modules that its zygotes can import beforehand.
        unsealed: runtimes without a native helper: nobody would notice what a check leaves to the next in its worker.
        has_scratch: can workers of this host have a scratch folder?
    """

    def __init__(
        self,
        packages: Mapping[str, tuple[str, ...]] | None = None,
        unsealed: Collection[str] = frozenset(),
        has_scratch: bool = False,
    ) -> None:
        self._packages = packages or {}
        self._unsealed = unsealed
        self.has_scratch = has_scratch

    def seals(self, runtime: str) -> bool:
        """May checks of this runtime share a worker?"""
        return runtime not in self._unsealed

    def key(
        self, runtime: str, hash_seed: str, texts: Iterable[bytes], folder: bool = False, is_whole: bool = False
    ) -> ZygoteKey:
        """The key for a job with these texts (a program, calls, scripts).

        `folder` says that it needs a scratch folder whatever its texts are, `is_whole` that the texts are whole
        programs and scripts.
        """
        texts = list(texts)
        importing = [text for text in texts if b"import" in text]
        is_long = any(len(text) > _MOST_READ for text in importing)
        looked_at = [] if is_long else [_Text(text) for text in importing]
        scratch = self.has_scratch and (
            folder or is_long or _works_with_files(looked_at, is_whole) or any(b"open(" in text for text in texts)
        )
        if not importing:
            return ZygoteKey(runtime, scratch, hash_seed, scratch=scratch)
        offered = self._packages.get(runtime, ())
        named = tuple([name for name in offered if any(name.encode() in text for text in importing)])
        threads = is_long or _hold_any(looked_at, _THREAD_WORDS)
        return ZygoteKey(runtime, True, hash_seed, named, threads, scratch)


@dataclass(frozen=True)
class ZygoteSetup:
    """How a template is started: interpreter, environment, setup datagram."""

    python: str
    environment: dict[str, str]
    fields: list[bytes]
