"""The cruxbox daemon: the trusted side."""

__version__ = "0.1.0"
