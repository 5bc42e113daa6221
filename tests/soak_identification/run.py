"""Known-truth gates of identification, on simulated robots: ``make soak-identification``.

(a) ``da.identify(arm, log)`` with defaults chooses the true structure of at least 95 % of the robots;
(b) with the true structure pinned, ±2σ covers 93 to 97 % of the true base parameters;
(c) no usual option reduces the mean error of the torques of another motion by more than 3 % and its standard error;
(d) from positions and commands of a servo with known gains, ±2σ covers at least 93 % of the true base parameters.

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
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import butter, sosfiltfilt

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import dalembert as da  # noqa: E402
from simulated_robots import simulated  # noqa: E402

OUT = HERE.parents[1] / "out" / "soak_identification"
ROBOTS = 1000  # at scale 1
CHOSEN = 0.95  # the least share of robots whose true structure is chosen
COVERED = (0.93, 0.97)  # of the true parameters, by ±2σ
FEWEST = 10  # robots
WORTH = 0.03  # reduction of the held-out error by an option that counts
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {}, "cutoff=5": {"cutoff": 5.0}, "sigmoid": {"sigmoid": True}, "stribeck": {"stribeck": True},
    "load": {"terms": ["load"]}, "two_sided": {"two_sided": True}, "offset": {"offset": True}, "physical": {"physical": True},
    "ordinary": {"method": "ordinary"}, "robust": {"method": "robust"}, "selection=False": {"selection": False},
    "sigmoid, stribeck": {"sigmoid": True, "stribeck": True}, "cutoff=5, sigmoid": {"cutoff": 5.0, "sigmoid": True},
    "physical, selection=False": {"physical": True, "selection": False},
}  # fmt: skip
GATES = ("coverage", "structure", "defaults", "positions")
BANDWIDTH = (8.0, 20.0)  # rad/s, of the servos of gate (d)
SAMPLED, LOGGED = 1000.0, 250.0  # Hz
GEAR = 100.0
SAG = 0.03  # rad: largest usual error of the positions by friction and gravity


@dataclass(frozen=True)
class RobotResult:
    """What one robot says: its geometry, z-scores by the kind of parameter, ratios of bootstrap and formula, wrong laws, and
    the held-out error with each of OPTIONS (not a number if it is refused)."""

    seed: int
    arm: str
    z: tuple[tuple[str, float], ...] = ()
    ratios: tuple[float, ...] = ()
    wrong: tuple[str, ...] | None = None
    lag: float = 0.0
    errors: tuple[float, ...] = ()


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


def defaults(seed: int) -> RobotResult:
    """Gate (c) on one robot: the relative torque error on its other motion, in the band of the default fit."""
    robot, errors, sos = simulated(seed), [], np.zeros(0)
    rate = 1.0 / float(np.median(np.diff(robot.other["t"])))
    for options in OPTIONS.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                fit = da.identify(robot.arm, robot.log, **options)
            except da.DalembertError:
                errors.append(float("nan"))
                continue
            predicted = np.asarray(fit.predict(robot.other))
        sos = sos if sos.size else butter(4, min(fit.band, 0.45 * rate), fs=rate, output="sos")
        use = np.isfinite(predicted).all(axis=1)
        left, tau = (sosfiltfilt(sos, x[use], axis=0) for x in (robot.other["tau"] - predicted, robot.other["tau"]))
        errors.append(float(np.linalg.norm(left) / np.linalg.norm(tau)))
    return RobotResult(seed, robot.arm.name, errors=tuple(errors))


def positions(seed: int) -> RobotResult:
    """Gate (d) on one robot with viscous and Coulomb friction and rotors: a servo with an encoder, positions alone."""
    robot = simulated(seed, specials=False)
    rng, true = np.random.default_rng([seed, 31]), robot.truth
    B = np.diagonal(true.inertia_matrix(robot.log["q"][::50]), axis1=1, axis2=2).max(axis=0)
    # with gears and rotors, of which the user knows the ratios
    true, known = (
        arm.replace(
            joints=tuple(
                replace(x, rotor=da.Rotor(inertia=share * B[true.joint_names.index(x.name)] / GEAR**2, gear=GEAR))
                if x.name in true.joint_names else x
                for x in arm.robot.joints
            )
        )
        for arm, share in ((true, 0.5), (robot.arm, 0.3))
    )  # fmt: skip
    w, turns = rng.uniform(*BANDWIDTH, true.n), 2 * np.pi / 2.0**21
    load = np.sqrt(np.mean(robot.log["tau"] ** 2, axis=0))
    kp = np.maximum(1.5 * B * w**2, load / SAG)
    kd = 2.0 * rng.uniform(0.5, 1.0, true.n) * np.sqrt(1.5 * B * kp)
    middle, swing = (0.5 * (robot.log["q"].max(axis=0) + s * robot.log["q"].min(axis=0)) for s in (1.0, -1.0))
    waves = 2 * np.pi / 8.0 * np.arange(1, 6)
    a = rng.normal(size=(2, true.n, 5)) / np.arange(1, 6)
    a *= 0.8 * (swing / np.abs(a).sum(axis=(0, 2)))[None, :, None]

    def motion(t: Any) -> Any:
        s, c = np.sin(np.outer(t, waves)), np.cos(np.outer(t, waves))
        qd = (c * waves) @ a[0].T - (s * waves) @ a[1].T
        return middle + s @ a[0].T + c @ a[1].T, qd, -(s * waves**2) @ a[0].T - (c * waves**2) @ a[1].T

    start = motion(np.zeros(1))
    servo, encoder = da.Servo(kp, kd, motion), {"rate": SAMPLED, "encoder": 2**21}
    run = da.simulate(true, start[0][0], start[1][0], servo, 16.0, every=round(SAMPLED / LOGGED), **encoder)
    log = {"t": run.t, "q": turns * np.round(run.q / turns), "command": motion(run.t)[0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = da.identify(known, log, measured="position", controller=da.Servo(kp, kd))
    determined = np.isfinite(fit.std) & (fit.std > 0)
    states = [x[::20] for x in (fit.run.motion["q"], fit.run.motion["qd"], fit.run.motion["qdd"])]
    Y = fit.base.regressor(*states).reshape(-1, fit.base.rank)
    truth = np.linalg.lstsq(Y, true.inverse_dynamics(*states).reshape(-1), rcond=1e-12)[0]
    z = ((fit.parameters - truth) / fit.std)[determined]
    names = [name.partition("_")[0] for name, use in zip(fit.names, determined, strict=True) if use]
    error = fit.closed_loop.relative_error if fit.closed_loop is not None else np.nan
    return RobotResult(seed, robot.arm.name, tuple(zip(names, z.tolist(), strict=True)), errors=(error,))


RUN = {"coverage": coverage, "structure": structure, "defaults": defaults, "positions": positions}


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


def defaults_table(rows: list[RobotResult]) -> tuple[list[str], bool]:
    """Lines of the table, and whether gate (c) holds."""
    errors = np.array([row.errors for row in rows])
    lines, holds = [f"held-out error with defaults: median {100 * np.median(errors[:, 0]):.2f} %"], True
    for name, own in zip(list(OPTIONS)[1:], errors.T[1:], strict=True):
        gains = 1.0 - (own / errors[:, 0])[np.isfinite(own)]
        mean, spread = float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))
        better = mean > WORTH + spread
        holds &= not better
        end = ", better than the default" if better else ""
        lines.append(f"  {name:26s} reduces it by {100 * mean:6.1f} ± {100 * spread:.1f} % of {len(gains)} robots{end}")
    return lines, holds


def positions_table(rows: list[RobotResult]) -> tuple[list[str], bool]:
    """Lines of the table, and whether gate (d) holds."""
    z = np.array([value for row in rows for _, value in row.z])
    covered, errors = float(np.mean(np.abs(z) < 2)), 100 * np.array([row.errors[0] for row in rows])
    lines = [
        f"±2σ covers {100 * covered:.2f} % of {len(z)} parameters of {len(rows)} robots (gate: at least 93 %)",
        f"root mean square of error/σ {np.sqrt(np.mean(z**2)):.3f}, median {np.median(np.abs(z)):.3f}",
        f"unexplained part of the tracking error: median {np.median(errors):.3f} %, largest {errors.max():.3g} %",
    ]
    lines += [
        f"  seed {x.seed} ({x.arm}): {sum(abs(v) > 4 for _, v in x.z)} beyond 4 σ"
        for x in rows
        if any(abs(v) > 4 for _, v in x.z)
    ]
    return lines, covered >= COVERED[0]


TABLES = {
    "coverage": coverage_table,
    "structure": structure_table,
    "defaults": defaults_table,
    "positions": positions_table,
}


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
