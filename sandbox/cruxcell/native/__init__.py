"""Chooses between the native helper and its pure twin. What both offer is `Helper`.

importlib stays out of it: whatever is imported here is memory that every fork pays for.
"""

import _imp
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any, NoReturn, Protocol

    class Helper(Protocol):
        """What `load` gives. See `pure` for what each function does and raises."""

        NAME: str
        # Can it vouch for what checks leave to each other? If not, `watch` and `arm` do nothing, and `arm` says so.
        SEALS: bool

        def syscall(self, number: int, /, *args: "int | bytes | bytearray | None") -> int: ...
        def fork_beside(self) -> int: ...
        def enter(self, rlimits: bytes, bpf: bytes, parent: int, /) -> None: ...
        def end_as(self, child: int, /) -> NoReturn: ...
        def run(
            self, code: "CodeType", globals: "dict[str, object]", limit: int, fd: int, report: bytes, /
        ) -> object: ...
        def evaluate(self, code: "CodeType", globals: "dict[str, object]", /) -> object: ...
        def steps(self) -> int: ...
        def read_frame(self, fd: int, limit: int, /) -> "list[bytes]": ...
        def read_payload(self, fd: int, limit: int, /) -> "list[bytes]": ...
        def watch(self, entries: "list[tuple[Any, ...]]", /) -> None: ...
        def hear(self, events: "tuple[str, ...]", listener: "Callable[[str, Any], object]", /) -> None: ...
        def keep_arenas(self, most_bytes: int, /) -> None: ...
        def say(self, fd: int, record: bytes, /) -> None: ...
        def arm(self) -> bool: ...
        def seal(self, fd: int, index: int, record: bytes = b"", /) -> None: ...
        def plain_names(  # noqa: PLR0917 - a wide call is a single one
            self,
            code: "CodeType",
            kinds: bytes,
            flags: int,
            anywhere: "frozenset[str]",
            attributes: "frozenset[str]",
            builtins: "dict[str, Any]",
            special: "frozenset[str]",
            /,
        ) -> "frozenset[str] | None": ...
        def plain_call(
            self,
            code: "CodeType",
            kinds: bytes,
            safe: "frozenset[str]",
            builtins: "dict[str, Any]",
            bound: "frozenset[str]",
            /,
        ) -> bool: ...
        def report_value(  # noqa: PLR0917 - a wide call is a single one
            self,
            fd: int,
            index: int,
            steps: int,
            cpu_ns: int,
            wall_ns: int,
            value: object,
            budget: int,
            text_limit: int,
            stdout: bytes,
            stderr: bytes,
            /,
        ) -> bool: ...


_MODULE = "cruxcell.native._native"


def load(pure, folder=""):
    # type: (bool, str) -> Helper
    """The native helper, or the pure twin when asked for or when there is no helper for this interpreter.

    Args:
        pure: True for the twin, whatever is there.
        folder: where the helper was built; "" is this package's own folder.

    Returns:
        One of the two modules; its NAME ("native" or "pure") says which.
    """
    if not pure:
        native = _native(folder or __file__.rpartition("/")[0])
        if native is not None:
            return native
    from cruxcell.native import pure as twin

    return twin


def _native(folder):
    # type: (str) -> Helper | None
    """The helper in this folder. Its file name carries the interpreter's own tag, so another version's is not seen."""
    if _MODULE in sys.modules:
        return sys.modules[_MODULE]
    spec = _Spec(_MODULE, folder + "/_native" + _imp.extension_suffixes()[0])  # type: Any
    try:
        module = _imp.create_dynamic(spec)
        _imp.exec_dynamic(module)
    except ImportError:
        return None
    sys.modules[_MODULE] = module
    return module


class _Spec:
    """As much of a module's spec as `_imp` looks at."""

    def __init__(self, name, origin):
        # type: (str, str) -> None
        self.name, self.origin = name, origin
