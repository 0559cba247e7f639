"""What a program that looks at a function or method of the script is told: its parameters, their defaults and
annotations, and whether it is a coroutine function; of one that says that it wraps another, that one's; and of a class
the same of its `__init__`. So `inspect.signature` works, decorators that check types, those that curry, and containers
that make what a class needs. Of its code a candidate hears nothing else."""

from cruxcell.jobs.separated.proxies.operations import is_class, mro_of, own_of
from cruxcell.jobs.separated.proxies.runs import LINK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_VARARGS, _VARKEYWORDS = 0x04, 0x08
_FLAGS = _VARARGS | _VARKEYWORDS | 0x20 | 0x80 | 0x100 | 0x200  # generators and coroutines of each kind
_FUNCTION = type(lambda: None)


def is_function(value):
    # type: (Any) -> bool
    """Or a method that is one, with its object."""
    return type(value) is _FUNCTION or (type(value) is _METHOD and type(value.__func__) is _FUNCTION)


_METHOD = type(is_function.__get__(1))  # type: Any
_MOST_DECORATORS = 16


def init_of(cls):
    # type: (Any) -> Any
    """The function by which a class of the script's fills its objects; one of no parameters for a class that leaves
    that to object; None where neither is so."""
    found, maker = [
        next(own_of(each)[name] for each in mro_of(cls) if name in own_of(each)) for name in ("__init__", "__new__")
    ]
    if type(found) is _FUNCTION and not str(found.__globals__.get("__name__")).startswith("cruxcell."):
        return found
    return _fill_nothing if found is object.__init__ and maker is object.__new__ else None


def _fill_nothing():
    # type: () -> None
    """What object does."""


def outline_of(function):
    # type: (Any) -> tuple[Any, ...]
    """In the test's process, of a function or of a class: (counts of its parameters, their names, flags), defaults,
    annotations."""
    function = init_of(function) if is_class(function) else function
    function = function.__func__ if type(function) is _METHOD else function
    for _ in range(_MOST_DECORATORS):  # as `inspect.signature` looks at what it wraps
        wrapped = function.__dict__.get("__wrapped__")
        if type(wrapped) is not _FUNCTION:
            break
        function = wrapped
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & _VARARGS) + bool(code.co_flags & _VARKEYWORDS)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    more = dict(function.__kwdefaults__ or {}) or None
    shown = (*counts, code.co_varnames[:count], code.co_flags & _FLAGS)
    return shown, function.__defaults__, more, dict(function.__annotations__)


def _code_of(shown):
    # type: (tuple[Any, ...]) -> Any
    names = ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_varnames", "co_flags")
    return __import__("types").SimpleNamespace(**dict(zip(names, shown)))


def _part(at, make=None):
    # type: (int, Any) -> property
    def get(self):
        # type: (object) -> Any
        found = LINK[0].ask("outline", self)[at]
        return found if make is None else make(found)

    return property(get)


# Of what stands for a function of the script in the candidate's process.
PARTS = {
    "__code__": _part(0, _code_of),
    "__defaults__": _part(1),
    "__kwdefaults__": _part(2),
    "__annotations__": _part(3),
}


class FunctionOf:
    """What stands in the candidate's process for the function of a method of the script's: nothing but what it looks
    like. To call it calls the method."""

    __class__ = property(lambda _self: _FUNCTION)

    def __init__(self, method):
        # type: (Any) -> None
        self._method, self.__name__ = method, method.__name__

    def __call__(self, _owner, *arguments, **keywords):
        # type: (object, object, object) -> Any
        return self._method(*arguments, **keywords)

    def __getattr__(self, name):
        # type: (str) -> Any
        if name not in PARTS:
            raise AttributeError("function object has no attribute %r" % name)
        return PARTS[name].fget(self._method)  # type: ignore[misc]


class InitOf(FunctionOf):
    """The same for the `__init__` of a class of the script's. To call it does what it would do without this."""

    def __init__(self, cls, init):
        # type: (Any, Any) -> None
        self._method, self.__name__, self._init = cls, "__init__", init

    def __call__(self, *arguments, **keywords):
        # type: (object, object) -> Any
        return self._init(*arguments, **keywords)


def _has_parameters(cls):
    # type: (Any) -> bool
    counts, _, _, _ = LINK[0].ask("outline", cls)
    return bool(counts[0] or counts[-1])


def shown_init(cls, init):
    # type: (Any, Any) -> Any
    """In the candidate's process: what is to be had of a class by `__init__`, where it has `init` by that name here."""
    try:
        return InitOf(cls, init) if _has_parameters(cls) else init
    except AttributeError:
        return init


def signature_of_init(cls):
    # type: (Any) -> Any
    """In the candidate's process: how a class of the script's is called; None where nothing says that."""
    inspect = __import__("inspect")
    try:
        if not _has_parameters(cls):
            return inspect.Signature()
    except AttributeError:
        return None
    signature = inspect.signature(cls.__init__)
    return signature.replace(parameters=list(signature.parameters.values())[1:])
