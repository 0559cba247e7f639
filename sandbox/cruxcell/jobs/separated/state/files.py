"""Files that both halves of a script have: each half has a scratch folder of its own.

What the script passes to the program by a path (a file, or a folder with all that is in it), or makes the working
folder, the program has, too, as it is when the program is asked for something. So it is with what whole paths name that
stand in a text or file which is passed (a list of files, a configuration). What the program makes the script has,
too (in a folder of the script's, which it has not been passed, if nothing else is there), and how it changes or removes
that, and what it was passed. Other files of the script the program neither sees nor changes: one may hold what is
expected. Files and folders cross, no links, and nothing hidden at the top (`.cache`).
"""

import os
import sys
from _thread import allocate_lock as _lock
from stat import S_IFMT

from cruxcell.jobs.separated.state.folders import IS_FOLDER, IS_GONE, NOTHING_ABOUT, OF_ITS_OWNER, Folder, is_path
from cruxcell.protocol.messages import FILELESS_MODULES, SCRATCH_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable  # noqa: F401 - in type comments

# What a script names that has files, if it imports nothing that may have some: the program may have imported it.
_WORDS = frozenset(
    [
        "open", "os", "io", "pathlib", "Path", "tempfile", "shutil", "glob", "tmp_path", "tmp_path_factory", "tmpdir",
        "filecmp", "read_csv", "read_json", "read_excel", "read_pickle", "load", "loadtxt", "genfromtxt", "imread",
        "zipfile", "tarfile", "ZipFile", "sqlite3",
    ]
)  # fmt: skip
_MOST_PASSED, _MOST_PARTS, _LONGEST = 256, 1_000, 512
_MOST_SAID, _MOST_READ = 1 << 18, 1 << 16
_PATTERNS = frozenset("*?[")
_APART = bytes([32 if chr(each) in "\"'`,;:=|<>()[]{}" else each for each in range(256)])  # what stands around paths
_MOST_BYTES = 8 << 20  # of files that the program has made, in an answer
_WORKING = ""  # in the place of a path: the working folder
SAID = "the script passes a path that it has from the program, where a file of its own lies: require IN_PROCESS"


class PassedFiles:
    """Of the test's half: what the program is to have, and what the script takes of it. `names`: the script's;
    `modules`: those of the modules that it imports."""

    def __init__(self, names, modules=(), place=SCRATCH_FOLDER):
        # type: (Iterable[str], Iterable[str], str) -> None
        self._folder = Folder(place)
        self._passed = {}  # type: dict[str, bool]  # with whether it was the program that said it first
        # Files that are as the program has made them, unless they have changed, with a hash of what it has made: it
        # says what time a file has, so another of the script's may look like that.
        self._made_there = {}  # type: dict[str, int]
        self._said = set()  # type: set[int]
        self._texts = None  # type: Any
        self._working = self._own_working = ""  # the latter where the script has gone by itself
        others = {each.partition(".")[0] for each in modules} - FILELESS_MODULES
        self.are_needed = bool(others or not _WORDS.isdisjoint(names)) and os.access(place, os.W_OK)
        if "filecmp" in names:
            _compare_contents()

    def hear(self, data):
        # type: (bytes) -> None
        """A message of the candidate. No text in it is a path that the script has of itself, if it passes it later: a
        round trip (`decode(encode(x))`) would show the program whatever it names."""
        if self._texts is None:  # as `Writer` writes them, DOTALL; scripts without files do not pay for the module
            self._texts = __import__("re").compile(rb"[bs](?=(.[\0-\2])\0\0)", 16).finditer
        for each in self._texts(data):
            start = each.end() + 4
            size = int.from_bytes(each.group(1), "little")
            if 0 < size <= _LONGEST:
                self._say(data[start : start + size])

    def _say(self, text):
        # type: (bytes) -> None
        """It, and each word of it."""
        if len(self._said) < _MOST_SAID:
            self._said.add(hash(text))
            self._said.update(map(hash, text.translate(_APART).split()))

    def _is_said(self, path, below):
        # type: (str, str) -> bool
        if len(self._said) >= _MOST_SAID:
            return True
        forms = (path, below, self._folder.place + "/" + below)
        return any(hash(each.encode("utf-8", "surrogatepass")) in self._said for each in forms)

    def note(self, values):
        # type: (list[Any]) -> None
        """The program is about to be given these values, which may hold paths."""
        pending, at = values[:_MOST_PARTS], 0
        while at < len(pending) and at < _MOST_PARTS:
            each, at = pending[at], at + 1
            if type(each) is dict:
                pending += [*_first(each), *_first(each.values())]
            elif type(each) in (list, tuple, set, frozenset):
                pending += _first(each)
            elif type(each) is str or type(each).__module__.partition(".")[0] == "pathlib":
                self._note(str(each))
                self._note_words(str(each)[:_MOST_READ].encode("utf-8", "surrogatepass"))

    def _note_words(self, text):
        # type: (bytes) -> None
        """The whole paths that stand in it."""
        place = os.fsencode(self._folder.place)
        if place in text:
            for word in text.translate(_APART).split():
                if word.startswith(place):
                    self._note(word.decode("utf-8", "surrogateescape"))

    def _note(self, path):
        # type: (str) -> None
        if not 0 < len(path) <= _LONGEST or "\n" in path or "\0" in path:
            return
        if not _PATTERNS.isdisjoint(path) and not os.path.lexists(path):  # for `glob`: what it may find
            path = path[: min(path.find(each) for each in _PATTERNS if each in path)].rpartition("/")[0]
        below = self._folder.below(path)
        if below is None or (not below and path[:1] != "/"):  # "." is a text more often than a folder
            return
        is_said = self._passed.pop(below, None)
        if is_said is None:
            is_said = self._is_said(path, below) or (path[:1] != "/" and self._is_led())
        self._passed[below] = is_said
        if len(self._passed) > _MOST_PASSED:
            del self._passed[next(iter(self._passed))]

    def _is_led(self):
        # type: () -> bool
        """Is the script in a folder where it has not gone by itself?"""
        return self._working != self._own_working and self._folder.below(".") == self._working

    def given(self):
        # type: () -> list[Any]
        """The working folder if that is another, and path, content and more of what the program is to have and has not
        yet, or no longer. ValueError for what it had the script pass."""
        folder, working = self._folder, self._folder.below(".") or ""
        told = [working if working != self._working else None]  # type: list[Any]
        if told[0]:
            self._note(folder.place + "/" + working)
        if working != self._working:
            self._working = self._own_working = working
        present = folder.present() if self._passed or folder.has_any() else {}
        for path in folder.gone(present):
            told += folder.told(path)
        passed = -1
        while passed != len(self._passed):  # what is told may name more
            passed = len(self._passed)
            told += self._passed_of(present)
        return told if len(told) > 1 or told[0] is not None else []

    def _passed_of(self, present):
        # type: (dict[str, Any]) -> list[Any]
        folder, told = self._folder, []  # type: Folder, list[Any]
        for path, looks in sorted(present.items()):
            is_passed = self._is_passed(path) or (looks is IS_FOLDER and self._leads(path))
            is_passed = is_passed or self._is_emptied(path, looks)
            if is_passed and folder.has_changed(path):
                if looks is not IS_FOLDER and not folder.has(path) and not self._is_passed(path, False):
                    raise ValueError(SAID)
                told += folder.told(path)
                self._made_there.pop(path, None)
                if type(told[-2]) is bytes:
                    self._note_words(told[-2][:_MOST_READ])
        return told

    def _is_emptied(self, path, looks):
        # type: (str, Any) -> bool
        """Is it a file that the program has, and there is nothing in it that could be expected?"""
        return type(looks) is tuple and not looks[1] and self._folder.has(path)

    def take(self, told):
        # type: (Any) -> None
        """What the program has made, changed and removed, as the candidate says."""
        if type(told) is not list:
            return
        permissions = {}  # type: dict[str, int]  # of folders
        for path, content, about in zip(told[0::3], told[1::3], told[2::3]):
            is_content = content is IS_GONE or content is IS_FOLDER or type(content) is bytes
            is_told = is_content and type(about) is tuple and list(map(type, about)) == [int, int, int]
            if is_told and is_path(path):
                self._take(path, content, about, permissions)
            elif path == _WORKING and type(content) is str:
                self._enter(content)
        for path in reversed(list(permissions)):
            # What the program does not have stays within the script's reach.
            if permissions[path] & OF_ITS_OWNER == OF_ITS_OWNER or not self._holds_own(path):
                self._folder.permit(path, permissions[path])

    def _take(self, path, content, about, permissions):
        # type: (str, Any, tuple[int, int, int], dict[str, int]) -> None
        if self._may_take(path, content):
            self._made_there.pop(path, None)
            if self._folder.put(path, content, about):  # else it may be the script's still
                self._made_there[path] = hash(content)
            if type(content) is bytes:
                self._say(content[:_MOST_READ])
            elif content is IS_FOLDER:
                permissions[path] = about[1]
        elif content is IS_FOLDER and self._is_free(path):
            self._folder.share(path)  # both have made it, and it is gone for both when one removes it

    def _holds_own(self, path):
        # type: (str) -> bool
        """Is anything in the folder that the program does not have, or may not be looked at?"""
        place, unread = self._folder.place + "/", []  # type: str, list[OSError]
        for above, names, others in os.walk(place + path, onerror=unread.append):
            if not all(self._folder.has(above[len(place) :] + "/" + each) for each in names + others):
                return True
        return bool(unread)

    def _enter(self, path):
        # type: (str) -> None
        """The program has made this the working folder. It is not passed by that, and has been before; nor is what the
        script means there by a name alone."""
        is_known = not path or (is_path(path) and (self._is_passed(path, False) or self._folder.has(path)))
        if is_known and self._folder.enter(path):
            self._working = path

    def _may_take(self, path, content):
        # type: (str, Any) -> bool
        """Was it passed to the program, or is it the program's, and the script has not made it another since?"""
        if self._is_passed(path, False):
            return True
        if self._folder.has(path):
            return not self._folder.has_changed(path)
        above = path.rpartition("/")[0]
        is_new = content is not IS_GONE and not os.path.lexists(self._folder.place + "/" + path)
        return is_new and (not above or self._is_passed(above) or self._folder.has(above) or self._is_free(above))

    def _is_free(self, path):
        # type: (str) -> bool
        """Is it a folder of the script's in which nothing is but what the program has made?"""
        if self._folder.looks(path) is not IS_FOLDER:
            return False
        try:
            return all(self._folder.has(path + "/" + each) for each in os.listdir(self._folder.place + "/" + path))
        except OSError:  # the script may not look into it either
            return False

    def is_made_there(self, path):
        # type: (str) -> bool
        """Is the file as the program has made it?"""
        below = self._folder.below(path)
        if below not in self._made_there or self._folder.has_changed(below):
            return False
        return hash(self._folder.content(below)) == self._made_there[below]

    def may_be_opened(self, path, is_moved=False):
        # type: (str, bool) -> bool
        """Does the program have it, too, or is there no file yet? What is moved is anything, also a folder."""
        below = self._folder.below(path)
        is_shared = below is not None and (self._is_passed(below, False) or self._folder.has(below))
        return is_shared or not (os.path.lexists if is_moved else os.path.isfile)(path)

    def _is_passed(self, path, by_program=True):
        # type: (str, bool) -> bool
        """`by_program`: also as a path that the program said first."""
        passed = [each for each in self._passed if by_program or not self._passed[each]]
        return any(not each or path == each or path.startswith(each + "/") for each in passed)

    def _leads(self, path):
        # type: (str) -> bool
        return any(each.startswith(path + "/") for each in self._passed)


class ProgramFiles:
    """Of the candidate's half, from before the program runs."""

    def __init__(self, place=SCRATCH_FOLDER):
        # type: (str) -> None
        self._folder = Folder(place)
        self._working = self._folder.below(".")  # as the script has it
        for path in self._folder.present():
            self._folder.told(path)
        self._is_asked, self._found = False, []  # type: bool, list[Any]  # what `made` is about to tell
        self._lock = _lock()

    def has_news(self):
        # type: () -> bool
        """Is there something to tell who has asked before?"""
        if not self._lock.acquire(False):
            return True
        try:
            if self._is_asked and not self._found:
                self._found = self._made()
            return bool(self._found)
        finally:
            self._lock.release()

    def have(self, _target, working, *told):
        # type: (object, Any, Any) -> None
        """What the script has passed: see `PassedFiles.given`."""
        for each in zip(told[0::3], told[1::3], told[2::3]):
            self._folder.put(*each)
        for path, content, about in reversed(list(zip(told[0::3], told[1::3], told[2::3]))):
            if content is IS_FOLDER:
                self._folder.permit(path, about[1])
        if working is not None:
            self._folder.enter(working)  # unless the program has removed it
            self._working = self._folder.below(".")

    def made(self, _target):
        # type: (object) -> list[Any]
        """Path, content and more of what the program has made, changed or removed since this was asked; not of what is
        larger than may cross."""
        if not self._lock.acquire(False):  # another thread looks, or this one in the midst of which a finalizer asks
            return []
        try:
            found, self._found, self._is_asked = self._found, [], True
            return found or self._made()
        finally:
            self._lock.release()

    def _made(self):
        # type: () -> list[Any]
        folder, present, room = self._folder, self._folder.present(), _MOST_BYTES
        told = [each for path in folder.gone(present) for each in folder.told(path)]
        for path in sorted(present):
            size = 0 if present[path] is IS_FOLDER else present[path][1]
            if size <= room and folder.has_changed(path):
                room -= size
                told += folder.told(path)
        working = folder.below(".")
        if working is not None and working != self._working:
            self._working = working
            told += [_WORKING, working, NOTHING_ABOUT]
        return told


def _compare_contents():
    # type: () -> None
    """Files of one size and time are equal to `filecmp`, and the program says what time its file has."""
    __import__("filecmp")
    sys.modules["filecmp"]._sig = lambda found: (S_IFMT(found.st_mode), found.st_size, object())  # type: ignore[attr-defined]


def _first(parts):
    # type: (Iterable[Any]) -> list[Any]
    return [each for _, each in zip(range(_MOST_PARTS), parts)]
