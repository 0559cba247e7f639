"""Problems in EvalPlus's two formats, made here: HumanEval's published ones and those of `tasks.txt`.

Their inputs are their own and such as are made of these as EvalPlus makes its, by changes that keep the types.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import signal
import string
import sys
from pathlib import Path
from typing import Any

import numpy  # noqa: F401 - a reference's time is short, and must not go into this import

# EvalPlus writes the reference instead of results that are large.
CROSS_CHECKED = frozenset(
    ["tri", "string_sequence", "starts_one_ends", "make_a_pile", "special_factorial", "all_prefixes",
     "combinations_colors", "counter_of", "grouped", "get_coordinates", "keys_of", "values_of", "freq_count",
     "defaults", "rotated", "named", "sym_like", "np_scalar", "huge_list", "frozen", "upto", "many", "bigint",
     "dec", "frac", "setop", "get_ludic", "long_list"]
)  # fmt: skip
# The problems whose answers are numbers that are nearly right.
_ATOL = {"HumanEval/2": 1e-6, "HumanEval/4": 1e-6, "HumanEval/21": 1e-6, "HumanEval/32": 1e-4, "HumanEval/45": 1e-6,
         "HumanEval/71": 1e-6, "HumanEval/133": 1e-6}  # fmt: skip
ASSERTION = """
def is_floats(x) -> bool:
    # check if it is float; List[float]; Tuple[float]
    if isinstance(x, float):
        return True
    if isinstance(x, (list, tuple)):
        return all(isinstance(i, float) for i in x)
    if isinstance(x, np.ndarray):
        return x.dtype == np.float64 or x.dtype == np.float32
    return False


def assertion(out, exp, atol):
    exact_match = out == exp

    if atol == 0 and is_floats(exp):
        atol = 1e-6
    if not exact_match and atol != 0:
        assert np.allclose(out, exp, rtol=1e-07, atol=atol)
    else:
        assert exact_match, f"out: {out}, exp: {exp}"
"""
_OF_SETS = """
def assertion(out, exp, atol):
    out = set(out)
    exp = set(exp)
    assert out == exp, f"out: {out}, exp: {exp}"
"""
_OF_TRUTHS = """
def assertion(out, exp, atol):
    if isinstance(out, bool):
        assert out == exp, f"out: {out}, exp: {exp}"
    else:
        assert exp == (out is not None), f"out: {out}, exp: {exp}"
"""
AS_SETS = frozenset(["larg_nnum", "similar_elements", "intersection_array", "Diff", "find_dissimilar"])
AS_TRUTHS = frozenset(["check_str", "first_match", "text_match_three", "text_starta_endb"])
_ENTRY = "\n\nfor i, (inp, exp) in enumerate(zip(inputs, results)):\n    assertion({call}(*inp), exp, {atol})\n"
_CROSS = "\n\nfor i, inp in enumerate(inputs):\n    assertion({call}(*inp), ref_func(*inp), {atol})\n"


class Example:
    """One problem: its solution, its own inputs and those made of them."""

    def __init__(self, task_id: str, entry_point: str, prompt: str, solution: str, base: list[list[Any]], count: int):
        self.task_id, self.entry_point, self.prompt, self.solution = task_id, entry_point, prompt, solution
        self.atol = _ATOL.get(task_id, 0)
        self.base = [each for each in base if self.value(each) is not _NOTHING]
        self.plus = self._more(count)

    @property
    def program(self) -> str:
        return self.prompt + self.solution

    def value(self, inputs: list[Any]) -> Any:
        """What the solution returns; _NOTHING where it returns nothing that a test can hold."""
        signal.setitimer(signal.ITIMER_PROF, 0.1)
        namespace: dict[str, Any] = {"__name__": "reference"}
        try:
            exec(self.program, namespace)
            found = namespace[self.entry_point](*copy.deepcopy(inputs))
            return found if len(repr(found)) < 20_000 else _NOTHING
        except Exception:
            return _NOTHING
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _more(self, count: int) -> list[list[Any]]:
        random_ = random.Random(self.task_id)
        found: list[list[Any]] = []
        seen = {repr(each) for each in self.base}
        for _ in range(count * 4):
            if len(found) == count or not self.base:
                break
            made = [changed(each, random_) for each in copy.deepcopy(random_.choice(self.base + found))]
            if repr(made) not in seen and len(repr(made)) < 4_000 and self.value(made) is not _NOTHING:
                seen.add(repr(made))
                found.append(made)
        return found

    # ---- as EvalPlus writes it -------------------------------------------------------------------------------------

    def of_origin(self) -> dict[str, Any]:
        """The record of an OriginFmt file."""
        inputs, is_mbpp = self.base + self.plus, self.task_id.startswith("Mbpp")
        values = [self.value(each) for each in inputs]
        aux = _OF_SETS if self.entry_point in AS_SETS else _OF_TRUTHS if self.entry_point in AS_TRUTHS else ASSERTION
        if self.entry_point in AS_TRUTHS:
            values = [each is not None for each in values]
        call = self.entry_point if is_mbpp else "candidate"
        if self.entry_point in CROSS_CHECKED:
            reference = self.program.replace(f" {self.entry_point}(", " ref_func(")
            body = f"{reference}\n\ninputs = {inputs!r}" + _CROSS.format(call=call, atol=self.atol)
        else:
            body = f"inputs = {inputs!r}\nresults = {values!r}" + _ENTRY.format(call=call, atol=self.atol)
        head = f"import numpy as np\nfrom math import inf, nan\nfrom collections import *\nimport datetime\n{aux}\n"
        if is_mbpp:
            record = {"task_id": int(self.task_id.split("/")[1]), "code": self.program, "prompt": "Write it.",
                      "source_file": "", "test_imports": [], "test": head + body}  # fmt: skip
            return {**record, "test_list": [f"assert {call}({', '.join(map(repr, one))})" for one in self.base[:3]]}
        before, after = body.split("inputs = ", 1)
        check = "\n".join("    " + line for line in ("inputs = " + after).splitlines())
        test = f"{head}\n{before}\n\ndef check(candidate):\n{check}\n"
        return {"task_id": self.task_id, "prompt": self.prompt, "canonical_solution": self.solution,
                "entry_point": self.entry_point, "test": test}  # fmt: skip

    def of_native(self) -> dict[str, Any] | None:
        """The record of a native file; None where JSON does not hold its inputs."""
        record = {"task_id": self.task_id, "prompt": self.prompt, "entry_point": self.entry_point,
                  "canonical_solution": self.solution, "contract": "", "atol": self.atol, "assertion": ""}  # fmt: skip
        try:
            plain = json.loads(json.dumps({"base_input": self.base, "plus_input": self.plus}))
        except (TypeError, ValueError):
            return None
        same = repr(plain["base_input"]) == repr(self.base) and repr(plain["plus_input"]) == repr(self.plus)
        # What is neither a value nor on its lists, EvalPlus's harness compares by identity.
        is_compared = all(self.value(each) == self.value(each) for each in self.base + self.plus)
        return {**record, **plain} if same and is_compared else None


_NOTHING = object()


def changed(value: Any, random_: random.Random) -> Any:
    """A value of the same type as `value`."""
    if isinstance(value, bool):
        return random_.random() < 0.5
    if isinstance(value, int):
        return value + random_.choice((-1, 1, 0, random_.randint(-10, 10)))
    if isinstance(value, float):
        return random_.choice((value + 1, value - 1, value * (1 + random_.random()), value))
    if isinstance(value, complex):
        return value + random_.choice((1, -1, 1j, 0))
    if isinstance(value, (str, bytes)):
        return _changed_text(value, random_)
    if isinstance(value, (list, tuple, set, frozenset)):
        return type(value)(_changed_items(list(value), random_))
    if isinstance(value, dict):
        return {key: changed(item, random_) for key, item in value.items() if random_.random() < 0.9}
    return value


def _changed_text(value: Any, random_: random.Random) -> Any:
    at, way = random_.randint(0, len(value)), random_.random()
    if way < 0.3:
        return value[:at] + value[at + 1 :]
    if way < 0.6:
        return value[:at] + value[at : at + 2] + value[at:]
    other = random_.choice(string.printable if way > 0.8 else string.ascii_letters)
    return value[:at] + (other.encode() if isinstance(value, bytes) else other) + value[at:]


def _changed_items(items: list[Any], random_: random.Random) -> list[Any]:
    at, way = random_.randint(0, len(items)), random_.random()
    if way < 0.25:
        return items[:at] + items[at + 1 :]
    if way < 0.5 and items:
        return [*items[:at], changed(random_.choice(items), random_), *items[at:]]
    return [changed(item, random_) if random_.random() < 0.5 else item for item in items]


# ---- where they are from -------------------------------------------------------------------------------------------


def tasks(path: Path, count: int) -> list[Example]:
    """Those of a text like `tasks.txt`: `#### id name`, the solution, `----`, a line of arguments for each input."""
    found = []
    for part in path.read_text().split("#### ")[1:]:
        head, _, rest = part.partition("\n")
        solution, _, lines = rest.partition("\n----\n")
        task_id, name = head.split()
        base = [list(eval(f"({line},)" if line else "()")) for line in lines.split("\n") if line.strip()]
        found.append(Example(task_id, name, "", solution + "\n", base, count))
    return found


_OF_HUMANEVAL = ("task_id", "entry_point", "prompt", "canonical_solution")


def of_humaneval(path: Path, count: int) -> list[Example]:
    """HumanEval's published problems; their inputs are what their tests ask."""
    found = []
    for record in map(json.loads, gzip.decompress(path.read_bytes()).decode().splitlines()):
        asked: list[list[Any]] = []
        namespace: dict[str, Any] = {"__name__": "reference"}
        exec(f"{record['prompt']}{record['canonical_solution']}\n{record['test']}", namespace)
        own = namespace[record["entry_point"]]

        def candidate(*inputs: Any, own: Any = own, asked: Any = asked) -> Any:
            asked.append(copy.deepcopy(list(inputs)))
            return own(*inputs)

        namespace["check"](candidate)
        task_id, name, prompt, solution = [record[each] for each in _OF_HUMANEVAL]
        found.append(Example(task_id, name, prompt, solution, asked[:12], count))
    return found


def _stop(*_: Any) -> None:
    raise TimeoutError


def main() -> None:
    """FOLDER COUNT [HUMANEVAL]: write the examples' records there; by the interpreter that has the packages."""
    signal.signal(signal.SIGPROF, _stop)
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    examples = tasks(Path(__file__).parent / "tasks.txt", count)
    if sys.argv[3:]:
        examples += of_humaneval(Path(sys.argv[3]), count)
    with open(folder / "origin.jsonl", "w") as origin, open(folder / "native.jsonl", "w") as native:
        for example in examples:
            origin.write(json.dumps({**example.of_origin(), "entry": example.entry_point}) + "\n")
            record = example.of_native()
            if record is not None:
                native.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
