"""Facts about compiled code that has not run; the rules about programs use them.

Kept for the code that was asked about last, since several rules look at the same: from Python 3.11 on `co_code` is put
together anew by every look at it.
"""

import builtins
import opcode
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_Code = type((lambda: None).__code__)
_OPMAP = opcode.opmap
LOADS = frozenset(
    [_OPMAP[name] for name in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS") if name in _OPMAP]
)
IMPORTS = frozenset([_OPMAP["IMPORT_NAME"]])
SETS_ATTRIBUTES = frozenset([_OPMAP["STORE_ATTR"]])
_GLOBAL_LOADS = frozenset([_OPMAP["LOAD_GLOBAL"]])
_EXTENDED = opcode.EXTENDED_ARG
# Of operations whose argument is more than the number of a name: how many of its low bits are no part of that.
NO_PART = {
    _OPMAP["LOAD_GLOBAL"]: int(sys.version_info >= (3, 11)),
    _OPMAP["LOAD_ATTR"]: int(sys.version_info >= (3, 12)),
    _OPMAP["IMPORT_NAME"]: 2 * (sys.version_info >= (3, 15)),
}


class Anatomy:
    """`codes` are the code object and all that are nested in it; `bytecodes`, `operations` (numbers) and `names` are
    those of each of them, `all_operations` and `all_names` those of all."""

    __slots__ = ("all_names", "all_operations", "bytecodes", "codes", "names", "operations")

    def __init__(self, code):
        # type: (Any) -> None
        self.codes = all_codes(code)
        self.bytecodes = [item.co_code for item in self.codes]  # type: list[bytes]
        self.operations = [frozenset(bytecode[0::2]) for bytecode in self.bytecodes]
        self.names = [item.co_names for item in self.codes]  # type: list[tuple[str, ...]]
        self.all_operations = frozenset().union(*self.operations)  # type: frozenset[int]
        self.all_names = frozenset().union(*self.names)  # type: frozenset[str]


_last = [None, None]  # type: list[Any]


def dissect(code):
    # type: (object) -> Anatomy
    """The anatomy of a code object."""
    if _last[0] is not code:
        _last[:] = [code, Anatomy(code)]
    anatomy = _last[1]  # type: Anatomy
    return anatomy


def forget():
    # type: () -> None
    """Keep no code any longer. While checks run, nothing of the harness may change from one to the next."""
    _last[:] = [None, None]


def loaded_names(code):
    # type: (Any) -> set[str]
    """The names that are looked up as variables: not those of attributes or imports."""
    return names_of(code, LOADS)


def lacked_names(program, namespace):
    # type: (Any, dict[str, Any]) -> set[str]
    """The names that its functions look up, and neither its namespace nor Python has."""
    return names_of(program, _GLOBAL_LOADS).difference(namespace, vars(builtins))


def names_of(code, operations):
    # type: (Any, frozenset[int]) -> set[str]
    """The names that these operations are about, in the code and in all that is nested in it."""
    return set().union(*[own_names(each, operations) for each in all_codes(code)])


# What changes its own process, or asks it: the program has an environment, random numbers and so on of its own. Names,
# attributes, and parameters for pytest's fixtures.
_OF_ONE_PROCESS = frozenset(
    [
        "argv", "environ", "getsource", "getsourcelines", "monkeypatch", "patch", "putenv", "seed", "setrecursionlimit",
    ]
)  # fmt: skip


def uses_its_own(script):
    # type: (Any) -> bool
    return bool(_OF_ONE_PROCESS & names_in(script))


def names_in(script):
    # type: (Any) -> set[str]
    """All that it names: variables, attributes, modules, parameters."""
    anatomy = dissect(script)
    return set(anatomy.all_names).union(*[each.co_varnames for each in anatomy.codes])


def nested_codes(code):
    # type: (Any) -> list[Any]
    """The codes that stand in the code's constants."""
    return [each for each in code.co_consts if type(each) is _Code]


def all_codes(code):
    # type: (Any) -> list[Any]
    """The code and all that is nested in it, each behind that in which it stands. Newer compilers nest deeper than
    Python may recur."""
    codes = [code]
    for each in codes:
        codes += nested_codes(each)
    return codes


def own_names(code, operations):
    # type: (Any, frozenset[int]) -> set[str]
    """The names that these operations are about, in the code alone."""
    found = set()
    kinds, arguments = code.co_code[0::2], code.co_code[1::2]
    for operation in operations:
        shift = NO_PART.get(operation, 0)
        at = kinds.find(operation)  # not one by one: a script's constants may be built by 100,000 operations
        while at >= 0:
            found.add(code.co_names[_argument(kinds, arguments, at) >> shift])
            at = kinds.find(operation, at + 1)
    return found


def _argument(kinds, arguments, at):
    # type: (bytes, bytes, int) -> int
    """Of the operation there, with what those in front of it add to it."""
    argument, scale = arguments[at], 8
    while at and kinds[at - 1] == _EXTENDED:
        at -= 1
        argument |= arguments[at] << scale
        scale += 8
    return argument
