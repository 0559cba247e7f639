"""The cruxbox daemon: the trusted side."""

from cruxbox_proto import __version__ as __version__
