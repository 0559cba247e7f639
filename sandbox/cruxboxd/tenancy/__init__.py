"""Who calls, what they may use, and how they are refused."""
