"""Programs judged three ways: by plain CPython in a process of its own, isolated, and sharing workers."""
