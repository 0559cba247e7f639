"""Texts that name what a library calls, with which arguments: configurations for `logging.config.dictConfig`, documents
of YAML with the tags for Python (`!!python/name:unittest.mock.ANY`), expressions of pandas (`df.eval("@expected")`)."""

import sys
from _thread import get_ident as _get_ident
from sys import _getframe

from cruxcell.jobs.separated.proxies.operations import is_class, is_public
from cruxcell.jobs.separated.rules.texts import once_imported, serves_the_candidate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Container  # noqa: F401 - in type comments

# What a configuration may name that may be the candidate's: nothing that opens a file, calls or imports.
_HARMLESS = frozenset(
    ["logging.Filter", "logging.Formatter", "logging.NullHandler", "logging.StreamHandler", "sys.stderr", "sys.stdout"]
)


def follow_configurations(texts):
    # type: (Any) -> None
    """In the test's process: a name in a configuration is a text that runs, unless it is one of the harmless."""
    import logging.config

    config = logging.config  # type: Any
    resolve, resolve_by_itself = config.BaseConfigurator.resolve, config._resolve

    def look(name):
        # type: (Any) -> None
        if type(name) is not str or name not in _HARMLESS:
            texts.is_about_to_run()

    def of_configurator(self, s):
        # type: (Any, Any) -> Any
        look(s)
        return resolve(self, s)

    def by_itself(name):
        # type: (Any) -> Any
        look(name)
        return resolve_by_itself(name)

    config.BaseConfigurator.resolve, config._resolve = of_configurator, by_itself


def follow_documents(texts):
    # type: (Any) -> None
    """In the test's process: a name in a document of YAML is a text that runs, unless it is that of a class of data."""
    try:
        __import__("yaml.constructor")
    except ImportError:  # which the script hears as well
        return
    for each in list(vars(sys.modules["yaml.constructor"]).values()):
        for name in _FINDERS.intersection(vars(each) if is_class(each) else ()):
            setattr(each, name, _finding(vars(each)[name], texts))


_FINDERS = frozenset(["find_python_module", "find_python_name"])


def _finding(find, texts):
    # type: (Any, Any) -> Any
    def found(self, name, *where, **how):
        # type: (Any, str, Any, Any) -> Any
        module, _, path = name.rpartition(".")
        texts.is_about_to_name(module or "builtins", path)
        return find(self, name, *where, **how)

    return found


_EXPRESSIONS, _SCOPES = "pandas.core.computation.expr", "pandas.core.computation.scope"


def follow_expressions(texts):
    # type: (Any) -> None
    """In the test's process: an expression that pandas evaluates has the variables of whoever calls it, and of the
    script, by `@` and where there are no columns, and all attributes. It is a text that runs, unless it is the script's
    own or names columns and public attributes alone. A candidate may have an object of the script's evaluate one."""
    once_imported(texts, _EXPRESSIONS, lambda module: _guard(texts, module))


def _guard(texts, expressions):
    # type: (Any, Any) -> None
    expression, visitor = expressions.Expr, expressions.BaseExprVisitor
    scope, trusted = sys.modules[_SCOPES].Scope, set()  # type: Any, set[int]  # threads
    begin, visit, resolve = expression.__init__, visitor.visit_Attribute, scope.resolve

    def begun(self, expr, *more, **how):
        # type: (Any, Any, Any, Any) -> None
        thread = _get_ident()
        was_trusted, is_asked_for = thread in trusted, serves_the_candidate(_getframe(1))
        (trusted.add if not is_asked_for and (was_trusted or texts.is_own(expr)) else trusted.discard)(thread)
        try:
            return begin(self, expr, *more, **how)  # type: ignore[no-any-return]
        finally:
            (trusted.add if was_trusted else trusted.discard)(thread)

    def visited(self, node, **how):
        # type: (Any, Any, Any) -> Any
        if not is_public(node.attr) and _get_ident() not in trusted:
            texts.is_about_to_run()
        return visit(self, node, **how)

    def resolved(self, key, is_local):
        # type: (Any, str, bool) -> Any
        is_of_columns = not is_local and (self.has_resolvers or key in self.temps)
        if not is_of_columns and _get_ident() not in trusted:
            texts.is_about_to_run()
        return resolve(self, key, is_local)

    expression.__init__, visitor.visit_Attribute, scope.resolve = begun, visited, resolved


# By the word with which a script or checker gives a library such a text.
FOLLOWED = {"dictConfig": follow_configurations, "yaml": follow_documents}  # type: dict[str, Callable[[Any], None]]


def follow_named(texts, said):
    # type: (Any, Container[str]) -> None
    """What a script or checker says, by its text or its names, that it gives to libraries."""
    for word, follow in FOLLOWED.items():
        if word in said:
            follow(texts)
