"""Files that are written: whole or not at all, never in the place of a device, nothing left of a killed run."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from cruxbox import files, reading
from cruxbox.building.rows import write_records
from cruxbox.cli import main
from cruxbox.errors import DataError
from cruxbox.files import OutputFile, check_output, output_file, write_text
from cruxbox.journal import Journal, open_alone


def parts(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".part")]


def test_a_device_is_written_not_replaced():
    before = os.stat("/dev/null")
    write_text("/dev/null", "gone")
    write_records("/dev/null", [{"a": 1}])
    after = os.stat("/dev/null")
    assert (after.st_ino, after.st_rdev, stat.S_ISCHR(after.st_mode)) == (before.st_ino, before.st_rdev, True)
    assert not parts(Path("/dev"))


def test_an_output_may_be_a_device_that_is_read_too():
    check_output(Path("/dev/null"), Path("/dev/null"))
    with pytest.raises(DataError, match="would overwrite a file it is made from"):
        check_output(Path(__file__), Path(__file__))


def test_why_an_output_cannot_be_written_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_asked: False)
    for flag, why in ((0, "Permission denied"), (os.ST_RDONLY, "Read-only file system")):
        facts = os.statvfs(tmp_path)
        told = os.statvfs_result((*facts[:8], flag, facts[9]))
        monkeypatch.setattr(os, "statvfs", lambda _place, told=told: told)
        with pytest.raises(DataError, match=f"out: cannot be written: {why}"):
            check_output(tmp_path / "out")
        (tmp_path / "there").touch()
        with pytest.raises(DataError, match=f"there: cannot be written: {why}"):
            write_text(tmp_path / "there", "text")


def test_every_command_writes_a_device_in_place(tmp_path, capsys):
    (tmp_path / "raw.json").write_text('{"a": ["f(1)"]}')
    (tmp_path / "data.jsonl").write_text('{"code": "def f(x): return x", "input": "1", "output": "1", "id": "a"}\n')
    before = os.stat("/dev/null").st_ino
    lines = [
        f"extract input {tmp_path}/raw.json --out /dev/null",
        f"prompts input {tmp_path}/data.jsonl --out /dev/null",
        f"sample {tmp_path}/data.jsonl --n 1 --out /dev/null",
        f"anonymize {tmp_path}/data.jsonl --no-verify --out /dev/null",
    ]
    for line in lines:
        assert main(line.split()) == 0, capsys.readouterr().err
    assert main(f"filter {tmp_path}/data.jsonl --out /dev/null".split()) == 2
    assert "/dev/null: is not a regular file" in capsys.readouterr().err
    assert os.stat("/dev/null").st_ino == before


def test_a_pipe_is_written_in_place(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_text(tmp_path / "pipe", "through")
    reader.join()
    assert got == ["through"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_pipe_without_a_path_is_written_by_its_descriptor():
    """As /dev/stdout and `>(...)` of the shell name one: where the link leads, no name does."""
    reader, writer = os.pipe()
    name = Path(f"/dev/fd/{writer}")
    check_output(name)
    write_text(name, "told")
    os.close(writer)
    with open(reader, "rb") as told:
        assert told.read() == b"told"


def test_a_link_into_a_folder_that_is_missing_is_told_so(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere" / "x")
    with pytest.raises(DataError, match=r"link: cannot be written: .*nowhere is not a folder"):
        check_output(link)


def test_a_link_is_followed_and_the_mode_is_kept(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640


def test_what_fails_leaves_the_old_file_and_no_part(tmp_path):
    (tmp_path / "out").write_text("old")

    def rows():
        yield {"a": 1}
        raise RuntimeError("on the way")

    with pytest.raises(RuntimeError):
        write_records(tmp_path / "out", rows())
    assert (tmp_path / "out").read_text() == "old"
    assert not parts(tmp_path)


def test_a_part_of_a_killed_run_is_swept_and_that_of_a_living_one_is_not(tmp_path):
    script = (
        "import sys, time; from cruxbox.files import OutputFile; f = OutputFile(sys.argv[1]); print(); time.sleep(60)"
    )
    run = subprocess.Popen([sys.executable, "-u", "-c", script, tmp_path / "out"], stdout=subprocess.PIPE)
    run.stdout.readline()
    (theirs,) = parts(tmp_path)
    with output_file(tmp_path / "out") as mine:
        assert len(parts(tmp_path)) == 2
        mine.write_text("first")
    assert parts(tmp_path) == [theirs]
    run.send_signal(signal.SIGKILL)
    run.wait()
    write_text(tmp_path / "out", "second")
    assert not parts(tmp_path)
    assert (tmp_path / "out").read_text() == "second"


def test_a_part_that_is_swept_before_it_is_locked_is_made_anew(tmp_path, monkeypatch):
    made = []

    def make(**options):
        found = really(**options)
        made.append(found[1])
        if len(made) == 1:
            files._sweep(tmp_path, "out")  # another run with the same output begins just now
        return found

    really = tempfile.mkstemp
    monkeypatch.setattr(tempfile, "mkstemp", make)
    with output_file(tmp_path / "out") as mine:
        files._sweep(tmp_path, "out")
        mine.write_text("mine")
    assert len(made) == 2
    assert (tmp_path / "out").read_text() == "mine"
    assert not parts(tmp_path)


def test_a_journal_that_is_removed_before_it_is_locked_is_made_anew(tmp_path, monkeypatch):
    ended = [Journal(tmp_path / "journal", print, "a cache")]
    really = fcntl.flock

    def lock(file, how):
        if ended:
            ended.pop().remove()  # another run with the same journal ends just now
        really(file, how)

    monkeypatch.setattr(fcntl, "flock", lock)
    mine = Journal(tmp_path / "journal", print, "a cache")
    mine.add(1)
    mine.close()
    assert (tmp_path / "journal").read_text() == "1\n"


@pytest.mark.parametrize("content", [b"precious", b"", b'{"at": 1}\n'])
def test_a_journal_is_no_link_to_what_is_somebody_s(tmp_path, content):
    """Nobody has given its name: what the link led to was cut and written over."""
    precious, link = tmp_path / "precious", tmp_path / "out.partial"
    precious.write_bytes(content)
    link.symlink_to(precious)
    with pytest.raises(
        DataError, match=r"out\.partial: is a link, where a file of this run's own has to be; remove it$"
    ):
        Journal(link, print, "the journal of a run")
    assert precious.read_bytes() == content
    link.unlink()
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(DataError, match="is a link"):
        open_alone(link)


def test_a_file_that_somebody_has_named_may_be_a_link(tmp_path):
    link = tmp_path / "cache"
    link.symlink_to(tmp_path / "disk")
    Journal(link, print, "a cache", links=True).add({"a": 1})
    assert (tmp_path / "disk").read_text() == '{"a": 1}\n'
    link.unlink()
    link.symlink_to("/dev/zero")
    with pytest.raises(DataError, match=r"cache: is no regular file; remove it$"):
        Journal(link, print, "a cache", links=True)


def test_a_journal_is_a_regular_file(tmp_path):
    os.mkfifo(tmp_path / "out.partial")
    with pytest.raises(DataError, match="is no regular file"):
        Journal(tmp_path / "out.partial", print, "the journal of a run")


def test_what_is_no_journal_is_not_cut(tmp_path, monkeypatch):
    path = tmp_path / "out.partial"
    for content in (b"an essay without an end of line", b"12"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"line 1: is no line of the journal of a run; remove the file$"):
            Journal(path, print, "the journal of a run")
        assert path.read_bytes() == content
    path.write_bytes(b'{"iden')  # a kill has cut that short
    Journal(path, print, "the journal of a run").close()
    assert path.read_bytes() == b""
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 8)
    path.write_bytes(b'{"identity": 1}')
    with pytest.raises(DataError, match="line 1: is longer than"):
        Journal(path, print, "the journal of a run")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("", "is a folder"), ("no/out", "No such file"), ("a\0b", "is no name"), ("\ud800", "is no name")],
)
def test_what_cannot_be_written_is_one_sentence(tmp_path, name, sentence):
    with pytest.raises(DataError, match=sentence):
        OutputFile(f"{tmp_path}/{name}")


def test_text_that_no_file_can_hold_is_escaped(tmp_path):
    write_text(tmp_path / "out", "a\ud800")
    assert (tmp_path / "out").read_text() == "a\\ud800"
