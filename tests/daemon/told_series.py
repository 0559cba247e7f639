"""A script that is judged by its calls, by workers that are told what to say."""

from __future__ import annotations

import told_workers
from cruxboxd.judging.tasks import ScriptCheck as AskedCheck
from cruxboxd.judging.tasks import StepCount
from cruxboxd.judging.tasks import Task as InnerTask
from series_by_hand import RIGHT, SCRIPT

CHECK = AskedCheck("s", SCRIPT, "f")
ALONE = InnerTask("t", RIGHT.encode(), [CHECK], told_workers.LIMITS, "default", True, None, 1, StepCount.INSTRUCTIONS)
