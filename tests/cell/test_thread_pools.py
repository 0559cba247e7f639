"""Pools of threads of `multiprocessing`, where a pipe is refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from multiprocessing import connection, pool
from multiprocessing.dummy import Pool
from typing import Any

import pytest
from cruxcell.jobs import thread_pools


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No pipe; what is installed is taken back afterwards."""

    def refuse(*_: object, **__: object) -> Any:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "pipe", refuse)
    monkeypatch.setattr(connection, "Pipe", refuse)
    waits = pool.Pool.__dict__["_wait_for_updates"]
    monkeypatch.setattr(pool.ThreadPool, "__init__", pool.ThreadPool.__init__)
    yield
    pool.Pool._wait_for_updates = waits  # type: ignore[attr-defined]
    if hasattr(pool.ThreadPool, "_news"):
        del pool.ThreadPool._news


def test_a_pool_of_threads_needs_no_pipe():
    for _ in range(2):
        thread_pools.install_for("from multiprocessing.pool import ThreadPool")
    with pool.ThreadPool(3) as threads:
        assert threads.map(abs, [-1, 2]) == [1, 2]
        assert threads.apply_async(divmod, (7, 2)).get(timeout=10) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            threads.apply(divmod, (1, 0))
    others = Pool(2)
    later = others.map_async(abs, [-3])
    others.close()
    others.join()
    assert later.get() == [3]


def test_a_pool_waits_until_the_last_result_is_there():
    thread_pools.install_for("multiprocessing.dummy")
    threads = pool.ThreadPool(1)
    results = [threads.apply_async(pow, (2, each)) for each in range(100)]
    threads.close()
    threads.join()
    assert [each.get(timeout=0) for each in results] == [1 << each for each in range(100)]


def test_a_text_that_names_no_such_thing_and_pools_of_processes_have_the_library_s():
    thread_pools.install_for("import threading")
    with pytest.raises(PermissionError):
        pool.ThreadPool(1)
    thread_pools.install_for("import multiprocessing")
    with pytest.raises(PermissionError):
        pool.Pool(1)
