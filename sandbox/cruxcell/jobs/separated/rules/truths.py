"""Whether one of pandas' own arrays is true: where it holds something, as Python finds by its length.

`==` and `!=` of such an array with anything give another one. That would be true, or false if it is empty, whatever it
says of the items: a program that returns `pandas.array(["a"])` would have what any script expects.
"""

from cruxcell.jobs.separated.rules.texts import once_imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments


def follow_truths(texts):
    # type: (Any) -> None
    """In the test's process: one of truth values is what all of them are, or nothing, as with numpy."""
    once_imported(texts, "pandas.core.arrays.base", _mend)


def _mend(arrays):
    # type: (Any) -> None
    arrays.ExtensionArray.__bool__ = _is_true


def _is_true(array):
    # type: (Any) -> bool
    if array.dtype.kind != "b":
        return len(array) > 0
    if len(array) and not array.isna().any():
        said = array.to_numpy(dtype=bool)
        if bool(said.all()) is bool(said.any()):
            return bool(said.all())
    raise ValueError("an array of several truth values, of none or of one that is missing is neither true nor false")
