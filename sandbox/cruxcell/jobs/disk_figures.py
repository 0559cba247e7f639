"""`os.statvfs`, and with it `shutil.disk_usage`, for programs that ask how full the disk is.

The filter refuses to tell facts of the host's disks. The disk of a worker is its scratch folder.

The functions end in candidates' hands, so this module holds nothing but them.
"""

import os
import sys

from cruxcell.builtin_like import take_place
from cruxcell.protocol.messages import SCRATCH_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_stat, _lstat, _walk, _join = os.stat, os.lstat, os.walk, os.path.join
_BLOCK, _OF_STAT, _LONGEST_NAME, _MOST_FILES = 4096, 512, 255, 4096
_size = [0]


def statvfs(path):
    # type: (Any) -> os.statvfs_result
    """As the library's: what is not there has no disk."""
    _stat(path)
    found = [_join(above, each) for above, folders, files in _walk(SCRATCH_FOLDER) for each in folders + files]
    taken = sum(map(_blocks_of, found))
    blocks, free_files = _size[0] // _BLOCK, max(0, _MOST_FILES - len(found))
    free = max(0, blocks - taken)
    figures = (_BLOCK, _BLOCK, blocks, free, free, _MOST_FILES, free_files, free_files, 0, _LONGEST_NAME)
    return os.statvfs_result(figures)


def _blocks_of(path):
    # type: (str) -> int
    try:
        return -(-_lstat(path).st_blocks * _OF_STAT // _BLOCK)
    except OSError:
        return 0


def install_for(source, size):
    # type: (str, int) -> None
    """Where the program names such a question, and has a scratch folder of that size."""
    if size and ("disk_usage" in source or "statvfs" in source):
        _size[0] = size
        shared = sys.modules["os"]  # type: Any
        for name in ("statvfs", "fstatvfs"):
            take_place(shared, name, statvfs)
