"""The Ray actors on a local Ray, against two daemons; and the same functions without Ray. `make test-ray` has Ray."""

from __future__ import annotations

import json
import pickle
import sys
import urllib.request
from pathlib import Path

import pytest
from cruxbox.datasets import Checker, Filter
from cruxbox.errors import DataError
from support.daemons import several

CODE = "def f(text):\n    text = text.strip('x').title()\n    return [part for part in text.split(' ') if part]"


def test_checker_adds_the_verdicts(server):
    columns = {
        "program": [CODE] * 4,
        "call": ["f('a b')"] * 2 + ["f(1)", "f(\ud800)"],
        "expected": ["['A', 'B']", "[]", "1", "1"],
        "n": [1, 2, 3, 4],
    }
    found = pickle.loads(pickle.dumps(Checker(server)))(columns)
    assert found["passed"] == [True, False, False, False]
    assert found["outcome"] == ["PASSED", "FAILED", "RAISED", "INVALID"]
    assert found["n"] == [1, 2, 3, 4]
    assert found["error"][2].startswith("AttributeError: ")
    assert found["error"][3].startswith("the check holds a lone surrogate")  # not "A task without id: "
    with pytest.raises(DataError, match="no column 'call'"):
        Checker(server)({"program": []})
    for function, names in ((Checker, ("program", "call", "expected")), (Filter, ("code", "input"))):
        with pytest.raises(DataError, match=f"the numbers of items differ: '{names[0]}' 2, '{names[1]}' 1"):
            function(server)({name: ["1"] * (2 - bool(at)) for at, name in enumerate(names)})


def test_filter_gives_the_pairs_that_pass(server):
    columns = {"code": [CODE, CODE], "inputs": [["'a b'", "1"], ["'x'"]], "n": [7, 8]}
    found = pickle.loads(pickle.dumps(Filter(server)))(columns)
    assert (found["output"], found["n"], found["reasons"]) == (["['A', 'B']", "[]"], [7, 8], [[], []])
    refused = Filter(server, keep_refused=True)(columns)
    assert refused["reasons"] == [[], ["RAISED"], []]
    assert [json.loads(text)["line"] for text in refused["source"]] == [1, 1, 2]
    with pytest.raises(DataError, match="row 1 of the batch"):
        Filter(server)({"code": [CODE, 5], "input": ["1", "2"]})


def test_a_parquet_set_on_ray(tmp_path):
    ray = pytest.importorskip("ray", reason="Ray is not installed here; `make test-ray` installs it")
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
    from ray_filter import filter_set

    rows = [{"code": CODE, "inputs": [f"'xa b{row}'", f"{row}"], "n": row} for row in range(400)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "in.parquet")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        with several(2) as (addresses, metrics):
            paths, target = (str(tmp_path / "in.parquet"), str(tmp_path / "kept")), "ipv4:" + ",".join(addresses)
            reasons = filter_set(*paths, target, batch_size=20)
            work = [_checks_done(port) for port in metrics]
    finally:
        ray.shutdown()
    kept = parquet.read_table(tmp_path / "kept").to_pylist()
    assert sorted((row["n"], row["output"]) for row in kept) == [(row, f"['A', 'B{row}']") for row in range(400)]
    assert reasons == {"RAISED": 400}
    assert sum(work) == 800
    assert min(work) > 0


def _checks_done(port: int) -> float:
    """Verdicts a daemon has given, by its own figures."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        lines = page.read().decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("cruxbox_verdicts_total"))
