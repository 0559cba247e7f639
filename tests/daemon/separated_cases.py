"""Scripts on programs that give what is not plain data, change their arguments, raise, or lie: one case each.

They stand in `separated_cases.txt`: a line `==== OUTCOME: name @ entry point`, the
program, `----`, the script. There may be no entry point.
"""

from __future__ import annotations

from pathlib import Path


def _read() -> dict[str, tuple[str, str, str, str]]:
    """name -> (program, script, entry point, outcome)."""
    found = {}
    for part in Path(__file__).with_suffix(".txt").read_text().split("==== ")[1:]:
        head, _, body = part.partition("\n")
        outcome, _, title = head.partition(": ")
        name, _, entry_point = title.partition(" @ ")
        program, _, script = body.partition("\n----\n")
        assert name not in found, name
        found[name] = (program + "\n", script, entry_point, outcome)
    return found


CASES = _read()
