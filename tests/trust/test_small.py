"""The trust checks of ``make soak`` on a few fixed examples."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

from dalembert.compiler.quantities.joints import JOINTS
from dalembert.compiler.quantities.tip import TIP
from trust.check import Check, Outcome, Task
from trust.operational_agree import ELSEWHERE, EXPECTED
from trust.page import page_of, with_later_run
from trust.quantities_agree import IDENTITIES
from trust.registry import BY_NAME, CHECKS

SMALL = [(check, index, amount) for check in CHECKS for index, amount in check.small]
FORKS = ("kill -9", "16 processes", "cache folders")


@pytest.mark.parametrize(
    ("check", "index", "amount"), SMALL, ids=[f"{check.name}, piece {index}" for check, index, _ in SMALL]
)
def test_a_small_piece_of_the_check_keeps_its_bound(check: Check, index: int, amount: float, tmp_path: Path) -> None:
    if check.name in FORKS and sys.platform != "linux":
        pytest.skip("the check starts and limits processes as Linux does")
    outcome = check.run(Task(check.name, 1, index, amount, tmp_path, start=index))
    assert outcome.count > 0 and outcome.lines
    assert outcome.findings == [] and outcome.violations == 0


def test_every_quantity_has_an_identity() -> None:
    assert IDENTITIES.keys() == JOINTS.keys()
    assert {*EXPECTED, *ELSEWHERE} == TIP.keys()


def test_amounts_at_full_scale_are_those_that_are_promised(tmp_path: Path) -> None:
    for name, amount in (("formulations", 100_000), ("quantities", 2_000)):
        tasks = BY_NAME[name].tasks(1.0, 1, tmp_path)
        assert sum(task.amount for task in tasks) == amount
        assert len({task.index for task in tasks}) == len(tasks)
    for check in CHECKS:
        tasks = check.tasks(0.001, 1, tmp_path)
        assert sum(task.amount for task in tasks) == pytest.approx(check.least)


@pytest.mark.parametrize("error", [2e-9, math.nan, math.inf])
def test_an_error_beyond_its_bound_is_a_finding(error: float) -> None:
    outcome, total = Outcome(1e-9), Outcome(1e-9)
    outcome.measure("torques", 1e-12, "robot 1")
    assert outcome.findings == []
    outcome.measure("torques", error, "robot 2")
    total.add(outcome)
    assert total.violations == 1 and "robot 2" in total.findings[0] and total.share > 1


def test_the_page_tells_violations_and_amounts() -> None:
    good, bad = Outcome(1e-9, count=100_000), Outcome(0.0, count=7)
    good.measure("inverse_dynamics, lagrange", 3e-14, "")
    bad.passed("files", "a file is half-written", "kill 3")
    results = {"formulations": (good, 60.0), "kill -9": (bad, 1.0)}
    text = page_of(results, scale=0.25, seed=5, command="make soak SOAK=0.25", seconds=120.0, workers=2)
    assert "SOAK=0.25" in text and "100,000" in text and "3.0e-14" in text
    assert "**violated**" in text and "a file is half-written" in text
    mended = Outcome(0.0, count=9)
    mended.passed("files", None, "")
    later = with_later_run(text, {"kill -9": (mended, 1.0)}, "python tests/soak.py 1 --only kill --replace")
    assert "All 2 checks kept their bounds" in later and "**violated**" not in later and "half-written" not in later
    assert later.count("9 kills") == 1 and "--only kill --replace" in later and "3.0e-14" in later
    idle = page_of({"kill -9": (Outcome(0.0), 0.0)}, scale=1, seed=5, command="", seconds=1.0, workers=2)
    assert "not run" in idle and "kept their bounds" not in idle
