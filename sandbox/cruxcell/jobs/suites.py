"""Suites: scripts whose tests run one by one under unittest, pytest or doctest, each with a result.

A suite is opened before the script runs, and run afterwards on the script's module. The frameworks are imported here
only: most workers need none.
"""

import sys

from cruxcell.analysis.parsing import CHECK, Invalid
from cruxcell.jobs.pytest_suite import PytestSuite
from cruxcell.jobs.suite_base import ERROR, FAILED, MAIN, PASSED, SKIPPED, Suite, leave
from cruxcell.protocol import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

    from cruxcell.jobs.suite_base import Results  # noqa: F401 - in type comments


def open_suite(framework, source):
    # type: (str, str) -> Any
    """The suite that `source` is; for "" what finds out whether it is one. Raises Invalid."""
    return {"": _Maybe, "unittest": _Unittest, "pytest": PytestSuite, "doctest": _Doctest}[framework](source)


class _Unittest(Suite):
    """Test cases that the script defines; `unittest.main` runs them at once, whatever it is told."""

    def __init__(self, source):
        # type: (str) -> None
        Suite.__init__(self, source)
        unittest = __import__("unittest")  # type: Any
        self._base, self._loader, self._suite = unittest.TestCase, unittest.defaultTestLoader, unittest.TestSuite
        self._result = _result_class(unittest)(self.results)
        self._ran = set()  # type: set[Any]
        self._has_run = False
        self._watch(unittest)
        self._kept = [(each, dict(vars(each))) for each in (unittest.TestCase, unittest.TestSuite, unittest.TestLoader)]
        unittest.case.traceback.clear_frames = leave
        unittest.main = self._main

    def begin(self):
        # type: () -> None
        Suite.begin(self)
        for each, attributes in self._kept:  # a program beside its test may have changed them
            for name, value in attributes.items():
                if vars(each).get(name) is not value:
                    setattr(each, name, value)

    def _cases(self):
        # type: () -> list[Any]
        found = [each for each in self._mine() if isinstance(each, type) and issubclass(each, self._base)]
        return [each for at, each in enumerate(found) if each.__module__ == MAIN and each not in found[:at]]

    def _watch(self, unittest):
        # type: (Any) -> None
        """Note each case that a runner of the script's own runs, and what came of it: nobody may look at that. Who runs
        cases with a TestResult at hand looks at it."""
        run, run_all, results = unittest.TestCase.run, unittest.TextTestRunner.run, self.results
        under_runner = []  # type: list[Any]

        def run_case(case, result=None):
            # type: (Any, Any) -> Any
            self._ran.add(type(case))
            if not under_runner or result is None:
                return run(case, result)
            before, after = _tallies(result), None
            try:
                run(case, result)
                after = _tallies(result)
                return result
            finally:
                results.add(_letter_of(before, after), _name_of(case))

        def run_suite(runner, test):
            # type: (Any, Any) -> Any
            self._has_run = True
            under_runner.append(runner)
            try:
                result = run_all(runner, test)
            finally:
                under_runner.pop()
            for failed, _ in [*result.failures, *result.errors]:
                if not isinstance(failed, self._base):  # the set-up of a class or a module
                    results.add(ERROR, failed.id())
            return result

        unittest.TestCase.run, unittest.TextTestRunner.run = run_case, run_suite
        unittest.TestCase.assertSetEqual = _of_items(unittest.TestCase.assertSetEqual)

    def _main(self, *arguments, **keywords):  # noqa: ARG002 - what unittest hands over
        # type: (object, object) -> Any
        self._has_run = True
        suite = self._suite([self._loader.loadTestsFromTestCase(each) for each in self.left()])
        load = self.namespace.get("load_tests")  # which tests there are, the script may say itself
        if callable(load) and id(load) not in self._not_mine:
            suite = load(self._loader, suite, None)
        suite.run(self._result)
        return type("TestProgram", (), {"result": self._result})()

    def left(self):
        # type: () -> list[Any]
        """The cases that nobody has run yet."""
        return [each for each in self._cases() if each not in self._ran]

    def run(self):
        # type: () -> Results | None
        if self.left():
            self._main()
        return self.results

    def is_one(self):
        # type: () -> bool
        """Is there anything of the script's that is unittest's to run, or was?"""
        return self._has_run or bool(self.left())


class _Maybe(Suite):
    """A script that names no framework: what defines unittest's test cases, or calls `unittest.main`, is a suite."""

    def __init__(self, source):
        # type: (str) -> None
        Suite.__init__(self, source)
        self._unittest = _Unittest(source) if "unittest" in source else None
        if self._unittest is not None:
            self.module, self.namespace = self._unittest.module, self._unittest.namespace

    def begin(self):
        # type: () -> None
        if self._unittest is not None:
            self._unittest.begin()

    def run(self):
        # type: () -> Results | None
        suite = self._unittest
        return suite.run() if suite is not None and suite.is_one() else None


def _of_items(compare):
    # type: (Any) -> Any
    """`assertSetEqual` for what has a `difference` of its own: unittest would hand that the set that is expected, and
    believe it. Its items are compared."""

    def compare_items(case, first, second, msg=None):
        # type: (Any, Any, Any, object) -> None
        first, second = [set(each) if hasattr(each, "difference") else each for each in (first, second)]
        compare(case, first, second, msg)

    return compare_items


def _name_of(test):
    # type: (Any) -> str
    name = test.id()
    return name[len(MAIN) + 1 :] if name.startswith(MAIN + ".") else name  # type: ignore[no-any-return]


def _tallies(result):
    # type: (Any) -> tuple[int, ...]
    """How many of its tests failed, did not do what was expected, or did not count, by a TestResult."""
    names = ("failures", "errors", "unexpectedSuccesses", "skipped", "expectedFailures")
    return tuple([len(getattr(result, name, ())) for name in names])


def _letter_of(before, after):
    # type: (tuple[int, ...], tuple[int, ...] | None) -> bytes
    """What became of a test, by the tallies before and after it; there are none after what ended its runner, too."""
    if after is None:
        return ERROR
    for at, letter in enumerate([FAILED, ERROR, FAILED, SKIPPED, SKIPPED]):
        if after[at] > before[at]:
            return letter
    return PASSED


def _result_class(unittest):  # noqa: C901 - the methods of a class whose base is imported late
    # type: (Any) -> Any
    """A TestResult that notes each test in Results."""

    class Result(unittest.TestResult):  # type: ignore[misc]
        def __init__(self, results):
            # type: (Results) -> None
            unittest.TestResult.__init__(self)
            self._results = results

        def _note(self, letter, test, error=""):
            # type: (bytes, Any, Any) -> None
            if not self._results.add(letter, _name_of(test), error[1] if type(error) is tuple else error):
                self.stop()

        def addSuccess(self, test):  # noqa: N802 - the name in unittest
            # type: (Any) -> None
            self._note(PASSED, test)

        def addFailure(self, test, err):  # noqa: N802 - the name in unittest
            # type: (Any, Any) -> None
            self.failures.append((test, ""))
            self._note(FAILED, test, err)

        def addError(self, test, err):  # noqa: N802 - the name in unittest
            # type: (Any, Any) -> None
            self.errors.append((test, ""))
            self._note(ERROR, test, err)

        def addSubTest(self, test, subtest, err):  # noqa: N802 - the name in unittest
            # type: (Any, Any, Any) -> None
            if err is not None:
                is_failure = issubclass(err[0], test.failureException)
                (self.failures if is_failure else self.errors).append((subtest, ""))
                self._note(FAILED if is_failure else ERROR, subtest, err)

        def addSkip(self, test, reason):  # noqa: N802 - the name in unittest
            # type: (Any, str) -> None
            self._note(SKIPPED, test, reason)

        def addExpectedFailure(self, test, err):  # noqa: ARG002, N802 - as in unittest
            # type: (Any, Any) -> None
            self._note(SKIPPED, test, "failed, as the suite expects")

        def addUnexpectedSuccess(self, test):  # noqa: N802 - the name in unittest
            # type: (Any) -> None
            self.unexpectedSuccesses.append(test)
            self._note(FAILED, test, "succeeded, which the suite does not expect")

    return Result


class _Doctest(Suite):
    """A text with examples: each that shows what it prints is a test, and one that fails is, too."""

    is_whole = True

    def __init__(self, source):
        # type: (str) -> None
        Suite.__init__(self, source)
        import doctest

        self._doctest = doctest
        try:
            self._examples = doctest.DocTestParser().get_examples(source)
        except ValueError as error:
            raise Invalid(str(error)) from None
        self.code = "".join([example.source for example in self._examples])

    def run(self):
        # type: () -> Results | None
        for example in self._examples:
            try:
                code = compile(example.source, CHECK, "single", 0, True)
            except SyntaxError as error:
                raise Invalid(str(error)) from None
            self._run(example, code)
        return self.results

    def _run(self, example, code):
        # type: (Any, Any) -> None
        import io

        name, flags = "line %d" % (example.lineno + 1), 0
        for flag, is_on in example.options.items():
            flags |= flag if is_on else 0
        if flags & self._doctest.SKIP:
            self.results.add(SKIPPED, name)
            return
        before = sys.stdout
        sys.stdout = shown = io.StringIO()
        hook, sys.displayhook = sys.displayhook, sys.__displayhook__
        raised = None
        try:
            exec(code, self.namespace)
        except Exception as error:
            raised = error
        finally:
            printed, sys.stdout, sys.displayhook = shown.getvalue(), before, hook
        if raised is not None and example.exc_msg is None:
            self.results.add(ERROR, name, raised)
        else:
            wanted = example.want if example.exc_msg is None else example.exc_msg
            got = printed if raised is None else _as_told(raised)
            is_same = (raised is None) == (example.exc_msg is None)
            if raised is not None and flags & self._doctest.IGNORE_EXCEPTION_DETAIL:
                is_same = _class_name(wanted) == _class_name(got)
            elif is_same:
                is_same = self._doctest.OutputChecker().check_output(wanted, got, flags)
            if wanted or not is_same:
                self.results.add(PASSED if is_same else FAILED, name, "" if is_same else "got %s" % got[:500])


def _class_name(told):
    # type: (str) -> str
    """Of an error, by the last line of its traceback: without the module."""
    return told.partition("\n")[0].partition(":")[0].rpartition(".")[2]


def _as_told(error):
    # type: (BaseException) -> str
    """The last line of a traceback."""
    cls, text = type(error), records.message_of(error)
    name = cls.__qualname__ if cls.__module__ in ("builtins", "__main__") else cls.__module__ + "." + cls.__qualname__
    return "%s: %s\n" % (name, text) if text else name + "\n"
