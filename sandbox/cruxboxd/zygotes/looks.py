"""What a text names: whether it imports anything, and may work with files, threads, or packages of a runtime.

A job's zygote is chosen by that. To look through a text of half a megabyte takes ten milliseconds, and a program may
have thousands of checks, so what was seen of the last texts is kept; not the texts.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cruxcell.protocol.messages import FILELESS_MODULES

SHORT = 1 << 10  # bytes: shorter texts are looked through as fast as found again
# A text that imports something and holds one of these words may start threads, or runs an event loop.
_THREAD_WORDS = (b"thread", b"concurrent", b"asyncio", b"Asyncio", b"anyio", b"multiprocessing", b"QueueListener")
# What a text holds that works with files, beside `open(`, which needs no import.
_FILE_WORDS = (
    b"tempfile", b"pathlib", b"shutil", b"sqlite", b"zipfile", b"tarfile", b"shelve", b"dbm", b"fileinput", b"glob",
    b"FileHandler", b"FileIO", b"mkdir", b"makedirs", b"chdir", b"getcwd", b"expanduser", b"matplotlib", b"savefig",
    b".to_csv", b".to_json", b".to_pickle", b".save", b"os.remove", b"os.rename", b"os.listdir", b"os.walk",
    b"os.scandir",
)  # fmt: skip
_FILELESS = frozenset([name.encode() for name in FILELESS_MODULES])
# A longer text that imports anything is taken to work with files and threads: to look for all of the words takes too
# long.
_MOST_READ = 1 << 19  # bytes
_MOST_IMPORTS, _LONGEST_IMPORT, _MOST_OF_IMPORTS = 1_000, 2_000, 20_000  # statements, bytes of one, of all
# Each begins with a character that the search runs to at once: a script may be hundreds of kilobytes of constants, and
# the event loop waits meanwhile. An import begins a line; so may "from" in a sentence, but no "import" follows on it.
_IMPORTED = re.compile(rb"\n[ \t]*(?:from[ \t]+(\w+)([^\n]*)|import[ \t]+([^#;\n]+))")
_ODD_IMPORTS = [
    re.compile(pattern)
    for pattern in (rb"importlib", rb"__import__", rb";[ \t]*(?:import|from)\b", rb":[ \t]*import\b")
]
# What stands in no word that is looked for, and is most of such constants.
_BETWEEN_WORDS = b"0123456789+-*/=,;:()[]{}'\" \t\n"


class _Text:
    """A text that words are looked for in: first without what is in no word, of which little may be left."""

    __slots__ = ("short", "text")

    def __init__(self, text: bytes) -> None:
        self.text, self.short = text, text.translate(None, _BETWEEN_WORDS)

    def holds_any(self, words: Iterable[bytes]) -> bool:
        return any(word in self.short and word in self.text for word in words)


def _imports_oddly(text: bytes) -> bool:
    return any(pattern.search(text) for pattern in _ODD_IMPORTS)


def modules_named(text: bytes) -> set[bytes]:
    """The modules that a text imports by ordinary statements, without their submodules. Of a text that is made of
    imports no more than so many are looked at, and b"" stands for the others."""
    names: set[bytes] = set()
    left = _MOST_OF_IMPORTS
    for at, found in enumerate(_IMPORTED.finditer(b"\n" + text)):
        module, behind, modules = found.groups()
        left -= len(modules or b"")
        if at == _MOST_IMPORTS or len(modules or b"") > _LONGEST_IMPORT or left < 0:
            names.add(b"")
            break
        if module and b"import" not in behind and not behind.rstrip(b"\r").endswith(b"\\"):
            continue
        parts = [module] if module else modules.split(b",")
        names |= {part.split(b" as ")[0].strip().partition(b".")[0] for part in parts}
    return names


@dataclass(frozen=True)
class Look:
    """What a text names.

    Attributes:
        imports: whether it may import anything.
        opens: whether it may open a file, or holds a word that works with files.
        is_odd: whether it imports what may work with files, or in a way that is not read here.
        may_thread: whether it may start threads or run an event loop.
        packages: which of the packages that were asked for it may import.
        modules: which modules it imports by ordinary statements; b"" among them stands for others.
    """

    imports: bool = False
    opens: bool = False
    is_odd: bool = False
    may_thread: bool = False
    packages: tuple[str, ...] = ()
    modules: frozenset[bytes] = frozenset()

    def works_with_files(self, is_whole: bool) -> bool:
        """May it want a scratch folder? `is_whole` says that it is a program or script, not a call: these may want one
        for what they import."""
        return self.opens or (is_whole and self.is_odd)


def look_at(text: bytes, packages: Sequence[str] = ()) -> Look:
    """What a text names; of packages those among `packages`."""
    if b"import" not in text:
        return Look(opens=b"open(" in text)
    named = tuple([name for name in packages if name.encode() in text])
    if len(text) > _MOST_READ:
        return Look(True, True, True, True, named, _OTHERS)
    words, modules = _Text(text), modules_named(text)
    return Look(
        imports=True,
        opens=b"open(" in text or words.holds_any(_FILE_WORDS),
        is_odd=_imports_oddly(text) or bool(modules - _FILELESS),
        may_thread=words.holds_any(_THREAD_WORDS),
        packages=named,
        modules=frozenset(modules) if len(modules) <= _MANY_MODULES else _OTHERS,
    )


_OTHERS, _MANY_MODULES = frozenset([b""]), 32


class Looks:
    """What was seen of the texts that were looked at last, by length and hash: the hash of bytes is keyed by a secret
    of this process, so nobody makes two texts that look like one."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[int, int, tuple[str, ...]], Look] = OrderedDict()

    def at(self, text: bytes, packages: tuple[str, ...] = ()) -> Look:
        """What this text names."""
        if len(text) < SHORT:
            return look_at(text, packages)
        key = len(text), hash(text), packages
        look = self._seen.get(key)
        if look is None:
            look = self._seen[key] = look_at(text, packages)
            if len(self._seen) > _MOST_KEPT:
                self._seen.popitem(last=False)
        else:
            self._seen.move_to_end(key)
        return look


_MOST_KEPT = 1 << 12
