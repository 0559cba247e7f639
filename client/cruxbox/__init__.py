"""cruxbox: run model-written Python in a hardened sandbox and learn, for each check, whether it holds."""

__version__ = "0.1.0"
