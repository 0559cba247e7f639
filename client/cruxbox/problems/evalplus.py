"""EvalPlus's native files: `base_input` and `plus_input` per problem, and the canonical solution as the oracle.

What its harness compares is made into a script: the canonical solution runs beside the test, the candidate elsewhere.
The rules (sets of outputs, answers that only have to exist, the polynomial of HumanEval/32, what JSON made of tuples)
are those of evalplus 0.3 (`evalplus/eval/__init__.py`, `evalplus/eval/_special_oracle.py`, `evalplus/data/mbpp.py`).
"""

from __future__ import annotations

import builtins
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

# Outputs compared as sets, and answers of which only whether there is one counts.
_AS_SETS = frozenset(
    ["similar_elements", "find_char_long", "common_in_nested_lists", "extract_singly", "larg_nnum",
     "intersection_array", "find_dissimilar", "Diff"]
)  # fmt: skip
_AS_TRUTHS = frozenset(["check_str", "text_match_three", "text_starta_endb"])

# What the scripts read. They import nothing: a program that reads `inf` and does not bind it would be given what an
# import statement of its test binds.
_BINDINGS = """
_copy, _math = __import__("copy"), __import__("math")
inf, nan = _math.inf, _math.nan
"""
_SCRIPT = """{bindings}


def _floats(value):
    if isinstance(value, float):
        return True
    if isinstance(value, (list, tuple)) and value:
        return all(isinstance(item, float) for item in value)
    return False


def _close(one, other, atol):
    if isinstance(other, (list, tuple)):
        if not isinstance(one, (list, tuple)):
            return False
        return len(one) == len(other) and all(_close(a, b, atol) for a, b in zip(one, other))
    if not isinstance(one, (int, float, complex)) or not isinstance(other, (int, float, complex)):
        return False
    if one == other or (one != one and other != other):
        return True
    return abs(one - other) <= atol + 1e-7 * abs(other) < inf  # nothing else is close to what is infinite


def _reference():
    namespace = {{"__name__": "reference"}}
    exec({canonical!r}, namespace)
    return namespace[{entry_point!r}]

{oracle}
def _judge(candidate):
    reference, atol = _reference(), {atol!r}
    for number, inputs in enumerate({inputs}):
        wanted = reference(*_copy.deepcopy(inputs))
        got = candidate(*_copy.deepcopy(inputs))
        same = {same}
        if not atol and _floats(wanted):
            atol = 1e-6  # from here on, as in EvalPlus
        if not same and atol and type(got) is type(wanted):
            same = _close(got, wanted, atol)
        assert same, "input %d: %.100r is not %.100r" % (number, got, wanted)


_judge({entry_point})
"""
_SCRIPT_OF_ROOTS = """{bindings}


def _judge(candidate):
    for number, inputs in enumerate({inputs}):
        got = candidate(*_copy.deepcopy(inputs))  # of an emptied list any number is a root
        root = _math.pow(got, 1)  # asked once what number it is
        value = sum(coefficient * _math.pow(root, power) for power, coefficient in enumerate(inputs[0]))
        assert abs(value) <= {atol!r}, "input %d: %r is no root" % (number, got)


_judge({entry_point})
"""
_PLAIN = ("got == wanted", "")
_AS_SET = ("set(got) == set(wanted)", "")
_AS_TRUTH = ("(got if isinstance(got, bool) else got is not None) == (wanted is not None)", "")
# By entry point of MBPP+: when an answer is right, and what that takes. Of some tasks the own solution is disputed.
_ORACLES = {
    **dict.fromkeys(_AS_SETS, _AS_SET),
    **dict.fromkeys(_AS_TRUTHS, _AS_TRUTH),
    "are_equivalent": ("True", ""),
    "sum_div": ("got == wanted or got == 0", ""),
    "surface_Area": ("got == wanted or abs(got - _of_height(*inputs)) <= atol", """

def _of_height(base, height):
    return round(base ** 2 + 2 * base * _math.sqrt((base / 2) ** 2 + height ** 2))

"""),
    "digit_distance_nums": ("got == wanted or got == _padded_distance(*inputs)", """

def _padded_distance(one, other):
    one, other = str(one), str(other)
    size = max(len(one), len(other))
    return sum(abs(int(a) - int(b)) for a, b in zip(one.zfill(size), other.zfill(size)))

"""),
}  # fmt: skip


def scripts_of(record: Mapping[str, Any]) -> dict[str, str]:
    """The tests of a native record: "base" and, where there is one, "plus". KeyError, TypeError or ValueError if it is
    not such a record."""
    entry_point, task_id = str(record["entry_point"]), str(record["task_id"])
    canonical = str(record.get("prompt", "")) + str(record["canonical_solution"])
    atol = _tolerance(record.get("atol"))
    same, oracle = _ORACLES.get(entry_point, _PLAIN) if task_id.startswith("Mbpp/") else _PLAIN
    script = _SCRIPT
    if task_id == "HumanEval/32":
        script, atol = _SCRIPT_OF_ROOTS, atol or 1e-4
    script, same, oracle = (_with_pythons_own(text, entry_point) for text in (script, same, oracle))
    found = {}
    plus = record.get("plus_input")
    for name, given in (("base", record["base_input"]), ("plus", [] if plus is None else plus)):
        inputs = _inputs(task_id, f"{name}_input", given)
        if inputs:
            found[name] = script.format(
                bindings=_BINDINGS, canonical=canonical, entry_point=entry_point, inputs=inputs, atol=atol, same=same,
                oracle=oracle,
            )  # fmt: skip
    return found


def _tolerance(given: Any) -> float:
    """By how much two floats may differ. One that is no number makes every comparison false."""
    if given is None:
        return 0.0
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given < math.inf:
        raise ValueError(f"field 'atol' must be a number from 0 on, not {json.dumps(given)[:80]}")
    return float(given)


def _with_pythons_own(text: str, entry_point: str) -> str:
    """A candidate's function that is named like one of Python's has that name in the script, too. The script takes
    Python's own of their module then."""
    if not hasattr(builtins, entry_point):
        return text
    return re.sub(rf"\b{re.escape(entry_point)}\b", f'__import__("builtins").{entry_point}', text)


# ---- what JSON made of the inputs ----------------------------------------------------------------------------------


def _inputs(task_id: str, field: str, inputs: Any) -> str:
    """The inputs as the text of a Python list; JSON has no tuples, sets or complex numbers, so they are put back."""
    if not isinstance(inputs, list) or not all(isinstance(each, list) for each in inputs):
        raise ValueError(f"field {field!r} must be a list of lists of arguments")
    name, _, number = task_id.partition("/")
    restore = _RESTORED.get(int(number), list) if name == "Mbpp" and number.isdigit() else list
    json.dumps(inputs, allow_nan=True)  # nothing but plain JSON goes into the script
    try:
        return repr([restore(each) for each in inputs]) if inputs else ""
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"field {field!r} holds arguments that {task_id} does not take: {error}") from None


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _each(value: Iterable[Any]) -> list[Any]:
    """Tuples of what has items: EvalPlus takes them of texts and dicts, too, where its changes of inputs put such."""
    return [tuple(item) if isinstance(item, (list, str, dict)) else item for item in value]


def _each_of_each(value: list[Any]) -> list[Any]:
    return [_each(item) for item in value]


def _head_tuple(value: list[Any]) -> list[Any]:
    return [tuple(value[0]), *value[1:]]


def _pairs_of_tuples(value: list[Any]) -> list[Any]:
    return [tuple(_each(item)) for item in value]


_Restore = Callable[[list[Any]], list[Any]]
_WAYS: tuple[tuple[tuple[int, ...], _Restore], ...] = (
    ((2, 116, 132, 143, 222, 261, 273, 394, 399, 421, 424, 429, 470, 560, 579, 596, 616, 630, 726, 740, 744, 809),
     _each),
    ((63, 64, 70, 94, 120, 237, 272, 299, 400, 409, 417, 438, 473, 614, 780), _each_of_each),
    ((75, 413, 444, 753), lambda one: [_each(one[0]), *one[1:]]),
    ((106, 750), lambda one: [one[0], tuple(one[1])]),
    ((115,), lambda one: [[set(item) if isinstance(item, list) and item else {} for item in one[0]]]),
    ((124,), lambda one: [float(one[0]), complex(one[1])]),
    ((250, 405, 446, 617, 720, 763, 808), _head_tuple),
    ((259, 401, 445), _pairs_of_tuples),
    ((278,), lambda one: [tuple([tuple(item) if isinstance(item, list) else item for item in one[0]])]),
    ((307,), _head_tuple),
    ((722,), lambda one: [{key: tuple(value) for key, value in one[0].items()}, *one[1:]]),
    ((252,), lambda one: [complex(one[0])]),
    ((580, 615, 791), lambda one: [_tuples(item) for item in one]),
)  # fmt: skip
_RESTORED: dict[int, _Restore] = {number: way for numbers, way in _WAYS for number in numbers}
