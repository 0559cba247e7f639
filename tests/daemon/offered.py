"""What a daemon offers to requests."""

from __future__ import annotations

from cruxboxd.rpc.codec import Offer
from cruxboxd.settings.config import DEFAULT_LIMITS, MAXIMUM_LIMITS

TERMS = Offer(frozenset({"default", "py39"}), "default", DEFAULT_LIMITS, MAXIMUM_LIMITS)
