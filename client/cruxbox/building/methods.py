"""The 69 methods that the CRUXEval recipe asks functions to use, and which of them a program's text uses.

The table is `dir()` of str, list and dict without dunders, as it stands on Python 3.9 to 3.14 (3.8 lacks
`removeprefix` and `removesuffix`). It is written out so that a data set does not depend on who builds it.
"""

from __future__ import annotations

import enum
import re

_STR = """capitalize casefold center count encode endswith expandtabs find format format_map index isalnum isalpha
isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip
maketrans partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines
startswith strip swapcase title translate upper zfill"""
_LIST = "append clear copy count extend index insert pop remove reverse sort"
_DICT = "clear copy fromkeys get items keys pop popitem setdefault update values"

#: type name -> its methods, in alphabetical order.
METHODS: dict[str, tuple[str, ...]] = {
    "str": tuple(_STR.split()),
    "list": tuple(_LIST.split()),
    "dict": tuple(_DICT.split()),
}

#: Every name of the table once: `count`, `index`, `pop`, `clear` and `copy` belong to more than one type.
METHOD_NAMES = frozenset(name for names in METHODS.values() for name in names)

# A name after a dot and before a parenthesis. Text, not a syntax tree: the type of what stands before the dot is not
# known either way, and nothing has to parse.
_CALL = re.compile(r"\.\s*([A-Za-z_]\w*)\s*\(")


class Methods(str, enum.Enum):
    """What it is to use a method: to call it, or (the paper's figures) to hold its `.name`."""

    CALL = "call"
    TEXT = "text"


def methods_used(code: str, how: Methods = Methods.CALL) -> frozenset[str]:
    """The methods of `METHODS` that a program uses. The text is searched, so a string literal counts too.

    Args:
        code: the program.
        how: whether `.name(` or `.name` is searched for.

    Returns:
        Names of methods, without their types.
    """
    if how is Methods.TEXT:
        return frozenset(name for name in METHOD_NAMES if f".{name}" in code)
    return METHOD_NAMES.intersection(_CALL.findall(code))
