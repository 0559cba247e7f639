"""What a program that looks at a function of the script is told: its parameters, their defaults and annotations, and
whether it is a coroutine function. So `inspect.signature` works, decorators that check types, and those that curry. Of
its code a candidate hears nothing else."""

from cruxcell.jobs.separated.proxies.runs import connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_VARARGS, _VARKEYWORDS = 0x04, 0x08
_FLAGS = _VARARGS | _VARKEYWORDS | 0x20 | 0x80 | 0x100 | 0x200  # generators and coroutines of each kind
_FUNCTION = type(lambda: None)


def is_function(value):
    # type: (object) -> bool
    return type(value) is _FUNCTION


def outline_of(function):
    # type: (Any) -> tuple[Any, ...]
    """In the test's process: (counts of its parameters, their names, flags), defaults, annotations."""
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
        found = connection[0].ask("outline", self)[at]
        return found if make is None else make(found)

    return property(get)


# Of what stands for a function of the script in the candidate's process.
PARTS = {
    "__code__": _part(0, _code_of),
    "__defaults__": _part(1),
    "__kwdefaults__": _part(2),
    "__annotations__": _part(3),
}
