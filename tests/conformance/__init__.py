"""The adversarial suites: the hostile cases and the forging matrix, runnable against any cruxbox server."""
