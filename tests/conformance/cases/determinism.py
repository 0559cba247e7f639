"""Determinism. The same check gives the same verdict: in another process, at another time, beside other work."""

from __future__ import annotations

from conformance.case import Case, call, calls, case
from conformance.scenarios import hash_order_fixed, parallel_as_serial, recursion_depth_fixed

ENVIRONMENT = """
import locale, os, sys, time
def f(n):
    return [
        lambda: time.tzname[0],
        lambda: time.strftime('%Z', time.localtime(0)),
        lambda: sys.getfilesystemencoding(),
        lambda: locale.setlocale(locale.LC_ALL),
        lambda: [k for k in os.environ if k in ('HOME', 'USER', 'PYTHONPATH', 'TMPDIR', 'PWD', 'LANG')],
        lambda: 'é'.encode().decode(),
    ][n]()
"""

CASES: list[Case] = [
    case("set-order", "order of sets of strings: 100 runs the same", scenario=hash_order_fixed),
    case(
        "fixed-surroundings",
        "time zone, locale and environment are fixed",
        calls(
            ENVIRONMENT,
            ("f(0)", "'UTC'", "P"),
            ("f(1)", "'UTC'", "P"),
            ("f(2)", "'utf-8'", "P"),
            ("f(4)", "[]", "P"),
            ("f(5)", "'é'", "P"),
            alone=True,
        ),
        call("P", "def f(): return '%.2f' % 1.5", expected="'1.50'"),
    ),
    case("parallel-as-serial", "one after the other and 64 at once: the same verdicts", scenario=parallel_as_serial),
    case("recursion-depth", "usable recursion depth does not depend on the harness", scenario=recursion_depth_fixed),
]
