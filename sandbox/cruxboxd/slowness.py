"""How many slow workers a tenant may hold, so that checks that hang cannot take every zygote.

A slow worker has given its CPU slot back but keeps its zygote, and zygotes are bounded. Alone on the server, a tenant
may have all of them slow but one a slot; beside others, as many as there are slots, so that what it burns never
outweighs a neighbour by much. A tenant that holds none may always start one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


class SlowShare:
    """Args: `slots`, CPU slots of the pool; `zygotes`, how many it may have."""

    def __init__(self, slots: int, zygotes: int) -> None:
        self._slots, self._alone = slots, zygotes - slots

    def crowders(self, slow: Iterable[str], present: int) -> frozenset[str]:
        """The tenants that may start nothing now. `slow` names the tenant of each slow worker, `present` counts those
        that have work here."""
        held = Counter(slow)
        if not held:
            return frozenset()
        share = self._alone if present < 2 else max(1, min(self._slots, self._alone // present))
        return frozenset(name for name, count in held.items() if count >= share)
