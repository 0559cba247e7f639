"""Submodules that a script takes of a package without importing them: `matplotlib.axes` behind `import matplotlib`.

In one process it finds those that the program has imported. Here it has them if there are any.
"""

import _frozen_importlib_external
import sys

from cruxcell.analysis.bytecode import IMPORTS, dissect, names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

_finder = _frozen_importlib_external.PathFinder  # type: Any


def import_submodules(script, source):
    # type: (CodeType, str) -> None
    """Before the script runs, which imports their package itself. One that cannot be imported is for the script."""
    pending = [(package, [package, *_other_names(package, source)]) for package in sorted(names_of(script, IMPORTS))]
    for package, heads in pending:
        for name in sorted(dissect(script).all_names):
            taken = [path for path in ["%s.%s" % (head, name) for head in heads] if path in source]
            if taken and _is_submodule(package, name):
                _try_to_import("%s.%s" % (package, name))
                pending.append(("%s.%s" % (package, name), taken))


def _try_to_import(path):
    # type: (str) -> None
    try:
        __import__(path)
    except Exception:  # whatever a module may raise
        return


def _other_names(package, source):
    # type: (str, str) -> list[str]
    """Those under which it is imported: `import matplotlib as mpl`."""
    parts = source.split("%s as " % package)[1:]
    return [part.split(None, 1)[0].rstrip(",;") for part in parts if part.strip()]


def _is_submodule(package, name):
    # type: (str, str) -> bool
    """Not one that the package has by itself, as far as that is known."""
    loaded = sys.modules.get(package)
    if loaded is not None and name in vars(loaded):
        return False
    try:
        spec = _finder.find_spec(package) if "." not in package else None  # of others the package is loaded, if any
        folders = getattr(loaded, "__path__", spec and spec.submodule_search_locations)
        return bool(folders) and _finder.find_spec("%s.%s" % (package, name), folders) is not None
    except (ImportError, ValueError):
        return False
