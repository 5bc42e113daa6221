"""Defaults against options: the torque error of identify on data that the fit has not seen, for every shared log.

Every log of ../shared/data/logs is divided into a part for the fit and a part that is held back, or another run is held
back. The error is ‖τ − τ̂‖/‖τ‖ of the prediction up to ten times the bandwidth of the motion, the same for all options,
and without any filter. A difference counts if it exceeds 3 % and the standard error of a paired bootstrap over blocks of
the held-back part.

--write writes benchmarks/identification_defaults.md; --quick tries single options only.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.io import loadmat
from scipy.signal import butter, sosfiltfilt

import dalembert as da
from dalembert.work.logs.log import read_log
from sidebyside import table

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[1] / "shared" / "data"
GAINS = np.array([10.0, 10.6956, 8.4566, 9.0029, 9.48, 10.1232])  # N m/A of the UR10e
BLOCKS, DRAWS = 20, 400  # of the bootstrap
WORTH = 0.03  # relative improvement that counts
Log = dict[str, Any]


class Case(NamedTuple):
    """An arm, the log of the fit, and the data held back."""

    name: str
    arm: da.Arm
    train: Log
    held: Log


def options(arm: da.Arm) -> dict[str, Log]:
    """What users usually try, by name."""
    return {
        "cutoff=5": {"cutoff": 5.0}, "sigmoid": {"sigmoid": True}, "stribeck": {"stribeck": True}, "load": {"terms": ["load"]},
        "two_sided": {"two_sided": True}, "offset": {"offset": True}, "balance=[2]": {"balance": [min(2, arm.n)]},
        "physical": {"physical": True}, "prior": {"prior": arm}, "ordinary": {"method": "ordinary"},
        "robust": {"method": "robust"}, "selection=False": {"selection": False},
    }  # fmt: skip


PAIRED = ("cutoff=5", "sigmoid", "stribeck", "load", "balance=[2]", "physical", "selection=False")


def stored(name: str) -> Log:
    return dict(np.load(SHARED / "logs" / f"{name}.npz"))


def model(name: str) -> da.Arm:
    return da.load(SHARED / "models" / name, physical="warn")


def part(log: Log, low: float, high: float) -> Log:
    n = len(log["t"])
    return {key: log[key][int(low * n) : int(high * n)] for key in ("t", "q", "qd", "tau") if key in log}


def cases() -> Iterator[Case]:
    """Every shared log; of a single run, the last or the first 30 % are held back."""
    whole: dict[str, tuple[da.Arm, Log]] = {
        "panda": (model("panda_arm.urdf"), stored("panda_gaz")),
        "UR10": (model("ur10.urdf"), stored("ur10_unisa")),
        "TX40": (model("tx40.urdf"), stored("tx40")),
    }
    kuka = da.load("kr300")
    names = {"q": "q_mot", "qd": "qd_mot", "tau": "tau_motor"}
    run = read_log(SHARED / "logs" / "kr300_A.npz", kuka, columns=names, motor_side=["tau"])
    whole["KR300"] = (kuka, {"t": run.t, "q": run.q, "qd": run.qd, "tau": run.tau})
    emps = {
        key: np.atleast_2d(x).reshape(-1, 1)
        for key, x in loadmat(SHARED / "logs" / "emps.mat").items()
        if key[0] != "_"
    }
    axis = da.from_dh([{"type": "prismatic", "mass": 50.0}], gravity=(0.0, -9.81, 0.0))
    loaded = stored("ur10e_identification_20_02_19_14harm50secLoad")
    whole["UR10e with load"] = (model("ur10e.urdf"), {**loaded, "tau": loaded["current"] * GAINS})
    whole["EMPS"] = (axis, {"t": emps["t"][:, 0], "q": emps["qm"], "tau": emps["vir"] * emps["gtau"][0, 0]})
    for name, (arm, log) in whole.items():
        yield Case(f"{name}, last 30 %", arm, part(log, 0.0, 0.7), part(log, 0.7, 1.0))
        yield Case(f"{name}, first 30 %", arm, part(log, 0.3, 1.0), part(log, 0.0, 0.3))
    runs = [stored(f"ur10e_identification_20_02_{x}") for x in ("12_50sec_12harm", "12_40sec_12harm", "19_14harm50sec")]
    logs = [{"t": x["t"], "q": x["q"], "qd": x["qd"], "tau": x["current"] * GAINS} for x in runs]
    arm = model("ur10e.urdf")
    for i, j in ((0, 1), (1, 0), (2, 0)):
        yield Case(f"UR10e, run {i + 1} on run {j + 1}", arm, logs[i], logs[j])


def judged(case: Case, fit: da.Identification, band: float) -> tuple[np.ndarray, float]:
    """(squares of error and torque in the band per block (BLOCKS, 2), relative error without a filter)."""
    t, tau, predicted = case.held["t"], case.held["tau"], np.asarray(fit.predict(case.held))
    use = np.isfinite(predicted).all(axis=1)
    raw = np.linalg.norm((tau - predicted)[use]) / np.linalg.norm(tau[use])
    rate, edge = 1.0 / float(np.median(np.diff(t))), max(20, len(t) // 50)
    sos = butter(4, min(band, 0.45 * rate), fs=rate, output="sos")
    smooth = [sosfiltfilt(sos, x[use], axis=0)[edge:-edge] for x in (tau - predicted, tau)]
    sums = [[np.sum(x**2) for x in np.array_split(y, BLOCKS)] for y in smooth]
    return np.array(sums).T, float(raw)


def improvement(default: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """The relative reduction of the error by an option, and its standard error by a paired bootstrap of blocks."""

    def gain(rows: Any) -> float:
        return 1.0 - float(np.sqrt(other[rows, 0].sum() / default[rows, 0].sum()))

    rng = np.random.default_rng(0)
    return gain(slice(None)), float(np.std([gain(rng.integers(BLOCKS, size=BLOCKS)) for _ in range(DRAWS)]))


def tried(case: Case, pairs: bool) -> tuple[list[tuple[str, ...]], list[str]]:
    """The rows of a case, and the options that beat the default."""
    known = options(case.arm)
    choices = {"default": {}} | known
    if pairs:
        choices |= {f"{a}, {b}": {**known[a], **known[b]} for a, b in combinations(PAIRED, 2)}
    rows, better, first, band = [], [], np.zeros(0), 0.0
    for name, how in choices.items():
        try:
            fit = da.identify(case.arm, case.train, **how)
        except da.DalembertError as problem:
            rows.append((case.name, name, "–", "–", str(problem)[:60]))
            continue
        band = band or fit.band
        squares, raw = judged(case, fit, band)
        first = squares if name == "default" else first
        gain, spread = improvement(first, squares)
        error = float(np.sqrt(squares[:, 0].sum() / squares[:, 1].sum()))
        if gain > WORTH + spread:
            better.append(f"{case.name}: {name} reduces {100 * gain:.1f} ± {100 * spread:.1f} %")
        how_much = "" if name == "default" else f"{-100 * gain:+.1f} ± {100 * spread:.1f} %"
        rows.append((case.name, name, f"{100 * error:.2f}", f"{100 * raw:.2f}", how_much))
    return rows, better


def main(wanted: Callable[[str], bool]) -> int:
    """Every case; exit status 1 if an option beats the default."""
    warnings.simplefilter("ignore")
    head, rows, better = ("log", "option", "error in band, %", "unfiltered, %", "difference"), [], []
    for case in cases():
        if wanted(case.name):
            own, mine = tried(case, "--quick" not in sys.argv)
            table(case.name, own, head)
            rows += own
            better += mine
    print(*(better or ["no option beats the default"]), sep="\n")
    if "--write" in sys.argv:
        verdict = [f"- {sentence}" for sentence in better] or ["No option beats the default."]
        text = [
            "# Defaults of identify against options",
            "",
            *(__doc__ or "").split("\n\n")[1].splitlines(),
            "",
            *verdict,
            "",
        ]
        text += [
            "| " + " | ".join(head) + " |",
            "|---|---|---:|---:|---:|",
            *("| " + " | ".join(row) + " |" for row in rows),
        ]
        (HERE / "identification_defaults.md").write_text(
            "\n".join([*text, "", "Written by `benchmarks/identification_defaults.py --write`.", ""])
        )
    return int(bool(better))


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if not word.startswith("-")]
    sys.exit(main(lambda name: not given or any(word in name for word in given)))
