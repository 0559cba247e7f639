"""The code of a script, made in a worker that meets no candidate, and run in others of the same interpreter.

What is told stands for the script's code exactly as a .pyc file does for a module's. Nobody but a worker loads it, and
only bytes that this interpreter has made for the same script.
"""

import marshal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType  # noqa: F401 - in type comments

MOST = 4 << 20  # bytes; a script that is larger is compiled where it runs
_MADE_BY = sys.version.encode() + b"\0"  # an interpreter that was replaced meanwhile may read its code differently


def told(code):
    # type: (CodeType) -> bytes
    """The code as bytes; none if they would be too many, or it is nested deeper than they can say."""
    try:
        data = _MADE_BY + marshal.dumps(code)
    except (ValueError, MemoryError):
        return b""
    return data if len(data) <= MOST else b""


def loaded(data):
    # type: (bytes) -> CodeType | None
    """The code that `told` told; None where nothing was told, or by another interpreter."""
    if not data.startswith(_MADE_BY):
        return None
    try:
        code = marshal.loads(memoryview(data)[len(_MADE_BY) :])  # noqa: S302 - as this interpreter told it
    except (ValueError, TypeError, EOFError, MemoryError):
        return None
    return code if type(code) is type(loaded.__code__) else None
