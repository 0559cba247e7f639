"""The context of decimal numbers, as a script sets it: how precise they are, how they are rounded, what raises."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

SETS = frozenset(["getcontext", "setcontext", "localcontext"])  # what leads to it
FIELDS = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp", "traps")


def reader(field):
    # type: (str) -> Callable[[], Any]
    def read():
        # type: () -> Any
        value = getattr(_context(), field)
        return sorted([each.__name__ for each, is_on in value.items() if is_on]) if field == "traps" else value

    return read


def put(field, value):
    # type: (str, Any) -> None
    context = _context()
    if field != "traps":
        setattr(context, field, value)
        return
    for each in context.traps:
        context.traps[each] = each.__name__ in value


def _context():
    # type: () -> Any
    return __import__("decimal").getcontext()
