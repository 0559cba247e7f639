"""The daemon as a whole: command line, engine, network side, and its own process."""
