"""What `make mutation` says of a change when the process that it asks ends."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from mutation.asking import TOO_LONG, Copy, Coverage, Gone, pytest_arguments
from mutation.modules import ROOT

pytestmark = pytest.mark.timeout(120)

MODULE, TEST = "cruxboxd/judging/cuts.py", "daemon/test_cuts.py"
SOURCE = (ROOT / "sandbox" / MODULE).read_text()
FIRST = "    begin = weight = 0\n"


@pytest.fixture
def copy(tmp_path: Path):
    made = Copy(tmp_path, sys.executable)
    yield made
    made.close()


def asked(copy: Copy, line: str, *, is_inside: bool = True) -> str:
    """What the tests say of a module whose function has this line first."""
    lines = {name: {MODULE: {1}} for name in copy.warm(TEST).tests}
    known = Coverage(lines, [], dict.fromkeys(lines, 0.1), "")
    change = SimpleNamespace(
        module=MODULE, source=SOURCE.replace(FIRST, line + FIRST), lines=range(1, 2), is_inside=is_inside
    )
    return copy.noticed(change, [TEST], SimpleNamespace(by=lambda *_: known))


def end(copy: Copy, test: str) -> None:
    """The process that is asked, without a word, as a host does that runs out of memory."""
    words = pytest_arguments(test) if test else []
    children = psutil.Process().children()
    (found,) = [each for each in children if each.cmdline()[1:] == [str(ROOT / "tests/mutation/warm.py"), *words]]
    found.kill()


@pytest.mark.parametrize("is_inside", [True, False])
def test_a_process_that_has_ended_is_started_again_and_notices_nothing_else(copy: Copy, is_inside: bool):
    asked_of = TEST if is_inside else ""
    copy.warm(asked_of)
    end(copy, asked_of)
    assert asked(copy, "", is_inside=is_inside) == ""
    assert asked(copy, "    most -= 1\n", is_inside=is_inside)


def test_a_change_that_ends_the_process_each_time_is_not_said_to_be_noticed(copy: Copy):
    line = "    import os, signal; os.kill(os.getppid(), signal.SIGKILL); __import__('time').sleep(1)\n"
    assert asked(copy, line, is_inside=False) == TEST + TOO_LONG
    assert (copy.folder / "sandbox" / MODULE).read_text() == SOURCE


def test_a_file_that_cannot_be_collected_says_so(copy: Copy):
    with pytest.raises(Gone, match=r"daemon/test_no_such\.py: its process ended"):
        copy.warm("daemon/test_no_such.py")
