"""What a library of the test's does because the candidate says so, and the candidate may not do itself.

A class of a library makes what reaches attributes by names (`attrgetter`), formats with them, equals everything (a
mock) or opens descriptors. It comes to the candidate with each of its objects, which is no reason to have it: only a
class that the script passes is called. A parser sets attributes of what it is given, and a format of `str.format` reads
them. Neither leads to what the candidate may not set or read by itself.
"""

import builtins
import sys
from _thread import allocate_lock as _lock

from cruxcell.jobs.separated.proxies.operations import is_a_mock, is_public, may_set, mro_of, own_of
from cruxcell.jobs.separated.proxies.runs import LINK
from cruxcell.jobs.separated.proxies.shared_names import BUILTIN_TYPE, METHOD_TYPE, is_stdlib
from cruxcell.jobs.separated.rules.memory import may_be_told
from cruxcell.jobs.separated.rules.texts import serves_the_candidate
from cruxcell.values.containers import CONTAINERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator  # noqa: F401 - in type comments

_SCRIPT = "__main__"
_FUNCTIONS = (type(is_public), type(is_public.__get__(1)))
_OF_C = (BUILTIN_TYPE, METHOD_TYPE)
CLASS_GIVEN = "the program uses the class of a %s that the script has passed, and not the class: require IN_PROCESS"
NAME_GIVEN = (
    "the program tells an object that the script has passed the name of a special attribute: require IN_PROCESS"
)
FORMAT_GIVEN = "the program passes a format that reaches attributes which are not public: require IN_PROCESS"


# ---- classes of what the script passes ------------------------------------------------------------------------------


def comes_along(cls):
    # type: (type) -> bool
    """Is it no class that the script has written? Those of dataclasses that `make_dataclass` makes say that they are of
    `types`. A mock has a class of its own, and makes others."""
    classes = mro_of(cls)
    is_the_script_s = cls.__module__ == _SCRIPT or (cls.__module__ == "types" and not is_stdlib(cls))
    return not any(each is BaseException for each in classes) and (not is_the_script_s or _makes_mocks(classes))


def _makes_mocks(classes):
    # type: (Any) -> bool
    return any(each.__module__ == "unittest.mock" for each in classes)


def is_plain_there(cls, name):
    # type: (type, object) -> bool
    """Has a class plain data under this name, or does the name say what the class is?"""
    if name in ("__name__", "__qualname__", "__doc__"):
        return True
    found = next((own_of(each)[name] for each in mro_of(cls) if name in own_of(each)), None)
    return type(name) is str and is_public(name) and id(type(found)) in _PLAIN


_PLAIN = frozenset(map(id, (bool, int, float, complex, str, bytes)))


# ---- formats --------------------------------------------------------------------------------------------------------

_NOT_PUBLIC = (b"._", b".gi_", b".cr_", b".ag_", b".tb_", b".f_", b".co_", b".func_", b".im_")


def reaches(data):
    # type: (bytes) -> bool
    """Does a text in a message reach attributes that are not public, if it is a format? The numbers in a message may
    read as one, so it has to be where a text or bytes may be."""
    if not _may_reach(data):  # first, as most do not
        return False
    starts = [at for tag in _OF_TEXTS for at in _places(data, tag)]
    texts = [data[at + 5 : at + 5 + int.from_bytes(data[at + 1 : at + 5], "little")] for at in starts]
    return any(map(_may_reach, texts))


_OF_TEXTS = (b"s", b"b")  # tags, before a length (`Writer`)


def _places(data, item):
    # type: (bytes, bytes) -> Iterator[int]
    """Where a tag is with a length behind it that there is room for."""
    at = data.find(item)
    while at >= 0:
        if at + 5 + int.from_bytes(data[at + 1 : at + 5], "little") <= len(data):
            yield at
        at = data.find(item, at + 1)


def _may_reach(data):
    # type: (bytes) -> bool
    at = data.find(b"{")
    if at < 0 or not any(each in data for each in _NOT_PUBLIC):
        return False
    while at >= 0 and not _is_field_that_reaches(data, at + 1):
        at = data.find(b"{", at + 1)
    return at >= 0


def _is_field_that_reaches(data, at):
    # type: (bytes, int) -> bool
    """Behind a brace: what is formatted, and then the attributes and items by which that is reached."""
    at = _end_of_name(data, at, b"{}]![.:")
    while data[at : at + 1] in (b".", b"["):
        if data[at : at + 1] == b".":
            name, at = at + 1, _end_of_name(data, at + 1, b"{}![.:")
            if not is_public(data[name:at].decode("latin-1")):
                return True
        else:
            at = data.find(b"]", at) + 1 or len(data)
    return False


def _end_of_name(data, at, stops):
    # type: (bytes, int, bytes) -> int
    end = len(data)
    for each in stops:
        found = data.find(each, at, end)
        end = end if found < 0 else found
    return end


def _is_among(kind, kinds):
    # type: (type, tuple[type, ...]) -> bool
    """Itself: that of a proxy says that it equals what its objects say they are of."""
    return any(kind is each for each in kinds)


def formats_nothing(target):
    # type: (Any) -> bool
    """Is it the script's own, or a function of C? The others may be of a library that formats what it is given."""
    kind = type(target)
    if _is_among(kind, _OF_C):
        return True
    if _is_among(kind, _FUNCTIONS):
        return bool(target.__module__ == _SCRIPT)
    classes = mro_of(target if issubclass(kind, type) else kind)
    return all(each.__module__ == _SCRIPT for each in classes if each is not object)


# ---- names ----------------------------------------------------------------------------------------------------------


def names_a_special(targets, given):
    # type: (list[Any], list[Any]) -> bool
    """Is a method of a library's object (in `targets`) told the name of a special attribute of it, anywhere in what it
    is given? Some take that, or call it: `groups.agg("__setattr__", "mean", f)`."""
    methods = [each for each in targets if type(each) is _FUNCTIONS[1] and not formats_nothing(each)]
    if not methods:
        return False
    kind = type(methods[0].__self__)
    pending, seen = [given], set()  # type: list[Any], set[int]
    for each in pending:
        if type(each) is str:
            if each[:2] == "__" and hasattr(kind, each):
                return True
        elif type(each) in CONTAINERS and id(each) not in seen:
            seen.add(id(each))
            pending += each
            if type(each) is dict:
                pending += each.values()
    return False


# ---- functions that a library calls later ----------------------------------------------------------------------------


class Served:
    """A function of a library, in the place of which the candidate gives this to what may call it later, or in another
    thread (an executor): it still does that for the candidate."""

    __slots__ = ("_function", "_run")

    def __init__(self, function, run):
        # type: (Any, Any) -> None
        self._function, self._run = function, run

    def __call__(self, /, *arguments, **keywords):
        # type: (object, object) -> Any
        return self._run(self._function, arguments, keywords)

    def __getattr__(self, name):
        # type: (str) -> Any
        return getattr(self._function, name)

    def __eq__(self, other):
        # type: (object) -> bool
        return bool(self._function == function_of(other))

    def __hash__(self):
        # type: () -> int
        return hash(self._function)

    def __repr__(self):
        # type: () -> str
        return repr(self._function)

    def __deepcopy__(self, _memo):
        # type: (object) -> Served
        return self

    @property  # type: ignore[misc]
    def __class__(self):
        # type: () -> Any
        """As `isinstance` asks, and `inspect`."""
        return type(self._function)


class GivenBack:
    """What the test has passed by its name (`time.time`, a class), in an answer of the candidate's: only there it is
    that. Elsewhere the candidate has its own, as the test's would do for it what it may not do by itself."""

    __slots__ = ("what",)

    def __init__(self, what):
        # type: (Any) -> None
        self.what = what


def function_of(value):
    # type: (Any) -> Any
    """That which is served; any other value as it is."""
    return value._function if type(value) is Served else value


def is_to_be_served(value):
    # type: (Any) -> bool
    """Is it a function or method of a library of the test's?"""
    return _is_among(type(value), _FUNCTIONS + _OF_C) and getattr(value, "__module__", None) != _SCRIPT


# ---- attributes that a library sets ---------------------------------------------------------------------------------


class Setting:
    """`with` one of these, `setattr` and `delattr` of libraries do for the candidate what it may do itself, with what
    the script has passed. A lock, as threads of the script's may serve at a time."""

    def __init__(self):
        # type: () -> None
        self._count, self._lock = 0, _lock()
        self._before = {}  # type: dict[str, Any]

    def __enter__(self):
        # type: () -> None
        with self._lock:
            if not self._count:
                self._before = {name: vars(builtins)[name] for name in _INSTEAD}
                vars(builtins).update(_INSTEAD)
            self._count += 1

    def __exit__(self, *_):
        # type: (object) -> None
        with self._lock:
            self._count -= 1
            if not self._count:  # what the script has put there meanwhile stays
                found = {name: value for name, value in self._before.items() if vars(builtins)[name] is _INSTEAD[name]}
                vars(builtins).update(found)


def _set(target, name, value, /):
    # type: (Any, str, object) -> None
    _ask_for(target, name, value)
    _really_set(target, name, value)


def _delete(target, name, /):
    # type: (Any, str) -> None
    _ask_for(target, name)
    _really_delete(target, name)


def _ask_for(target, name, *value):
    # type: (Any, Any, object) -> None
    caller = sys._getframe(2)
    if target not in LINK[0].objects.shown or not serves_the_candidate(caller):
        return
    if caller.f_globals.get("__name__") == "unittest.mock":  # a mock, which makes its methods when they are asked for
        return
    if not may_be_set(target, name, *value):
        raise AttributeError("a candidate may not set %s of the test" % (name,))


def may_be_set(target, name, *value):
    # type: (Any, Any, object) -> bool
    """May a library set this attribute of what the script has passed? Of a library's object what has no special
    meaning."""
    kind = type(target)
    if issubclass(kind, type) or _is_among(kind, _FUNCTIONS):
        return False
    if value and not may_be_told("set", target, [name, *value]):
        return False
    is_restricted = kind.__module__ == _SCRIPT or is_a_mock(target)
    return bool(may_set(target, name, *value)) if is_restricted else str(name)[:2] != "__"


_really_set, _really_delete = setattr, delattr
_INSTEAD = {"setattr": _set, "delattr": _delete}  # type: dict[str, Any]
