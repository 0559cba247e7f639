"""What counts of a report with seals: up to the last that holds, and the end behind it."""

from __future__ import annotations

import struct

import pytest
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes import seals
from cruxboxd.zygotes.jobs import Job
from cruxboxd.zygotes.setup import ZygoteKey
from cruxcell.protocol import frames, messages, records

TOKENS = bytes(range(1, 33))
PLAN = records.plan(True, "dd", [])


def answer(index: int) -> bytes:
    return records.value(records.NUMBERS.pack(index, 1, 1, 1, 0), messages.PLAIN, b"N", b"None")


def sealed(*parts: bytes) -> bytes:
    """The parts, with a seal behind each."""
    report = b""
    for place, part in enumerate(parts):
        report += part
        token = TOKENS[place * 8 : place * 8 + 8]
        report += frames.frame([messages.SEAL, token + struct.pack("<Q", len(report))])
    return report


BROKEN = frames.frame([messages.UNSEALED, (1 << messages.SEAL_NAMES.index("gc")).to_bytes(8, "little")])
LIMIT = records.limit(messages.STEP_LIMIT, 1, 7)
VIOLATED = frames.frame([messages.VIOLATED, b"\x3b\0\0\0"])


@pytest.mark.parametrize(
    ("tail", "counts", "broken"),
    [
        (b"", b"", ()),
        (LIMIT, LIMIT, ()),
        (answer(1), b"", (seals.UNFINISHED,)),
        (answer(1) + BROKEN, b"", ("gc",)),
        (answer(1) + LIMIT, b"", (seals.UNFINISHED,)),
        (LIMIT + answer(1), b"", (seals.UNFINISHED,)),
        (LIMIT[:-1], b"", (seals.UNFINISHED,)),
        (LIMIT + b"\0", b"", (seals.UNFINISHED,)),
        (b"\0\0\0\0", b"", (seals.UNFINISHED,)),
        (records.harness_error("x"), b"", (seals.UNFINISHED,)),
        (frames.frame([messages.UNSEALED, b"\xff" * 8]), b"", messages.SEAL_NAMES),
        (frames.frame([messages.UNSEALED, bytes(8)]), b"", (seals.UNKNOWN,)),
        (frames.frame([messages.UNSEALED, b"gc"]), b"", (seals.UNFINISHED,)),
        (frames.frame([messages.UNSEALED, b"\xff" * 9]), b"", (seals.UNFINISHED,)),
        (PLAN + answer(0), b"", (seals.UNFINISHED,)),
        (records.section(1), records.section(1), ()),
        (records.section(1) + PLAN, records.section(1), ()),
        (records.section(1) + PLAN + answer(0), records.section(1), ()),
        (records.section(1) + VIOLATED, records.section(1), ()),
        (VIOLATED, b"", (seals.SYSTEM_CALL,)),
        (answer(1) + VIOLATED, b"", (seals.SYSTEM_CALL,)),
        (records.section(1) + b"\0\0", records.section(1), ()),
        (records.section(1) + answer(0), b"", (seals.UNFINISHED,)),
        (frames.frame([messages.UNSEALED]), b"", (seals.UNFINISHED,)),
        (frames.frame([messages.UNSEALED, b"\xff" * 8, b""]), b"", (seals.UNFINISHED,)),
        (frames.frame([b"Z", b"\xff" * 8]), b"", (seals.UNFINISHED,)),
        (frames.frame([b"A", b"\xff" * 8]), b"", (seals.UNFINISHED,)),
    ],
)
def test_behind_the_last_seal_only_an_end_counts(tail: bytes, counts: bytes, broken: tuple[str, ...]):
    front = PLAN + answer(0)
    assert seals.unseal(sealed(PLAN, answer(0)) + tail, TOKENS) == seals.Unsealed(front + counts, broken)


def test_a_report_has_room_for_the_bytes_of_each_seal():
    """Else a worker that says as much as it may would be cut off."""
    assert len(sealed(b"")) == seals.RECORD_BYTES


def test_a_report_that_goes_on_breaks_nothing():
    assert seals.unseal(PLAN + answer(0), TOKENS, is_whole=False) == seals.Unsealed(PLAN + answer(0))
    report = sealed(PLAN, answer(0)) + answer(1)
    assert seals.unseal(report, TOKENS, is_whole=False) == seals.Unsealed(PLAN + answer(0))


def test_seals_count_in_their_order_and_place_alone():
    whole = sealed(PLAN, answer(0), answer(1))
    assert seals.unseal(whole, TOKENS) == seals.Unsealed(PLAN + answer(0) + answer(1))
    assert seals.unseal(whole, TOKENS[:8] + bytes(8)).report == PLAN
    foreign = sealed(PLAN) + answer(0) + sealed(PLAN, answer(0))[len(sealed(PLAN)) :]  # bytes that were not told
    assert seals.unseal(foreign, TOKENS) == seals.Unsealed(PLAN, (seals.UNFINISHED,))
    said = sealed(PLAN) + answer(0)
    for wrong in (-2, -1, 1, 256):  # it was written at another place
        moved = frames.frame([messages.SEAL, TOKENS[8:16] + struct.pack("<Q", len(said) + wrong)])
        assert seals.unseal(said + moved, TOKENS) == seals.Unsealed(PLAN, (seals.UNFINISHED,))
    skipped = said + frames.frame([messages.SEAL, TOKENS[16:24] + struct.pack("<Q", len(said))])
    assert seals.unseal(skipped, TOKENS) == seals.Unsealed(PLAN, (seals.UNFINISHED,))


def test_without_a_seal_a_hermetic_program_has_said_nothing():
    assert seals.unseal(PLAN + answer(0), TOKENS) == seals.Unsealed(PLAN, (seals.UNFINISHED,))
    assert seals.unseal(PLAN, TOKENS) == seals.Unsealed(PLAN)
    assert seals.unseal(PLAN + b"\0\0", TOKENS) == seals.Unsealed(PLAN)
    noted = PLAN + frames.frame([messages.FINDINGS, b"", b""])
    assert seals.unseal(noted, TOKENS) == seals.Unsealed(PLAN)
    assert seals.unseal(noted + frames.frame([]), TOKENS) == seals.Unsealed(PLAN, (seals.UNFINISHED,))
    assert seals.unseal(PLAN + answer(0) + PLAN, TOKENS) == seals.Unsealed(PLAN, (seals.UNFINISHED,))
    early = VIOLATED + PLAN
    assert seals.unseal(early + answer(0), TOKENS) == seals.Unsealed(early, (seals.SYSTEM_CALL,))
    other = records.plan(False, "dd", [])  # which who is hermetic cannot become
    assert seals.unseal(PLAN + answer(0) + other, TOKENS) == seals.Unsealed(PLAN, (seals.UNFINISHED,))
    second = records.section(0) + PLAN
    assert seals.unseal(second, TOKENS) == seals.Unsealed(second)
    assert seals.unseal(second + answer(0), TOKENS) == seals.Unsealed(second, (seals.UNFINISHED,))
    for said in (b"", records.section(0), records.harness_error("payload: x")):
        assert seals.unseal(said, TOKENS) == seals.Unsealed(said)
    alone = records.plan(False, "dd", []) + answer(0)
    assert seals.unseal(alone, TOKENS) == seals.Unsealed(alone)


async def test_no_token_serves_twice():
    job = Job(ZygoteKey("r", False, "0"), b"calls", [], DEFAULT_LIMITS, seals=3)
    first = frames.unpack(job.payload()[4:])[2], job.tokens
    second = frames.unpack(job.payload()[4:])[2], job.tokens
    assert first[0] == first[1]
    assert second[0] == second[1]
    assert len(first[0]) == 3 * messages.TOKEN_BYTES
    assert first[0] != second[0]
