"""Names of `typing` in annotations: what a program that shares a worker may write there.

`List[int]` is made once in a process; `typing` keeps it. So that no program leaves one for the next, a template makes
all of a short list beforehand, and only these may be written: in annotations of functions at the top of a program, and
nowhere else. What they give reaches no code of the program. Nor may the program bind one of those names to something
of its own: `typing` would keep that, and all that it leads to.
"""

import _ast
import sys

from cruxcell.analysis.syntax import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

NAMES = frozenset(["Any", "Dict", "List", "Optional", "Set", "Tuple"])
_SCALARS = ("int", "float", "str", "bool", "Any")
_BUILTINS = frozenset(_SCALARS) - NAMES


def _texts():
    # type: () -> list[str]
    """All that may be written, fewer than `typing` keeps (128)."""
    single = ["%s[%s]" % (name, one) for name in ("List", "Optional", "Set") for one in _SCALARS]
    pairs = ["%s, %s" % (one, other) for one in _SCALARS[:3] for other in _SCALARS[:3]]
    several = ["Tuple[%s]" % pair for pair in pairs] + ["Dict[%s]" % pair for pair in pairs] + ["Dict[str, Any]"]
    lists = ["List[%s]" % each for each in (*single[:4], *several[:9], "Dict[str, int]", "Dict[str, str]")]
    return [*NAMES, *single, *several, *lists, *["Optional[%s]" % each for each in (*single[:4], "Tuple[int, int]")]]


_made = set()  # type: set[str]


def make_beforehand():
    # type: () -> None
    """To be called in a zygote, before any code of a task."""
    typing = sys.modules.get("typing")
    if typing is not None and not _made:
        space = {name: getattr(typing, name) for name in NAMES}
        for text in _texts():
            eval(text, space)
            _made.add(text.replace(" ", ""))


def are_known(tree, bound):
    # type: (Any, frozenset[str]) -> bool
    """Does this program, its syntax tree, use `typing` for annotations that were made beforehand, and not otherwise?
    `bound`: the names that it binds in its namespace."""
    if not bound.isdisjoint(_BUILTINS):
        return False
    known = found = 0
    taken = []  # type: list[Any]
    for node in tree.body:
        if isinstance(node, _ast.ImportFrom) and node.module == "typing":
            if node.level or any(item.asname is not None or item.name not in NAMES for item in node.names):
                return False
            taken += node.names
        elif isinstance(node, _ast.FunctionDef):
            known += sum(_names_in(each) for each in _annotations(node) if _text(each) in _made)
    for node in walk(tree):
        if isinstance(node, _ast.Name):
            found += node.id in NAMES
            continue
        if getattr(node, "module", "") == "typing" and node not in tree.body:
            return False
        if any(getattr(node, field, None) in _OTHERWISE for field in _FIELDS) and node not in taken:
            return False
    return found == known


# Where a tree that binds a name without a node `Name` has it: functions, imports, patterns. `import typing` is another
# way to all of its names.
_FIELDS, _OTHERWISE = ("name", "asname", "rest"), NAMES | {"typing"}


def _annotations(node):
    # type: (Any) -> list[Any]
    takes = node.args
    every = [*getattr(takes, "posonlyargs", []), *takes.args, *takes.kwonlyargs, takes.vararg, takes.kwarg]
    return [each.annotation for each in every if each is not None] + [node.returns]


def _names_in(node):
    # type: (Any) -> int
    return sum(isinstance(each, _ast.Name) and each.id in NAMES for each in walk(node))


def _text(node):
    # type: (Any) -> str
    """The text of a name, or of a name with such texts in brackets; "?" stands for anything else."""
    if isinstance(node, _ast.Name):
        return str(node.id)
    if isinstance(node, _ast.Subscript) and isinstance(node.value, _ast.Name):
        inner = node.slice  # type: Any
        if not isinstance(inner, (_ast.Name, _ast.Subscript, _ast.Tuple)):
            inner = getattr(inner, "value", None)  # up to 3.8 there is a node between
        parts = inner.elts if isinstance(inner, _ast.Tuple) else [inner]
        if isinstance(inner, _ast.Tuple) and len(parts) == 1:
            return "?"  # `List[int,]` is `List[int]`, but kept beside it
        return "%s[%s]" % (node.value.id, ",".join([_text(part) for part in parts]))
    return "?"
