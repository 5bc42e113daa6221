"""Long commands that something ends: real processes and real signals. Nothing is half-written."""

from __future__ import annotations

import contextlib
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from compilers import ELSEWHERE

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
PATIENCE = 300  # s, on a machine that has much else to do; nothing takes as long

# the command, which says so and waits when it reports its progress for the time of this number
WAITING = """
import sys, time
from dalembert.base.environment.progress import Bar
count, chosen = 0, int(sys.argv.pop(1))
def report(self, fraction):
    global count
    count += 1
    if count == chosen:
        print("waiting", file=sys.stderr, flush=True)
        while True:  # a signal just before a long sleep would be seen after it
            time.sleep(0.05)
Bar.__call__ = report
from dalembert.__main__ import main
main()
"""
LEFT_IN_PEACE = 10**9  # no run reports so often


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of a pendulum with some friction, and a motion of a two-link arm."""
    folder, arm, t = tmp_path_factory.mktemp("logged"), da.load("pendulum"), np.arange(0, 10, 0.01)
    q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=10.0)(t)
    noise = np.random.default_rng(2).normal(0, 0.02, q.shape)
    np.savez(
        folder / "log.npz", t=t, q=q, qd=qd, tau=arm.inverse_dynamics(q, qd, qdd) + 0.2 * np.tanh(qd / 0.1) + noise
    )
    da.triangular([0.1, 0.2], [0.6, -0.3], duration=1.0).save(folder / "motion.csv")
    return folder


@pytest.fixture
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {**os.environ, "XDG_STATE_HOME": str(tmp_path_factory.mktemp("state"))}


@contextlib.contextmanager
def started(env: dict[str, str], step: int, *command: object) -> Iterator[subprocess.Popen[str]]:
    """The command, once it waits."""
    with subprocess.Popen(
        [sys.executable, "-c", WAITING, str(step), *map(str, command)],
        env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stderr is not None
            said = ""
            while "waiting" not in said:
                said = process.stderr.readline()
                assert said, "the command ended before this report"
            yield process
        finally:
            process.kill()


def ended(env: dict[str, str], step: int, number: int, *command: object) -> tuple[int, str]:
    """Status and stderr of the command that a signal ends while it waits."""
    with started(env, step, *command) as process:
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE)
    return process.returncode, said


def run(env: dict[str, str], *command: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", WAITING, str(LEFT_IN_PEACE), *map(str, command)]
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=PATIENCE)


EXCITE = ("excite", "pendulum", "--duration", 10, "--harmonics", 2, "--no-floor", "--starts", 2)
STOPPED = "error: stopped by SIGTERM; no file is left half-written\n"


def commands(logged: Path) -> dict[str, tuple[object, ...]]:
    """By their names, without the file that they write."""
    identify = ("identify", "pendulum", logged / "log.npz", "--folds", 2)
    report = ("report", "planar-2r", logged / "motion.csv", "--tolerance", "mass=5%", "--date", "2026-01-01")
    return {"excite": EXCITE, "identify": identify, "report": report}


WRITES = {"excite": ("-o", "out.csv"), "identify": ("--json", "out.json"), "report": ("--out", "out.html")}


@pytest.mark.parametrize("name", WRITES)
def test_what_a_signal_ends_leaves_the_old_file(name: str, logged: Path, env: dict[str, str], tmp_path: Path) -> None:
    """SIGTERM, then kill -9: what stood at the output stands there still, and nothing else does."""
    option, file = WRITES[name]
    out = tmp_path / file
    work = (*commands(logged)[name], option, out, "--force")
    out.write_text("precious")
    assert ended(env, 3, signal.SIGTERM, *work) == (143, STOPPED)
    assert ended(env, 3, signal.SIGKILL, *work)[0] == -signal.SIGKILL
    assert out.read_text() == "precious" and os.listdir(tmp_path) == [file]


def test_ctrl_c_ends_an_identification_silently(logged: Path, env: dict[str, str], tmp_path: Path) -> None:
    work = (*commands(logged)["identify"], "--json", tmp_path / "out.json")
    assert ended(env, 12, signal.SIGINT, *work) == (130, "")
    assert os.listdir(tmp_path) == []


def test_ctrl_c_ends_a_search_with_its_best_motion(env: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    status, said = ended(env, 20, signal.SIGINT, *EXCITE, "-o", out)
    assert status == 0 and "note: stopped by Ctrl-C: this is the best motion so far\n" in said
    assert out.read_text().startswith("t,")


def test_resume_is_deprecated(logged: Path, env: dict[str, str], tmp_path: Path) -> None:
    done = run(env, *EXCITE, "-o", tmp_path / "out.csv", "--no-resume")
    assert done.returncode == 0 and "note: --resume and --no-resume have no effect since version 1.1" in done.stderr
    with pytest.warns(DeprecationWarning, match="resume= has no effect since version 1.1"):
        da.identify(da.load("pendulum"), str(logged / "log.npz"), selection=False, resume=True)


def test_a_file_that_is_too_large_is_not_left_half_written(logged: Path, env: dict[str, str], tmp_path: Path) -> None:
    """A limit on the size of files is met as a full disk is: the remedy is named."""
    work, out = (*EXCITE, "--rate", 10000), tmp_path / "out.csv"
    out.write_text("precious")

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))

    words = [sys.executable, "-m", "dalembert", *map(str, work), "-o", str(out), "--force"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=PATIENCE, preexec_fn=small_disk)
    remedy = "write to another disk, or raise the limit on the size of files with 'ulimit -f'"
    sentence = f"error: {out}: the file cannot be written (File too large); {remedy}\n"
    assert (done.returncode, done.stderr.endswith(sentence)) == (2, True), done.stderr
    assert out.read_text() == "precious" and os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux's device that is always full")
def test_no_space_left_names_the_file_and_the_remedy(logged: Path, env: dict[str, str]) -> None:
    done = run(env, *EXCITE, "-o", "/dev/full")
    sentence = "error: /dev/full: the file cannot be written (No space left on device); free some space there, or write to another disk\n"
    assert done.returncode == 2 and done.stderr.endswith(sentence) and "Traceback" not in done.stderr


# a file system of 64 kB that only this process sees; then what is left on it
ON_A_FULL_DISK = """
mount -t tmpfs -o size=64k tmpfs "$1" || exit 99
disk=$1; shift
printf precious > "$disk/out.csv"
"$@" -o "$disk/out.csv" --force
echo "status $?; $(ls -A "$disk"); $(cat "$disk/out.csv")"
"""


def test_a_disk_that_is_really_full(logged: Path, env: dict[str, str], tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    work = (*EXCITE, "--rate", 10000)
    words = [sys.executable, "-m", "dalembert", *map(str, work)]
    script = ["unshare", "--map-root-user", "--mount", "sh", "-c", ON_A_FULL_DISK, "sh", str(disk), *words]
    try:
        done = subprocess.run(script, env=env, capture_output=True, text=True, timeout=PATIENCE)
    except FileNotFoundError:
        pytest.skip(f"{ELSEWHERE} one with unshare")
    if done.returncode == 99 or "unshare failed" in done.stderr:
        pytest.skip(f"{ELSEWHERE} one that mounts a file system in a namespace")
    remedy = "free some space there, or write to another disk"
    sentence = f"error: {disk}/out.csv: the file cannot be written (No space left on device); {remedy}\n"
    assert done.stderr.endswith(sentence) and "Traceback" not in done.stderr, done.stderr
    assert done.stdout.endswith("status 2; out.csv; precious\n"), done.stdout


# the command, which waits when it has written half of its file
HALF_WRITTEN = """
import sys, time
from dalembert.work.trajectory.planning import motion_tables as tables
def write_table(file, *_):
    file.write("t,tau1")
    file.flush()
    print("waiting", file=sys.stderr, flush=True)
    while True:
        time.sleep(0.05)
tables.write_table = write_table
from dalembert.__main__ import main
main()
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_file_that_is_half_written_goes_and_the_old_one_stays(
    number: int, status: int, logged: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    out.write_text("precious")
    command = ["torques", "planar-2r", str(logged / "motion.csv"), "-o", str(out), "--force"]
    with subprocess.Popen([sys.executable, "-c", HALF_WRITTEN, *command], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None and process.stderr.readline() == "waiting\n"
        assert len(os.listdir(tmp_path)) == 2
        process.send_signal(number)
        said = process.stderr.read()
    assert (process.returncode, said) == (status, STOPPED if number == signal.SIGTERM else "")
    assert out.read_text() == "precious" and os.listdir(tmp_path) == ["out.csv"]


def test_a_second_sigterm_does_not_interrupt_the_clean_up_after_the_first(logged: Path, tmp_path: Path) -> None:
    command = ["torques", "planar-2r", str(logged / "motion.csv"), "-o", str(tmp_path / "out.csv")]
    with subprocess.Popen([sys.executable, "-c", HALF_WRITTEN, *command], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None and process.stderr.readline() == "waiting\n"
        for _ in range(20):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.002)
        said = process.stderr.read()
    assert (process.returncode, said) == (143, STOPPED)
    assert os.listdir(tmp_path) == []


def test_a_closed_standard_output_is_no_error(env: dict[str, str], logged: Path) -> None:
    motion = str(logged / "motion.csv")
    for work in (["torques", "planar-2r", motion], ["show", "planar-2r", "--json"], ["couplings", "planar-2r"]):
        line = shlex.join([sys.executable, "-m", "dalembert", *work])
        done = subprocess.run(["sh", "-c", f"{line} >&-"], env=env, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
        assert done.returncode == 0 and "rror" not in done.stderr, (work, done.stderr)


def test_an_ignored_sigterm_stays_ignored() -> None:
    code = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); sys.argv[1:] = ['arms'];"
    code += "import threading; from dalembert.__main__ import main;"
    code += "[threading.Timer(0.1 * k, signal.raise_signal, (signal.SIGTERM,)).start() for k in range(4)]; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and "panda" in done.stdout and done.stderr == ""
