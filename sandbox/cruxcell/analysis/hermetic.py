"""Decides what may share a worker: an allow-list over programs and calls, applied before either runs.

A program is *hermetic* when it cannot change anything that outlives its own namespace, so that executing it anew in a
fresh namespace is as good as a fresh process. A call may share a worker if its program is hermetic (or empty) and its
own code keeps the same rule. Everything that compiled code consists of has to be on a list of what is known to be
harmless; what is on none is refused, whatever it is:

* the interpreter: 3.8 to 3.13, whose operations were each looked at;
* operations (`operations.OPERATIONS`): no class statement, no attribute that is assigned to (modules outlive the
  namespace, and the text of some exceptions depends on attributes), no `with`, no class patterns, nothing asynchronous,
  no type parameters;
* names that are looked up: those of the program itself (one that it does not bind is a NameError) and SAFE_BUILTINS,
  which are pure functions and plain types, but of no other builtin; none begins with an underscore and has more to it;
  `type` only where what it gives is compared at once (`type(x) == int`), so that nobody gets hold of a class;
* attributes: the public ones of plain types, `args` and `value` of exceptions, the methods of generators. So none leads
  to frames, code or classes. And those that nothing at all has (`unknown`), as methods that a model made up: they raise
  an AttributeError. `format` only on a constant whose fields name no attribute or item, because one that does
  reaches everything there is (f-strings name theirs in the code);
* imports: pure modules that were loaded beforehand (IMPORTABLE), and of those the names that are pure; those of
  `typing` only in annotations (`annotations`);
* no generator with an exception handler: its `finally` runs when it is thrown away, which may be during a later check;
* a call: the name of a function that the program binds or of SAFE_BUILTINS, applied to constants.

Left over: arithmetic, calls of the program's own functions, methods of plain data, closures, generators, exceptions,
`global` (the globals are the fresh namespace). Plain types cannot be changed from Python, so nothing is left behind but
memory in another state: what only the address of an object decides (its `hash`, its default text) may differ in
company, and so may what a program makes of the last of its memory if it catches the error without naming it.
"""

import _ast
import builtins
import opcode
import sys

from cruxcell.analysis import annotations, formats
from cruxcell.analysis.bytecode import NO_PART, dissect
from cruxcell.analysis.operations import CALL_OPERATIONS, OPERATIONS, numbers
from cruxcell.analysis.syntax import tree_of, walk
from cruxcell.analysis.unknown import is_unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence  # noqa: F401 - in type comments
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

    from cruxcell.analysis.bytecode import Anatomy  # noqa: F401 - in type comments
    from cruxcell.native import Helper  # noqa: F401 - in type comments

NEWEST_TRIED = (3, 13)
_TRIED = (3, 8) <= sys.version_info[:2] <= NEWEST_TRIED

# ---- the lists -----------------------------------------------------------------------------------------------------

# The text of a UnicodeDecodeError shows the byte at the position it was given, which may lie outside its object in all
# versions; related classes are not trusted either. A MemoryError depends on the memory that earlier checks left.
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
_BUILTINS = vars(builtins)
_ELSEWHERE = frozenset(["type"])  # a builtin with a rule of its own

_TEXTS = frozenset(
    [
        "ascii_letters", "ascii_lowercase", "ascii_uppercase", "digits", "hexdigits", "octdigits", "printable",
        "punctuation", "whitespace",
    ]
)  # fmt: skip
_PLAIN_TYPES = (str, bytes, bytearray, int, float, complex, list, tuple, dict, set, frozenset, range, slice)
# `format` and `format_map` have a rule of their own. What only later versions have does no harm in earlier ones: there
# it is an AttributeError.
SAFE_ATTRIBUTES = frozenset(
    [name for kind in _PLAIN_TYPES for name in dir(kind) if name[0] != "_"]
    + ["removeprefix", "removesuffix", "bit_count", "is_integer", "args", "value", "send", "throw", "close"]
    + sorted(_TEXTS)
)
# Module -> names in it that may be used; None: all that are public. string.Formatter reads any attribute, for one.
IMPORTABLE = {
    "math": None, "itertools": None, "bisect": None, "string": _TEXTS, "typing": annotations.NAMES,
}  # type: dict[str, frozenset[str] | None]  # fmt: skip


class Allowed:
    """What a program may name: builtins, attributes, and of what modules which names; `own` are names of its module.

    These sets are only asked. To copy one writes to each of its texts, and a worker copies each page that it writes to.
    """

    __slots__ = ("anywhere", "attributes", "builtins", "either", "importable", "own")

    def __init__(self, builtins, attributes, importable, own=frozenset()):
        # type: (frozenset[str], frozenset[str], dict[str, frozenset[str] | None], frozenset[str]) -> None
        self.builtins, self.attributes, self.importable, self.own = builtins, attributes, importable, own
        self.either = attributes | SAFE_BUILTINS  # harmless as a name and as an attribute
        # Harmless whatever it is: none of these is another builtin, or private.
        public = [name for name in builtins | attributes if name[0] != "_"]
        self.anywhere = frozenset([name for name in public if name in builtins or name not in _BUILTINS])


FOR_CALLS = Allowed(SAFE_BUILTINS, SAFE_ATTRIBUTES, IMPORTABLE)

_OPMAP = opcode.opmap
# Operations with a number for a name, and the numbers that are harmless: StopIteration from a generator, unary plus, a
# list to a tuple. Not those of type parameters, whose objects lead into `typing`.
_INTRINSIC, _HARMLESS_INTRINSICS = _OPMAP.get("CALL_INTRINSIC_1", -1), (3, 5, 6)

_IMPORT_NAME, _EXTENDED_ARG = _OPMAP["IMPORT_NAME"], _OPMAP["EXTENDED_ARG"]
_STORING = numbers("STORE_NAME STORE_GLOBAL")
_IMPORTED, _TAKEN = numbers("IMPORT_FROM"), numbers("LOAD_ATTR LOAD_METHOD")
_ATTRIBUTES = _TAKEN | _IMPORTED
# From 3.12 on, the lowest bit of this one's argument says something else than which name it is.
_LOAD_ATTR = _OPMAP["LOAD_ATTR"] if sys.version_info >= (3, 12) else -1
_FLAGS = 0x7F  # optimized, new locals, both kinds of stars, nested, generator, no free variables: nothing asynchronous
_GENERATOR = 0x20
# What stands at the beginning of every exception handler: SETUP_… up to 3.10, PUSH_EXC_INFO from 3.11 on.
HANDLERS = numbers("SETUP_FINALLY PUSH_EXC_INFO")


# ---- the rule ------------------------------------------------------------------------------------------------------


def bound_names(source, code, allowed=FOR_CALLS, of_calls=False):
    # type: (str, object, Allowed, bool) -> frozenset[str] | None
    """The names that a hermetic program binds for its calls; None if `code` (compiled from `source`) is not hermetic,
    and executing it again in a new namespace is not as good as a new process. of_calls: as in `formats.are_plain`."""
    parts = dissect(code)
    if (
        not _TRIED
        or not parts.all_operations.issubset(OPERATIONS)
        or not _intrinsics_are_harmless(parts.all_operations, parts.bytecodes)
    ):
        return None
    for item, own in zip(parts.codes, parts.operations):
        flags = item.co_flags
        if flags & ~_FLAGS or (flags & _GENERATOR and not HANDLERS.isdisjoint(own)):
            return None
    offered = _offered(parts, allowed.importable)
    if offered is None or not _names_are_safe(parts, offered, allowed):
        return None
    bound = _bound(parts)
    if not bound.isdisjoint(allowed.own) or not _text_is_plain(source, parts.all_names, bound, of_calls):
        return None
    return bound


def names_bound_for(source, code, calls):
    # type: (str, CodeType, Sequence[CodeType]) -> frozenset[str] | None
    """As `bound_names`, if nothing but these calls is applied to the program: it may format what they give it."""
    if formats.METHODS.isdisjoint(dissect(code).all_names) or not all(map(formats.gives_plain_texts, calls)):
        return None
    return bound_names(source, code, of_calls=True)


def names_bound_by(helper, source, code):
    # type: (Helper, str, CodeType) -> frozenset[str] | None
    """As `bound_names`, which decides whatever the helper does not see at once to be harmless."""
    found = helper.plain_names(code, *_PLAINLY) if _TRIED else None
    return bound_names(source, code) if found is None else found


def _kinds():
    # type: () -> bytes
    """For each operation: 1 if it is harmless, more if something of it is to be looked at, 0 if the rule has to look
    at more than that (see `native/src/rule.c`)."""
    kinds = bytearray(256)
    every = [(OPERATIONS, 1), (_STORING, 2), (_TAKEN, 3), ([_LOAD_ATTR], 4), (HANDLERS, 5), ([_EXTENDED_ARG], 6)]
    for found, kind in [*every, (_IMPORTED, 0), ([_IMPORT_NAME, _INTRINSIC], 0)]:  # type: Any, int
        for number in found:
            if 0 <= number < 256 and number in OPERATIONS:
                kinds[number] = kind
    return bytes(kinds)


# These have a rule of their own.
_SPECIAL = formats.METHODS | {"type", "typing"}
_PLAINLY = (_kinds(), _FLAGS, FOR_CALLS.anywhere, FOR_CALLS.attributes, _BUILTINS, _SPECIAL)


def _text_is_plain(source, names, bound, of_calls):
    # type: (str, frozenset[str], frozenset[str], bool) -> bool
    """What the code does not show: the fields of formats, what names of `typing` are used for, and what becomes of a
    class."""
    if not formats.METHODS.isdisjoint(names) and not formats.are_plain(source, of_calls):
        return False
    if "type" in names and ("type" in bound or not _types_are_compared(source)):
        return False
    return "typing" not in names or _annotations_are_known(source, bound)


def _annotations_are_known(source, bound):
    # type: (str, frozenset[str]) -> bool
    try:
        return annotations.are_known(tree_of(source), bound)
    except (RecursionError, MemoryError, ValueError):
        return False


def is_hermetic(source, code):
    # type: (str, object) -> bool
    """May this program share a worker with others?"""
    return bound_names(source, code) is not None


def may_share(call, bound):
    # type: (Any, frozenset[str]) -> bool
    """May this call, compiled, share a worker, if its program may? `bound`: the names that its program binds."""
    if not _TRIED or call.co_varnames or call.co_cellvars or len(call.co_names) != 1:
        return False
    if any(not isinstance(const, _CONSTANTS) for const in call.co_consts):
        return False
    bytecode = call.co_code
    operations = frozenset(bytecode[0::2])
    if not operations.issubset(CALL_OPERATIONS) or not _intrinsics_are_harmless(operations, [bytecode]):
        return False
    name = call.co_names[0]
    return name in SAFE_BUILTINS or (name in bound and name not in _BUILTINS)


def may_share_by(helper, call, bound):
    # type: (Helper, Any, frozenset[str]) -> bool
    """As `may_share`, which decides whatever the helper does not see at once to be harmless."""
    if _TRIED and helper.plain_call(call, _PLAIN_CALLS, SAFE_BUILTINS, _BUILTINS, bound):
        return True
    return may_share(call, bound)


# For each operation: 1 if it is harmless in a call, 0 if the rule has to look at more than that.
_PLAIN_CALLS = bytes([number in CALL_OPERATIONS and number != _INTRINSIC for number in range(256)])
_CONSTANTS = (str, bytes, int, float, complex, tuple, frozenset, type(None), type(...))


def _intrinsics_are_harmless(operations, bytecodes):
    # type: (frozenset[int], list[bytes]) -> bool
    """`operations`: all those of these `bytecodes`."""
    if _INTRINSIC not in operations:
        return True
    pairs = [pair for bytecode in bytecodes for pair in zip(bytecode[0::2], bytecode[1::2])]
    return all(number in _HARMLESS_INTRINSICS for operation, number in pairs if operation == _INTRINSIC)


def _named(code, bytecode, operations):
    # type: (Any, bytes, frozenset[int]) -> Iterator[str]
    """The names that these operations of a code object are about, in order."""
    more = 0
    for operation, argument in zip(bytecode[0::2], bytecode[1::2]):
        number = more << 8 | argument
        more = number if operation == _EXTENDED_ARG else 0
        if operation in operations:
            yield code.co_names[number >> NO_PART.get(operation, 0)]


def _bound(parts):
    # type: (Anatomy) -> frozenset[str]
    """The names that the program binds in its namespace, at some time."""
    found = set()  # type: set[str]
    for code, bytecode, operations in zip(parts.codes, parts.bytecodes, parts.operations):
        if not _STORING.isdisjoint(operations):
            found.update(_named(code, bytecode, _STORING))
    return frozenset(found)


def _offered(parts, importable):
    # type: (Anatomy, dict[str, frozenset[str] | None]) -> frozenset[str] | None
    """The names that its imports add to those that may be used; None if it imports something that is not pure."""
    if _IMPORT_NAME not in parts.all_operations:
        return frozenset()
    offered = set()  # type: set[str]
    for code, bytecode in zip(parts.codes, parts.bytecodes):
        for name in _named(code, bytecode, frozenset([_IMPORT_NAME])):
            if name not in importable or name not in sys.modules or ("*",) in code.co_consts:
                return None
            allowed = importable[name]
            public = [item for item in vars(sys.modules[name]) if item[0] != "_"] if allowed is None else allowed
            offered.update(public)
    return frozenset(offered)


def _names_are_safe(parts, offered, allowed):
    # type: (Anatomy, frozenset[str], Allowed) -> bool
    """Is every name one that may be looked up, and every attribute one of plain data?"""
    attributes = allowed.attributes
    if any(
        (name[:1] in ("_", "") and name != "_") or name in _BUILTINS
        for name in parts.all_names - allowed.own - allowed.anywhere - _ELSEWHERE
    ):
        return False
    imported = [name for name in allowed.importable if name in parts.all_names]
    for code, bytecode, operations, names in zip(parts.codes, parts.bytecodes, parts.operations, parts.names):
        if _ATTRIBUTES.isdisjoint(operations) or allowed.either.issuperset(names):
            continue
        for name in _named(code, bytecode, _TAKEN):
            if name not in attributes and name not in offered and not is_unknown(name, imported):
                return False
        if any(name not in attributes and name not in offered for name in _named(code, bytecode, _IMPORTED)):
            return False
    return all("\0__" not in "\0".join(("", *code.co_varnames, *code.co_cellvars)) for code in parts.codes)


# ---- classes -------------------------------------------------------------------------------------------------------


def _types_are_compared(source):
    # type: (str) -> bool
    """Is each `type` called with one argument, and what it gives compared at once?"""
    try:
        nodes = list(walk(tree_of(source)))
    except (RecursionError, MemoryError, ValueError):
        return False
    sides = [
        side
        for node in nodes
        if isinstance(node, _ast.Compare) and all(isinstance(kind, _COMPARISONS) for kind in node.ops)
        for side in [node.left, *node.comparators]
    ]
    every = [node for node in nodes if isinstance(node, _ast.Name) and node.id == "type"]
    return len(every) == sum(map(_asks_for_type, sides))


_COMPARISONS = (_ast.Eq, _ast.NotEq, _ast.Is, _ast.IsNot, _ast.In, _ast.NotIn)


def _asks_for_type(node):
    # type: (Any) -> bool
    """Is this `type(…)` with one argument?"""
    if not isinstance(node, _ast.Call) or not isinstance(node.func, _ast.Name) or node.func.id != "type":
        return False
    return len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], _ast.Starred)
