"""Context variables of a library, of which each half has its own: noticed by one half, set by the other."""

from __future__ import annotations

import sys
import threading
from contextvars import ContextVar
from types import ModuleType
from typing import Any

import pytest
from cruxcell.jobs.separated.state.borrowing import Borrower
from cruxcell.jobs.separated.state.context_variables import ContextVariables, ProgramContexts, contexts_in


@pytest.fixture
def request_(monkeypatch: pytest.MonkeyPatch) -> ContextVar[Any]:
    module: Any = ModuleType("flask.globals")
    module.var, module.other = ContextVar("request"), 1
    monkeypatch.setitem(sys.modules, "flask.globals", module)
    return module.var  # type: ignore[no-any-return]


@pytest.fixture
def variables(request_: ContextVar[Any]) -> ContextVariables:
    [found] = contexts_in(["flask.testing", "f"])
    return found


def test_a_script_that_does_not_name_the_library_has_none(request_: ContextVar[Any]):
    assert contexts_in(["my.flask", "flasks"]) == []


def test_a_library_that_is_not_there_has_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "flask.globals", None)
    assert contexts_in(["flask"]) == []


def test_what_the_script_has_entered_is_lent_and_taken_back(variables: ContextVariables, request_: ContextVar[Any]):
    assert variables.changes() == []
    mine = object()
    token = request_.set(mine)
    assert variables.changes() == [("contexts", "flask.globals", "var", False, mine)]
    assert variables.changes() == []
    request_.reset(token)
    assert variables.changes() == [("contexts", "flask.globals", "var", True, None)]


def test_what_the_program_has_entered_the_script_has(variables: ContextVariables, request_: ContextVar[Any]):
    theirs, others = object(), object()
    for told in ({"var": theirs}, {"var": theirs}, {"var": others}, {"var": others, "more": 1}):
        variables.take(told)
        assert (request_.get(None), variables.changes()) == (told["var"], [])
    for odd in ({}, None, [theirs]):
        variables.take({"var": theirs})
        variables.take(odd)
        with pytest.raises(LookupError):
            request_.get()


def test_what_the_script_has_entered_itself_stays(variables: ContextVariables, request_: ContextVar[Any]):
    theirs, mine = object(), object()
    variables.take({"var": theirs})
    token = request_.set(mine)
    variables.take({})
    assert request_.get() is mine
    request_.reset(token)
    assert request_.get() is theirs


def test_the_program_has_what_it_is_lent(request_: ContextVar[Any]):
    borrower, mine = Borrower({}, 0), object()
    borrower.take("contexts", "flask.globals", "var", False, mine)
    borrower.take("contexts", "flask.globals", "none", False, mine)
    assert (request_.get(None), borrower.contexts.told(None, "flask.globals")) == (mine, {})
    borrower.take("contexts", "flask.globals", "var", True, None)
    with pytest.raises(LookupError):  # by which flask says that nothing is under way
        request_.get()


def test_the_program_tells_what_it_has_entered(request_: ContextVar[Any], monkeypatch: pytest.MonkeyPatch):
    contexts, own = ProgramContexts(), object()
    assert contexts.told(None, "flask.globals") == {}
    contexts.put("flask.globals", "var", object())
    token = request_.set(own)
    assert contexts.told(None, "flask.globals") == {"var": own}
    request_.reset(token)
    contexts.put("flask.globals", "var", object())
    token = request_.set(None)
    assert not any(contexts.told(None, "flask.globals").values())
    request_.reset(token)
    monkeypatch.delitem(sys.modules, "flask.globals")
    assert contexts.told(None, "flask.globals") == {}


def test_what_the_program_does_not_use_is_not_imported_to_tell_of_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "this", raising=False)
    assert ProgramContexts().told(None, "this") == {}
    assert "this" not in sys.modules


def test_another_thread_has_contexts_of_its_own(variables: ContextVariables, request_: ContextVar[Any]):
    variables.take({"var": 1})
    found = []

    def work() -> None:
        variables.take({"var": 2})
        found.append(request_.get(None))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [2]
