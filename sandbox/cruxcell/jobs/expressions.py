"""Jobs that run no program: they evaluate constants, assertions, expressions and a call's arguments."""

import _ast
import builtins
import gc
import sys

from cruxcell.analysis.bytecode import Anatomy, loaded_names
from cruxcell.analysis.compiled import told
from cruxcell.analysis.parsing import (
    CHECK,
    PROGRAM,
    Invalid,
    compile_expression,
    compile_text,
    compile_tree,
    is_constant,
    parse_text,
    split_assertion,
)
from cruxcell.analysis.rows import may_have_rows, split_rows
from cruxcell.analysis.series import split_series
from cruxcell.analysis.syntax import walk
from cruxcell.analysis.vacuous import refuse_vacuous, surely_tests
from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
from cruxcell.namespace import fresh_namespace
from cruxcell.protocol import messages, records
from cruxcell.protocol.frames import frame
from cruxcell.protocol.payloads import EXPECTED, LARGE_SCRIPT, SCRIPT
from cruxcell.values import transfer
from cruxcell.values.canonical import NotPlain, TooLarge, canon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments


_MOST_OF_ROWS = 1 << 19  # characters; the tree of a larger script takes longer than what it saves


def run_read(context, fields):
    # type: (JobContext, list[bytes]) -> None
    """fields: kind and text, in turn. One record a text, in order: [class, canonical value or sentence, other text].
    Of a script that must be run the second is its code, if that may be made here, and the third what `split_rows` says.

    Constants are evaluated here and then; nothing that has a name or a call in it is. An expected value comes back as
    READ_CONSTANT, READ_EXPRESSION or READ_INVALID; a script that only asserts that an expression equals a constant as
    READ_ASSERTION with the expression's text, one that asserts what calls with constants give as READ_SERIES (see
    `split_series`), one that tests nothing as READ_INVALID, any other as READ_EXPRESSION.
    """
    budget = max(context.output_limit, messages.VALUE_BYTES)
    gc.disable()  # the trees of large texts are many objects, and none of them is garbage
    for index, (kind, text) in enumerate(zip(fields[0::2], fields[1::2])):
        source = text.decode("utf-8", "surrogatepass")
        context.begin(index)
        try:
            record = _READERS[kind](source, budget)
        except Invalid as error:
            record = [messages.READ_INVALID, records.text_bytes(str(error)), b""]
        except Exception:  # evaluating a constant failed (1/0, too large): it is judged like any expression
            record = [messages.READ_EXPRESSION, b"", b""]
        context.send(frame(record))
        context.next_check()
    gc.enable()


def _read_expected(source, budget):
    # type: (str, int) -> list[bytes]
    code = compile_expression(source)
    if not is_constant(code):
        return [messages.READ_EXPRESSION, b"", b""]
    return [messages.READ_CONSTANT, _canonical(code, budget), b""]


def _read_script(source, budget):
    # type: (str, int) -> list[bytes]
    tree = parse_text(source, "exec")
    found = split_assertion(source, tree)
    if found is None:
        series = split_series(tree)
        if series is not None:
            return [messages.READ_SERIES, *series]
        refuse_vacuous(tree)
        return _to_be_run(source, tree)
    code, other = found
    return [messages.READ_ASSERTION, _canonical(code, budget), records.text_bytes(other, messages.MAX_PAYLOAD)]


def _to_be_run(source, tree):
    # type: (str, Any) -> list[bytes]
    """What is wrong with a script that does not compile, the test's worker says."""
    try:
        code = compile_text(source, CHECK, "exec")
    except Invalid:
        return [messages.READ_EXPRESSION, b"", b""]
    return [messages.READ_EXPRESSION, told(code), split_rows(tree, code)]


def _read_large(source, _budget):
    # type: (str, int) -> list[bytes]
    """A script whose tree is only made where something has to be looked for: its code, if it is one and can fail at
    all."""
    try:
        code = compile_text(source, CHECK, "exec")
        if len(source) <= _MOST_OF_ROWS and may_have_rows(source):
            tree = parse_text(source, "exec")
            refuse_vacuous(tree)
            return [messages.READ_EXPRESSION, told(code), split_rows(tree, code)]
        if not surely_tests(source, code):
            refuse_vacuous(parse_text(source, "exec"))
    except Invalid:
        return [messages.READ_EXPRESSION, b"", b""]
    return [messages.READ_EXPRESSION, told(code), b""]


_READERS = {EXPECTED: _read_expected, SCRIPT: _read_script, LARGE_SCRIPT: _read_large}


def _canonical(code, budget):
    # type: (CodeType, int) -> bytes
    """Canonical bytes of a constant, with NaN marked by an empty string: it equals nothing."""
    data, has_nan = canon(eval(code, {"__builtins__": {}}), budget)
    return b"" if has_nan else data


def run_expression(context, fields):
    # type: (JobContext, list[bytes]) -> None
    """fields: text. Its value, computed with the builtins and nothing of any program."""
    try:
        code = compile_expression(fields[0].decode("utf-8", "surrogatepass"))
    except Invalid as error:
        context.refuse(str(error))
        return
    context.start(messages.EXPRESSION, 1)
    try:
        value = context.run(code, fresh_namespace())
    except BaseException as error:
        context.send_raised(error)
    else:
        context.send_value(value)


def run_arguments(context, fields):
    # type: (JobContext, list[bytes]) -> None
    """fields: program (parsed, never run), call. The call's arguments as an encoded (tuple, dict), and its callee.

    The plan says INVALID when an argument uses a name the program binds: such a call cannot be taken apart.
    """
    try:
        code, callee, names = _take_apart(*[field.decode("utf-8", "surrogatepass") for field in fields])
    except Invalid as error:
        context.refuse(str(error))
        return
    context.start(messages.ARGUED, 1, [callee])
    try:
        pair = context.run(code, dict(fresh_namespace(), **names))
        encoded = transfer.encode(pair, messages.MAX_ARGUMENTS)
    except (NotPlain, TooLarge) as error:
        context.send(records.value(context.numbers(), messages.OPAQUE, b"", records.text_bytes(str(error))))
    except BaseException as error:
        context.send_raised(error)
    else:
        context.send(records.value(context.numbers(), messages.PLAIN, encoded, b""))


def _take_apart(program, text):
    # type: (str, str) -> tuple[CodeType, str, dict[str, object]]
    """(code of the call's arguments, name that is called, what names in the code stand for that the program imports).
    Invalid where the arguments need the program."""
    call = parse_text(text.strip(" \t\f\r\n"), "eval").body
    code = compile_tree(_arguments_of(call))
    source = parse_text(program, "exec")
    elsewhere = _names_elsewhere(code, program, source)
    imported = _imported(source, program, code) if elsewhere else {}
    shared = sorted(elsewhere.difference(imported))
    if shared:
        raise Invalid("the arguments use %r of the program" % shared[0])
    return code, call.func.id, {name: imported[name] for name in elsewhere}


def _names_elsewhere(code, program, source):
    # type: (CodeType, str, Any) -> set[str]
    """The names in the arguments' code that the program binds, or may: by `import *`, `exec` and the like it binds
    names that its text does not tell, so a name that is nobody's else is its own. `source`: its tree."""
    found = set(Anatomy(code).all_names & _bound_names(program, source))
    loaded = loaded_names(code)
    found.update(name for name in loaded if not hasattr(builtins, name) and name not in fresh_namespace())
    for module in _starred(source):
        known = sys.modules.get(module)
        found.update(loaded if known is None else loaded.intersection(getattr(known, "__all__", dir(known))))
    return found


def _imported(source, program, code):
    # type: (Any, str, CodeType) -> dict[str, object]
    """What the names stand for that the program binds once, by importing them at its top from a module without a state
    (`from collections import Counter`), and nowhere else, as far as its text tells. `code`: that of the arguments."""
    if any(word in program for word in _BINDS_OTHERWISE):
        return {}
    nodes = list(walk(source))
    bound = [name for node in nodes for name in _bound_by(node)]
    changed = [node for node in nodes if isinstance(node, _ast.Attribute) and not isinstance(node.ctx, _ast.Load)]
    attributes = {node.attr for node in changed}  # of whatever: a function may be given a class, and set one of its
    if any(_root(node) in bound for node in changed) or not attributes.isdisjoint(Anatomy(code).all_names):
        return {}
    found = {}  # type: dict[str, object]
    for node in source.body:
        is_pure = isinstance(node, _ast.ImportFrom) and not node.level and node.module in _PURE
        module = sys.modules.get(node.module) if is_pure else None
        for alias in node.names if module is not None else ():
            name, value = alias.asname or alias.name, getattr(module, alias.name, None)
            is_same = not attributes or attributes.isdisjoint([alias.name, *dir(value)])
            if bound.count(name) == 1 and value is not None and is_same:
                found[name] = value
    return found


_PURE = frozenset(
    ["collections", "datetime", "decimal", "fractions", "functools", "itertools", "math", "operator", "string"]
)
# Words of programs that bind names, or change what they stand for, in ways that no tree tells.
_BINDS_OTHERWISE = ("import *", "exec", "eval", "globals", "locals", "vars", "__", "setattr", "sys.", "context")


def _root(node):
    # type: (Any) -> str
    """The name whose attribute, or an attribute of that, this is; "" if it is anything else's."""
    while isinstance(node, _ast.Attribute):
        node = node.value
    return node.id if isinstance(node, _ast.Name) else ""


def _bound_by(node):
    # type: (Any) -> list[str]
    """The names that a statement or expression binds or unbinds, in whatever scope."""
    if isinstance(node, _ast.Name):
        return [] if isinstance(node.ctx, _ast.Load) else [node.id]
    if isinstance(node, _ast.alias):
        return [node.asname or node.name]
    found = [getattr(node, "name", None), getattr(node, "rest", None), *getattr(node, "names", ())]
    return [each for each in found if isinstance(each, str)]


def _starred(source):
    # type: (Any) -> list[str]
    """The modules that a program's tree imports all names of."""
    nodes = [node for node in walk(source) if isinstance(node, _ast.ImportFrom)]
    return [node.module or "" for node in nodes if any(name.name == "*" for name in node.names)]


def _arguments_of(call):
    # type: (Any) -> _ast.Expression
    """The tree of `((positional, ...), {"keyword": ...})`; stars keep their meaning in both displays."""
    load = _ast.Load()
    positional = _ast.Tuple(elts=call.args, ctx=load)
    keys = [item.arg and _ast.Constant(value=item.arg, kind=None) for item in call.keywords]
    keywords = _ast.Dict(keys=keys, values=[item.value for item in call.keywords])
    body = _ast.Tuple(elts=[positional, keywords], ctx=load)
    for node in [positional, keywords, body] + [key for key in keys if key]:
        node.lineno = node.end_lineno = 1
        node.col_offset = node.end_col_offset = 0
    return _ast.Expression(body=body)


def _bound_names(program, source):
    # type: (str, Any) -> set[str]
    """The names a program's module level mentions, and those its functions declare global. `source`: its tree."""
    found = set(compile_text(program, PROGRAM, "exec").co_names)
    for node in walk(source):
        if isinstance(node, _ast.Global):
            found.update(node.names)
    return found
