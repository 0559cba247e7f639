"""Flags of classes change only together with what the seal compares, so it need not look at them (classes.c)."""

from __future__ import annotations

import pytest
from interpreters import Twin, pairs

# Each way in turn: did flags of any class change? Then a class's dict was written to, or an audit event was raised, or
# the number that `_abc.get_cache_token` gives has grown.
PROGRAM = """
import _abc, abc, gc, json, sys
import collections.abc as c

heard = []
sys.addaudithook(lambda event, args: heard.append(event) if event == "object.__setattr__" else None)
_VERSION_TAG = 1 << 19

def classes():
    found, waiting = {object}, [object]
    while waiting:
        new = set(type.__subclasses__(waiting.pop())) - found
        found |= new
        waiting += new
    return found

def flags():
    return {kind: kind.__flags__ & ~_VERSION_TAG for kind in before}

def ways(C, D):
    special = {name for kind in before for name in vars(kind) if name.startswith("__")}
    for name in sorted(special | {"__abstractmethods__", "__abc_tpflags__", "__slots__", "__match_args__"}):
        for value in (lambda self, *a: 1, None, frozenset(["x"]), frozenset(), 1 << 5, ()):
            yield lambda: setattr(C, name, value)
        yield lambda: delattr(C, name)
    for mark in (1 << 5, 1 << 6):
        C.__abc_tpflags__ = mark
        yield lambda: _abc._abc_init(C)
    yield lambda: c.Sequence.register(C)
    yield lambda: c.Mapping.register(D)
    yield lambda: [isinstance(C(), kind) for kind in before if isinstance(kind, abc.ABCMeta)]
    yield lambda: type("E", (C, D), {})
    yield lambda: setattr(C, "__bases__", (D,))
    yield lambda: setattr(C, "__name__", "other")
    yield lambda: (C() == C(), hash(C()), len(C()), C()[0], list(C()), C()(), bool(C()))
    yield lambda: (sys._clear_type_cache(), gc.collect(), gc.freeze(), gc.unfreeze())

class B: pass
class C(B): pass
class D(B): pass
def spaces():
    return {kind: {name: id(value) for name, value in vars(kind).items()} for kind in (B, C, D)}

before = classes()
seen, unseen = 0, []
for way in ways(C, D):
    del heard[:]
    known, held, token = flags(), spaces(), _abc.get_cache_token()
    kept = list(vars(C).values())  # so that nothing new has their addresses
    try:
        way()
    except Exception:
        pass
    changed = [each.__name__ for each, now in flags().items() if now != known[each]]
    seen += bool(changed)
    if changed and not (heard or spaces() != held or _abc.get_cache_token() != token):
        unseen.append(changed)
print(json.dumps([seen, unseen]))
"""


@pytest.mark.parametrize("twin", [native for _, native in pairs()], ids=str)
def test_flags_of_classes_change_only_with_what_is_compared(twin: Twin):
    seen, unseen = twin.ask(PROGRAM)
    assert seen > 0
    assert unseen == []
