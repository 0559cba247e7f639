"""Warnings and logs of the program that the script listens to.

Before each question the candidate is told how the script has set warnings and loggers: its filters, whether it records,
the levels it has set. The program's warnings and log records since then are shown in the test's process after the
answer, as texts and exceptions. Where the script names none of this, nothing is told.
"""

import sys

from cruxcell.jobs.separated.proxies.runs import ENDS
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
_OF_LOGS = frozenset(["assertLogs", "assertNoLogs", "capfd", "caplog", "capsys", "logging"])
_RECORD = [str, int, str, str, tuple, dict, str, int, str]  # and an exception or None
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
        self._told = (None, None, None)  # type: tuple[Any, Any, Any]

    def _shown_by(self):
        # type: () -> Any
        return self._warnings.showwarning, vars(self._warnings).get("_showwarnmsg_impl")

    def _levels_now(self):
        # type: () -> dict[str, int]
        """The levels of loggers by their names; under no name, what is disabled of all."""
        root = self._logging.getLogger()
        found = {name: each.level for name, each in root.manager.loggerDict.items() if hasattr(each, "level")}
        return dict(found, root=root.level, **{"": root.manager.disable})

    def _heard(self):
        # type: () -> list[str]
        """The names of the loggers that have handlers, and whose records nobody prints for want of any."""
        loggers = {**self._logging.root.manager.loggerDict, "root": self._logging.root}
        return sorted([name for name, each in loggers.items() if getattr(each, "handlers", None)])

    def wishes(self):
        # type: () -> list[Any]
        """(filters and whether to record, or None; levels that the script has set and loggers with handlers, or None),
        if that is new."""
        filters, levels, heard = None, None, None  # type: Any, Any, Any
        if self._warnings is not None:
            own = [each for each in self._warnings.filters if each not in self._filters]
            is_recorded = self._shown_by() != self._shows
            filters = (is_recorded, list(map(_as_told, own))) if own or is_recorded else None
        if self._logging is not None:
            levels = {name: level for name, level in self._levels_now().items() if self._levels.get(name, 0) != level}
            heard = self._heard()
        if (filters, levels, heard) == self._told:
            return []
        self._told = filters, levels, heard
        return [filters, levels, heard]

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

    def _log(self, name, level, level_name, text, arguments, more, function, line, traceback, error):  # noqa: PLR0917 - what a record is
        # type: (str, int, str, str, tuple[Any, ...], dict[str, Any], str, int, str, Any) -> None
        logger = self._logging.getLogger(None if name == "root" else name)
        fields = {"name": name, "levelno": level, "levelname": level_name, "msg": text}  # type: dict[str, Any]
        fields.update(funcName=function, lineno=line, exc_text=traceback or None)
        if _are_plain(arguments):
            fields.update(args=arguments)
        if isinstance(error, Exception) and not isinstance(error, ENDS):
            fields.update(exc_info=(type(error), error, traceback_of(error)))
        record = self._logging.makeLogRecord(fields)
        if all(type(name) is str for name in more) and _are_plain(more.values()):
            vars(record).update({name: value for name, value in more.items() if not hasattr(record, name)})
        if logger.hasHandlers() and not logger.disabled:  # else it would be printed, as it was there
            logger.callHandlers(record)


def _shared(name):
    # type: (str) -> Any
    """Everybody's module of that name, which may not be the one that the harness keeps for itself."""
    __import__(name)
    return sys.modules[name]


def _are_plain(values):
    # type: (Iterable[object]) -> bool
    """Is none of them an object, nor a value with a class of its own?"""
    return all(id(type(each)) in _PLAIN for each in values)


_PLAIN = frozenset(map(id, (type(None), bool, int, float, str, bytes)))


def _is_a_warning(value):
    # type: (object) -> bool
    """And not what would end an iteration of the script's, which may raise what it is warned of."""
    return isinstance(value, Warning) and not isinstance(value, ENDS)


def _as_told(one):
    # type: (Any) -> tuple[Any, ...]
    """A filter of warnings as `filterwarnings` takes it."""
    action, message, category, module, line = one
    return action, getattr(message, "pattern", message) or "", category, getattr(module, "pattern", module) or "", line


def _said(record):
    # type: (Any) -> tuple[str, tuple[Any, ...]]
    """The text of a record and what is to be put into it; where that is no plain data, it is in the text by then."""
    is_told = type(record.msg) is str and type(record.args) is tuple and _are_plain(record.args)
    return (record.msg, record.args) if is_told else (str(record.getMessage()), ())


def _more_of(logging, record):
    # type: (Any, Any) -> dict[str, Any]
    """The plain data that the program has set on a record (`extra`)."""
    known = vars(logging.makeLogRecord({}))
    more = [(name, value) for name, value in vars(record).items() if name not in known]
    return {name: value for name, value in more if _are_plain((name, value))}


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
        self._heard = []  # type: list[str]

    def listen(self, _target, filters, levels, heard):
        # type: (object, Any, Any, Any) -> None
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
        self._heard = heard or []
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
                    said = (*_said(record), _more_of(logging, record))
                    logged.append((str(logger.name), *level, *said, *where, *_error_of(logging, record)))
                if logger.hasHandlers() or not self._is_heard(logger):
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

    def _is_heard(self, logger):
        # type: (Any) -> bool
        """Has a handler of the test's this record?"""
        name = str(logger.name)
        return any(each == "root" or (name + ".").startswith(each + ".") for each in self._heard)

    def has_news(self):
        # type: () -> bool
        return bool(self._warned or self._logged)

    def heard(self, _target):
        # type: (object) -> list[Any]
        """What the program has warned of and logged since this was asked, if somebody listens to that."""
        found = [(each.message, str(each.filename), int(each.lineno)) for each in self._warned[:_MOST]]
        del self._warned[:]
        if self._logged:
            found += self._logged
            del self._logged[:]
        return found
