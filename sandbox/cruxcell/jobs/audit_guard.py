"""An audit hook that guards a script which shares the candidate's process.

Such a verdict can be forged by a determined candidate and is marked IN_PROCESS. What the guard takes away are the known
ways: the end of the script is only believed with a token that stands in a local variable of the harness, and the ways
from a candidate to that variable (frames, the garbage collector's list of objects, ctypes) are closed by an audit hook
(PEP 578) while the candidate's code runs. They answer ValueError, which the standard library's own uses of frames
(namedtuple, enum, typing) are prepared for.
"""

import sys

_EVENTS = frozenset(
    [
        "sys._getframe",
        "sys._current_frames",
        "sys._current_exceptions",
        "sys.addaudithook",
        "sys.unraisablehook",
        "gc.get_objects",
        "gc.get_referrers",
        "gc.get_referents",
        "code.__new__",
        "function.__new__",
    ]
)
_ATTRIBUTES = frozenset(["tb_frame", "gi_frame", "cr_frame", "ag_frame", "gi_code", "cr_code", "ag_code", "f_locals"])


class Guard:
    """`raise_it()` closes the ways for good; `lower_it()` opens them again for the harness, once the script is over."""

    shows_frames = False

    def __init__(self):
        # type: () -> None
        self._is_up = False

    def raise_it(self):
        # type: () -> None
        self._is_up = True

        def hook(event, arguments):
            # type: (str, tuple[object, ...]) -> None
            if self._is_up and _is_a_way_out(event, arguments):
                raise ValueError("%s is not available to code that is checked IN_PROCESS" % event)

        sys.addaudithook(hook)

    def lower_it(self):
        # type: () -> None
        self._is_up = False

    def __enter__(self):
        # type: () -> None
        """For the harness, in the midst of the script."""
        self._is_up = False

    def __exit__(self, *_raised):
        # type: (object) -> None
        self._is_up = True


def _is_a_way_out(event, arguments):
    # type: (str, tuple[object, ...]) -> bool
    if event == "object.__getattr__":
        return arguments[1] in _ATTRIBUTES
    return event in _EVENTS or event.startswith("ctypes.")
