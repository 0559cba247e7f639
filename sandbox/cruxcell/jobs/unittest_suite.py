"""Suites that unittest runs: the test cases that a script defines, whoever runs them."""

import opcode
import os

from cruxcell.jobs.kept import Kept
from cruxcell.jobs.suite_base import ERROR, FAILED, MAIN, PASSED, SKIPPED, Declined, Suite, leave
from cruxcell.protocol.records import message_of, traceback_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

    from cruxcell.jobs.suite_base import Results  # noqa: F401 - in type comments

__unittest = True  # unittest leaves the frames of such modules out of what it tells of a failure


class UnittestSuite(Suite):
    """Test cases that the script defines; `unittest.main` runs them at once, whatever it is told."""

    def __init__(self, source):
        # type: (str) -> None
        Suite.__init__(self, source)
        unittest = __import__("unittest")  # type: Any
        self._base, self._loader, self._suite = unittest.TestCase, unittest.defaultTestLoader, unittest.TestSuite
        self.skips = (unittest.SkipTest,)
        self._result = _result_class(unittest)(self.results)
        self._ran = {}  # type: dict[int, Any]  # classes of cases, by their addresses: a metaclass may give them no hash
        self.has_run = False
        self._running = []  # type: list[Any]
        self._watch(unittest)
        unittest.case.traceback.clear_frames = leave
        self._tell_without_frames(unittest.TestResult)
        unittest.main = self._main
        self._kept = Kept("unittest")

    def begin(self):
        # type: () -> None
        Suite.begin(self)
        self._kept.put_back()  # a program beside its test may have changed it
        self.results.all.clear()  # what the program ran by itself is no test of the script's
        self._ran.clear()
        self.has_run = False

    def _cases(self):
        # type: () -> list[Any]
        found = [each for each in self._mine() if isinstance(each, type) and issubclass(each, self._base)]
        return [
            each
            for at, each in enumerate(found)
            if each.__module__.partition(".")[0] != "unittest" and all(each is not one for one in found[:at])
        ]

    def _watch(self, unittest):
        # type: (Any) -> None
        """Note each case that the script itself runs, in whatever way, and what came of it: nobody may look at that.
        Not those that are run within another: that one looks at them."""
        run, run_all, results, running = unittest.TestCase.run, unittest.TestSuite.run, self.results, self._running
        suites = []  # type: list[Any]

        def run_case(case, result=None):
            # type: (Any, Any) -> Any
            self._ran[id(type(case))] = type(case)
            is_noted = not running and result is not self._result
            running.append(case)
            before, after = _tallies(result), None
            try:
                result = run(case, result)
                after = _tallies(result)
                return result
            finally:
                running.pop()
                if is_noted:
                    self.has_run = True
                    results.add(_letter_of(before, after), _name_of(case))

        def run_suite(suite, result, *debug, **named):
            # type: (Any, Any, object, object) -> Any
            is_noted = not running and not suites and result is not self._result
            suites.append(suite)
            known = len(getattr(result, "errors", ()))
            try:
                return run_all(suite, result, *debug, **named)
            finally:
                suites.pop()
                if is_noted:
                    self.has_run = True
                    for failed, _ in getattr(result, "errors", ())[known:]:
                        if not isinstance(failed, self._base):  # the set-up of a class or a module
                            results.add(ERROR, message_of(failed.id()))

        unittest.TestCase.run, unittest.TestSuite.run = run_case, run_suite
        unittest.TestCase.assertSetEqual = _of_items(unittest.TestCase.assertSetEqual)
        self._tell_skips_apart(unittest)

    def _tell_without_frames(self, results):
        # type: (Any) -> None
        """What a runner of the script's shows of a failure: its message where a guard refuses to look at frames."""
        told = results._exc_info_to_string

        def tell(result, error, test):
            # type: (Any, Any, Any) -> Any
            return told(result, error, test) if self.guard.shows_frames else message_of(error[1])

        results._exc_info_to_string = tell

    def _tell_skips_apart(self, unittest):
        # type: (Any) -> None
        """A test ends well by what unittest takes for a signal only where the script raised that: or a program would
        end each test that it cannot pass, by its own exception in the same process, by the test's from another."""
        run_part, skipped = unittest.case._Outcome.testPartExecutor, []  # type: Any, list[BaseException]
        signals = (unittest.SkipTest, unittest.case._ShouldStop)
        inner = [unittest.TestCase.subTest.__wrapped__.__code__]
        add_error = unittest.TestSuite._addClassOrModuleLevelException

        def is_own(error):
            # type: (BaseException) -> bool
            is_of_the_case = any(error is each for each in skipped)
            return self._is_own(error, [*inner, skip.__code__] if is_of_the_case else inner)

        def skip(case, reason):
            # type: (Any, object) -> None
            error = signals[0](reason)
            if self._running and self._running[-1] is case:
                skipped.append(error)
            raise error

        @unittest.case.contextlib.contextmanager  # type: ignore[untyped-decorator]
        def run_own_part(outcome, *asked, **named):
            # type: (Any, Any, Any) -> Any
            with run_part(outcome, *asked, **named):
                try:
                    yield
                except signals as error:
                    if is_own(error):
                        raise
                    raise _NotOwn(_TOLD % type(error).__name__) from None
                except Declined as error:
                    if len(self._running) == 1:  # of a test within another, that one may go on
                        self.results.hear(error)
                    raise

        def add_own_error(suite, result, error, *more, **named):
            # type: (Any, Any, Any, Any, Any) -> None
            """Of a class's or a module's set-up; unittest asks of the exception only whether it is a skip."""
            add_error(suite, result, error if is_own(error) else _NotOwn(), *more, **named)

        unittest.TestSuite._addClassOrModuleLevelException = add_own_error
        unittest.TestCase.skipTest, unittest.case._Outcome.testPartExecutor = skip, run_own_part

    def _is_own(self, error, inner):
        # type: (BaseException, list[Any]) -> bool
        """Has the exception come through the script's code and the library's alone? Not through functions of
        unittest's that raise it: whoever has one of those may call it. `inner`: code that may."""
        with self.guard:
            frames, at, trace = [], 0, traceback_of(error)  # type: list[Any], int, Any
            while trace is not None:
                frames.append(trace.tb_frame.f_code)
                at, trace = trace.tb_lasti, trace.tb_next
        if not any(frames and frames[-1] is code for code in inner) and not self._raises(frames, at):
            return False
        is_in_script = False
        for code in frames:
            is_the_scripts = any(code is each for each in self.codes)
            is_in_script = is_in_script or is_the_scripts
            may_be = is_the_scripts or _is_of_the_library(code) or any(code is each for each in inner)
            if is_in_script and not may_be:
                return False
        return is_in_script

    def _raises(self, frames, at):
        # type: (list[Any], int) -> bool
        """Is there a `raise` at this place of the last frame, and the script's? What the library raises may be what it
        was given, as a Future and a Mock do."""
        return any(frames and frames[-1] is code for code in self.codes) and frames[-1].co_code[at] == _RAISE

    def _main(self, *arguments, **keywords):  # noqa: ARG002 - what unittest hands over
        # type: (object, object) -> Any
        self.has_run = True
        suite = self._suite([self._loader.loadTestsFromTestCase(each) for each in self.left()])
        load = self.namespace.get("load_tests")  # type: Any  # a function of the script may say which tests there are
        code = getattr(load, "__code__", None)
        if any(code is each for each in self.codes):
            suite = load(self._loader, suite, None)
        suite.run(self._result)
        return type("TestProgram", (), {"result": self._result})()

    def left(self):
        # type: () -> list[Any]
        """The cases that nobody has run yet."""
        return [each for each in self._cases() if id(each) not in self._ran]

    def run(self):
        # type: () -> Results | None
        if self.left():
            self._main()
        self.add_not_run(self.all_run())
        return self.results

    def all_run(self):
        # type: () -> list[Any]
        return [*self._cases(), *self._ran.values()]

    def is_one(self):
        # type: () -> bool
        """Is there anything of the script's that is unittest's to run, or was?"""
        return self.has_run or bool(self.left())


class _NotOwn(Exception):
    """The program raised what only a test may."""


_RAISE = opcode.opmap["RAISE_VARARGS"]
_TOLD = "the program raised %s"

_LIBRARY = os.__file__.rpartition("/")[0] + "/"


def _is_of_the_library(code):
    # type: (Any) -> bool
    name = code.co_filename
    is_beside = "/site-packages/" in name or name.endswith("/unittest/case.py")
    return name.startswith(_LIBRARY) and not is_beside


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
    name = message_of(test.id())
    return name[len(MAIN) + 1 :] if name.startswith(MAIN + ".") else name


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

        def startTest(self, test):  # noqa: N802 - the name in unittest
            # type: (Any) -> None
            unittest.TestResult.startTest(self, test)
            self._results.begin(_name_of(test))

        def stopTest(self, test):  # noqa: N802 - the name in unittest
            # type: (Any) -> None
            unittest.TestResult.stopTest(self, test)
            self._results.finish()

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
