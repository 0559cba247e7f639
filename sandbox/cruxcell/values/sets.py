"""The order of a set that crosses: the program that gets it may go through it as where it was made.

It depends on the size of the set's table and on which items came first (`native/src/sets.c`). Without the native helper
a set that crosses is put together anew, in an order of its own.
"""

from cruxcell.values.containers import Garbled, items_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_helper = []  # type: list[Any]
_SMALLEST, _LARGEST, _MOST_PLACES_AN_ITEM = 3, 31, 8  # as there


def use(helper):
    # type: (Any) -> None
    """From now on the helper says, and makes, the order of sets, if it can: the pure twin cannot."""
    if hasattr(helper, "set_order"):
        _helper[:] = [helper]


def order_of(value):
    # type: (Any) -> tuple[int, tuple[Any, ...]]
    """(bits, items) of a set or frozenset, for `fill` or `frozen` in the other half; 0 for an order that is not
    known."""
    if _helper:
        bits, items = _helper[0].set_order(value)
        if bits:
            return bits, items
    if issubclass(type(value), set):
        return 0, items_of(set, value)
    return 0, tuple(frozenset.__iter__(value))


def fill(value, items, bits):
    # type: (Any, list[Any], int) -> None
    """Put these items into a set, in the place of what it holds. Raises Garbled for bits that no set has."""
    _check(bits, len(items))
    if _helper and bits:
        _helper[0].fill_set(value, items, bits)
    else:
        set.clear(value)
        set.update(value, items)


def frozen(items, bits):
    # type: (list[Any], int) -> frozenset[Any]
    """A frozenset of these items. Raises Garbled for bits that no set has."""
    _check(bits, len(items))
    if _helper and bits and items:
        return _helper[0].fill_set(None, items, bits)  # type: ignore[no-any-return]
    return frozenset(items)


def _check(bits, count):
    # type: (int, int) -> None
    """A table takes no more memory than that of a set that has grown to so many items."""
    if not bits:
        return
    is_small = bits == _SMALLEST or 1 << bits <= _MOST_PLACES_AN_ITEM * count
    if not (_SMALLEST <= bits <= _LARGEST and is_small and 5 * count < 3 * ((1 << bits) - 1)):
        raise Garbled("a set that cannot be")
