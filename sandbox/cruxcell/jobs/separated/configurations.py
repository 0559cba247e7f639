"""Configurations that a script gives to `logging.config.dictConfig`: they name what is called, with which arguments."""

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
