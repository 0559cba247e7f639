"""Scripts on programs that give what is not plain data, change their arguments, raise, or lie: one case each.

They stand in `separated_cases.txt`, and those of `docs/two-processes.md` in `two_processes.txt`: a line
`==== OUTCOME: name @ entry point`, the program, `----`, the script. There may be no entry point.
"""

from __future__ import annotations

from pathlib import Path


def cases_of(name: str) -> dict[str, tuple[str, str, str, str]]:
    """name -> (program, script, entry point, outcome), of a file beside this one."""
    found = {}
    for part in Path(__file__).with_name(name).read_text().split("==== ")[1:]:
        head, _, body = part.partition("\n")
        outcome, _, title = head.partition(": ")
        case, _, entry_point = title.partition(" @ ")
        program, _, script = body.partition("\n----\n")
        assert case not in found, case
        found[case] = (program + "\n", script, entry_point, outcome)
    return found


CASES = cases_of("separated_cases.txt")
