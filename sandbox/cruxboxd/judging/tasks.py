"""The tasks and checks of a request as plain values, without protobuf. A malformed check is an InvalidCheck."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Union

from cruxcell.protocol import frames

from cruxboxd.judging.comparing import PLAINLY, Comparison
from cruxboxd.judging.outcomes import Assurance
from cruxboxd.settings.config import Limits

# A text of a check. A long one is kept as UTF-8: as a str it may take four times what the request has it in, and its
# jobs would hold it a second time.
Kept = Union[str, bytes]
_LONGEST_STR = 256  # characters; four bytes each are less than what is charged for a check beside its text


class StepCount(Enum):
    INSTRUCTIONS = 1
    EVENTS = 2


@dataclass(frozen=True)
class Setting:
    """What a program finds around it: sys.argv[1:], environment variables, files of its working folder.

    A check's own refers to its task's, `base`: a thousand checks may wait, and each needs the two together only when
    its worker is handed out.
    """

    arguments: tuple[Kept, ...] = ()
    env: tuple[tuple[str, Kept], ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()
    base: Setting | None = None

    def __bool__(self) -> bool:
        """Is anything set?"""
        return bool(self.arguments or self.env or self.files or self.base)

    def over(self, other: Setting) -> Setting:
        """This setting, and what only `other` has."""
        return replace(self, base=other) if self else other

    @property
    def whole(self) -> Setting:
        """With all that its base has, put together."""
        if self.base is None:
            return self
        env, files = {**dict(self.base.env), **dict(self.env)}, {**dict(self.base.files), **dict(self.files)}
        return Setting(self.arguments or self.base.arguments, tuple(env.items()), tuple(files.items()))

    @property
    def has_files(self) -> bool:
        return bool(self.files) or (self.base is not None and self.base.has_files)

    @cached_property
    def size(self) -> int:
        """About how many bytes it holds."""
        pairs = [*self.env, *self.files]
        own = sum(map(len, self.arguments)) + sum(len(name) + len(value) for name, value in pairs)
        return own + (self.base.size if self.base is not None else 0)

    def parts(self) -> list[bytes]:
        """The parts of a field of a payload, of which none is a copy of a file; none where nothing is set."""
        if not self:
            return []
        whole = self.whole
        pairs = [part for name, value in whole.env for part in (name.encode(), encoded(value))]
        pairs_of_files = [part for name, value in whole.files for part in (name.encode(), value)]
        fields = [encoded(each) for each in whole.arguments], pairs, pairs_of_files
        return [part for each in fields for part in frames.field(frames.parts(each))]


PLAIN_SETTING = Setting()


@dataclass(frozen=True)
class Folder:
    """The scratch folder that workers of this server have: how many bytes it holds, or why there is none."""

    size_bytes: int = 0
    why_none: str = "the workers of this server have none"


@dataclass(frozen=True)
class Around:
    """What the checks of a task have in common, found out once however many they are.

    That is the task's setting, the folder its files would be in, and how much its program may print at the most; what
    is wrong with the setting, and with the program for a check that runs it as it stands.
    """

    setting: Setting = PLAIN_SETTING
    folder: Folder = Folder()
    most_output: int = 1 << 62
    fault_of_setting: str = ""
    fault_of_program: str = ""


@dataclass(frozen=True)
class CallCheck:
    """value(call) == value(expected); expected None only asks for the value."""

    id: str
    call: Kept
    expected: Kept | None
    entry_point: str = ""
    inspect: bool = False


@dataclass(frozen=True)
class StdioCheck:
    """`checker` is the source of a program that decides; "" compares."""

    id: str
    stdin: Kept
    expected_stdout: Kept
    comparison: Comparison = PLAINLY
    checker: Kept = ""
    setting: Setting = PLAIN_SETTING


@dataclass(frozen=True)
class RunCheck:
    """Run the program, expect nothing; `read_files` are the names of those to be read back."""

    id: str
    stdin: Kept
    setting: Setting = PLAIN_SETTING
    read_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class ScriptCheck:
    id: str
    script: Kept
    entry_point: str
    framework: str = ""  # of a suite: what runs it
    module: str = ""  # by this name it imports the program


@dataclass(frozen=True)
class InvalidCheck:
    """A check that cannot be made; `why` is a sentence. It has its verdict without a worker, and harms no other."""

    id: str
    why: str


Check = Union[CallCheck, StdioCheck, RunCheck, ScriptCheck, InvalidCheck]


@dataclass(frozen=True)
class Task:
    """A program, its checks, and how to run them.

    The program is what `encoded` makes of it, once: it may be megabytes, and have thousands of checks.
    """

    id: str
    program: bytes
    checks: list[Check]
    limits: Limits
    runtime: str
    share: bool  # hermetic programs: among their checks, and with others
    require: Assurance | None
    repeat: int
    step_count: StepCount
    tenant: str = ""
    interactive: bool = False
    rpc_id: int = 0  # which of the open RPCs asked for it
    together: bool = False  # its checks share a worker whatever the program is, and may see traces of each other
    counts_steps: bool = True  # of scripts and programs; those of calls are always counted
    setting: Setting = PLAIN_SETTING  # of all its programs
    most_output: int = 0  # what a stdio check may print if that much is expected of it

    @property
    def limits_of_scripts(self) -> Limits:
        """Those of its scripts and programs: a limit of no steps counts none."""
        return self.limits if self.counts_steps else replace(self.limits, steps=0)


def kept(text: str) -> Kept:
    """A text as a check keeps it. What is blank stays a str, which has its own notion of that and takes no more."""
    return text if len(text) <= _LONGEST_STR or text.isspace() else encoded(text)


def encoded(text: Kept) -> bytes:
    """A text of a task as a field of a payload."""
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def as_text(text: Kept) -> str:
    """A text of a task as what it was."""
    return text if isinstance(text, str) else text.decode("utf-8", "surrogatepass")
