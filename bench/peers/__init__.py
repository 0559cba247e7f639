"""The other ways to do it, each a program of its own, so that none pays for what another imported.

Each reads one marshalled `{"checks": [(program, call, expected), ...], ...settings}` on stdin and writes one JSON line,
`{"seconds": float, "verdicts": "10…"}`: `1` where the method says the check holds. The clock runs from the first
check to the last; starting the interpreter and reading the work are not counted.

They run what they are given unconfined or nearly so: only our own generated work and published generations go in, under
an address-space limit that protects the machine.
"""
