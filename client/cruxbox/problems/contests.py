"""Problems of programming contests: the files of APPS (and TACO), CodeContests and LiveCodeBench.

A test is an input and an output: of a program that reads and prints, or of a function, whose arguments and value are
JSON. The tests of a function are a script each, or one for many, which the program does not run in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from cruxbox.model import ScriptCheck, StdioCheck, Tolerance
from cruxbox.problems.heads import Head, behind
from cruxbox.problems.packed import unpacked
from cruxbox.problems.records import BadRow, Record, identity, optional_text, text
from cruxbox.problems.shapes import Problem, Stage
from cruxbox.reading import NotJson, kind_of, parse_json

# Most wrong programs fail one of the first tests, so few are run before the others; ends of the stages.
_ENDS = (2, 12)
_BYTES_OF_A_SCRIPT = 1 << 20
_IDS = ("question_id", "problem_id", "task_id", "id", "name")


@dataclass(frozen=True)
class Comparison:
    """How printed output is compared, as in `StdioCheck`; what is None, each benchmark decides for itself."""

    compare: str | None = None
    tolerance: float | Tolerance | None = None
    checker: str = ""


@dataclass(frozen=True)
class _Way:
    """How a benchmark takes answers.

    Args:
        compare, tolerance: of what is printed.
        head: of functions; of programs what they lack of it.
        nested: is a value also right that is the only item of what is expected, or has tuples where that has lists?
    """

    compare: str
    tolerance: float | Tolerance = 0.0
    head: Head = field(default_factory=Head)
    nested: bool = False


# APPS compares by numpy.allclose, CodeContests by 1e-5; LiveCodeBench lines of numbers by their value. A tolerance
# below all that is printed stands for that: one of 0 compares texts.
_APPS = _Way(
    "tokens",
    Tolerance(absolute=1e-8, relative=1e-5),
    Head(
        ("collections", "itertools", "functools", "heapq", "bisect", "string", "operator", "math", "typing"),
        ("fractions", "random", "re", "sys", "time"),
    ),
    nested=True,
)
_CODE_CONTESTS = _Way("tokens", Tolerance(absolute=1e-5))
_LIVE_CODE_BENCH = _Way(
    "lines",
    Tolerance(absolute=1e-300),
    Head(
        ("string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random", "statistics",
         "itertools", "functools", "operator", "io", "sys", "json", "typing"),
        depth=50_000,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Tests:
    """Those of a problem: pairs of stdin and output, or (with `function`) of arguments and value."""

    pairs: Sequence[tuple[Any, Any]]
    function: str = ""


@dataclass(frozen=True, eq=False)
class Contest(Problem):
    """A problem of a contest. Its tests are read when they are asked for, as there may be hundreds of megabytes."""

    way: _Way = _APPS
    comparison: Comparison = Comparison()
    function: str = ""
    prelude: str | None = None
    tests_of: Callable[[Record], Tests] = field(default=lambda _record: Tests(()), repr=False)

    def stages(self, program: str, /) -> Sequence[Stage]:
        tests = _tests(self)
        if not tests.function:
            return _staged([self._stdio(number, *pair) for number, pair in enumerate(tests.pairs, 1)])
        return _staged([self._script(part, tests, program) for part in _parts(tests.pairs)], ends=())

    def stages_apart(self, program: str, /) -> Sequence[Stage]:
        tests = _tests(self)
        if not tests.function or len(tests.pairs) < 2:
            return ()
        return _staged([self._script([each], tests, program) for each in enumerate(tests.pairs, 1)])

    def whole(self, program: str) -> str:
        """The program behind the prelude."""
        if self.prelude is not None:
            return behind(self.prelude + "\n", program) if self.prelude else program
        if not self.function:
            lacking = self.way.head.lacking(program)
            return behind(lacking, program) if lacking else program
        # The function has to be the program's own: `gcd` is one of the names that the head brings.
        own = "" if self._is_method(program) else f"{self.function} = None\ndel {self.function}\n"
        return behind(self.way.head.text + own, program)

    @property
    def preloads(self) -> frozenset[str]:
        return frozenset(self.way.head.modules) if self.function and self.prelude is None else frozenset()

    def _is_method(self, program: str) -> bool:
        """Is the function a method of the program's `class Solution`? One that is indented counts where the program has
        no function of the name."""
        if re.search(r"^class\s+Solution\b", program, re.MULTILINE):
            return True
        function = re.search(rf"^(?:async\s+)?def\s+{re.escape(self.function)}\b", program, re.MULTILINE)
        return function is None and re.search(r"^[ \t]+class\s+Solution\b", program, re.MULTILINE) is not None

    def _stdio(self, number: int, given: str, wanted: str) -> StdioCheck:
        asked, way = self.comparison, self.way
        check = StdioCheck(given, wanted, id=f"test {number}", allow_empty=not wanted.strip(), checker=asked.checker)
        if asked.checker:
            return check
        compare = asked.compare or way.compare
        tolerance = way.tolerance if asked.compare is None else 0.0
        return replace(check, compare=compare, tolerance=tolerance if asked.tolerance is None else asked.tolerance)

    def _script(self, cases: Sequence[tuple[int, tuple[Any, Any]]], tests: Tests, program: str) -> ScriptCheck:
        text = _SCRIPT.format(cases=json.dumps([[number, *pair] for number, pair in cases]), nested=self.way.nested)
        first, last = cases[0][0], cases[-1][0]
        name = f"test {first}" if first == last else f"tests {first} to {last}"
        method = f"Solution().{tests.function}"
        return ScriptCheck(text, method if self._is_method(program) else tests.function, id=name)


def _staged(checks: Sequence[Any], ends: Sequence[int] = _ENDS) -> Sequence[Stage]:
    bounds = [0, *[end for end in ends if end < len(checks)], len(checks)]
    return [checks[start:end] for start, end in zip(bounds, bounds[1:])]


def _parts(pairs: Sequence[tuple[Any, Any]]) -> list[list[tuple[int, tuple[Any, Any]]]]:
    """The pairs with their numbers, as many together as a script is to hold."""
    parts: list[list[tuple[int, tuple[Any, Any]]]] = []
    room = 0
    for number, pair in enumerate(pairs, 1):
        size = len(json.dumps(pair))
        if not parts or room < size:
            parts.append([])
            room = _BYTES_OF_A_SCRIPT
        parts[-1].append((number, pair))
        room -= size
    return parts


# Values are compared as the benchmarks do: a tuple is taken for the list that JSON has in its place; APPS also takes
# tuples inside, and what is the only item of the list that is expected.
_SCRIPT = """
import json as _json


def _same(got, wanted):
    if isinstance(got, tuple):
        got = list(got)
    if got == wanted:
        return True
    if not {nested} or not isinstance(wanted, list) or not wanted:
        return False
    if got == wanted[0]:
        return True
    if isinstance(got, list) and any(isinstance(item, tuple) for item in got):
        return [list(item) if isinstance(item, tuple) else item for item in got] in (wanted, wanted[0])
    return False


def _keys(value):
    if isinstance(value, dict) and all(key.lstrip("-").isdigit() for key in value):
        return {{int(key): item for key, item in value.items()}}
    return value


for _number, _given, _wanted in _json.loads({cases!r}):
    if {nested}:
        _given, _wanted = [_keys(item) for item in _given], _keys(_wanted)
        if isinstance(_wanted, list):
            _wanted = [_keys(item) for item in _wanted]
    _got = candidate(*_given)
    assert _same(_got, _wanted), "test %d: %.100r is not %.100r" % (_number, _got, _wanted)
"""


@lru_cache(maxsize=16)
def _tests(problem: Contest) -> Tests:
    """The tests of a problem: samples of one problem mostly come one after the other."""
    return problem.tests_of(problem.record)


# ---- the files -----------------------------------------------------------------------------------------------------


def problem_of(
    record: Record, where: str, comparison: Comparison = Comparison(), prelude: str | None = None
) -> Problem:
    """A record of any of the formats, told by its fields. BadRow if it is none.

    Args:
        record: what stands there.
        where: file and line.
        comparison: what is asked for in the place of the benchmark's own.
        prelude: what is put in front of every program; None for the imports that these benchmarks put in front of
            functions.
    """
    found = next((each for each in _FORMATS if record.get(each[0]) is not None), None)
    if found is None:
        nulls = [name for name, _, _ in _FORMATS if name in record]
        if nulls:
            raise BadRow(f"field {nulls[0]!r} is null")
        names = ", ".join(repr(name) for name, _, _ in _FORMATS)
        raise BadRow(f"has none of the fields {names}, so it is no problem of APPS, CodeContests or LiveCodeBench")
    _, tests_of, way = found
    function = _function_of(record)
    is_class = "class Solution" in optional_text(record, "starter_code")
    problem = Contest(
        identity(record, *_IDS),
        where,
        record,
        entry_point="Solution" if is_class else function,
        way=way,
        comparison=comparison,
        function=function,
        prelude=prelude,
        tests_of=tests_of,
    )
    if not isinstance(record.get("private_test_cases"), str):  # those are large: read when they are needed
        _tests(problem)
    return problem


def _function_of(record: Record) -> str:
    """The function that is tested; "" for a program."""
    if record.get("input_output") is not None:
        name = _object(record["input_output"], "input_output").get("fn_name")
    else:
        name = _object(record.get("metadata") or "{}", "metadata").get("func_name")
    if name in (None, ""):
        return ""
    if not isinstance(name, str) or not name.isidentifier():
        raise BadRow(f"the function's name is {name!r:.80}, which is not a Python name")
    return name


def _object(value: Any, name: str) -> Mapping[str, Any]:
    value = _json(value, name) if isinstance(value, str) else value
    if not isinstance(value, dict):
        raise BadRow(f"field {name!r} must be an object, is {kind_of(value)}")
    return value


def _json(value: str, name: str) -> Any:
    try:
        return parse_json(value)
    except NotJson as error:
        raise BadRow(f"field {name!r} {error}") from None


def _of_apps(record: Record) -> Tests:
    found = _object(record["input_output"], "input_output")
    inputs, outputs = found.get("inputs"), found.get("outputs")
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs) or not inputs:
        raise BadRow("field 'input_output' must hold two lists of the same length, inputs and outputs, and some tests")
    function = _function_of(record)
    if function:
        return Tests([_of_a_function(*pair) for pair in zip(inputs, outputs)], function)
    return Tests([(_lines(given), _lines(wanted)) for given, wanted in zip(inputs, outputs)])


def _of_a_function(given: Any, wanted: Any) -> tuple[list[Any], Any]:
    """Arguments and value: as they are, or both as the texts that LiveCodeBench has, as sets made of it do."""
    if isinstance(given, str) and isinstance(wanted, str):
        return _arguments({"input": given, "output": wanted})
    if not isinstance(given, list):
        raise BadRow("the inputs of a function must be lists of arguments, or it and the output texts of JSON")
    return given, wanted


def _lines(value: Any) -> str:
    """Text, or lines of it."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "\n".join(value)
    if not isinstance(value, str):
        raise BadRow(f"what a program reads and prints must be text, is {kind_of(value)}")
    return value


def _of_code_contests(record: Record) -> Tests:
    pairs: list[tuple[str, str]] = []
    for name in ("public_tests", "private_tests", "generated_tests"):
        tests = record.get(name) or {}
        if isinstance(tests, str):
            tests = _json(tests, name)
        if isinstance(tests, list):
            tests = {each: [test.get(each) for test in tests if isinstance(test, dict)] for each in ("input", "output")}
        if not isinstance(tests, dict):
            raise BadRow(f"field {name!r} must be an object or a list, is {kind_of(tests)}")
        inputs, outputs = tests.get("input", []), tests.get("output", [])
        if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
            raise BadRow(f"field {name!r} must hold two lists of the same length, input and output")
        pairs += [(_lines(given), _lines(wanted)) for given, wanted in zip(inputs, outputs)]
    if not pairs:
        raise BadRow("has no tests")
    return Tests(pairs)


def _of_live_code_bench(record: Record) -> Tests:
    function = _function_of(record)
    cases = []
    for name in ("public_test_cases", "private_test_cases"):
        cases += _cases(record.get(name) or [], name)
    if not cases:
        raise BadRow("has no tests")
    kinds = {case.get("testtype", "stdin") for case in cases}
    if kinds == {"functional"} and function:
        return Tests([_arguments(case) for case in cases], function)
    if kinds == {"stdin"}:
        return Tests([(text(case, "input"), text(case, "output")) for case in cases])
    raise BadRow(f"has tests of the types {sorted(map(str, kinds))}; all are stdin, or functional with a func_name")


def _cases(value: Any, name: str) -> list[Mapping[str, Any]]:
    if isinstance(value, str):
        try:
            value = value if value.lstrip()[:1] == "[" else unpacked(value)
        except BadRow as error:
            raise BadRow(f"field {name!r} {error}") from None
        value = _json(value, name)
    if not isinstance(value, list) or not all(isinstance(case, dict) for case in value):
        raise BadRow(f"field {name!r} must be a list of objects")
    return value


def _arguments(case: Mapping[str, Any]) -> tuple[list[Any], Any]:
    """A line of JSON for each argument."""
    lines = text(case, "input").split("\n")
    return [_json(line, "input") for line in lines if line.strip()], _json(text(case, "output"), "output")


# The field that tells a format -> how its tests are read, how its answers are taken.
_FORMATS = (
    ("input_output", _of_apps, _APPS),
    ("public_tests", _of_code_contests, _CODE_CONTESTS),
    ("private_test_cases", _of_live_code_bench, _LIVE_CODE_BENCH),
    ("public_test_cases", _of_live_code_bench, _LIVE_CODE_BENCH),
)
FIELDS = frozenset(name for name, _, _ in _FORMATS)
