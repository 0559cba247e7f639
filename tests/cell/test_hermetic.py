"""Which programs may share a worker: only those that can leave nothing behind, on every interpreter there is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from cruxcell.analysis import hermetic as hermetic_rule
from cruxcell.analysis.hermetic import bound_names, may_share
from hermetic_by_hand import CALLS, HERMETIC, NOT_HERMETIC, hermetic


@pytest.mark.parametrize("name", HERMETIC)
def test_these_may_share(name):
    assert hermetic(HERMETIC[name])


@pytest.mark.parametrize("name", NOT_HERMETIC)
def test_these_may_not(name):
    assert not hermetic(NOT_HERMETIC[name])


def test_the_names_that_a_program_binds():
    source = "import math as m\nx = 1\ndef f():\n global y\n y = a = 2\nfor z in ():\n pass"
    found = bound_names(source, compile(source, "<program>", "exec", dont_inherit=True))
    assert found == {"m", "x", "f", "y", "z"}


def test_of_what_may_be_named_nothing_private_and_no_other_builtin_is_harmless_anywhere():
    allowed = hermetic_rule.Allowed(frozenset(["len", "__x"]), frozenset(["upper", "_y", "exec"]), {})
    assert allowed.anywhere == {"len", "upper"}


def test_of_classes_only_plain_types_and_errors_are_harmless():
    known = {"classmethod", "memoryview", "object", "property", "staticmethod", "super", "type"}
    assert known.isdisjoint(hermetic_rule.SAFE_BUILTINS)


def test_no_program_binds_a_name_that_its_module_has():
    allowed = hermetic_rule.Allowed(hermetic_rule.SAFE_BUILTINS, frozenset(), {}, frozenset(["__name__"]))
    for source, bound in (("f = __name__", {"f"}), ("__name__ = 'f'", None)):
        assert bound_names(source, compile(source, "<program>", "exec", dont_inherit=True), allowed) == bound


def test_no_attribute_for_inner_use_is_safe():
    assert not any(name.startswith("_") for name in hermetic_rule.SAFE_ATTRIBUTES)


@pytest.mark.parametrize(("call", "shares"), CALLS)
def test_calls_of_the_programs_own_names_and_of_pure_builtins_may_share(call: str, shares: bool):
    code = compile(call, "<call>", "eval", dont_inherit=True)
    assert may_share(code, frozenset(["f", "exec"])) is shares


@pytest.mark.parametrize("more", ["co_varnames", "co_cellvars", "co_consts"])
def test_calls_with_code_of_their_own_may_not(more: str):
    plain = compile("f(1)", "<call>", "eval", dont_inherit=True)
    names = ("co_varnames", "co_cellvars", "co_consts", "co_names", "co_code")
    shown = {name: getattr(plain, name) for name in names}
    assert may_share(SimpleNamespace(**shown), frozenset("f"))
    assert not may_share(SimpleNamespace(**{**shown, more: (plain,)}), frozenset("f"))
