"""The name by which a script imports the program: `from solution import f`, `patch("solution.open")`.

The program is a module of its own then, as in a file: neither it nor the script has a name of the other's by itself.
"""

import sys

from cruxcell.analysis.parsing import CHECK, Invalid, compile_text, compile_tree, parse_text
from cruxcell.analysis.syntax import walk
from cruxcell.jobs.suite_base import MAIN, MAIN_IN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401 - in type comments
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments


def refuse_taken(name):
    # type: (str) -> None
    """Not the name of a module that the runtime has: whoever else imports that would find the program. Nor that with
    underscores before it: what the program makes would be taken for what such a module does in C."""
    if name and any(map(_is_taken, {name, name.lstrip("_")})):
        raise Invalid("module is %r, which this runtime has as a module of its own; choose another name" % name)


class _LoadedOnce:
    """Finds and loads the program's module for who wants it a second time (`importlib.reload`, `runpy`, or an import
    after it was taken out of `sys.modules`). The program is elsewhere, so `refuse` ends the script. An ImportError
    would be taken for the program's, by a script that expects an error of it."""

    def __init__(self, name, refuse):
        # type: (str, Callable[[str], object]) -> None
        self._name, self._refuse = name, refuse

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002 - what importlib hands over
        # type: (str, object, object) -> None
        if name == self._name:
            self.get_code(name)

    def get_code(self, name):
        # type: (str) -> None
        self._refuse("the script loads the module %s a second time, and the program is in another process" % name)

    def create_module(self, spec):
        # type: (Any) -> None
        self.get_code(spec.name)

    def exec_module(self, module):  # noqa: ARG002 - what importlib hands over
        # type: (Any) -> None
        self.get_code(self._name)


def refuse_loading(name, namespace, refuse):
    # type: (str, dict[str, Any], Callable[[str], object]) -> None
    """From now on the program's module, whose namespace this is, is loaded no second time."""
    if name:
        loader = _LoadedOnce(name, refuse)  # type: Any
        sys.meta_path.insert(0, loader)
        spec = type(sys.__spec__)(name, loader, origin=name + ".py")
        spec.has_location = True
        namespace["__spec__"] = spec


def _is_taken(name):
    # type: (str) -> bool
    return name in sys.modules or any(finder.find_spec(name, None) for finder in sys.meta_path)


def compiled(source, name, is_main):
    # type: (str, str, bool) -> CodeType
    """The code of a script. `import solution` takes the module as the main one in it, so that whatever reads the code
    sees that all names of the program may be looked up there; `from solution import f` names what it takes.
    `is_main`: does what it guards by being the main module run? Its `__name__` is that in any case."""
    if not name and (is_main or MAIN not in source):
        return compile_text(source, CHECK, "exec")
    tree = parse_text(source, "exec")
    for node in walk(tree):
        kind = type(node).__name__
        if kind == "Import" and name:
            _take_as_main(node.names, name)
        elif kind == "Compare" and not is_main:
            _guard_never_holds([node.left, *node.comparators])
    return compile_tree(tree, "exec")


def _take_as_main(imported, name):
    # type: (list[Any], str) -> None
    for each in imported:
        if each.name == name:
            each.name, each.asname = MAIN_IN % name, each.asname or name


def _guard_never_holds(sides):
    # type: (list[Any]) -> None
    """`__name__ == "__main__"`, whichever way round, is never so."""
    if "__name__" in [getattr(each, "id", "") for each in sides]:
        for each in sides:
            if getattr(each, "value", "") == MAIN:
                each.value = None


def of_main(text, name):
    # type: (str, str) -> str
    """A text that may say a place in the program's module, as one in the main module."""
    return MAIN + text[len(name) :] if name and (text + ".").startswith(name + ".") else text
