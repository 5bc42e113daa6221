"""The fuzzing of ``make soak``, in small: every target works, judges, and takes some damaged inputs."""

from __future__ import annotations

import json
import random
import re
import signal
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dalembert.errors import DalembertError
from fuzz import judging
from fuzz.judging import Finding, Judge
from fuzz.mutation import mutated
from fuzz.targets import TARGETS, Target
from trust import long_runs as soak

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="memory is measured as Linux tells it"
)
INPUTS = 15  # of each target


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A judge sets filters, a signal and the cache for a process of its own."""
    for name in ("DALEMBERT_CACHE", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    handler = signal.getsignal(signal.SIGPROF)
    with warnings.catch_warnings():
        yield
    signal.signal(signal.SIGPROF, handler)


@pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])
def test_damaged_inputs_are_read_or_refused(tmp_path: Path, target: Target) -> None:
    judge = Judge(target, tmp_path)
    assert judge.seeds and all(judge(seed) == "" for seed in judge.seeds), "a seed is refused"
    chance = random.Random(target.name)
    answers = {
        judge(mutated(chance, chance.choice(judge.seeds), judge.seeds, target.words, 1 << 14)) for _ in range(INPUTS)
    }
    assert judge.inputs == len(judge.seeds) + INPUTS
    assert any(answers) or target.suffix in (".o", ".secret"), "nothing was refused"


def raised(error: BaseException) -> Target:
    def entry(path: Path) -> None:
        if path.read_bytes():
            raise error

    return Target("x", ".x", lambda folder: [b""], entry)


def hold(path: Path) -> None:
    path.read_bytes() and bytearray(600 << 20).extend(b"x")


def work(path: Path) -> None:
    sum(range(10**7 if path.read_bytes() else 0))


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        (raised(KeyError("a")), "KeyError"),
        (raised(RuntimeWarning("overflow")), "RuntimeWarning: 'overflow'"),
        (raised(DalembertError("")), "no sentence of one line"),
        (raised(RecursionError()), "RecursionError"),
        (replace(raised(OSError()), entry=hold), "at most 500 MB are allowed"),
        (replace(raised(OSError()), entry=work), "at most 0.03 s are allowed"),
    ],
    ids=["error", "warning", "sentence", "recursion", "memory", "time"],
)
def test_the_judge_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: Target, sentence: str) -> None:
    monkeypatch.setattr(judging, "SECONDS", 0.03 if target.entry is work else 10.0)
    judge = Judge(target, tmp_path)
    assert judge(b"") == ""
    with pytest.raises(Finding, match=sentence):
        judge(b"x")


@pytest.mark.parametrize(
    ("code", "sentence"),
    [(-11, r"ends with status -11 \(Segmentation fault\)"), (None, "hangs"), (1, "KeyError"), (0, None)],
)
def test_a_target_that_ends_badly_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int | None, sentence: str | None
) -> None:
    def run(command: list[str], log: Path, seconds: float) -> int | None:
        log.write_text("cov: 3\ncov: 5\nSegmentation fault")
        (log.parent / "input.urdf").write_bytes(b"<robot/>")
        if code in (0, 1):
            finding = "KeyError" if code else None
            (log.parent / "result.json").write_text(json.dumps({"inputs": 7, "seconds": 1.0, "finding": finding}))
        return code

    monkeypatch.setattr(soak, "OUT", tmp_path)
    monkeypatch.setattr(soak, "run", run)
    row = soak.fuzz_reader("urdf", ".urdf", 1.0, "atheris")
    assert (row["coverage"], row["new"]) == (5, 2)
    if sentence is None:
        assert row["finding"] is None and row["inputs"] == 7
    else:
        assert re.search(sentence, row["finding"]) and row["kept"].read_bytes() == b"<robot/>"


def test_a_target_runs_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "OUT", tmp_path)
    row = soak.fuzz_reader("limits .txt", ".txt", 0.3, "random")
    assert row["finding"] is None and row["inputs"] > 0, row
