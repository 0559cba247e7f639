"""What objects of the candidate hold, noted before the script makes another.

By then the candidate does not know what is expected (`equality`). Nothing is noted for longer than until the candidate
goes on; but what is plain data need not be told again: that it is still the same the candidate says, by a number for
each object that has changed (`told_states`). That binds it no less.
"""

from cruxcell.jobs.separated.proxies.equality import are_equal, atoms_of, objects_in, parts_of
from cruxcell.jobs.separated.proxies.facts import (
    HANDED_OVER,
    MADE,
    METHOD,
    has_equality,
    is_new_since,
    is_opaque,
    now,
    number_of,
    standing_of,
    was_handed_over,
)
from cruxcell.jobs.separated.proxies.library_values import fix_values, given_by, may_change
from cruxcell.jobs.separated.proxies.matching import ATOMS
from cruxcell.jobs.separated.proxies.remote import class_of_alias, is_class_of_proxies
from cruxcell.values import owned
from cruxcell.values.containers import CONTAINERS
from cruxcell.values.dicts import dict_base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

# How many notes there may be: so many, and so many more for each object that the script makes.
_MOST_NOTED, _MORE_FOR_EACH = 1 << 13, 8
_MOST_LOOKED_AT = 1 << 21  # by the candidate, whether they still hold what was noted


class Notes:
    """What objects of the candidate hold, by their numbers, with how many questions were open when that was noted."""

    def __init__(self):
        # type: () -> None
        self._held = {}  # type: dict[int, tuple[int, Any]]
        self._plain = set()  # type: set[int]  # of these, what holds nothing but plain data
        self._before = {}  # type: dict[int, tuple[int, Any]]  # what such objects held when that was noted last
        self._since = 0  # the candidate's time when it told last what has changed
        self._deepest = 0
        self._given = {}  # type: dict[int, tuple[int, Any]]  # the same of what equals a library's value: that value
        self._left = self._left_of_others = _MOST_NOTED  # of those with an equality of their own; of others
        self._left_to_look_at = _MOST_LOOKED_AT
        self.under_way = set()  # type: set[tuple[int, int, int]]  # the pairs that are compared, by depth and numbers
        self._taken = 0  # when the script began to make an object last
        self._parts_left = _MOST_NOTED  # of the objects within those that are noted
        self._fixed = set()  # type: set[int]  # numbers, once there may be no more notes
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
        if self._left:  # where there are none left, some have become another unseen
            self._left = min(self._left + _MORE_FOR_EACH, _MOST_NOTED)
        if not self.is_complete:
            self._fix(link, depth, self._fresh(link))
        self._choose_what_to_look_at(link)
        while self._left and not self.is_complete:
            began = now()
            pending = [each for each in self._fresh(link) if self._is_unknown(link, each)][: self._left]
            before, self._before = self._before, {}
            self.is_complete = not (pending or before)
            if not self.is_complete:
                others = len([each for each in pending if "__eq__" not in vars(type(each))])
                self._left, self._left_of_others = self._left - len(pending) + others, self._left_of_others - others
                self._note(link, depth, pending, before)
                self._fix(link, depth, _come_since(link, began))
        self._taken = now()

    def _fix(self, link, depth, present):
        # type: (Any, int, list[Any]) -> None
        """Fix what these objects equal, and those that come with that."""
        self._is_fixing = True
        try:
            while present:
                began = now()
                fix_values(present)
                self._note_given(link, depth, present)
                if not self._left:
                    self._fixed.update(map(number_of, present))
                present = _come_since(link, began)
        finally:
            self._is_fixing = False

    def _fresh(self, link):
        # type: (Any) -> list[Any]
        """The objects that may have to be asked about."""
        known = self._held if self._left else self._fixed  # type: Any
        found = link.objects.held.present(but={*known, *self._before} if self._before else known)  # type: list[Any]
        return found

    def _choose_what_to_look_at(self, link):
        # type: (Any) -> None
        """The candidate goes through all that it has told, which is more than a few are worth."""
        if self._before:
            here = link.objects.held.numbers()
            self._before = {number: note for number, note in self._before.items() if number in here}
        is_much = len(self._before) >= len(self._plain)
        if not (self._left and is_much and len(self._before) <= self._left_to_look_at):
            self._before = {}
        self._left_to_look_at -= len(self._before)

    def _note(self, link, depth, pending, before):
        # type: (Any, int, list[Any], dict[int, tuple[int, Any]]) -> None
        """Of those that are pending, what they hold; of others, whether they still hold what they held before."""
        told = _told_since(link, pending, self._since) if before else (*_told_of(link, pending), self._since, [])
        if told is None:
            told, before = ([None] * len(pending), [], self._since, []), {}
        states, parts, self._since, changed = told
        for number in changed:
            before.pop(number, None)
        self._plain.difference_update(changed)
        if depth == 0 == self._deepest:
            self._held.update(before)
        else:
            self._held.update({number: (depth, note[1]) for number, note in before.items()})
        self._plain.update(before)
        self._deepest = max(depth, self._deepest)
        copies = _copied([*states, *[state for _, state in parts]], link.objects)
        for each, held in zip(pending, copies):
            self._held[number_of(each)] = depth, held
            keep = self._plain.add if _is_plain(held) and not may_change(each) else self._plain.discard
            keep(number_of(each))
        for (each, _), held in zip(parts[: self._parts_left], copies[len(pending) :]):
            self._held.setdefault(number_of(each), (depth, held))
        self._parts_left = max(self._parts_left - len(parts), 0)

    def _note_given(self, link, depth, present):
        # type: (Any, int, list[Any]) -> None
        others = [each for each in present if may_change(each) and standing_of(each) == HANDED_OVER]
        unknown = [each for each in others if number_of(each) not in self._given][: self._left]
        if unknown:
            self._left -= len(unknown)
            self._deepest = max(depth, self._deepest)
            notes = [(depth, given) for given in _copied(list(map(given_by, unknown)), link.objects)]
            self._given.update(zip(map(number_of, unknown), notes))

    def value_of(self, value, ask):
        # type: (Any, Callable[[], Any]) -> Any
        """What an object that equals a library's value was noted to give; else what it gives when asked, which is no
        time for others to become another. What equals nothing, where that could no longer be noted."""
        noted = self._given.get(number_of(value))
        if noted is not None:
            return noted[1]
        may_be_noted = self._left or self._is_fixing or _has_come_since(value, self._taken)
        if not may_be_noted and standing_of(value) == HANDED_OVER:
            return object()
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
        self._forget_what_the_script_changes(link)
        return True

    def _forget_what_the_script_changes(self, link):
        # type: (Any) -> None
        """What it has made holds something else where it has changed a list that both halves have, say."""
        if self._held and link.containers.changed():
            made = [number_of(each) for each in link.objects.held.present() if standing_of(each) == MADE]
            for number in made:
                if number in self._held and not _holds_atoms(self._held[number][1]):
                    del self._held[number]
                    self.is_complete = False

    def forget_from(self, depth):
        # type: (int) -> None
        """The candidate goes on, and with it all questions but the first `depth`."""
        self.is_complete = False
        if depth > self._deepest:
            return
        for notes in (self._held, self._given):
            for number in [number for number, each in notes.items() if each[0] >= depth]:
                note = notes.pop(number, None)  # what is let go of here may have asked for something itself
                if note is not None and notes is self._held and number in self._plain:
                    self._before[number] = note
        self._plain.difference_update(self._before)
        self._deepest = max(depth - 1, 0)

    def _forget_what_leads_from(self, values):
        # type: (list[Any]) -> None
        pending = objects_in(values)
        for each in pending:
            if self._given.pop(number_of(each), None) is not None:
                self.is_complete = False
            note = self._held.pop(number_of(each), None)
            if note is not None:
                self.is_complete = False
                pending += objects_in(note[1])

    def is_another(self, link, value, shown, began):
        # type: (Any, object, tuple[Any, ...], int) -> bool
        """A class has given this out for what the script makes an object of (`shown`). Was it here before `began`, and
        held something else? By its identity it would be what the script expects."""
        if not is_opaque(value) or is_new_since(value, began):
            return False
        _, held = self._held.get(number_of(value), (0, None))
        values, atoms, _ = shown
        if _may_be_a_result(value) and values and (held is None or not atoms <= atoms_of(held)):
            return True
        return "__eq__" in vars(type(value)) and held is not None and not are_equal(_told_of(link, [value])[0][0], held)

    def held(self, link, *values):
        # type: (Any, Any) -> list[Any]
        """What these objects hold; None where that can no longer be noted of one that the script has not made."""
        return self.held_with_parts(link, *values)[0]

    def held_with_parts(self, link, *values):
        # type: (Any, Any) -> tuple[list[Any], Callable[[Any], Any]]
        """The same, and what says what an object holds that is within: what was noted, or comes with the object. Of
        what was within those that were noted, and not noted itself, that is not known (None): by now it may hold what
        is expected."""
        self._forget_what_the_script_changes(link)
        noted = [self._held.get(number_of(each)) for each in values]
        if not self._left:
            unknown = [note is None and standing_of(value) != MADE for value, note in zip(values, noted)]
            noted = [(0, None) if is_unknown else note for is_unknown, note in zip(unknown, noted)]
        asked = [value for value, note in zip(values, noted) if note is None]
        self.is_complete = self.is_complete and not asked
        states, parts = _told_of(link, asked) if asked else ([], [])
        told = iter(states)
        found = [next(told) if note is None else note[1] for note in noted]
        bound = self._within([note[1] for note in noted if note is not None])
        parts = [part for part in parts if standing_of(part[0]) != MADE]  # that have to show what they are made of
        known = {number_of(each): state for each, state in parts if number_of(each) not in bound}
        known.update(zip(map(number_of, values), found))

        def within(value):
            # type: (Any) -> Any
            number = number_of(value)
            return known[number] if number in known else self._held.get(number, (0, None))[1]

        return found, within

    def _within(self, states):
        # type: (list[Any]) -> set[int]
        """The numbers of the objects in these, and in what was noted of those."""
        numbers, pending = set(), list(states)  # type: set[int], list[Any]
        for state in pending:
            unseen = [number for number in map(number_of, objects_in(state)) if number not in numbers]
            numbers.update(unseen)
            pending += [self._held[number][1] for number in unseen if number in self._held]
        return numbers


def _may_be_a_result(value):
    # type: (Any) -> bool
    """May it be what a function of the program gave for the script to compare? One that the script made may have come
    back since."""
    return standing_of(value) == HANDED_OVER or was_handed_over(value)


def _come_since(link, began):
    # type: (Any, int) -> list[Any]
    return [each for each in link.objects.held.present() if _has_come_since(each, began)]


def _has_come_since(value, began):
    # type: (Any, int) -> bool
    return is_opaque(value) and is_new_since(value, began)


def _told_of(link, values):
    # type: (Any, list[Any]) -> tuple[list[Any], list[tuple[Any, Any]]]
    """What these hold, and the objects within that, each with what it holds."""
    told = link.ask("states", None, *values)
    found = _split(told, len(values)) if type(told) is list else None
    return found or ([None] * len(values), [])


def _told_since(link, values, since):
    # type: (Any, list[Any], int) -> tuple[Any, Any, int, list[int]] | None
    """(what these hold, the objects within that, the time over there, the numbers of what has come to hold something
    else since that time)."""
    told = link.ask("states", since, *values)
    if type(told) is not list or not told or type(told[-1]) is not list or not told[-1]:
        return None
    *found, (time, *numbers) = told  # the list itself the other half has, too
    states = _split(found, len(values))
    return (*states, time, numbers) if states and all(type(each) is int for each in (time, *numbers)) else None


def _split(told, count):
    # type: (list[Any], int) -> tuple[list[Any], list[tuple[Any, Any]]] | None
    """So many states, behind which there may be a list of objects within them, each with what it holds."""
    parts = told[count] if len(told) == count + 1 else ()
    if len(told) not in (count, count + 1) or type(parts) not in (list, tuple):
        return None
    pairs = [(each, state) for each, state in zip(parts[0::2], parts[1::2]) if is_opaque(each) and type(state) is dict]
    return told[:count], pairs


def _copied(told, objects):
    # type: (list[Any], Any) -> list[Any]
    """With containers of their own: those that both halves have change when the candidate changes its. Containers with
    a class of their own become plain ones, which are equal. Objects of the script's that equal themselves alone are
    these. None for what cannot be copied."""
    import copy
    import copyreg

    reductions = copyreg.dispatch_table  # type: dict[Any, Any]
    if all(map(_holds_atoms, told)):
        return list(map(dict, told))
    present, shown = objects.held.present(with_values=True), objects.shown.values.values()
    kinds = {type(each) for each in present if issubclass(type(each), (*CONTAINERS, bytearray))}
    known = {id(each): each for each in present if type(each) not in kinds}
    known.update({id(each): each for each in shown if _equals_itself_alone(type(each))})
    ways = {**dict.fromkeys(kinds, _as_plain), **owned.ways_to_copy()}
    before = {kind: reductions[kind] for kind in ways if kind in reductions}  # which the script has set
    reductions.update(ways)
    copies, memo = [], dict(known)
    try:
        for each in told:
            try:
                copies.append(copy.deepcopy(each, memo))
            except Exception:  # nested too deep, or of a library that cannot copy it
                copies.append(None)
                memo = dict(known)  # without what was begun of it
    finally:
        for kind in ways:
            del reductions[kind]
        reductions.update(before)
    return copies


def _equals_itself_alone(kind):
    # type: (Any) -> bool
    """Methods are compared by their object and function."""
    return kind is METHOD or not has_equality(kind)


def _as_plain(value):
    # type: (Any) -> tuple[Any, ...]
    """A container with a class of its own, as what `copy` makes a plain one of."""
    base = next(each for each in (*CONTAINERS, bytearray) if issubclass(type(value), each))
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


def _is_plain(held):
    # type: (Any) -> bool
    return _holds_atoms(held) or (type(held) is dict and _ARE_ATOMS(map(type, parts_of(held))))


def _holds_atoms(held):
    # type: (Any) -> bool
    return type(held) is dict and _ARE_ATOMS(map(type, held.values()))


_ARE_ATOMS = frozenset(ATOMS).issuperset
_CHANGES_NOTHING = frozenset(["__eq__", "__hash__", "__str__", "__repr__", "__format__"])
