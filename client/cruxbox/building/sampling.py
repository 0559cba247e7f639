"""Selecting a benchmark out of the rows that passed the filter.

Every program gets a rank, a hash of the seed and of its text, and so does every input of it. The n lowest programs,
each with its lowest input, are the sample. So the choice depends on nothing but the seed and the set of rows: not on
their order, not on the Python version; equal rows are one; the sample of 400 is the first half of the sample of 800.
"""

from __future__ import annotations

import hashlib
import heapq
import random
from collections.abc import Iterable

from cruxbox.building.rows import Row
from cruxbox.errors import DataError
from cruxbox.printable import counted


class TooFewRows(DataError):
    """There are fewer different rows than are to be drawn; `found` says how many there are, and of what."""

    def __init__(self, n: int, found: int, one_per_program: bool) -> None:
        one = "program" if one_per_program else "pair"
        self.found = f"only {counted(found, f'different {one}')}{'' if one_per_program else ' of program and input'}"
        super().__init__(f"n is {n}, but there are {self.found}")


def select(rows: Iterable[Row], n: int, seed: int = 0, *, one_per_program: bool = True) -> list[Row]:
    """Draw rows at random, independently of their order. Memory is that of `n` rows, however many there are.

    Args:
        rows: the rows to draw from.
        n: how many to draw, at least 1.
        seed: the same seed and set of rows give the same rows. With a smaller `n` these are the first of them.
        one_per_program: draw at most one input of a program, as in the published 800, whose programs all differ. False
            draws pairs of program and input.

    Returns:
        `n` different rows in random order.

    Raises:
        DataError: `n` is less than 1, or there are fewer different rows.
    """
    if n < 1:
        raise DataError(f"n must be 1 or more, is {n}")
    worst_first: list[int] = []
    best: dict[int, tuple[int, Row]] = {}
    for row in rows:
        pair = _rank(seed, row.code, row.input)
        key = _rank(seed, row.code) if one_per_program else pair
        if key in best:
            if pair < best[key][0]:
                best[key] = (pair, row)
            continue
        if len(best) == n:
            if key > -worst_first[0]:
                continue
            # Whoever leaves here cannot come back: n lower ranks are known from now on.
            del best[-heapq.heapreplace(worst_first, -key)]
        else:
            heapq.heappush(worst_first, -key)
        best[key] = (pair, row)
    if len(best) < n:
        raise TooFewRows(n, len(best), one_per_program)
    return [best[key][1] for key in sorted(best)]


def select_permuted(rows: Iterable[Row], n: int, seed: int = 0, *, one_per_program: bool = True) -> list[Row]:
    """The first `n` rows of a seeded permutation, as the release took its 800; it depends on the order of the rows.

    A program (or pair) that came before is passed over. Raises DataError as `select` does.
    """
    if n < 1:
        raise DataError(f"n must be 1 or more, is {n}")
    pool = list(rows)
    random.Random(seed).shuffle(pool)  # noqa: S311  (nothing secret)
    found: dict[tuple[str, ...], Row] = {}
    for row in pool:
        found.setdefault((row.code,) if one_per_program else (row.code, row.input), row)
        if len(found) == n:
            return list(found.values())
    raise TooFewRows(n, len(found), one_per_program)


def _rank(seed: int, *texts: str) -> int:
    digest = hashlib.sha256(f"{seed}\0".encode())
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return int.from_bytes(digest.digest(), "big")
