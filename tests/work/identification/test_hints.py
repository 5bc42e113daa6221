"""What a fit's residuals look like is said for every kind of chain: open, closed, coupled."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import dalembert as da
from arms import CLOSED, COUPLED
from arms import arm as registered
from dalembert.work.identification.fitting.hints import POOR

FITTED = "what was added fits other parameters"  # as friction of a passive joint between two others fits a shared drive
ARMS = ["planar-2r", *CLOSED, *COUPLED]


@cache
def log(name: str) -> dict[str, np.ndarray]:
    """A noisy log near the home pose, of the joints that motors move."""
    a, rng = registered(name), np.random.default_rng(4)
    t = np.arange(0, 20, 0.02)
    q, qd, qdd = da.fourier(rng.normal(0, 0.12, (2, a.n, 4)), 0.1, offset=a.home, duration=20.0)(t)
    tau = np.asarray(a.inverse_dynamics(q, qd, qdd))
    return {"t": t, "q": q, "qd": qd, "tau": tau + 1e-3 * np.abs(tau).mean(axis=0) * rng.normal(size=tau.shape)}


def told(name: str, more: np.ndarray, **asked: object) -> str:
    data = log(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.IdentificationWarning)
        fit = da.identify(registered(name), {**data, "tau": data["tau"] + more}, cutoff=5.0, selection=False, **asked)
    words = " ".join(note for note in fit.notes if "would explain" in note)
    return words or ("" if (fit.run.joint_errors * more.any(axis=0)).max() > POOR else FITTED)


@pytest.mark.parametrize("name", ARMS)
def test_what_is_missing_is_told_and_nothing_else(name: str) -> None:
    """At the first and the last joint that a motor moves; gravity can look like a spring, and then nothing is left to tell of."""
    a, data = registered(name), log(name)
    q, qd, level = data["q"], data["qd"], np.abs(data["tau"]).max(axis=0) + 1.0
    assert told(name, 0 * q) == FITTED
    springs = []
    for j in sorted({0, a.n - 1}):
        unit = np.eye(a.n)[j]
        words = told(name, 20 * level * q[:, [j]] * unit)
        assert words == FITTED or (f"--term {a.joint_names[j]}:spring" in words and "coupling" not in words)
        springs.append(words != FITTED)
        speed = 0.1 * np.abs(qd[:, [j]]).max()
        words = told(name, level * unit * np.sign(qd[:, [j]]) * np.exp(-((qd[:, [j]] / speed) ** 2)))
        assert "stribeck=True" in words or "sigmoid=True" in words
        if j:
            pair = unit + np.eye(a.n)[j - 1]
            words = told(name, level[j] * np.sign(qd @ pair)[:, None] * pair)
            assert words == FITTED or (f"coupling=[({j}, {j + 1})]" in words and "spring" not in words)
    assert any(springs) or name.startswith("parallelogram")  # whose gravity is that of two pendulums


def test_what_was_asked_for_is_not_told() -> None:
    shared = 50 * np.sign(log("five-bar")["qd"].sum(axis=1, keepdims=True)) * np.ones(2)
    assert "coupling" in told("five-bar", shared)
    assert told("five-bar", shared, coupling=[(1, 2)]) == FITTED
