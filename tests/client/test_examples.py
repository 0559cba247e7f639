"""What the examples promise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_reward_is_one_for_the_right_program_only(server):
    ran = subprocess.run(
        [sys.executable, EXAMPLES / "reward.py"],
        capture_output=True,
        text=True,
        env={**os.environ, "CRUXBOX_SERVER": server},
    )
    assert ran.stdout.split("\n")[:-1] == ["right: 1.0", "wrong: 0.0", "endless: 0.0", "forged: 0.0", "gone: 0.0"]
    assert ran.returncode == 0
