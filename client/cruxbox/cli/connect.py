"""From `--server` and the environment to a client."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Any, Optional

import typer

from cruxbox.channel import Tls
from cruxbox.client import Client
from cruxbox.errors import InvalidRequest

Server = Annotated[
    Optional[str],
    typer.Option(
        "--server",
        metavar="TARGET",
        envvar="CRUXBOX_SERVER",
        help="Server: host:port, dns:///service:port or unix:/path. Without it, an embedded server is started.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]


def connect(server: str | None, make: Callable[..., Client] = Client, **more: Any) -> Client:
    """A client (made by `make`) of `server`, or of an embedded daemon.

    The environment may hold what does not belong on a command line: CRUXBOX_TOKEN, and CRUXBOX_TLS_CA,
    CRUXBOX_TLS_CERT, CRUXBOX_TLS_KEY (PEM files), CRUXBOX_TLS_SERVER_NAME; CRUXBOX_TLS=1 is TLS with the system's
    roots; CRUXBOX_PLAINTEXT_TOKEN=1 sends the token without TLS. An embedded daemon has a socket of its own and needs
    none of it.
    """
    is_tls, is_plain = _switch("CRUXBOX_TLS"), _switch("CRUXBOX_PLAINTEXT_TOKEN")
    if server is None:
        return make(None, **more)
    names = {"ca": "CRUXBOX_TLS_CA", "cert": "CRUXBOX_TLS_CERT", "key": "CRUXBOX_TLS_KEY"}
    files = {name: os.environ[key] for name, key in names.items() if os.environ.get(key)}
    server_name = os.environ.get("CRUXBOX_TLS_SERVER_NAME") or None
    wanted = is_tls or bool(files)
    if server_name and not wanted:
        raise InvalidRequest("CRUXBOX_TLS_SERVER_NAME is for TLS: set CRUXBOX_TLS=1 or CRUXBOX_TLS_CA, too.")
    more["tls"] = Tls(**files, server_name=server_name) if wanted else None
    more["token"] = os.environ.get("CRUXBOX_TOKEN") or None
    try:
        return make(server, allow_plaintext_token=is_plain, **more)
    except InvalidRequest as error:
        argument, _, fault = str(error).partition(" ")
        names = {"target": option_of(server), "token": "CRUXBOX_TOKEN", "server_name": "CRUXBOX_TLS_SERVER_NAME"}
        raise InvalidRequest(f"{names.get(argument, argument)} {fault}") from None


def option_of(server: str) -> str:
    """Where the user has named `server`."""
    return "CRUXBOX_SERVER" if server == os.environ.get("CRUXBOX_SERVER") else "--server"


def _switch(name: str) -> bool:
    """Whether the variable is 1. Any other word but 0 is refused: it may have been meant as the opposite."""
    value = os.environ.get(name, "")
    if value not in ("", "0", "1"):
        raise InvalidRequest(f"{name} must be 1 or 0, not {value[:40]!r}.")
    return value == "1"
