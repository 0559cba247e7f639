"""Classes for `ray.data.Dataset.map_batches`: each actor is a client of the sandbox, and the sandbox runs the code.

>>> dataset.map_batches(Filter, fn_constructor_args=["dns:///cruxboxd:50051"], batch_size=2000, concurrency=4)

An actor connects when it gets its first batch, holds one client, and retries what can be retried; no code of a
candidate ever runs in a Ray process. Several servers are one target: a headless service (`dns:///name:port`) or a list
(`ipv4:10.0.0.1:50051,10.0.0.2:50051`).
"""

from __future__ import annotations

from typing import Any

from cruxbox import datasets

Batch = dict[str, Any]  # of numpy arrays, as Ray's default batch format has it


class Checker:
    """`cruxbox.datasets.Checker` for batches of numpy arrays; takes the same arguments."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._checker = datasets.Checker(*arguments, **options)

    def __call__(self, batch: Batch) -> Batch:
        """The columns of a batch, and those of the verdicts."""
        return _to_arrays(self._checker(_to_lists(batch)))


class Filter:
    """`cruxbox.datasets.Filter` for batches of numpy arrays; takes the same arguments."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._filter = datasets.Filter(*arguments, **options)

    def __call__(self, batch: Batch) -> Batch:
        """The pairs of a batch that pass."""
        return _to_arrays(self._filter(_to_lists(batch)))


def _to_lists(batch: Batch) -> dict[str, list[Any]]:
    """Plain Python values: what numpy made of strings and lists is turned back."""
    return {name: [_plain(item) for item in column] for name, column in batch.items()}


def _plain(item: Any) -> Any:
    return item.tolist() if hasattr(item, "tolist") else item


def _to_arrays(columns: dict[str, list[Any]]) -> Batch:
    """Arrays of objects: numpy must not guess (it would cut strings at NULs and make matrices of lists)."""
    import numpy

    arrays = {}
    for name, items in columns.items():
        array = arrays[name] = numpy.empty(len(items), dtype=object)
        for at, item in enumerate(items):
            array[at] = item
    return arrays
