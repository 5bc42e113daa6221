"""The cache on disk: never trusted blindly, never in the way."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dalembert.kernel import cache

PROGRAM = """
import sys, numpy as np, dalembert as da
from dalembert.kernel import compile
made = []
real = compile.object_code
compile.object_code = lambda ir: made.append(1) or real(ir)
x = np.linspace(-1, 1, 12).reshape(6, 2)
tau = da.load("planar-2r").inverse_dynamics(x, x, x)
print(len(made), repr(float(tau.sum())))
"""


@pytest.fixture()
def home(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "DALEMBERT_CACHE": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }


def run(env: dict[str, str]) -> tuple[int, str]:
    """(how many kernels had to be compiled, the result)"""
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made, result = done.stdout.split()
    return int(made), result


def objects(env: dict[str, str]) -> list[Path]:
    return sorted(Path(env["DALEMBERT_CACHE"]).glob("*.o"))


def test_second_process_does_not_compile(home: dict[str, str]) -> None:
    first = run(home)
    assert first[0] == 1
    assert run(home) == (0, first[1])


def test_the_folder_is_private(home: dict[str, str]) -> None:
    run(home)
    assert stat.S_IMODE(Path(home["DALEMBERT_CACHE"]).stat().st_mode) == 0o700
    assert stat.S_IMODE(objects(home)[0].stat().st_mode) == 0o600
    Path(home["DALEMBERT_CACHE"]).chmod(0o755)
    objects(home)[0].unlink()
    run(home)
    assert stat.S_IMODE(Path(home["DALEMBERT_CACHE"]).stat().st_mode) == 0o700


def test_default_folder_follows_the_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DALEMBERT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "dalembert"


def spoiled(content: bytes) -> dict[str, bytes]:
    other = bytearray(content)
    other[-200] ^= 1
    head = bytearray(content)
    head[len(cache.MAGIC) + 3] ^= 1
    return {
        "empty": b"",
        "truncated": content[: len(content) // 2],
        "one byte short": content[:-1],
        "one bit flipped": bytes(other),
        "signature flipped": bytes(head),
        "not ours": b"\x7fELF" + content,
        "no signature": content[len(cache.MAGIC) + 32 :],
        "longer": content + b"\0",
    }


@pytest.mark.parametrize("kind", list(spoiled(bytes(500))))
def test_spoiled_files_are_compiled_again(home: dict[str, str], kind: str) -> None:
    _, result = run(home)
    (path,) = objects(home)
    path.write_bytes(spoiled(path.read_bytes())[kind])
    assert run(home) == (1, result)
    assert run(home) == (0, result)  # and repaired on disk


def test_a_file_of_another_key_is_foreign(home: dict[str, str]) -> None:
    _, result = run(home)
    (path,) = objects(home)
    other = {**home}
    program = PROGRAM.replace("planar-2r", "cartesian-2")
    subprocess.run([sys.executable, "-c", program], env=other, check=True, capture_output=True)
    (foreign,) = (p for p in objects(home) if p != path)
    path.write_bytes(foreign.read_bytes())
    assert run(home) == (1, result)


def test_a_file_of_another_user_is_foreign(home: dict[str, str], tmp_path: Path) -> None:
    """Signed with another secret: right in every byte, but not by us."""
    _, result = run(home)
    assert run({**home, "XDG_STATE_HOME": str(tmp_path / "somebody")}) == (1, result)


def test_links_and_writable_files_are_not_trusted(home: dict[str, str], tmp_path: Path) -> None:
    _, result = run(home)
    (path,) = objects(home)
    path.chmod(0o666)
    assert run(home) == (1, result)
    real = tmp_path / "elsewhere.o"
    path.rename(real)
    path.symlink_to(real)
    assert run(home)[0] == 1
    assert not path.is_symlink()


def test_a_cache_that_cannot_be_written_is_done_without(home: dict[str, str], tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert run({**home, "DALEMBERT_CACHE": str(blocked / "sub")})[0] == 1
    assert run({**home, "XDG_STATE_HOME": str(blocked / "sub")})[0] == 1


def test_ten_processes_at_once(home: dict[str, str]) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM], env=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(10)
    ]
    results = [p.communicate() for p in running]
    assert all(p.returncode == 0 for p in running), [r[1] for r in results]
    assert len({r[0].split()[1] for r in results}) == 1
    assert len(objects(home)) == 1
    assert not list(Path(home["DALEMBERT_CACHE"]).glob(".new-*"))
    assert run(home)[0] == 0


def test_processes_racing_with_a_vandal(home: dict[str, str]) -> None:
    """While files are torn to pieces again and again, every process still gets the right torques."""
    _, result = run(home)
    (path,) = objects(home)
    whole = path.read_bytes()
    running = []
    for k in range(8):
        path.write_bytes(whole[: 100 + 500 * k])
        running.append(subprocess.Popen([sys.executable, "-c", PROGRAM], env=home, stdout=subprocess.PIPE, text=True))
    for p in running:
        out, _ = p.communicate()
        assert p.returncode == 0
        assert out.split()[1] == result
