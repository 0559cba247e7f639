"""Names of the harness's own: a program that binds `len` or `os.write` anew meets no code of the harness.

The daemon's start of a template imports this module before any other of the harness. Each module of the harness is then
loaded with builtins that are a copy, and what it imports is a copy of the module as it was when the harness began.
Programs, the standard library and packages share Python's own, as in any process.
"""

import builtins
import sys
from _frozen_importlib_external import PathFinder, SourceFileLoader  # loaded already, unlike `importlib`

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

_PACKAGE = __name__.partition(".")[0]
# Of these the harness reads and changes what programs see: streams, `open`, the table of modules. Functions of theirs
# are imported by name where they are called beside a program.
_SHARED = ("_frozen_importlib_external", "builtins", "io", "resource", "sys")
_copies = {}  # type: dict[str, ModuleType]
_import = __import__


def _import_own(name, namespace=None, local=None, names=(), level=0):
    # type: (str, Any, Any, Any, int) -> ModuleType
    """`import` of the harness. Once it is loaded, a module that is imported for the first time is everybody's."""
    module = _import(name, namespace, local, names, level)
    if level or "." in name or name in _SHARED or hasattr(module, "__path__"):
        return module
    if name not in _copies and _Finder in sys.meta_path:
        copy = type(sys)(name)
        vars(copy).update(vars(module))
        _copies[name] = copy
    return _copies.get(name, module)


_OWN = dict(vars(builtins), __import__=_import_own)


class _Loader(SourceFileLoader):
    def exec_module(self, module):
        # type: (Any) -> None
        vars(module)["__builtins__"] = _OWN  # before its code runs: a function keeps what it finds when it is made
        super().exec_module(module)


class _Finder:
    """Finds the harness's modules where they are, and nothing else."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        # type: (str, Any, Any) -> Any
        if name.partition(".")[0] != _PACKAGE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(name, spec.loader.path)
        return spec


def give():
    # type: () -> None
    """To each module of the harness that is imported from now on."""
    sys.meta_path.insert(0, _Finder)


def are_given():
    # type: () -> None
    """All of the harness is loaded: leave nothing in the import system."""
    sys.meta_path.remove(_Finder)
