"""Connections of a script to sqlite: what the SQL may do that may be the candidate's.

SQL runs in the test's process. A function of it takes the address of what it then calls (`fts3_tokenizer`), another
loads native code: a candidate that passes such a text would run there what it likes. So each connection looks which
functions a statement calls: those of SQL itself, and those that were made for the connection. A database that the
candidate attaches is a file that it may have opened (`PassedFiles.may_be_opened`).
"""

import sys

from cruxcell.jobs.separated.rules.texts import Texts, serves_the_candidate  # noqa: F401 - in type comments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

MODULE = "_sqlite3"
_MODULES = (MODULE, "sqlite3", "sqlite3.dbapi2")
_OK, _DENY, _ATTACH, _FUNCTION = 0, 1, 24, 31  # SQLITE_OK, ... of sqlite3.h
_MAKERS = ("create_function", "create_aggregate", "create_window_function")
_LOADERS = ("enable_load_extension", "load_extension")
# Of a constructor and of `connect`: behind how many arguments by position the class of the connection stands.
_BEFORE_FACTORY = 5
_OF_SQL = frozenset(
    [
        # What is simple, and what operators are: LIKE, MATCH, ->
        "abs", "changes", "char", "coalesce", "concat", "concat_ws", "format", "glob", "hex", "if", "ifnull", "iif",
        "instr", "last_insert_rowid", "length", "like", "likelihood", "likely", "lower", "ltrim", "max", "min",
        "nullif", "octet_length", "printf", "quote", "random", "randomblob", "replace", "round", "rtrim", "sign",
        "soundex", "sqlite_compileoption_get", "sqlite_compileoption_used", "sqlite_offset", "sqlite_source_id",
        "sqlite_version", "substr", "substring", "subtype", "total_changes", "trim", "typeof", "unhex", "unicode",
        "unistr", "unistr_quote", "unlikely", "upper", "zeroblob", "match", "regexp", "->", "->>",
        # Aggregates and windows.
        "avg", "count", "group_concat", "median", "percentile", "percentile_cont", "percentile_disc", "string_agg",
        "sum", "total", "cume_dist", "dense_rank", "first_value", "lag", "last_value", "lead", "nth_value", "ntile",
        "percent_rank", "rank", "row_number",
        # Dates and times.
        "current_date", "current_time", "current_timestamp", "date", "datetime", "julianday", "strftime", "time",
        "timediff", "unixepoch",
        # Mathematics.
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "ceiling", "cos", "cosh", "degrees",
        "exp", "floor", "ln", "log", "log10", "log2", "mod", "pi", "pow", "power", "radians", "sin", "sinh", "sqrt",
        "tan", "tanh", "trunc",
        # Documents of JSON.
        "json", "json_array", "json_array_insert", "json_array_length", "json_each", "json_error_position",
        "json_extract", "json_group_array", "json_group_object", "json_insert", "json_object", "json_patch",
        "json_pretty", "json_quote", "json_remove", "json_replace", "json_set", "json_tree", "json_type",
        "json_valid", "jsonb", "jsonb_array", "jsonb_array_insert", "jsonb_each", "jsonb_extract",
        "jsonb_group_array", "jsonb_group_object", "jsonb_insert", "jsonb_object", "jsonb_patch", "jsonb_remove",
        "jsonb_replace", "jsonb_set", "jsonb_tree",
        # Of texts and places that are searched.
        "bm25", "fts5_source_id", "highlight", "matchinfo", "offsets", "optimize", "rtreecheck", "rtreedepth",
        "rtreenode", "snippet",
        # Those that ALTER TABLE calls, and nobody else may.
        "sqlite_drop_column", "sqlite_fail", "sqlite_rename_column", "sqlite_rename_quotefix", "sqlite_rename_table",
        "sqlite_rename_test",
    ]
)  # fmt: skip
_WHY = (
    "SQL that may be the program's asks for %s in the test's process, which is no function of SQL: require IN_PROCESS"
)


class Databases:
    """Of the test's half. `link` says whether SQL may be the candidate's, and ends the script."""

    def __init__(self, link):
        # type: (Any) -> None
        self._link = link
        self._are_guarded = False

    def follow(self, texts):
        # type: (Texts) -> None
        """From now on; the module is there, or may be imported late, if at all."""
        texts.before_import[MODULE] = self.guard
        if MODULE in sys.modules:
            self.guard()

    def guard(self):
        # type: () -> None
        """From now on, whoever makes a connection. The module is there, or about to be imported."""
        if self._are_guarded:
            return
        self._are_guarded = True
        try:
            __import__(MODULE)
        except ImportError:  # which who imports it hears as well
            return
        kind, connect = sys.modules[MODULE].Connection, sys.modules[MODULE].connect
        instead = {id(kind): _guarded(kind, self), id(connect): _connecting(connect)}
        for module in [sys.modules[name] for name in _MODULES if name in sys.modules]:
            for name in ("Connection", "connect"):
                found = vars(module).get(name)
                vars(module)[name] = instead.get(id(found), found)

    def may_call(self, name, made):
        # type: (str, set[str]) -> None
        """A statement calls a function, or it loads one. Never returns where that may be the candidate's."""
        if name not in _OF_SQL and name not in made and self._link.may_have_texts():
            self._link.refuse(_WHY % name)

    def may_attach(self, path):
        # type: (str | None) -> bool
        """`path`: nothing where that is no constant."""
        if path in ("", ":memory:") or not serves_the_candidate(sys._getframe(2)):
            return True
        return path is not None and path[:5].lower() != "file:" and bool(self._link.may_open(path))


def _guarded(kind, databases):
    # type: (Any, Databases) -> Any
    """The class of connections that ask before they run a statement; to a script it is that of the library."""

    class Connection(kind):  # type: ignore[misc]
        __slots__ = ("_asked", "_made")
        __doc__ = kind.__doc__

        def __init__(self, *arguments, **keywords):
            # type: (Any, Any) -> None
            self._made = set()  # type: set[str]
            self._asked = None  # type: Any
            kind.__init__(self, *arguments, **keywords)
            kind.set_authorizer(self, self._may_do)

        def set_authorizer(self, *arguments, **keywords):
            # type: (Any, Any) -> None
            (self._asked,) = (*arguments, *keywords.values())

        def _may_do(self, action, first, second, *rest):
            # type: (int, str | None, str | None, str | None) -> Any
            if action == _FUNCTION:
                databases.may_call(str(second).lower(), self._made)
            elif action == _ATTACH and not databases.may_attach(first):
                return _DENY
            return _OK if self._asked is None else self._asked(action, first, second, *rest)

    for name in [each for each in _MAKERS + _LOADERS if hasattr(kind, each)]:
        method = _making(kind, name) if name in _MAKERS else _loading(kind, name, databases)
        method.__name__ = name
        setattr(Connection, name, method)
    Connection.__module__, Connection.__qualname__ = kind.__module__, kind.__qualname__
    return Connection


def _making(kind, name):
    # type: (Any, str) -> Any
    def make(self, *arguments, **keywords):
        # type: (Any, Any, Any) -> Any
        self._made.add(str(keywords["name"] if "name" in keywords else arguments[0]).lower())
        return getattr(kind, name)(self, *arguments, **keywords)

    return make


def _loading(kind, name, databases):
    # type: (Any, str, Databases) -> Any
    def load(self, *arguments, **keywords):
        # type: (Any, Any, Any) -> Any
        databases.may_call(name, set())
        return getattr(kind, name)(self, *arguments, **keywords)

    return load


def _connecting(connect):
    # type: (Any) -> Any
    def connecting(*arguments, **keywords):
        # type: (Any, Any) -> Any
        if len(arguments) <= _BEFORE_FACTORY:
            keywords.setdefault("factory", sys.modules[MODULE].Connection)
        return connect(*arguments, **keywords)

    connecting.__name__ = connecting.__qualname__ = "connect"
    return connecting
