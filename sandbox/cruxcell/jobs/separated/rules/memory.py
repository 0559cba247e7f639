"""Objects of libraries that reach the memory of their process.

A pointer of ctypes reads and writes where it is told to, and numpy's generators read their next number at the place
that their state says. A candidate that says the place has what the test expects, or the test itself. So it gets none of
the test's pointers, also not to hand them to a function of the script's, and tells a generator no place that is not
there. So it is with the place in a UnicodeDecodeError, whose text shows the byte there, also before its object.
"""

from cruxcell.jobs.separated.proxies.operations import class_of, mro_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_OF_ADDRESSES = frozenset(["_ctypes", "_cffi_backend"])
NOT_GIVEN = "a %s, which reaches the memory of the test's process, does not cross: require IN_PROCESS"
_GENERATORS = "numpy.random"
# Of a state: places in a table, and how long it is.
_PLACES = {"pos": 624, "buffer_pos": 4}
_START = vars(UnicodeDecodeError)["start"]


def reaches_memory(value):
    # type: (Any) -> bool
    """Is it a pointer, a function of C, or a class of such?"""
    return any(each.__module__ in _OF_ADDRESSES for each in mro_of(class_of(value)))


def may_be_told(operation, target, rest):
    # type: (str, Any, list[Any]) -> bool
    """May the candidate have this attribute of an object of the test, or set it? Not how a generator is told another
    state by a call, which a function of the script's may do for it."""
    if operation == "get" and rest[0] == "set_state":
        return not _is_a_generator(target)
    if operation == "set" and isinstance(target, UnicodeDecodeError):
        return rest[0] not in ("object", "start")
    return operation != "set" or rest[0] != "state" or not _is_a_generator(target) or _is_a_state(rest[1])


def place_within(error):
    # type: (BaseException) -> None
    """Have an error that was made of what the candidate says show no byte before its object."""
    if isinstance(error, UnicodeDecodeError) and _START.__get__(error) < 0:
        _START.__set__(error, 0)


def _is_a_generator(target):
    # type: (object) -> bool
    return any(str(each.__module__).startswith(_GENERATORS) for each in mro_of(type(target)))


def _is_a_state(state):
    # type: (Any) -> bool
    """Of plain data, all places in it are in their tables."""
    if type(state) is not dict:
        return False
    places = [_is_within(value, _PLACES[name]) for name, value in state.items() if name in _PLACES]
    return all(places) and all(_is_a_state(each) for each in state.values() if type(each) is dict)


def _is_within(place, size):
    # type: (Any, int) -> bool
    return type(place) is int and 0 <= place <= size
