"""The cruxbox daemon: the trusted part."""

import os

from cruxbox_proto import __version__ as __version__

# Who started this process: known before anything else, so that it shows if that one is gone when it is tied to it.
STARTED_BY = os.getppid()
