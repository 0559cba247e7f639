"""How much of the workers' memory a tenant may hold, so that workers that sleep cannot take all of it.

Memory is held until a worker ends, which may be minutes, and costs no CPU time. A tenant that is alone may hold all but
a reserve. Beside others it may hold as much as it leaves free, and always its equal share. Whoever holds none may take
what is left, the reserve too: so the next tenant finds room, and the workers of one delay nobody's first check.

A job that does not fit waits. Where its tenant is within its share, those beyond theirs wait with it, or what is small
would overtake it for ever.
"""

from __future__ import annotations


class MemoryShare:
    """Args: `room`, bytes that all workers may take together, 0 for any; `reserve`, bytes for the next tenant."""

    def __init__(self, room: int, reserve: int) -> None:
        self._room, self._alone = room, room - reserve

    def fits(self, need: int, own: int, others: int, present: int) -> bool:
        """May a worker start that needs so much, where its tenant holds `own` and all others together `others`, each of
        their workers at its limit? `present` counts the tenants that have work here. Alone a worker always may."""
        taken = own + others
        if not taken or not self._room:
            return True
        left = self._room - taken - need
        if left < 0 or not own:
            return left >= 0
        most = self._alone if present < 2 else max(self._room // present, left)
        return own + need <= most

    def is_within(self, need: int, own: int, present: int) -> bool:
        """Does a tenant keep to its equal share with that?"""
        return not own or own + need <= self._room // max(1, present)
