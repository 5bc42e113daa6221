"""Known-truth gates of identification, on simulated robots: ``make soak-identification``.

(a) ``da.identify(arm, log)`` with defaults chooses the true structure of at least 95 % of the robots;
(b) with the true structure pinned, ±2σ covers 93 to 97 % of the true base parameters.

``python tests/soak_identification/run.py 0.05`` takes a few minutes on two cores; 1 is a thousand robots. The table is
printed and written to out/soak_identification. The exit status is 1 where a gate fails.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "identification")]

import dalembert as da  # noqa: E402
from simulated import simulated  # noqa: E402

OUT = HERE.parents[1] / "out" / "soak_identification"
ROBOTS = 1000  # at scale 1
CHOSEN = 0.95  # the least share of robots whose true structure is chosen
COVERED = (0.93, 0.97)  # of the true parameters, by ±2σ
FEWEST = 10  # robots
GATES = ("coverage", "structure")


@dataclass(frozen=True)
class RobotResult:
    """What one robot says: its geometry, z-scores by the kind of parameter, ratios of bootstrap and formula, wrong laws."""

    seed: int
    arm: str
    z: tuple[tuple[str, float], ...] = ()
    ratios: tuple[float, ...] = ()
    wrong: tuple[str, ...] | None = None
    lag: float = 0.0


def coverage(seed: int) -> RobotResult:
    """Gate (b) on one robot: defaults, but the true structure pinned."""
    robot = simulated(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = da.identify(robot.arm, robot.log, selection=False, **robot.options)
    known = np.isfinite(fit.std) & (fit.std > 0)
    z = ((fit.parameters - robot.true_values(fit.base)) / fit.std)[known]
    names = [name.partition("_")[0] for name, use in zip(fit.names, known, strict=True) if use]
    ratios = np.sqrt(np.diag(fit.bootstrap()))[known] / fit.std[known]
    lag = fit.lag - robot.errors["torque lag"]
    return RobotResult(
        seed, robot.arm.name, tuple(zip(names, z.tolist(), strict=True)), tuple(ratios.tolist()), None, lag
    )


def structure(seed: int) -> RobotResult:
    """Gate (a) on one robot: nothing is given."""
    robot = simulated(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = da.identify(robot.arm, robot.log)
    if fit.selection is None:
        return RobotResult(seed, robot.arm.name, wrong=("nothing was chosen",))
    return RobotResult(
        seed, robot.arm.name, wrong=tuple(robot.differences(fit.selection.structure, fit.selection.drives))
    )


RUN = {"coverage": coverage, "structure": structure}


def results(gate: str, seeds: Sequence[int], workers: int) -> Iterator[RobotResult]:
    """Every robot's result as it comes, with the progress on the terminal."""
    start, failed = time.monotonic(), 0
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        tasks = [pool.submit(RUN[gate], seed) for seed in seeds]
        for done, task in enumerate(as_completed(tasks), 1):
            result = task.result()
            failed += bool(result.wrong)
            left = (time.monotonic() - start) / done * (len(seeds) - done)
            told = f", {failed} wrong" if gate == "structure" else ""
            end = "\n" if done == len(seeds) else ""
            print(f"\r{gate}: {done} of {len(seeds)} robots{told}, {left:.0f} s left   ", end=end, flush=True)
            yield result


def coverage_table(rows: list[RobotResult]) -> tuple[list[str], bool]:
    """Lines of the table, and whether gate (b) holds."""
    scores = [score for row in rows for score in row.z]
    z = np.array([value for _, value in scores])
    ratios = np.concatenate([row.ratios for row in rows])
    covered = float(np.mean(np.abs(z) < 2))
    lag = 1e3 * float(np.sqrt(np.mean([row.lag**2 for row in rows])))
    lines = [
        f"±2σ covers {100 * covered:.2f} % of {len(z)} parameters of {len(rows)} robots (gate: 93 to 97 %)",
        f"root mean square of error/σ {np.sqrt(np.mean(z**2)):.3f}, median {np.median(np.abs(z)):.3f} (normal: 1, 0.674)",
        f"bootstrap/formula: median {np.median(ratios):.3f}, 1 % {np.quantile(ratios, 0.01):.2f}, 99 % "
        f"{np.quantile(ratios, 0.99):.2f}, all within {ratios.min():.2f} and {ratios.max():.2f}",
        f"lag of the torques: root mean square error {lag:.2f} ms",
    ]
    for title, label in (
        ("kind", dict.fromkeys(kind for kind, _ in scores)),
        ("arm", dict.fromkeys(x.arm for x in rows)),
    ):
        for name in label:
            mine = [v for row in rows for k, v in row.z if name == (k if title == "kind" else row.arm)]
            lines.append(f"  {title} {name:10s} {100 * np.mean(np.abs(mine) < 2):6.2f} % of {len(mine)}")
    return lines, COVERED[0] <= covered <= COVERED[1]


def structure_table(rows: list[RobotResult]) -> tuple[list[str], bool]:
    """Lines of the table, and whether gate (a) holds."""
    right = float(np.mean([not row.wrong for row in rows]))
    counts = Counter(word.rpartition(" ")[2] for row in rows for word in row.wrong or ())
    lines = [f"the true structure is chosen for {100 * right:.2f} % of {len(rows)} robots (gate: at least 95 %)"]
    lines += [f"  {word:12s} {count}" for word, count in counts.most_common()]
    wrong = sorted((row for row in rows if row.wrong), key=lambda row: row.seed)
    lines += [f"  seed {row.seed} ({row.arm}): {', '.join(row.wrong or ())}" for row in wrong]
    return lines, right >= CHOSEN


TABLES = {"coverage": coverage_table, "structure": structure_table}


def main() -> int:
    """Run the gates, print and write their tables, and say whether they hold."""
    reading = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    reading.add_argument("scale", type=float, nargs="?", default=1.0, help=f"1 is {ROBOTS} robots")
    reading.add_argument("--workers", type=int, default=2, help="processes at a time")
    reading.add_argument("--gate", choices=GATES, action="append", help="this gate alone")
    reading.add_argument("--first", type=int, default=0, help="the first seed")
    given = reading.parse_args()
    if not 0 < given.scale <= 1000:
        reading.error("scale must be a positive number, such as 0.05 or 1")
    seeds = range(given.first, given.first + max(FEWEST, round(ROBOTS * given.scale)))
    OUT.mkdir(parents=True, exist_ok=True)
    failed = []
    for gate in given.gate or GATES:
        lines, holds = TABLES[gate](list(results(gate, seeds, given.workers)))
        text = "\n".join([f"{gate}: {'holds' if holds else 'FAILS'}", *lines])
        print(text + "\n", flush=True)
        (OUT / f"{gate}.txt").write_text(text + "\n")
        failed += [] if holds else [gate]
    print(f"{' and '.join(failed)} failed" if failed else "all gates hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
