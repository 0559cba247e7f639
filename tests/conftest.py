"""What a test run puts into the temporary folder is below one folder, which goes with the run.

Held by a lock: the folder of a run that was killed is swept by the next one.
"""

from __future__ import annotations

import atexit
import os
import tempfile

from cruxbox.scratch import ScratchFolder

_scratch = ScratchFolder("cxt-")  # short: unix sockets below it have short paths
_scratch.path.chmod(0o755)  # workers are other users, and some tests look on as one
os.environ["TMPDIR"] = tempfile.tempdir = str(_scratch.path)
atexit.register(_scratch.remove)
