"""Proxies for objects of the other process, and their classes.

For every class of the other side there is one class here, with the same name and bases, so that `isinstance`,
`issubclass` and `except` work as they would there. Three families: opaque objects; values with a class of their own
(an IntEnum, a namedtuple, a list with methods), which are that value here and compare as it; exceptions.
"""

from cruxcell.jobs.separated.operations import ARITHMETIC, ASKED, METHODS, OF_THE_TEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

# The one connection of this process: an object with `ask(operation, *fields)` and `is_test`.
connection = []  # type: list[Any]

_finished = []  # type: list[bool]
_get = object.__getattribute__
_PUBLIC = frozenset(
    [
        "__name__",
        "__qualname__",
        "__doc__",
        "__module__",
        "__dict__",
        "__wrapped__",
        "__annotations__",
        "__code__",
        "__defaults__",
        "__kwdefaults__",
        "__func__",
        "__self__",
        "__members__",
        "_fields",
        "_asdict",
        "_replace",
        "_make",
        "_field_defaults",
    ]
)


def _refuse(name):
    # type: (str) -> bool
    return name.startswith("__") and name not in _PUBLIC


class RemoteType(type):
    """The class of the classes that stand for those of the other side; calling one makes an object over there."""

    def __new__(cls, name, bases, namespace, **keywords):  # noqa: ARG004 - of the class statement
        # type: (type, str, tuple[type, ...], dict[str, Any], Any) -> Any
        if _finished:
            raise TypeError("a class of the program cannot be subclassed in a separated script (class %s)" % name)
        return type.__new__(cls, name, bases, namespace)

    def __call__(cls, *arguments, **keywords):
        # type: (object, object) -> Any
        return connection[0].call(cls, arguments, keywords)

    def __getattr__(cls, name):
        # type: (str) -> Any
        if _refuse(name):
            raise AttributeError("type object %r has no attribute %r" % (cls.__name__, name))
        return connection[0].ask("get", cls, name)

    def __setattr__(cls, name, value):
        # type: (str, object) -> None
        if name.startswith("_abc_") or name == "__abstractmethods__":
            type.__setattr__(cls, name, value)
        else:
            connection[0].ask("set", cls, name, value)

    def __delattr__(cls, name):
        # type: (str) -> None
        connection[0].ask("del", cls, name)

    @property
    def __doc__(cls):  # type: ignore[override]
        # type: () -> Any
        return connection[0].ask("get", cls, "__doc__") if _finished and "_remote_class" in vars(cls) else None

    def __iter__(cls):
        # type: () -> Any
        return connection[0].ask("special", cls, "__iter__")

    def __len__(cls):
        # type: () -> Any
        return connection[0].ask("special", cls, "__len__")

    def __bool__(cls):
        # type: () -> bool
        return True

    def __getitem__(cls, key):
        # type: (object) -> Any
        return connection[0].ask("special", cls, "__getitem__", key)


class RemoteBase(metaclass=RemoteType):
    """What all proxies have."""

    __slots__ = ()

    def __getattr__(self, name):
        # type: (str) -> Any
        if _refuse(name):
            raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))
        return connection[0].ask("get", self, name)

    def __setattr__(self, name, value):
        # type: (str, object) -> None
        if name.startswith("__") and isinstance(self, BaseException):
            BaseException.__setattr__(self, name, value)
        else:
            connection[0].ask("set", self, name, value)

    def __delattr__(self, name):
        # type: (str) -> None
        connection[0].ask("del", self, name)

    def __reduce_ex__(self, protocol):
        # type: (object) -> Any
        raise TypeError("a %s lives in the other process and cannot be copied" % type(self).__name__)


class RemoteObject(RemoteBase):
    """An opaque object."""

    __slots__ = ("__weakref__", "_remote_number")


def number_of(value):
    # type: (Any) -> int
    """The other side's number of what a proxy or class stands for."""
    if type(value) is RemoteType:
        number = type.__dict__["__dict__"].__get__(value)["_remote_class"]  # type: int
    elif isinstance(value, RemoteObject):
        number = _NUMBER.__get__(value)
    else:
        number = _get(value, "__dict__")["_remote_number"]
    return number


_NUMBER = RemoteObject.__dict__["_remote_number"]


def give_number(value, number):
    # type: (Any, int) -> None
    if isinstance(value, RemoteObject):
        _NUMBER.__set__(value, number)
    else:
        _get(value, "__dict__")["_remote_number"] = number


# ---- making classes --------------------------------------------------------------------------------------------------


def make_class(name, number, bases, offers, overrides, stands_for):  # noqa: PLR0917 - what a class is written as
    # type: (str, int, tuple[type, ...], list[str], list[str], object) -> type
    """The class that stands for class `number` of the other side.

    Args:
        name: its name.
        number: what the other side knows it by.
        bases: classes made here, builtin exceptions and plain types; of other families than the first are left out.
        offers: names of special methods that its objects have.
        overrides: names of methods of a plain base that it has its own of.
        stands_for: a builtin class its objects say they are of (`__class__`), or None.
    """
    plain = [base for base in bases if not issubclass(base, RemoteObject)]
    namespace = {"__module__": "program", "_remote_class": number, "__slots__": ()}  # type: dict[str, Any]
    namespace["__doc__"] = property(_documentation)
    family = bases or (RemoteObject,)  # type: tuple[type, ...]
    if plain:
        family = tuple(plain) if issubclass(plain[0], RemoteBase) else (RemoteBase, *plain)
        del namespace["__slots__"]
        if not issubclass(plain[0], BaseException):
            for each in overrides:
                namespace[each] = _method(each)
        asked = [each for each in offers if each in _OF_VALUES]
        if issubclass(plain[0], BaseException):
            asked, namespace["__str__"] = [], _told
    else:
        asked = offers
    is_test = connection[0].is_test
    is_run = "__next__" in offers or "__await__" in offers
    for each in asked:
        method = _special(each, is_test, is_run)
        if method is not None:
            namespace[each] = method
    if is_test and "__iter__" in namespace:
        namespace["__contains__"] = _contains
    if stands_for is not None:
        namespace["__class__"] = property(lambda _self: stands_for)
    return type.__new__(RemoteType, name, family, namespace)


def _documentation(self):
    # type: (object) -> Any
    return connection[0].ask("get", self, "__doc__")


def _special(name, is_test, is_run):
    # type: (str, bool, bool) -> Any
    """The method of that name; None for one that this side does not ask for. `is_run`: of a generator or coroutine."""
    if name in ASKED:
        return _SHAPED.get(name) or _forward(name)
    if name in METHODS:
        return _throw if is_run and name == "throw" else _method(name, is_run)
    if name in ARITHMETIC and is_test:
        return _arithmetic(name)
    return _forward(name) if not is_test and (name in OF_THE_TEST or name in ARITHMETIC) else None


_OF_VALUES = frozenset(["__str__", "__repr__", "__format__", "__missing__", "__call__", "__enter__", "__exit__"])


def _forward(name):
    # type: (str) -> Any
    def method(self, *arguments):
        # type: (object, object) -> Any
        return connection[0].ask("special", self, name, *arguments)

    method.__name__ = name
    return method


def _method(name, may_stop=False):
    # type: (str, bool) -> Any
    """`may_stop`: it belongs to a generator or coroutine, which says by StopIteration that it is at its end."""

    def method(self, *arguments, **keywords):
        # type: (object, object, object) -> Any
        found = connection[0].ask("get", self, name)
        connection[0].may_stop = may_stop
        return connection[0].call(found, arguments, keywords)

    method.__name__ = name
    return method


def _arithmetic(name):
    # type: (str) -> Any
    def method(self, *others):
        # type: (object, object) -> Any
        if not all(isinstance(other, RemoteObject) for other in others):
            return NotImplemented
        value = connection[0].ask("special", self, name, *others)
        if value is NotImplemented or isinstance(value, RemoteObject):
            return value
        raise TypeError(
            "%s of a %s is for the candidate to say; compare what its methods or attributes give"
            % (name, type(self).__name__)
        )

    method.__name__ = name
    return method


def _contains(self, item):
    # type: (Any, object) -> bool
    """The candidate gives its items and is not told which is looked for."""
    return any(one is item or one == item for one in self)


def _told(self):
    # type: (Any) -> str
    """The text an exception had when it was raised."""
    text = _get(self, "__dict__").get("_remote_text", "")  # type: str
    return text


def _call(self, *arguments, **keywords):
    # type: (object, object, object) -> Any
    return connection[0].call(self, arguments, keywords)


def _iter(self):
    # type: (object) -> Any
    """An iterator of the other side; an iterator itself is its own."""
    found = connection[0].ask("special", self, "__iter__")
    return found if hasattr(type(found), "__next__") else iter(found)


def _exit(self, kind=None, error=None, traceback=None):
    # type: (Any, Any, Any, Any) -> bool
    """A context manager of the other side hears of the exception, but no more of a failed assertion than that it did.
    It takes as dealt with only what the script raised by itself: or it could make whatever fails in the block pass."""
    link = connection[0]
    told = AssertionError() if link.is_test and isinstance(error, AssertionError) else error
    if not link.ask("special", self, "__exit__", kind, told, None):
        return False
    return not link.is_test or (error is not None and bool(link.made_by_itself(error, traceback)))


def _throw(self, kind, error=None, _traceback=None):
    # type: (Any, Any, Any, Any) -> Any
    """Into a generator of the other side. As with `_exit`, a failed assertion does not end there, nor does what else
    the candidate may have provoked: of an exception that was raised before it was thrown the script is asked."""
    link = connection[0]
    thrown = error if isinstance(error, BaseException) else kind
    raised = thrown.__traceback__ if isinstance(thrown, BaseException) else None
    told = AssertionError() if link.is_test and isinstance(thrown, AssertionError) else thrown
    goes_on = told is not thrown or (link.is_test and raised is not None and not link.made_by_itself(thrown, raised))
    found = link.ask("get", self, "throw")
    link.may_stop = True
    try:
        value = link.call(found, (told,), {})
    except BaseException:
        if goes_on:
            raise thrown from None
        raise
    if goes_on:
        raise thrown
    return value


_SHAPED = {"__call__": _call, "__iter__": _iter, "__exit__": _exit}
_finished.append(True)
