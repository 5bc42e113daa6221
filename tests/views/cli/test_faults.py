"""Long commands that something ends: real processes and real signals. Nothing is half-written, and the same command goes on."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from compilers import ELSEWHERE

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
PATIENCE = 300  # s, on a machine that has much else to do; nothing takes as long

# the command, which says so and waits before the step of this number
WAITING = """
import sys, time
from dalembert.base.files.journal import Journal
real, count, chosen = Journal.step, 0, int(sys.argv.pop(1))
def step(self, name, compute):
    global count
    count += 1
    if count == chosen:
        print("waiting", file=sys.stderr, flush=True)
        while True:  # a signal just before a long sleep would be seen after it
            time.sleep(0.05)
    return real(self, name, compute)
Journal.step = step
from dalembert.__main__ import main
main()
"""
LEFT_IN_PEACE = 10**9  # no run has so many steps


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
def env(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}


def journals(env: dict[str, str]) -> list[Path]:
    folder = Path(env["XDG_STATE_HOME"]) / "dalembert" / "runs"
    return list(folder.iterdir()) if folder.is_dir() else []


@contextlib.contextmanager
def started(env: dict[str, str], step: int, *command: object) -> Iterator[subprocess.Popen[str]]:
    """The command, once it waits before a step."""
    with subprocess.Popen(
        [sys.executable, "-c", WAITING, str(step), *map(str, command)],
        env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stderr is not None
            said = ""
            while "waiting" not in said:
                said = process.stderr.readline()
                assert said, "the command ended before this step"
            yield process
        finally:
            process.kill()


def ended(env: dict[str, str], step: int, number: int, *command: object) -> tuple[int, str]:
    """Status and stderr of the command that a signal ends while it waits before a step."""
    with started(env, step, *command) as process:
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE)
    return process.returncode, said


def run(env: dict[str, str], *command: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", WAITING, str(LEFT_IN_PEACE), *map(str, command)]
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=PATIENCE)


EXCITE = ("excite", "pendulum", "--duration", 10, "--harmonics", 2, "--no-floor", "--starts", 2)
SIZE = ("size", "planar-2r", "motion.csv", "--tolerance", "mass=5%", "--samples", 1500, "--json")
KEPT = "note: what was computed so far is kept: the same command resumes the run\n"


def commands(logged: Path) -> dict[str, tuple[object, ...]]:
    """By their names, without the file that they write."""
    return {"excite": EXCITE, "identify": ("identify", "pendulum", logged / "log.npz", "--folds", 2)}


WRITES = {"excite": "-o", "identify": "--json"}
PAUSES = {"excite": (3, 5), "identify": (12, 20)}  # steps before which it stops; candidates follow on seven cut-offs


@pytest.mark.parametrize("name", WRITES)
def test_what_a_signal_ended_is_resumed_with_the_same_bits(
    name: str, logged: Path, env: dict[str, str], tmp_path: Path
) -> None:
    """SIGTERM, then kill -9, and then it ends by itself; what stood at the output stands there until then."""
    work, option = commands(logged)[name], WRITES[name]
    out, whole = tmp_path / "out", tmp_path / "whole"
    out.write_text("precious")
    first, second = PAUSES[name]
    status, said = ended(env, first, signal.SIGTERM, *work, option, out, "--force")
    assert (status, said) == (143, f"error: stopped by SIGTERM; no file is left half-written\n{KEPT}")
    assert len(journals(env)) == 1
    assert ended(env, second, signal.SIGKILL, *work, option, out, "--force")[0] == -signal.SIGKILL
    assert out.read_text() == "precious" and sorted(os.listdir(tmp_path)) == ["out", "state"]
    done = run(env, *work, option, out, "--force")
    assert done.returncode == 0 and done.stderr.count("note: resuming the") == 1, done.stderr
    assert "steps were already completed\n" in done.stderr and journals(env) == []
    again = run(env, *work, option, whole, "--no-resume")
    assert again.returncode == 0 and "resuming" not in again.stderr
    assert whole.read_bytes() == out.read_bytes()


def test_ctrl_c_says_that_the_run_goes_on(logged: Path, env: dict[str, str], tmp_path: Path) -> None:
    work = (*commands(logged)["identify"], "--json", tmp_path / "out.json")
    assert ended(env, 12, signal.SIGINT, *work) == (130, KEPT)
    assert sorted(os.listdir(tmp_path)) == ["state"] and len(journals(env)) == 1


def test_ctrl_c_ends_a_search_with_its_best_motion_which_goes_on(env: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    status, said = ended(env, 4, signal.SIGINT, *EXCITE, "-o", out)
    words = (
        "note: stopped by Ctrl-C: this is the best motion so far; the same command with --force goes on with the search"
    )
    assert status == 0 and words in said and out.read_text().startswith("t,")
    done = run(env, *EXCITE, "-o", out, "--force")
    assert done.returncode == 0 and "; 3 steps were already completed" in done.stderr


def test_a_study_of_tolerances_is_resumed(logged: Path, env: dict[str, str], tmp_path: Path) -> None:
    arm = tmp_path / "arm.toml"
    motor = da.Motor("M", stall_torque=5.0, rated_torque=4.0, rated_speed=300.0, rotor_inertia=4e-4, brake_torque=6.0)
    robot, gear = da.load("planar-2r").robot, da.Gear("G", ratio=80.0)
    joints = [replace(j, rotor=None, motor=motor, gear=gear) if j.moves else j for j in robot.joints]
    da.Arm(robot.replace(joints=tuple(joints))).save(arm)
    work = [arm if word == "planar-2r" else logged / word if word == "motion.csv" else word for word in SIZE]
    status, said = ended(env, 4, signal.SIGTERM, *work)
    assert status == 143 and KEPT in said and "Traceback" not in said
    resumed, whole = run(env, *work), run(env, *work, "--no-resume")
    assert "; 3 steps were already completed" in resumed.stderr and "resuming" not in whole.stderr
    assert resumed.stdout == whole.stdout and json.loads(whole.stdout)["lights_under_tolerances"]


def test_a_report_with_tolerances_is_resumed(logged: Path, env: dict[str, str], tmp_path: Path) -> None:
    out, whole = tmp_path / "out.html", tmp_path / "whole.html"
    work = ("report", "planar-2r", logged / "motion.csv", "--tolerance", "mass=5%", "--date", "2026-01-01")
    status, said = ended(env, 4, signal.SIGTERM, *work, "--out", out)
    assert status == 143 and KEPT in said and not out.exists()
    resumed = run(env, *work, "--out", out)
    assert resumed.returncode == 0 and "; 3 steps were already completed" in resumed.stderr and journals(env) == []
    assert run(env, *work, "--out", whole, "--no-resume").returncode == 0
    assert out.read_bytes() == whole.read_bytes()


def test_no_resume_keeps_nothing(env: dict[str, str], tmp_path: Path) -> None:
    status, said = ended(env, 4, signal.SIGTERM, *EXCITE, "-o", tmp_path / "out.csv", "--no-resume")
    assert (status, said) == (143, "error: stopped by SIGTERM; no file is left half-written\n")
    assert os.listdir(tmp_path) in ([], ["state"]) and journals(env) == []


def test_results_that_cannot_be_written_are_computed_once(logged: Path, env: dict[str, str], tmp_path: Path) -> None:
    """A limit on the size of files is met as a full disk is: the remedy is named, and nothing is computed again."""
    work, out = (*commands(logged)["excite"], "--rate", 10000), tmp_path / "out.csv"
    out.write_text("precious")

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))

    words = [sys.executable, "-m", "dalembert", *map(str, work), "-o", str(out), "--force"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=PATIENCE, preexec_fn=small_disk)
    remedy = "write to another disk, or raise the limit on the size of files with 'ulimit -f'"
    sentence = f"error: {out}: the file cannot be written (File too large); {remedy}\n"
    assert (done.returncode, done.stderr.endswith(sentence + KEPT)) == (2, True), done.stderr
    assert out.read_text() == "precious" and sorted(os.listdir(tmp_path)) == ["out.csv", "state"]
    again = run(env, *work, "-o", out, "--force")
    assert again.returncode == 0 and "; 13 steps were already completed" in again.stderr, again.stderr
    assert journals(env) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux's device that is always full")
def test_no_space_left_names_the_file_and_the_remedy(logged: Path, env: dict[str, str]) -> None:
    done = run(env, *EXCITE, "-o", "/dev/full")
    sentence = "error: /dev/full: the file cannot be written (No space left on device); free some space there, or write to another disk\n"
    assert done.returncode == 2 and done.stderr.endswith(sentence + KEPT) and "Traceback" not in done.stderr


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
    work = (*commands(logged)["excite"], "--rate", 10000)
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
    assert done.stderr.endswith(sentence + KEPT) and "Traceback" not in done.stderr, done.stderr
    assert done.stdout.endswith("status 2; out.csv; precious\n"), done.stdout
    again = run(env, *work, "-o", tmp_path / "out.csv")
    assert again.returncode == 0 and "; 13 steps were already completed" in again.stderr, again.stderr


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
    stopped = "error: stopped by SIGTERM; no file is left half-written\n" if number == signal.SIGTERM else ""
    assert (process.returncode, said) == (status, stopped)
    assert out.read_text() == "precious" and os.listdir(tmp_path) == ["out.csv"]


def test_a_second_sigterm_does_not_interrupt_the_clean_up_after_the_first(logged: Path, tmp_path: Path) -> None:
    command = ["torques", "planar-2r", str(logged / "motion.csv"), "-o", str(tmp_path / "out.csv")]
    with subprocess.Popen([sys.executable, "-c", HALF_WRITTEN, *command], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None and process.stderr.readline() == "waiting\n"
        for _ in range(20):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.002)
        said = process.stderr.read()
    assert (process.returncode, said) == (143, "error: stopped by SIGTERM; no file is left half-written\n")
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


def test_the_cache_command_names_unfinished_runs_and_removes_them(env: dict[str, str], tmp_path: Path) -> None:
    ended(env, 4, signal.SIGKILL, *EXCITE, "-o", tmp_path / "out.csv")
    assert "unfinished runs  1, 0.0 MB, which the same commands resume" in run(env, "cache").stdout
    env["DALEMBERT_CACHE"] = str(tmp_path / "objects")  # the kernels of the other tests stay
    assert "1 unfinished runs removed" in run(env, "cache", "--clear").stdout and journals(env) == []
