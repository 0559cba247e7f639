"""Confinement of a zygote, once, before it serves, and of a worker, each time, before it runs a candidate.

If a step fails, the zygote ends with the step's name, unless the step's layer may be missing: namespaces by nature
(many hosts refuse them), any other layer only when the settings say so.
"""

import os

from cruxcell.confinement.rlimits import what_refuses
from cruxcell.confinement.steps import STEPS, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cruxcell.confinement.settings import Settings  # noqa: F401 - in type comments
    from cruxcell.native import Helper  # noqa: F401

# Layers the zygote gives; a worker adds rlimits and seccomp.
ZYGOTE_LAYERS = (
    "no_new_privs",
    "pdeathsig",
    "namespaces",
    "uid_drop",
    "capabilities",
    "landlock",
    "undumpable",
)
OPTIONAL_LAYERS = ("namespaces",)


class ConfineError(Exception):
    """A step failed, and no candidate may run. `step` names it, `errno` is the kernel's answer (0 if ours)."""

    def __init__(self, step, errno, text):
        # type: (str, int, str) -> None
        super().__init__("confinement step %s failed: %s" % (step, text))
        self.step = step
        self.errno = errno
        self.text = text


def confine_zygote(helper, settings):
    # type: (Helper, Settings) -> list[tuple[str, bool, str]]
    """Confines this process for good. It must have one thread.

    With new process numbers the caller goes on in a child; the parent waits for it and ends as it ends.

    Args:
        helper: what `cruxcell.native.load` gave.
        settings: a `settings.Settings`.

    Returns:
        A list of (layer, active, detail), in the order of ZYGOTE_LAYERS. Raises ConfineError.
    """
    state = State(helper, settings)
    for step, layer, function in STEPS:
        try:
            detail = function(state)
        except OSError as error:
            _failed(state, step, layer, error)
        else:
            _held(state, layer, detail)
    return [(layer,) + state.layers[layer] for layer in ZYGOTE_LAYERS]


def confine_worker(helper, rlimits, bpf, parent):
    # type: (Helper, bytes, bytes, int) -> None
    """Confines a freshly forked worker: limits, no_new_privs, undumpable, and the filter last of all.

    Args:
        helper: what `cruxcell.native.load` gave.
        rlimits: records from `limits.records`.
        bpf: the compiled policy.
        parent: number of the zygote, whose death ends the worker; 0 does not check that it still lives.

    Raises:
        ConfineError: naming the step.
    """
    try:
        helper.enter(rlimits, bpf, parent)
    except OSError as error:
        step, text = str(error.strerror), os.strerror(error.errno or 0)
        if step.startswith("setrlimit:"):
            text = "%s: %s" % (text, what_refuses(int(step[len("setrlimit:") :])))
        raise ConfineError(step, error.errno or 0, text) from None


def _held(state, layer, detail):
    # type: (State, str, object) -> None
    if layer and detail is not None and state.layers.get(layer, (True, ""))[0]:
        state.layers[layer] = (True, str(detail))


def _failed(state, step, layer, error):
    # type: (State, str, str, OSError) -> None
    """Raises ConfineError, unless the layer may be missing."""
    settings = state.settings
    optional = layer in settings.allow_degraded or (layer in OPTIONAL_LAYERS and layer not in settings.require)
    if settings.scratch and layer != "namespaces":
        optional = False  # a worker that may write lacks nothing; the step `scratch` says so of the namespaces
    text = error.strerror or str(error)
    if error.filename:
        text += ": " + str(error.filename)
    if not optional:
        raise ConfineError(step, error.errno or 0, text) from None
    state.layers[layer] = (False, "%s: %s" % (step, text) if error.errno else text)
