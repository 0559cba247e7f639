"""Which names are no attribute of anything: to ask for one is an AttributeError, whatever it is asked of.

Programs that models write often call methods that there are not (`"a".contains("b")`, `[].push(1)`). What has an
attribute has its name as a key of some dict: that of its class, of a base, or its own. So the keys of all dicts there
are when a template forks are noted down once, as bits at the places of their hashes: a list of the names would be many
pages, and each fork pays for each page. Two names may have the same place; then one that is unknown is taken for a
known one, and never the other way round. The dicts of modules are left out: a program has no module but those that it
imports, and these are asked.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

_PLACES = 1 << 17
_dict_of_type = type.__dict__["__dict__"].__get__  # type: Any
# Of what the interpreter itself makes: frames, code, functions, generators. Known even if no dict should say so.
_PREFIXES = ("ag_", "co_", "cr_", "f_", "func_", "gi_", "im_", "tb_")
_known = b""  # nothing was noted down: then no name is unknown


def learn(things):
    # type: (Iterable[Any]) -> None
    """Note down the keys of the dicts and the attributes of the classes among `things`, which are all there are. Ask
    while every module is in the table of modules."""
    global _known
    names = set()  # type: set[str]
    for thing in things:
        if issubclass(type(thing), type):
            names.update(_texts(_dict_of_type(thing)))
        elif issubclass(type(thing), dict) and not _is_of_module(thing):
            names.update(_texts(dict.keys(thing)))
    bits = bytearray(_PLACES // 8)
    for name in names:
        place = hash(name) % _PLACES
        bits[place >> 3] |= 1 << (place & 7)
    _known = bytes(bits)


def _texts(keys):
    # type: (Iterable[Any]) -> list[str]
    """Those that may be names. No other key is asked for its hash, which is code of its class."""
    return [key for key in keys if type(key) is str]


def _is_of_module(space):
    # type: (dict[Any, Any]) -> bool
    """Is this the dict of a module, or the copy that the interpreter keeps of one?"""
    name = dict.get(space, "__name__")
    return type(name) is str and name in sys.modules and "__doc__" in space


def is_unknown(name, modules):
    # type: (str, Iterable[str]) -> bool
    """Is this no attribute of anything that is not a module, and none of these modules?

    A program may name one without having it: `math.sqrt` where it forgot the import, and nothing else has loaded it."""
    place = hash(name) % _PLACES
    if not _known or _known[place >> 3] >> (place & 7) & 1 or name.startswith(_PREFIXES):
        return False
    return not any(name in vars(sys.modules[module]) for module in modules if module in sys.modules)
