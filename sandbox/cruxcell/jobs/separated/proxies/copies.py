"""Copies that one half makes of its objects for the other.

What is deeply copied at once has one memo in each half, so the copies refer to each other as what is copied does, also
in circles through both halves. The memo of the half that was asked is its object `_Memo`, which the other half keeps in
its own memo, and is gone with that. The memo of the half that asks has a number while it waits, by which the other half
asks back.
"""

from cruxcell.jobs.separated.proxies.deriving import checked
from cruxcell.jobs.separated.proxies.runs import LINK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_KEY = "of the other half"  # in a memo: the other half's `_Memo` or number
_NO_COPY = "the candidate does not say what it has copied"
_waiting = {}  # type: dict[object, dict[Any, Any]]  # memos of this half, while it asks
_numbers = iter(range(1, 1 << 62))


class _Memo:
    """The other half sees nothing of it."""

    __slots__ = ("_memo",)

    def __init__(self, memo):
        # type: (dict[Any, Any]) -> None
        self._memo = memo


def copied(target, is_deep, ours, theirs):
    # type: (Any, object, object, object) -> Any
    """A copy for the other half, deep ones with the `_Memo` for more of them. `ours`: such a one, or the number of a
    memo that waits here; `theirs`: that of the other half's."""
    import copy

    if not is_deep:
        return copy.copy(target)
    kept = ours if type(ours) is _Memo else _Memo(_waiting.get(ours, {}) if type(ours) is int else {})
    memo = kept._memo
    before = memo.get(_KEY)
    memo[_KEY] = theirs if type(theirs) is int else None
    try:
        return copy.deepcopy(target, memo), None if type(ours) is int else kept
    finally:
        memo[_KEY] = before


def copied_there(value, is_deep, memo=None):
    # type: (Any, bool, Any) -> Any
    """A copy that the other half makes of its object."""
    link = LINK[0]
    if not is_deep:
        return checked(type(value), link.ask("copy", value, False, None, None), "copy of an object")
    memo = memo if type(memo) is dict else {}
    number, ours = next(_numbers), memo.get(_KEY)
    _waiting[number] = memo
    try:
        found = link.ask("copy", value, True, ours, number)
    finally:
        del _waiting[number]
    if type(found) is not tuple or len(found) != 2:
        return link.refuse(_NO_COPY)
    if type(ours) is not int:
        memo[_KEY] = found[1]
    return checked(type(value), found[0], "copy of an object")
