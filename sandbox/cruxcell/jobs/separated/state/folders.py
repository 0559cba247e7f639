"""The scratch folder of one half of a script: how its files look, which both halves have, and what is put there."""

import os
from stat import S_ISDIR, S_ISREG, S_IWUSR
from time import time_ns as _time_ns

from cruxcell.jobs.separated.state import changed_times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

IS_FOLDER, IS_GONE = None, False  # in the place of a file's content, or of how it looks
_DEEPEST = 64
_RACY_NS = 100_000_000  # a clock of files ticks every few milliseconds: a file may change and look as before
_PERMISSIONS, OF_ITS_OWNER = 0o777, 0o700
NOTHING_ABOUT = (0, 0, 0)  # what is gone
# Of how a file looks: (number, size, *about, may it change unseen?); `about`: time, permissions, when it was changed.
_WITHOUT_UNSEEN, _ABOUT, _MODE, _IS_UNSEEN = slice(0, 5), slice(2, 5), 3, 5


class Folder:
    """The scratch folder of one half, and what of it both had when they were last alike."""

    def __init__(self, place):
        # type: (str) -> None
        self.place = place
        # path -> how it looked here, and of a file that may change unseen a hash; of a folder its permissions
        self._alike = {}  # type: dict[str, Any]

    def present(self):
        # type: () -> dict[str, Any]
        """What there is, by its path below the folder, as it looks."""
        found, pending = {}, [""]  # type: dict[str, Any], list[str]
        for above in pending:
            try:
                with os.scandir(self._at(above)) as entries:
                    names = [each.name for each in entries if above or each.name[:1] != "."]
            except OSError:
                continue
            for name in names:
                path = above + "/" + name if above else name
                looks = self.looks(path)
                if looks is not IS_GONE:
                    found[path] = looks
                if looks is IS_FOLDER and path.count("/") < _DEEPEST:
                    pending.append(path)
        return found

    def has_changed(self, path):
        # type: (str) -> bool
        """Does it look otherwise than when both were alike? A file that may have changed since is read again."""
        looks, before = self.looks(path), self._alike.get(path, IS_GONE)
        if looks is IS_FOLDER:
            return type(before) is not int or before != self._permissions(path)
        if type(looks) is not tuple or type(before) is not tuple:
            return looks is not before
        if looks[_WITHOUT_UNSEEN] != before[0]:
            return True
        if before[1] is None:
            return False
        if hash(self.content(path)) != before[1]:
            return True
        self._alike[path] = before[0], before[1] if looks[_IS_UNSEEN] else None
        return False

    def gone(self, present):
        # type: (dict[str, Any]) -> list[str]
        """What both had, and is here no longer: what is in a folder before that."""
        return sorted([each for each in self._alike if each not in present and self._is_away(each)], reverse=True)

    def _is_away(self, path):
        # type: (str) -> bool
        """Not merely in a folder that may not be looked into."""
        try:
            os.lstat(self._at(path))
        except PermissionError:
            return False
        except (OSError, ValueError):
            return True
        return self.looks(path) is IS_GONE

    def content(self, path):
        # type: (str) -> Any
        """Bytes of a file; IS_FOLDER, or IS_GONE for what is not there or cannot be read."""
        looks = self.looks(path)
        if looks is IS_FOLDER or looks is IS_GONE:
            return looks
        try:
            descriptor = os.open(self._at(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return IS_GONE
        parts = []  # type: list[bytes]
        try:
            while not parts or parts[-1]:
                parts.append(os.read(descriptor, 1 << 20))
        except OSError:
            return IS_GONE
        finally:
            os.close(descriptor)
        return b"".join(parts)

    def put(self, path, content, about):
        # type: (str, Any, tuple[int, int, int]) -> bool
        """Make the path what it is in the other half. Could that be done? `about`: time and permissions of a file, and
        when it was changed; of a folder the permissions, but its owner may do anything until `permit`."""
        if self._is_below_a_link(path):  # another place than the path says
            return False
        is_put = False
        try:
            self._put(path, content)
            is_put = True
            if content is IS_FOLDER:
                os.chmod(self._at(path), about[1] & _PERMISSIONS | OF_ITS_OWNER)
            elif type(content) is bytes:
                os.chmod(self._at(path), about[1] & _PERMISSIONS)
                os.utime(self._at(path), ns=(about[0], about[0]), follow_symlinks=False)
                changed_times.note(self._at(path), about[2])
        except (OSError, OverflowError, ValueError):
            pass
        self._note_alike(path, content)
        return is_put

    def permit(self, path, permissions):
        # type: (str, int) -> None
        """A folder has these, when all that is put into it is there: they may forbid that."""
        if self.looks(path) is IS_FOLDER and not self._is_below_a_link(path):
            try:
                os.chmod(self._at(path), permissions & _PERMISSIONS)
            except OSError:
                pass
            self._note_alike(path, IS_FOLDER)

    def share(self, path):
        # type: (str) -> None
        """The other half has this folder, too."""
        self._note_alike(path, IS_FOLDER)

    def enter(self, path):
        # type: (str) -> bool
        """Make it the working folder, if that can be."""
        if self._is_below_a_link(path) or self.looks(path) is not IS_FOLDER:
            return False
        try:
            os.chdir(self._at(path))
        except OSError:
            return False
        return True

    def _is_below_a_link(self, path):
        # type: (str) -> bool
        parts = path.split("/")[:-1]
        return any(self.looks("/".join(parts[:end])) is not IS_FOLDER for end in range(1, len(parts) + 1))

    def told(self, path):
        # type: (str) -> tuple[str, Any, tuple[int, int, int]]
        """Its path, content, and what is `about` it, which the other half is told."""
        looks, content = self.looks(path), self.content(path)
        self._note_alike(path, content)
        if content is IS_FOLDER:
            return path, content, (0, self._permissions(path), 0)
        return path, content, looks[_ABOUT] if type(looks) is tuple else NOTHING_ABOUT

    def _note_alike(self, path, content):
        # type: (str, Any) -> None
        """Both halves have this at the path now."""
        looks = self.looks(path)
        if looks is IS_GONE:
            self._alike.pop(path, None)
        elif looks is IS_FOLDER:
            self._alike[path] = self._permissions(path)
        else:  # as it was before its content was read: what came later shows
            self._alike[path] = looks[_WITHOUT_UNSEEN], hash(content) if looks[_IS_UNSEEN] else None

    def _put(self, path, content):
        # type: (str, Any) -> None
        place, looks = self._at(path), self.looks(path)
        if looks is not IS_GONE and (content is IS_GONE or (looks is IS_FOLDER) != (content is IS_FOLDER)):
            (os.rmdir if looks is IS_FOLDER else os.unlink)(place)
        if content is IS_FOLDER and looks is not IS_FOLDER:
            os.mkdir(place)
        elif type(content) is bytes:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            if type(looks) is tuple and not looks[_MODE] & S_IWUSR:
                os.unlink(place)
            descriptor = os.open(place, flags, 0o666)
            try:
                while content:
                    content = content[os.write(descriptor, content) :]
            finally:
                os.close(descriptor)

    def _at(self, path):
        # type: (str) -> str
        return self.place + "/" + path if path else self.place

    def looks(self, path):
        # type: (str) -> Any
        """How a file looks: what differs if it has changed, and whether it may change now without that. IS_FOLDER, or
        IS_GONE for what is not there or is something else."""
        try:
            found = os.lstat(self._at(path))
        except (OSError, ValueError):
            return IS_GONE
        if S_ISDIR(found.st_mode):
            return IS_FOLDER
        if not S_ISREG(found.st_mode):
            return IS_GONE
        is_unseen = found.st_mtime_ns > _time_ns() - _RACY_NS
        about = found.st_mtime_ns, found.st_mode & _PERMISSIONS, found.st_ctime_ns
        return (found.st_ino, found.st_size, *about, is_unseen)

    def _permissions(self, path):
        # type: (str) -> int
        """Those of a folder."""
        try:
            return os.lstat(self._at(path)).st_mode & _PERMISSIONS
        except (OSError, ValueError):
            return 0

    def has_any(self):
        # type: () -> bool
        return bool(self._alike)

    def has(self, path):
        # type: (str) -> bool
        return path in self._alike

    def below(self, path):
        # type: (str) -> str | None
        """What a path means in this half: the path below the folder; None for what is elsewhere."""
        if path[:1] != "/":
            try:
                path = os.getcwd() + "/" + path
            except OSError:
                return None
        parts = [each for each in path.split("/") if each not in ("", ".")]
        first = [each for each in self.place.split("/") if each]
        if ".." in parts or parts[: len(first)] != first:
            return None
        return "/".join(parts[len(first) :])


def is_path(path):
    # type: (object) -> bool
    """Is it the path of a file or folder below, of none that is hidden at the top?"""
    if type(path) is not str or "\0" in path or path.count("/") > _DEEPEST or path[:1] == ".":
        return False
    return all(each not in ("", ".", "..") for each in path.split("/"))
