"""Cache folders that are full, read-only, damaged or somebody else's: torques stay right, and at most one sentence is said."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from trust.check import Outcome, Task
from trust.processes import NOBODY, cache_at, started, torques

Spoil = Callable[[Path, np.random.Generator], dict[str, str | None]]


def work(task: Task, outcome: Outcome) -> None:
    """One situation after the other, each in a folder of its own."""
    names = list(SITUATIONS)
    rng = task.rng
    with tempfile.TemporaryDirectory(prefix="folders-", dir=task.folder) as name:
        top = Path(name)
        os.chmod(top, 0o755)
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
    spoil, limit = SITUATIONS[situation]
    with spoil(folder, rng) as env:
        for _ in range(2):
            child = started(
                lambda: _limited(limit), cache_at(folder) | env, unprivileged=env.get("unprivileged") == "yes"
            )
            status, answer = child.answer()
            if status != 0:
                return f"the process ends with status {status}: {answer}"
            if answer["sum"] != expected:
                return f"the torques are {answer['sum']} instead of {expected}"
            if len(answer["said"]) > 1 or any("\n" in line or not line.strip() for line in answer["said"]):
                return f"it says {answer['said']}"
            if situation in SILENT and answer["said"]:
                return f"it says {answer['said']}, although it can repair the folder"
    return None


def _limited(limit: int | None) -> Any:
    """Torques, with files of at most so many bytes."""
    if limit is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return torques()


# -- situations: a context in which a folder is spoiled, and the largest file that may be written -------


def _prepared(folder: Path) -> list[Path]:
    """The kept kernels of a cache that was used once."""
    status, answer = started(torques, cache_at(folder)).answer()
    assert status == 0, answer
    return sorted((folder / "cache" / "dalembert").glob("*.o"))


def _situation(change: Callable[[Path, np.random.Generator], dict[str, str | None] | None]) -> Any:
    @contextmanager
    def spoiled(folder: Path, rng: np.random.Generator) -> Any:
        yield change(folder, rng) or {}

    return spoiled


def _as_they_are(folder: Path, rng: np.random.Generator) -> None:
    pass


def _damaged(damage: Callable[[Path, np.random.Generator], object]) -> Any:
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


def _replaced_by(make: Callable[[Path], object]) -> Any:
    def change(path: Path, rng: np.random.Generator) -> None:
        path.unlink()
        make(path)

    return _damaged(change)


def _huge(path: Path, rng: np.random.Generator) -> None:
    os.truncate(path, 1 << 40)  # takes no room


def _secret(damage: Callable[[Path], object]) -> Any:
    def change(folder: Path, rng: np.random.Generator) -> None:
        _prepared(folder)
        damage(folder / "state" / "dalembert" / "cache-secret")

    return _situation(change)


def _as_nobody(change: Callable[[Path], object]) -> Any:
    """Run by a user who owns nothing, where this one is root; otherwise by this one."""

    def run(folder: Path, rng: np.random.Generator) -> dict[str, str | None]:
        for path in (folder, *folder.rglob("*")):
            if os.getuid() == 0:
                os.chown(path, NOBODY, NOBODY)
        change(folder)
        return {"unprivileged": "yes"}

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


def _linked_to(target: str) -> Any:
    def change(folder: Path, rng: np.random.Generator) -> None:
        shutil.rmtree(folder / "cache")
        (folder / "cache").symlink_to(target.format(folder=folder))
        if target.endswith("elsewhere"):
            (folder / "elsewhere").mkdir()

    return _situation(change)


def _file_instead(folder: Path, rng: np.random.Generator) -> None:
    shutil.rmtree(folder / "cache")
    (folder / "cache").write_text("not a folder")


def _variables(**env: str | None) -> Any:
    return _situation(lambda folder, rng: env)


@contextmanager
def _small_disk(folder: Path, rng: np.random.Generator) -> Any:
    """A disk of 8 kB where this process may mount one; otherwise a disk on which every file is empty."""
    place = folder / "cache"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8k", "trust", str(place)], capture_output=True
    ).returncode == 0 if os.getuid() == 0 else False  # fmt: skip
    try:
        if mounted:
            (place / "filling").write_bytes(bytes(4096))
        yield {} if mounted else {"DALEMBERT_CACHE": "/proc/dalembert"}
    finally:
        if mounted:
            subprocess.run(["umount", str(place)], check=True)


SITUATIONS: dict[str, tuple[Any, int | None]] = {
    "an ordinary folder": (_situation(_as_they_are), None),
    "files of at most 0 bytes": (_situation(_as_they_are), 0),
    "files of at most 100 bytes": (_situation(_as_they_are), 100),
    "files of at most 3 kB": (_situation(_as_they_are), 3000),
    "a disk that is full": (_small_disk, None),
    "a read-only folder": (_as_nobody(_read_only), None),
    "a folder of root": (_as_nobody(_of_root), None),
    "a folder that cannot be entered": (_as_nobody(_unsearchable), None),
    "a folder below a file system that takes no files": (_variables(DALEMBERT_CACHE="/proc/self/cache"), None),
    "a file in place of the folder": (_situation(_file_instead), None),
    "a link to another folder": (_linked_to("{folder}/elsewhere"), None),
    "a link to nowhere": (_linked_to("{folder}/nowhere/at/all"), None),
    "a link to itself": (_linked_to("{folder}/cache"), None),
    "truncated kernels": (_damaged(_truncated), None),
    "kernels with one flipped bit": (_damaged(_flipped), None),
    "kernels of random bytes": (_damaged(_random), None),
    "kernels of 1 TB": (_damaged(_huge), None),
    "a pipe in place of a kernel": (_replaced_by(os.mkfifo), None),
    "a link to /dev/zero in place of a kernel": (_replaced_by(lambda path: path.symlink_to("/dev/zero")), None),
    "a link to /dev/full in place of a kernel": (_replaced_by(lambda path: path.symlink_to("/dev/full")), None),
    "a folder in place of a kernel": (_replaced_by(Path.mkdir), None),
    "a world-writable folder with planted files": (_situation(_world_writable), None),
    "kernels that another user has signed": (_situation(_foreign_signature), None),
    "an empty secret": (_secret(lambda path: path.write_bytes(b"")), None),
    "a secret that others can read": (_secret(lambda path: path.chmod(0o644)), None),
    "a pipe in place of the secret": (_secret(lambda path: (path.unlink(), os.mkfifo(path))), None),
    "a user without a home folder": (
        _variables(HOME=None, XDG_CACHE_HOME=None, XDG_STATE_HOME=None, DALEMBERT_CACHE=None), None,
    ),
    "a cache of 0 MB": (_variables(DALEMBERT_CACHE_SIZE="0"), None),
    "a cache of 1 kB": (_variables(DALEMBERT_CACHE_SIZE="0.001"), None),
}  # fmt: skip
# what the package repairs by itself, without a word
SILENT = {
    "an ordinary folder", "a link to another folder", "truncated kernels", "kernels with one flipped bit",
    "kernels of random bytes", "kernels of 1 TB", "a pipe in place of a kernel",
    "a link to /dev/zero in place of a kernel", "a link to /dev/full in place of a kernel",
    "a world-writable folder with planted files", "kernels that another user has signed", "a cache of 0 MB",
    "a cache of 1 kB",
}  # fmt: skip
