"""Zygote processes: how they are set up, started, given jobs, and ended."""
