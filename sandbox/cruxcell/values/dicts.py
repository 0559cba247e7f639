"""Dicts, and what derives from them: in what order a container's items are."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments


def dict_tags():
    # type: () -> dict[Any, bytes]
    collections = sys.modules.get("collections") or __import__("collections")
    return {collections.OrderedDict: b"O", collections.Counter: b"C", collections.defaultdict: b"D"}


def dict_base(kind):
    # type: (type) -> Any
    """The class whose methods read and fill a dict: an OrderedDict keeps an order of its own."""
    if kind is dict:  # as nearly all: a zygote that needs no `collections` does not import it for them
        return dict
    tags = set(map(id, dict_tags()))
    return next((cls for cls in kind.__mro__ if id(cls) in tags), dict)


def is_in_order(value):
    # type: (Any) -> bool
    """Has this dict no order but that in which its keys came? An OrderedDict has."""
    return bool(dict_base(type(value)).items is dict.items)


def pairs_of(value):
    # type: (Any) -> list[tuple[Any, Any]]
    """The items of a dict in its order. An OrderedDict hashes its keys to say that, and nothing is asked meanwhile: for
    some it may have others by now, and then they are in the order in which they came."""
    if is_in_order(value):
        return list(dict.items(value))
    try:
        return unasked[0](lambda: list(dict_base(type(value)).items(value)))  # type: ignore[no-any-return]
    except KeyError:
        return list(dict.items(value))


# By this a function is called that hashes what may be an object of the other half.
unasked = [lambda function: function()]  # type: list[Callable[[Callable[[], Any]], Any]]


def keys_and_values(value):
    # type: (Any) -> tuple[list[Any], list[Any]]
    if is_in_order(value):
        return list(dict.keys(value)), list(dict.values(value))
    pairs = pairs_of(value)
    return [key for key, _ in pairs], [item for _, item in pairs]
