"""Parses the texts of a task: programs, calls, expected values, assertions. Runs before any code of the task.

Only ever used inside a worker: CPython's parser may crash on hostile text, and then only that worker dies.
"""

import opcode

from cruxcell.analysis.bytecode import all_codes
from cruxcell.analysis.operations import CALL_OPERATIONS, CONSTANT_OPERATIONS, numbers
from cruxcell.analysis.syntax import walk
from cruxcell.protocol import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _ast  # noqa: F401 - in type comments
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

PROGRAM, CHECK = "<program>", "<check>"
_ONLY_AST, _DONT_INHERIT = 0x400, True
_Code = type((lambda: None).__code__)
_OPMAP = opcode.opmap
CALLS = numbers("CALL CALL_KW CALL_FUNCTION CALL_FUNCTION_KW CALL_FUNCTION_EX")
_LOAD_NAME = _OPMAP["LOAD_NAME"]
_RETURN = _OPMAP["RETURN_VALUE"]
_QUIET = numbers("RESUME PUSH_NULL NOP EXTENDED_ARG CACHE")


class Invalid(Exception):
    """The text is not what was asked for. The message is one sentence for people."""


class OutOfRoom(Invalid):
    """The same where it was too large or too deep to be parsed: with more memory it may be."""


def compile_text(source, filename, mode):
    # type: (str, str, str) -> CodeType
    """Compile, or raise Invalid with what is wrong and where."""
    code = _compile(source, filename, mode, 0)  # type: CodeType
    return code


def parse_text(source, mode):
    # type: (str, str) -> Any
    """The syntax tree of `source` (types of the `_ast` module), or raise Invalid."""
    return _compile(source, CHECK, mode, _ONLY_AST)


def compile_tree(tree, mode="eval"):
    # type: (_ast.AST, str) -> CodeType
    """The code of a tree; Invalid where it is too deep, which a text may not have been."""
    code = _compile(tree, CHECK, mode, 0)  # type: CodeType
    return code


def _compile(source, filename, mode, flags):
    # type: (Any, str, str, int) -> Any
    try:
        return compile_alike(source, filename, mode, flags)
    except SyntaxError as error:
        raise Invalid("%s (line %s)" % (error.msg, error.lineno)) from None
    except (RecursionError, MemoryError):  # the parser runs out of its stack, or really of memory
        raise OutOfRoom("nested too deep, or too large, to be parsed") from None
    except (ValueError, UnicodeError, OverflowError) as error:
        raise Invalid("cannot be parsed: %s" % error) from None


def compile_alike(source, filename, mode, flags=0):
    # type: (Any, str, str, int) -> Any
    """As `compile`, but for the order of a set with texts among the constants. The compiler puts that together anew,
    and items that collide get another order, if the interpreter knows one of the texts already: from one of another
    check that was compiled in this process, say. Here it always knows them."""
    made = compile(source, filename, mode, flags, _DONT_INHERIT)
    if flags or not _orders_texts(made):
        return made
    if type(source) is not str:
        _renew_texts(source)
    return compile(source, filename, mode, flags, _DONT_INHERIT)  # while `made` is there


def _orders_texts(code):
    # type: (CodeType) -> bool
    """Is there a set with texts among the constants? Those of one character are the same everywhere."""
    sets = [const for each in all_codes(code) for const in each.co_consts if type(const) is frozenset]
    return any(type(item) is str and len(item) > 1 for each in sets for item in each)


def _renew_texts(tree):
    # type: (Any) -> None
    """The texts in the sets of a tree become objects of their own, as they are where a text is parsed."""
    for node in walk(tree):
        for item in getattr(node, "elts", ()):
            if type(getattr(item, "value", None)) is str:
                item.value = "".join(list(item.value))


def compile_expression(text):
    # type: (str) -> CodeType
    """A code object for `text`, one expression; surrounding white space and newlines inside brackets are fine."""
    return compile_text(text.strip(" \t\f\r\n"), CHECK, "eval")


def is_constant(code):
    # type: (CodeType) -> bool
    """Does the expression use no name, call, attribute, function or comprehension: only literals and operators?"""
    if code.co_names or code.co_varnames or code.co_cellvars:
        return False
    if any(type(const) is _Code for const in code.co_consts):
        return False
    return CONSTANT_OPERATIONS.issuperset(code.co_code[0::2])


def direct_callee(code):
    # type: (CodeType) -> str
    """The name, if the expression is `name(<constants>)`; else "".

    Read off the bytecode, which costs a tenth of building the tree: the one name is loaded first and once, and the one
    call comes last. So nothing but constants and operators on them can stand between.
    """
    names = code.co_names
    if len(names) != 1 or code.co_varnames or code.co_cellvars:
        return ""
    if any(type(const) is _Code for const in code.co_consts):
        return ""
    operations = [op for op in code.co_code[0::2] if op not in _QUIET]
    if len(operations) < 3 or operations[0] != _LOAD_NAME or operations[-1] != _RETURN:
        return ""
    if operations[-2] not in CALLS or operations.count(_LOAD_NAME) != 1 or not CALL_OPERATIONS.issuperset(operations):
        return ""
    return names[0] if sum(op in CALLS for op in operations) == 1 else ""


def callee_of(tree):
    # type: (Any) -> str
    """The name, if the expression tree is a call of a plain name with whatever arguments; else ""."""
    import _ast

    body = tree.body
    if isinstance(body, _ast.Call) and isinstance(body.func, _ast.Name):
        return body.func.id
    return ""


def classify_call(text, entry_point):
    # type: (str, str) -> tuple[str, str, CodeType | None]
    """(class, detail, code) of a call's text; the classes are messages.CONSTANT … INVALID."""
    try:
        code = compile_expression(text)
    except OutOfRoom:
        raise
    except Invalid as error:
        return messages.INVALID, "the call: %s" % error, None
    name = direct_callee(code)
    if name and entry_point in ("", name):
        return messages.DIRECT, "", code
    if entry_point:
        name = name or callee_of(parse_text(text.strip(" \t\f\r\n"), "eval"))
        if name != entry_point:
            return messages.INVALID, "the call must be one call of %s" % entry_point, None
        return messages.ARGUED, "", code
    if is_constant(code):
        return messages.CONSTANT, "", code
    is_call = callee_of(parse_text(text.strip(" \t\f\r\n"), "eval"))
    return messages.ARGUED if is_call else messages.EXPRESSION, "", code


def split_assertion(script, tree):
    # type: (str, _ast.Module) -> tuple[CodeType, str] | None
    """(code of one side, text of the other), if `script` is nothing but `assert <constant> == <expression>`.

    `tree` is what `parse_text(script, "exec")` gave.

    Either side may be the constant; the left one is taken first. A message, a chain of comparisons or any other shape
    gives None: such a script has to be run as it stands.
    """
    import _ast

    body = tree.body
    if len(body) != 1 or not isinstance(body[0], _ast.Assert) or body[0].msg is not None:
        return None
    test = body[0].test
    if not isinstance(test, _ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], _ast.Eq):
        return None
    sides = (test.left, test.comparators[0])
    for fixed, other in (sides, sides[::-1]):
        try:
            code = compile_tree(_ast.Expression(fixed))
        except Invalid:
            return None
        if is_constant(code):
            return code, _segment(script, other)
    return None


def _segment(source, node):
    # type: (str, Any) -> str
    """The text of a node. Columns of the tree count UTF-8 bytes; lines end where the tokenizer ends them."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first, last = node.lineno - 1, node.end_lineno - 1
    rows = [line.encode() for line in lines[first : last + 1]]
    rows[-1] = rows[-1][: node.end_col_offset]
    rows[0] = rows[0][node.col_offset :]
    text = b"\n".join(rows).decode()
    # An expression over several lines, and one that binds a name, loses its brackets here, so they are put back.
    return "(%s)" % text if len(rows) > 1 or type(node).__name__ == "NamedExpr" else text
