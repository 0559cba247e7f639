"""The daemon as a whole: command line, engine, network, and its own process."""
