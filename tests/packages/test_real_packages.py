"""The packages that benchmarks are written with, real ones: they import, they compute, beforehand imported or not."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from cruxbox import Assurance, CallCheck, Client, EvaluateCheck, Limits, Outcome, RunCheck, ScriptCheck, Task

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        "CRUXBOX_PACKAGES" not in os.environ, reason="CRUXBOX_PACKAGES names no interpreter with packages"
    ),
]
LIMITS = Limits(cpu_ms=20_000, wall_ms=60_000, memory_bytes=1 << 30)
MODULES = "numpy,pandas,scipy.special,sympy,networkx,matplotlib.pyplot"
PROGRAMS = {
    "numpy": ("import numpy as np\ndef f(n):\n    return int(np.arange(n).sum())\n", "45"),
    "pandas": ("import pandas as pd\ndef f(n):\n    return int(pd.DataFrame({'a': range(n)}).a.sum())\n", "45"),
    "dates": ("import pandas as pd\ndef f(n):\n    return pd.Timestamp('2024-01-10', tz='UTC').year + n\n", "2034"),
    "scipy": ("import scipy.special\ndef f(n):\n    return int(scipy.special.comb(n, 2))\n", "45"),
    "sympy": ("import sympy\ndef f(n):\n    return dict(sympy.factorint(n))\n", "{2: 1, 5: 1}"),
    "sklearn": (
        "from sklearn.cluster import KMeans\ndef f(n):\n"
        "    return len(set(KMeans(2, n_init=1).fit([[0.0], [0.1], [n], [n + 0.1]]).labels_))\n",
        "2",
    ),
    "networkx": ("import networkx as nx\ndef f(n):\n    return nx.path_graph(n).number_of_edges()\n", "9"),
    "sortedcontainers": ("import sortedcontainers\ndef f(n):\n    return sortedcontainers.SortedList([n])[0]\n", "10"),
}  # fmt: skip
PLOT = """
import matplotlib.pyplot as plt
def f(n):
    figure, ax = plt.subplots()
    ax.plot(range(n))
    return len(ax.lines)
"""


@pytest.fixture(scope="module", params=["imported by each worker", "imported beforehand"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    arguments = ["--runtime", f"sci={os.environ['CRUXBOX_PACKAGES']}", "--canary-s=0"]
    if request.param == "imported beforehand":
        arguments += ["--preload", f"sci={MODULES}"]
    with Client(workers=2, server_args=arguments) as client:
        yield client


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_with_packages(client: Client, name: str):
    program, expected = PROGRAMS[name]
    [verdict] = client.check([Task(program, [CallCheck("f(10)", expected)], runtime="sci", limits=LIMITS)])
    assert (verdict.outcome, verdict.exception, verdict.value) == (Outcome.PASSED, None, expected)


def test_the_generator_of_numbers_is_seeded_anew_in_each_worker(client: Client):
    program = "import numpy as np\ndef f():\n    return np.random.randint(2**62)\n"
    verdicts = client.check([Task(program + f"# {at}", [EvaluateCheck("int(f())")], limits=LIMITS) for at in range(4)])
    assert len({verdict.value for verdict in verdicts}) == 4


def test_a_plot_is_drawn(client: Client):
    [verdict] = client.check([Task(PLOT, [CallCheck("f(3)", "1")], runtime="sci", limits=LIMITS)])
    assert verdict.outcome is Outcome.PASSED


def test_tables_and_plots_are_written(client: Client):
    program = (
        "import os\nimport matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\nimport pandas as pd\n"
        "plt.plot([1, 2, 3])\nplt.savefig('plot.png')\n"
        "pd.DataFrame({'a': range(3)}).to_csv('table.csv', index=False)\n"
        "print(os.path.getsize('plot.png') > 1000, pd.read_csv('table.csv').a.sum())"
    )
    [verdict] = client.check([Task(program, [RunCheck(read_files=["table.csv"])], runtime="sci", limits=LIMITS)])
    assert (verdict.stdout, verdict.files) == ("True 3\n", {"table.csv": b"a\n0\n1\n2\n"}), verdict


def test_the_memory_limit_counts_from_what_was_imported_beforehand(client: Client):
    program = "import pandas as pd\ndef f(n):\n    return len(bytearray(n << 20))\n"
    if not any(runtime.preload for runtime in client.info().runtimes):
        pytest.skip("nothing is imported beforehand")
    limits = Limits(memory_bytes=64 << 20)
    checks = [CallCheck("f(40)", str(40 << 20)), EvaluateCheck("f(80)")]
    verdicts = client.check([Task(program, checks, runtime="sci", limits=limits)])
    assert [verdict.outcome for verdict in verdicts] == [Outcome.PASSED, Outcome.MEMORY_LIMIT]


@pytest.mark.parametrize(
    ("body", "outcome"), [("return ax", "PASSED"), ("return plt.Figure()", "FAILED"), ("return None", "FAILED")]
)
def test_a_suite_apart_from_its_program_asks_what_an_object_of_a_package_is(client: Client, body: str, outcome: str):
    program = (
        f"import matplotlib.pyplot as plt\ndef f(n):\n    _, ax = plt.subplots()\n    ax.set_title('T')\n    {body}\n"
    )
    script = (
        "import unittest\nimport matplotlib.pyplot as plt\nclass T(unittest.TestCase):\n    def test(self):\n"
        "        self.assertIsInstance(f(1), plt.Axes)\n        self.assertEqual(f(1).get_title(), 'T')\n"
    )
    [verdict] = client.check([Task(program, [ScriptCheck(script, "f")], runtime="sci", limits=LIMITS)])
    assert (verdict.outcome.name, verdict.assurance) == (outcome, Assurance.SEPARATED), verdict


ESTIMATOR = """
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
def f(c):
    return make_pipeline(StandardScaler(), LogisticRegression(C=c))
"""
SEARCH = """
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
x, y = load_iris(return_X_y=True)
found = GridSearchCV(f(7), {"standardscaler__with_mean": [True, False]}, cv=2, error_score="raise").fit(x, y)
assert found.best_estimator_.get_params()["logisticregression__C"] == 7 and found.score(x, y) > 0.9
"""


@pytest.mark.parametrize(("change", "outcome"), [("C=c", "PASSED"), ("C=c + 1", "FAILED")])
def test_an_estimator_of_the_program_s_is_fitted_by_a_search_of_the_test_s(client: Client, change: str, outcome: str):
    program = ESTIMATOR.replace("C=c", change)
    [verdict] = client.check([Task(program, [ScriptCheck(SEARCH, "f")], runtime="sci", limits=LIMITS)])
    assert (verdict.outcome.name, verdict.assurance) == (outcome, Assurance.SEPARATED), verdict


DRAWS = """
import matplotlib.pyplot as plt
def f(data, ax=None):
    (ax or plt.gca()).hist(data, bins=5, label="d")
    plt.title("T")
def g(path):
    figure = plt.figure()
    plt.plot([1, 2])
    plt.savefig(path)
    plt.close(figure)
"""
OF_FIGURES = """
import unittest
import matplotlib.pyplot as plt
class T(unittest.TestCase):
    def tearDown(self): plt.close("all")
    def test_what_was_drawn(self):
        f([1, 2, 3])
        self.assertEqual((plt.gca().get_title(), len(plt.gcf().axes), len(plt.gca().patches)), ("T", 1, 5))
        self.assertEqual((plt.get_fignums(), plt.fignum_exists(1)), ([1], True))
    def test_nothing_is_left_of_another_test(self):
        plt.clf()
        f([1, 2, 3])
        self.assertEqual(len(plt.gca().patches), 5)
    def test_what_is_passed(self):
        figure, ax = plt.subplots()
        f([1, 2, 3], ax)
        self.assertEqual((ax.get_title(), plt.gcf() is figure, plt.gca() is ax), ("T", True, True))
    def test_what_is_closed(self):
        plt.figure()
        g("a.png")
        self.assertEqual(plt.get_fignums(), [1])
"""
WRONG = ("bins=5", "bins=6"), ('plt.title("T")', "plt.figure()"), ("plt.close(figure)", "pass")


def test_both_halves_have_the_same_figures(client: Client):
    programs = [DRAWS, *[DRAWS.replace(*each) for each in WRONG]]
    checks = [ScriptCheck(OF_FIGURES, "f", framework="unittest")]
    verdicts = client.check([Task(each, checks, runtime="sci", limits=LIMITS) for each in programs])
    assert [verdict.passed for verdict in verdicts] == [True, False, False, False], verdicts


# pandas brings tzdata, which the host may not have.
ZONES = """
from datetime import datetime
from zoneinfo import ZoneInfo
def f(d, name):
    assert isinstance(d, datetime) and str(d.tzinfo) == "Asia/Tokyo"
    return d.astimezone(ZoneInfo(name)), ZoneInfo(name)
"""
OF_ZONES = """
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo
d = datetime(2020, 1, 1, 9, tzinfo=ZoneInfo("Asia/Tokyo"))
got, zone = f(d, "Europe/Paris")
assert got == d == datetime(2020, 1, 1, tzinfo=timezone.utc) and got != d + timedelta(1)
assert type(got) is datetime and got.isoformat() == "2020-01-01T01:00:00+01:00"
assert got.tzinfo is zone is ZoneInfo("Europe/Paris")
"""


def test_times_of_zones_are_values_in_a_separated_script(client: Client):
    tasks = [
        Task(each, [ScriptCheck(OF_ZONES)], runtime="sci", limits=LIMITS) for each in (ZONES, ZONES[:-1] + "[::-1]")
    ]
    verdicts = client.check(tasks)
    assert [verdict.passed for verdict in verdicts] == [True, False], verdicts


CALENDARS = """
import ipaddress, pytz, dateutil.parser, dateutil.tz
import pandas as pd
from datetime import datetime
from dateutil.relativedelta import relativedelta
def parsed(text): return dateutil.parser.parse(text)
def here(when): return pytz.timezone("America/New_York").localize(when)
def later(): return relativedelta(months=1)
def table(): return pd.DataFrame({"t": pd.date_range("2020", periods=2, tz=dateutil.tz.gettz("Europe/Berlin"))})
def easter(): return pd.date_range("2020", periods=2, freq=pd.offsets.Easter())
def hosts(): return [*ipaddress.ip_network("10.0.0.0/30").hosts()]
"""
OF_CALENDARS = """
import ipaddress, pytz
import pandas as pd
from datetime import datetime, timezone
assert parsed("2020-01-01T10:00:00Z") == datetime(2020, 1, 1, 10, tzinfo=timezone.utc)
assert here(datetime(2020, 7, 1)).astimezone(pytz.utc) == datetime(2020, 7, 1, 4, tzinfo=pytz.utc)
assert datetime(2020, 1, 31) + later() == datetime(2020, 2, 29)
assert table()["t"].iloc[1] == pd.Timestamp("2020-01-02", tz="Europe/Berlin")
assert str(easter()[0])[:10] == "2020-04-12"
assert hosts() == [ipaddress.ip_address("10.0.0.1"), ipaddress.ip_address("10.0.0.2")]
"""


def test_times_and_distances_of_libraries_are_values_in_a_separated_script(client: Client):
    wrong = CALENDARS.replace("months=1", "months=2")
    tasks = [Task(each, [ScriptCheck(OF_CALENDARS)], runtime="sci", limits=LIMITS) for each in (CALENDARS, wrong)]
    verdicts = client.check(tasks)
    assert [verdict.outcome for verdict in verdicts] == [Outcome.PASSED, Outcome.FAILED], verdicts
    assert {verdict.assurance for verdict in verdicts} == {Assurance.SEPARATED}
