"""Which questions an end of a connection refuses, and which of its own ask a class."""

from __future__ import annotations

from typing import Any

import pytest
from cruxcell.jobs.separated.exchange import link as links
from cruxcell.jobs.separated.exchange.link import VALUE
from cruxcell.jobs.separated.exchange.one_thread import QUESTION
from link_messages import EIGHT, LEN, Other, end, message, other_end, text  # noqa: F401 - a fixture among them


def test_a_refusal_names_what_is_an_attribute_s_name_alone(other: Other):
    asked = [(text("get"), text("upper")), (text("get"), EIGHT), (text("special"), text("__len__")), (text("names"),)]
    other.send(*[message(QUESTION, at, how, text("ab"), *rest) for at, (how, *rest) in enumerate(asked, 1)])
    end(permits=lambda *_: False).serve()
    for (_, _, said), what in zip(other.got(), [b"get upper", b"get this", b"special this", b"names this"]):
        assert b"a candidate may not " + what + b" of the test" in said


@pytest.mark.parametrize("is_test", [True, False])
def test_only_the_test_asks_a_class_for_what_it_has(is_test: bool, monkeypatch: pytest.MonkeyPatch):
    link = end(is_test)
    monkeypatch.setattr(links, "class_asked", lambda *_: int)
    monkeypatch.setattr(link.threads, "exchange", lambda _operation, _fields, cls: (VALUE, cls))
    assert link.ask("get", "ab") == (int if is_test else None)


def test_a_question_of_the_other_end_is_no_answer_of_a_class(other: Other, monkeypatch: pytest.MonkeyPatch):
    """Both ends count their questions from 1."""
    link, read = end(), list[object]()
    monkeypatch.setattr(links, "class_asked", lambda *_: int)
    taken = link._read

    def noted(*arguments: Any) -> Any:
        read.append(link.objects.asked)
        return taken(*arguments)

    monkeypatch.setattr(link, "_read", noted)
    other.send(message(QUESTION, 1, text("call"), LEN, text(""), text("abc")), message(VALUE, 1, EIGHT))
    assert link.ask("get", "ab") == 8
    assert (read, link.of_classes, link.objects.asked) == ([None, int], {}, int)
