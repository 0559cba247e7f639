"""Rows as lines of JSON, and the beginning of a program that may be one."""

from __future__ import annotations

import json

BODY = "def f(text):\n    text = text.strip('x').title()\n    parts = [part for part in text.split(' ') if part]\n"


def write(path, items):
    path.write_text("".join(item if isinstance(item, str) else json.dumps(item) + "\n" for item in items))
    return path


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]
