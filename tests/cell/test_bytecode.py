"""What is known of compiled code: the names that its operations are about."""

from __future__ import annotations

import dis
import opcode
from pathlib import Path
from types import CodeType

import pytest
from cruxcell.analysis import bytecode

STORES = frozenset([opcode.opmap["STORE_NAME"], opcode.opmap["STORE_GLOBAL"]])
# More names than one byte, and than two, can number.
MANY = "\n".join(f"x{n} = y{n}(z{n})" for n in range(30_000))
NESTED = "import a, b.c\ndef f(p):\n    global g\n    g = p.q + h\n    class C:\n        k = l\n    del m\n    return n"


def by_dis(code: CodeType, operations: frozenset[int]) -> set[str]:
    """What the interpreter's own module says."""
    found = {each.argval for each in dis.get_instructions(code) if each.opcode in operations}
    return found.union(*[by_dis(each, operations) for each in code.co_consts if isinstance(each, CodeType)])


@pytest.mark.parametrize("operations", [bytecode.LOADS, STORES], ids=["loads", "stores"])
@pytest.mark.parametrize(
    "source", ["", NESTED, MANY, Path(dis.__file__).read_text()], ids=["empty", "nested", "many", "dis"]
)
def test_the_names_are_those_that_the_interpreter_tells(source: str, operations: frozenset[int]):
    code = compile(source, "<x>", "exec")
    assert bytecode.names_of(code, operations) == by_dis(code, operations)


def test_the_names_of_a_large_script_are_found_at_once():
    constants = "[" + "[f, 1, 'a'], " * 100_000 + "]"
    code = compile(f"def check(f):\n    data = {constants}\n    return late(f, data)\nglobal_one = 1", "<x>", "exec")
    assert bytecode.loaded_names(code) == {"late"}
    assert bytecode.names_of(code, STORES) == {"check", "global_one"}


def test_the_names_that_a_program_lacks():
    code = compile(
        "b = 1\ntry: pass\nexcept OSError as e: e\ndef f(x):\n    return [a(y) for y in b if len(x)]", "<x>", "exec"
    )
    namespace: dict[str, object] = {}
    exec(code, namespace)
    assert bytecode.lacked_names(code, namespace) == {"a"}
