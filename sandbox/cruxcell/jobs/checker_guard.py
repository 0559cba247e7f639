"""A checker runs no text of the program that it checks as code."""

from cruxcell.analysis import bytecode
from cruxcell.jobs.separated.rules.configurations import follow_expressions, follow_named
from cruxcell.jobs.separated.rules.databases import Databases
from cruxcell.jobs.separated.rules.texts import Texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401 - in type comments
    from types import CodeType  # noqa: F401 - in type comments

    from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments


def guard_of(context, checker):
    # type: (JobContext, CodeType) -> Callable[[], object]
    """What has a checker run no code from now on but its own and what is harmless. Or what a candidate prints would
    decide, where a checker evaluates it. Connections to sqlite, whose SQL may be such a text, are guarded from before
    the checker is loaded, which may take `connect` out of its module."""
    databases, names = Databases(_OfAChecker()), bytecode.names_in(checker)
    if "sqlite3" in names:
        databases.guard()

    def refuse(line):
        # type: (int) -> None
        raise ValueError(_RUNS_TEXT % line)

    def guard():
        # type: () -> None
        texts = Texts(context.helper.hear, checker, lambda: True, refuse, lambda _path, _is_moved: True)
        databases.follow(texts)
        follow_expressions(texts)
        follow_named(texts, names)

    return guard


class _OfAChecker:
    """In the place of a link to a candidate, of which a checker has none."""

    def may_have_texts(self):
        # type: () -> bool
        return True

    def refuse(self, why):
        # type: (str) -> None
        raise ValueError(why)


_RUNS_TEXT = "line %d runs code that may be what was printed (by eval, exec, pickle or a library)"
