"""Functions of Python's in the place of builtin ones: a class that has one as an attribute does not make it a method.

With `class Files: open = io.open`, `Files().open(path)` would open the object otherwise.

They end in candidates' hands, so this module holds nothing but them.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments


def take_place(module, name, function):
    # type: (Any, str, Any) -> None
    """What stands in the module by this name is from now on called as `function`."""
    setattr(module, name, builtin_like(function, getattr(module, name), module.__name__))


def builtin_like(function, original, module):
    # type: (Any, Any, str) -> Any
    """An object to call `function` by, which stands for `original` in the module of that name."""
    name = original.__name__
    kind = type("builtin_function_or_method", (), {"__call__": staticmethod(function), **_OTHERS})  # type: Any
    made = kind()
    vars(made).update(
        __name__=name, __qualname__=name, __module__=module, __doc__=original.__doc__, __wrapped__=original
    )
    return made


def _shown(self):
    # type: (Any) -> str
    return "<built-in function %s>" % self.__name__


def _named(self):
    # type: (Any) -> str
    """It is copied as itself, and pickled by its name."""
    return str(self.__name__)


def _refused(self, name, *_value):
    # type: (Any, str, object) -> None
    """Who was passed it says nothing to others by it."""
    raise AttributeError("attribute %r of %r objects is not writable" % (name, type(self).__name__))


_OTHERS = {"__repr__": _shown, "__reduce__": _named, "__setattr__": _refused, "__delattr__": _refused}
