"""A worker's scratch folder: a file system in memory of its own, which nobody else ever sees and which ends with it.

The zygote, in a user namespace of its own, makes one for each worker: bounded in bytes and in files, without device
files, set-uid bits and anything that could be run. It is mounted nowhere yet. The worker leaves the zygote's mounts for
a copy of its own, puts the folder into its place there, gives up the capability that takes, and restricts itself by
Landlock: writing below that place only. All else it can name is mounted read-only. When the worker has ended its
mounts are gone, and so is the folder, whatever was in it: nothing walks over what a candidate left behind.

This comes before the worker has looked at any text of a task.
"""

import fcntl
import os

from cruxcell.confinement import landlock, linux
from cruxcell.protocol.messages import SCRATCH_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cruxcell.native import Helper  # noqa: F401 - in type comments

FOLDER = SCRATCH_FOLDER
ABOVE = os.path.dirname(FOLDER)  # Landlock's rule is for what lies below it: it does not look at a mount's own place
MOST_FILES = 4096  # and folders and links

# Where the zygote keeps the rules, and a new folder for each of a pair; every worker closes them.
RULES, NEW_FOLDERS = 40, (41, 42)
# Nobody else ever sees the folder: what a program makes there has the permissions that it has on most hosts.
UMASK = 0o022
_SAFE = 48

_CLOEXEC, _SET_STRING, _CREATE = 1, 1, 6
_MOVE_EMPTY_PATH = 4
_NOSUID, _NODEV, _NOEXEC = 2, 4, 8


def new_folder(helper, size_bytes, place):
    # type: (Helper, int, int) -> int
    """Makes an empty folder, as descriptor `place`; needs CAP_SYS_ADMIN in the user namespace. Raises OSError."""
    context = linux.call(helper, "fsopen", b"tmpfs\0", _CLOEXEC)
    try:
        for name, value in ((b"size", b"%d" % size_bytes), (b"nr_inodes", b"%d" % (MOST_FILES + 1)), (b"mode", b"700")):
            linux.call(helper, "fsconfig", context, _SET_STRING, name + b"\0", value + b"\0", 0)
        linux.call(helper, "fsconfig", context, _CREATE, None, None, 0)
        folder = linux.call(helper, "fsmount", context, _CLOEXEC, _NOSUID | _NODEV | _NOEXEC)
    finally:
        os.close(context)
    return keep(folder, place)


def keep(descriptor, place):
    # type: (int, int) -> int
    """Moves a descriptor to its place, out of the way of a worker's own."""
    safe = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _SAFE)
    os.close(descriptor)
    os.dup2(safe, place, inheritable=False)
    os.close(safe)
    return place


def move_in(helper, folder):
    # type: (Helper, int) -> None
    """The worker's side: makes `folder` its working folder, for good, and confines it to that. Raises OSError."""
    linux.call(helper, "unshare", linux.NEWNS)
    linux.call(helper, "move_mount", folder, b"\0", linux.AT_FDCWD, os.fsencode(FOLDER) + b"\0", _MOVE_EMPTY_PATH)
    os.chdir(FOLDER)
    os.umask(UMASK)
    linux.drop_capabilities(helper)
    landlock.enter(helper, RULES)
    os.close(RULES)
    os.close(folder)
