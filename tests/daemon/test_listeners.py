"""Two daemons never have one unix socket, and none takes another's away."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

import grpc.aio
import pytest
from cruxboxd.rpc.listeners import Claim, _cause, check_addresses, listen, refuse_taken
from cruxboxd.settings.config import Config, ConfigError


def test_a_path_is_one_process_s_until_it_is_released(tmp_path: Path):
    path = tmp_path / "s"
    first = Claim(path)
    with pytest.raises(ConfigError, match=f"^cannot listen on unix:{path}: another process does$"):
        Claim(path)
    assert os.listdir(tmp_path) == ["s.lock"]
    first.release()
    first.release()
    assert os.listdir(tmp_path) == []
    Claim(path).release()


async def test_an_address_that_cannot_be_listened_on_leaves_no_claim(tmp_path: Path):
    free, taken = tmp_path / "free", tmp_path / "taken"
    taken.mkdir()
    server = grpc.aio.server()
    with pytest.raises(ConfigError, match="in use or not permitted"):
        listen(server, Config(listen=(f"unix:{free}", f"unix:{taken}")))
    assert not list(tmp_path.glob("*.lock"))
    await server.stop(None)


def test_what_a_killed_daemon_left_is_no_claim(tmp_path: Path):
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    (tmp_path / "s.lock").touch()
    Claim(path).release()
    assert os.listdir(tmp_path) == ["s"]


def test_one_that_knows_of_no_lock_is_left_alone(tmp_path: Path):
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        with pytest.raises(ConfigError, match="another process does"):
            Claim(path)
        assert os.listdir(tmp_path) == ["s"]
        with pytest.raises(ConfigError, match=f"^cannot listen on unix:{path}: another process does$"):
            refuse_taken(Config(listen=("127.0.0.1:0", f"unix:{path}")))
    refuse_taken(Config(listen=(f"unix:{path}", f"unix:{tmp_path / ('x' * 200)}", f"unix:{tmp_path}/none/s")))
    Claim(path).release()


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_one_that_takes_no_connection_is_left_alone_at_once(tmp_path: Path, kind: socket.SocketKind):
    """Its queue is full, or it is no listener of streams: a connection would be waited for, or taken for nobody's."""
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX, kind) as theirs, contextlib.ExitStack() as waiting:
        theirs.bind(str(path))
        if kind == socket.SOCK_STREAM:
            theirs.listen(0)
            for _ in range(3):
                one = waiting.enter_context(socket.socket(socket.AF_UNIX))
                one.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    one.connect(str(path))
        with pytest.raises(ConfigError, match="another process does"):
            Claim(path)
        assert path.is_socket()


def test_a_lock_that_is_released_before_it_is_taken_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "s"
    real, ended = os.open, [Claim(path)]

    def late(*arguments: object) -> int:
        lock = real(*arguments)  # type: ignore[arg-type]
        if ended:
            ended.pop().release()
        return lock

    monkeypatch.setattr(os, "open", late)
    mine = Claim(path)
    with pytest.raises(ConfigError):
        Claim(path)
    mine.release()


def test_a_lock_that_is_a_link_or_cannot_be_made_is_one_sentence(tmp_path: Path):
    (tmp_path / "s.lock").symlink_to(tmp_path / "other")
    with pytest.raises(ConfigError, match=r"s\.lock cannot be made: "):
        Claim(tmp_path / "s")
    assert os.listdir(tmp_path) == ["s.lock"]


@pytest.mark.parametrize(("address", "cause"), [
    ("127.0.0.1:0", ""), ("ipv4:127.0.0.1:0", "it must be HOST:PORT or unix:PATH"),
    ("no host:0", "it must be HOST:PORT or unix:PATH"),
])  # fmt: skip
def test_why_an_address_cannot_be_bound_that_a_socket_can(address: str, cause: str):
    """A scheme that gRPC does not take is no address in use."""
    assert _cause(address) == cause


@pytest.mark.parametrize("name", ["a%41b", "a%2Fb", "a?b", "a#b", "a,b"])
def test_a_socket_is_where_it_was_said(tmp_path, name):
    """gRPC would decode one of these, and clients could not reach the others."""
    address = f"unix:{tmp_path / name}"
    with pytest.raises(ConfigError, match=r"^--listen unix:.* must hold none of % \? # ,$"):
        check_addresses(Config(listen=(address,)))
