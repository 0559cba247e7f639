"""Can a program see the hash seed, or where its objects lie in memory? If not, running it again shows nothing new.

Asked only of hermetic programs: those have no clock, no random numbers, no `hash` and no `id`. What is left that
differs from process to process is the order of sets, and addresses in the text of objects that have no text of their
own. The rule is conservative; what it does not understand may see the seed:

* no import: modules have functions and classes, whose text holds an address;
* no set: no display, comprehension or constant, not the names `set` and `frozenset`, and no operation beside `keys` or
  `items`, whose views give sets when they are subtracted or united;
* no attribute but methods that are called: a method is an object, and an exception's message may hold an address;
* and either nothing is turned into text (no `str`, `repr`, `format`, f-string, `%` or the like), or there is nothing
  whose text holds an address: no lambda, generator, inner function or iterator, no function used as a value.
"""

import opcode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_OPMAP = opcode.opmap
_Code = type((lambda: None).__code__)


def _numbers(*names):
    # type: (str) -> frozenset[int]
    return frozenset([_OPMAP[name] for name in names if name in _OPMAP])


_SET_OPERATIONS = _numbers("BUILD_SET", "SET_ADD", "SET_UPDATE")
_SET_NAMES = frozenset(["set", "frozenset"])
_VIEWS = frozenset(["keys", "items"])
_OPERATIONS = frozenset(
    number for name, number in _OPMAP.items() if name.startswith(("BINARY_", "INPLACE_")) and "SUBSCR" not in name
)
_TEXT_NAMES = frozenset(["str", "repr", "ascii", "format", "format_map", "print"])
_TEXT_OPERATIONS = _numbers(
    "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE", "BINARY_MODULO", "INPLACE_MODULO"
)
_BINARY_OP = _OPMAP.get("BINARY_OP", -1)  # from 3.11 on; these of its arguments are % and %=
_REMAINDERS = (6, 19)
_ITERATORS = frozenset(["map", "filter", "zip", "enumerate", "reversed", "iter"])
_COMPREHENSIONS = ("<listcomp>", "<dictcomp>", "<setcomp>")
_SUSPENDED = 0x20 | 0x80 | 0x200  # flags of a generator's, coroutine's or asynchronous generator's code
_IMPORT_NAME = _OPMAP["IMPORT_NAME"]
_LOAD_ATTR, _LOAD_NAME = _OPMAP["LOAD_ATTR"], _OPMAP["LOAD_NAME"]
_ATTR_MAY_CALL = "LOAD_METHOD" not in _OPMAP or _OPMAP["LOAD_METHOD"] > 255  # from 3.12 on, in the lowest bit


def is_seedless(program):
    # type: (Any) -> bool
    """Is this code object, of a hermetic program, blind to the hash seed and to addresses?"""
    codes = _with_inner(program)
    names = set()  # type: set[str]
    for code in codes:
        names.update(code.co_names)
    if any(_IMPORT_NAME in code.co_code[0::2] for code in codes):
        return False
    if has_sets(program) or not names.isdisjoint(_SET_NAMES):
        return False
    if not names.isdisjoint(_VIEWS) and any(not _OPERATIONS.isdisjoint(code.co_code[0::2]) for code in codes):
        return False
    if any(_has_bare_attribute(code.co_code) for code in codes):
        return False
    makes_text = not names.isdisjoint(_TEXT_NAMES) or any(_makes_text(code.co_code) for code in codes)
    return not makes_text or not (names & _ITERATORS or _has_functions_as_values(codes))


def has_sets(code):
    # type: (Any) -> bool
    """Does this code, or code inside it, make a set?"""
    return any(
        not _SET_OPERATIONS.isdisjoint(item.co_code[0::2]) or any(_holds_set(const) for const in item.co_consts)
        for item in _with_inner(code)
    )


def _holds_set(const):
    # type: (object) -> bool
    return type(const) is frozenset or (type(const) is tuple and any(_holds_set(item) for item in const))


def _makes_text(code):
    # type: (bytes) -> bool
    operations = code[0::2]
    if not _TEXT_OPERATIONS.isdisjoint(operations):
        return True
    return any(
        operation == _BINARY_OP and argument in _REMAINDERS for operation, argument in zip(operations, code[1::2])
    )


def _has_functions_as_values(codes):
    # type: (list[Any]) -> bool
    """Lambdas, generators and inner functions; or a function of the program that may be named without a call."""
    top, inner = codes[0], [code for code in codes[1:] if code.co_name not in _COMPREHENSIONS]
    if len(inner) != sum(type(const) is _Code for const in top.co_consts) or _LOAD_NAME in top.co_code[0::2]:
        return True
    functions = {code.co_name for code in inner}
    if any(code.co_name[0] == "<" or code.co_flags & _SUSPENDED for code in inner):
        return True
    return any(not functions.isdisjoint(code.co_names) for code in codes[1:])


def _has_bare_attribute(code):
    # type: (bytes) -> bool
    return any(
        operation == _LOAD_ATTR and not (_ATTR_MAY_CALL and argument & 1)
        for operation, argument in zip(code[0::2], code[1::2])
    )


def _with_inner(code):
    # type: (Any) -> list[Any]
    codes = [code]
    for item in codes:
        codes.extend([const for const in item.co_consts if type(const) is _Code])
    return codes
