"""The command line. A command is a module here with a typed function `command`; COMMANDS says which there are.

Only the module of the command that was called is imported, so that `cruxbox --help` and small commands are quick.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from cruxbox.cli.ending import Ended, told_by_signals
from cruxbox.errors import CruxboxError, InvalidRequest, Unauthenticated
from cruxbox.printable import printable

# Name: (module, the sentence in `cruxbox --help`).
COMMANDS: dict[str, tuple[str, str]] = {
    "score": ("cruxbox.cli.score", "Score CRUXEval generations: pass@k and a verdict for each."),
    "humaneval": ("cruxbox.cli.humaneval", "Run samples against the tests of HumanEval or HumanEval+."),
    "mbpp": ("cruxbox.cli.humaneval", "Run samples against the tests of MBPP or MBPP+."),
    "stdio": ("cruxbox.cli.stdio", "Run samples against the tests of APPS, CodeContests or LiveCodeBench."),
    "bigcodebench": ("cruxbox.cli.bigcodebench", "Run samples against the test suites of BigCodeBench."),
    "check": ("cruxbox.cli.check", "Run one check: does a call of a program have the expected value?"),
    "info": ("cruxbox.cli.info", "Show the version, runtimes, limits and layers of confinement of a server."),
    "runtimes": ("cruxbox.cli.runtimes", "List the runtimes of a server, with their packages."),
    "steps": ("cruxbox.cli.steps", "Count the steps of each row of a data set."),
    "stats": ("cruxbox.cli.stats", "Describe a data set: lengths, steps, methods."),
    "compare": ("cruxbox.cli.compare", "Compare scored models: intervals, significance, agreement, difficulty."),
    "leaderboard": ("cruxbox.cli.leaderboard", "Make a table of scored files, by model and temperature."),
    "prompts": ("cruxbox.cli.prompts", "Write prompts that ask for functions, inputs or outputs."),
    "generate": ("cruxbox.cli.generate", "Complete prompts at an OpenAI-compatible endpoint."),
    "run": ("cruxbox.cli.run", "Write prompts, generate, extract and score in one command."),
    "extract": ("cruxbox.cli.extract", "Extract the text to score from raw completions."),
    "filter": ("cruxbox.cli.filter", "Run candidates for a data set and keep the pairs that meet the rules."),
    "sample": ("cruxbox.cli.sample", "Draw a benchmark at random from filtered rows."),
    "finetune": ("cruxbox.cli.finetune", "Write fine-tuning texts that a benchmark does not contain."),
    "anonymize": ("cruxbox.cli.anonymize", "Rename variables to x1, x2, … and check that the outputs stay the same."),
}

# What an import that fails stands for.
_EXTRAS = {
    "typer": "cli",
    "rich": "cli",
    "numpy": "stats",
    "scipy": "stats",
    "matplotlib": "stats",
    "jinja2": "stats",
    "pyarrow": "parquet",
    "openai": "generate",
    "ray": "ray",
}

# What a server calls the settings that the options of a command stand for.
_OPTION_OF = {
    "limits.cpu_ms": "--cpu-limit",
    "limits.wall_ms": "--wall-limit",
    "limits.memory_bytes": "--memory-limit",
    "limits.output_bytes": "--output-limit",
    "limits.steps": "--max-steps",
    "runtime": "--runtime",
}
# What it says of a limit. The 0 of a request is an option that was not given.
_RANGE = re.compile(r"(limits\.\w+) is (\d+); allowed are 0 \(the default\) and (\d+) to (\d+) \w+")

# What standard output meets where it is a file. All other files that are written have sentences of their own.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

# The option parser's words for a text that is no number.
_AT_LEAST = re.compile(r"Input should be greater than or equal to (-?[\d.]*\d)")
_AT_MOST = re.compile(r"Input should be less than or equal to (-?[\d.]*\d)")
_NO_NUMBER = re.compile(r"Input should be a valid (integer|number), unable to parse string as an? \1")
_TOO_LONG = "Unable to parse input string as an integer, exceeded maximum size"
_NUMBERS = {"integer": "whole number", "number": "number"}

_SIZES = ((40, "T"), (30, "G"), (20, "M"), (10, "k"))

USAGE = 2
_INTERRUPTED = 130
_NO_READER = 141  # as if SIGPIPE had ended the process; 1 would say something of a verdict


def main(arguments: Sequence[str] | None = None, begin: Callable[[], object] = lambda: None) -> int:
    """Run the command line; the exit code. A mistake of the user is one sentence on stderr and code 2.

    The code is 141 where standard output is a pipe that nobody reads any more. `begin` is called when the command is
    imported and has begun nothing that must be undone.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    _open_what_is_closed()
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what goes wrong is said here, in one sentence
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal of another encoding: what it lacks is shown as an escape
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run(arguments, begin)
    except Ended as ended:
        return 128 + ended.signal
    except CruxboxError as error:
        return _complain(f"{_by_option(error)}{_missing_token(error)}")
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        return _complain(f"This needs {error.name}, which is not installed: pip install 'cruxbox[{extra}]'")
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OSError as error:
        return _unusable(error)


def _open_what_is_closed() -> None:
    """A process that was started without standard output or error writes to /dev/null; the exit code still counts.

    No file that is opened later takes the free descriptor, so that `-` cannot mean it.
    """
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is not None:
            continue
        handle = os.open(os.devnull, os.O_WRONLY)
        try:
            os.fstat(number)
        except OSError:
            os.dup2(handle, number)
        if handle != number:
            os.close(handle)
        setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  (until the process ends)


def _unusable(error: OSError) -> int:
    """The exit code where a file cannot be used, or standard output not be written; any other error goes on."""
    if error.filename is not None:
        return _complain(f"{error.filename}: {error.strerror}")
    if error.errno not in (*_FULL, errno.EPIPE):
        raise error
    sys.stdout = None  # nothing more can be said there, not even at exit
    if error.errno == errno.EPIPE:  # whoever read it has seen enough
        return _NO_READER
    return _complain(f"standard output cannot be written: {error.strerror}")


def _run(arguments: list[str], begin: Callable[[], object]) -> int:
    import typer

    # The base of all that the option parser complains with; it lives in click or in typer, depending on the version.
    usage_error: Any = typer.BadParameter.__mro__[1]
    parser_error: Any = usage_error.__mro__[1]
    for before, after in zip(["", *arguments], [*arguments, ""]):
        if (before == "--out" and after == "") or after == "--out=":  # a path would be that of the folder one is in
            return _complain("--out is empty; it must name a file or a folder.")
    app = _app(arguments[0] if arguments else "")
    begin()
    try:
        with told_by_signals():
            result = app(arguments or ["--help"], prog_name="cruxbox", standalone_mode=False)
    except parser_error as error:
        return _complain(_with_value(error, arguments))
    except typer.Abort:
        return _INTERRUPTED
    except SystemExit as ended:  # so the parser takes a pipe that nobody reads, with a code that is a verdict here
        if isinstance(ended.__context__, BrokenPipeError):
            return _unusable(ended.__context__)
        raise
    if sys.stdout is not None:  # a disk that is full is to show while it can be told
        sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _with_value(error: Any, arguments: Sequence[str]) -> str:
    """The parser's sentence, with the value that it is about: some versions leave it out."""
    sentence = str(error.format_message()).replace("Value error, ", "")
    sentence = _AT_MOST.sub(r"must be at most \1", _AT_LEAST.sub(r"must be at least \1", sentence))
    sentence = sentence.replace(_TOO_LONG, "is too large a number")
    sentence = _NO_NUMBER.sub(lambda found: f"must be a {_NUMBERS[found[1]]}", sentence)
    for option in getattr(getattr(error, "param", None), "opts", ()):
        values = [after for before, after in zip(arguments, arguments[1:]) if before == option]
        values += [one.partition("=")[2] for one in arguments if one.startswith(f"{option}=")]
        is_named = any(one and re.search(rf"(?<![\w.]){re.escape(one)}(?![\w.])", sentence) for one in values)
        if values and sentence.startswith("Invalid value") and not is_named:
            return f"{sentence}, not {values[-1][:80]!r}"
    return sentence


def _app(called: str) -> Any:
    """The typer application, with the called command for real and the others as names with a sentence."""
    import typer

    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # brackets in a help text are meant
        help="Execute model-written Python in a hardened sandbox and report the verdict on each check.",
    )
    version = typer.Option(False, "--version", is_eager=True, callback=_show_version, help="Show the version and exit.")
    app.callback()(_options(version))
    for name, (module, sentence) in COMMANDS.items():
        function: Callable[..., Any] = (
            _annotated(importlib.import_module(module).command) if name == called else _nothing
        )
        app.command(name, short_help=sentence, help=sentence if name != called else None)(function)
    return app


def _annotated(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with its annotations as objects: on Python 3.9 typer does not read them where they are text."""
    if sys.version_info < (3, 10):
        for name, text in function.__annotations__.items():
            if isinstance(text, str):
                function.__annotations__[name] = eval(text, function.__globals__)  # noqa: S307  (our own words)
    return function


def _options(version: Any) -> Callable[..., None]:
    """The options that stand before the command."""

    def callback(version: bool = version) -> None:
        pass

    callback.__annotations__["version"] = bool
    return callback


def _show_version(wanted: bool) -> None:
    if wanted:
        import typer

        from cruxbox import __version__

        sys.stdout.write(f"cruxbox {__version__}\n")
        raise typer.Exit


def _nothing() -> None:
    pass


def _by_option(error: CruxboxError) -> str:
    """The sentence, with the command line's name of a setting that a server refused."""
    sentence = str(error)
    if isinstance(error, InvalidRequest):
        sentence = _RANGE.sub(_in_units_of_the_option, sentence)
        for field, option in _OPTION_OF.items():
            sentence = sentence.replace(f"refused the request: {field} is ", f"refused the request: {option} is ")
    return sentence


def _in_units_of_the_option(found: re.Match[str]) -> str:
    """What a server says of a limit, in the units that the option has."""
    name, *numbers = found.groups()
    if name not in _OPTION_OF:
        return found[0]
    value, low, high = (_in_units_of(name, int(number)) for number in numbers)
    return f"{name} is {value}; allowed are {low} to {high}"


def _in_units_of(name: str, number: int) -> str:
    if name.endswith("_ms"):
        return f"{number / 1000:.10g} s"
    if name.endswith("_bytes"):
        shift, unit = next((each for each in _SIZES if number and number % (1 << each[0]) == 0), (0, ""))
        return f"{number >> shift}{unit}"
    return str(number)


def _missing_token(error: CruxboxError) -> str:
    """Where the command line takes a token from, if a server refused a caller that showed none."""
    own = type(error) is Unauthenticated  # a kind of it is of another server, such as one that generates
    if own and not os.environ.get("CRUXBOX_TOKEN"):
        return "; the command line reads the token from CRUXBOX_TOKEN, which is not set"
    return ""


def _complain(sentence: str) -> int:
    sys.stderr.write(f"cruxbox: {printable(' '.join(sentence.split()))}\n")
    return USAGE
