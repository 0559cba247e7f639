"""The engine without gRPC: the daemon's pool driven directly, in a process of its own.

`python -m bench.engine` reads one marshalled `{"works": [(program, [(call, expected), ...]), ...], "cores": int,
"isolation": "AUTO" | "PROCESS"}` on stdin and answers like the programs of `bench.peers`. Starting the keepers and one
check on each of them come before the clock: the daemon it is compared with has been warm for long, too.
"""

from __future__ import annotations
