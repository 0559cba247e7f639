"""What is bounded for callers nobody knows (health, connections), and what a daemon says that cannot start."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from cruxbox import Outcome, Tls
from cruxbox.errors import CruxboxError
from cruxboxd.rpc import health
from grpc_health.v1 import health_pb2
from raw_rpcs import never, tenants
from support.certificates import Authority, serial
from support.daemons import Served
from support.tasks import sums
from support.waiting import free_port, until

MIB = 1 << 20
WATCH = "/grpc.health.v1.Health/Watch"


def cruxboxd(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cruxboxd", "serve", "--exit-with-parent", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)  # type: ignore[call-overload]


# ---- health ------------------------------------------------------------------------------------------------------


def test_health_answers_beside_strangers_who_hold_it_open(tmp_path):
    """Questions that never come are waited for by few and not for long; watchers are so many."""
    with Served(tmp_path, "--tokens", tenants(tmp_path, alice="")) as daemon, contextlib.ExitStack() as open_calls:
        channels = [  # of one, so many in a second would be too many
            open_calls.enter_context(
                grpc.insecure_channel(daemon.target, options=[("grpc.use_local_subchannel_pool", 1)])
            )
            for _ in range(6)
        ]
        question, channel = health_pb2.HealthCheckRequest().SerializeToString(), channels[0]
        watching = [
            channels[number % len(channels)].unary_stream(WATCH)(question) for number in range(3 * health.WATCHES)
        ]
        until(
            lambda: sum(call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED for call in ended(watching)) > health.WATCHES
        )
        long = b"\x0a\x80\x80\x40" + b"x" * MIB
        until(lambda: answer(daemon, long) is grpc.StatusCode.INVALID_ARGUMENT)  # the last of these have been begun
        before = daemon.memory_bytes()
        assert {answer(daemon, long) for _ in range(5)} == {grpc.StatusCode.INVALID_ARGUMENT}
        assert daemon.memory_bytes() - before < 16 * MIB
        silent = [channel.stream_stream("/grpc.health.v1.Health/Check")(never()) for _ in range(2 * health.READERS)]
        assert all(daemon.healthy(timeout_s=1.5) for _ in range(5))  # less than a silent question is waited for
        assert len(ended(watching)) < 3 * health.WATCHES
        for call in watching + silent:
            call.cancel()
        # Names are read again as soon as it has heard that these have left.
        question = health_pb2.HealthCheckRequest(service="none").SerializeToString()
        until(lambda: answer(daemon, question) is grpc.StatusCode.NOT_FOUND)


def answer(daemon: Served, question: bytes) -> grpc.StatusCode:
    """What becomes of a question, on a connection of its own: one that brings so much of these is reset."""
    with grpc.insecure_channel(daemon.target, options=[("grpc.use_local_subchannel_pool", 1)]) as own:
        asking = own.unary_unary("/grpc.health.v1.Health/Check").future(question, timeout=30)  # type: ignore[call-arg]
        asking.exception()
        return asking.code()


def ended(calls: list[grpc.Call]) -> list[grpc.Call]:
    return [call for call in calls if call.done()]  # type: ignore[attr-defined]


def test_who_watches_hears_that_the_server_stops(tmp_path):
    """That is no error of the server's, nor is a question that does not come."""
    with Served(tmp_path, "--tokens", tenants(tmp_path, alice="")) as daemon:
        with grpc.insecure_channel(daemon.target) as channel:
            watching = channel.unary_stream(WATCH)(b"")  # type: ignore[call-arg]
            next(watching)
            silent = channel.stream_stream("/grpc.health.v1.Health/Check")(never())  # type: ignore[call-arg]
            daemon.process.terminate()
            assert watching.code() is grpc.StatusCode.UNAVAILABLE
            assert watching.details() == "the server is shutting down"
            assert (silent.code(), silent.details()) == (grpc.StatusCode.UNAVAILABLE, "the server is shutting down")
        assert daemon.process.wait(20) == 0
        assert '"level": "error"' not in daemon.log
        assert "Traceback" not in daemon.log


# ---- connections -------------------------------------------------------------------------------------------------


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(0.01)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_the_number_of_connections_is_bounded(tmp_path):
    """They have what the zygotes leave of the descriptors."""
    prefix = ("prlimit", "--nofile=300:300")
    with Served(tmp_path, prefix=prefix) as daemon, contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(("127.0.0.1", daemon.port))) for _ in range(150)]
        until(lambda: sum(map(is_closed, held)) >= 80)
        for one in held:
            one.close()

        def works() -> bool:
            with daemon.client(retries=0) as client:
                try:
                    return client.check(sums(1), deadline=5)[0].outcome is Outcome.PASSED
                except CruxboxError:
                    return False

        until(works)


# ---- rotation ----------------------------------------------------------------------------------------------------


def test_rotation_reaches_every_address(tmp_path):
    authority, other = Authority(tmp_path / "ca"), Authority(tmp_path / "other")
    cert, key = authority.issue("server")
    alice = Tls(authority.ca, *authority.issue("alice", "DNS:alice"))
    mallory = Tls(authority.ca, *other.issue("mallory", "DNS:mallory"))
    trusted = tmp_path / "trusted.crt"
    trusted.write_bytes(authority.ca.read_bytes() + other.ca.read_bytes())
    second = free_port()
    arguments = ["--tls-cert", str(cert), "--tls-key", str(key), "--tls-client-ca", str(trusted)]
    arguments += ["--listen", f"127.0.0.1:{second}", "--connection-age-s", "3"]
    with Served(tmp_path, *arguments, tls=alice) as daemon:
        ports = (daemon.port, second)

        def enters(port: int, tls: Tls) -> bool:
            from cruxbox import Client

            try:
                with Client(f"127.0.0.1:{port}", tls=tls, retries=0) as client:
                    client.info()
            except CruxboxError:
                return False
            return True

        assert all(enters(port, tls) for port in ports for tls in (alice, mallory))
        before = [serial(port) for port in ports]
        with open_connection(daemon.port, mallory) as asks:
            assert asks()
            trusted.write_bytes(authority.ca.read_bytes())
            authority.issue("server")
            until(lambda: all(serial(port) != old for port, old in zip(ports, before)))
            until(lambda: not any(enters(port, mallory) for port in ports))
            assert all(enters(port, alice) for port in ports)
            until(lambda: not asks(), 20)  # its connection from before ends, too


@contextlib.contextmanager
def open_connection(port: int, tls: Tls):
    credentials = grpc.ssl_channel_credentials(
        Path(tls.ca).read_bytes(), Path(tls.key).read_bytes(), Path(tls.cert).read_bytes()
    )
    with grpc.secure_channel(f"127.0.0.1:{port}", credentials) as channel:

        def asks() -> bool:
            try:
                channel.unary_unary("/cruxbox.v1.Sandbox/GetServerInfo")(b"", timeout=5)  # type: ignore[call-arg]
            except grpc.RpcError:
                return False
            return True

        yield asks


@pytest.mark.parametrize("kind", ["fifo", "large", "deep"])
def test_a_tokens_file_that_cannot_be_read_leaves_the_last_one_in_force(tmp_path, kind):
    path = Path(tenants(tmp_path, alice=""))
    with Served(tmp_path, "--tokens", str(path)) as daemon:

        def works() -> bool:
            with daemon.client(token="alice", retries=0) as client:
                return client.check(sums(1), deadline=20)[0].outcome is Outcome.PASSED

        new = tmp_path / "new"
        if kind == "fifo":
            os.mkfifo(new)
        elif kind == "large":
            with new.open("wb") as file:
                file.truncate(200 * MIB)
        else:
            new.write_text("a = " + "[" * 100_000)
        new.replace(path)
        until(lambda: works() and "the last good one stays in force" in daemon.log)
        assert works()
        assert daemon.memory_bytes() < 150 * MIB


# ---- what is said ------------------------------------------------------------------------------------------------


def test_an_abstract_socket_is_refused():
    ended = cruxboxd("--listen", "unix-abstract:x")
    assert (ended.returncode, "Traceback" in ended.stderr) == (2, False)
    assert "an abstract socket has no owner and no mode" in ended.stderr


def test_ports_in_use_are_one_sentence(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        cases = (
            (["--listen", f"127.0.0.1:{port}"], f"cannot listen on 127.0.0.1:{port}: Address already in use\n"),
            (["--listen", "127.0.0.1:99999"], "--listen 127.0.0.1:99999: a port is from 0 to 65535\n"),
            (["--listen", "127.0.0.1:-1"], "--listen 127.0.0.1:-1: a port is from 0 to 65535\n"),
            (["--listen", "127.0.0.1:nine"], "127.0.0.1:nine: it must be HOST:PORT or unix:PATH\n"),
            (["--listen", f"unix:/tmp/{'s' * 103}"], "the path of a unix socket has 107 bytes at most, this one 108\n"),
            (["--listen", f"unix:{tmp_path}/none/s"], f"unix:{tmp_path}/none/s: {tmp_path}/none is not a folder\n"),
            (["--listen", f"unix:{tmp_path}/s", "--metrics-port", str(port)], "cannot serve metrics on"),
        )
        with ThreadPoolExecutor(len(cases)) as pool:
            all_ended = list(pool.map(lambda case: cruxboxd(*case[0], "--workers", "1"), cases))
        for ended, (_, named) in zip(all_ended, cases):
            assert (ended.returncode, "Traceback" in ended.stderr) == (2, False), ended.stderr
            assert named in ended.stderr
            assert ended.stderr.startswith("cruxboxd: "), "gRPC's own lines are not for people"


def test_no_folder_for_temporary_files_is_one_sentence(tmp_path):
    code = "import tempfile\ntempfile._candidate_tempdir_list = lambda: ['/nonexistent']\n"
    code += "import cruxboxd.__main__ as m\nm.main()"
    command = [sys.executable, "-c", code, "serve", f"--listen=unix:{tmp_path}/s", "--workers=1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, "Traceback" in ended.stderr) == (1, False), ended.stderr
    assert "set TMPDIR to one that can be written to" in ended.stderr


@pytest.mark.parametrize("module", ["prometheus_client", "grpc_health", "psutil"])
def test_a_client_only_install_is_told_what_is_missing(module):
    code = f"import sys\nsys.modules[{module!r}] = None\nimport cruxboxd.__main__ as m\nm.main()"
    ended = subprocess.run(
        [sys.executable, "-c", code, "serve"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, "Traceback" in ended.stderr) == (2, False), ended.stderr
    assert "pip install 'cruxbox[server]'" in ended.stderr


def test_no_libseccomp_is_one_sentence(tmp_path):
    code = (
        "import sys\nsys.modules['seccomp'] = sys.modules['pyseccomp'] = None\nimport cruxboxd.__main__ as m\nm.main()"
    )
    command = [sys.executable, "-c", code, "serve", f"--listen=unix:{tmp_path}/s", "--workers=1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, "Traceback" in ended.stderr) == (1, False), ended.stderr
    assert "no seccomp binding: install libseccomp2" in ended.stderr


_FEW_PROCESSES = """
import os, resource, sys
sys.path.insert(0, sys.argv[1])
import unprivileged
unprivileged.become()
resource.setrlimit(resource.RLIMIT_NPROC, (20, 20))
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_a_low_limit_on_processes_is_one_sentence(tmp_path):
    """Enough for gRPC to start, too few for zygotes to fork: gRPC would end the process at the first burst of calls."""
    prefix = [sys.executable, "-c", _FEW_PROCESSES, str(Path(__file__).parents[1])]
    command = [sys.executable, "-m", "cruxboxd", "serve", f"--listen=unix:{tmp_path}/s", "--workers=1"]
    ended = subprocess.run([*prefix, *command], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (1, 1), ended.stderr
    assert "24 processes and threads cannot be started, as many as 4 zygotes with their workers need;" in ended.stderr
