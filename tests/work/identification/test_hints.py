"""What no robot file can hold is said: torques that drift during a log."""

from __future__ import annotations

import warnings

import numpy as np

import dalembert as da
from planar_runs import planar, simulated


def told(drift: float) -> list[str]:
    log = simulated(planar(), seconds=20.0)
    late = drift * np.abs(log["tau"]).max(axis=0) * [0.0, 1.0] * (log["t"] / log["t"][-1])[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.IdentificationWarning)
        fit = da.identify(planar(), {**log, "tau": log["tau"] + late}, selection=False)
    return [note for note in fit.notes if "drift during the log" in note]


def test_a_drift_is_told_where_it_is() -> None:
    assert told(0.0) == []
    (sentence,) = told(0.5)
    assert "% at joint2 (+" in sentence and "joint1" not in sentence and "log the temperatures" in sentence
