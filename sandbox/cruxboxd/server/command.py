"""`cruxboxd serve`, `cruxboxd preflight` and `cruxboxd token`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import json
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

from cruxboxd import __version__
from cruxboxd.server.daemon import made_engine, serve
from cruxboxd.server.process import RefusedToServe, protect_process
from cruxboxd.server.signals import Signals
from cruxboxd.settings.cli_options import add_options, config_from
from cruxboxd.settings.config import Config, ConfigError
from cruxboxd.telemetry.logs import configure_logging
from cruxboxd.tenancy.identity import make_token

COMMANDS = {
    "serve": "serve checks over gRPC",
    "preflight": "say which confinement layers hold on this host",
    "token": "make a bearer token: prints it, and below it the hash for the tokens file",
}
USAGE = 2
NO_READER = 141  # as if SIGPIPE had ended the process
# What standard output meets where it is a file.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. Exit codes: 0 fine, 1 refused to serve or a layer does not hold, 2 usage, or standard
    output that cannot be written, 141 nobody reads standard output any more."""
    with _told():
        options = _parser().parse_args(arguments)
        if options.command != "serve":  # which writes nothing there
            sys.exit(_run(options))
    sys.exit(_run(options))


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """When the body ends the process, has standard output written before; one sentence where that cannot be done."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:  # it may have been closed from the start
                sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has seen enough; nothing is flushed at exit either
        sys.stdout = None
        sys.exit(NO_READER)
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        sys.stdout = None
        print(f"cruxboxd: standard output cannot be written: {error.strerror}", file=sys.stderr)
        sys.exit(USAGE)


def _run(options: argparse.Namespace) -> int:
    if options.command == "token":
        print("\n".join(make_token()))
        return 0
    configure_logging(options.log_level)
    try:
        config = config_from(options)
        return _preflight(config, options.json) if options.command == "preflight" else _serve(config)
    except ConfigError as error:
        print(f"cruxboxd: {_in_one_line(str(error))}", file=sys.stderr)
        return USAGE
    except RefusedToServe as error:
        for line in str(error).splitlines():
            print(f"cruxboxd: refuses to serve: {line}", file=sys.stderr)
        return 1


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """End with one sentence, without the usage in front of it."""
        self.exit(USAGE, f"cruxboxd: {_in_one_line(message)}\n")


def _in_one_line(sentence: str) -> str:
    """What it repeats of arguments and files may steer a terminal."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in sentence)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="cruxboxd", description="The cruxbox sandbox daemon.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    serving, checking, _ = (commands.add_parser(name, help=does, description=does) for name, does in COMMANDS.items())
    checking.add_argument("--json", action="store_true", help="print one JSON object")
    for command in (serving, checking):
        add_options(command, is_serve=command is serving)
    return parser


def _serve(config: Config) -> int:
    if not config.listen:
        raise ConfigError("--listen is missing: HOST:PORT or unix:PATH")
    with contextlib.suppress(asyncio.CancelledError):  # it was told to end before it served
        asyncio.run(serve(config))
    return 0


def _preflight(config: Config, as_json: bool) -> int:
    try:
        found = asyncio.run(_look(config))
    except asyncio.CancelledError:
        print("cruxboxd: it was told to end before it knew which layers hold", file=sys.stderr)
        return 1
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        for layer in found["layers"]:  # type: ignore[attr-defined]
            state = "active" if layer["active"] else "unavailable"
            need = "required" if layer["required"] else "optional"
            print(f"{layer['name']:<14} {state:<12} {need:<9} {layer['detail']}")
        for name, helper in found["helpers"].items():  # type: ignore[attr-defined]
            sharing = "" if helper == "native" else "; every check has a worker of its own"
            print(f"{'helper':<14} {helper:<12} {'optional':<9} of workers of runtime {name}{sharing}")
        attempts: dict[str, str] = found["attempts"]  # type: ignore[assignment]
        width = max(map(len, attempts), default=0)
        for name, result in attempts.items():
            print(f"{name:<{width}} {result}")
        for problem in found["problems"]:  # type: ignore[attr-defined]
            print(f"problem: {problem}")
        refused = sum(result.startswith("refused") for result in attempts.values())
        holds = "do not hold; a daemon does not serve here" if found["problems"] else "hold"
        print(f"required layers {holds}; {refused} of {len(attempts)} forbidden attempts were refused")
    return 1 if found["problems"] else 0


async def _look(config: Config) -> dict[str, object]:
    protect_process(exit_with_parent=False)
    problems: list[str] = []
    with Signals():
        async with made_engine(config) as engine:
            try:
                await engine.open()
            except RefusedToServe as error:
                problems = str(error).splitlines()
            return {
                "ok": not problems,
                "problems": problems,
                "layers": [vars(layer) for layer in engine.preflight.layers],
                "attempts": dict(engine.preflight.attempts),
                "helpers": engine.helpers(),
                "profile_digest": engine.setups.profile_digest,
            }
