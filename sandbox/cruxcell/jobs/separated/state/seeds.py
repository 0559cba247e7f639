"""Where the random numbers of a module are, which a script sets by a seed."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

SEEDS = frozenset(["seed", "setstate", "set_state"])


class Seeded:
    """Where the random numbers of a module are, and how often they were set to begin anew: what the program has drawn
    since does not show in the test's."""

    def __init__(self, name, module):
        # type: (str, Any) -> None
        self._module = module
        self._name, self._count = name, 0
        for each in SEEDS.intersection(dir(module)):
            setattr(module, each, self._counted(getattr(module, each)))

    def read(self):
        # type: () -> tuple[int, Any]
        return self._count, STATES[self._name][0](self._module)

    def _counted(self, function):
        # type: (Any) -> Any
        def seed(*arguments, **keywords):
            # type: (Any, Any) -> Any
            self._count += 1
            return function(*arguments, **keywords)

        return seed


def _numpy_state(module):
    # type: (Any) -> Any
    kind, keys, *rest = module.get_state()
    return (kind, keys.tolist(), *rest)


# By modules: how it tells where its random numbers are, and how it is told.
STATES = {
    "random": (lambda module: module.getstate(), lambda module, state: module.setstate(state)),
    "numpy.random": (_numpy_state, lambda module, state: module.set_state(state)),
}  # type: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]]
