"""Files for users: whole or not at all, whatever the disk does."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.base.files import whole_binary_file, whole_file
from dalembert.errors import DalembertError


@contextmanager
def full_disk() -> Iterator[None]:
    """Within it the system refuses to write files of more than 100 bytes."""
    old, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, ignored)


def write_text(path: Path) -> None:
    with whole_file(path, overwrite=True) as file:
        for k in range(10_000):
            file.write(f"{k}\n")


def write_run(path: Path) -> None:
    da.simulate(da.load("pendulum"), [0.1], None, None, 0.01).save(path, overwrite=True)


def write_figure(path: Path) -> None:
    from matplotlib.figure import Figure

    from dalembert.views.cli.options import save_plot as save

    save(Figure(), str(path), force=True)


WRITERS: dict[str, Callable[[Path], None]] = {
    "table.txt": write_text,
    "arm.toml": lambda path: da.load("pendulum").save(path),
    "arm.urdf": lambda path: da.load("pendulum").save(path),
    "run.npz": write_run,
    "run.csv": write_run,
    "figure.png": write_figure,
    "figure.pdf": write_figure,
    "motion.csv": lambda path: da.polynomial([0.0], [1.0], duration=1.0).save(path, overwrite=True),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_one_sentence_and_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)  # where there is room; all is compiled then
    path.write_bytes(b"precious")
    sentence = (
        rf"^{re.escape(str(path))}: the file cannot be written \(File too large\); write to another disk, or raise"
    )
    with full_disk(), pytest.raises(DalembertError, match=sentence):
        WRITERS[name](path)
    assert path.read_bytes() == b"precious"
    assert os.listdir(tmp_path) == [name]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux's device that is always full")
def test_no_space_left_names_the_file() -> None:
    with pytest.raises(
        DalembertError, match=r"^/dev/full: the file cannot be written \(No space left on device\); free some space"
    ):
        write_text(Path("/dev/full"))


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_is_ordinary_and_alone(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_an_error_of_another_file_is_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="elsewhere"), whole_file(tmp_path / "a.txt", overwrite=True):
        Path("/elsewhere/b.txt").read_text()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["half\ud800.csv", "zero\0.csv"])
def test_a_name_that_no_file_can_have_is_one_sentence(name: str, tmp_path: Path) -> None:
    motion = da.polynomial([0.0], [1.0], 1.0)
    with pytest.raises(DalembertError, match="this is not a valid file name") as raised:
        motion.save(tmp_path / name)
    assert name not in str(raised.value)  # shown so that any terminal can print it


def test_long_names_in_any_script(tmp_path: Path) -> None:
    name = "軸" * 80 + ".txt"  # 244 bytes of the 255 that a name may have
    with whole_binary_file(tmp_path / name, overwrite=False) as file:
        file.write(b"x")
    assert os.listdir(tmp_path) == [name]


KILLED = """
import os, signal, sys
from dalembert.base.files import whole_file
with whole_file(sys.argv[1], overwrite=True) as file:
    file.write("half")
    file.flush()
    print("ready", flush=True)
    sys.stdin.read() if sys.argv[2] == "waits" else os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_writer_left_goes_and_a_living_one_stays(tmp_path: Path) -> None:
    """Of the same file only, and of nobody else's."""
    path = tmp_path / "a.txt"
    subprocess.run([sys.executable, "-c", KILLED, str(path), "dies"], check=False, capture_output=True)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".a.txt.") and left.suffix == ".part"
    living = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert living.stdout is not None and living.stdout.readline() == "ready\n"
    others = [tmp_path / ".b.txt.x1.part", tmp_path / ".a.txt.x1.backup"]
    for other in others:
        other.write_text("not ours")
    for file in tmp_path.iterdir():
        os.utime(file, (time.time() - 3600,) * 2)
    write_text(path)
    remaining = {p for p in tmp_path.iterdir() if p.suffix == ".part"}
    assert left not in remaining
    assert len(remaining) == 2 and others[0] in remaining
    living.communicate("")
    assert living.returncode == 0
    assert path.read_text() == "half"
    assert {p.name for p in tmp_path.iterdir()} == {"a.txt", ".b.txt.x1.part", ".a.txt.x1.backup"}


def test_saved_run_can_be_loaded(tmp_path: Path) -> None:
    write_run(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as data:
        assert data["q"].shape == (11, 1)
