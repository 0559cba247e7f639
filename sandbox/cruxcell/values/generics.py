"""Transfer of types with arguments: `list[int]`, `int | None`, those of `typing`, and its names themselves.

Each is written as a word, a name and its arguments, and made again from exactly that. An argument is a class, which
may be one that stands for the other half's, a plain value, or another of these; where one is something else, the whole
does not cross.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_MOST = 64
_ALIAS = type(list.__class_getitem__(int)) if hasattr(list, "__class_getitem__") else None  # type: Any
_UNION = type(int | None) if hasattr(type, "__or__") else None  # type: Any
# Classes that nobody names to a script's half: a type of `type` makes classes where it is called.
_NOT_NAMED = frozenset(map(id, (type, SystemExit, StopIteration, StopAsyncIteration, GeneratorExit)))
_PLAIN = frozenset(map(id, (type(None), bool, int, str, bytes, type(Ellipsis))))


def parts_of(value):
    # type: (Any) -> tuple[bytes, tuple[Any, ...]] | None
    """The letter of such a type, and what `made` makes of it again; None if it does not cross."""
    parts = _apart(value)
    # An argument may look like one of these: `Stack[int]` of a class of the program's.
    if parts is None or any(parts_of(each) is None for each in parts[2:] if not _is_simple(each)):
        return None
    try:
        again = made(parts)
    except (AttributeError, TypeError, ValueError):
        return None
    return (b"A", parts) if type(again) is type(value) and again == value else None


def made(parts):
    # type: (Any) -> Any
    """What has been taken apart by `parts_of`. Raises ValueError where it is not what that gives."""
    word, name, *arguments = parts
    if type(word) is not str or word not in _MAKE or len(arguments) > _MOST or not all(map(_is_argument, arguments)):
        raise ValueError("not what a type is made of")
    return _MAKE[word](name, arguments)


# ---- taking apart ----------------------------------------------------------------------------------------------------


def _apart(value):
    # type: (Any) -> tuple[Any, ...] | None
    kind = type(value)
    arguments = getattr(value, "__args__", ())
    if kind is _ALIAS:
        is_another = getattr(value, "__unpacked__", False) or not _may_be_named(value.__origin__)
        return None if is_another else ("alias", value.__origin__, *arguments)
    if kind is _UNION:
        return ("union", None, *arguments)
    if not _is_of_typing(kind):
        return None
    # A Union, a Literal and a ClassVar have the name of what they are of.
    named = getattr(value, "_name", None) or getattr(getattr(value, "__origin__", None), "_name", None)
    name = named or getattr(value, "__name__", None)
    if getattr(sys.modules["typing"], str(name), None) is value:
        return "typing", name
    return ("typing", "Union" if name == "Optional" else name, *arguments) if arguments else None


def _is_of_typing(kind):
    # type: (type) -> bool
    return kind.__module__ == "typing" and getattr(sys.modules.get("typing"), kind.__name__, None) is kind


def _is_argument(value):
    # type: (Any) -> bool
    """A class, a plain value, or another of these, which was looked at when it was made."""
    return _is_simple(value) or _apart(value) is not None


def _is_simple(value):
    # type: (Any) -> bool
    return _may_be_named(value) or id(type(value)) in _PLAIN


def _may_be_named(value):
    # type: (Any) -> bool
    """A class, also one that stands for the other half's?"""
    return _is_class(value) or (issubclass(type(value), type) and "_remote_class" in _OWN(value))


_OWN = type.__dict__["__dict__"].__get__


def _is_class(value):
    # type: (Any) -> bool
    return type(value) is type and id(value) not in _NOT_NAMED


# ---- making ----------------------------------------------------------------------------------------------------------


def _alias(cls, arguments):
    # type: (Any, list[Any]) -> Any
    if not _may_be_named(cls):
        raise ValueError("a class that no type is made of")
    return _ALIAS(cls, tuple(arguments))


def _union(_, arguments):
    # type: (Any, list[Any]) -> Any
    found = arguments[0]
    for each in arguments[1:]:
        found |= each
    if type(found) is not _UNION:  # numbers have such an operator, too
        raise ValueError("no union")
    return found


def _of_typing(name, arguments):
    # type: (Any, list[Any]) -> Any
    typing = __import__("typing")
    if type(name) is not str or name not in typing.__all__:
        raise ValueError("a type that there is not")
    form = getattr(typing, name)
    if not _is_of_typing(type(form)):  # a function, say, that evaluates annotations
        raise ValueError("no type")
    if not arguments:
        return form
    if name == "Callable" and arguments[0] is not Ellipsis:
        arguments = [arguments[:-1], arguments[-1]]
    return form[arguments[0] if len(arguments) == 1 else tuple(arguments)]


_MAKE = {"alias": _alias, "union": _union, "typing": _of_typing}  # type: dict[str, Any]
