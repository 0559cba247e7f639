"""A package as it was, to be put back after a program has run beside it: its modules, and the classes in them."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_FUNCTION = type(lambda: None)
_OF_FUNCTIONS = ("__code__", "__defaults__", "__kwdefaults__")


class Kept:
    """What a package holds now; `put_back` undoes what was changed since."""

    def __init__(self, package):
        # type: (str) -> None
        self._modules = [
            (name, module) for name, module in sys.modules.items() if (name + ".").startswith(package + ".")
        ]
        holders = [module for _, module in self._modules]  # type: list[Any]
        for module in list(holders):
            holders += [each for each in vars(module).values() if _is_class_of(each, package)]
        self._names = [(each, dict(vars(each))) for each in holders]
        functions = [each for _, names in self._names for each in names.values() if type(each) is _FUNCTION]
        self._functions = [(each, name, getattr(each, name)) for each in functions for name in _OF_FUNCTIONS]

    def put_back(self):
        # type: () -> None
        sys.modules.update(self._modules)
        for holder, names in self._names:
            for name in [name for name in vars(holder) if name not in names]:
                if isinstance(holder, type):  # what a module has more was loaded, or harms nobody
                    delattr(holder, name)
            for name, value in names.items():
                if vars(holder).get(name) is not value:
                    setattr(holder, name, value)
        for function, name, value in self._functions:
            if getattr(function, name) is not value:
                setattr(function, name, value)


def _is_class_of(value, package):
    # type: (Any, str) -> bool
    return isinstance(value, type) and (value.__module__ + ".").startswith(package + ".")
