"""The name by which a script imports the program: which may be one, and what is made of a script that has it."""

from __future__ import annotations

import pytest
from cruxcell.analysis.parsing import CHECK, Invalid
from cruxcell.jobs.program_module import MAIN, _LoadedOnce, compiled, of_main, refuse_taken

IN_IT = "prices." + MAIN


@pytest.mark.parametrize("name", ["", "prices", "no_such_module"])
def test_a_name_that_no_module_has_may_be_the_program_s(name: str):
    refuse_taken(name)


@pytest.mark.parametrize("name", ["sys", "cruxcell", "colorsys", "__main__"])
def test_a_name_that_a_module_has_may_not(name: str):
    with pytest.raises(Invalid, match=f"^module is '{name}', which this runtime has as a module of its own"):
        refuse_taken(name)


def test_who_loads_it_a_second_time_hears_which_module_that_is():
    said: list[str] = []
    for name in ("price", "prices"):
        _LoadedOnce("prices", said.append).find_spec(name)
    assert said == ["the script loads the module prices a second time, and the program is in another process"]


def test_the_module_itself_is_taken_as_the_main_one_in_it():
    source = "import os, prices\nimport prices as p\nfrom prices import f\ndef g():\n    import prices, prices.core\n"
    code = compiled(source, "prices", True)
    assert (code.co_filename, code.co_names) == (CHECK, ("os", IN_IT, MAIN, "prices", "p", "f", "g"))
    inner = next(each for each in code.co_consts if hasattr(each, "co_names"))
    assert (inner.co_names, inner.co_varnames) == ((IN_IT, MAIN, "prices.core"), ("prices",))
    assert compiled(source, "", True).co_names == ("os", "prices", "p", "f", "g")


def test_a_script_may_be_a_file_that_is_imported():
    source = "ran = [__name__ == '__main__', '__main__' != __name__, name == '__main__', __name__ is here]"
    names = {"__name__": MAIN, "name": MAIN, "here": MAIN}
    for module in ("", "prices"):
        for is_main in (True, False):
            exec(compiled(source, module, is_main), names)
            assert names["ran"] == [is_main, not is_main, True, True]


def test_a_script_that_cannot_be_parsed_is_invalid_by_any_name():
    for name in ("", "prices"):
        with pytest.raises(Invalid):
            compiled("import", name, True)


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("prices", MAIN),
        ("prices.f", MAIN + ".f"),
        ("prices.Cart.total", MAIN + ".Cart.total"),
        ("prices_of.f", "prices_of.f"),
        ("my.prices", "my.prices"),
        ("", ""),
    ],
)
def test_a_place_in_it_is_one_in_the_main_module(text: str, there: str):
    assert of_main(text, "prices") == there
    assert of_main(text, "") == text
    assert of_main("." + text, "") == "." + text
