"""Settings of libraries, of which each half has its own: noticed by one half, set by the other."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.state.borrowing import Borrower
from cruxcell.jobs.separated.state.library_settings import (
    LibrarySettings,
    is_plain,
    names_code,
    settings_in,
    settings_of,
)


class Settings:
    """As those of django: none until they are configured, and then on top of what is there anyway."""

    def __init__(self) -> None:
        self.__dict__["_wrapped"] = None

    @property
    def configured(self) -> bool:
        return self._wrapped is not None

    def configure(self, **values: object) -> None:
        assert not self.configured
        self.__dict__["_wrapped"] = SimpleNamespace(**{"DEBUG": False, "CHARSET": "utf-8", "KEYS": [], **values})

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("not configured")

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._wrapped, name, value)


class Parameters(dict):  # type: ignore[type-arg]
    def __setitem__(self, name: str, value: object) -> None:
        if name not in self:
            raise KeyError(name)
        if type(value) is list and type(self[name]) is int:
            raise TypeError(value)
        if type(value) is not type(self[name]):
            raise ValueError(value)
        dict.__setitem__(self, name, value)


@pytest.fixture
def django(monkeypatch: pytest.MonkeyPatch) -> Settings:
    module: Any = ModuleType("django.conf")
    module.settings = Settings()
    module.global_settings = SimpleNamespace(DEBUG=False, CHARSET="utf-8", KEYS=[], lower=1)
    monkeypatch.setitem(sys.modules, "django.conf", module)
    return module.settings  # type: ignore[no-any-return]


@pytest.fixture
def parameters(monkeypatch: pytest.MonkeyPatch) -> Parameters:
    module: Any = ModuleType("matplotlib")
    module.rcParams = Parameters({"size": 1, "name": "a", "names": ["a"], "backend": "agg", "cycle": object()})
    monkeypatch.setitem(sys.modules, "matplotlib", module)
    return module.rcParams  # type: ignore[no-any-return]


def told(one: LibrarySettings) -> list[Any]:
    return [change[-1] for change in one.changes()]


def test_settings_are_of_libraries_that_the_script_names(django: Settings, parameters: Parameters):
    assert [each.library for each in settings_in(["django.http", "plt"])] == ["django.conf"]
    assert [each.library for each in settings_in(["matplotlib.pyplot", "f"])] == ["matplotlib"]
    assert settings_in(["f", "my.django"]) == []


def test_a_library_that_is_not_there_has_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "django.conf", None)
    assert settings_in(["django.conf"]) == []


def test_what_the_script_configures_the_program_has(django: Settings):
    one = LibrarySettings("django.conf", ["settings"])
    assert (told(one), one.asks) == ([], ("settings", "django.conf"))
    django.configure(CHARSET="ascii", MINE=1)
    assert told(one) == [{"CHARSET": "ascii", "MINE": 1}]
    assert told(one) == []
    django.DEBUG = True
    assert one.changes() == [("settings", "django.conf", "", False, {"DEBUG": True})]


def test_a_script_that_configures_nothing_new_configures(django: Settings):
    one = LibrarySettings("django.conf", [])
    django.configure()
    assert (told(one), told(one)) == ([{}], [])


def test_a_program_that_configures_nothing_new_configures_the_script(django: Settings):
    LibrarySettings("django.conf", []).take({})
    assert django.configured


def test_names_of_its_own_are_known_where_the_script_has_configured_them(django: Settings):
    django.configure(MINE=1)
    one = LibrarySettings("django.conf", ["MINE", "OTHER"])
    assert one.names == ["MINE"]
    django.DEBUG = True
    assert told(one) == [{"DEBUG": True}]


def test_what_has_no_value_is_no_setting(django: Settings):
    class Wrapped(SimpleNamespace):
        DEBUG = property(lambda self: self.missing)

    django.__dict__["_wrapped"] = Wrapped(CHARSET="ascii")
    assert settings_of(None, "django.conf", "CHARSET", "DEBUG") == {"CHARSET": "ascii"}


def test_the_program_is_configured_once_and_then_set(django: Settings):
    borrower = Borrower({}, 0)
    borrower.take("settings", "django.conf", "", False, {"CHARSET": "ascii"})
    borrower.take("settings", "django.conf", "", False, {"DEBUG": True})
    assert (django._wrapped.CHARSET, django._wrapped.DEBUG) == ("ascii", True)


def test_a_program_without_the_library_is_told_in_vain(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "django.conf", None)
    Borrower({}, 0).take("settings", "django.conf", "", False, {"CHARSET": "ascii"})


def test_the_script_has_that_the_program_is_configured_and_what_it_names(django: Settings):
    one = LibrarySettings("django.conf", ["CHARSET", "KEYS", "lower"])
    assert one.names == ["CHARSET", "KEYS"]
    one.take(None)
    assert (bool(one.asks), django.configured) == (True, False)
    one.take({"CHARSET": "ascii", "DEBUG": True, "KEYS": {}})
    assert (django._wrapped.CHARSET, django._wrapped.DEBUG, django._wrapped.KEYS) == ("ascii", False, [])
    assert told(one) == []


def test_the_program_tells_what_is_asked_and_plain(django: Settings):
    assert settings_of(None, "django.conf", "CHARSET") is None
    django.configure(KEYS={}, MINE=object())
    assert settings_of(None, "django.conf", "CHARSET", "KEYS", "MINE", "NONE") == {"CHARSET": "utf-8"}


def test_a_program_that_does_not_use_the_library_tells_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "django.conf", raising=False)
    assert settings_of(None, "django.conf", "CHARSET") is None


def test_parameters_that_are_set_and_those_that_are_named(parameters: Parameters):
    one = LibrarySettings("matplotlib", ["size", "backend", "cycle", "none"])
    assert (one.asks, told(one)) == (("settings", "matplotlib", "size"), [])
    parameters.update(size=2, backend="svg", name="b")
    assert told(one) == [{"size": 2, "name": "b"}]
    one.take({"size": 3, "name": "c"})
    assert (parameters["size"], parameters["name"], told(one)) == (3, "b", [])


def test_a_script_that_names_no_parameter_asks_for_none(parameters: Parameters):
    assert LibrarySettings("matplotlib", ["plt"]).asks == ()


def test_a_value_is_another_if_its_type_is_and_the_same_if_it_equals_nothing(parameters: Parameters):
    parameters.update(width=float("nan"))
    one = LibrarySettings("matplotlib", ["size"])
    assert told(one) == []
    parameters.update(size=True)
    assert told(one) == [{"size": True}]


def test_of_what_the_program_does_not_tell_the_script_keeps_its_own(parameters: Parameters):
    one = LibrarySettings("matplotlib", ["size", "name"])
    one.take({"name": "b"})
    assert (parameters["size"], parameters["name"]) == (1, "b")


def test_what_the_program_was_lent_is_no_news_of_it(parameters: Parameters):
    one = LibrarySettings("matplotlib", ["size"])
    parameters["size"] = 3
    assert told(one) == [{"size": 3}]
    parameters["size"] = 4
    one.take({"size": 3})
    assert parameters["size"] == 4


def test_what_the_script_has_set_meanwhile_stays(parameters: Parameters):
    one = LibrarySettings("matplotlib", ["size"])
    one.take({"size": 2})
    parameters["size"] = 3
    one.take({"size": 2})
    assert (parameters["size"], told(one)) == (3, [{"size": 3}])
    one.take({"size": 3})
    one.take({"size": 2})
    assert parameters["size"] == 2


def test_a_value_that_the_library_does_not_take_is_left(parameters: Parameters):
    one = LibrarySettings("matplotlib", ["size", "name"])
    one.take({"size": "large", "name": "b"})
    assert (parameters["size"], parameters["name"]) == (1, "b")
    one.take({"size": [2], "name": "c"})
    assert (parameters["size"], parameters["name"]) == (1, "c")


def test_what_the_library_raises_of_a_value_is_no_error_of_the_script_s(
    django: Settings, monkeypatch: pytest.MonkeyPatch
):
    def set_none(*_: object) -> None:
        raise TypeError

    django.configure()
    monkeypatch.setattr(Settings, "__setattr__", set_none)
    LibrarySettings("django.conf", ["CHARSET"]).take({"CHARSET": "ascii"})
    assert django._wrapped.CHARSET == "utf-8"


@pytest.mark.parametrize(
    ("value", "is_so"),
    [
        ("unittest.mock.MagicMock", True),
        ("builtins:exit", True),
        ("__main__.f", True),
        ([["a"], ("json:loads",)], True),
        ("json", False),
        ("django.core.mail.Backend", False),
        ("no_module_of_anybody.com", False),
        ("json.", False),
        ("serif", False),
        ("/static/", False),
        (1.5, False),
        (None, False),
    ],
)
def test_a_text_names_code_of_another_module_than_the_library_s(value: object, is_so: bool):
    assert names_code(value, "django") is is_so


def test_no_code_that_the_program_names_is_the_script_s(parameters: Parameters):
    one = LibrarySettings("matplotlib", ["name", "names"])
    one.take({"name": "matplotlib.pyplot:close", "names": ["builtins:exit"]})
    assert (parameters["name"], parameters["names"]) == ("matplotlib.pyplot:close", ["a"])


def test_a_library_that_keeps_its_parameters_otherwise_has_none(monkeypatch: pytest.MonkeyPatch):
    module: Any = ModuleType("matplotlib")
    module.rcParams = SimpleNamespace(size=1)
    monkeypatch.setitem(sys.modules, "matplotlib", module)
    assert LibrarySettings("matplotlib", ["size"]).names == []


def test_plain_is_what_holds_no_object():
    assert all(map(is_plain, [None, True, 1, 0.5, "a", ["a", (1, 2)], ()]))
    assert not any(map(is_plain, [b"a", object(), {}, [object()], [[["a"]]], [{}]]))
