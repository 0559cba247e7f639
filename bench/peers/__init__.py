"""The other ways to do it, each a program of its own, so that none pays for what another imported.

Each reads one marshalled `{"checks": [(program, call, expected), ...], ...settings}` on stdin and writes one JSON line,
`{"seconds": float, "cpu_seconds": float, "verdicts": "10…"}`: `1` where the method says the check holds, `0` where it
does not, `?` where the method failed and says so. Both clocks run from the first check to the last; starting the
interpreter and reading the work are not counted. CPU seconds are those of all processes of the method.

They run what they are given unconfined or nearly so: only our own generated work and published generations go in, under
an address-space limit that protects the machine.
"""
