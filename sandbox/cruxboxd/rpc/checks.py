"""Reads the fields of each kind of check into a plain value, and describes an error in one sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Callable, TypeVar

from cruxbox_proto.v1 import sandbox_pb2 as pb

from cruxboxd.judging.comparing import WHITE_SPACE, Compare, Comparison
from cruxboxd.judging.tasks import (
    Around,
    CallCheck,
    Check,
    Folder,
    RunCheck,
    ScriptCheck,
    Setting,
    StdioCheck,
    encoded,
    kept,
)

MOST_ARGUMENTS, MOST_ARGUMENT_BYTES = 64, 1 << 16
MOST_VARIABLES, MOST_VARIABLE_BYTES = 64, 1 << 16
MOST_FILES, MOST_FOLDERS, MOST_FILE_BYTES = 64, 256, 16 << 20
_LONGEST_NAME = 200
_PAGE = 4096
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
FRAMEWORKS = ("unittest", "pytest", "doctest")

_Value = TypeVar("_Value", str, bytes)


def _read_call(check: pb.Check, around: Around) -> tuple[Check, str]:
    call, expected, entry_point = check.call.call, check.call.expected, check.call.entry_point
    fault = (
        fault_of_text(call, "call.call")
        or fault_of_text(expected, "call.expected")
        or _fault_of_name(entry_point, "call.entry_point")
    )
    return CallCheck(check.id, kept(call), kept(expected), entry_point), fault or around.fault_of_setting


def _read_stdio(check: pb.Check, around: Around) -> tuple[Check, str]:
    stdio = check.stdio
    comparison, wrong = _read_comparison(stdio)
    setting, fault, fault_of_all = _read_own(stdio, "stdio.", around)
    expected, checker = stdio.expected_stdout, source_of(stdio.checker)
    is_blank = not expected or expected.isspace()
    if is_blank and not stdio.allow_empty and not checker:
        fault = fault or "stdio.expected_stdout is blank; silence never passes unless allow_empty asks for it"
    if checker:
        wrong = wrong or fault_of_text(checker, "stdio.checker")
        if comparison != Comparison():
            wrong = wrong or "stdio has a checker, which decides by itself: compare and tolerance do not go with it"
    found = StdioCheck(check.id, kept(stdio.stdin), kept(expected), comparison, kept(checker), setting)
    wrong = wrong or _fault_of_room(found, around.most_output)
    return found, around.fault_of_program or fault or wrong or fault_of_all


def _fault_of_room(check: StdioCheck, most: int) -> str:
    """What is wrong with a check that no output below `most` bytes can pass, whatever may be left out of it."""
    text, comparison = check.expected_stdout, check.comparison
    if 4 * len(text) < most or check.checker or comparison.has_tolerance or comparison.how is Compare.CASEFOLD:
        return ""
    expected = encoded(text)
    if len(expected if comparison.how is Compare.EXACT else expected.translate(None, WHITE_SPACE)) < most:
        return ""
    return f"stdio.expected_stdout is {len(expected)} bytes, which no program may print: limits.output_bytes is {most}"


def _read_comparison(stdio: pb.StdioCheck) -> tuple[Comparison, str]:
    fault = fault_of_enum(stdio.compare, pb.Compare)
    if fault:
        return Comparison(), f"stdio.compare {fault}"
    comparison = Comparison(
        Compare(stdio.compare or Compare.LINES.value), stdio.absolute_tolerance, stdio.relative_tolerance
    )
    for name in ("absolute_tolerance", "relative_tolerance"):
        value = getattr(stdio, name)
        if not (math.isfinite(value) and value >= 0):
            return comparison, f"stdio.{name} is {value:g}; allowed are 0 and finite numbers above it"
    if comparison.has_tolerance and comparison.how is Compare.EXACT:
        return comparison, "stdio.compare is EXACT, which does not go with a tolerance"
    return comparison, ""


def _read_run(check: pb.Check, around: Around) -> tuple[Check, str]:
    run = check.run
    setting, fault, fault_of_all = _read_own(run, "run.", around)
    names = tuple(dict.fromkeys(run.read_files))
    fault = fault or _fault_of_names(names, "run.read_files", around.folder)
    return RunCheck(check.id, kept(run.stdin), setting, names), around.fault_of_program or fault or fault_of_all


def _read_script(check: pb.Check, around: Around) -> tuple[Check, str]:
    script = check.script
    text, entry_point, framework = source_of(script.script), script.entry_point, script.framework
    fault = (
        fault_of_text(text, "script.script")
        or _fault_of_path(entry_point)
        or _fault_of_name(script.module, "script.module")
    )
    if framework and framework not in FRAMEWORKS:
        allowed = ", ".join(FRAMEWORKS)
        fault = fault or f"script.framework is {framework[:80]!r}; it is one of {allowed}, or empty"
    return ScriptCheck(check.id, kept(text), entry_point, framework, script.module), fault or around.fault_of_setting


def _read_evaluate(check: pb.Check, around: Around) -> tuple[Check, str]:
    call = check.evaluate.call
    found = CallCheck(check.id, kept(call), None, inspect=check.evaluate.inspect)
    return found, fault_of_text(call, "evaluate.call") or around.fault_of_setting


# By the name of the kind: reads a check of a task that has this around it; (what is asked, "" or what is wrong). A
# field of text is read once: each time protobuf makes a new text of it.
KINDS: Mapping[str, Callable[[pb.Check, Around], tuple[Check, str]]] = {
    "call": _read_call,
    "stdio": _read_stdio,
    "script": _read_script,
    "evaluate": _read_evaluate,
    "run": _read_run,
}


def fault_of_enum(value: int, kind: Any) -> str:
    """ "" or what is wrong with a number of an enum; which of them there are."""
    if value in kind.values():
        return ""
    begin = len(kind.Name(0)) - len("UNSPECIFIED")  # each name has that of its enum in front
    return f"is {value}; allowed are {', '.join(f'{number} ({name[begin:]})' for name, number in kind.items())}"


# ---- what a program finds around it --------------------------------------------------------------------------------


def read_setting(message: Any, where: str, folder: Folder) -> tuple[Setting, str]:
    """The arguments, env and files of a Task or of a check, and what is wrong with them: then nothing is kept of them,
    as their names may be megabytes."""
    arguments = tuple(getattr(message, "arguments", ()))
    if not (arguments or message.env or message.files):
        return _NOTHING, ""
    env, files = _by_name(message.env), _by_name(message.files)
    fault = (
        _fault_of_arguments(arguments, f"{where}arguments")
        or _fault_of_env(env, f"{where}env")
        or _fault_of_files(files, f"{where}files", folder)
    )
    if fault:
        return _NOTHING, fault
    return Setting(tuple(map(kept, arguments)), tuple([(name, kept(value)) for name, value in env]), files), ""


_NOTHING = Setting()


def _by_name(entries: Mapping[str, _Value]) -> tuple[tuple[str, _Value], ...]:
    """The entries in order, for which no more is looked at than the longest name may be."""
    return tuple(sorted(entries.items(), key=lambda entry: entry[0][:_LONGEST_NAME]))


def _read_own(message: Any, where: str, around: Around) -> tuple[Setting, str, str]:
    """What the program of a check finds around it, what is wrong with the check's own part, and with all of it."""
    own, fault = read_setting(message, where, around.folder)
    if own is _NOTHING:
        return around.setting, fault, around.fault_of_setting
    setting = own.over(around.setting)
    return setting, fault, fault_of_both(setting, around.folder)


def _fault_of_arguments(arguments: Sequence[str], where: str) -> str:
    if len(arguments) > MOST_ARGUMENTS:
        return f"{where} are {len(arguments)}; a program has at most {MOST_ARGUMENTS}"
    if any("\0" in each for each in arguments):
        return f"{where} hold a NUL character"
    size = sum(len(each.encode()) for each in arguments)
    return f"{where} are {size} bytes; at most {MOST_ARGUMENT_BYTES} are allowed" if size > MOST_ARGUMENT_BYTES else ""


def _fault_of_env(env: Sequence[tuple[str, str]], where: str) -> str:
    if len(env) > MOST_VARIABLES:
        return f"{where} holds {len(env)} variables; at most {MOST_VARIABLES} are allowed"
    for name, value in env:
        if len(name) > _LONGEST_NAME or not _VARIABLE.match(name):
            return f"{where} names {name[:80]!r}; a variable's name is made of letters, digits and _"
        if "\0" in value:
            return f"{where}[{name!r}] holds a NUL character"
    size = sum(len(name) + len(value.encode()) for name, value in env)
    return f"{where} is {size} bytes; at most {MOST_VARIABLE_BYTES} are allowed" if size > MOST_VARIABLE_BYTES else ""


def _fault_of_files(files: Sequence[tuple[str, bytes]], where: str, folder: Folder) -> str:
    fault = _fault_of_names([name for name, _ in files], where, folder)
    size = sum(len(content) for _, content in files)
    if not fault and size > MOST_FILE_BYTES:
        return f"{where} are {size} bytes; at most {MOST_FILE_BYTES} are allowed"
    return fault


def _fault_of_names(names: Sequence[str], where: str, folder: Folder) -> str:
    """Names of files below a working folder: relative, no steps upwards, none a folder of another."""
    if not names:
        return ""
    if not folder.size_bytes:
        return f"{where} names {names[0][:80]!r}; files need a scratch folder, and {folder.why_none}"
    if len(names) > MOST_FILES:
        return f"{where} names {len(names)} files; at most {MOST_FILES} are allowed"
    for name in names:
        if _is_long(name) or "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
            return (
                f"{where} names {name[:80]!r}; a name is relative, of at most {_LONGEST_NAME} bytes, and has no empty "
                "part, '.' or '..'"
            )
    return ""


def _is_long(name: str) -> bool:
    """Is it over the longest name, in bytes? Of one that is over that in characters no bytes are made."""
    return len(name) > _LONGEST_NAME or len(name.encode()) > _LONGEST_NAME


def fault_of_both(setting: Setting, folder: Folder) -> str:
    """What is wrong with the files of a task and of its check together."""
    if not setting.has_files:
        return ""
    setting = setting.whole
    names = {name for name, _ in setting.files}
    folders: set[str] = set()
    for name in sorted(names):
        above = name.rpartition("/")[0]
        while above and above not in folders:
            if above in names:
                return f"files names {above[:80]!r} and {name[:80]!r}; one cannot be a folder of the other"
            if len(folders) == MOST_FOLDERS:
                return f"files are in more than {MOST_FOLDERS} folders"
            folders.add(above)
            above = above.rpartition("/")[0]
    taken = sum(-(-len(content) // _PAGE) * _PAGE for _, content in setting.files)
    if taken > folder.size_bytes:
        return f"files take {taken} bytes; the scratch folder of this server holds {folder.size_bytes}"
    return ""


# ---- texts ---------------------------------------------------------------------------------------------------------

_LONGEST_PATH = 500  # characters of an entry point


def source_of(text: str) -> str:
    """A program or script as Python reads it from a file: without the byte order mark that some editors put first."""
    return text.removeprefix("\ufeff")


def fault_of_text(value: str, where: str, may_be_empty: bool = False) -> str:
    """What is wrong with a source text: blank unless it may be, a NUL in it. How long it may be the message decides."""
    if "\0" in value:
        return f"{where} holds a NUL character"
    if not may_be_empty and (not value or value.isspace()):
        return f"{where} is empty"
    return ""


def _fault_of_name(value: str, where: str) -> str:
    if len(value) > _LONGEST_PATH:
        return f"{where} has {len(value)} characters; at most {_LONGEST_PATH} are allowed"
    if value and not value.isidentifier():
        return f"{where} is {value[:80]!r}, which is not a Python name"
    return ""


def _fault_of_path(value: str) -> str:
    """A name, then attributes and empty calls: `f`, `Solution.two_sum`, `Solution().two_sum`."""
    if len(value) > _LONGEST_PATH:
        return f"script.entry_point has {len(value)} characters; at most {_LONGEST_PATH} are allowed"
    if not value or all(map(_is_called_name, value.split("."))):
        return ""
    needed = "a Python name with attributes and empty calls, like 'A().solve'"
    return f"script.entry_point is {value[:80]!r}, which is not {needed}"


def _is_called_name(part: str) -> bool:
    """Is it a name, and nothing but empty calls behind that?"""
    name = part.rstrip("()")
    calls = part[len(name) :]
    return name.isidentifier() and calls == "()" * (len(calls) // 2)
