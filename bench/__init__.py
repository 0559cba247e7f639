"""The side-by-side benchmark: `python -m bench` (see docs/benchmarks.md)."""
