"""A comparison from files to tables, JSON and the page."""

from __future__ import annotations

import json
import math
import re
import subprocess
from io import StringIO

import numpy as np
import pytest
from browser import QUIET, chromium
from cruxbox.building import Row
from cruxbox.errors import DataError
from cruxbox.stats import Scored, Settings, compare, panel_of, pass_at_k, read_all, to_json
from cruxbox.stats.html import render
from cruxbox.stats.tables import print_comparison
from rich.console import Console
from stats_models import made_up, write_scored

QUICK = Settings(resamples=300)


@pytest.fixture
def models():
    return [
        made_up("small <7b>", 1, nulls=0.01),
        made_up("large & 70b $x$", 2, lift=0.2),
        made_up("large, aloud", 3, lift=0.3),
    ]


@pytest.fixture
def rows():
    codes = ("x.pop()", "def f(x):\n    return x.split()", "def f(x):\n    y = x.copy()\n    return y.index(3)")
    return [Row(codes[at % 3] + " " * (at % 7), id=f"sample_{at}", steps=3 + at) for at in range(60)]


@pytest.fixture
def comparison(models, rows):
    pair = ("large & 70b $x$", "large, aloud")
    return compare(models, dataset=rows, cot=[pair], settings=QUICK)


# ---- reading ----------------------------------------------------------------


def test_files_are_called_as_they_are_named(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_scored(tmp_path / folder / "scored.json", made_up("x", 1), pass_at_1=50.0)
    a, b = str(tmp_path / "a/scored.json"), str(tmp_path / "b/scored.json")
    assert [model.name for model in read_all([a, b])] == ["a/scored", "b/scored"]
    assert [model.name for model in read_all([f"one={a}", b])] == ["one", "b/scored"]
    assert read_all([a])[0].name == "scored"
    assert read_all([a])[0].recorded == {1: 50.0}
    assert read_all([a])[0].verdicts == made_up("x", 1).verdicts
    with pytest.raises(DataError, match="two files are called 'm'"):
        read_all([f"m={a}", f"m={b}"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "needs an object 'raw_scored_generations'"),
        ('{"raw_scored_generations": {}}', "is empty"),
        (
            '{"raw_scored_generations": {"a": [true, true]}, "raw_generations": {"a": ["1"]}}',
            "task 'a' has more verdicts (2) than generations (1)",
        ),
        ('{"raw_scored_generations": {"a": 1}}', "verdicts of task 'a' must be a list, not a number"),
        ('{"raw_scored_generations": {"a": [1]}}', "true, false or null; one is 1"),
        ('{"raw_scored_generations": {"a": [true]}, "raw_generations": []}', "'raw_generations' must be an object"),
        ('{"raw_scored_generations": {"a": [true]}, "raw_generations": {"a": [3]}}', "must be a list of strings"),
    ],
)
def test_a_broken_file_is_named_with_what_is_wrong(tmp_path, content, message):
    path = tmp_path / "broken.json"
    path.write_text(content)
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        read_all([str(path)])
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_all([str(tmp_path / "absent.json")])


# ---- the comparison ---------------------------------------------------------


def test_summaries_agree_with_the_parts(models, comparison):
    panel = panel_of(models)
    assert [model.name for model in comparison.models] == ["large, aloud", "large & 70b $x$", "small <7b>"]
    for model in comparison.models:
        at = panel.column(model.name)
        for estimate in model.pass_at:
            scores = pass_at_k(panel.n[:, at], panel.c[:, at], estimate.k)
            assert estimate.value == pytest.approx(scores.mean())
            assert estimate.low < estimate.value < estimate.high
            assert estimate.tasks == 60
        assert sum(model.p_counts) == 60
        assert sum(model.distinct_counts) == 60
    assert comparison.models[2].masked == sum(list(row).count(None) for row in models[0].verdicts.values()) > 0
    assert comparison.baseline == "small <7b>"
    assert comparison.models[1].samples == (10, 10)


def test_pass_at_5_is_left_out_where_fewer_samples_are_known():
    few = Scored("few", {f"t{at}": (True, False, None) for at in range(4)})
    mixed = Scored("mixed", {f"t{at}": (True, False) * (3 if at < 2 else 2) for at in range(4)})
    found = compare([few, mixed], settings=QUICK)
    assert [estimate.k for estimate in found.models[0].pass_at] == [1]
    assert [(estimate.k, estimate.tasks) for estimate in found.models[1].pass_at] == [(1, 4), (5, 2)]
    assert found.differences_at == {}  # the baseline has no pass@5


def test_differences_are_given_for_pass_at_5_too(models, comparison):
    panel = panel_of(models)
    scores = pass_at_k(panel.n, panel.c, 5)
    assert list(comparison.differences_at) == [5]
    for found in comparison.differences_at[5]:
        gap = scores[:, panel.column(found.model)] - scores[:, 0]
        assert found.baseline == "small <7b>"
        assert found.difference == pytest.approx(np.nanmean(gap))
        assert found.low < found.difference < found.high
    for of_k in (comparison.differences, comparison.differences_at[5]):
        assert len(of_k) == 2
        assert of_k[0].difference > of_k[1].difference


def test_noise_by_size_comes_with_draws(models):
    """Figure 1: more tasks, less noise, as the square root; the draws lie about the score as the noise says."""
    found = compare(models, settings=Settings(resamples=2000)).models[0]
    assert [one.size for one in found.by_size] == [200, 400, 800, 1600]
    for one in found.by_size:
        assert one.noise == pytest.approx(found.noise_tasks_closed * math.sqrt(60 / one.size), rel=0.08)
        assert one.low < found.pass_at[0].value < one.high
        assert len(one.draws) == 30
        assert sum(abs(draw - found.pass_at[0].value) < 3 * one.noise for draw in one.draws) >= 28


def test_names_that_are_not_there_are_refused(models, rows):
    with pytest.raises(DataError, match="no model is called 'x'"):
        compare(models, baseline="x")
    with pytest.raises(DataError, match="no model is called 'y'"):
        compare(models, cot=[("small <7b>", "y")])
    with pytest.raises(DataError, match="none of the scored tasks, such as 'sample_0'"):
        compare(models, dataset=[Row("x", id="other")])


def test_json_has_no_nan_and_keeps_every_number(comparison):
    text = json.dumps(to_json(comparison), allow_nan=False)
    read = json.loads(text)
    assert read["models"][0]["pass_at"][0]["value"] == comparison.models[0].pass_at[0].value
    assert read["ahead"][0][0] is None
    assert read["correlations"]["kendall"][0][1] == comparison.correlations["kendall"][0][1]
    assert list(read["quarters"]) == ["characters", "lines", "steps"]
    assert read["confusions"][0]["both"] == comparison.confusions[0].both


def test_json_of_what_is_not_finite():
    assert to_json({"a": (math.nan, math.inf, 1.5)}) == {"a": [None, None, 1.5]}


def test_tables_show_names_as_they_are(comparison):
    out = StringIO()
    print_comparison(comparison, Console(file=out, width=200))
    shown = out.getvalue()
    for text in ("small <7b>", "large & 70b $x$", "Kendall", "Conditional failure", "pass@5", "by steps", "masked"):
        assert text in shown


def test_a_model_alone_can_be_looked_at(models):
    alone = compare(models[:1], settings=QUICK)
    assert alone.differences == ()
    out = StringIO()
    print_comparison(alone, Console(file=out, width=200))
    assert "1 model on 60 tasks." in out.getvalue()
    assert 'id="agreement"' not in render(alone)


def test_a_stated_score_that_differs_is_mentioned(models):
    told = Scored("told", models[0].verdicts, recorded={1: 99.0, 5: 0.0})
    out = StringIO()
    print_comparison(compare([told], settings=QUICK), Console(file=out, width=300))
    assert "99.00 stated" in out.getvalue()


# ---- the page ---------------------------------------------------------------


def test_the_page_needs_nothing_else_and_escapes_names(comparison):
    page = render(comparison, "A <title>")
    assert "A &lt;title&gt;" in page
    assert "small &lt;7b&gt;" in page
    assert "small <7b>" not in page
    assert "<script" not in page
    assert {source[:5] for source in re.findall(r'src="([^"]+)', page)} == {"data:"}
    assert {target[0] for target in re.findall(r'href="([^"]+)', page)} == {"#"}
    for section in ("scores", "differences", "behaviour", "agreement", "thought-0", "difficulty", "methods", "lengths"):
        assert f'<section id="{section}">' in page


def test_the_same_comparison_gives_the_same_page(comparison):
    assert render(comparison) == render(comparison)


def test_chromium_shows_the_page_with_all_its_figures(comparison, tmp_path):
    browser = chromium()
    page = tmp_path / "report.html"
    # A script added by the test, in a copy without the policy that forbids scripts, tells how each figure came out.
    probe = (
        "<script>addEventListener('load', () => { const p = document.createElement('p'); p.id = 'probe';"
        "p.textContent = [...document.images].map(i => i.complete && i.naturalWidth > 100).join()"
        " + ';' + (document.documentElement.scrollWidth <= innerWidth); document.body.append(p) })</script></body>"
    )
    text = re.sub(r"<meta http-equiv[^>]*>", "", render(comparison))
    page.write_text(text.replace("</body>", probe), encoding="utf-8")
    command = [browser, *QUIET, f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1300,3000"]
    dom = subprocess.run([*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=60).stdout
    match = re.search(r'<p id="probe">([a-z,]+);(\w+)</p>', dom)
    assert match, dom[-500:]
    assert set(match[1].split(",")) == {"true"}
    assert len(match[1].split(",")) == text.count("<img")
    assert match[2] == "true"
    picture = tmp_path / "page.png"
    page.write_text(render(comparison), encoding="utf-8")
    subprocess.run([*command, f"--screenshot={picture}", page.as_uri()], capture_output=True, timeout=60)
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert picture.stat().st_size > 50_000
