"""Texts that name what a library calls, with which arguments: configurations for `logging.config.dictConfig`, and
documents of YAML with the tags for Python (`!!python/name:unittest.mock.ANY`)."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

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
        for name in _FINDERS.intersection(vars(each) if isinstance(each, type) else ()):
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
