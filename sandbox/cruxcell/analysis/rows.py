"""Scripts that call the program with constants, and look at what it gave in nothing but plain ways.

    import numpy as np                         def check(candidate):
    def assertion(out, exp, atol):                 inputs = [[1, 2], [3, 4]]
        ...                                        results = [3, 7]
    cases = [(1, 2), (3, 6)]         or            for i, (inp, exp) in enumerate(zip(inputs, results)):
    for given, wanted in cases:                        assertion(candidate(*inp), exp, 0)
        assert f(given) == wanted              check(f)

or assertions with a call in each (`assert set(f([3, 1])) == {1, 3}`), which are rows of a table, too.

What such a script comes to depends on the values alone that the calls give: so the program can make all calls in one
worker, and the script can be run on the values in another (`jobs.replay`), without a message for each call.

That holds because of all that such a script does not do:

* all its code only looks at values (`plain_looks`); which of the names that it takes to be Python's a program may not
  bind is told with the calls;
* it keeps nothing from one row for the next: the assertions, or a loop with one statement, are its end; each makes one
  call, whatever the values are, and what the program could change of a row is used for nothing but that call;
* it has nothing that a pair would take for the program's: no name of what each process has for itself (`seed`), and no
  function that it never reads where the program binds that name.

Read off the syntax tree. Constants are evaluated, as `analysis.series` does it, by an expression of nothing else.
"""

import _ast
import builtins

from cruxcell.analysis.bytecode import loaded_names, uses_its_own
from cruxcell.analysis.compiled import told
from cruxcell.analysis.operations import CALL_OPERATIONS, numbers
from cruxcell.analysis.parsing import Invalid, compile_tree
from cruxcell.analysis.plain_looks import KINDS, MODULES, PLAIN_BUILTINS, Unknown, decides_what_names_mean, uses_of
from cruxcell.analysis.syntax import children, only_parameter, walk
from cruxcell.protocol import frames
from cruxcell.protocol.payloads import LINE, WHOLE
from cruxcell.values import transfer
from cruxcell.values.canonical import NotPlain, TooLarge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

MOST_ROWS, _MOST_BYTES = 1 << 12, 1 << 20
# A call that stands right below one of these is made whenever it is.
_EACH_TIME = (
    _ast.BinOp, _ast.Call, _ast.Expr, _ast.keyword, _ast.List, _ast.Set, _ast.Starred, _ast.Tuple, _ast.UnaryOp,
)  # fmt: skip
# What may be called in a table.
_MAKERS = {"dict": dict, "float": float, "frozenset": frozenset, "list": list, "set": set, "tuple": tuple}
_COMPUTES = numbers(
    "BINARY_ADD BINARY_AND BINARY_FLOOR_DIVIDE BINARY_LSHIFT BINARY_MATRIX_MULTIPLY BINARY_MODULO BINARY_MULTIPLY "
    "BINARY_OP BINARY_OR BINARY_POWER BINARY_RSHIFT BINARY_SUBSCR BINARY_SUBTRACT BINARY_TRUE_DIVIDE BINARY_XOR"
)


_TAIL = 1 << 12


def may_have_rows(source):
    # type: (str) -> bool
    """Is there a loop near the end of a script? Only then is it worth a tree."""
    return any(line.lstrip().startswith("for ") for line in source[-_TAIL:].split("\n"))


def split_rows(tree, code):
    # type: (Any, Any) -> bytes
    """What is told of a script of rows, packed: the `LINE` of each call, the name that is called, the names that the
    program may not bind beside that, and the calls as a JOB_SERIES takes them; b"" of any other script.

    `tree` is what `parse_text(script, "exec")` gave, `code` the script's.
    """
    try:
        script = _Script(tree.body)
        others = script.others(code)
        return _packed(script, others, script.rows())
    except (Unknown, Invalid, NotPlain, TooLarge, RecursionError, MemoryError):
        return b""


class _Script:
    """A script, taken apart. Raises Unknown where it has another shape."""

    def __init__(self, body):
        # type: (list[Any]) -> None
        self._head, calling = _parted(body)
        self._inner = _Bound([])
        looked_at, self.name, parameter, once = [], "", "", ""  # type: list[Any], str, str, str
        if isinstance(calling[0], _ast.Expr):
            check, given = _handed_over(calling[0], self._head.functions)
            self._inner, calling = _parted(check.body)
            self.name, parameter, once = given.id, only_parameter(check), check.name
            looked_at.append(given)
            if not parameter or self._inner.names != list(self._inner.constants):
                raise Unknown
        self._loop = calling[0] if isinstance(calling[0], _ast.For) else None
        self._statements = calling if self._loop is None else _only_statement(calling)
        self._uses = uses_of([*looked_at, *calling, *self._head.functions.values()], self._head.modules)
        self._calls = [self._call_of_program(each, parameter) for each in self._statements]
        self.name = self.name or self._calls[0].func.id
        if self.name in self._head.names or parameter in {*self._head.names, *self._inner.names}:
            raise Unknown
        # By a builtin's name, a table would have the program in it.
        if hasattr(builtins, self.name) or hasattr(builtins, parameter) or once in self._uses:
            raise Unknown
        used = [self.name] * bool(parameter) + [parameter or self.name] * len(self._calls)
        if any(len(self._uses[name]) != used.count(name) for name in set(used)):
            raise Unknown

    def lines(self, count):
        # type: (int) -> list[int]
        """Those of the statements that make so many calls, 0 where one has several."""
        lines = [each.lineno if each.lineno == each.end_lineno else 0 for each in self._statements]
        return lines if self._loop is None else lines * count

    def _call_of_program(self, statement, parameter):
        # type: (Any, str) -> Any
        """The call that a statement makes each time, of the parameter or of a name that is not bound."""
        for call in _made_each_time(statement):
            name = call.func.id if isinstance(call.func, _ast.Name) else ""
            is_free = name and name not in PLAIN_BUILTINS and name not in self._head.names
            if name == parameter if parameter else is_free:
                return call
        raise Unknown

    def others(self, code):
        # type: (Any) -> set[str]
        """The names that it looks up and has not bound before its calls, and functions that it never reads: a pair
        takes these for the program's, where that has such a name, or Python."""
        head, inner = self._head.names, self._inner.names
        bound = {node.id for nodes in self._uses.values() for node in nodes if _binds(node)}
        if len({*head, *inner}) != len(head) + len(inner) or not bound.isdisjoint([*head, *inner, self.name]):
            raise Unknown
        found = loaded_names(code).difference(head, [self.name])
        unread = self._head.functions.keys() - self._uses.keys()
        if not found.issubset(PLAIN_BUILTINS | bound) or not unread.isdisjoint(vars(builtins)) or uses_its_own(code):
            raise Unknown
        return found | unread

    def rows(self):
        # type: () -> list[tuple[list[Any], dict[str, Any]]]
        """The arguments of each call. What the program could change of them is used for nothing else. What is bound
        before is constant, whether or not it is used: it calls nothing, and keeps nothing of what the calls give."""
        constants = self._values()
        if self._loop is None:
            found = self._rows_of_lines()
        else:
            found = [(row, {}) for row in self._rows_of(self._loop, constants)]
        if not 0 < len(found) <= MOST_ROWS:
            raise Unknown
        return found

    def _rows_of_lines(self):
        # type: () -> list[tuple[list[Any], dict[str, Any]]]
        parts = [[*call.args, *[each.value for each in call.keywords]] for call in self._calls]
        if any(isinstance(each, _ast.Starred) for row in parts for each in row):
            raise Unknown
        values = self._evaluated(_display([_display(each) for each in parts]))
        names = [[each.arg for each in call.keywords] for call in self._calls]
        counts = [len(call.args) for call in self._calls]
        return [(row[:count], dict(zip(each, row[count:]))) for row, count, each in zip(values, counts, names)]

    def _rows_of(self, loop, constants):
        # type: (Any, dict[str, Any]) -> list[list[Any]]
        (call,) = self._calls
        stars = [isinstance(each, _ast.Starred) for each in call.args]
        named = [each.value if star else each for each, star in zip(call.args, stars)]
        if call.keywords or not all(isinstance(each, _ast.Name) for each in named):
            raise Unknown
        target = loop.target
        names = [each.id for each in named]
        bound = {node.id for node in walk(target) if isinstance(node, _ast.Name)}
        if not bound.issuperset(names) or len(set(names)) != len(names):
            raise Unknown
        again = [name for name in names if self._is_used_again(name)]
        rows = []
        for item in self._iterated(loop.iter, constants):
            values = _unpacked(target, item)
            row = []  # type: list[Any]
            for name, star in zip(names, stars):
                if star and not isinstance(values[name], (list, tuple)):
                    raise Unknown
                handed = values[name] if star else [values[name]]
                if name in again and not all(map(_cannot_change, handed)):
                    raise Unknown
                row += handed
            rows.append(row)
        return rows

    def _is_used_again(self, name):
        # type: (str) -> bool
        """Beside where the loop binds it and where it is handed over."""
        if sum(map(_binds, self._uses[name])) != 1:
            raise Unknown
        return len(self._uses[name]) > 2

    def _values(self):
        # type: () -> dict[str, Any]
        constants = dict(self._head.constants, **self._inner.constants)
        values = self._evaluated(_display(constants.values()))
        return dict(zip(constants, values))

    def _evaluated(self, node):
        # type: (Any) -> Any
        """The value of a display of constants, in which no container stands twice."""
        code = compile_tree(_ast.Expression(body=node))
        operations = frozenset(code.co_code[0::2])
        names = dict(self._head.numbers)  # type: dict[str, Any]
        names.update({name: _MAKERS[name] for name in _MAKERS.keys() - {*self._head.names, *self._inner.names}})
        if not names.keys() >= set(code.co_names) or not operations <= CALL_OPERATIONS - _COMPUTES:
            raise Unknown
        try:
            return eval(code, dict(names, __builtins__={}))
        except Exception:  # float('x'), say: it is raised where it stands
            raise Unknown from None

    def _iterated(self, node, values):
        # type: (Any, dict[str, Any]) -> Any
        """What the loop goes over: constants, side by side or counted."""
        if isinstance(node, _ast.Call) and isinstance(node.func, _ast.Name) and not node.keywords:
            parts = [self._iterated(each, values) for each in node.args]
            if node.func.id in self._head.names or node.func.id in self._inner.names:
                raise Unknown
            if node.func.id == "zip":
                return list(zip(*parts))
            if node.func.id == "enumerate" and len(parts) == 1:
                return list(enumerate(*parts))
            raise Unknown
        if isinstance(node, _ast.Name):
            found = values.get(node.id) if len(self._uses[node.id]) == 1 else None
        else:
            found = self._evaluated(node)
        if not isinstance(found, (list, tuple)):
            raise Unknown
        return found


def _parted(body):
    # type: (list[Any]) -> tuple[_Bound, list[Any]]
    """What statements bind, and those from the first on that calls something."""
    for place, node in enumerate(body):
        if isinstance(node, (_ast.Assert, _ast.For)) or node is body[-1]:
            calling = body[place:]
            if len(calling) > 1 and not all(isinstance(each, _ast.Assert) for each in calling):
                raise Unknown
            return _Bound(body[:place]), calling
    raise Unknown


def _only_statement(calling):
    # type: (list[Any]) -> list[Any]
    """That of a loop."""
    (loop,) = calling
    if loop.orelse or len(loop.body) != 1:
        raise Unknown
    return loop.body  # type: ignore[no-any-return]


def _display(nodes):
    # type: (Iterable[Any]) -> Any
    return _ast.List(elts=list(nodes), ctx=_ast.Load(), lineno=1, col_offset=0)


class _Bound:
    """What statements bind that do nothing else: functions, constants, modules, and names of these, some of which are
    numbers. `names` are all, each as often as it is bound."""

    def __init__(self, statements):
        # type: (list[Any]) -> None
        self.functions, self.constants = {}, {}  # type: dict[str, Any], dict[str, Any]
        self.modules = {}  # type: dict[str, str]
        self.numbers = {}  # type: dict[str, float]
        self.names = []  # type: list[str]
        for node in statements:
            self._take(node)

    def _take(self, node):
        # type: (Any) -> None
        found = {}  # type: dict[str, Any]
        if isinstance(node, _ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], _ast.Name):
            found[node.targets[0].id] = node.value
            self.constants.update(found)
        elif isinstance(node, _ast.FunctionDef):
            found[node.name] = node
            self.functions.update(found)
        elif isinstance(node, (_ast.Import, _ast.ImportFrom)):
            found = {name.asname or name.name: name.name for name in node.names}
            module = getattr(node, "module", None)  # type: Any
            offered = MODULES if isinstance(node, _ast.Import) else MODULES.get(module, frozenset()) - KINDS
            if getattr(node, "level", 0) or any(name not in offered for name in found.values()):
                raise Unknown
            if isinstance(node, _ast.Import):
                self.modules.update(found)
            else:
                self.numbers.update({own: float(name) for own, name in found.items() if name in ("inf", "nan")})
        elif not isinstance(node, _ast.Pass) and not _is_text(node):
            raise Unknown
        if any(map(decides_what_names_mean, found)):
            raise Unknown
        self.names += found


def _is_text(node):
    # type: (Any) -> bool
    return isinstance(node, _ast.Expr) and isinstance(node.value, _ast.Constant)


def _handed_over(last, functions):
    # type: (Any, dict[str, Any]) -> tuple[Any, Any]
    """(the function, the name that `function(name)` hands to it); it is none of `functions` any more."""
    call = last.value if isinstance(last, _ast.Expr) else None
    if not isinstance(call, _ast.Call) or call.keywords or len(call.args) != 1:
        raise Unknown
    given, check = call.args[0], functions.pop(getattr(call.func, "id", ""), None)
    if not isinstance(given, _ast.Name) or check is None:
        raise Unknown
    return check, given


def _cannot_change(value):
    # type: (object) -> bool
    """Is it the same after the program has had it?"""
    return all(map(_cannot_change, value)) if isinstance(value, tuple) else not isinstance(value, (dict, list))


def _binds(node):
    # type: (Any) -> bool
    return not isinstance(node.ctx, _ast.Load)


def _made_each_time(statement):
    # type: (Any) -> Iterator[Any]
    """The calls of a statement that are made whatever the values are, if nothing before them raises."""
    pending = [statement.test if isinstance(statement, _ast.Assert) else statement]
    for node in pending:
        if isinstance(node, _ast.Call):
            yield node
        if isinstance(node, _EACH_TIME):
            pending.extend(children(node))
        elif isinstance(node, _ast.Compare):
            pending += [node.left, node.comparators[0]]
        elif isinstance(node, _ast.BoolOp):
            pending.append(node.values[0])


def _unpacked(target, value):
    # type: (Any, Any) -> dict[str, Any]
    """What each name of a pattern stands for."""
    if isinstance(target, _ast.Name):
        return {target.id: value}
    if not isinstance(value, (list, tuple)) or len(value) != len(target.elts):
        raise Unknown
    return {name: part for each, item in zip(target.elts, value) for name, part in _unpacked(each, item).items()}


def _packed(script, others, rows):
    # type: (_Script, set[str], list[Any]) -> bytes
    names = frames.pack([name.encode() for name in sorted(others)])
    calls = frames.pack([_told(rows), *[WHOLE] * len(rows)])
    lines = b"".join(map(LINE.pack, script.lines(len(rows))))
    return frames.pack([lines, script.name.encode(), names, calls])


def _told(calls):
    # type: (list[Any]) -> bytes
    """The calls, made of objects of which as many are one as in a pair, whose messages hold no two equal texts that
    could be names: a program may ask (`mode is "add"`). Where they can, they cross in a form that is read faster."""
    data = transfer.encode(calls, _MOST_BYTES)
    return (b"" if _has_bytes(calls) else told(transfer.decode(data))) or data


def _has_bytes(rows):
    # type: (list[Any]) -> bool
    """Are there bytes, of which `told` makes single ones anew? Raises Unknown where there is a set, which has the
    script's own order in a pair where the program gives it back; or a NaN, which equals itself where it is the same
    object."""
    found, pending = False, list(rows)  # type: bool, list[Any]
    for value in pending:
        kind = type(value)
        if kind in (list, tuple, dict):
            pending.extend(value)
            if kind is dict:
                pending.extend(value.values())
        elif kind in (set, frozenset) or value != value:  # noqa: PLR0124 - what NaN is known by
            raise Unknown
        found = found or kind is bytes
    return found
