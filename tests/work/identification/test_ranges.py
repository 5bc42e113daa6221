"""A run that leaves the range of the training data is told of, by validation, evaluation and prediction; others are not."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import dalembert as da
from test_identification import motion, with_friction


@cache
def arm() -> da.Arm:
    return with_friction("planar-2r")


def log(
    pace: float = 1.0, size: float = 0.4, shift: tuple[float, float] = (0.0, 0.0), seed: int = 3
) -> dict[str, np.ndarray]:
    """The same motion at another pace, of another size, elsewhere."""
    t, q, qd, qdd = motion(2, seed=seed)
    q, qd, qdd = size * q + shift, size * pace * qd, size * pace**2 * qdd
    return {"t": t / pace, "q": q, "qd": qd, "tau": np.asarray(arm().inverse_dynamics(q, qd, qdd))}


@cache
def fit() -> da.Identification:  # type: ignore[name-defined]
    return da.identify(arm(), log(), cutoff=8.0, selection=False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"pace": 2.5},
            r"moves at up to .* rad/s, and the training run at up to .* rad/s: friction there is extrapolated",
        ),
        (
            {"shift": (2.5, 0.0)},
            r"joint 'joint1' goes from .* to .* rad, and the training run from .* to .* rad: everything that",
        ),
        ({"size": 1.6}, r"and at 1 more joint\)"),
        ({"pace": 0.8}, ""),
        ({"size": 0.35}, ""),
        ({}, ""),
    ],
)
def test_a_run_outside_the_range_is_told(change: dict[str, float], words: str) -> None:
    other = log(**change)  # type: ignore[arg-type]
    told = fit().evaluate(other).notes
    assert len(told) <= 2
    if not words:
        assert told == ()
        with warnings.catch_warnings():
            warnings.simplefilter("error", da.IdentificationWarning)
            fit().predict(other)
        return
    assert any(np.char.count(told, "training run") == 1)
    with pytest.warns(da.IdentificationWarning, match=words):
        judged = da.identify(arm(), log(), other, cutoff=8.0, selection=False)
    assert set(judged.validation[0].notes) <= set(judged.warnings)
    with pytest.warns(da.IdentificationWarning, match="training run"):
        fit().predict({name: other[name] for name in ("t", "q", "qd")})


def test_other_motions_of_the_same_kind_are_not_told_of() -> None:
    """Two halves of a motion, and one held out of it: all joints within the range, or nearly."""
    assert not any(
        "training run" in words
        for words in da.identify(arm(), log(), cutoff=8.0, hold_out=0.3, selection=False).warnings
    )
