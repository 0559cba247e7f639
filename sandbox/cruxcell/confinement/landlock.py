"""Landlock: zygote and workers may read below the given paths and access nothing else in the file tree.

What it does not hide: opening a forbidden path fails with EACCES and a missing one with ENOENT, so whoever may open
files at all can find out which exist. Only the file tree that `namespaces` builds hides that. Pipes can be opened anew
through /proc/self/fd whatever Landlock says; see `steps.forbid_reopening`.
"""

import os
import stat
import struct

from cruxcell.confinement import linux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cruxcell.native import Helper  # noqa: F401 - in type comments

_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
_PATH_BENEATH = 1
_VERSION_QUERY = 1
_LOG_NOTHING = 1  # else a candidate could fill the audit log of the host
_VERSION_OF_LOG = 7
# Nowhere: running a file; devices, sockets, pipes; ioctl on devices.
_NEVER = 1 << 0 | 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 15

# Rights that each version of the interface can deny. Everything it can deny is denied.
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_BIND_AND_CONNECT_TCP = 0b11  # version 4
_SCOPE_ABSTRACT_UNIX_AND_SIGNAL = 0b11  # version 6


def version(helper):
    # type: (Helper) -> int
    """The kernel's Landlock version; raises OSError where it has none (ENOSYS) or it is switched off (EOPNOTSUPP)."""
    return linux.call(helper, "landlock_create_ruleset", None, 0, _VERSION_QUERY)


def open_readable(paths):
    # type: (list[str]) -> list[int]
    """Opens every readable path, while the process still may, as handles for `restrict`.

    Returns:
        A list of descriptors. Raises OSError naming the path that cannot be opened.
    """
    return [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in paths]


def restrict(helper, handles):
    # type: (Helper, list[int]) -> str
    """Restricts this process, for good, to reading below `handles`; needs no_new_privs.

    Returns:
        A sentence saying what is denied. Raises OSError.
    """
    rules = new_rules(helper, handles)
    try:
        enter(helper, rules)
    finally:
        os.close(rules)
    return "version %d: %s" % (version(helper), _describe(version(helper)))


def new_rules(helper, handles, writable=-1):
    # type: (Helper, list[int], int) -> int
    """Rules that let reading below `handles` pass, and everything but special files and running below `writable`.

    Returns:
        A descriptor for `enter`. Raises OSError.
    """
    abi_version = version(helper)
    rules = linux.call(helper, "landlock_create_ruleset", *_attributes(abi_version), 0)
    try:
        for handle in handles:
            _add_rule(helper, rules, handle, _rights(handle))
        if writable >= 0:
            _add_rule(helper, rules, writable, _file_rights(abi_version) & ~_NEVER)
    except OSError:
        os.close(rules)
        raise
    return rules


def enter(helper, rules):
    # type: (Helper, int) -> None
    """Restricts this process to `rules`, for good; needs no_new_privs. Raises OSError."""
    linux.call(helper, "landlock_restrict_self", rules, _LOG_NOTHING if version(helper) >= _VERSION_OF_LOG else 0)


def _add_rule(helper, rules, handle, rights):
    # type: (Helper, int, int, int) -> None
    rule = bytearray(struct.pack("<Qi", rights, handle))
    linux.call(helper, "landlock_add_rule", rules, _PATH_BENEATH, rule, 0)


def _file_rights(abi_version):
    # type: (int) -> int
    """All that this version of the interface can deny."""
    return _FILE_RIGHTS[max(known for known in _FILE_RIGHTS if known <= abi_version)]


def _attributes(abi_version):
    # type: (int) -> tuple[bytearray, int]
    fields = [_file_rights(abi_version)]
    if abi_version >= 4:
        fields.append(_BIND_AND_CONNECT_TCP)
    if abi_version >= 6:
        fields.append(_SCOPE_ABSTRACT_UNIX_AND_SIGNAL)
    packed = struct.pack("<%dQ" % len(fields), *fields)
    return bytearray(packed), len(packed)


def _rights(handle):
    # type: (int) -> int
    is_directory = stat.S_ISDIR(os.fstat(handle).st_mode)
    return _READ_FILE | _READ_DIR if is_directory else _READ_FILE


def _describe(abi_version):
    # type: (int) -> str
    parts = ["read-only below the readable paths"]
    if abi_version >= 4:
        parts.append("no TCP")
    if abi_version >= 6:
        parts.append("no signals or abstract sockets outwards")
    return ", ".join(parts)
