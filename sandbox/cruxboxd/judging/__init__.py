"""From a check to its result."""
