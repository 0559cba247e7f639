"""Facts about a script: the names it uses, and which exceptions it raises by itself."""

import builtins
import opcode
import sys

from cruxcell.analysis.bytecode import LOADS, dissect, loaded_names, names_of, nested_codes, own_names
from cruxcell.analysis.parsing import CHECK, parse_text
from cruxcell.analysis.syntax import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType  # noqa: F401 - in type comments
    from typing import Any, Callable, Iterator  # noqa: F401 - in type comments

_OPMAP = opcode.opmap
_GLOBAL_STORES = frozenset([_OPMAP["STORE_GLOBAL"]])
_BIND_UNSEEN = frozenset(["exec", "globals", "locals", "vars", "modules", "__main__"])
_JUMPS = frozenset([*opcode.hasjrel, *opcode.hasjabs])
_TAKES = ("LOAD_ATTR", "LOAD_METHOD")
_LOOKS_UP = _BIND_UNSEEN | {"eval"}
_WITHIN_IMPORTS = frozenset(["SWAP", "ROT_TWO", "POP_TOP", "EXTENDED_ARG", "CACHE", "NOP"])
_STORES = _GLOBAL_STORES | {_OPMAP["STORE_NAME"]}


def bound_names(code):
    # type: (Any) -> set[str] | None
    """The names that the script binds for itself; None if it binds some that its text does not show, by `import *` or
    by what gives it its own namespace."""
    if ("*",) in code.co_consts:
        return None
    if _BIND_UNSEEN.intersection(dissect(code).all_names):
        return None
    return stored_names(code)


def stored_names(code):
    # type: (Any) -> set[str]
    """The names that statements of the script bind in its namespace."""
    return own_names(code, _STORES).union(*[names_of(each, _GLOBAL_STORES) for each in nested_codes(code)])


def imports_of(code):
    # type: (Any) -> tuple[dict[str, tuple[str, bool, list[str]]], list[str]]
    """What import statements of the script's outermost code bind: (name -> (module, is it `from`?, attributes on the
    way), modules of which they bind all names)."""
    import dis

    found, starred = {}, []  # type: dict[str, tuple[str, bool, list[str]]], list[str]
    module, is_from, taken, constant = "", False, [], None  # type: str, bool, list[str], Any
    is_given = False  # does an import statement's value lie on the stack?
    for each in dis.get_instructions(code):
        if each.opname == "IMPORT_NAME":
            module, is_from, taken, is_given = each.argval, constant is not None, [], True
        elif each.opname == "IMPORT_FROM":
            taken, is_given = [*taken, each.argval], True
        elif each.opname == "IMPORT_STAR" or (each.opname == "CALL_INTRINSIC_1" and each.arg == _STAR):
            starred.append(module)
            is_given = False
        elif each.opcode in _STORES:
            if is_given and module:
                found[each.argval] = module, is_from, taken
            taken, is_given = [], False
        else:
            constant = each.argval
            is_given = is_given and each.opname in _WITHIN_IMPORTS
    return found, starred


_STAR = 2  # the number of `import *` among what Python does by one operation from 3.12 on


def rebound_names(code, names):
    # type: (Any, set[str]) -> tuple[set[str], set[str]]
    """Of the program's names, `names`, which the script binds anew: (those that it has read before, so it means
    what the program has there; those that it never reads, so they are there for somebody else)."""
    ahead = own_names(code, LOADS) if names else set()
    meant = {name for name in ahead & names if _is_read_first(code, name)}
    parameters = set().union(*[each.co_varnames for each in dissect(code).codes])  # type: set[str]
    return meant, names.difference(meant, loaded_names(code), parameters)


def _is_read_first(code, name):
    # type: (Any, str) -> bool
    """Does the script's outermost code read a name before it binds it, and not in a loop that binds it, too?"""
    import dis

    instructions = list(dis.get_instructions(code))
    uses = [each for each in instructions if each.argval == name and each.opcode in _STORES | LOADS]
    if not uses or uses[0].opcode not in LOADS:
        return False
    first, bound = uses[0].offset, next((each.offset for each in uses if each.opcode in _STORES), 0)
    loops = [each for each in instructions if each.opcode in _JUMPS and each.argval <= first]
    return not any(each.offset >= bound for each in loops)


def keeps_for_itself(code, name):
    # type: (Any, str) -> bool
    """Does the script read what it has put under a name by a text, `globals()["x"] = ...`, or as an attribute? Then it
    may be what is expected. Not if it has read that before: it means what the program has there."""
    own, *others = [_uses(each, name) if _has(each, name) else [] for each in dissect(code).codes]
    return True not in own[:1] and any(True in uses for uses in [own, *others])


def _has(code, name):
    # type: (Any, str) -> bool
    """Is the name one of the code's variables, attributes, texts or keywords? Taking a code apart takes much longer."""
    if name in code.co_names + code.co_varnames + code.co_cellvars + code.co_freevars:
        return True
    return any(each == name or (type(each) is tuple and name in each) for each in code.co_consts)


def _uses(code, name):
    # type: (Any, str) -> list[bool]
    """For each use of a name in a code, in order: is it read, and not only for an attribute? A statement that puts
    something under it has done so at its end."""
    import dis

    found, puts = [], False
    steps = [each for each in dis.get_instructions(code) if each.opname not in ("EXTENDED_ARG", "PRECALL")]
    for each, following in zip(steps, steps[1:]):
        kind, then = each.opname, following.opname
        value = code.co_consts[each.arg] if kind == "KW_NAMES" else each.argval
        if value == name and (each.opcode in LOADS or kind in _TAKES):
            if then not in _TAKES:
                found.append(True)
        elif value == name and (_takes_an_item(following) or then.startswith("CALL")):
            found.append(True)  # globals()["x"], getattr(module, "x")
        elif value == name or (type(value) is tuple and name in value):
            puts = True
        if puts and (kind == "POP_TOP" or kind.startswith(("STORE_", "RETURN_"))):
            found.append(False)
            puts = False
    return found


def _takes_an_item(step):
    # type: (Any) -> bool
    """Of 3.14 on it is a binary operation like any other."""
    return (step.opname, step.argrepr) in (("BINARY_SUBSCR", ""), ("BINARY_OP", "[]"))


def is_looked_up(code, name):
    # type: (Any, str) -> bool
    """May the script itself read what stands under a name, by it or by its text (`globals()[name]`)?"""
    return name in loaded_names(code) or bool(_LOOKS_UP.intersection(dissect(code).all_names))


def names_in_texts(code):
    # type: (Any) -> set[str]
    """What a script that looks names up by their texts (`eval("f(1)")`, `globals()[name]`) may mean: each word of its
    texts, but for the names of builtins."""
    if not _LOOKS_UP.intersection(dissect(code).all_names):
        return set()
    words = set()  # type: set[str]
    for text in constant_texts(code):
        words.update("".join([letter if letter.isalnum() or letter == "_" else " " for letter in text]).split())
    return {word for word in words if word.isidentifier() and not hasattr(builtins, word)}


def constant_texts(code):
    # type: (Any) -> list[str]
    """Those of the code and of all that is nested in it, as the methods of a class are."""
    return texts_in([const for each in dissect(code).codes for const in each.co_consts])


def texts_in(constants):
    # type: (list[Any]) -> list[str]
    pending, found = constants, []
    for each in pending:
        if type(each) is tuple:
            if _MAY_HOLD_TEXTS.intersection(map(type, each)):  # tests hold megabytes of numbers
                pending.extend(each)
        elif type(each) is str:
            found.append(each)
    return found


_MAY_HOLD_TEXTS = frozenset([str, tuple])


def expects_names(code):
    # type: (Any) -> bool
    """Does the script look up names that neither it nor Python defines? They are the program's."""
    own = {*names_of(code, _STORES), *dir(builtins)}
    return any(name not in own and not name.startswith("__") for name in loaded_names(code))


def used_as_modules(source, names):
    # type: (str, list[str]) -> dict[str, set[str]]
    """Those of `names`, which modules have, that the script only takes attributes of, and these: it means the module,
    if that has them."""
    if not names:
        return {}
    import _ast

    loads = {}  # type: dict[str, int]
    taken = {}  # type: dict[str, list[str]]
    for node in walk(parse_text(source, "exec")):
        if isinstance(node, _ast.Name):
            loads[node.id] = loads.get(node.id, 0) + 1
        elif isinstance(node, _ast.Attribute) and isinstance(node.value, _ast.Name):
            taken.setdefault(node.value.id, []).append(node.attr)
    return {name: set(taken[name]) for name in names if name in taken and loads[name] == len(taken[name])}


_RAISE = _OPMAP["RAISE_VARARGS"]


def raises_by_itself(source, namespace, error, traceback):
    # type: (str, dict[str, Any], BaseException, Any) -> bool
    """Did the script raise this, by `raise` or by a statement that uses no names but builtins (`1 / 0`)? What any other
    statement raises, a value of the candidate may have provoked. A failed assertion is never meant."""
    if isinstance(error, AssertionError) or traceback is None:
        return False
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    frame = traceback.tb_frame
    code = frame.f_code
    if code.co_filename != CHECK or frame.f_globals is not namespace:
        return False
    if code.co_code[traceback.tb_lasti] == _RAISE:
        return True
    own = {*namespace, *code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return _names_on(source, traceback.tb_lineno) <= set(dir(builtins)) - own


def _names_on(source, line):
    # type: (str, int) -> set[str]
    """The names in the simple statements that stand on a line."""
    import _ast

    found = set()
    for node in walk(parse_text(source, "exec")):
        if isinstance(node, _ast.stmt) and not hasattr(node, "body") and node.lineno <= line <= (node.end_lineno or 0):
            found |= {each.id for each in walk(node) if isinstance(each, _ast.Name)}
    return found


def expects(source, classes, namespace, is_of_program):
    # type: (str, list[type], dict[str, Any], Callable[[Any], bool]) -> bool
    """Does the script, where it is now, say that it expects an exception of one of these classes?"""
    frame = sys._getframe(1)  # type: FrameType | None
    while frame is not None and frame.f_code.co_filename != CHECK:
        frame = frame.f_back
    if frame is None:
        return False
    return expects_on(source, frame.f_lineno, names_for(classes, {**namespace, **frame.f_locals}, is_of_program))


def expects_on(source, line, names):
    # type: (str, int, set[str]) -> bool
    """Does the script say that what this line does may raise an exception of one of these names: does it stand in a
    `try` that catches one, or in a `with` or call that is given one (`assertRaises(StopIteration, f)`)?"""
    return any(names & said and first <= line <= last for said, first, last in _expecting(parse_text(source, "exec")))


def names_for(classes, namespace, is_of_program):
    # type: (list[type], dict[str, Any], Callable[[Any], bool]) -> set[str]
    """By which names, as `expects_on` knows them, a script means these classes. One of the program's it has to have
    under that very name, or in the program as a module: the program may call its class what another is called
    (`except module.Error`)."""
    modules = {name: each for name, each in namespace.items() if type(each) is type(builtins) and is_of_program(each)}
    found = set()
    for each in classes:
        if getattr(builtins, each.__name__, None) is each:
            found.update([each.__name__, "." + each.__name__])
        elif namespace.get(each.__name__) is each:
            found.add(each.__name__)
        names = [name for name, module in modules.items() if vars(module).get(each.__name__) is each]
        found.update(["%s.%s" % (name, each.__name__) for name in names])
    return found


def _expecting(tree):
    # type: (Any) -> Iterator[tuple[set[str], int, int]]
    """(the names of what is expected, first line, last line) of each."""
    import _ast

    for node in walk(tree):
        told, body = [], [node]  # type: list[Any], list[Any]
        if type(node).__name__ in ("Try", "TryStar"):
            told, body = [each.type for each in node.handlers if each.type is not None], node.body
        elif isinstance(node, (_ast.With, _ast.AsyncWith)):
            told, body = [each.context_expr for each in node.items], node.body
        elif isinstance(node, _ast.Call):
            told = node.args[:1]
        if told:
            yield _names_within(told), body[0].lineno, body[-1].end_lineno


def _names_within(nodes):
    # type: (list[Any]) -> set[str]
    """An attribute's behind a dot, and also behind the name of what it is taken of."""
    parts = [each for node in nodes for each in walk(node)]
    found = {each.id if hasattr(each, "id") else "." + str(getattr(each, "attr", "")) for each in parts}
    taken = [each for each in parts if hasattr(each, "attr") and hasattr(each.value, "id")]
    return found.union(["%s.%s" % (each.value.id, each.attr) for each in taken])
