"""The page of many models: small, nothing clipped, no label over another, usable on a telephone."""

from __future__ import annotations

import base64
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from itertools import combinations

import pytest
from browser import QUIET, chromium
from cruxbox.building import Row
from cruxbox.stats import Settings, compare, study
from cruxbox.stats.html import render
from cruxbox.stats.lines import line_styles, place_labels, standing_out
from cruxbox.stats.slim import slim
from matplotlib.figure import Figure
from stats_models import made_up

NAMES = [f"{family}-{size}b{thought}" for family in ("codellama-python", "deepseek-instruct", "starcoderbase", "gpt",
         "wizard") for size in (1, 7, 13, "34.5") for thought in ("", "+cot")][:35]  # fmt: skip


@pytest.fixture(scope="module")
def page() -> str:
    """Both tasks of 35 models and 800 samples, ten generations each."""
    tasks = {
        task: [made_up(name, 100 * at + shift, tasks=800, lift=0.02 * at - 0.3) for at, name in enumerate(NAMES)]
        for shift, task in enumerate(("input", "output"))
    }
    rows = [Row("def f(x):\n    return x" + " " * (at % 50), id=f"sample_{at}", steps=at) for at in range(800)]
    return render(study(tasks, dataset=rows, settings=Settings(resamples=100)))


def test_it_is_under_three_megabytes_and_well_formed(page):
    assert len(NAMES) == 35
    assert len(page.encode()) < 3_000_000
    for source in re.findall(r'src="data:image/svg\+xml;base64,([^"]+)', page):
        ElementTree.fromstring(base64.b64decode(source))


@pytest.mark.parametrize("width", [1200, 390])
def test_nothing_reaches_beyond_the_window(page, tmp_path, width):
    """Nothing but what scrolls by itself is wider than the window; at 1,200 pixels every table fits where it stands."""
    browser = chromium()
    path = tmp_path / "page.html"
    # An iframe has the width it is given, which a headless window has not below 500 pixels.
    inner = re.sub(r"<meta http-equiv[^>]*>", "", page).replace("<details>", "<details open>")
    (tmp_path / "inner.html").write_text(inner, encoding="utf-8")
    probe = (
        "const d = frame.contentDocument, p = document.createElement('p'); p.id = 'probe';"
        "const wide = [...d.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length;"
        "const firsts = [...d.querySelectorAll('tbody td:first-child')].map(e => e.offsetHeight);"
        "p.textContent = [d.documentElement.scrollWidth, wide, Math.max(...firsts)].join(); document.body.append(p)"
    )
    path.write_text(
        f'<body><iframe id="frame" src="inner.html" style="width:{width}px;height:900px;border:0"></iframe>'
        f"<script>frame.onload = () => {{ {probe} }}</script></body>"
    )
    command = [browser, *QUIET, "--allow-file-access-from-files", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--window-size=1300,1000", "--dump-dom", path.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=90).stdout
    match = re.search(r'<p id="probe">(\d+),(\d+),(\d+)</p>', dom)
    assert match, dom[-500:]
    document, scrolling, tallest = map(int, match.groups())
    assert document <= width
    assert tallest < 110  # a name takes a few lines, not a letter a line
    if width == 1200:
        assert scrolling == 0


def test_few_models_stand_out_and_all_do_where_they_are_few():
    models = [made_up(name, at, lift=0.01 * at) for at, name in enumerate(NAMES)]
    found = compare(models, settings=Settings(resamples=300))
    coloured = standing_out(found)
    assert 3 <= len(coloured) <= 6
    assert {found.models[0].name, found.baseline, found.models[-1].name} <= set(coloured)
    styles = line_styles(NAMES, coloured)
    assert sum(bool(style.label) for style in styles) == len(coloured) + 1
    asked = compare(models, settings=Settings(resamples=300, highlight=("gpt-7b",)))
    assert standing_out(asked) == ["gpt-7b"]
    assert len(standing_out(compare(models[:8], settings=Settings(resamples=300)))) == 8


def test_labels_do_not_overlap():
    figure = Figure(figsize=(6, 5))
    axes = figure.subplots()
    axes.set_xlim(-1, 6)
    axes.set_ylim(-1, 6)
    points = [(at % 6 + at / 50, at // 6 + 0.1 * (at % 3), name) for at, name in enumerate(NAMES)]
    written = place_labels(figure, axes, points, first=["gpt-7b"])
    assert len(written) > 20
    assert not any(one.overlaps(other) for one, other in combinations(written, 2))
    crowd = [(2.0, 2.0, name) for name in NAMES]
    assert 0 < len(place_labels(figure, axes, crowd)) < len(NAMES)


def test_slim_keeps_glyphs_and_places():
    svg = '<svg>\n <!-- a -->\n <g id="text_1">\n'
    svg += '  <use xlink:href="#DejaVuSans-16" transform="translate(63.625123 0)"/>\n'
    svg += ' </g>\n <path d="M 1.234567 -0.000012 \nL 2 3 \n" transform="scale(0.015625)"/>\n</svg>'
    assert slim(svg) == '<svg><use href="#D16" x="63.63"/><path d="M1.23 0L2 3" transform="scale(0.015625)"/></svg>'
