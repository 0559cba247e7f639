"""Fail closed. Where a layer does not hold, nothing runs: not ready, or SANDBOX_ERROR, never a silent weaker run."""

from __future__ import annotations

from conformance import scenarios_faults as faults
from conformance.case import Case, case

START = "starts a server under a fault"
KILL = "kills processes of the server"

CASES: list[Case] = [
    case(
        "no-landlock",
        "Landlock missing: not ready, unless degraded by name",
        scenario=faults.landlock_missing,
        local=START,
    ),
    case("no-seccomp", "seccomp cannot be loaded", scenario=faults.seccomp_fails, local=START),
    case("no-setrlimit", "setrlimit or prctl fails", scenario=faults.limits_fail, local=START),
    case("no-fork-or-pipes", "fork fails with EAGAIN, pipes with EMFILE", scenario=faults.fork_fails, local=START),
    case(
        "zygote-killed", "a zygote is killed: replaced, its check run again", scenario=faults.zygote_killed, local=KILL
    ),
    case("worker-killed", "a worker is killed from outside", scenario=faults.worker_killed, local=KILL),
    case(
        "pretending-layers",
        "self-test at start: layers that only pretend are found out",
        scenario=faults.pretending_layers,
        local=START,
    ),
]
