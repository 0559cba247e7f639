"""Pickles of one half of a script that the other half loads: the half that has the classes does it.

What the candidate has pickled, as bytes that it gives or as a file, the candidate unpickles again; the script gets what
comes of that as it gets what a function of the program returns. An object of the program's is pickled where it is. The
script gets that pickle with some bytes behind its end, which no other has: the candidate could say that two are equal.
"""

import os
import sys
from _thread import get_ident as _get_ident
from io import BufferedReader, BytesIO

from cruxcell.jobs.separated.texts import is_of_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_MOST_GIVEN = 256  # bytes of the candidate's, and files, that are known for such
_MARK = 16  # bytes behind one of the candidate's
_NO_PICKLE = "the candidate does not say what the pickle holds"
_HOLDS_OURS = "a pickle is made of objects of the program and of the script: require IN_PROCESS"


class _NotData(Exception):
    """The pickle names other classes than those of data."""


class HoldsAnother(BaseException):
    """What is about to be pickled holds an object of the other half's."""


class Pickling:
    """Of either half: the threads that pickle, and are to be told where something cannot be."""

    def __init__(self):
        # type: () -> None
        self._threads = set()  # type: set[int]

    def dumps(self, dumps, value, *how, **named):
        # type: (Any, Any, Any, Any) -> Any
        """The pickle; None if it would hold an object of the other half's."""
        thread = _get_ident()
        if thread in self._threads:
            return dumps(value, *how, **named)
        self._threads.add(thread)
        try:
            return dumps(value, *how, **named)
        except HoldsAnother:
            return None
        finally:
            self._threads.discard(thread)

    def meets_another(self):
        # type: () -> None
        """A pickle, of this process, is about to hold an object of the other half's."""
        if _get_ident() in self._threads:
            raise HoldsAnother


class Pickles:
    """Of the test's half. A script that does not name `pickle` follows none. `link` asks the candidate."""

    def __init__(self, link):
        # type: (Any) -> None
        self._link, self._pickling = link, Pickling()
        self._given = []  # type: list[bytes]  # by the candidate, the very objects: what equals them may be the script's
        # Of the pickles that the candidate has made: the mark -> (their number there, how long they are with it).
        self._held = {}  # type: dict[bytes, tuple[int, int]]
        self._sizes = set()  # type: set[int]
        self._are_followed = False
        self.meets_another = self._pickling.meets_another

    def note(self, value):
        # type: (Any) -> None
        """The candidate has given this."""
        if self._are_followed:
            parts = value.values() if type(value) is dict else value if type(value) in (list, tuple) else [value]
            self._given += [each for each in parts if type(each) is bytes][:_MOST_GIVEN]
            del self._given[:-_MOST_GIVEN]

    def follow(self):
        # type: () -> None
        """In the test's process, as long as it lives: `pickle` asks the candidate for what is the candidate's."""
        __import__("pickle")
        pickle = sys.modules["pickle"]  # type: Any
        self._are_followed = True
        dumps_here, loads_here, load_here = pickle.dumps, pickle.loads, pickle.load

        class Data(pickle.Unpickler):  # type: ignore[misc]
            def find_class(self, module, name):
                # type: (str, str) -> Any
                if not is_of_data(module, name):
                    raise _NotData
                return super().find_class(module, name)

        def dumps(obj, protocol=None, **how):
            # type: (Any, Any, Any) -> Any
            found = self._pickling.dumps(dumps_here, obj, protocol, **how)
            return self._held_there(obj, protocol) if found is None else found

        def dump(obj, file, protocol=None, **how):
            # type: (Any, Any, Any, Any) -> None
            file.write(dumps(obj, protocol, **how))

        def loads(data, /, **how):
            # type: (Any, Any) -> Any
            number, _ = self._number_of(data if type(data) is bytes else b"")
            if number is not None:
                return self._asked(number, how)[0]
            is_given = any(each is data for each in self._given)
            return self._loaded(Data, BytesIO(data), how) if is_given else loads_here(data, **how)

        def load(file, **how):
            # type: (Any, Any) -> Any
            if self._held and hasattr(file, "seek"):
                begin = file.tell()
                number, size = self._number_of(file.read(max(self._sizes)))
                file.seek(begin + size)
                if number is not None:
                    return self._asked(number, how)[0]
            return self._loaded(Data, file, how) if self._is_given(file) else load_here(file, **how)

        pickle.dumps, pickle.dump, pickle.loads, pickle.load = dumps, dump, loads, load

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
            path, files = (
                os.fspath(filename) if hasattr(filename, "__fspath__") else filename,
                self._link.alongside.files,
            )
            if type(path) is not str or files is None or not files.is_made_there(path):
                return load_here(filename, *more, **how)
            with open(path, "rb") as file:
                return self._asked(file.read(), {}, "joblib")[0]

        joblib.load = load

    def _held_there(self, value, protocol):
        # type: (Any, Any) -> bytes
        told = self._link.ask("pickle", None, value, protocol)  # type: Any
        if type(told) is not tuple or list(map(type, told)) != [int, bytes]:
            self._link.refuse(_HOLDS_OURS if told is None else _NO_PICKLE)
        number, data = told
        mark, size = os.urandom(_MARK), len(data) + _MARK
        self._held[mark] = number, size
        self._sizes.add(size)
        return data + mark  # type: ignore[no-any-return]

    def _number_of(self, data):
        # type: (bytes) -> tuple[int | None, int]
        """Of the candidate's pickle that this begins with, and how long that is; (None, 0) if it does with none."""
        for size in self._sizes:
            number, its_size = self._held.get(data[size - _MARK : size], (None, 0))
            if its_size == size:
                return number, size
        return None, 0

    def _loaded(self, unpickler, file, how):
        # type: (Any, Any, dict[str, Any]) -> Any
        begin = file.tell()
        try:
            return unpickler(file, **how).load()
        except _NotData:
            file.seek(begin)
            return self._loaded_there(file, begin, how)

    def _loaded_there(self, file, begin, how):
        # type: (Any, int, dict[str, Any]) -> Any
        found, size = self._asked(file.read(), how)
        file.seek(begin + size)
        return found

    def _asked(self, which, how, library="pickle"):
        # type: (Any, dict[str, Any], str) -> tuple[Any, int]
        found = self._link.ask("unpickle", None, which, how, library)  # type: Any
        if type(found) is not tuple or len(found) != 2 or type(found[1]) is not int or not 0 <= found[1] < 1 << 62:
            self._link.refuse(_NO_PICKLE)
        return found[0], found[1]

    def _is_given(self, file):
        # type: (Any) -> bool
        """Does it read a file as the candidate has made it?"""
        is_file = type(file) is BufferedReader or type(file) is getattr(sys.modules.get("gzip"), "GzipFile", None)
        name, files = getattr(file, "name", None), self._link.alongside.files
        return is_file and type(name) is str and files is not None and files.is_made_there(name)


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
        self._pickling = Pickling()
        self._pickles = []  # type: list[bytes]
        self.meets_another = self._pickling.meets_another

    def pickle(self, _target, value, protocol):
        # type: (object, Any, Any) -> tuple[int, bytes] | None
        """The number of the pickle, and itself; None if it would hold an object of the script's."""
        found = self._pickling.dumps(__import__("pickle").dumps, value, protocol)
        self._pickles.append(found)
        return None if found is None else (len(self._pickles) - 1, found)

    def unpickle(self, _target, which, how, library):
        # type: (object, Any, dict[str, Any], str) -> tuple[Any, int]
        """(What a pickle, or the one of a number, holds; where it ends.)"""
        file = BytesIO(self._pickles[which] if type(which) is int else which)
        return __import__(library).load(file, **how), file.tell()
