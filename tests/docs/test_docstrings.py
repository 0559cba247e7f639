"""Every public name of the client says what its arguments are, what it gives and what it raises."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import cruxbox
import cruxbox.building
import cruxbox.stats
import pytest
from cruxbox.endpoint import BaseClient


def public() -> Iterator[tuple[str, Any]]:
    for package in (cruxbox, cruxbox.building, cruxbox.stats):
        yield from ((f"{package.__name__}.{name}", getattr(package, name)) for name in package.__all__)


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, thing in public():
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing):
            methods = inspect.getmembers(thing, lambda member: inspect.isfunction(member) or inspect.ismethod(member))
            yield from ((f"{name}.{at}", method) for at, method in methods if not at.startswith("_"))


def fields() -> Iterator[tuple[str, type]]:
    for name, thing in public():
        if dataclasses.is_dataclass(thing) and inspect.isclass(thing):
            yield name, thing


def says(doc: str, name: str) -> bool:
    """In a list of arguments, or in a sentence."""
    return re.search(rf"^\s*(\w+, )*{name}(, \w+)*:|`{name}`", doc, re.MULTILINE) is not None


@pytest.mark.parametrize(("name", "function"), list(functions()), ids=lambda one: one if isinstance(one, str) else "")
def test_a_function_says_what_goes_in_and_what_comes_out(name: str, function: Callable[..., Any]) -> None:
    doc = inspect.getdoc(function) or ""
    signature = inspect.signature(function)
    parameters = [parameter for parameter in signature.parameters if parameter not in ("self", "cls")]
    assert [parameter for parameter in parameters if not says(doc, parameter)] == []
    is_sentence = doc.strip() and "\n" not in doc.strip()
    if signature.return_annotation not in (None, "None", inspect.Signature.empty):
        assert is_sentence or "Returns:" in doc or "Yields:" in doc
    if re.search(r"^\s+raise \w", inspect.getsource(function), re.MULTILINE):
        assert "Raises" in doc


@pytest.mark.parametrize(("name", "kind"), list(fields()), ids=lambda one: one if isinstance(one, str) else "")
def test_a_dataclass_says_what_its_fields_are(name: str, kind: type) -> None:
    assert [
        field.name for field in dataclasses.fields(kind) if not re.search(rf"\b{field.name}\b", kind.__doc__ or "")
    ] == []


def test_every_other_class_says_what_it_is() -> None:
    classes = [thing for _, thing in public() if inspect.isclass(thing)]
    assert [kind for kind in classes if not kind.__doc__ and not issubclass(kind, enum.Enum)] == []


def test_both_clients_have_one_constructor_which_says_what_its_arguments_are() -> None:
    doc = BaseClient.__doc__ or ""
    for client in (cruxbox.Client, cruxbox.AsyncClient):
        assert "BaseClient" in (client.__doc__ or "")
        assert [name for name in inspect.signature(client).parameters if not says(doc, name)] == []
