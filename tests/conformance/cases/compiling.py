"""Text that is hard on the compiler. It is compiled in a worker only, so the worst it can do is end one."""

from __future__ import annotations

from conformance.case import ANY_BUT_X, Case, call, case, script

BLOCKS = "".join(" " * depth + "if True:\n" for depth in range(100)) + " " * 100 + "pass\ndef f(): return 'held'\n"


def nested_fstring(depth: int) -> str:
    """An f-string in an f-string, `depth` times."""
    text = "1"
    for _ in range(depth):
        text = "f'{" + text + "}'"
    return text


CASES: list[Case] = [
    case("parentheses", "10**5 open parentheses", call("IF", "x = " + "(" * 10**5)),
    case(
        "long-sum", "a sum of 209,644 terms", call(ANY_BUT_X, "x = 0" + "+0" * 209_644 + "\ndef f(): return 'held'\n")
    ),
    case("nested-blocks", "100 nested blocks", call("IF", BLOCKS)),
    case(
        "nested-f-strings",
        "f-string nested 200 deep",
        call(ANY_BUT_X, f"def f(): return {nested_fstring(200)}\n", expected="'1'"),
    ),
    # R: the whole message may already be over the cap of the transport.
    case("huge-literal", "a literal of 10 MB", call("IPR", "x = '" + "a" * (10 << 20) + "'\ndef f(): return 'held'\n")),
    case("constant-folding", "constant folding of (1,) * 10**9", call("MF", "def f(): return len((1,) * 10**9)\n")),
    case("many-statements", "10**6 statements", call("PTIM", "0\n" * 10**6 + "def f(): return 'held'\n")),
    case(
        "slow-regex",
        "regular expression that is hard to compile",
        call("TMF", "import re\ndef f(): return re.compile('a{0,9}(b|c)' * 10**6)"),
    ),
    case(
        "coding-cookie",
        "NUL, odd coding cookie",
        call("I", "x = '\0'\ndef f(): return 'held'\n"),
        # Text arrives decoded, so a cookie is a comment like any other, as it is for compile(str).
        call("IP", "# -*- coding: no-such-codec -*-\ndef f(): return 'held'\n"),
    ),
    case(
        "odd-newlines",
        "CR, form feed and tabs, as plain CPython has them",
        call("P", "def f():\r\n\tif True:\r\n\t\treturn 'held'\r\n"),
        call("P", "\fdef f():\r\treturn 'held'\r"),
        call("IF", "def f():\n\tif True:\n        \treturn 'held'\n    \treturn 1\n"),
    ),
    case(
        "future-import",
        "from __future__ does not leak into the text of a check",
        script(
            "P",
            "from __future__ import annotations\ndef f(x: int) -> int: return x\n",
            """
            def check(candidate):
                def g(x: 1 + 1): return x
                assert g.__annotations__ == {'x': 2}, g.__annotations__
                assert candidate(3) == 3
            check(candidate)
            """,
        ),
    ),
]
