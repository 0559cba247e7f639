"""Which items of two containers stand at the same place.

In sets, and as keys of dicts, objects of the program's do so that hold the same: by their hashes and their `==` any two
might.
"""

import sys

from cruxcell.jobs.separated.proxies.facts import address_of, is_opaque
from cruxcell.jobs.separated.proxies.item_by_item import items_of
from cruxcell.jobs.separated.proxies.readings import text_of
from cruxcell.values.canonical import NotPlain, TooLarge, canon
from cruxcell.values.containers import CONTAINERS
from cruxcell.values.dicts import dict_base, pairs_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

ATOMS = (type(None), bool, int, float, complex, str, bytes)  # what is nothing but data
_LARGEST_ATOM = 1 << 16  # bytes


class Forms:
    """Numbers, the same for what holds the same, whatever order sets and dicts are in. `states`: what says what an
    object holds, if that is known; others are themselves. What leads back to itself may have another number than its
    like."""

    def __init__(self, states=None):
        # type: (Callable[[Any], Any] | None) -> None
        self._states = states
        self._numbers = {}  # type: dict[Any, int]  # by what they are of
        self._known = {}  # type: dict[int, int]  # by addresses

    def of(self, value):
        # type: (Any) -> int
        if id(value) not in self._known:
            self._known[id(value)] = self._number_of(("around", id(type(value))))
            self._known[id(value)] = self._number_of(self._parts_of(value))
        return self._known[id(value)]

    def _number_of(self, parts):
        # type: (Any) -> int
        return self._numbers.setdefault(parts, len(self._numbers))

    def _parts_of(self, value):
        # type: (Any) -> tuple[Any, ...]
        state = self._states(value) if self._states is not None and is_opaque(value) else None
        if type(state) is dict:
            return ("object", id(type(value)), self.of(state))
        base = base_of_items(value)
        if base is None:
            parts = items_of(value)
            return ("items", id(type(value)), *map(atom, parts)) if len(parts) != 1 else ("atom", atom(parts[0]))
        if issubclass(base, dict):
            items = [(self.of(key), self.of(item)) for key, item in base.items(value)]
            return (id(base), *(items if base is _type_of("OrderedDict") else sorted(items)))
        numbers = list(map(self.of, base.__iter__(value)))
        return (id(base), *(sorted(numbers) if base in (set, frozenset) else numbers))


def atom(value):
    # type: (Any) -> object
    """Data as what it is equal to; other objects as themselves."""
    if type(value) in ATOMS:
        return value
    try:
        return type(value), canon(value, _LARGEST_ATOM)
    except (NotPlain, TooLarge):
        text = text_of(value)  # of a path, say
        return (address_of(value),) if text is None else (type(value), text)


def is_itself(found):
    # type: (object) -> bool
    """Is an atom that of an object which equals nothing but by its class?"""
    return type(found) is tuple and len(found) == 1


def base_of_items(value):
    # type: (Any) -> Any
    """The type that says where the items of a container stand, which may have a class of its own; None of what is none.
    Of dicts it is another where their `==` is."""
    kind = type(value)
    base = next((each for each in CONTAINERS if issubclass(kind, each)), None)  # type: Any
    if base is dict and dict_base(kind).__eq__ is not dict.__eq__:
        return dict_base(kind)
    return kind if base is None and kind is _type_of("deque") else base


def pairs_at(base, one, other, forms):
    # type: (Any, Any, Any, Forms) -> list[tuple[Any, Any]] | None
    """What stands at each place of both, keys among it; None where the places are not the same."""
    if base is _type_of("OrderedDict"):
        one, other, base = pairs_of(one), pairs_of(other), list
    if base not in (set, frozenset) and not issubclass(base, dict):
        are_as_long = base.__len__(one) == base.__len__(other)
        return list(zip(base.__iter__(one), base.__iter__(other))) if are_as_long else None
    ones, others = _entries(base, one), _entries(base, other)
    if len(ones) != len(others):
        return None
    are_data = base is not _type_of("Counter") and all(type(each[0]) in ATOMS for each in ones)
    found = None if are_data else _matched(ones, others, forms)
    if found is not None:
        return found
    if base is not dict:
        return [] if is_equal(one, other) else None
    if dict.keys(one) != dict.keys(other):
        return None
    return [(dict.__getitem__(one, key), dict.__getitem__(other, key)) for key in dict.keys(one)]


def _entries(base, value):
    # type: (Any, Any) -> list[tuple[Any, ...]]
    """The items of a set, or those of a dict. A Counter need not say what it has none of."""
    if not issubclass(base, dict):
        return [(each,) for each in base.__iter__(value)]
    is_counter = base is _type_of("Counter")
    return [item for item in pairs_of(value) if not (is_counter and type(item[1]) is int and not item[1])]


def items_compared(value):
    # type: (Any) -> list[Any] | None
    """What the `==` of a container looks at; None of what is none."""
    base = base_of_items(value)
    return None if base is None else [part for entry in _entries(base, value) for part in entry]


def _matched(ones, others, forms):
    # type: (Any, Any, Forms) -> list[tuple[Any, Any]] | None
    """Those beside each other whose keys hold the same; of several such keys, those whose values do."""
    places = [{}, {}]  # type: list[dict[int, list[Any]]]
    for place, entries in zip(places, (ones, others)):
        for each in entries:
            place.setdefault(forms.of(each[0]), []).append(each)
    found = []  # type: list[tuple[Any, Any]]
    for form, some in places[0].items():
        like = places[1].get(form, [])
        if len(some) != len(like):
            return None
        if len(some) > 1:
            for each in (some, like):
                each.sort(key=lambda entry: forms.of(entry[-1]))
        found += [pair for one, other in zip(some, like) for pair in zip(one, other)]
    return found


def is_equal(one, other):
    # type: (Any, Any) -> bool
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        if is_opaque(one) or is_opaque(other):  # the error is their class's
            raise
        return False  # as `NA == 1`, of which pandas says that nobody knows


def _type_of(name):
    # type: (str) -> Any
    """One of `collections`, which need not be there."""
    return getattr(sys.modules.get("collections"), name, None)
