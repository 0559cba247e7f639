"""Suites: scripts whose tests run one by one under unittest, pytest or doctest, each with a result.

A suite is opened before the script runs, and run afterwards on the script's module. The frameworks are imported here
only: most workers need none.
"""

import sys

from cruxcell.analysis.bytecode import dissect
from cruxcell.analysis.parsing import CHECK, Invalid, compile_alike, parse_text
from cruxcell.analysis.syntax import walk
from cruxcell.analysis.vacuous import is_a_case
from cruxcell.jobs.kept import Kept
from cruxcell.jobs.program_module import refuse_taken
from cruxcell.jobs.pytest_suite import PytestSuite
from cruxcell.jobs.suite_base import ERROR, FAILED, MAIN, PASSED, SKIPPED, Suite
from cruxcell.jobs.unittest_suite import UnittestSuite
from cruxcell.namespace import CANDIDATE
from cruxcell.protocol import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

    from cruxcell.jobs.suite_base import Results  # noqa: F401 - in type comments


def open_suite(framework, source, program_module=""):
    # type: (str, str, str) -> Any
    """The suite that `source` is; for "" what finds out whether it is one. Raises Invalid."""
    refuse_taken(program_module)
    # It may have them by an import of the program's.
    unnamed = _Maybe if "unittest" in source or "TestCase" in source else _None
    kinds = {"": unnamed, "unittest": UnittestSuite, "pytest": PytestSuite, "doctest": _Doctest}  # type: dict[str, Any]
    suite = kinds[framework](source)
    suite.import_program(program_module)
    return suite


class _Maybe(UnittestSuite):
    """A script that names no framework: what defines unittest's test cases, or calls `unittest.main`, is a suite. So is
    what defines them by its text alone, as the program has something else by the name."""

    def run(self):
        # type: () -> Results | None
        is_one = self.is_one() or any(map(is_a_case, self.not_run(self.all_run())))
        return UnittestSuite.run(self) if is_one else None


class _None(Suite):
    """A script that names no framework, nor what is unittest's."""

    def run(self):
        # type: () -> Results | None
        return None


class _Doctest(Suite):
    """A text with examples: each that shows what it prints is a test, and one that fails is, too. A script with
    examples in its docstrings runs first; then these do, each docstring's in names of their own."""

    def __init__(self, source):
        # type: (str) -> None
        Suite.__init__(self, source)
        import doctest

        self._doctest, self._kept = doctest, Kept("doctest")
        texts = _docstrings(source)
        self.is_whole = texts is None
        try:
            found = [(line, doctest.DocTestParser().get_examples(text)) for line, text in texts or [(0, source)]]
        except ValueError as error:
            raise Invalid(str(error)) from None
        self._examples = found
        if self.is_whole:
            self.code = "".join([example.source for example in found[0][1]])
        else:
            sources = [example.source for _, examples in found for example in examples]
            self.names = frozenset().union(*[dissect(_compiled(each)).all_names for each in sources])

    def begin(self):
        # type: () -> None
        Suite.begin(self)
        self._kept.put_back()

    def run(self):
        # type: () -> Results | None
        for line, examples in self._examples:
            namespace = self.namespace if self.is_whole else dict(self.namespace)
            for example in examples:
                self._run(example, _compiled(example.source), "line %d" % (line + example.lineno + 1), namespace)
        return self.results

    def _run(self, example, code, name, namespace):
        # type: (Any, Any, str, dict[str, Any]) -> None
        import io

        flags = 0
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
            exec(code, namespace)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raised = error
        finally:
            printed, sys.stdout, sys.displayhook = shown.getvalue(), before, hook
        if printed and not printed.endswith("\n"):  # as in doctest
            printed += "\n"
        if raised is not None and example.exc_msg is None:
            self.results.add(ERROR, name, raised)
        else:
            wanted = example.want if example.exc_msg is None else example.exc_msg
            got = printed if raised is None else _as_told(raised)
            checker = self._doctest.OutputChecker()
            is_same = (raised is None) == (example.exc_msg is None) and checker.check_output(wanted, got, flags)
            if raised is not None and not is_same and flags & self._doctest.IGNORE_EXCEPTION_DETAIL:
                is_same = checker.check_output(_class_name(wanted), _class_name(got), flags)
            if wanted or not is_same:
                self.results.add(PASSED if is_same else FAILED, name, "" if is_same else "got %s" % got[:500])


def _compiled(example):
    # type: (str) -> Any
    try:
        return compile_alike(example, CHECK, "single")
    except SyntaxError as error:
        raise Invalid(str(error)) from None


def _docstrings(source):
    # type: (str) -> list[tuple[int, str]] | None
    """The docstrings of a script with the lines before them; None of what is no Python, as examples themselves are."""
    import _ast

    scopes = (_ast.Module, _ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)
    try:
        tree = parse_text(source, "exec")
    except Invalid:
        return None
    found = []
    for node in walk(tree):
        first = node.body[0] if isinstance(node, scopes) and node.body else None  # type: Any
        text = getattr(getattr(first, "value", None), "value", None)
        if isinstance(first, _ast.Expr) and type(text) is str:
            found.append((first.lineno - 1, text))
    return sorted(found) or None


_NOT_TOLD = ("builtins", MAIN, CANDIDATE)  # as where program and examples are one file


def _class_name(told):
    # type: (str) -> str
    """Of an error, by the last line of its traceback: without the module."""
    return told.partition("\n")[0].partition(":")[0].rpartition(".")[2]


def _as_told(error):
    # type: (BaseException) -> str
    """The end of a traceback: of a SyntaxError without the place, and with the notes that were added."""
    cls, text = type(error), records.message_of(error)  # type: Any, str
    if issubclass(cls, SyntaxError):
        text = records.message_of(error, lambda error: error.msg or "<no detail available>")
    name = cls.__qualname__ if cls.__module__ in _NOT_TOLD else cls.__module__ + "." + cls.__qualname__
    notes = getattr(error, "__notes__", None)
    told = ["%s: %s" % (name, text) if text else name, *(map(records.message_of, notes) if type(notes) is list else ())]
    return "\n".join(told) + "\n"
