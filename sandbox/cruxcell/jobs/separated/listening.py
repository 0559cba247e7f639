"""Warnings and logs of the program that the script listens to.

Before each question the candidate is told how the script has set warnings and loggers: its filters, whether it records,
the levels it has set. The program's warnings and log records since then are shown in the test's process after the
answer, as texts and exceptions. Where the script names none of this, nothing is told.
"""

import sys

from cruxcell.protocol.records import traceback_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable  # noqa: F401 - in type comments

_OF_WARNINGS = frozenset(
    [
        "assertWarns", "assertWarnsRegex", "catch_warnings", "deprecated_call", "filterwarnings", "recwarn",
        "showwarning", "simplefilter", "warns",
    ]
)  # fmt: skip
_OF_LOGS = frozenset(["assertLogs", "assertNoLogs", "caplog", "logging"])
_ENDS = (StopIteration, StopAsyncIteration, GeneratorExit)
_RECORD = [str, int, str, str, str, int, str]  # and an exception or None
_MOST = 1_000  # of each, in an answer
_LONGEST = 1_000  # of a logger's name, whose parts are loggers


class Listener:
    """Of the test's half. `names`: those in the script."""

    def __init__(self, names):
        # type: (Iterable[str]) -> None
        self._warnings = self._logging = None  # type: Any
        if not _OF_WARNINGS.isdisjoint(names):
            self._warnings = _shared("warnings")
            self._filters, self._shows = list(self._warnings.filters), self._shown_by()
        if not _OF_LOGS.isdisjoint(names):
            self._logging = _shared("logging")
            self._levels = self._levels_now()
        self.is_needed = self._warnings is not None or self._logging is not None
        self._told = (None, None)  # type: tuple[Any, Any]

    def _shown_by(self):
        # type: () -> Any
        return self._warnings.showwarning, vars(self._warnings).get("_showwarnmsg_impl")

    def _levels_now(self):
        # type: () -> dict[str, int]
        """The levels of loggers by their names; under no name, what is disabled of all."""
        root = self._logging.getLogger()
        found = {name: each.level for name, each in root.manager.loggerDict.items() if hasattr(each, "level")}
        return dict(found, root=root.level, **{"": root.manager.disable})

    def wishes(self):
        # type: () -> list[Any]
        """(filters and whether to record, or None; levels that the script has set, or None), if that is new."""
        filters, levels = None, None  # type: Any, Any
        if self._warnings is not None:
            own = [each for each in self._warnings.filters if each not in self._filters]
            is_recorded = self._shown_by() != self._shows
            filters = (is_recorded, list(map(_as_told, own))) if own or is_recorded else None
        if self._logging is not None:
            levels = {name: level for name, level in self._levels_now().items() if self._levels.get(name, 0) != level}
        if (filters, levels) == self._told:
            return []
        self._told = filters, levels
        return [filters, levels]

    def hear(self, told):
        # type: (Any) -> None
        """What the program has warned of and logged, as the candidate says."""
        if type(told) is not list:
            return
        for each in told:
            kinds = list(map(type, each)) if type(each) is tuple else []
            if self._told[0] is not None and kinds[1:] == [str, int] and _is_a_warning(each[0]):
                self._warnings.showwarning(each[0], kinds[0], *each[1:])
            elif self._logging is not None and kinds[:-1] == _RECORD and len(each[0]) <= _LONGEST:
                self._log(*each)

    def _log(self, name, level, level_name, text, function, line, traceback, error):  # noqa: PLR0917 - what a record is
        # type: (str, int, str, str, str, int, str, Any) -> None
        logger = self._logging.getLogger(None if name == "root" else name)
        fields = {"name": name, "levelno": level, "levelname": level_name, "msg": text}  # type: dict[str, Any]
        fields.update(funcName=function, lineno=line, exc_text=traceback or None)
        if isinstance(error, Exception) and not isinstance(error, _ENDS):
            fields.update(exc_info=(type(error), error, traceback_of(error)))
        if logger.hasHandlers() and not logger.disabled:  # else it would be printed, as it was there
            logger.callHandlers(self._logging.makeLogRecord(fields))


def _shared(name):
    # type: (str) -> Any
    """Everybody's module of that name, which may not be the one that the harness keeps for itself."""
    __import__(name)
    return sys.modules[name]


def _is_a_warning(value):
    # type: (object) -> bool
    """And not what would end an iteration of the script's, which may raise what it is warned of."""
    return isinstance(value, Warning) and not isinstance(value, _ENDS)


def _as_told(one):
    # type: (Any) -> tuple[Any, ...]
    """A filter of warnings as `filterwarnings` takes it."""
    action, message, category, module, line = one
    return action, getattr(message, "pattern", message) or "", category, getattr(module, "pattern", module) or "", line


def _error_of(logging, record):
    # type: (Any, Any) -> tuple[str, Any]
    """The traceback of the exception that a record is about, and the exception."""
    error = record.exc_info[1] if record.exc_info else None
    return ("", None) if error is None else (logging.Formatter().formatException(record.exc_info), error)


class Heard:
    """Of the candidate's half."""

    def __init__(self):
        # type: () -> None
        self._caught = None  # type: Any
        self._warned = []  # type: list[Any]
        self._logged = None  # type: list[Any] | None
        self._own = {}  # type: dict[str, int]

    def listen(self, _target, filters, levels):
        # type: (object, Any, Any) -> None
        """See `Listener.wishes`."""
        if self._caught is not None:
            self._caught.__exit__(None, None, None)
            self._caught = None
        if filters is not None:
            warnings = _shared("warnings")
            self._caught = warnings.catch_warnings(record=filters[0])
            caught = self._caught.__enter__()
            self._warned = [] if caught is None else caught
            for each in reversed(filters[1]):
                warnings.filterwarnings(*each)
        if levels is not None:
            self._set(_shared("logging"), levels)

    def _set(self, logging, levels):
        # type: (Any, dict[str, int]) -> None
        if self._logged is None:
            logged = self._logged = []
            call = logging.Logger.callHandlers

            def call_handlers(logger, record):
                # type: (Any, Any) -> None
                if len(logged) < _MOST:
                    level = int(record.levelno), str(record.levelname)
                    where = str(record.funcName), int(record.lineno)
                    said = str(record.getMessage())
                    logged.append((str(logger.name), *level, said, *where, *_error_of(logging, record)))
                call(logger, record)

            logging.Logger.callHandlers = call_handlers
        for name in {*levels, *self._own}:
            logger = logging.getLogger(None if name == "root" else name)
            level = logger.manager.disable if not name else logger.level
            own = self._own.setdefault(name, level)
            level = levels.get(name, own)
            if name not in levels:
                del self._own[name]
            if name:
                logger.setLevel(level)
            else:
                logging.disable(level)

    def heard(self, _target):
        # type: (object) -> list[Any]
        """What the program has warned of and logged since this was asked, if somebody listens to that."""
        found = [(each.message, str(each.filename), int(each.lineno)) for each in self._warned[:_MOST]]
        del self._warned[:]
        if self._logged:
            found += self._logged
            del self._logged[:]
        return found
