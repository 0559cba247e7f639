"""SVG text without what no eye misses: comments, names of groups, the fourth digit behind the point."""

from __future__ import annotations

import re

# The scale of every glyph, which is exact and must stay so.
_GLYPH_SCALE = "0.015625"
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_RULES = (
    (re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL), ""),
    (re.compile(r"<g id=\"(?!DejaVu)[^\"]*\">"), "<g>"),
    (re.compile(r"\s*\n\s*"), " "),
    (re.compile(r"> <"), "><"),
    (re.compile(r"DejaVuSans-"), "D"),
    (re.compile(r"; (?=[a-z])"), ";"),
    (re.compile(r"(?<=[a-z]): (?=[#\w])"), ":"),
    (re.compile(r" (?=[MLQCz] ?)|(?<=[MLQC]) "), ""),
    (re.compile(r" (?=/>|\")"), ""),
    # A glyph's place in its line; `href` without a prefix is what browsers read since SVG 2.
    (re.compile(r'(<use xlink:href="#[\w-]+") transform="translate\((-?[\d.]+) 0\)"/>'), r'\1 x="\2"/>'),
    (re.compile(r"xlink:href"), "href"),
)
_EMPTY_GROUP = re.compile(r"<g>((?:<(?:use|path|image)\b[^<>]*/>)+)</g>")


def slim(svg: str) -> str:
    """The same picture in fewer characters; for what matplotlib writes with text as outlines."""
    text = _LONG_NUMBER.sub(lambda match: _short(match[0]), svg)
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    return _without_idle_groups(text)


def _short(number: str) -> str:
    if number == _GLYPH_SCALE:
        return number
    shorter = f"{float(number):.2f}".rstrip("0").rstrip(".")
    return "0" if shorter == "-0" else shorter


def _without_idle_groups(text: str) -> str:
    """A group without attributes around shapes only does nothing."""
    while (less := _EMPTY_GROUP.sub(r"\1", text)) != text:
        text = less
    return text
