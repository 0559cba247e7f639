"""When two objects of a class of the program's are equal to a test.

Their class is asked, and may lie, so the test compares what they hold. The candidate says what that is, and learns what
is expected when the script makes an object to compare with. So what other objects hold is noted before the script makes
one, and counts as long as the candidate is asked for nothing else: none of them becomes what is expected later.
"""

from cruxcell.jobs.separated.proxies.facts import (
    MADE,
    derives_from,
    is_made_since,
    is_new_since,
    is_new_value,
    is_opaque,
    made_of,
    number_of,
    operands_of,
    standing_of,
)
from cruxcell.jobs.separated.proxies.item_by_item import is_of_items, items_of, pairs_of
from cruxcell.jobs.separated.proxies.matching import (
    ATOMS,
    Forms,
    atom,
    base_of_items,
    is_equal,
    is_itself,
    items_compared,
    pairs_at,
)
from cruxcell.jobs.separated.proxies.placing import ALL
from cruxcell.jobs.separated.proxies.readings import all_shown
from cruxcell.jobs.separated.proxies.shared_names import place_of
from cruxcell.values.arrays import is_array_of_objects
from cruxcell.values.containers import CONTAINERS, is_referred_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

CONTENT = ""  # in the place of an attribute's name: what an object is as a container, number or text


def objects_in(value):
    # type: (Any) -> list[Any]
    return [each for each in parts_of(value) if is_opaque(each)]


def hold_the_same(link, one, other):
    # type: (Any, object, object) -> bool | None
    """Does their class say that they are equal, and do they hold attributes that are? That is found out here: or every
    value would be the expected one to a class that says so of all. In a set they are not unequal, either, where it says
    so alone: or a set of one thing, twice, would equal that of this and another. None: it says so, and the test does
    not find it."""
    under_way, pair = link.notes.under_way, (link.depth(), *sorted([number_of(one), number_of(other)]))
    if pair in under_way:  # an item knows the bag in which it is: that is compared already
        return True
    held, within = link.notes.held_with_parts(link, one, other)  # first: `__eq__` may make them the same
    under_way.add(pair)
    try:
        compared = _compared(held[0], held[1], within)
    except RecursionError:  # by objects within objects; each of those around them would compare them twice
        link.refuse(_TOO_DEEP % type(one).__name__)
        raise
    finally:
        under_way.discard(pair)

    def shown():
        # type: () -> list[list[Any]]
        return [_shown(within, state, found) for state, found in zip(held, zip(*(compared or ())))]

    are_the_same = compared is not None and _count(link, held[0], shown, one, other)
    if not link.ask("special", one, "__eq__", other):
        return False
    if are_the_same:
        return True
    if link.hashed in (ALL, number_of(one), number_of(other)):
        link.refuse(_BY_WORD % type(one).__name__)
    link.compared_by_identity = True
    return None


def _compared(one, other, within):
    # type: (Any, Any, Any) -> list[tuple[Any, Any]] | None
    """The pairs that were found equal where two objects hold the same; None where they do not."""
    if type(one) is not dict:
        return None
    found = _pairs_alike(one, other, within) if objects_in(one) else None
    return found if found is not None or not are_equal(one, other) else [(one, other)]


def _shown(within, held, compared):
    # type: (Any, dict[str, Any], Any) -> list[Any]
    """What an object shows that it was made of: data of it and of objects within it, and objects that were `compared`.
    In what an object holds that is compared by its `==` there may be others, which nobody has looked at."""
    data = [each for each in _shown_parts(_with_parts(within, held)) if not _is_itself(each)]
    return data + list(filter(_is_itself, _shown_parts(list(compared))))


def _is_itself(value):
    # type: (object) -> bool
    return type(value) not in ATOMS and is_itself(atom(value))


def holds(link, one, value):
    # type: (Any, object, object) -> bool
    """Is an object of a class that derives from a container, number or text, and has an equality of its own, at bottom
    that plain value? Its class is told the value after that, and may say that they differ."""
    if type(value) not in (*CONTAINERS, *ATOMS) or not derives_from(type(one), place_of(type(value))):
        return False
    held = link.notes.held(link, one)[0]
    content = held.get(CONTENT) if type(held) is dict else None
    return type(content) is type(value) and are_equal(content, value)


def are_equal(one, other):
    # type: (Any, Any) -> bool
    """Also of containers that hold themselves, as a list does whose nodes are lists that name each other, and of those
    that hold arrays or tables, whose `==` says of each item whether it is the same."""
    kinds = {id(type(each)): each for each in (*parts_of(one), *parts_of(other))}  # metaclasses may give types no hash
    if any(map(is_of_items, kinds.values())):
        return _pairs_alike(one, other) is not None
    try:
        return bool(one == other)
    except (RecursionError, TypeError, ValueError):
        return _pairs_alike(one, other) is not None


def _with_parts(within, held):
    # type: (Any, dict[str, Any]) -> list[dict[str, Any]]
    """What an object holds, and what objects within that hold, as far as it is known."""
    found, seen = [held], set()  # type: list[dict[str, Any]], set[int]
    for each in found:
        unseen = [part for part in objects_in(each) if id(part) not in seen]
        seen.update(map(id, unseen))
        found += filter(None, map(within, unseen))
    return found


def _pairs_alike(one, other, within=None):
    # type: (Any, Any, Any) -> list[tuple[Any, Any]] | None
    """All pairs of what stands at the same place in both; None where one of them is not equal. `within`: says what
    objects hold that are within these, which are compared by that. A class may compare its objects by what it has made
    itself, as a list by its nodes."""
    pending, seen = [(one, other)], set()  # type: list[tuple[Any, Any]], set[tuple[int, int]]
    forms = Forms(within)
    for left, right in pending:
        base = base_of_items(left)
        if left is right or (id(left), id(right)) in seen:
            continue
        seen.add((id(left), id(right)))
        states = _states_of(within, left, right) if within is not None else []
        if states:
            pending.append((states[0], states[1]))
        elif is_of_items(left) or is_of_items(right):
            pairs = pairs_of(left, right)
            if pairs is None:
                return None
            pending += pairs
        elif base is None or base is not base_of_items(right):
            if not is_equal(left, right):
                return None
        else:
            pairs = pairs_at(base, left, right, forms)
            if pairs is None:
                return None
            pending += pairs
    return pending


def _states_of(within, one, other):
    # type: (Any, Any, Any) -> list[Any]
    """What two objects of one class hold, if that is known of both."""
    if not is_opaque(one) or type(one) is not type(other):
        return []
    states = [within(one), within(other)]
    return states if all(type(each) is dict for each in states) else []


def _count(link, held, shown, one, other):
    # type: (Any, dict[str, Any], Callable[[], list[list[Any]]], object, object) -> bool
    """May attributes that are equal decide? Where they show what one of the two was made of, or both were made of the
    same; and of two results of operators on what the test has made, where those operands do. `shown()`: by each."""
    if not held:  # as of `Nil()`, which was made of nothing, and has been given nothing since
        made = [each for each in (one, other) if standing_of(each) == MADE and is_new_since(each, link.ran)]
        return any(not made_of(each)[0] for each in made)
    if standing_of(one) == standing_of(other) == MADE and made_of(one)[2] == made_of(other)[2]:
        return True
    if not (operands_of(one) and operands_of(other)):
        by_one, by_other = shown()
        return _show(by_one, by_other, one) or _show(by_other, by_one, other)
    operands = [*operands_of(one)[1:], *operands_of(other)[1:]]
    states = link.notes.held(link, *operands)
    return all(bool(state) and _show(_shown_parts(state), None, each) for state, each in zip(states, operands))


def _show(own, its, value):
    # type: (list[Any], list[Any] | None, object) -> bool
    """Do its attributes show what the test made the object of? Those of a class that keeps nothing of it would all be
    equal. A class may keep it in another form: `Version("1.10")` as (1, 10), `Money(3)` as Decimal("3.00"). And does
    what it is equal to show the data of that (`its`)? Much is equal that is not made of the same: moments of several
    zones, ranges of no number."""
    if standing_of(value) != MADE or "__eq__" not in vars(type(value)):  # an operand may have none
        return False
    given = made_of(value)[1]
    return _is_shown(given, own) and (its is None or _is_shown({each for each in given if not is_itself(each)}, its))


def _is_shown(atoms, parts):
    # type: (set[Any], list[Any]) -> bool
    left = atoms.difference(map(atom, parts))
    return not left or all_shown(list(left), parts)


def shown_by(values):
    # type: (Any) -> tuple[Any, set[Any], list[Any]]
    """What the script makes an object of, and what that comes to before the program can change it."""
    atoms = list(map(atom, _shown_parts(values)))
    return values, set(atoms), atoms


def hold_what_was_made(link, refilled, named, value, began, *, given=()):
    # type: (Any, list[tuple[int, list[Any]]], list[int], object, int, Any) -> bool
    """May one of these containers, which the program has changed since `began`, be equal by now to something that the
    script makes of what it has made: `value` (None: nothing was made), or another object? What is not opaque equals
    plain data. What is made may be a container itself, which the script was not given before."""
    held = [each for each in _had(link, refilled, named, given) if each is not value or not is_new_value(value, began)]
    if value is not None and not is_opaque(value) and not issubclass(type(value), BaseException):
        return bool(held)
    return any("__eq__" in vars(type(each)) and is_made_since(each, began) for each in objects_in(held))


def hold_what_is_made(link, refilled, named, began):
    # type: (Any, list[tuple[int, list[Any]]], list[int], int) -> bool
    """While the script waited: does one of them hold an object that the script has made since `began`?"""
    held = objects_in(_had(link, refilled, named, ()))
    return any(standing_of(each) == MADE and is_new_since(each, began) for each in held)


def _had(link, refilled, named, given):
    # type: (Any, list[tuple[int, list[Any]]], list[int], Any) -> list[Any]
    """Those of these containers (their numbers, and what the table has of them) that the script has, not only by a name
    of the program's (`named`: their addresses). One that the program has let go after it has changed it the script may
    have all the same, unless the program was `given` it with this question."""
    apart, entries = named + [id(each) for each in link.objects.held.present(with_values=True)], link.containers.entries
    known = [number for number, entry in refilled if entries.get(number) is entry]
    gone = [entry for number, entry in refilled if entries.get(number) is not entry]
    passed = _gone_through(given)[1] if gone else ()
    found = [entries[number][0] for number in link.containers.held(known, apart)]
    return found + [entry[0] for entry in gone if id(entry[0]) not in passed and is_referred_to(entry)]


def atoms_of(value):
    # type: (Any) -> set[Any]
    """What a value comes down to, in whatever containers: data by what it is equal to, objects by their identity."""
    return set(map(atom, _shown_parts(value)))


def _shown_parts(value):
    # type: (Any) -> list[Any]
    """The same, and the items of arrays and tables."""
    return [item for each in _gone_through(value, items_compared)[0] for item in items_of(each)]


def parts_of(value):
    # type: (Any) -> list[Any]
    """What is in a value, in whatever containers."""
    return _gone_through(value)[0]


def _gone_through(value, items=None):
    # type: (Any, Any) -> tuple[list[Any], set[int]]
    """(what is in a value, in whatever containers; the addresses of that and of these)."""
    found, pending, seen = [], [value], set()  # type: list[Any], list[Any], set[int]
    for each in pending:
        if id(each) in seen:
            continue
        seen.add(id(each))
        parts = each.ravel().tolist() if is_array_of_objects(each) else (items or items_in)(each)
        if parts is None:
            found.append(each)
        else:
            pending += parts
    return found, seen


def items_in(value):
    # type: (Any) -> list[Any] | None
    """What is in a container, whose class may have methods of its own; None of what is none."""
    base = base_of_items(value)
    if base is None:
        return None
    return list(base.__iter__(value)) if not issubclass(base, dict) else [*dict.keys(value), *dict.values(value)]


_BY_WORD = (
    "that two objects of class %s in a set or dict are equal only the class says, and not all that they hold shows it:"
    " compare their attributes, or require IN_PROCESS"
)
_TOO_DEEP = "objects of class %s are too deep within each other to be compared here: compare their attributes"
BECAME = "%s became another when the script made an object, which may be what it expects: require IN_PROCESS"
