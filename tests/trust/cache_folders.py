"""Cache folders that are full, read-only, damaged or somebody else's: torques stay right, and at most one sentence is said."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from trust.check import Outcome, Task
from trust.processes import NOBODY, cache_at, started, torques

FULL = "a disk that is full"
MOUNT = ("mount", "-t", "tmpfs", "-o", "size=8k", "trust")

Variables = dict[str, str | None]
Spoil = Callable[[Path, np.random.Generator], AbstractContextManager[Variables]]


@dataclass(frozen=True)
class Situation:
    """What happens to a cache.

    spoil         a context in which the folder is spoiled; it gives the variables that are to be set
    largest_file  how many bytes a file may have
    as_nobody     whether the process is that of a user who owns nothing
    silent        whether the package can repair or use the folder, so that it must not say a word
    """

    spoil: Spoil
    largest_file: int | None = None
    as_nobody: bool = False
    silent: bool = False


def work(task: Task, outcome: Outcome) -> None:
    """One situation after the other, each in a folder of its own."""
    rng = task.rng
    with tempfile.TemporaryDirectory(prefix="folders-", dir=task.folder) as name:
        top = Path(name)
        os.chmod(top, 0o755)
        names = [situation for situation in SITUATIONS if situation != FULL or _may_mount(top)]
        if FULL not in names:
            outcome.notes.append("A full disk was not tried, because this user may not mount one.")
        _, right = started(torques, cache_at(top / "right")).answer()
        for number in task.numbers:
            situation = names[number % len(names)]
            where = f"situation {number}, seed {task.seed}"
            problem = tried(situation, top / f"{number}", rng, right["sum"])
            outcome.passed(situation, problem, where)
            outcome.count += 1


def tried(situation: str, folder: Path, rng: np.random.Generator, expected: str) -> str | None:
    """What went wrong in a situation; None where torques are right and at most one line is said about the cache."""
    (folder / "cache" / "dalembert").mkdir(parents=True, mode=0o755)
    (folder / "state" / "dalembert").mkdir(parents=True, mode=0o755)
    case = SITUATIONS[situation]
    with case.spoil(folder, rng) as variables:
        for _ in range(2):
            child = started(partial(_limited, case.largest_file), cache_at(folder) | variables, case.as_nobody)
            status, answer = child.answer()
            if status != 0:
                return f"the process ends with status {status}: {answer}"
            if answer["sum"] != expected:
                return f"the torques are {answer['sum']} instead of {expected}"
            if len(answer["said"]) > 1 or any("\n" in line or not line.strip() for line in answer["said"]):
                return f"it says {answer['said']}"
            if case.silent and answer["said"]:
                return f"it says {answer['said']}, although it can repair the folder"
    return None


def _limited(largest_file: int | None) -> Any:
    """Torques, with files of at most so many bytes."""
    if largest_file is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    return torques()


# -- situations ------------------------------------------------------------------------------------


def _prepared(folder: Path) -> list[Path]:
    """The kept kernels of a cache that was used once."""
    status, answer = started(torques, cache_at(folder)).answer()
    assert status == 0, answer
    return sorted((folder / "cache" / "dalembert").glob("*.o"))


def _situation(change: Callable[[Path, np.random.Generator], Variables | None]) -> Spoil:
    @contextmanager
    def spoiled(folder: Path, rng: np.random.Generator) -> Iterator[Variables]:
        yield change(folder, rng) or {}

    return spoiled


def _as_they_are(folder: Path, rng: np.random.Generator) -> None:
    pass


def _damaged(damage: Callable[[Path, np.random.Generator], object]) -> Spoil:
    """Every kept kernel is damaged."""

    def change(folder: Path, rng: np.random.Generator) -> None:
        for path in _prepared(folder):
            damage(path, rng)

    return _situation(change)


def _truncated(path: Path, rng: np.random.Generator) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(rng.integers(0, len(content)))])


def _flipped(path: Path, rng: np.random.Generator) -> None:
    content = bytearray(path.read_bytes())
    content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    path.write_bytes(content)


def _random(path: Path, rng: np.random.Generator) -> None:
    path.write_bytes(rng.bytes(int(rng.integers(1, 20_000))))


def _replaced_by(make: Callable[[Path], object]) -> Spoil:
    def change(path: Path, rng: np.random.Generator) -> None:
        path.unlink()
        make(path)

    return _damaged(change)


def _huge(path: Path, rng: np.random.Generator) -> None:
    os.truncate(path, 1 << 40)  # takes no room


def _secret(damage: Callable[[Path], object]) -> Spoil:
    def change(folder: Path, rng: np.random.Generator) -> None:
        _prepared(folder)
        damage(folder / "state" / "dalembert" / "cache-secret")

    return _situation(change)


def _owned(change: Callable[[Path], object]) -> Spoil:
    """A folder of the user who runs the process, changed."""

    def run(folder: Path, rng: np.random.Generator) -> None:
        for path in (folder, *folder.rglob("*")):
            if os.getuid() == 0:
                os.chown(path, NOBODY, NOBODY)
        change(folder)

    return _situation(run)


def _read_only(folder: Path) -> None:
    for path in (folder / "cache" / "dalembert", folder / "cache", folder / "state" / "dalembert", folder / "state"):
        path.chmod(0o555)


def _of_root(folder: Path) -> None:
    for path in (folder / "cache" / "dalembert", folder / "cache"):
        if os.getuid() == 0:
            os.chown(path, 0, 0)
        path.chmod(0o755 if os.getuid() == 0 else 0o555)


def _unsearchable(folder: Path) -> None:
    (folder / "cache").chmod(0o000)


def _world_writable(folder: Path, rng: np.random.Generator) -> None:
    """Somebody else has put a file of theirs under the name of every kernel."""
    for path in _prepared(folder):
        path.write_bytes(b"\x7fELF" + path.read_bytes())
        path.chmod(0o666)
        if os.getuid() == 0:
            os.chown(path, NOBODY, NOBODY)
    (folder / "cache" / "dalembert").chmod(0o777)


def _foreign_signature(folder: Path, rng: np.random.Generator) -> None:
    """Kernels that another user has signed, right in every byte."""
    _prepared(folder)
    (folder / "state" / "dalembert" / "cache-secret").unlink()


def _linked_to(target: str) -> Spoil:
    def change(folder: Path, rng: np.random.Generator) -> None:
        shutil.rmtree(folder / "cache")
        (folder / "cache").symlink_to(target.format(folder=folder))
        if target.endswith("elsewhere"):
            (folder / "elsewhere").mkdir()

    return _situation(change)


def _file_instead(folder: Path, rng: np.random.Generator) -> None:
    shutil.rmtree(folder / "cache")
    (folder / "cache").write_text("not a folder")


def _variables(**env: str | None) -> Spoil:
    return _situation(lambda folder, rng: env)


@contextmanager
def _small_disk(folder: Path, rng: np.random.Generator) -> Iterator[Variables]:
    """A disk of two pages in memory, one of them taken."""
    place = folder / "cache"
    subprocess.run([*MOUNT, str(place)], check=True)
    try:
        (place / "filling").write_bytes(bytes(4096))
        yield {}
    finally:
        subprocess.run(["umount", str(place)], check=True)


def _may_mount(folder: Path) -> bool:
    """Whether this user may mount a disk."""
    place = folder / "mounted"
    place.mkdir()
    if os.getuid() != 0 or subprocess.run([*MOUNT, str(place)], capture_output=True).returncode != 0:
        return False
    subprocess.run(["umount", str(place)], check=True)
    return True


SITUATIONS = {
    "an ordinary folder": Situation(_situation(_as_they_are), silent=True),
    "files of at most 0 bytes": Situation(_situation(_as_they_are), largest_file=0),
    "files of at most 100 bytes": Situation(_situation(_as_they_are), largest_file=100),
    "files of at most 3 kB": Situation(_situation(_as_they_are), largest_file=3000),
    FULL: Situation(_small_disk),
    "a read-only folder": Situation(_owned(_read_only), as_nobody=True),
    "a folder of root": Situation(_owned(_of_root), as_nobody=True),
    "a folder that cannot be entered": Situation(_owned(_unsearchable), as_nobody=True),
    "a folder below a file system that takes no files": Situation(_variables(DALEMBERT_CACHE="/proc/self/cache")),
    "a file in place of the folder": Situation(_situation(_file_instead)),
    "a link to another folder": Situation(_linked_to("{folder}/elsewhere"), silent=True),
    "a link to nowhere": Situation(_linked_to("{folder}/nowhere/at/all")),
    "a link to itself": Situation(_linked_to("{folder}/cache")),
    "truncated kernels": Situation(_damaged(_truncated), silent=True),
    "kernels with one flipped bit": Situation(_damaged(_flipped), silent=True),
    "kernels of random bytes": Situation(_damaged(_random), silent=True),
    "kernels of 1 TB": Situation(_damaged(_huge), silent=True),
    "a pipe in place of a kernel": Situation(_replaced_by(os.mkfifo), silent=True),
    "a link to /dev/zero in place of a kernel": Situation(
        _replaced_by(lambda path: path.symlink_to("/dev/zero")), silent=True
    ),
    "a link to /dev/full in place of a kernel": Situation(
        _replaced_by(lambda path: path.symlink_to("/dev/full")), silent=True
    ),
    "a folder in place of a kernel": Situation(_replaced_by(Path.mkdir)),
    "a world-writable folder with planted files": Situation(_situation(_world_writable), silent=True),
    "kernels that another user has signed": Situation(_situation(_foreign_signature), silent=True),
    "an empty secret": Situation(_secret(lambda path: path.write_bytes(b""))),
    "a secret that others can read": Situation(_secret(lambda path: path.chmod(0o644))),
    "a pipe in place of the secret": Situation(_secret(lambda path: (path.unlink(), os.mkfifo(path)))),
    "a user without a home folder": Situation(
        _variables(HOME=None, XDG_CACHE_HOME=None, XDG_STATE_HOME=None, DALEMBERT_CACHE=None)
    ),
    "a cache of 0 MB": Situation(_variables(DALEMBERT_CACHE_SIZE="0"), silent=True),
    "a cache of 1 kB": Situation(_variables(DALEMBERT_CACHE_SIZE="0.001"), silent=True),
}
