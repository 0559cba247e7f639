"""How many slow workers a tenant may hold, so that checks that hang cannot take every zygote.

A slow worker has released its CPU slot but keeps its zygote, and zygotes are bounded. A tenant that is alone may hold
all zygotes but one a slot with slow workers. Beside others it may hold as many as it leaves free, and always its equal
share. A zygote is therefore free for the next tenant, and a few hanging checks of a tenant do not delay its other
checks. A tenant that holds none may always start one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


class SlowShare:
    """Args: `slots`, CPU slots; `zygotes`, how many it may have."""

    def __init__(self, slots: int, zygotes: int) -> None:
        self._alone = zygotes - slots

    def crowders(self, slow: Iterable[str], present: int) -> frozenset[str]:
        """The tenants that may start nothing now. `slow` names the tenant of each slow worker, `present` counts those
        that have work here."""
        held = Counter(slow)
        free = self._alone - sum(held.values())
        share = self._alone if present < 2 else max(self._alone // present, free)
        return frozenset(name for name, count in held.items() if count >= share)
