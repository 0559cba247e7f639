"""The steps that confine a zygote, once, before it serves.

`STEPS` is the order and the table of contents. A step either holds, or raises OSError. It gives a sentence for its
layer, or None where it has nothing to say. The order follows from what takes what away:

* leaving namespaces needs root's capabilities, or an ordinary user: it is tried before and after the change of user;
* changing the user clears PDEATHSIG, so that is set again afterwards;
* Landlock refuses mounting, so it comes after the namespaces, and where workers mount scratch folders, in the workers;
* the out-of-memory score cannot be written once the process is undumpable;
* the new process numbers begin with a child, so the zygote forks last of all and everything is inherited.
"""

import os
import stat

from cruxcell.confinement import landlock, linux, namespaces, rlimits, scratch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cruxcell.confinement.settings import Settings  # noqa: F401 - in type comments
    from cruxcell.native import Helper  # noqa: F401 - in type comments

# All there is in a worker's environment. Numeric libraries start threads when they are imported, and end the process
# when they cannot; this tells them not to. Programs count on the others being there.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PATH": os.defpath, "LOGNAME": "nobody"}

# NOROOT, NOROOT_LOCKED, KEEP_CAPS_LOCKED, NO_CAP_AMBIENT_RAISE and its lock: being root gives no capability any more.
_SECUREBITS = 0x01 | 0x02 | 0x20 | 0x40 | 0x80
_HIGHEST_CAPABILITY = 63


class State:
    """What the steps have reached so far."""

    def __init__(self, helper, settings):
        # type: (Helper, Settings) -> None
        self.helper = helper
        self.settings = settings
        self.layers = {}  # type: dict[str, tuple[bool, str]]
        self.handles = []  # type: list[int]
        self.unshared = False
        self.proc = -1  # a handle of /proc, where the tree is left behind before the user namespace is entered


def _no_new_privs(state):
    # type: (State) -> str
    linux.prctl(state.helper, linux.PR_SET_NO_NEW_PRIVS, 1)
    return "no program gives privileges any more"


def _session(_state):
    # type: (State) -> None
    if os.getsid(0) != os.getpid():
        os.setsid()


def _pdeathsig(state):
    # type: (State) -> str
    linux.die_with(state.helper, state.settings.parent)
    return "killed when the daemon dies"


def _umask(_state):
    # type: (State) -> None
    os.umask(0o077)


def _environment(_state):
    # type: (State) -> None
    os.environ.clear()
    os.environ.update(_ENVIRONMENT)


def _descriptors(state):
    # type: (State) -> None
    first = 0
    for kept in state.settings.keep_fds:
        forbid_reopening(kept)
        _close(state.helper, first, kept - 1)
        first = kept + 1
    _close(state.helper, first, 0xFFFFFFFF)


def _close(helper, first, last):
    # type: (Helper, int, int) -> None
    if first > last:
        return
    try:
        linux.call(helper, "close_range", first, last, 0)
    except OSError:  # before Linux 5.9
        for name in os.listdir("/proc/self/fd"):
            if first <= int(name) <= last:
                os.closerange(int(name), int(name) + 1)


def _fixed_limits(_state):
    # type: (State) -> None
    rlimits.settle()


def _oom_score(_state):
    # type: (State) -> None
    with open("/proc/self/oom_score_adj", "wb") as file:  # no codec is loaded for it, in each zygote
        file.write(b"1000")


def _empty_directory(state):
    # type: (State) -> None
    os.chdir(state.settings.empty_dir)


def _readable_paths(state):
    # type: (State) -> None
    state.handles = landlock.open_readable(state.settings.readable)


def _namespaces_as_root(state):
    # type: (State) -> object
    if not state.settings.want_namespaces:
        raise OSError(0, "not wanted")
    if not linux.capabilities(state.helper)[0] >> linux.CAP_SYS_ADMIN & 1:
        return None
    try:
        namespaces.unshare_as_root(state.helper)
    except OSError:
        return None  # tried again as an ordinary user
    if state.settings.scratch:
        state.proc = namespaces.proc_handle()
    return _furnish(state)


def _namespaces_as_user(state):
    # type: (State) -> object
    if state.unshared and state.settings.scratch:  # the capability to mount is kept in there, and only there
        namespaces.unshare_as_user(state.helper, state.proc)
        return None
    if state.unshared or not state.settings.want_namespaces:
        return None
    namespaces.unshare_as_user(state.helper)
    return _furnish(state)


def _furnish(state):
    # type: (State) -> str
    state.unshared = True
    folder = scratch.FOLDER if state.settings.scratch else ""
    return namespaces.furnish(state.helper, state.settings.readable, state.settings.empty_dir, folder)


def _scratch(state):
    # type: (State) -> object
    if not state.settings.scratch:
        return None
    if not state.layers.get("namespaces", (False, ""))[0]:
        why = state.layers.get("namespaces", (False, "no namespaces"))[1]
        raise OSError(1, "it needs a user namespace and a file tree of its own (%s)" % why)
    os.close(scratch.new_folder(state.helper, 1 << 20, scratch.NEW_FOLDERS[0]))
    return "a file system in memory for each worker"


def _capability_bounds(state):
    # type: (State) -> None
    """Empties the sets from which capabilities could come back; only who has CAP_SETPCAP may, others need not."""
    if not linux.capabilities(state.helper)[0] >> linux.CAP_SETPCAP & 1:
        return
    linux.prctl(state.helper, linux.PR_CAP_AMBIENT, linux.PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(_HIGHEST_CAPABILITY + 1):
        try:
            linux.prctl(state.helper, linux.PR_CAPBSET_DROP, capability)
        except OSError:
            break  # one more than this kernel has
    linux.prctl(state.helper, linux.PR_SET_SECUREBITS, _SECUREBITS)


def _uid_drop(state):
    # type: (State) -> str
    if os.geteuid() != 0 and 0 not in os.getresuid():
        return "uid %d" % os.getuid()
    uid, gid = state.settings.uid, state.settings.gid
    if 0 in (uid, gid):
        raise OSError(1, "the user and group to become must not be root")
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if os.getresuid() != (uid, uid, uid) or os.getresgid() != (gid, gid, gid) or os.getgroups():
        raise OSError(1, "the change of user did not take")
    return "uid %d" % uid


def _capabilities(state):
    # type: (State) -> str
    _capability_bounds(state)
    keep = 1 << linux.CAP_SYS_ADMIN if state.settings.scratch else 0
    linux.drop_capabilities(state.helper, keep)
    return "none in workers" if keep else "none"


def _landlock(state):
    # type: (State) -> str
    above = []  # type: list[int]
    try:
        if not state.settings.scratch:
            return landlock.restrict(state.helper, state.handles)
        above = landlock.open_readable([scratch.ABOVE])
        rules = landlock.new_rules(state.helper, state.handles, *above)
    finally:
        for handle in state.handles + above:
            os.close(handle)
    scratch.keep(rules, scratch.RULES)
    return "of workers: read-only but for their scratch folder"


def _readable_as_user(state):
    # type: (State) -> None
    """A path that the user we have become cannot read would look to candidates like a module that does not exist."""
    for path in state.settings.readable:
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        except OSError as error:
            raise OSError(error.errno, "uid %d cannot read %s" % (os.getuid(), path)) from None


def _undumpable(state):
    # type: (State) -> str
    linux.prctl(state.helper, linux.PR_SET_DUMPABLE, 0)
    return "no tracing, no core files"


def _own_process_numbers(state):
    # type: (State) -> None
    if state.unshared:
        namespaces.split(state.helper)


def forbid_reopening(descriptor):
    # type: (int) -> None
    """Makes a pipe impossible to open anew by way of /proc/self/fd, which Landlock lets pass.

    Else a worker that may write to it could also read it. For pipes made after `confine_zygote` by the zygote itself;
    those it keeps are treated there. Anything but a pipe of our own is left as it is.
    """
    status = os.fstat(descriptor)
    if stat.S_ISFIFO(status.st_mode) and status.st_uid == os.geteuid():
        os.fchmod(descriptor, 0)


STEPS = (  # (step, the layer it belongs to or "", function)
    ("no_new_privs", "no_new_privs", _no_new_privs),
    ("session", "", _session),
    ("pdeathsig", "pdeathsig", _pdeathsig),
    ("umask", "", _umask),
    ("environment", "", _environment),
    ("descriptors", "", _descriptors),
    ("fixed_limits", "", _fixed_limits),
    ("oom_score", "", _oom_score),
    ("empty_directory", "", _empty_directory),
    ("readable_paths", "landlock", _readable_paths),
    ("namespaces_as_root", "namespaces", _namespaces_as_root),
    ("capability_bounds", "capabilities", _capability_bounds),
    ("uid_drop", "uid_drop", _uid_drop),
    ("namespaces_as_user", "namespaces", _namespaces_as_user),
    ("scratch", "scratch", _scratch),
    ("readable_as_user", "", _readable_as_user),
    ("capabilities", "capabilities", _capabilities),
    ("landlock", "landlock", _landlock),
    ("pdeathsig_again", "pdeathsig", _pdeathsig),
    ("undumpable", "undumpable", _undumpable),
    ("own_process_numbers", "namespaces", _own_process_numbers),
)
