"""What a process that gets ready says, and how one is ended."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from cruxboxd.zygotes import launch
from cruxboxd.zygotes.launch import StartError
from cruxcell.protocol import frames, messages


def test_a_zygote_says_which_layers_hold():
    fields = [b"seccomp", b"1", b"", b"memory", b"0", b"no room \xff"]
    started = launch.read_ready(bytes([messages.READY]) + frames.pack(fields), "python")
    assert started.layers == (("seccomp", True, ""), ("memory", False, "no room \ufffd"))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (bytes([messages.FAILED_TO_START]) + b"mount: no such\xff", "mount: no such\ufffd"),
        (b"2", "cannot execute /usr/python: No such file or directory"),
        (b"", "/usr/python ended before it was ready; is it a CPython from 3.8 on?"),
        (b"?", "/usr/python ended before it was ready; is it a CPython from 3.8 on?"),
    ],
)
def test_one_that_does_not_get_ready_says_why(answer: bytes, why: str):
    for said in (launch.why_not_ready(answer, "/usr/python"), _raised(answer)):
        assert (type(said), str(said)) == (StartError, why)


def _raised(answer: bytes) -> StartError:
    with pytest.raises(StartError) as info:
        launch.read_ready(answer, "/usr/python")
    return info.value


def waiting(group: int | None = None) -> int:
    """A child, in that process group (0: one of its own), that ends by itself when this process does."""
    process = subprocess.Popen(
        [sys.executable, "-Sc", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        preexec_fn=None if group is None else lambda: os.setpgid(0, group),
    )
    process.returncode = 0  # whoever ends it takes its status
    _PIPES.append(process.stdin)
    return process.pid


_PIPES: list[object] = []


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_child_is_ended_and_its_status_taken():
    one, other = waiting(), waiting()
    assert launch.cpu_ns(one) >= 0
    launch.end(one)
    assert (is_there(one), is_there(other), launch.cpu_ns(one)) == (False, True, 0)
    launch.end(one)
    launch.end(other)
    assert not is_there(other)


def test_a_group_is_ended_with_all_children_in_it():
    leader = waiting(0)
    member, other = waiting(leader), waiting()
    launch.end_group(leader)
    assert [is_there(each) for each in (leader, member, other)] == [False, False, True]
    launch.end_group(leader)
    launch.end(other)


def test_what_this_process_has_used_is_told_of_no_other():
    assert launch.cpu_ns(os.getpid()) > 0
    assert launch.cpu_ns(0) == 0
