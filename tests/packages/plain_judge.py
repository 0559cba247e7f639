"""Plain CPython's verdict: program and test in one process, a fork of this one for each sample, no sandbox.

Reads lines {"program", "test"} (EvalPlus's OriginFmt) or {"program", "native": record}, writes true or false for each.
The interpreter that has the packages runs this file; a native record is judged as evalplus 0.3 does it
(`untrusted_check` of `evalplus/eval/__init__.py`).
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import resource
import sys
import warnings
from typing import Any

import numpy as np

# Of MBPP+: outputs compared as sets, and answers of which only whether there is one counts.
AS_SETS = frozenset(
    ["similar_elements", "find_char_long", "common_in_nested_lists", "extract_singly", "larg_nnum",
     "intersection_array", "find_dissimilar", "Diff"]
)  # fmt: skip
AS_TRUTHS = frozenset(["check_str", "text_match_three", "text_starta_endb"])

SECONDS = int(os.environ.get("PLAIN_SECONDS", "20"))


def is_floats(value: Any) -> bool:
    if isinstance(value, float):
        return True
    if isinstance(value, (list, tuple)) and value:
        return all(isinstance(item, float) for item in value)
    if isinstance(value, np.ndarray):
        return value.dtype in (np.float64, np.float32)
    return False


def run_origin(program: str, test: str) -> None:
    exec(compile(program + "\n" + test, "<one>", "exec", dont_inherit=True), {"__name__": "one"})


def run_native(program: str, record: dict[str, Any]) -> None:
    namespaces: list[dict[str, Any]] = [{"__name__": "one"}, {"__name__": "reference"}]
    exec(compile(program, "<one>", "exec", dont_inherit=True), namespaces[0])
    exec(record["prompt"] + record["canonical_solution"], namespaces[1])
    function, reference = [namespace[record["entry_point"]] for namespace in namespaces]
    for inputs in (record["base_input"], record["plus_input"]):
        atol = record["atol"]
        for each in inputs:
            wanted = reference(*copy.deepcopy(each))
            got = function(*copy.deepcopy(each))
            exact = agrees(record, got, wanted)
            if record["entry_point"] == "find_zero":
                poly = sum(coefficient * got**power for power, coefficient in enumerate(each[0]))
                assert abs(poly) <= atol
                continue
            if atol == 0 and is_floats(wanted):
                atol = 1e-6
            if not exact and atol != 0:
                assert type(got) is type(wanted)
                if isinstance(wanted, (list, tuple)):
                    assert len(got) == len(wanted)
                assert np.allclose(got, wanted, rtol=1e-07, atol=atol)
            else:
                assert exact


def agrees(record: dict[str, Any], got: Any, wanted: Any) -> bool:
    name = record["entry_point"] if str(record["task_id"]).startswith("Mbpp/") else ""
    if name in AS_SETS:
        return set(got) == set(wanted)
    if name in AS_TRUTHS:
        return (got if isinstance(got, bool) else got is not None) == (wanted is not None)
    return name == "are_equivalent" or bool(got == wanted) or (name == "sum_div" and got == 0)


def judged(case: dict[str, Any]) -> bool:
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        code = 1
        try:
            warnings.simplefilter("ignore")
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                if "native" in case:
                    run_native(case["program"], case["native"])
                else:
                    run_origin(case["program"], case["test"])
            code = 0
        except BaseException:  # whatever it is, the program has not passed
            pass
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(judged(json.loads(line))), flush=True)
