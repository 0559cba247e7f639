"""L: fail closed. Where a layer does not hold, nothing runs: not ready, or SANDBOX_ERROR, never a silent weaker run."""

from __future__ import annotations

from conformance import scenarios_faults as faults
from conformance.case import Case, case

START = "starts a server under a fault"
KILL = "kills processes of the server"

CASES: list[Case] = [
    case(189, "Landlock missing: not ready, unless degraded by name", scenario=faults.landlock_missing, local=START),
    case(190, "seccomp cannot be loaded", scenario=faults.seccomp_fails, local=START),
    case(191, "setrlimit or prctl fails", scenario=faults.limits_fail, local=START),
    case(192, "fork fails with EAGAIN, pipes with EMFILE", scenario=faults.fork_fails, local=START),
    case(193, "a zygote is killed: replaced, its check run again", scenario=faults.zygote_killed, local=KILL),
    case(194, "a worker is killed from outside", scenario=faults.worker_killed, local=KILL),
    case(
        195,
        "self-test at start: layers that only pretend are found out",
        scenario=faults.pretending_layers,
        local=START,
    ),
]
