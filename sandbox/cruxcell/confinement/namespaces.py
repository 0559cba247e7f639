"""Namespaces: no network, separate process ids, and a file tree that holds only the readable paths."""

import errno
import os
import struct

from cruxcell.confinement import linux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cruxcell.native import Helper  # noqa: F401 - in type comments

_NEWCGROUP, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = (
    0x02000000,
    0x04000000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
_ALL = linux.NEWNS | _NEWCGROUP | _NEWUTS | _NEWIPC | _NEWPID | _NEWNET

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x20, 0x1000, 0x4000, 0x40000
_MNT_DETACH = 2
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_AT_RECURSIVE = 0x8000
_PATH_ONLY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_MAXIMUM_LINKS = 40

_COUNTS_BY_NAMESPACE = (5, 14)
HOSTNAME = b"cruxbox"


def unshare_as_root(helper):
    # type: (Helper) -> None
    """Leaves all namespaces but the user's; needs CAP_SYS_ADMIN. Raises OSError."""
    linux.call(helper, "unshare", _ALL)


def unshare_as_user(helper, proc=-1):
    # type: (Helper, int) -> None
    """Leaves all namespaces by way of a user namespace in which this user is itself. Raises OSError.

    With `proc`, a handle of /proc, the others have been left as root: only mounts are taken along into that namespace.
    """
    uid, gid = os.getuid(), os.getgid()
    linux.prctl(helper, linux.PR_SET_DUMPABLE, 1)  # /proc/self belongs to root after a change of user
    linux.call(helper, "unshare", _NEWUSER | (_ALL if proc < 0 else linux.NEWNS))
    handle = proc_handle() if proc < 0 else proc
    try:
        _write(handle, "setgroups", "deny")
        _write(handle, "uid_map", "%d %d 1" % (uid, uid))
        _write(handle, "gid_map", "%d %d 1" % (gid, gid))
    finally:
        os.close(handle)


def proc_handle():
    # type: () -> int
    """A handle of /proc, for `unshare_as_user` in a tree that has none."""
    return os.open("/proc", _PATH_ONLY)


def own_user(helper):
    # type: (Helper) -> bool
    """Gives a worker a user namespace of its own, in which its threads are counted apart from its neighbours'.

    Before Linux 5.14 they are counted with all of the user's: False, as where the host refuses. The namespace maps no
    user, so nothing in it can become anybody; the capabilities over it are given up. Raises OSError if they stay.
    """
    try:
        release = tuple([int(part) for part in os.uname().release.split("-")[0].split(".")[:2]])
        if release < _COUNTS_BY_NAMESPACE:
            return False
        linux.call(helper, "unshare", _NEWUSER)
    except (OSError, ValueError):
        return False
    linux.drop_capabilities(helper)
    return True


def furnish(helper, readable, empty_dir, scratch):
    # type: (Helper, list[str], str, str) -> str
    """Makes the new namespaces a place of our own: mounts private, a neutral host name, a minimal file tree.

    With `scratch`, the tree has that folder, for workers to mount their own on, and all else is read-only.

    Returns:
        A sentence saying what the file tree is. Raises OSError when the mounts cannot be made private, or there has to
        be a scratch folder and the tree cannot be made.
    """
    linux.call(helper, "mount", None, b"/\0", None, _MS_REC | _MS_PRIVATE, None)
    linux.call(helper, "sethostname", HOSTNAME, len(HOSTNAME))
    mask = os.umask(0o022)  # the tree's folders must be passable for the user we become
    try:
        _minimal_tree(helper, readable, empty_dir, scratch)
    except OSError as error:
        if scratch:
            raise
        _give_up_tree(helper, empty_dir)
        return "own network, processes and mounts; the file tree stays visible (%s)" % error
    finally:
        os.umask(mask)
    return "own network, processes and mounts; the file tree holds the readable paths only"


def _minimal_tree(helper, readable, empty_dir, scratch):
    # type: (Helper, list[str], str, str) -> None
    """Moves into a new root that holds the readable paths at their own places. What is not there cannot be found."""
    root = _place_for_root(empty_dir)
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    linux.call(helper, "mount", b"cruxbox\0", _text(root), b"tmpfs\0", flags, b"mode=755,size=1m\0")
    bound = []  # type: list[str]
    for path in sorted(readable, key=os.path.realpath):
        _plant(helper, root, path, bound)
    if scratch:
        if _covered(scratch, bound):
            raise OSError(errno.EEXIST, "a readable path is in the way", scratch)
        _plant_scratch(helper, root, scratch)
    else:
        os.makedirs(root + empty_dir, 0o755, exist_ok=True)
    linux.call(helper, "mount", None, _text(root), None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | flags, None)
    os.chdir(root)
    linux.call(helper, "pivot_root", b".\0", b".\0")
    linux.call(helper, "umount2", b".\0", _MNT_DETACH)
    os.chdir(scratch or empty_dir)


def _place_for_root(empty_dir):
    # type: (str) -> str
    """A folder to mount the new root on, which the user we are can reach: the empty one may be in a private folder of
    whoever started us."""
    return next((place for place in (empty_dir, "/sys", "/proc") if os.access(place, os.X_OK)), empty_dir)


def _plant_scratch(helper, root, scratch):
    # type: (Helper, str, str) -> None
    """The place of the scratch folder, also as /tmp where nothing else is; all mounts read-only. Permissions and times
    of files are nothing that Landlock looks at, and a runtime's files may belong to the user we are."""
    os.makedirs(root + scratch, 0o755)
    if not os.path.lexists(root + "/tmp"):  # noqa: S108 - a place in the new tree
        os.symlink(scratch, root + "/tmp")  # noqa: S108
    attributes = struct.pack("<4Q", _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV, 0, 0, 0)
    size = len(attributes)
    linux.call(helper, "mount_setattr", linux.AT_FDCWD, _text(root), _AT_RECURSIVE, bytearray(attributes), size)


def _give_up_tree(helper, empty_dir):
    # type: (Helper, str) -> None
    """Goes back to the tree as it was."""
    os.chdir("/")
    try:
        linux.call(helper, "umount2", _text(empty_dir), _MNT_DETACH)
    except OSError:
        pass  # it was never mounted
    os.chdir(empty_dir)


def _plant(helper, root, path, bound):
    # type: (Helper, str, str, list[str]) -> None
    """Binds what `path` leads to below `root`, and copies the symbolic links on the way."""
    path = os.path.normpath(path)
    for _ in range(_MAXIMUM_LINKS):
        link, rest = _first_link(path)
        if not link:
            break
        target = os.readlink(link)
        if not _covered(link, bound):
            os.makedirs(root + os.path.dirname(link), 0o755, exist_ok=True)
            if not os.path.lexists(root + link):
                os.symlink(target, root + link)
        path = os.path.normpath(os.path.join(os.path.dirname(link), target, rest))
    else:
        raise OSError(errno.ELOOP, "too many symbolic links", path)
    if _covered(path, bound):
        return
    _make_place(path, root + path)
    linux.call(helper, "mount", _text(path), _text(root + path), None, _MS_BIND | _MS_REC, None)
    bound.append(path)


def _first_link(path):
    # type: (str) -> tuple[str, str]
    """The first symbolic link on the way along `path` and what comes after it, or ("", "")."""
    parts = path.split("/")
    for count in range(2, len(parts) + 1):
        prefix = "/".join(parts[:count])
        if os.path.islink(prefix):
            return prefix, "/".join(parts[count:])
    return "", ""


def _covered(path, bound):
    # type: (str, list[str]) -> bool
    return any(path == above or path.startswith(above.rstrip("/") + "/") for above in bound)


def _make_place(path, place):
    # type: (str, str) -> None
    if os.path.isdir(path):
        os.makedirs(place, 0o755, exist_ok=True)
        return
    os.makedirs(os.path.dirname(place), 0o755, exist_ok=True)
    os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o444))


def split(helper):
    # type: (Helper) -> None
    """Forks, because a new process-number namespace begins with the next child.

    The child returns, as process 1 of its namespace. The parent gives up every descriptor and its memory, waits for it,
    and ends as it ended. When the parent dies, the child dies, and with process 1 every worker.
    """
    alive, held = os.pipe()
    child = os.fork()
    if child:
        os.close(alive)
        linux.drop_capabilities(helper)
        os.closerange(0, held)
        os.closerange(held + 1, held + 4096)
        helper.end_as(child)
    os.close(held)
    linux.die_with(helper, 0)  # its number says nothing in here
    os.set_blocking(alive, False)
    try:
        os.read(alive, 1)
    except BlockingIOError:
        os.close(alive)
        return
    os._exit(1)  # the parent died before the death signal was set


def _text(text):
    # type: (str) -> bytes
    return os.fsencode(text) + b"\0"


def _write(proc, name, text):
    # type: (int, str, str) -> None
    descriptor = os.open("self/" + name, os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
