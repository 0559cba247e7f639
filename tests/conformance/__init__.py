"""The adversarial suites: 195 hostile cases and the forging matrix, runnable against any cruxbox server."""
