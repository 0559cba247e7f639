"""What must hold after every case, whatever its outcome: a table; each check gives a problem in words, or None."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from support.waiting import comes_true

from conformance.case import BREACHED, Case
from conformance.daemon import KINDS
from conformance.lab import Lab
from conformance.wire import Reply

SETTLE_S = 10.0
# Idle gRPC connections and lazily started threads come and go; leaks grow with every case instead.
SPARE_DESCRIPTORS, SPARE_THREADS = 24, 12
# Zygotes that were started for slow work stay, to a bound that `nothing_left_running` knows, with their pipes.
DESCRIPTORS_A_ZYGOTE, PROCESSES_A_ZYGOTE = 7, 2

Standing = Callable[[Lab, Case, Sequence[Reply]], "str | None"]


def same_process(lab: Lab, case: Case, replies: Sequence[Reply]) -> str | None:
    """The server is the process that it was."""
    return None if lab.daemon is None or lab.daemon.alive else "the server is gone"


def serving(lab: Lab, case: Case, replies: Sequence[Reply]) -> str | None:
    """Health says SERVING."""
    said = lab.health()
    return None if said == "SERVING" else f"health says {said}"


def benign_after(lab: Lab, case: Case, replies: Sequence[Reply]) -> str | None:
    """A benign check passes."""
    reply = lab.benign()
    return None if reply.letter == "P" else f"a benign check afterwards: {reply.words}"


def nothing_left_running(lab: Lab, case: Case, replies: Sequence[Reply]) -> str | None:
    """No worker, no zombie, not more zygotes and templates than there may be."""
    daemon = lab.daemon
    if daemon is None:
        return None

    def back() -> bool:
        now = daemon.footprint()
        is_bounded = now.zygotes <= daemon.most_zygotes and now.templates <= KINDS
        return now.zombies == 0 and now.workers == 0 and is_bounded

    return None if comes_true(back, SETTLE_S) else f"processes: {daemon.footprint()}"


def holdings_back(lab: Lab, case: Case, replies: Sequence[Reply]) -> str | None:
    """Descriptors, threads and memory of the server are back where they were."""
    daemon, base = lab.daemon, lab.baseline
    if daemon is None or base is None:
        return None

    def back() -> bool:
        now = daemon.footprint()
        for_zygotes = DESCRIPTORS_A_ZYGOTE * max(0, now.zygotes - base.zygotes) // PROCESSES_A_ZYGOTE
        return (
            (now.descriptors or 0) <= (base.descriptors or 0) + SPARE_DESCRIPTORS + for_zygotes
            and now.threads <= base.threads + SPARE_THREADS
            and now.memory_bytes <= base.memory_bytes + case.memory_slack_bytes
        )

    return None if comes_true(back, SETTLE_S) else f"holdings: {daemon.footprint()}, before: {base}"


def bystanders_untouched(lab: Lab, case: Case, replies: Sequence[Reply]) -> str | None:
    """No file of the world was made, removed or changed."""
    changed = lab.world.files.changed()
    return f"files touched: {', '.join(changed[:3])}" if changed else None


def sentinels_silent(lab: Lab, case: Case, replies: Sequence[Reply]) -> str | None:
    """No sentinel received anything."""
    heard = lab.world.sentinels.heard()
    return f"sentinels heard something: {', '.join(heard)}" if heard else None


def canaries_unseen(lab: Lab, case: Case, replies: Sequence[Reply]) -> str | None:
    """No secret is in a reply or in the log."""
    said = b"".join(reply.raw for reply in replies) + (lab.daemon.log if lab.daemon else b"")
    return "a canary leaked" if any(canary in said for canary in lab.world.canaries()) else None


def nothing_breached(lab: Lab, case: Case, replies: Sequence[Reply]) -> str | None:
    """No program says that its attack worked."""
    words = [reply.words for reply in replies if BREACHED.encode() in reply.raw]
    return f"{words[0]}" if words else None


# Name of the condition -> (its check, does it need a server on this machine?)
STANDING: dict[str, tuple[Standing, bool]] = {
    "same process": (same_process, True),
    "serving": (serving, False),
    "benign check after": (benign_after, False),
    "nothing left running": (nothing_left_running, True),
    "descriptors, threads, memory": (holdings_back, True),
    "bystanders": (bystanders_untouched, False),
    "sentinels": (sentinels_silent, False),
    "canaries": (canaries_unseen, False),
    "nothing breached": (nothing_breached, False),
}
