"""Pickles of one half of a script that the other half loads: the half that has the classes does it.

What the candidate has pickled, as bytes that it gives or as a file, the candidate unpickles again; the script gets what
comes of that as it gets what a function of the program returns. What the script pickles itself the test unpickles. An
object of the program's in it is pickled where it is, and stands in the script's pickle as a number: so all else in the
pickle stays the script's, neither shown to the candidate nor said by it. A random text beside the number keeps pickles
apart: the candidate could say that two are equal. What it has pickled stands behind the end, where nothing loads it: a
script may look for what is in it, and how much that is.
"""

import os
import sys
from _thread import get_ident as _get_ident
from io import BufferedReader, BytesIO

from cruxcell.builtin_like import take_place
from cruxcell.jobs.separated.proxies.remote import RemoteType
from cruxcell.jobs.separated.proxies.runs import LINK
from cruxcell.jobs.separated.rules.texts import OF_THE_OTHER_HALF, is_of_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

_MOST_GIVEN = 256  # bytes of the candidate's, and pickles of the script's, that are known for such
_MOST_BYTES = 16 << 20  # of either
_NO_PICKLE = "the candidate does not say what the pickle holds"
_HOLDS_OURS = "an object of the program's that holds one of the script's is pickled: require IN_PROCESS"
_CANNOT = "a %s lives in the other process and cannot be pickled here: require IN_PROCESS"


class _NotData(Exception):
    """The pickle names other classes than those of data."""


class _HoldsAnother(BaseException):
    """What the candidate pickles for the script holds an object of the script's."""


class _Object:
    """What loads an object in either half by the numbers that a pickle has in its place. A pickle can set nothing on
    it, as on no class of data: the candidate may name it, too."""

    __slots__ = ()
    __module__ = OF_THE_OTHER_HALF[0]

    def __call__(self, _apart, number, at):
        # type: (str, int, int) -> Any
        return LINK[0].pickles.kept.take(number, at)

    def __reduce__(self):
        # type: () -> str
        return OF_THE_OTHER_HALF[1]


_object = _Object()


def _can_be_loaded():
    # type: () -> None
    """A pickle names it by a module, and those of the harness are found by no name."""
    module, name = OF_THE_OTHER_HALF
    __import__(module)
    setattr(sys.modules[module], name, _object)


def load_own(load, *data, **how):
    # type: (Any, Any, Any) -> Any
    """What the script has pickled itself may be made of anything: `texts` knows this function."""
    return load(*data, **how)


def _loaded(load, data, how):
    # type: (Any, bytes, dict[str, Any]) -> tuple[Any, int]
    file = BytesIO(data)
    return load(file, **how), file.tell()


def _of_data(pickle):
    # type: (Any) -> Any
    """What unpickles data alone, and else raises _NotData."""

    class Data(pickle.Unpickler):  # type: ignore[misc]
        def find_class(self, module, name):
            # type: (str, str) -> Any
            if not is_of_data(module, name):
                raise _NotData
            return super().find_class(module, name)

    return Data


class _Kept:
    """What was pickled at once is loaded at once, so its objects refer to each other; each is taken from that."""

    def __init__(self, load):
        # type: (Callable[[int], list[Any]]) -> None
        self._load = load
        self._rest = {}  # type: dict[tuple[int, int], dict[int, Any]]  # by thread and number

    def take(self, number, at):
        # type: (int, int) -> Any
        key = _get_ident(), number
        if at not in self._rest.get(key, ()):
            self._rest[key] = dict(enumerate(self._load(number)))
        rest = self._rest[key]
        found = rest.pop(at)
        if not rest:
            del self._rest[key]
        return found


class Pickles:
    """Of the test's half. A script that does not name `pickle` follows none. `link` asks the candidate."""

    def __init__(self, link):
        # type: (Any) -> None
        self._link = link
        self._unpickler = None  # type: Any
        self._given = []  # type: list[bytes]  # by the candidate, the very objects: equal ones may be the script's
        self._size = 0  # of these
        self._own = {}  # type: dict[bytes, None]  # that the script has pickled
        self._numbers = iter(range(1, 1 << 62))
        self._sizes = {}  # type: dict[int, int]  # of what the candidate has pickled for the script
        self._met = {}  # type: dict[int, tuple[int, list[Any]]]  # by each thread that pickles: objects of the program's
        self.kept = _Kept(self._loaded)

    def hear(self, data):
        # type: (bytes) -> None
        """A message of the candidate brings these bytes."""
        self._given.append(data)
        self._size += len(data)
        while len(self._given) > _MOST_GIVEN or self._size > _MOST_BYTES:
            self._size -= len(self._given.pop(0))

    def reduced(self, value, protocol):
        # type: (Any, int | None) -> Any
        """Of an object or class of the program's that is pickled here."""
        met = self._met.get(_get_ident())
        number, values = met or (next(self._numbers), [])
        values.append(value)
        if met is None:  # by a pickler of the script's own: nobody says when it is through
            self._keep(number, values, protocol)
        _can_be_loaded()
        return _object, (os.urandom(16).hex(), number, len(values) - 1)

    def _keep(self, number, values, protocol):
        # type: (int, list[Any], Any) -> bytes
        """The pickle that the candidate keeps of these objects."""
        kept = self._link.ask("pickle", None, number, protocol, *values)
        if type(kept) is not bytes:
            self._link.refuse(_HOLDS_OURS if kept is None else _NO_PICKLE)
        self._sizes[number] = len(values)
        return kept  # type: ignore[no-any-return]

    def _loaded(self, number):
        # type: (int) -> list[Any]
        size = self._sizes[number]
        found = self._link.ask("pickled", None, number)
        if type(found) is not list or len(found) != size:
            self._link.refuse(_NO_PICKLE)
        return found  # type: ignore[no-any-return]

    def follow(self):
        # type: () -> None
        """In the test's process, as long as it lives: `pickle` asks the candidate for what is the candidate's."""
        __import__("pickle")
        pickle = sys.modules["pickle"]  # type: Any
        self._link.objects.hear = self.hear
        sys.modules["copyreg"].dispatch_table[RemoteType] = lambda cls: self.reduced(cls, None)
        self._unpickler = _of_data(pickle)
        dumps_here, dump_here, loads_here, load_here = pickle.dumps, pickle.dump, pickle.loads, pickle.load

        def dumps(obj, protocol=None, **how):
            # type: (Any, Any, Any) -> Any
            return self._dumped(dumps_here, obj, protocol, how)

        def dump(obj, file, protocol=None, **how):
            # type: (Any, Any, Any, Any) -> None
            if not hasattr(file, "write"):
                dump_here(obj, file, protocol, **how)
            file.write(dumps(obj, protocol, **how))

        def loads(data, /, **how):
            # type: (Any, Any) -> Any
            if type(data) in (bytes, bytearray) and bytes(data) in self._own:
                return load_own(loads_here, data, **how)
            return self._loaded_there(data, how)[0] if self._is_given(data) else loads_here(data, **how)

        def load(file, **how):
            # type: (Any, Any) -> Any
            size = self._own_in(file)
            if size:
                return load_own(loads_here, file.read(size), **how)
            begin = file.tell() if type(file) in _readers() else 0
            found = self._rest_of(file)
            if found is None:
                return load_here(file, **how)
            rest, is_theirs = found
            value, size = self._loaded_there(rest, how) if is_theirs else _loaded(load_here, rest, how)
            file.seek(begin + size)
            return value

        for function in (dumps, dump, loads, load):
            take_place(pickle, function.__name__, function)

    def follow_joblib(self):
        # type: () -> None
        """As `follow`, of what has pickles in files of its own."""
        try:
            __import__("joblib")
        except ImportError:  # which the script hears as well
            return
        joblib = sys.modules["joblib"]  # type: Any
        load_here = joblib.load

        def load(filename, *more, **how):
            # type: (Any, Any, Any) -> Any
            path = os.fspath(filename) if hasattr(filename, "__fspath__") else filename
            files = self._link.alongside.files
            if type(path) is not str or files is None or not files.is_made_there(path):
                return load_here(filename, *more, **how)
            with open(path, "rb") as file:
                return self._asked(file.read(), {}, "joblib")[0]

        joblib.load = load

    def _dumped(self, dumps_here, value, protocol, how):
        # type: (Any, Any, Any, dict[str, Any]) -> Any
        thread = _get_ident()
        if thread in self._met:  # in the midst of another pickle, with which its objects are kept
            return dumps_here(value, protocol, **how)
        number, values = self._met[thread] = next(self._numbers), []
        try:
            found = dumps_here(value, protocol, **how)
        finally:
            del self._met[thread]
        if values:
            found += self._keep(number, values, protocol)
        self._own[found] = None
        while len(self._own) > _MOST_GIVEN or sum(map(len, self._own)) > _MOST_BYTES:
            del self._own[next(iter(self._own))]
        return found

    def _loaded_there(self, data, how):
        # type: (bytes, dict[str, Any]) -> tuple[Any, int]
        """(What a pickle of the candidate's holds: data, or what the candidate says; where it ends.)"""
        file = BytesIO(data)
        try:
            return self._unpickler(file, **how).load(), file.tell()
        except _NotData:
            return self._asked(data, how)

    def _asked(self, data, how, library="pickle"):
        # type: (bytes, dict[str, Any], str) -> tuple[Any, int]
        found = self._link.ask("unpickle", None, data, how, library)  # type: Any
        if type(found) is not tuple or len(found) != 2 or type(found[1]) is not int or not 0 <= found[1] <= len(data):
            self._link.refuse(_NO_PICKLE)
        return found[0], found[1]

    def _own_in(self, file):
        # type: (Any) -> int
        """The size of the pickle of the script's that comes next in a file; 0 if it is another."""
        if not self._own or type(file) not in _readers():
            return 0
        begin = file.tell()
        data = file.read(max(map(len, self._own)))
        file.seek(begin)
        return next((len(each) for each in self._own if data.startswith(each)), 0)

    def _is_given(self, data):
        # type: (Any) -> bool
        return any(each is data for each in self._given)

    def _rest_of(self, file):
        # type: (Any) -> tuple[bytes, bool] | None
        """What is left of bytes that the candidate has given, or of a file as the candidate has made it, and whether
        that is the candidate's; None of others, which are not read."""
        if type(file) is BytesIO:
            return (file.read(), True) if self._is_given(file.getvalue()) else None
        name, files = getattr(file, "name", None), self._link.alongside.files
        if type(file) not in _readers() or type(name) is not str or files is None or not files.is_made_there(name):
            return None
        try:
            is_open = os.path.samestat(os.fstat(file.fileno()), os.lstat(name))
        except OSError:  # it reads no file
            is_open = False
        if not is_open:  # but another that was opened by that name
            return None
        with (open if type(file) is BufferedReader else sys.modules["gzip"].open)(name, "rb") as other:
            other.seek(file.tell())
            rest = _read_on(file)  # some of it, it may have read before the candidate made the file
            return rest, rest == other.read()


def _read_on(file):
    # type: (Any) -> bytes
    """What a reader holds and then reads. It may hold what stood in the file before: what follows there now need not
    go on with that."""
    pieces = []  # type: list[bytes]
    try:
        for piece in iter(file.read1, b""):
            pieces.append(piece)
    except Exception:  # of the file, or of what unzips it
        if not pieces:
            raise
    return b"".join(pieces)


def _readers():
    # type: () -> tuple[Any, ...]
    return BufferedReader, BytesIO, getattr(sys.modules.get("gzip"), "GzipFile", None)


def follow_pickles(link):
    # type: (Any) -> None
    link.pickles.follow()


def follow_joblib(link):
    # type: (Any) -> None
    link.pickles.follow_joblib()


class PickledHere:
    """Of the candidate's half: what it has pickled for the script."""

    def __init__(self):
        # type: () -> None
        self._pickles = {}  # type: dict[int, bytes]
        self._threads = set()  # type: set[int]  # that pickle for the script
        self.kept = _Kept(lambda number: self.pickled(None, number))

    def reduced(self, value, _protocol):
        # type: (Any, int) -> Any
        """Of an object of the script's that is pickled here."""
        if _get_ident() in self._threads:
            raise _HoldsAnother
        return LINK[0].refuse(_CANNOT % type(value).__name__)

    def pickle(self, _target, number, protocol, *values):
        # type: (object, int, Any, Any) -> bytes | None
        """Keep what these objects are now; None if one holds an object of the script's."""
        _can_be_loaded()
        thread = _get_ident()
        self._threads.add(thread)
        try:
            self._pickles[number] = __import__("pickle").dumps([*values], protocol)
        except _HoldsAnother:
            return None
        finally:
            self._threads.discard(thread)
        return self._pickles[number]

    def pickled(self, _target, number):
        # type: (object, int) -> list[Any]
        """Such objects, made anew."""
        return __import__("pickle").loads(self._pickles[number])  # type: ignore[no-any-return]

    def unpickle(self, _target, data, how, library):
        # type: (object, bytes, dict[str, Any], str) -> tuple[Any, int]
        """(What the first pickle in `data` holds, where it ends.)"""
        file = BytesIO(data)
        return __import__(library).load(file, **how), file.tell()
