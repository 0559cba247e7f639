"""The code of a script, and constants of it, made in a worker that meets no candidate, for others of the same
interpreter.

What is told stands for the script exactly as a .pyc file does for a module. Nobody but a worker loads it, and only
bytes that this interpreter has made for the same script.
"""

import marshal
import sys

from cruxcell.analysis.bytecode import all_codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

MOST = 4 << 20  # bytes; a script that is larger is compiled where it runs
_MADE_BY = sys.version.encode() + b"\0"  # an interpreter that was replaced meanwhile may read its code differently


def told(value):
    # type: (Any) -> bytes
    """Code or constants as bytes; none if they would be too many, or it is nested deeper than they can say, or a set in
    it would have another order there: what a script makes of `{7, 3}` begins with the order of that."""
    try:
        data = _MADE_BY + marshal.dumps(value)
    except (ValueError, MemoryError):
        return b""
    return data if len(data) <= MOST and _keeps_orders(value, data) else b""


def loaded(data):
    # type: (bytes) -> CodeType | None
    """The code that `told` told; None where nothing was told, or by another interpreter."""
    code = _loaded(data)
    return code if type(code) is _CODE else None


def loaded_list(data):
    # type: (bytes) -> list[Any] | None
    """As `loaded`, of a list."""
    value = _loaded(data)
    return value if type(value) is list else None


def _keeps_orders(value, data):
    # type: (Any, bytes) -> bool
    """From 3.11 on, what is told of a set has an order of its own; and items that collide stand in one in the order in
    which they came."""
    orders = _orders_in(value)
    return not orders or orders == _orders_in(loaded(data))


def _orders_in(code):
    # type: (Any) -> list[list[Any]]
    """Of each set among the constants of code, how it is gone through; code that is none has no sets."""
    pending = [const for each in all_codes(code) for const in each.co_consts] if type(code) is _CODE else []
    found = []  # type: list[list[Any]]
    for const in pending:
        if type(const) in (tuple, frozenset):
            pending.extend(const)
        if type(const) is frozenset and len(const) > 1:
            found.append(list(const))
    return found


def anew(code):
    # type: (Any) -> Any
    """The code as it is before it has run. From 3.11 on the interpreter changes code that runs: a call that it has got
    to know may take one place less of those that recursion has."""
    if sys.version_info < (3, 11):
        return code
    made = {}  # type: dict[int, Any]
    for each in reversed(all_codes(code)):
        made[id(each)] = each.replace(co_consts=tuple([made.get(id(const), const) for const in each.co_consts]))
    return made[id(code)]


def _loaded(data):
    # type: (bytes) -> object
    if not data.startswith(_MADE_BY):
        return None
    try:
        value = marshal.loads(memoryview(data)[len(_MADE_BY) :])  # type: object  # noqa: S302 - as told above
    except (ValueError, TypeError, EOFError, MemoryError):
        return None
    return value


_CODE = type(told.__code__)
