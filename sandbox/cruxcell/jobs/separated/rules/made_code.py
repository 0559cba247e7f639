"""Code that libraries make while a script runs, of which nothing may be the candidate's."""

import sys

from cruxcell.analysis.parsing import CHECK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

# They run texts that they put together from identifiers, which these variables of these functions hold. networkx makes
# most of its functions when they are first called, hypothesis one for each run of a test, sympy those that multiply
# terms of so many variables.
_BUILDERS = {
    "collections": ("namedtuple", lambda found: found["field_names"]),
    "dataclasses": ("_process_class", lambda found: [*found["fields"]]),
    "hypothesis.internal.reflection": ("accept", lambda found: [found["name"], *_parameters(found["signature"])]),
    "networkx.utils.decorators": (
        "compile",
        lambda found: [*found["sig"].names.values(), found["sig"].args or "_", found["sig"].kwargs or "_"],
    ),
    "sympy.polys.monomials": (
        "_build",
        lambda found: [found["name"] if type(found["self"].ngens) is int else ""],
    ),
    "unittest.mock": ("_set_signature", lambda found: [found["name"]]),
}  # type: dict[str, tuple[str, Callable[[Any], Any]]]


def _parameters(signature):
    # type: (Any) -> Any
    """The names in it; none that is an identifier, if it is another object that may tell others later."""
    return signature.parameters if type(signature) is sys.modules["inspect"].Signature else [""]


def is_of_identifiers(frame):
    # type: (Any) -> bool
    """Are the names identifiers that a module makes a text of? One of a text's class may be shown as any text."""
    name = str(frame.f_globals.get("__name__"))
    if name not in _BUILDERS:
        return False
    function, names_in = _BUILDERS[name]
    while frame is not None and frame.f_globals.get("__name__") == name:
        if frame.f_code.co_name == function:
            try:
                names = names_in(frame.f_locals)
            except KeyError:  # another function of this name
                return False
            return all(type(each) is str and each.isidentifier() for each in names)
        frame = frame.f_back
    return False


def is_as_before(folders, target, name, code):
    # type: (tuple[str, ...], Any, str, Any) -> bool
    """Is it no code that something is given, or what it has, said to be of the script or the runtime? So hypothesis
    says of its functions that they are a test's."""
    if name != "__code__":
        return True
    if type(target) is not _FUNCTION or type(code) is not _CODE:
        return False
    before, place = target.__code__, (code.co_filename, code.co_firstlineno)
    is_known = place[0] == CHECK or place[0].startswith(folders)
    return is_known and code == before.replace(co_filename=place[0], co_firstlineno=place[1])


_FUNCTION, _CODE = type(is_as_before), type(is_as_before.__code__)
