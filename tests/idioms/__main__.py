"""Writes docs/idioms.md."""

from __future__ import annotations

from cruxbox import Client

from idioms.judging import TABLE, table

if __name__ == "__main__":
    with Client() as client:
        TABLE.write_text(table(client))
