"""Suites that pytest runs. Imported only where one is asked for."""

import os
import sys

from cruxcell.analysis.parsing import Invalid
from cruxcell.jobs.suite_base import ERROR, FAILED, PASSED, SKIPPED, Suite, leave
from cruxcell.protocol.messages import SCRATCH_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

    from cruxcell.jobs.suite_base import Results  # noqa: F401 - in type comments


class PytestSuite(Suite):
    """Functions `test_*` and classes `Test*` of the script, with fixtures and parameters."""

    is_main = False  # pytest imports a file

    def __init__(self, source):
        # type: (str) -> None
        Suite.__init__(self, source)
        try:
            import pytest
        except ImportError:
            raise Invalid("framework is pytest, which this runtime does not have; `cruxbox runtimes` lists what each "
                          "one has, --runtime NAME and --python PATH choose another") from None  # fmt: skip
        self._pytest, self._run_all = pytest, pytest.main
        unittest = __import__("unittest")  # type: Any
        # What a script asks for is done once it is through, and decides.
        pytest.main = lambda *_asked, **_how: 0
        unittest.main = lambda *_asked, **_how: type("TestProgram", (), {"result": unittest.TestResult()})()
        self.skips = (pytest.skip.Exception, unittest.SkipTest)

    def run(self):
        # type: () -> Results | None
        notes = _plugin(self._pytest, self.module, self.results, self._not_mine)
        out = sys.stdout
        self._fit_to_a_worker()
        try:
            code = int(self._run_all(self._options(), plugins=[notes]))
        finally:
            sys.stdout = out
        for name in notes.unfinished:
            self.results.add(ERROR, name, "was begun, or was to be, and has no result")
        if code not in _AT_ITS_END:
            self.results.add(ERROR, "", "the run of the suite was broken off (pytest's exit code %d)" % code)
        self.add_not_run(notes.classes)
        return self.results

    def _options(self):
        # type: () -> list[str]
        options = [os.__file__, "-s", "--noconftest", "-p", "no:cacheprovider"]
        for name, fixture in _PLUGINS:
            if not fixture or fixture not in self.code:
                options += ["-p", "no:" + name]
        return options

    def _fit_to_a_worker(self):
        # type: () -> None
        """Have pytest do nothing that a worker may not do."""
        import pathlib

        # It looks for its configuration in folders that a worker may not look at.
        setup = (pathlib.Path(os.__file__).parent, None, {}, [])  # type: Any
        self._pytest.Config.__init__.__globals__["determine_setup"] = (
            lambda **asked: (  # noqa: ARG005 - what pytest hands over
                setup if int(self._pytest.__version__.partition(".")[0]) > 8 else setup[:3]
            )
        )
        if "caplog" in self.code:
            from _pytest import logging as plugin

            # Which would be on /dev/null, and that cannot be opened.
            names = vars(plugin)
            names["_FileHandler"] = lambda *_file, **_how: names["logging"].NullHandler()
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        if not os.access(SCRATCH_FOLDER, os.W_OK):
            shared = sys.modules["os"]  # type: Any  # pytest's, not the harness's own
            vars(shared)["chdir"] = leave  # back to where it began, which such a worker never left


# Plugins of pytest's that a suite does without, each unless it names what the plugin offers.
_PLUGINS = (
    ("terminal", ""), ("faulthandler", ""), ("junitxml", "record_"), ("pastebin", ""), ("doctest", "doctest_namespace"),
    ("debugging", ""), ("stepwise", ""), ("logging", "caplog"), ("threadexception", ""), ("unraisableexception", ""),
)  # fmt: skip

# With which codes pytest comes to its end: all passed, some failed, there were none. Others (it was interrupted, it
# failed by itself) a candidate can bring about, by an error that pytest takes for a key pressed.
_AT_ITS_END = (0, 1, 5)


def _pytest_name(item):
    # type: (Any) -> str
    """What a test, or a report on one, is called in results."""
    return item.nodeid.partition("::")[2]  # type: ignore[no-any-return]


def _plugin(pytest, module, results, not_mine):  # noqa: C901 - the methods of classes whose bases are imported late
    # type: (Any, Any, Results, frozenset[int]) -> Any
    """What collects the tests of a module that is no file, and notes what becomes of them; `unfinished` are the names
    of those of which nothing is known yet. What is in the module and `not_mine` is the program's, and no test."""

    class Module(pytest.Module):  # type: ignore[misc]
        def _getobj(self):
            # type: () -> Any
            return module

    class Plugin:
        def __init__(self):
            # type: () -> None
            self.unfinished = {}  # type: dict[str, None]
            self.classes = []  # type: list[Any]  # of which there are tests

        @staticmethod
        def pytest_addoption(parser):
            # type: (Any) -> None
            """Of the plugin for debugging, without which pytest runs no case of unittest's."""
            parser.addoption("--trace", action="store_true")
            parser.addoption("--pdb", dest="usepdb", action="store_true")

        @staticmethod
        @pytest.hookimpl(tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_pycollect_makeitem(collector, obj):
            # type: (Any, Any) -> list[Any] | None
            return [] if type(collector) is Module and id(obj) in not_mine else None

        def pytest_collection(self, session):
            # type: (Any) -> bool
            import pathlib

            collector = Module.from_parent(session, path=pathlib.Path(os.__file__))
            session.items = list(session.genitems(collector))
            session.config.hook.pytest_collection_modifyitems(
                session=session, config=session.config, items=session.items
            )
            session.testscollected = len(session.items)
            self.unfinished.update(dict.fromkeys([_pytest_name(item) for item in session.items]))
            self.classes += [item.cls for item in session.items if getattr(item, "cls", None) is not None]
            return True

        def pytest_collectreport(self, report):
            # type: (Any) -> None
            if report.failed:
                results.add(ERROR, "collecting", str(report.longrepr)[-500:])

        @staticmethod
        def pytest_runtest_logstart(nodeid, location):  # noqa: ARG004 - what pytest hands over
            # type: (str, object) -> None
            results.begin(nodeid.partition("::")[2], ends_alone=False)

        @staticmethod
        def pytest_runtest_logfinish(nodeid, location):  # noqa: ARG004 - as above
            # type: (str, object) -> None
            results.finish()

        @staticmethod
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_runtest_call(item):  # noqa: ARG004 - what pytest hands over
            # type: (object) -> Any
            results.ends_alone = True
            yield
            results.ends_alone = False

        @staticmethod
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_fixture_setup(fixturedef, request):  # noqa: ARG004 - what pytest hands over
            # type: (object, object) -> Any
            """What it raises ends more than a test: pytest may keep it for others, or take the fixture for set up. So
            it is with one that a test asks for in its midst (`request.getfixturevalue`)."""
            before, results.ends_alone = results.ends_alone, False
            yield
            results.ends_alone = before

        @staticmethod
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_runtest_makereport(item, call):
            # type: (Any, Any) -> Any
            for each in [call.excinfo, *(getattr(item, "_excinfo", None) or ())]:  # the others of a case of unittest's
                if each is not None and call.when == "call":
                    results.hear(each.value)
            yield

        def pytest_runtest_logreport(self, report):
            # type: (Any) -> None
            name = _pytest_name(report)
            if report.when == "call" or not report.passed:
                self.unfinished.pop(name, None)
            if report.failed:
                results.add(*_failure(report))
            elif report.skipped:
                results.add(SKIPPED, name, "")
            elif report.when == "call":
                results.add(PASSED, name)

    return Plugin()


def _failure(report):
    # type: (Any) -> tuple[bytes, str, str]
    """(letter, name, text) of a report on a test that failed, or could not be run."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)[-500:]
    is_assertion = report.when == "call" and text.startswith(("AssertionError", "assert ", "Failed"))
    return FAILED if is_assertion else ERROR, _pytest_name(report), text
