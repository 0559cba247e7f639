"""When two objects of a class of the program's are equal to a test.

Their class is asked, and may lie, so the test compares what they hold. The candidate says what that is, and learns what
is expected when the script makes an object to compare with. So what other objects hold is noted before the script makes
one, and counts as long as the candidate is asked for nothing else: none of them becomes what is expected later.
"""

from cruxcell.jobs.separated.proxies.facts import (
    HANDED_OVER,
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
    was_handed_over,
)
from cruxcell.jobs.separated.proxies.library_values import fix_values, given_by, may_change
from cruxcell.jobs.separated.proxies.readings import all_shown
from cruxcell.jobs.separated.proxies.remote import class_of_alias, is_class_of_proxies
from cruxcell.jobs.separated.proxies.shared_names import place_of
from cruxcell.values.arrays import is_array_of_objects
from cruxcell.values.canonical import NotPlain, TooLarge, canon
from cruxcell.values.containers import dict_base, is_referred_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

CONTENT = ""  # in the place of an attribute's name: what an object is as a container, number or text
_MOST_NOTED = 1 << 13  # in all: a script may hold thousands of objects and make thousands


class Notes:
    """What objects of the candidate hold, by their numbers, with how many questions were open when that was noted."""

    def __init__(self):
        # type: () -> None
        self._held = {}  # type: dict[int, tuple[int, Any]]
        self._given = {}  # type: dict[int, tuple[int, Any]]  # the same of what equals a library's value: that value
        self._left = self._left_of_others = _MOST_NOTED  # of those with an equality of their own; of others
        self.is_complete = False
        self.is_old = False  # another thread has asked for something that may change what was noted
        self._is_fixing = False  # values that never change are asked for

    def take(self, link, depth):
        # type: (Any, int) -> None
        """The script is about to make an object, with `depth` questions open: note what those hold that it may be
        compared with, and what these hold in turn."""
        if self.is_old:  # only now: as long as the script has what it expects, nothing may be noted anew
            self.is_old = False
            self.forget_from(depth)
        if not self.is_complete:
            self._is_fixing = True
            try:
                fix_values(link.objects.held.present())
                self._note_given(link, depth)
            finally:
                self._is_fixing = False
        while self._left and not self.is_complete:
            pending = [each for each in link.objects.held.present() if self._is_unknown(link, each)][: self._left]
            self.is_complete = not pending
            if pending:
                others = len([each for each in pending if "__eq__" not in vars(type(each))])
                self._left, self._left_of_others = self._left - len(pending) + others, self._left_of_others - others
                notes = [(depth, held) for held in _copied(_told_of(link, pending), link.objects)]
                self._held.update(zip(map(number_of, pending), notes))

    def _note_given(self, link, depth):
        # type: (Any, int) -> None
        others = [each for each in link.objects.held.present() if may_change(each) and standing_of(each) == HANDED_OVER]
        unknown = [each for each in others if number_of(each) not in self._given][: self._left]
        if unknown:
            self._left -= len(unknown)
            notes = [(depth, given) for given in _copied(list(map(given_by, unknown)), link.objects)]
            self._given.update(zip(map(number_of, unknown), notes))

    def value_of(self, value, ask):
        # type: (Any, Callable[[], Any]) -> Any
        """What an object that equals a library's value was noted to give; else what it gives when asked, which is no
        time for others to become another."""
        noted = self._given.get(number_of(value))
        if noted is not None:
            return noted[1]
        before, self._is_fixing = self._is_fixing, True
        try:
            return ask()
        finally:
            self._is_fixing = before

    def _is_unknown(self, link, value):
        # type: (Any, Any) -> bool
        """May this be found equal to another, or be given out again as another, and is it not noted what it holds?"""
        may_be = "__eq__" in vars(type(value)) or (self._left_of_others > 0 and _may_be_a_result(value))
        return may_be and link.means_a_class(type(value)) and number_of(value) not in self._held

    def outlast(self, link, operation, fields, depth):
        # type: (Any, str, list[Any], int) -> bool
        """The candidate is about to be asked this, with `depth` questions open. Does what was noted hold after that? It
        may change all but what was noted before the question that is being answered by asking; who makes an object may
        change those that it is given."""
        if self._is_fixing:
            return True
        if not _makes_something(link, operation, fields):
            self.forget_from(depth)
            return False
        if operation == "call":
            self._forget_what_leads_from(fields[2:])
        return True

    def forget_from(self, depth):
        # type: (int) -> None
        """The candidate goes on, and with it all questions but the first `depth`."""
        self.is_complete = False
        for notes in (self._held, self._given):
            for number in [number for number, each in notes.items() if each[0] >= depth]:
                del notes[number]

    def _forget_what_leads_from(self, values):
        # type: (list[Any]) -> None
        pending = _objects_in(values)
        for each in pending:
            if self._given.pop(number_of(each), None) is not None:
                self.is_complete = False
            note = self._held.pop(number_of(each), None)
            if note is not None:
                self.is_complete = False
                pending += _objects_in(note[1])

    def is_another(self, link, value, shown, began):
        # type: (Any, object, tuple[Any, ...], int) -> bool
        """A class has given this out for what the script makes an object of (`shown`). Was it here before `began`, and
        held something else? By its identity it would be what the script expects."""
        if not is_opaque(value) or is_new_since(value, began):
            return False
        _, held = self._held.get(number_of(value), (0, None))
        values, atoms, _ = shown
        if _may_be_a_result(value) and values and (held is None or not atoms <= _atoms(held)):
            return True
        return "__eq__" in vars(type(value)) and held is not None and bool(_told_of(link, [value])[0] != held)

    def held(self, link, *values):
        # type: (Any, Any) -> list[Any]
        """What these objects hold; None where that can no longer be noted of one that the script has not made."""
        noted = [self._held.get(number_of(each)) for each in values]
        if not self._left:
            unknown = [note is None and standing_of(value) != MADE for value, note in zip(values, noted)]
            noted = [(0, None) if is_unknown else note for is_unknown, note in zip(unknown, noted)]
        asked = [value for value, note in zip(values, noted) if note is None]
        self.is_complete = self.is_complete and not asked
        told = iter(_told_of(link, asked) if asked else ())
        return [next(told) if note is None else note[1] for note in noted]


def _may_be_a_result(value):
    # type: (Any) -> bool
    """May it be what a function of the program gave for the script to compare? One that the script made may have come
    back since."""
    return standing_of(value) == HANDED_OVER or was_handed_over(value)


def _told_of(link, values):
    # type: (Any, list[Any]) -> list[Any]
    told = link.ask("states", None, *values)
    return told if type(told) is list and len(told) == len(values) else [None] * len(values)


def _copied(told, objects):
    # type: (list[Any], Any) -> list[Any]
    """With containers of their own: those that both sides have change when the candidate changes its. Containers with a
    class of their own become plain ones, which are equal."""
    import copy
    import copyreg

    reductions = copyreg.dispatch_table  # type: dict[Any, Any]
    present = objects.held.present(with_values=True)
    kinds = {type(each) for each in present if issubclass(type(each), (*_CONTAINERS, bytearray))}
    reductions.update(dict.fromkeys(kinds, _as_plain))
    try:
        return copy.deepcopy(told, {id(each): each for each in present if type(each) not in kinds})
    except Exception:  # nested too deep, or of a library that cannot copy it
        return [None] * len(told)
    finally:
        for kind in kinds:
            del reductions[kind]


def _as_plain(value):
    # type: (Any) -> tuple[Any, ...]
    """A container with a class of its own, as what `copy` makes a plain one of."""
    base = next(each for each in (*_CONTAINERS, bytearray) if issubclass(type(value), each))
    if base is list:
        return list, (), None, list.__iter__(value)
    if base is dict:
        kind = dict_base(type(value))
        return kind, (), None, None, iter(kind.items(value))
    return base, (list(base.__iter__(value)),)


def _makes_something(link, operation, fields):
    # type: (Any, str, list[Any]) -> bool
    """Does it make an object of a class that the script knows by its name, or ask what objects hold or look like?"""
    if operation == "call":
        cls = fields[0] if is_class_of_proxies(fields[0]) else class_of_alias(fields[0])
        return cls is not None and bool(link.means_a_class(cls))
    return operation == "states" or (operation == "special" and fields[1] in _CHANGES_NOTHING)


def _objects_in(value):
    # type: (Any) -> list[Any]
    return [each for each in _parts(value) if is_opaque(each)]


def hold_the_same(link, one, other):
    # type: (Any, object, object) -> bool | None
    """Does their class say that they are equal, and do they hold attributes that are? That is found out here: or every
    value would be the expected one to a class that says so of all. In a set they are not unequal, either, where it says
    so alone: or a set of one thing, twice, would equal that of this and another. None: it says so, and the test does
    not find it."""
    held = link.notes.held(link, one, other)  # first: `__eq__` may make them the same
    are_alike = type(held[0]) is dict and _are_equal(held[0], held[1])
    are_the_same = are_alike and _count(link, held, one, other)
    if not link.ask("special", one, "__eq__", other):
        return False
    if are_the_same:
        return True
    if link.hashed in (number_of(one), number_of(other)):
        link.refuse(_BY_WORD % type(one).__name__)
    link.compared_by_identity = True
    return None


def holds(link, one, value):
    # type: (Any, object, object) -> bool
    """Is an object of a class that derives from a container, number or text, and has an equality of its own, at bottom
    that plain value? Its class is told the value after that, and may say that they differ."""
    if type(value) not in (*_CONTAINERS, *_ATOMS) or not derives_from(type(one), place_of(type(value))):
        return False
    held = link.notes.held(link, one)[0]
    content = held.get(CONTENT) if type(held) is dict else None
    return type(content) is type(value) and _are_equal(content, value)


def _are_equal(one, other):
    # type: (Any, Any) -> bool
    """Also of containers that hold themselves, as a list does whose nodes are lists that name each other."""
    try:
        return bool(one == other)
    except RecursionError:
        pending, seen = [(one, other)], set()  # type: list[tuple[Any, Any]], set[tuple[int, int]]
    for left, right in pending:
        kind = type(left)
        if left is right or (id(left), id(right)) in seen:
            continue
        seen.add((id(left), id(right)))
        if kind not in (list, tuple, dict) or kind is not type(right):
            if left != right:
                return False
        elif len(left) != len(right) or (kind is dict and left.keys() != right.keys()):
            return False
        else:
            pending += [(left[key], right[key]) for key in left] if kind is dict else zip(left, right)
    return True


def _count(link, held, one, other):
    # type: (Any, list[dict[str, Any]], object, object) -> bool
    """May attributes that are equal decide? Where they show what one of the two was made of, or both were made of the
    same; and of two results of operators on what the test has made, where those operands do."""
    if standing_of(one) == standing_of(other) == MADE and held[0] and made_of(one)[2] == made_of(other)[2]:
        return True
    if not (operands_of(one) and operands_of(other)):
        return any(map(_shows, held, (one, other)))
    operands = [*operands_of(one)[1:], *operands_of(other)[1:]]
    return bool(held[0]) and all(map(_shows, link.notes.held(link, *operands), operands))


def _shows(held, value):
    # type: (dict[str, Any], object) -> bool
    """Do its attributes show what the test made the object of? Those of a class that keeps nothing of it would all be
    equal. A class may keep it in another form: `Version("1.10")` as (1, 10), `Money(3)` as Decimal("3.00")."""
    if not held or standing_of(value) != MADE or "__eq__" not in vars(type(value)):  # an operand may have none
        return False
    given, shown = made_of(value)[1], _atoms(held)
    return given <= shown or all_shown(list(given - shown), _parts(held))


def shown_by(values):
    # type: (Any) -> tuple[Any, set[Any], list[Any]]
    """What the script makes an object of, and what that comes to before the program can change it."""
    atoms = list(map(_atom, _parts(values)))
    return values, set(atoms), atoms


def hold_what_was_made(link, refilled, named, value, began, *, given=()):
    # type: (Any, list[tuple[int, list[Any]]], list[int], object, int, Any) -> bool
    """May one of these containers, which the program has changed since `began`, be equal by now to something that the
    script makes of what it has made: `value` (None: nothing was made), or another object? What is not opaque equals
    plain data. What is made may be a container itself, which the script was not given before."""
    held = [each for each in _had(link, refilled, named, given) if each is not value or not is_new_value(value, began)]
    if value is not None and not is_opaque(value) and not issubclass(type(value), BaseException):
        return bool(held)
    return any("__eq__" in vars(type(each)) and is_made_since(each, began) for each in _objects_in(held))


def hold_what_is_made(link, refilled, named, began):
    # type: (Any, list[tuple[int, list[Any]]], list[int], int) -> bool
    """While the script waited: does one of them hold an object that the script has made since `began`?"""
    held = _objects_in(_had(link, refilled, named, ()))
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


def _atoms(value):
    # type: (Any) -> set[Any]
    """What a value comes down to, in whatever containers: data by what it is equal to, objects by their identity."""
    return set(map(_atom, _parts(value)))


def _atom(value):
    # type: (Any) -> object
    if type(value) in _ATOMS:
        return value
    try:
        return type(value), canon(value, _LARGEST_ATOM)
    except (NotPlain, TooLarge):
        return (id(value),)


def _parts(value):
    # type: (Any) -> list[Any]
    """What is in a value, in whatever containers."""
    return _gone_through(value)[0]


def _gone_through(value):
    # type: (Any) -> tuple[list[Any], set[int]]
    """(what is in a value, in whatever containers; the addresses of that and of these)."""
    found, pending, seen = [], [value], set()  # type: list[Any], list[Any], set[int]
    for each in pending:
        if id(each) in seen:
            continue
        seen.add(id(each))
        kind = type(each)
        is_deque = (kind.__module__, kind.__name__) == ("collections", "deque")
        base = next((base for base in _CONTAINERS if issubclass(kind, base)), None)
        if base is dict:  # whose class may have methods of its own
            pending += [*dict.keys(each), *dict.values(each)]
        elif is_array_of_objects(each):
            pending += each.ravel().tolist()
        elif base is not None or is_deque:
            pending += each if base is None else base.__iter__(each)
        else:
            found.append(each)
    return found, seen


_BY_WORD = (
    "that two objects of class %s in a set or dict are equal only the class says, and not all that they hold shows it:"
    " compare their attributes, or require IN_PROCESS"
)
BECAME = "%s became another when the script made an object, which may be what it expects: require IN_PROCESS"
_ATOMS = (type(None), bool, int, float, complex, str, bytes)
_CONTAINERS = (list, tuple, dict, set, frozenset)
_CHANGES_NOTHING = frozenset(["__eq__", "__hash__", "__str__", "__repr__", "__format__"])
_LARGEST_ATOM = 1 << 16  # bytes
