"""The events by which a script is heard to run code are those of both twins, and who hears them may prevent it."""

from __future__ import annotations

import pytest
from interpreters import Twin, twins

HEARS = """
import json
heard = []
k.hear(("exec", "pickle.find_class"), lambda event, arguments: heard.append((event, len(arguments))))
eval("1")
id(heard)
import pickle
before = len(heard)
pickle.loads(b"cbuiltins\\nlen\\n.")
print(json.dumps([heard[0], heard[before], len(heard) - before]))
"""


@pytest.mark.parametrize("twin", twins(), ids=str)
def test_events_are_heard(twin: Twin):
    assert twin.ask(HEARS) == [["exec", 1], ["pickle.find_class", 2], 1]


REFUSES = """
import json
def refuse(event, arguments): raise KeyError(event)
k.hear(("exec",), refuse)
try:
    eval("print('it ran')")
except KeyError as error:
    print(json.dumps(error.args))
"""


@pytest.mark.parametrize("twin", twins(), ids=str)
def test_what_raises_prevents_what_it_heard_of(twin: Twin):
    assert twin.ask(REFUSES) == ["exec"]
