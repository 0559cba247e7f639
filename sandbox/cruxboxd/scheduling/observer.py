"""What the pool tells whoever keeps figures."""

from __future__ import annotations


class PoolObserver:
    """This one listens to nothing."""

    def zygote_ended(self) -> None:
        pass

    def sandbox_error(self, reason: str) -> None:
        pass
