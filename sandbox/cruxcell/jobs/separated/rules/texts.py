"""What a script runs as code beside itself: never a text that it may have from the candidate.

Scripts evaluate texts, unpickle bytes and run doctests. Once the candidate has answered, what they run may be the
candidate's, and would run in the test's process, where it decides. From then on a test's worker ends where the script
runs what is neither its own nor harmless. An audit hook sees that before any of it has run, and cannot be removed.

A harmless text names nothing of the script, and has nothing of it: its names are the program's objects and pure
builtins, and while it runs the candidate answers with data and objects of its own. A class or function of the library
would be one of the test's process: `type` makes what equals everything.

The same hook sees which files are opened and moved. An object or function of the library that the script has passed (a
ZipFile, a ConfigParser, `shutil.move`) does that for the candidate with none that the script has not passed.
"""

import builtins
import os
import sys
from errno import EACCES
from opcode import hasname, opmap

from cruxcell.analysis.bytecode import LOADS, Anatomy, loaded_names, nested_codes
from cruxcell.analysis.hermetic import SAFE_BUILTINS
from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated.proxies.operations import is_public
from cruxcell.jobs.separated.proxies.remote import is_remote
from cruxcell.jobs.separated.proxies.shared_names import is_of_c
from cruxcell.jobs.separated.rules.made_code import is_as_before, is_of_identifiers
from cruxcell.jobs.separated.rules.own_code import OwnCode
from cruxcell.protocol import messages
from cruxcell.values.containers import CONTAINERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType  # noqa: F401 - in type comments
    from typing import Any, Callable  # noqa: F401 - in type comments

# Audit events of what makes code run that was no function before: what the interpreter itself does raises none.
_RUNS = ("exec", "function.__new__", "object.__setattr__", "pickle.find_class")
_OF_FILES = ("open", "os.rename")
# The function of the harness's that does what the candidate asks of an object of the test.
_SERVES = ("cruxcell.jobs.separated.exchange.permissions", "run")
_CODE_AT = {"exec": 0, "function.__new__": 0, "object.__setattr__": 2}
# What a pickle may be made of besides plain data, by module. Those whose objects have attributes of their own are not
# here (Fraction, OrderedDict): a pickle sets these as it likes, `items` or the class's `__eq__` too. Nor is deque, as a
# pickle may give the class itself, which answers every `[key]`.
_OF_PICKLES = {
    "builtins": frozenset(["bytearray", "complex", "range"]),
    "datetime": frozenset(["date", "datetime", "time", "timedelta", "timezone"]),
    "decimal": frozenset(["Decimal"]),
}
_CALLS = frozenset(["_stmt()", "_setup()", "pass"])  # what timeit makes of functions, and of what it is not given
_IMPORTERS = frozenset(["_frozen_importlib", "_frozen_importlib_external", "_pytest.assertion.rewrite"])
_IMPORTERS |= {"importlib._bootstrap", "importlib._bootstrap_external"}
_ATTRIBUTES = frozenset([opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in opmap])
_MORE = frozenset(hasname) - LOADS - _ATTRIBUTES
_RAISE, _FAIL = opmap["RAISE_VARARGS"], opmap.get("LOAD_ASSERTION_ERROR", 0)
_COMMON = opmap.get("LOAD_COMMON_CONSTANT")  # from 3.14 on; the first of them is AssertionError
# What ends an iteration of whoever runs the text, `all(map(eval, texts))`, and leaves it content.
_ENDS_ITERATIONS = frozenset(["next", "send", "throw"])
_CALM = frozenset(
    [name for name in SAFE_BUILTINS if not isinstance(getattr(builtins, name), type)]
    + ["bool", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "range", "set", "str", "tuple"]
    + ["AssertionError"]  # of `assert`, up to 3.8
)
_CALM_ONES = {name: getattr(builtins, name) for name in _CALM - _ENDS_ITERATIONS}
_FUNCTIONS = frozenset(["<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"])
# What stands in the script's pickles for the other half's objects, by module and name.
OF_THE_OTHER_HALF = "copy", "_object_of_the_other_half"
# The function of ours that loads what the script itself has pickled. Others beside it stand between who runs something
# and the hook.
_LOADS_OWN = ("cruxcell.jobs.separated.rules.pickles", "load_own")
_TWIN = "cruxcell.native.pure"  # whose hook is a function of Python's itself
_OPENS = "cruxcell.jobs.devices"  # for whoever calls it
_SIMPLE = frozenset(map(id, (str, bytes, int, float, bool, complex, type(None), range, bytearray)))
# Those of the harness, by which it reports and hears of the candidate.
_DESCRIPTORS = (messages.REPORT_DESCRIPTOR, messages.PROGRESS_DESCRIPTOR, messages.CHANNEL_DESCRIPTOR)
_frame, _current_frames = sys._getframe, sys._current_frames


class Texts:
    """What a script runs beside itself, from now on and as long as this process lives.

    Args:
        hear: that of the native helper.
        script: the script's code.
        may_be_foreign: may the script hold texts of the candidate?
        leave: ends the worker; it is told the line of the script.
        may_open: may the candidate have this file of the script's opened, or moved?
    """

    def __init__(self, hear, script, may_be_foreign, leave, may_open):
        # type: (Callable[..., object], CodeType, Callable[[], bool], Callable[[int], None], Callable[[Any, bool], bool]) -> None
        # As `leave`, or raises an exception: what an event says is about to run does not run then, either.
        self.decline = leave
        self._may_be_foreign, self._leave, self._may_open = may_be_foreign, leave, may_open
        self._own = OwnCode(script)
        self._harmless = set()  # type: set[CodeType]
        self._built = set()  # type: set[CodeType]  # functions made of identifiers
        runtime = [each for each in (sys.prefix, sys.base_prefix, *sys.path) if os.path.isabs(each)]
        self._folders = tuple([os.path.join(each, "") for each in runtime])
        self.before_import = {}  # type: dict[str, Callable[[], None]]  # what is done before a module is loaded
        hear((*_RUNS, *_OF_FILES, "import"), self._listen)

    def is_under_way(self):
        # type: () -> bool
        """Is it for a harmless text that something is asked of the candidate?"""
        return bool(self._harmless) and self._is_harmless(_frame(1))

    def is_under_way_anywhere(self):
        # type: () -> bool
        """Does a thread of the script run a harmless text?"""
        return bool(self._harmless) and any(map(self._is_harmless, _current_frames().values()))

    def _is_harmless(self, frame):
        # type: (Any) -> bool
        while frame is not None and frame.f_code not in self._harmless:
            if frame.f_code.co_filename == CHECK:
                return False
            frame = frame.f_back
        return frame is not None

    def is_about_to_run(self):
        # type: () -> None
        """A library of the script's is about to run what a text says that may be the candidate's."""
        if self._may_be_foreign():
            self._leave(_line_of(_frame(1)))

    def is_own(self, text):
        # type: (object) -> bool
        """Does the text stand in the script, and is no mere name?"""
        return self._own.says(text)

    def is_about_to_name(self, module, name):
        # type: (str, str) -> None
        """As `is_about_to_run`: what the text says is to find something by its name, as a pickle does."""
        if not is_of_data(module, name):
            self.is_about_to_run()

    def take(self, values):
        # type: (list[Any]) -> None
        """All that a harmless text under way may have from the candidate: data, and objects of the candidate's own."""
        if not _is_data(values):
            self._leave(_line_of(_frame(1)))

    def _listen(self, event, arguments):
        # type: (str, tuple[Any, ...]) -> None
        if event == "import":
            if arguments[0] in self.before_import:
                self.before_import[arguments[0]]()
            return
        caller, loads_own = _who_runs(_frame(1))
        if event in _OF_FILES:
            if serves_the_candidate(caller):
                self._refuse_files(event, arguments)
            return
        if not self._may_be_foreign() or (event == "object.__setattr__" and is_as_before(self._folders, *arguments)):
            return
        if event == "pickle.find_class" and (loads_own or arguments == OF_THE_OTHER_HALF or is_of_data(*arguments)):
            return
        code = arguments[_CODE_AT[event]] if event in _CODE_AT else None
        if _is_of_a_module(caller, self._folders) or self._own.has(code) or self._is_built(code, caller):
            return
        if event != "exec" or not self._may_run(code, caller):
            self.decline(_line_of(caller))

    def _is_built(self, code, caller):
        # type: (Any, FrameType) -> bool
        """Does a module run it that makes code of identifiers, or is it a function that came of that?"""
        if code not in self._built and not is_of_identifiers(caller):
            return False
        self._built.update(() if code is None else nested_codes(code))
        return True

    def _refuse_files(self, event, arguments):
        # type: (str, tuple[Any, ...]) -> None
        """That the candidate has a library open or move, if the script has not passed it: what is moved into a folder
        that was passed, it would have."""
        if event == "open":
            refused = [each for each in arguments[:1] if not self._may_be_opened(each)]
        else:  # paths to what is in open folders say nothing
            moved = [os.fsdecode(each) for each in arguments[:2]]
            refused = [each for each in moved if arguments[2:] != (-1, -1) or not self._may_open(each, True)]
        if refused:
            raise PermissionError(EACCES, "a file that the script has not passed", refused[0])

    def _may_be_opened(self, path):
        # type: (Any) -> bool
        """Is it a file of the runtime, one that is open and not the harness's, or one that the program has, too?"""
        path = path if type(path) is int else os.fsdecode(path)
        is_of_the_runtime = type(path) is str and path.startswith(self._folders) and ".." not in path.split("/")
        if type(path) is int:
            return path not in _DESCRIPTORS
        return is_of_the_runtime or self._may_open(path, False)

    def _may_run(self, code, caller):
        # type: (Any, FrameType) -> bool
        """A harmless text, or one that is timed; what the candidate answers to it is looked at from now on."""
        codes = [code]
        if _name_of(caller) == "timeit":
            texts = [caller.f_locals.get(name) for name in ("stmt", "setup")]  # type: list[Any]
            if not all(type(each) is str for each in texts):  # another class says itself what it is in a text
                return False
            codes = [compile(each, CHECK, "exec", 0, True) for each in texts if each not in _CALLS]
            codes = [each for each in codes if not self._own.has(each)]
        if not all(_is_harmless(each, caller) for each in codes):
            return False
        if codes:
            self._harmless.update(Anatomy(code).codes)
        return True


def once_imported(texts, name, begin):
    # type: (Any, str, Callable[[Any], None]) -> None
    """`begin(module)` before anybody uses that module of a library: now if it is loaded, or when it is about to be."""

    def first():
        # type: () -> None
        if texts.before_import.pop(name, None) is None:
            return
        try:
            __import__(name)
        except ImportError:  # which who imports it hears as well
            return
        begin(sys.modules[name])

    texts.before_import[name] = first
    if name in sys.modules:
        first()


def serves_the_candidate(frame):
    # type: (Any) -> bool
    """Is it a library that does something because the candidate asks for it, and no code of the script's or of ours?"""
    while _name_of(frame) == _OPENS:
        frame = frame.f_back
    if _name_of(frame).partition(".")[0] == "cruxcell" and (_name_of(frame), frame.f_code.co_name) != _SERVES:
        return False
    while frame is not None and frame.f_code.co_filename != CHECK:
        if (_name_of(frame), frame.f_code.co_name) == _SERVES:
            return True
        frame = frame.f_back
    return False


def is_of_data(module, name):
    # type: (str, str) -> bool
    """A class of data, which no Python code defines and nobody has put another in the place of?"""
    kind = vars(sys.modules[module]).get(name) if module in sys.modules else None
    return type(kind) is type and name in _OF_PICKLES.get(module, ()) and is_of_c(kind)


def _who_runs(frame):
    # type: (Any) -> tuple[Any, bool]
    """(The frame that has something run, is that `load_own` alone?)"""
    while _name_of(frame) == _TWIN:
        frame = frame.f_back
    loads_own = (_name_of(frame), frame.f_code.co_name) == _LOADS_OWN
    while _name_of(frame) == _LOADS_OWN[0]:
        frame = frame.f_back
    return frame, loads_own


def _is_harmless(code, caller):
    # type: (CodeType, FrameType) -> bool
    """Does it bind nothing, make no function, raise nothing but failed assertions, and use no names but the program's
    and those of pure functions?"""
    anatomy = Anatomy(code)
    if anatomy.all_operations & _MORE or not _ENDS_ITERATIONS.isdisjoint(anatomy.all_names):
        return False
    if not all(map(is_public, anatomy.all_names)) or not all(map(_only_asserts, anatomy.bytecodes, anatomy.names)):
        return False
    if not all(each.co_name in _FUNCTIONS for each in anatomy.codes[1:]):
        return False
    scopes = _scopes(caller)
    return all(_is_known(name, scopes) for name in loaded_names(code))


def _only_asserts(bytecode, names):
    # type: (bytes, tuple[str, ...]) -> bool
    """Is each `raise` that of an `assert`?"""
    operations = bytecode[0::2]
    if _COMMON is not None:
        return operations.count(_RAISE) <= list(zip(operations, bytecode[1::2])).count((_COMMON, 0))
    return operations.count(_RAISE) <= (operations.count(_FAIL) if _FAIL else names.count("AssertionError") * 255)


def _scopes(frame):
    # type: (FrameType | None) -> list[dict[str, Any]]
    """The variables of whoever runs a text, to the script's line."""
    found = []  # type: list[dict[str, Any]]
    while frame is not None:
        found += [frame.f_locals, frame.f_globals]
        if _name_of(frame) == "doctest":
            found.append(getattr(frame.f_locals.get("test"), "globs", {}))
        if frame.f_code.co_filename == CHECK:
            break
        frame = frame.f_back
    return found


def _is_known(name, scopes):
    # type: (str, list[dict[str, Any]]) -> bool
    """Does a name mean an object of the program's in each of these, or a pure builtin that none of them has anew?"""
    values = [each[name] for each in scopes if name in each]
    if values:
        return all(is_remote(each) for each in values)
    return name in _CALM_ONES and vars(builtins).get(name) is _CALM_ONES[name]


def _is_data(value):
    # type: (Any) -> bool
    """Does it consist of simple values and the program's objects?"""
    pending, seen = [value], set()  # type: list[Any], set[int]
    for each in pending:
        if id(each) in seen or id(type(each)) in _SIMPLE or is_remote(each):
            continue
        seen.add(id(each))
        base = next((kind for kind in CONTAINERS if issubclass(type(each), kind)), None)
        if base is None:
            return False
        pending += base.__iter__(each)
        if base is dict:
            pending += dict.values(each)
    return True


def _is_of_a_module(caller, folders):
    # type: (FrameType, tuple[str, ...]) -> bool
    """Does our own code run it, or the import of a module of the runtime?"""
    if _name_of(caller).partition(".")[0] == "cruxcell":
        return True
    frame = caller  # type: FrameType | None
    while frame is not None and frame.f_code.co_filename != CHECK and _name_of(frame) not in _IMPORTERS:
        frame = frame.f_back
    while frame is not None and _name_of(frame) in _IMPORTERS:
        module = frame.f_locals.get("module")
        if module is not None:
            # Not what the code says that its file is: who made a file of code made that, too.
            origin = getattr(getattr(module, "__spec__", None), "origin", None)
            return type(origin) is str and (origin == "frozen" or origin.startswith(folders))
        frame = frame.f_back
    return False


def _name_of(frame):
    # type: (FrameType) -> str
    return str(frame.f_globals.get("__name__", ""))


def _line_of(frame):
    # type: (FrameType | None) -> int
    """The script's line that is under way; 0 if it is in another thread."""
    while frame is not None and frame.f_code.co_filename != CHECK:
        frame = frame.f_back
    return frame.f_lineno if frame is not None else 0
