"""SQL in the test's process calls functions of SQL and of its connection alone, and attaches what may be opened."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.rules import databases
from cruxcell.jobs.separated.rules.databases import MODULE, Databases


class Link:
    is_foreign, opens = True, False

    def may_have_texts(self) -> bool:
        return self.is_foreign

    def may_open(self, _path: str) -> bool:
        return self.opens

    def refuse(self, why: str) -> None:
        self.why = why


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch) -> Iterator[Link]:
    before = {name: dict(vars(sys.modules[name])) for name in (MODULE, "sqlite3", "sqlite3.dbapi2")}
    made = Link()
    guard = Databases(made).guard
    guard()
    guard()
    monkeypatch.setattr(databases, "serves_the_candidate", lambda _frame: True)
    yield made
    for name, found in before.items():
        vars(sys.modules[name]).update(found)


ASKS = "select fts3_tokenizer('simple')"


def asked(link: Link, text: str, base: Any = None) -> str:
    """Why a statement is refused; nothing where it is not."""
    link.why = ""
    with contextlib.suppress(sqlite3.Error):  # who is refused does not go on; and not every library has each function
        (base or sqlite3.connect(":memory:")).execute(text)
    return link.why


@pytest.mark.parametrize("connect", [
    lambda: sqlite3.connect(":memory:"),
    lambda: sqlite3.Connection(":memory:"),
    lambda: sqlite3.connect(":memory:", factory=type("Own", (sqlite3.Connection,), {})),
    lambda: sys.modules["sqlite3.dbapi2"].connect(":memory:", 5.0, 0, "", True, sqlite3.Connection),
    lambda: sys.modules[MODULE].connect(":memory:", 5.0),
])  # fmt: skip
def test_a_function_that_is_none_of_sql_s_ends_the_script(link: Link, connect: Any):
    base = connect()
    assert "fts3_tokenizer" in asked(link, ASKS, base)
    base.set_authorizer(None)
    assert "fts3_tokenizer" in asked(link, ASKS.replace("fts3", "FTS3"), base)
    assert asked(link, "select upper('a') || max(1, 2), count(*) from sqlite_master where 'a' like 'b'", base) == ""
    link.is_foreign = False
    assert asked(link, ASKS, connect()) == ""  # of a text that it knows, a connection asks nobody


def test_a_script_finds_its_library_as_it_was(link: Link):
    base = sqlite3.connect(":memory:")
    assert type(base) is sqlite3.Connection
    assert (sqlite3.Connection.__module__, sqlite3.Connection.__qualname__) == ("sqlite3", "Connection")
    assert sqlite3.connect.__name__ == "connect"
    assert not hasattr(base, "__dict__")


def test_functions_that_were_made_for_a_connection_are_its_own(link: Link):
    base, link.why = sqlite3.connect(":memory:"), ""
    base.create_function("Twice", 1, lambda value: 2 * value)
    assert base.execute("select twice(4)").fetchone() == (8,)
    kind = type("Sum", (), {"step": lambda self, value: None, "finalize": lambda self: 7})
    base.create_aggregate("own", 1, kind)
    assert base.execute("select own(1)").fetchone() == (7,)
    if sys.version_info < (3, 13):  # later ones want the name by its position
        base.create_function(name="Thrice", narg=1, func=lambda value: 3 * value)
        assert base.execute("select thrice(4)").fetchone() == (12,)
    assert link.why == ""
    assert asked(link, "select 1", base) == ""
    assert "load_extension" in asked(link, "select load_extension('a')")


def test_who_authorizes_is_asked_as_well(link: Link):
    base, seen = sqlite3.connect(":memory:"), []  # type: Any, list[Any]

    def denies(*what: Any) -> int:
        seen.append(what)
        return sqlite3.SQLITE_DENY

    base.set_authorizer(denies)
    with pytest.raises(sqlite3.DatabaseError):
        base.execute("select 1")
    assert seen == [(sqlite3.SQLITE_SELECT, None, None, None, None)]


@pytest.mark.parametrize("name", ["enable_load_extension", "load_extension"])
def test_code_is_not_loaded_where_that_may_be_the_candidate_s(link: Link, name: str):
    kind = type("Any", (sqlite3.Connection,), {name: lambda self, what: what})
    base = databases._guarded(kind, Databases(link))(":memory:")
    link.why = ""
    getattr(base, name)(True)
    assert name in link.why


@pytest.mark.parametrize(
    ("text", "opens", "may"),
    [
        ("attach 'a.db' as other", False, False),
        ("attach '' as other", False, True),
        ("attach ':memory:' as other", False, True),
        ("attach 'file:a.db' as other", True, False),
        ("attach 'a' || '.db' as other", True, False),
        ("vacuum into 'b.db'", False, False),
        ("vacuum into 'b.db'", True, True),
    ],
)
def test_the_candidate_attaches_what_it_may_have_opened(
    link: Link, text: str, opens: bool, may: bool, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    link.opens = opens
    base = sqlite3.connect(":memory:")
    if may:
        base.execute(text)
    else:
        with pytest.raises(sqlite3.DatabaseError, match="authoriz"):
            base.execute(text)
        monkeypatch.setattr(databases, "serves_the_candidate", lambda _frame: False)
        base.execute(text)  # the script itself


def test_a_library_that_is_there_is_guarded_at_once(monkeypatch: pytest.MonkeyPatch):
    """Any other before it is imported, which a script may never do."""
    guarded, texts, asked_by = [], SimpleNamespace(before_import={}), Databases(Link())
    monkeypatch.setattr(asked_by, "guard", lambda: guarded.append(1))
    asked_by.follow(texts)  # type: ignore[arg-type]
    assert guarded == [1]
    monkeypatch.delitem(sys.modules, MODULE)
    asked_by.follow(texts)  # type: ignore[arg-type]
    assert guarded == [1]
    assert list(texts.before_import) == [MODULE]


def test_a_library_is_guarded_also_without_what_is_built_on_it(monkeypatch: pytest.MonkeyPatch):
    own = vars(sys.modules[MODULE])
    monkeypatch.setitem(own, "Connection", own["Connection"])
    monkeypatch.setitem(own, "connect", own["connect"])
    monkeypatch.delitem(sys.modules, "sqlite3.dbapi2")
    monkeypatch.delitem(sys.modules, "sqlite3")
    before = own["connect"]
    Databases(Link()).guard()
    assert own["connect"] is not before


def test_a_connection_has_no_method_that_the_library_s_has_not(monkeypatch: pytest.MonkeyPatch):
    """Not every version of it makes functions for windows, or loads extensions."""
    monkeypatch.setattr(databases, "_MAKERS", (*databases._MAKERS, "create_none"))
    assert not hasattr(databases._guarded(sqlite3.Connection, Databases(Link())), "create_none")


def test_a_file_whose_name_nobody_knows_is_not_attached(link: Link):
    link.opens = True
    assert Databases(link).may_attach("a.db")
    assert not Databases(link).may_attach(None)


def test_where_there_is_no_library_its_import_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, MODULE, None)  # type: ignore[arg-type]
    Databases(SimpleNamespace()).guard()
