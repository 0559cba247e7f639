"""A daemon that is told to end before it serves, wherever it is at that moment."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cruxboxd.server.signals import _SIGNALS, Signals
from cruxboxd.shared.fair_loop import current_tenant, share_loop

# A signal arrives as the event loop has taken the Nth of what is ready: an exception there takes it away from all who
# wait for it.
TELLING = """
import os, signal, sys
from cruxboxd.__main__ import main
from cruxboxd.server.signals import Signals

left = int(sys.argv.pop(1))
enter = Signals.__enter__

def has_taken(frame, event, what):
    if event == "c_return":
        return frame.f_code.co_name == "_run_once" and what.__name__ == "popleft"
    return event == "return" and (frame.f_code.co_name, frame.f_back.f_code.co_name) == ("popleft", "_run_once")

def tell(frame, event, what):
    global left
    if has_taken(frame, event, what):
        left -= 1
        if not left:
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGTERM)

def entered(told):
    sys.setprofile(tell)
    return enter(told)

Signals.__enter__ = entered
main()
"""


@pytest.mark.kernel
@pytest.mark.parametrize("moment", [1, 3, 10, 20, 40, 60, 80])
def test_it_ends_at_once_and_leaves_nothing(tmp_path: Path, moment: int):
    command = [sys.executable, "-c", TELLING, str(moment), "serve", "--exit-with-parent", f"--listen=unix:{tmp_path}/s"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")
    assert "exception" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_one_that_looks_says_that_it_was_told(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", TELLING, "2", "preflight"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "cruxboxd: it was told to end before it knew which layers hold\n"


def test_it_does_not_wait_for_the_tenant_whose_step_it_interrupts():
    ran: list[int] = []

    async def work(signals: Signals) -> None:
        current_tenant.set("much")
        for number in range(1_000):
            asyncio.get_running_loop().call_soon(ran.append, number)
        os.kill(os.getpid(), signal.SIGTERM)
        await signals.wait()

    async def hear() -> None:
        share_loop()
        with Signals() as signals:
            signals.is_waited_for()
            working = asyncio.create_task(work(signals))
            await signals.wait()
            assert len(ran) < 100
            await working

    before = [(number, signal.getsignal(number)) for number in (*_SIGNALS, signal.SIGCHLD)]
    try:
        asyncio.run(hear())
    finally:
        for number, handler in before:
            signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_before_it_has_handlers_a_signal_ends_it_without_a_word(number: signal.Signals):
    # A run of the tests in the background, or by nohup, leaves some of them ignored.
    usual = "default_int_handler" if number == signal.SIGINT else "SIG_DFL"
    code = f"""import os, signal
signal.signal({number:d}, signal.{usual})
from cruxboxd import __main__ as daemon
daemon._find_room = lambda: os.kill(os.getpid(), {number:d})
daemon.main(["token"])"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert done.returncode == (130 if number == signal.SIGINT else -number)
    assert (done.stdout, done.stderr) == (b"", b"")
