"""What every suite has: a module for its script, and results."""

import sys
from _thread import get_ident as _get_ident
from opcode import EXTENDED_ARG, opmap

from cruxcell.analysis.given_tests import class_names, given_tests
from cruxcell.analysis.parsing import parse_text
from cruxcell.analysis.vacuous import is_a_case
from cruxcell.namespace import module_namespace, named_namespace
from cruxcell.protocol import messages, records
from cruxcell.protocol.records import traceback_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any, Callable  # noqa: F401 - in type comments

PASSED, FAILED, ERROR, SKIPPED = messages.TEST_PASSED, messages.TEST_FAILED, messages.TEST_ERROR, messages.TEST_SKIPPED
MAIN = "__main__"  # of the script
MAIN_IN = "%s." + MAIN  # in a script's code, by another name for the module (`program_module`)


def run_main(script, namespace):
    # type: (CodeType, dict[str, Any]) -> None
    """Run a script. One place for all who do: how deep it may call depends on whether this has been rehearsed, which
    lets CPython 3.11 leave out the call in between."""
    exec(script, namespace)


class Declined(BaseException):
    """What a test asks for is for the program to say, and nobody was asked: the test ends by this, and cannot pass."""


class Results:
    """What became of each test, in order: (letter, name, message). Beyond the bound nothing more is run.

    A test that something is declined to (`decline`) is an error, whatever it does with the exception. The others go on
    once that has come to whoever runs the tests (`hear`). Until then nothing may be asked: by what the test, or what
    it has called, makes of the exception, a later test could pass.
    """

    def __init__(self):
        # type: () -> None
        self.all = []  # type: list[tuple[bytes, str, str]]
        self.under_way = ""  # the name of the test that runs
        self.ends_alone = False  # does what the test raises by now end it, and nothing else?
        self.declined = None  # type: Declined | None  # on its way through the test
        self._spoilt = ""  # why the test that runs cannot pass
        self._thread = _get_ident()
        self.leave = None  # type: Callable[[str], Any] | None  # ends the process

    def begin(self, name, ends_alone=True):
        # type: (str, bool) -> None
        """A test begins."""
        self.under_way, self.ends_alone, self._spoilt = name, ends_alone, ""

    def finish(self):
        # type: () -> None
        """It is over."""
        self.look_for_declined()
        self.under_way, self.ends_alone, self._spoilt = "", False, ""

    def decline(self, why):
        # type: (str) -> None
        """End the test under way by an exception, if that ends nothing else."""
        if self.ends_alone and self.leave is not None and _get_ident() == self._thread:
            self.look_for_declined()
            self._spoilt, self.declined = why, Declined(why)
            raise self.declined

    def hear(self, error):
        # type: (object) -> None
        """By this exception a test has ended, or a part of it that is told apart."""
        if error is self.declined:
            self.declined = None

    def look_for_declined(self):
        # type: () -> None
        """Something is asked, or told of a test: not while that exception is on its way, or has been caught."""
        if self.declined is not None and self.leave is not None:
            self.leave(str(self.declined))

    def add(self, letter, name, message=""):
        # type: (bytes, str, object) -> bool
        """False once there are too many. The message may be anything: an exception, what a script skips a test for."""
        self.look_for_declined()
        if self._spoilt and (letter not in (FAILED, ERROR) or self._spoilt in records.message_of(message)):
            letter, message = ERROR, self._spoilt
        if len(self.all) < messages.MAX_TESTS - 1:
            self.all.append((letter, name, records.message_of(message)))
            return True
        if len(self.all) < messages.MAX_TESTS:
            self.all.append((ERROR, "", "the suite has more than %d tests" % (messages.MAX_TESTS - 1)))
        return False

    def spoil(self, name, why):
        # type: (str, str) -> None
        """The test of this name has not passed, as is known only now."""
        self.all = [(ERROR, name, why) if each[:2] == (PASSED, name) else each for each in self.all]

    def end(self, why):
        # type: (str) -> bool
        """The process is about to end, in the midst of a test. Was there any?"""
        self.declined = None
        if self.under_way:
            self.add(ERROR, self.under_way, why)
        return bool(self.all)

    def has_failed(self):
        # type: () -> bool
        return any(letter in (FAILED, ERROR) for letter, _, _ in self.all)

    def record(self):
        # type: () -> bytes
        return records.tests(self.all)


class Suite:
    """`code` is what runs as the script, in `namespace`; then `run()` gives the Results, None if it is no suite. The
    program's names are in `of_program`: the same, unless the script imports it.

    Where `is_whole`, `run()` runs the script, too.
    """

    is_whole = False
    is_main = True  # does what it guards by being the main module run?
    has_run = False  # has the script run tests by itself, whose results count?
    names = frozenset()  # type: frozenset[str]  # which it uses of the program beside those in `code`
    skips = ()  # type: tuple[type[BaseException], ...]  # what a script raises to have itself skipped
    program_module = ""  # by which name it imports the program (`import_program`)

    def __init__(self, source):
        # type: (str) -> None
        self.code = source
        self.results = Results()
        # So that what it guards by being the main module runs.
        self.namespace = module_namespace(MAIN, "test_program.py")
        self.module = self._program = sys.modules[MAIN]
        self.of_program = self.namespace
        self._not_mine = frozenset()  # type: frozenset[int]
        self._given = frozenset()  # type: frozenset[str]  # names of the program's
        self.codes = []  # type: list[Any]  # of the script
        self.guard = NoGuard()  # type: Any  # which is to be lowered while frames are looked at
        self.is_separated = False  # is there no program in this process?

    def import_program(self, name):
        # type: (str) -> None
        """The program is a module of this name, if it is one."""
        self.program_module = name
        if name:
            self.of_program = named_namespace(name)
            self._program = sys.modules.pop(name)  # nobody finds it before the program, or else the script, runs

    def install(self):
        # type: () -> None
        """The modules are there to be imported."""
        sys.modules[MAIN] = self.module
        if self.program_module:
            sys.modules[self.program_module] = sys.modules[MAIN_IN % self.program_module] = self._program
            self._program.__dict__[MAIN] = self._program  # or else a `__getattr__` of the program is asked for it

    def begin(self):
        # type: () -> None
        """The script is about to run; what stands in its namespace by now, and in the program's, is the program's."""
        self.install()
        self._not_mine = frozenset(map(id, [*self.namespace.values(), *self.of_program.values()]))
        self._given = frozenset([*self.namespace, *self.of_program])

    def is_compiled(self, script, guard=None):
        # type: (Any, Any) -> None
        """`script` is the script's code; a program runs in the same process under this guard, if there is one."""
        self.codes, self.guard = [script], self.guard if guard is None else guard
        self.is_separated = guard is None
        for code in self.codes:
            self.codes += [each for each in code.co_consts if type(each) is type(script)]

    def skip(self, error):
        # type: (BaseException) -> None
        """The script has had itself skipped, before any test."""
        self.results.add(SKIPPED, "", error)

    def has_left(self, error):
        # type: (Any) -> bool
        """Has the script left with status 0 by a line of its own that says no more (`sys.exit(0)`), or that says what
        came of tests that it has run (`sys.exit(not result.wasSuccessful())`), whose results count anyhow? Where any
        other line raises this, it may be what a program in the same process gave the script that does."""
        trace = traceback_of(error)  # type: Any
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        if trace is None or not is_well(error):
            return False
        with self.guard:
            code, line, found = trace.tb_frame.f_code, trace.tb_lineno, trace.tb_frame.f_locals
        if not any(code is each for each in self.codes):
            return False
        said = self.code.split("\n")[line - 1].partition("#")[0].strip()
        leaves = said in _LEAVES or (self.has_run and said.startswith(_LEAVES_WITH))
        is_meant = self.namespace.get("sys", sys) is sys and sys.exit is _EXIT and "SystemExit" not in self.namespace
        return leaves and is_meant and _means_them(code, found)

    def not_run(self, run):
        # type: (list[Any]) -> list[Any]
        """The classes with tests, in the script's tree, whose base the program gives and may have made such that nobody
        runs them. `run`: the classes that are run, with those they derive from. Where the program runs in this process
        only those that are test cases by their text: others may be what they seem (`class Fake(Device)`)."""
        names = {base.__name__ for each in run for base in each.__mro__}
        if names.issuperset(class_names(self.codes[0])):
            return []
        found = given_tests(parse_text(self.code, "exec"), self._given, self.program_module)
        return [node for node in found if node.name not in names and (self.is_separated or is_a_case(node))]

    def add_not_run(self, run):
        # type: (list[Any]) -> None
        """None of these has passed. What has failed anyhow is not looked at."""
        for node in () if self.results.has_failed() else self.not_run(run):
            self.results.add(ERROR, node.name, _NOT_RUN)

    def _mine(self):
        # type: () -> list[Any]
        return [value for value in list(self.namespace.values()) if id(value) not in self._not_mine]


def _means_them(code, found):
    # type: (Any, Any) -> bool
    """Are `sys` and `SystemExit` what they are outside of this code, or imported in it? `found`: its variables."""
    own = {"sys", "SystemExit"}.intersection(code.co_varnames + code.co_cellvars + code.co_freevars)
    if code.co_flags & _IS_FUNCTION:
        return not own or (own == {"sys"} and found.get("sys") is sys and "sys" not in _bound_for_a_while(code))
    # Of a module or class, whose namespace a metaclass may have made.
    return not own and type(found) is dict and found.get("sys", sys) is sys and "SystemExit" not in found


def _bound_for_a_while(code):
    # type: (Any) -> set[str]
    """The variables of comprehensions that are part of this code, as from Python 3.12 on: when one has raised, its
    variables are again what they were before it."""
    cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    names = [*code.co_varnames, *cells, *code.co_freevars]
    found, more = set(), 0
    for operation, argument in zip(code.co_code[0::2], code.co_code[1::2]):
        number = more << 8 | argument
        more = number if operation == EXTENDED_ARG else 0
        if operation == _PUT_ASIDE:
            found.add(names[number])
    return found


_NOT_RUN = "has tests that nobody ran, and derives from what the program gives: require IN_PROCESS"
_PUT_ASIDE = opmap.get("LOAD_FAST_AND_CLEAR", -1)
_IS_FUNCTION = 1  # CO_OPTIMIZED
_EXIT = sys.exit
_LEAVES = frozenset(
    ["sys.exit()", "sys.exit(0)", "sys.exit(None)", "raise SystemExit", "raise SystemExit()", "raise SystemExit(0)"]
)
_LEAVES_WITH = ("sys.exit(", "raise SystemExit(")


def is_well(error):
    # type: (Any) -> bool
    """Is this `sys.exit` with status 0, and no class of anybody's own?"""
    return type(error) is SystemExit and (
        error.code is None or error.code is False or (type(error.code) is int and not error.code)
    )


class NoGuard:
    """That of a process in which there is nothing to guard."""

    shows_frames = True

    def __enter__(self):
        # type: () -> None
        pass

    def __exit__(self, *_raised):
        # type: (object) -> None
        pass


def leave(where):
    # type: (object) -> None
    """In place of what a worker with one suite can do without, and may not do: assertRaises clears frames."""
