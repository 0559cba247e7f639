"""The worked examples of the construction prompts: five functions on strings, five on lists, five inputs each.

They set the tone of what a model writes: short, plain, deterministic, a little unusual, no arithmetic to speak of.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shot:
    """A method, a function named f that uses it, and five argument lists for it."""

    method: str
    code: str
    inputs: tuple[str, str, str, str, str]


STRING_SHOTS = (
    Shot(
        "str.partition",
        """def f(text, mark):
    head, found, tail = text.partition(mark)
    if not found:
        return text[::-1]
    return tail + found + head""",
        ("'key=value', '='", "'abc', '-'", "'a::b::c', '::'", "'', 'x'", "'left right', ' '"),
    ),
    Shot(
        "str.isdigit",
        """def f(code):
    groups = ['', '']
    for ch in code:
        groups[ch.isdigit()] += ch
    return groups[1].zfill(4) + groups[0].lower()""",
        ("'AB12'", "'2024Q3'", "'none'", "'77'", "'x9-Y8'"),
    ),
    Shot(
        "str.rfind",
        """def f(path, sep):
    cut = path.rfind(sep)
    while cut > 3:
        path = path[:cut]
        cut = path.rfind(sep)
    return path.upper()""",
        ("'usr/lib/python/site', '/'", "'a.b.c.d', '.'", "'plain', '/'", "'one two three', ' '", "'x//y//z//', '//'"),
    ),
    Shot(
        "str.join",
        """def f(line, width):
    words = line.split()
    short = [w for w in words if len(w) < width]
    rest = [w.title() for w in words if w not in short]
    return '_'.join(rest + short)""",
        ("'to be or not to be', 3", "'green tea leaves', 4", "'', 2", "'one', 3", "'Mixed CASE words here', 5"),
    ),
    Shot(
        "str.translate",
        """def f(word, swaps):
    table = str.maketrans(swaps)
    result = word.translate(table)
    if result == word:
        return 'same'
    return result.center(len(word) + 4, '.')""",
        ("'banana', {'a': 'o'}", "'kiwi', {'x': 'y'}", "'plum', {'p': '', 'm': 'mm'}", "'fig', {'f': 'F'}", "'', {}"),
    ),
)

LIST_SHOTS = (
    Shot(
        "list.pop",
        """def f(items, times):
    taken = []
    while items and times > 0:
        taken.append(items.pop(times % len(items)))
        times -= 1
    return taken + items""",
        ("[1, 2, 3, 4], 2", "['a', 'b', 'c'], 5", "[], 3", "[7, 7, 8], 1", "[[0], [1], [2]], 0"),
    ),
    Shot(
        "list.insert",
        """def f(row, gap):
    result = []
    for i, cell in enumerate(row):
        result.insert(i // 2, cell)
        if cell == gap:
            result.append(i)
    return result""",
        ("[5, 6, 7, 8], 7", "['x', '', 'y'], ''", "[0], 0", "[], None", "[True, False, True], False"),
    ),
    Shot(
        "list.index",
        """def f(queue, names):
    seen = {}
    for name in names:
        if name in queue:
            seen[name] = queue.index(name)
        else:
            seen.setdefault('missing', []).append(name)
    return seen""",
        (
            "['ann', 'bob', 'cy'], ['cy', 'dan']",
            "[3, 1, 2], [1, 1, 9]",
            "[], ['a']",
            "['p', 'q'], []",
            "[(1, 2), (3,)], [(3,), (4,)]",
        ),
    ),
    Shot(
        "list.sort",
        """def f(words, limit):
    words.sort(key=lambda w: (len(w), w))
    kept = words[:limit]
    kept.reverse()
    return {w: kept.count(w) for w in kept}""",
        (
            "['pear', 'fig', 'kiwi', 'fig'], 3",
            "['b', 'a', 'c'], 2",
            "[], 1",
            "['one', 'two'], 0",
            "['aa', 'a', 'aa'], 5",
        ),
    ),
    Shot(
        "list.extend",
        """def f(levels, depth):
    flat = []
    for part in levels:
        if isinstance(part, list) and depth > 0:
            flat.extend(f(part, depth - 1))
        else:
            flat.append(part)
    return flat""",
        ("[1, [2, [3]]], 1", "[[['a']], 'b'], 2", "[], 4", "[[1], [2], [3]], 0", "[None, [False, [0]]], 5"),
    ),
)
