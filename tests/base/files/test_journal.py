"""Runs that are resumed: the same bits, whatever ended them, and nothing that is not this user's own is read."""

from __future__ import annotations

import multiprocessing
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.base.files import journal
from dalembert.base.files import resumable_runs as runs
from dalembert.base.files.digest import digest_of
from dalembert.base.files.journal import MAGIC, Journal, resumable
from dalembert.errors import DalembertError


class Interrupted(BaseException):
    """What ends a run in these tests."""


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of the journals, which is empty."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(runs, "unfinished_journals", set())
    return tmp_path / "state" / "dalembert" / "runs"


def work(done: int, told: list[str] | None = None, computed: list[int] | None = None, key: Any = 1) -> list[float]:
    """A run of five steps, which is interrupted after some of them."""
    results: list[float] = []
    with resumable(True if told is None else told.append, "work", key) as run:
        for k in range(5):
            if k == done:
                raise Interrupted

            def compute(k: int = k) -> dict[str, Any]:
                if computed is not None:
                    computed.append(k)
                time.sleep(1e-4)
                return {"x": np.full((2, 3), 0.1 * k), "score": 1.0 / (k + 3), "words": ["a", None]}

            step = run.step("step", compute)
            results += [*step["x"].ravel().tolist(), step["score"], len(step["words"])]
    return results


def test_a_run_goes_on_where_it_stopped_with_the_same_bits(state: Path) -> None:
    told: list[str] = []
    computed: list[int] = []
    for done in (2, 4):
        with pytest.raises(Interrupted):
            work(done, told, computed)
    (left,) = state.iterdir()
    assert runs.unfinished_journals == {left} and [run.path for run in runs.unfinished_runs()] == [left]
    assert work(9, told, computed) == work(9, key=2)
    assert computed == [0, 1, 2, 3, 4]
    assert [x.partition(" at ")[0] for x in told] == 2 * ["resuming the work that was interrupted"]
    assert [x.rpartition("; ")[2] for x in told] == ["2 steps were already completed", "4 steps were already completed"]
    assert list(state.iterdir()) == [] and runs.unfinished_journals == set()


def test_other_inputs_are_another_run(state: Path) -> None:
    told: list[str] = []
    with pytest.raises(Interrupted):
        work(3, told, key=np.array([1.0, 2.0]))
    work(9, told, key=np.array([1.0, 2.0000000000000004]))
    assert told == [] and len(list(state.iterdir())) == 1


def test_a_run_without_a_finished_step_leaves_nothing(state: Path) -> None:
    with pytest.raises(Interrupted):
        work(0)
    assert list(state.iterdir()) == []


def test_the_journal_is_private(state: Path) -> None:
    with pytest.raises(Interrupted):
        work(1)
    (left,) = state.iterdir()
    assert stat.S_IMODE(left.stat().st_mode) == 0o600 and stat.S_IMODE(state.stat().st_mode) == 0o700


SPOILED: dict[
    str, tuple[Callable[[bytes], bytes], int]
] = {  # what becomes of the file, and how many steps are left of three
    "a step cut short": (lambda x: x[:-1], 2),
    "garbage behind": (lambda x: x + bytes(100), 3),
    "a bit of the last step": (lambda x: x[:-5] + bytes([x[-5] ^ 1]) + x[-4:], 2),
    "a bit of the first step": (lambda x: x[:80] + bytes([x[80] ^ 1]) + x[81:], 0),
    "an endless step": (lambda x: MAGIC + b"\xff" * 8 + x[len(MAGIC) + 8 :], 0),
    "another kind of file": (lambda x: b"\x80\x04\x95" + x, 0),
    "empty": (lambda x: b"", 0),
}


@pytest.mark.parametrize("kind", SPOILED)
def test_what_is_damaged_is_computed_again(state: Path, kind: str) -> None:
    with pytest.raises(Interrupted):
        work(3)
    (left,) = state.iterdir()
    spoil, whole = SPOILED[kind]
    left.write_bytes(spoil(left.read_bytes()))
    computed: list[int] = []
    assert work(9, computed=computed) == work(9, key=2)
    assert computed == list(range(whole, 5))


FOREIGN: dict[str, Callable[[Path], object]] = {
    "writable by others": lambda path: path.chmod(0o606),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a link": lambda path: path.symlink_to(path.rename(path.with_name("other"))),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_journal_that_others_can_write_is_not_read(state: Path, kind: str) -> None:
    with pytest.raises(Interrupted):
        work(3)
    (left,) = state.iterdir()
    FOREIGN[kind](left)
    computed: list[int] = []
    work(9, computed=computed)
    assert computed == list(range(5))


def test_a_disk_that_is_full_costs_the_journal_and_not_the_run(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: Any, data: memoryview) -> None:
        file.write(data[:10])
        raise OSError(28, "No space left on device")

    told: list[str] = []
    with pytest.raises(Interrupted):
        work(2, told)
    with monkeypatch.context() as patch:
        patch.setattr(journal, "write_all", full)
        with pytest.raises(Interrupted):
            work(4, told)
    assert told[1:] == [
        "further results cannot be stored for resuming the run (No space left on device)",
    ]
    computed: list[int] = []
    assert work(9, computed=computed) == work(9, key=2)
    assert computed == [2, 3, 4]


def test_a_folder_that_cannot_be_made_costs_the_journal_and_not_the_run(state: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file in its place")
    told: list[str] = []
    assert len(work(9, told)) == 40
    assert len(told) == 1 and "this run cannot be resumed if it is interrupted: " in told[0]


def test_a_run_that_is_under_way_elsewhere_is_left_alone(state: Path) -> None:
    told: list[str] = []
    with pytest.raises(Interrupted), resumable(True, "work", 1) as run:
        run.step("step", lambda: {"x": 1.0})
        code = (
            "from dalembert.base.files.journal import resumable\n"
            "from dalembert.base.files.resumable_runs import clear\n"
            "with resumable(print, 'work', 1) as run: print(run.file, clear())"
        )
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert said.splitlines() == [
            "the same run is in progress in another process; this one starts from the beginning and cannot be resumed",
            "None 0",
        ]
        raise Interrupted
    with resumable(told.append, "work", 1) as run:
        assert run.has("step")


def test_journals_are_forgotten_after_a_month(state: Path) -> None:
    for key in (1, 2):
        with pytest.raises(Interrupted):
            work(2, key=key)
    old, young = state.iterdir()
    os.utime(old, (time.time() - 1.01 * runs.FORGOTTEN,) * 2)
    work(9, key=3)
    assert list(state.iterdir()) == [young]
    assert runs.clear() == 1 and list(state.iterdir()) == []


def test_results_that_cannot_be_written_are_not_lost(state: Path) -> None:
    with pytest.raises(Interrupted), runs.kept_until_written():
        work(9)
        raise Interrupted  # while its results are written
    assert len(runs.unfinished_journals) == 1
    computed: list[int] = []
    with runs.kept_until_written():
        work(9, computed=computed)
        assert len(list(state.iterdir())) == 1
    assert computed == [] and list(state.iterdir()) == []


def test_parts_of_a_run_have_steps_of_their_own(state: Path) -> None:
    def run(limit: int, computed: list[str]) -> None:
        with resumable(True, "parts") as journal:
            for part in ("a", "b"):
                with journal.within(part):
                    for k in range(2):
                        if len(computed) == limit:
                            raise Interrupted
                        journal.step("step", lambda part=part, k=k: computed.append(f"{part}{k}") or {"k": k})  # type: ignore

    done: list[str] = []
    with pytest.raises(Interrupted):
        run(3, done)
    again: list[str] = []
    run(9, again)
    assert (done, again) == (["a0", "a1", "b0"], ["b1"])


def test_digests_tell_values_apart_and_not_processes() -> None:
    arm = da.load("planar-2r")
    values: list[Any] = [None, 0, 0.0, -0.0, False, "0", b"0", [0], [[0]], {}, {"a": 1}, {1: "a"}, {1, 2}, np.zeros(2)]
    values += [np.zeros(2, np.float32), np.zeros((2, 1)), ["ab"], ["a", "b"], arm, arm.with_payload(1.0), Path("0")]
    digests = [digest_of(value) for value in values]
    assert len(set(digests)) == len(values)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(digest_of, values[:-1]) == digests[:-1]
    with pytest.raises(DalembertError, match=r"a function has no digest.*omit resume"):
        digest_of(lambda: 0)


# -- the runs of the library -----------------------------------------------------------------------------


def interrupted_after(count: int) -> Callable[..., None]:
    """A function for ``progress`` that interrupts after so many calls."""
    calls = 0

    def progress(*_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > count:
            raise Interrupted

    return progress


def test_a_monte_carlo_study_is_resumed_with_the_same_bits(state: Path) -> None:
    arm, motion = da.load("planar-2r"), da.triangular([0.1, 0.2], [0.6, -0.3], duration=1.0)
    within = {"mass": 0.1, "com": 0.01, "payload": (0.0, 5.0)}
    told: list[str] = []
    for count in (1, 3):
        with pytest.raises(Interrupted):
            da.monte_carlo(arm, motion, within, 1500, progress=interrupted_after(count), resume=told.append)
    resumed = da.monte_carlo(arm, motion, within, 1500, resume=told.append)
    whole = da.monte_carlo(arm, motion, within, 1500)
    for name in ("peak", "rms", "drawn"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))
    assert [x.rpartition("; ")[2] for x in told] == ["2 steps were already completed", "4 steps were already completed"]
    assert list(state.iterdir()) == []


def test_an_excitation_search_is_resumed_with_the_same_bits(state: Path) -> None:
    arm = da.load("pendulum")

    def search(**more: Any) -> da.Excitation:
        return da.excite(arm, duration=10.0, harmonics=2, clearance=None, starts=2, **more)

    def stopping_after(share: float) -> Callable[[float, float], None]:
        def progress(fraction: float, best: float) -> None:
            if fraction > share:
                raise Interrupted

        return progress

    whole, told = search(), list[str]()
    for share in (0.3, 0.6):
        with pytest.raises(Interrupted):
            search(progress=stopping_after(share), resume=told.append)
    resumed = search(resume=told.append)
    np.testing.assert_array_equal(resumed.coefficients, whole.coefficients)
    assert (resumed.history, resumed.condition, len(told)) == (whole.history, whole.condition, 2)
    assert list(state.iterdir()) == []


def test_a_search_that_ctrl_c_ends_goes_on(state: Path) -> None:
    def stop(fraction: float, best: float) -> None:
        if fraction > 0.5:
            raise KeyboardInterrupt

    arm, told = da.load("pendulum"), list[str]()
    few: dict[str, Any] = {"duration": 10.0, "harmonics": 2, "clearance": None, "starts": 2}
    early = da.excite(arm, **few, progress=stop, resume=True)
    resumed, whole = da.excite(arm, **few, resume=told.append), da.excite(arm, **few)
    assert early.interrupted and not resumed.interrupted and len(told) == 1
    np.testing.assert_array_equal(resumed.coefficients, whole.coefficients)


def test_an_identification_is_resumed_with_the_same_bits(state: Path) -> None:
    """Selection, estimators and folds; interrupted in each of them."""
    arm, t = da.load("planar-2r"), np.arange(0, 12, 0.01)
    motion = da.fourier([[[0.5, 0.3], [0.2, -0.4]], [[0.2, 0.4], [-0.3, 0.1]]], 0.25, duration=12.0)
    q, qd, qdd = motion(t)
    tau = arm.inverse_dynamics(q, qd, qdd) + np.random.default_rng(1).normal(0, 2.0, q.shape) + 30.0 * np.tanh(qd / 0.1)
    log = {"t": t, "q": q, "qd": qd, "tau": tau}

    def fit(**more: Any) -> da.Identification:
        return da.identify(arm, log, folds=2, **more)

    def stopping_in(words: str, share: float) -> Callable[[str, float], None]:
        def progress(stage: str, fraction: float) -> None:
            if stage == words and fraction > share:
                raise Interrupted

        return progress

    whole, told = fit(), list[str]()
    for words, share in (("selection", 0.1), ("estimators", 0.3), ("fold 2 of 2", 0.4)):
        with pytest.raises(Interrupted):
            fit(progress=stopping_in(words, share), resume=told.append)
    resumed = fit(resume=told.append)
    assert len(told) == 3 and list(state.iterdir()) == []
    np.testing.assert_array_equal(resumed.parameters, whole.parameters)
    np.testing.assert_array_equal(resumed.std, whole.std)
    assert resumed.selection is not None and whole.selection is not None
    assert resumed.selection.as_json() == whole.selection.as_json()
    assert resumed.folds is not None and whole.folds is not None
    assert resumed.folds.written() == whole.folds.written()
    np.testing.assert_array_equal(resumed.folds.parameters, whole.folds.parameters)


def test_nothing_is_kept_unless_asked_for(state: Path) -> None:
    arm, motion = da.load("pendulum"), da.triangular([0.1], [0.6], duration=1.0)
    with pytest.raises(Interrupted):
        da.monte_carlo(arm, motion, {"mass": 0.1}, 1500, progress=interrupted_after(2))
    assert not state.exists()
    assert Journal().step("x", lambda: {"a": 1}) == {"a": 1}


def test_resume_is_true_false_or_a_function() -> None:
    arm, motion = da.load("pendulum"), da.triangular([0.1], [0.6], duration=1.0)
    with pytest.raises(
        da.DalembertError, match="resume is 'yes'; it must be True, False or a function that takes a sentence"
    ):
        da.monte_carlo(arm, motion, {"mass": 0.1}, 100, resume="yes")  # type: ignore[arg-type]
