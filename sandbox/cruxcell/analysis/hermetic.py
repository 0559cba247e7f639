"""May checks of this program share a worker? Decided on compiled code, before a line of it runs.

A program is *hermetic* when it cannot change anything that outlives its own namespace, so that executing it anew in a
fresh namespace is as good as a fresh process. The rule is conservative; what it does not understand is not hermetic:

* no import but of IMPORTABLE, modules that hold pure functions and constants and were loaded beforehand;
* no attribute is assigned to: modules outlive the namespace, and some exceptions believe what they are told;
* an interpreter that this rule was tried on (up to 3.13), and none of its operations that make types or templates;
* no name that begins with an underscore and has more to it: no dunder attributes, so also no class statements, which
  compile to them, and no attribute that a library keeps for itself;
* no attribute that leads to frames or code (`gi_frame`, `tb_frame`, `f_globals`, ...), and none that the code does not
  name: no class patterns of `match`, and no `format` but of a constant whose fields name no attribute or item, because
  one that does reaches everything there is (f-strings name theirs in the code);
* no generator with an exception handler: its `finally` runs when it is thrown away, which may be during a later check;
* no coroutine: one that is thrown away without having run makes the interpreter import things for a warning;
* every builtin that is named is one of SAFE_BUILTINS: pure functions and plain types.

Left over: arithmetic, calls of the program's own functions, methods of plain data, closures, generators, exceptions,
`global` (the globals are the fresh namespace). Plain types cannot be changed from Python, so nothing is left behind but
memory in another state: what only the address of an object decides (its `hash`, its default text) may differ in
company, and so may what a program makes of the last of its memory if it catches the error without naming it.
"""

import _ast
import _string  # type: ignore[import-not-found]
import builtins
import opcode
import sys

from cruxcell.analysis.bytecode import dissect
from cruxcell.analysis.syntax import tree_of, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

    from cruxcell.analysis.bytecode import Anatomy  # noqa: F401 - in type comments

# The text of a decoding error shows a byte of memory where it is told to look, beyond its own object in all versions;
# its kin are not trusted either. And how much memory is left depends on who was there before.
_READING = ("UnicodeDecodeError", "UnicodeEncodeError", "UnicodeTranslateError", "MemoryError")
SAFE_BUILTINS = frozenset(
    [
        "abs", "all", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable", "chr", "complex", "dict",
        "divmod", "enumerate", "filter", "float", "format", "frozenset", "hash", "hex", "int", "isinstance",
        "issubclass", "iter", "len", "list", "map", "max", "min", "next", "oct", "ord", "pow", "print", "range", "repr",
        "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "zip", "True", "False", "None",
        "Ellipsis", "NotImplemented",
    ]
    + [
        name
        for name in vars(builtins)
        if isinstance(getattr(builtins, name), type) and issubclass(getattr(builtins, name), BaseException)
        and name not in _READING
    ]
)  # fmt: skip
_INSPECTED = frozenset(
    [
        "gi_frame", "gi_code", "gi_running", "gi_yieldfrom", "gi_suspended", "cr_frame", "cr_code", "cr_await",
        "cr_running", "cr_origin", "ag_frame", "ag_code", "ag_await", "ag_running", "tb_frame", "tb_next", "tb_lasti",
        "tb_lineno", "f_back", "f_builtins", "f_code", "f_globals", "f_lasti", "f_lineno", "f_locals", "f_trace",
        "f_trace_lines", "f_trace_opcodes", "with_traceback", "add_note", "mro",
    ]
)  # fmt: skip
# Names that lead further than a program's own data.
_REACHING = _INSPECTED | (frozenset(vars(builtins)) - SAFE_BUILTINS)
# Module -> names in it that reach further than they should: string.Formatter reads any attribute, for one.
IMPORTABLE = {
    "math": (),
    "itertools": (),
    "bisect": (),
    "string": ("Formatter", "Template", "capwords"),
}  # type: dict[str, tuple[str, ...]]
_OPMAP = opcode.opmap
_IMPORT_NAME, _EXTENDED_ARG = _OPMAP["IMPORT_NAME"], _OPMAP["EXTENDED_ARG"]
_REFUSED = frozenset([_OPMAP[name] for name in ("STORE_ATTR", "DELETE_ATTR", "MATCH_CLASS") if name in _OPMAP])
# Operations with a number for a name, and the numbers that are harmless: not those of type parameters, whose objects
# lead into `typing`. StopIteration from a generator, unary plus, a list to a tuple; the end of `except*`.
_INTRINSICS = {
    _OPMAP[name]: numbers
    for name, numbers in (("CALL_INTRINSIC_1", (3, 5, 6)), ("CALL_INTRINSIC_2", (1,)))
    if name in _OPMAP
}  # type: dict[int, tuple[int, ...]]
_TRIED = (3, 8) <= sys.version_info[:2] <= (3, 13)
_FORMATS = frozenset(["format", "format_map"])
_COROUTINES = 0x80 | 0x100 | 0x200  # flags of coroutines, generators that count as such, asynchronous generators
_SUSPENDED = 0x20 | 0x80 | 0x200  # flags of a generator's, coroutine's or asynchronous generator's code
# What stands at the beginning of every exception handler: SETUP_… up to 3.10, PUSH_EXC_INFO from 3.11 on.
_HANDLERS = frozenset(
    number
    for name, number in opcode.opmap.items()
    if name in ("SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH", "PUSH_EXC_INFO")
)


def is_hermetic(source, code):
    # type: (str, object) -> bool
    """True when executing `code` (compiled from `source`) again in a new namespace is as good as a new process."""
    parts = dissect(code)
    if not _TRIED or not _intrinsics_are_harmless(parts):
        return False
    if _IMPORT_NAME in parts.all_operations and not _imports_are_pure(parts):
        return False
    if not _names_are_safe(parts):
        return False
    flags = [item.co_flags for item in parts.codes]
    if any(flag & _SUSPENDED and not _HANDLERS.isdisjoint(own) for flag, own in zip(flags, parts.operations)):
        return False
    if any(flag & _COROUTINES for flag in flags) or not _REFUSED.isdisjoint(parts.all_operations):
        return False
    return _FORMATS.isdisjoint(parts.all_names) or _formats_are_plain(source)


def _imports_are_pure(parts):
    # type: (Anatomy) -> bool
    """Is nothing imported but what is IMPORTABLE, and does nothing of that lead further?"""
    modules = {name for code, bytecode in zip(parts.codes, parts.bytecodes) for name in _imported(code, bytecode)}
    if not modules.issubset(IMPORTABLE):
        return False
    return all(parts.all_names.isdisjoint(IMPORTABLE[module]) for module in modules)


def _imported(code, bytecode):
    # type: (Any, bytes) -> list[str]
    """The modules its import statements name; "*" where names come along that are not written down."""
    found = ["*"] if ("*",) in code.co_consts else []
    more = 0
    for operation, argument in zip(bytecode[0::2], bytecode[1::2]):
        number = more << 8 | argument
        more = number if operation == _EXTENDED_ARG else 0
        if operation == _IMPORT_NAME:
            found.append(code.co_names[number])
    return found


def _names_are_safe(parts):
    # type: (Anatomy) -> bool
    if not _REACHING.isdisjoint(parts.all_names):
        return False
    if any(name[:1] in ("_", "") and name != "_" for name in parts.all_names):
        return False
    return all(name[:2] != "__" for code in parts.codes for name in code.co_varnames + code.co_cellvars)


def _formats_are_plain(source):
    # type: (str) -> bool
    """Is every `format` the method of a constant whose fields are numbers and names alone, or the builtin?"""
    try:
        nodes = walk(tree_of(source))
        return all(
            _is_plain_format(node) for node in nodes if isinstance(node, _ast.Attribute) and node.attr in _FORMATS
        )
    except (RecursionError, MemoryError, ValueError):
        return False


def _is_plain_format(node):
    # type: (Any) -> bool
    text = getattr(node.value, "value", None)
    return node.attr == "format" and isinstance(node.value, _ast.Constant) and type(text) is str and _is_plain(text)


def _is_plain(text):
    # type: (str) -> bool
    """Do the replacement fields of a format string, those in its specifications too, reach for nothing?"""
    for _, field, spec, _ in _string.formatter_parser(text):
        if field is not None and ("." in field or "[" in field or not _is_plain(spec or "")):
            return False
    return True


def _intrinsics_are_harmless(parts):
    # type: (Anatomy) -> bool
    if parts.all_operations.isdisjoint(_INTRINSICS):
        return True
    pairs = [pair for bytecode in parts.bytecodes for pair in zip(bytecode[0::2], bytecode[1::2])]
    return all(number in _INTRINSICS[operation] for operation, number in pairs if operation in _INTRINSICS)
