"""What a separated script hears of the program: its warnings and logs."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from cruxcell.jobs.separated.state import listening
from cruxcell.jobs.separated.state.listening import Heard, Listener


@pytest.fixture(autouse=True)
def own_loggers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(logging.Logger, "callHandlers", logging.Logger.callHandlers)
    level = logging.getLogger().level
    yield
    logging.getLogger().setLevel(level)


def test_a_script_that_names_nothing_of_it_hears_nothing():
    assert not Listener({"open", "sys"}).is_needed
    assert Listener({"caplog"}).is_needed
    assert Listener({"catch_warnings"}).is_needed


def test_filters_and_whether_warnings_are_recorded_are_told_once():
    one = Listener({"catch_warnings"})
    assert one.wishes() == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert one.wishes() == [(False, [("error", "", Warning, "", 0)]), None, None]
    assert one.wishes() == [None, None, None]
    with warnings.catch_warnings(record=True):
        warnings.filterwarnings("error", "a.b", UserWarning, "m", 3)
        assert one.wishes() == [(True, [("error", "a.b", UserWarning, "m", 3)]), None, None]
        assert one.wishes() == []
        warnings.simplefilter("ignore")
        assert one.wishes() == [
            (True, [("ignore", "", Warning, "", 0), ("error", "a.b", UserWarning, "m", 3)]),
            None,
            None,
        ]
    assert one.wishes() == [None, None, None]


def test_levels_that_the_script_sets_are_told_and_taken_back():
    logger = logging.getLogger("cruxbox.listening")
    one = Listener({"logging"})
    assert one.wishes()[:2] == [None, {}]
    try:
        logger.setLevel(15)
        logging.disable(5)
        assert one.wishes()[:2] == [None, {"cruxbox.listening": 15, "": 5}]
    finally:
        logger.setLevel(0)
        logging.disable(0)
    assert one.wishes()[:2] == [None, {}]


def test_loggers_that_have_handlers_are_told():
    logger, one = logging.getLogger("cruxbox.listening"), Listener({"capsys"})
    logger.handlers = [logging.NullHandler()]
    assert "cruxbox.listening" in one.wishes()[2]
    logger.handlers = []
    assert "cruxbox.listening" not in one.wishes()[2]


def test_a_record_holds_what_its_text_is_made_of_and_what_was_set_on_it_if_that_is_plain():
    one, records = Listener({"logging"}), list[logging.LogRecord]()
    kept = logging.Handler()
    kept.emit = records.append  # type: ignore[assignment]
    logger = logging.getLogger("cruxbox.listening")
    logger.propagate, logger.handlers = False, [kept]
    for arguments, more in (
        ((1, "b"), {"user": "u", "levelno": 9, "msg": "other"}),
        (([1],), {"user": [1]}),
        ((), {1: 2}),
    ):
        one.hear([("cruxbox.listening", 40, "ERROR", "a", arguments, more, "f", 1, "", None)])
    logger.handlers = []
    assert [each.args for each in records] == [(1, "b"), (), ()]
    assert [getattr(each, "user", None) for each in records] == ["u", None, None]
    assert [(each.levelno, each.msg) for each in records] == [(40, "a")] * 3
    assert all(type(name) is str for each in records for name in vars(each))


def test_warnings_of_the_program_are_shown():
    one = Listener({"catch_warnings"})
    with warnings.catch_warnings(record=True) as found:
        one.wishes()
        one.hear([(UserWarning("a"), "x.py", 3)])
    assert [(str(each.message), each.category, each.filename, each.lineno) for each in found] == [
        ("a", UserWarning, "x.py", 3)
    ]


class _Ends(UserWarning, StopIteration):
    pass


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append((record.name, record.levelname, record.getMessage()))


def test_logs_of_the_program_go_to_handlers_and_are_printed_by_nobody(capsys: pytest.CaptureFixture[str]):
    one, kept = Listener({"logging"}), Kept()
    logger = logging.getLogger("cruxbox.listening")
    logger.propagate, logger.handlers = False, []
    told = ("cruxbox.listening", 40, "ERROR", "50% %s", (), {}, "f", 1, "", None)
    one.hear([told])
    logger.addHandler(kept)
    one.hear([told])
    logger.disabled = True
    one.hear([told])
    logger.disabled = False
    logger.removeHandler(kept)
    assert kept.found == [("cruxbox.listening", "ERROR", "50% %s")]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("error", "is_told"),
    [(KeyError("k"), True), (None, False), (StopIteration(), False), (SystemExit(0), False), ("KeyError", False)],
)
def test_a_record_may_be_about_an_error(error: Any, is_told: bool):
    one, records = Listener({"logging"}), list[logging.LogRecord]()
    kept = logging.Handler()
    kept.emit = records.append  # type: ignore[assignment]
    logger = logging.getLogger("cruxbox.listening")
    logger.propagate, logger.handlers = False, [kept]
    one.hear([("cruxbox.listening", 40, "ERROR", "a", (), {}, "f", 1, "Traceback\nKeyError", error)])
    logger.handlers = []
    (record,) = records
    assert record.exc_info == ((type(error), error, None) if is_told else None)
    assert logging.Formatter().format(record) == "a\nTraceback\nKeyError"


def test_a_record_without_a_traceback_has_none():
    one, records = Listener({"logging"}), list[logging.LogRecord]()
    logger = logging.getLogger("cruxbox.listening")
    logger.propagate, logger.handlers = False, [kept := logging.Handler()]
    kept.emit = records.append  # type: ignore[assignment]
    one.hear([("cruxbox.listening", 40, "ERROR", "a", (), {}, "f", 1, "", None)])
    logger.handlers = []
    assert [each.exc_text for each in records] == [None]


def test_the_root_is_asked_for_by_no_name(monkeypatch: pytest.MonkeyPatch):
    """Up to 3.8 `root` is the name of another logger."""
    asked, get_logger = list[object](), logging.getLogger

    def noted(name: str | None = None) -> logging.Logger:
        asked.append(name)
        return get_logger(name)

    monkeypatch.setattr(logging, "getLogger", noted)
    monkeypatch.setattr(get_logger(), "handlers", [logging.NullHandler()])
    for name in ("root", "cruxbox.listening"):
        Listener({"logging"}).hear([(name, 40, "ERROR", "a", (), {}, "f", 1, "", None)])
        Heard().listen(None, None, {name: get_logger(name).level}, [])
    assert [name for name in asked if name is not None] == ["cruxbox.listening"] * 2
    assert "root" not in logging.root.manager.loggerDict


@pytest.mark.parametrize(
    "told",
    [
        None,
        "a",
        [1],
        [(1, 2, 3)],
        [("a", "x.py", 1)],
        [(ValueError("a"), "x.py", 1)],
        [(UserWarning("a"), 1, 1)],
        [(_Ends("a"), "x.py", 1)],
        [(UserWarning("a"), "x.py", "1")],
        [("root", "40", "ERROR", "a", (), {}, "f", 1, "", None)],
        [("root", True, "ERROR", "a", (), {}, "f", 1, "", None)],
        [("root", 40, "ERROR", ["a"], (), {}, "f", 1, "", None)],
        [("root", 40, "ERROR", "a", (), {}, "f", 1, None, None)],
        [("root", 40, "ERROR", "a", [], {}, "f", 1, "", None)],
        [("root", 40, "ERROR", "a", (), [], "f", 1, "", None)],
        [("root", 40, "ERROR", "a", (), {}, "f", 1)],
        [("root", 40, "ERROR", "a")],
        [("a" * 1001, 40, "ERROR", "a", (), {}, "f", 1, "", None)],
    ],
)
def test_what_is_neither_is_not_heard(told: object):
    one, kept = Listener({"logging", "catch_warnings"}), Kept()
    logging.getLogger().addHandler(kept)
    try:
        with warnings.catch_warnings(record=True) as found:
            one.wishes()
            one.hear(told)
    finally:
        logging.getLogger().removeHandler(kept)
    assert (found, kept.found) == ([], [])


def test_who_does_not_listen_to_logs_hears_none():
    Listener({"catch_warnings"}).hear([("root", 40, "ERROR", "a", (), {}, "f", 1, "", None)])


def test_nobody_records_and_no_warning_is_shown():
    one = Listener({"catch_warnings"})
    with warnings.catch_warnings(record=True) as found:
        one.hear([(UserWarning("a"), "x.py", 3)])
    assert found == []


def warn() -> None:
    warnings.warn("old", DeprecationWarning, stacklevel=2)


def test_the_program_warns_as_the_script_has_set():
    one = Heard()
    before = list(warnings.filters)
    one.listen(None, (True, [("always", "", Warning, "", 0)]), None, None)
    warn()
    warn()
    assert [(str(each[0]), type(each[0])) for each in one.heard(None)] == [("old", DeprecationWarning)] * 2
    assert one.heard(None) == []
    one.listen(None, (False, [("error", "", DeprecationWarning, "", 0)]), None, None)
    with pytest.raises(DeprecationWarning):
        warn()
    one.listen(None, None, None, None)
    assert (warnings.filters, one.heard(None)) == (before, [])


def test_the_program_logs_as_the_script_has_set():
    one, logger = Heard(), logging.getLogger("cruxbox.heard")
    logger.setLevel(logging.ERROR)
    one.listen(None, None, {"cruxbox.heard": logging.INFO}, [])
    logger.info("a %s", 1)
    one.listen(None, None, {}, [])
    logger.info("b")
    logger.error("c")
    told = one.heard(None)
    assert [each[:6] for each in told] == [
        ("cruxbox.heard", 20, "INFO", "a %s", (1,), {}),
        ("cruxbox.heard", 40, "ERROR", "c", (), {}),
    ]
    assert (logger.level, one.heard(None)) == (logging.ERROR, [])
    one.listen(None, None, {"root": 10, "": 30}, [])
    assert (logging.getLogger().level, logging.root.manager.disable) == (10, 30)
    one.listen(None, None, {}, [])
    assert logging.root.manager.disable == 0
    logger.setLevel(logging.DEBUG)
    one.listen(None, None, {}, [])
    assert logger.level == logging.DEBUG, "what the program sets later is its own"


def test_a_record_is_told_with_its_plain_data():
    one, logger = Heard(), logging.getLogger("cruxbox.heard")
    one.listen(None, None, {"cruxbox.heard": 10}, ["cruxbox"])
    logger.info("a %s", [1], extra={"user": "u", "held": [1]})
    logger.info(ValueError("b"), extra={"user": None})
    logger.info("%(a)s", {"a": 1})
    assert [each[3:6] for each in one.heard(None)] == [
        ("a [1]", (), {"user": "u"}), ("b", (), {"user": None}), ("1", (), {}),
    ]  # fmt: skip
    one.listen(None, None, {}, [])


def test_a_record_is_told_with_its_error():
    one, logger, error = Heard(), logging.getLogger("cruxbox.heard"), KeyError("k")
    one.listen(None, None, {}, ["cruxbox"])
    logger.error("a", exc_info=error)
    logger.error("b", exc_info=True)  # of which there is none
    assert [each[-2:] for each in one.heard(None)] == [("KeyError: 'k'", error), ("", None)]
    one.listen(None, None, {}, [])


def test_so_many_records_are_told_in_an_answer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(listening, "_MOST", 2)
    one = Heard()
    one.listen(None, None, {}, ["root"])
    for text in "abc":
        logging.getLogger("cruxbox.heard").error(text)
    assert [each[3] for each in one.heard(None)] == ["a", "b"]


def test_the_programs_own_handlers_have_its_records_whoever_else_has():
    one, logger, kept = Heard(), logging.getLogger("cruxbox.heard"), Kept()
    one.listen(None, None, {}, ["root"])
    logger.addHandler(kept)
    logger.error("a")
    logger.removeHandler(kept)
    assert kept.found == [("cruxbox.heard", "ERROR", "a")]


@pytest.mark.parametrize(
    ("heard", "is_printed"),
    [([], True), (["root"], False), (["cruxbox"], False), (["cruxbox.heard"], False), (["cruxbox.heard.more"], True)],
)
def test_what_a_handler_of_the_script_has_heard_is_not_printed_for_want_of_one(
    heard: list[str], is_printed: bool, monkeypatch: pytest.MonkeyPatch
):
    kept = Kept()
    monkeypatch.setattr(logging, "lastResort", kept)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    one = Heard()
    one.listen(None, None, {}, heard)
    logging.getLogger("cruxbox.heard").error("a")
    assert bool(kept.found) is is_printed
    assert len(one.heard(None)) == 1
