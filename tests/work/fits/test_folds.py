"""Cross-validation by folds: every sample is left out once, and the spread between folds is the error of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.work.fits.leave_one_out import cross_validated, run_parts, time_parts
from dalembert.work.logs.log import joined, read_log
from planar_runs import planar, simulated

PLAIN: dict[str, Any] = {"cutoff": 8.0, "selection": False}


@pytest.fixture(scope="module")
def arm() -> da.Arm:
    return planar()


@pytest.mark.parametrize("count", (2, 3, 5, 7))
def test_every_sample_is_left_out_once(arm: da.Arm, count: int) -> None:
    logs = [read_log(simulated(arm, seed, seconds=s), arm) for seed, s in ((0, 10.0), (1, 7.0))]
    back = read_log(simulated(arm, 2, seconds=5.0), arm)
    twice = {name: np.concatenate([getattr(back, name)] * 2) for name in ("t", "q", "qd", "tau")}
    for whole in (logs[0], joined(logs), joined([*logs, read_log(twice, arm)])):
        parts = time_parts(whole, count)
        assert sum(len(left_out) for _, left_out, _ in parts) == len(whole)
        lengths = [len(left_out) for _, left_out, _ in parts]
        assert max(lengths) - min(lengths) <= 2
        for _, left_out, kept in parts:
            assert len(left_out) + len(kept) == len(whole)
            rows = np.concatenate([left_out.q, kept.q])
            assert np.array_equal(np.sort(rows[:, 0]), np.sort(whole.q[:, 0]))
            assert all(np.ptp(np.diff(part.t)) < 1e-9 for part in (*left_out.separate, *kept.separate))  # contiguous


def test_runs_are_left_out_whole(arm: da.Arm) -> None:
    logs = [read_log(simulated(arm, seed, seconds=s), arm) for seed, s in ((0, 10.0), (1, 7.0), (2, 5.0))]
    parts = run_parts(joined(logs))
    assert [len(left_out) for _, left_out, _ in parts] == [1000, 700, 500]
    assert all(np.array_equal(left_out.q, log.q) for (_, left_out, _), log in zip(parts, logs, strict=True))
    with pytest.raises(da.DalembertError, match="there is only one run; give several logs"):
        run_parts(logs[0])


def test_a_fold_is_the_fit_to_the_other_parts(arm: da.Arm) -> None:
    log = simulated(arm)
    fit = da.identify(arm, log, folds=4, **PLAIN)
    assert fit.folds is not None and len(fit.folds) == 4
    _, left_out, kept = time_parts(read_log(log, arm), 4)[1]
    alone = da.identify(arm, kept, **PLAIN)
    fold = fit.folds[1]
    assert np.allclose(fold.parameters, alone.parameters, rtol=1e-9, atol=1e-9)
    assert np.isclose(fold.relative_error, alone.evaluate(left_out).relative_error)
    assert np.isclose(fit.folds.relative_error, np.mean([x.relative_error for x in fit.folds]))
    assert (
        min(x.relative_error for x in fit.folds) <= fit.folds.pooled_error <= max(x.relative_error for x in fit.folds)
    )
    assert np.isclose(np.median(fit.folds.parameter_mean / fit.parameters), 1.0, atol=0.01)


def test_the_spread_between_folds_is_the_standard_deviation_where_the_model_is_right(arm: da.Arm) -> None:
    ratios = []
    for seed in range(2):
        fit = da.identify(arm, simulated(arm, seed, noise=5.0, seconds=40.0), folds=6, **PLAIN)
        assert fit.folds is not None
        ratios.append(fit.folds.ratio)
    assert 0.55 < np.sqrt(np.mean(np.square(ratios))) < 1.5


def test_a_log_that_changes_half_way_is_told(arm: da.Arm) -> None:
    log, worn = simulated(arm, seconds=40.0), planar(viscous=8.0)
    states = [np.gradient(log["qd"], 0.01, axis=0)]
    late = log["t"] > 20
    log["tau"][late] += np.asarray(worn.inverse_dynamics(log["q"], log["qd"], states[0]))[late]
    log["tau"][late] -= np.asarray(arm.inverse_dynamics(log["q"], log["qd"], states[0]))[late]
    fit = da.identify(arm, log, folds=4, **PLAIN)
    assert fit.folds is not None and fit.folds.error_scale is not None
    at = list(fit.names).index("Fv_2")
    assert fit.folds.ratio[at] > 1.5 and fit.record.error_scale is not None
    assert any("times as much as their standard deviations suggest" in s for s in fit.folds.sentences)
    assert fit.record.error_scale[at] > 1.2 and (fit.record.error_scale >= 1).all()


def test_a_parameter_that_some_folds_do_not_have_is_told(arm: da.Arm) -> None:
    """A selection may choose another model in a fold."""
    whole = read_log(simulated(arm), arm)
    fits = iter([{"friction": ("viscous",)}, {}, {}])

    def fit_of(part: Any, step: Any) -> Any:
        step("regressor", 1.0)
        return da.identify(arm, part, **PLAIN, **next(fits))

    told: list[tuple[str, float]] = []
    folds = cross_validated(da.identify(arm, whole, **PLAIN), whole, fit_of, 3, lambda *x: told.append(x))
    assert "some folds chose a model without Fs_1, Fs_2" in " ".join(folds.sentences)
    assert np.isnan(folds.ratio[list(folds.names).index("Fs_1")]) and folds.written()["ratio"].count(None) == 2
    assert told[0] == ("fold 1 of 3", 0.0) and told[-1] == ("fold 3 of 3", 1.0)


@pytest.mark.parametrize("folds", (1, 51, -2, True, "5", 2.5))
def test_folds_that_are_none_are_one_sentence(arm: da.Arm, folds: Any) -> None:
    with pytest.raises(da.DalembertError, match=r"folds is .*; it must be a whole number from 2 to 50, 'runs'"):
        da.identify(arm, simulated(arm), folds=folds, **PLAIN)


def test_parts_that_are_too_short_are_one_sentence(arm: da.Arm) -> None:
    with pytest.raises(
        da.DalembertError, match=r"part 1 of 50 cannot be left out and predicted: .*; or use fewer folds"
    ):
        da.identify(arm, simulated(arm, seconds=10.0), folds=50, **PLAIN)
