"""Two identifications compared: what changed is found and named, and nothing is where nothing changed."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert.views.cli.main import app
from dalembert.views.report.comparison_page import comparison_section
from dalembert.views.report.identification import folds_section
from dalembert.work.fits.fit_comparison import comparison, friction_torque, holm, mahalanobis
from dalembert.work.fits.fit_record import plain
from planar_runs import planar, simulated

PLAIN: dict[str, Any] = {"cutoff": 8.0, "selection": False}


@cache
def fit(coulomb: float = 4.0, seed: int = 0, **options: Any) -> Any:
    arm = planar(coulomb=coulomb)
    return da.identify(arm, simulated(arm, seed, noise=2.0), **PLAIN, **options)


def drawn(record: Any, rng: np.random.Generator) -> Any:
    """The record of another log of the same arm: parameters that differ by their own covariance."""
    return replace(record, parameters=rng.multivariate_normal(record.parameters, record.covariance, method="eigh"))


def test_a_change_of_friction_is_named_with_its_size() -> None:
    result = fit(6.0, 1).compare(fit())
    assert result.changed and {(x.joint, x.kind) for x in result.changed_groups} == {(1, "friction")}
    assert result.significant == {"Fs_2"}
    (change,) = (x for x in result.parameters if x.name == "Fs_2")
    assert abs(change.difference - 2.0) < 4 * change.std and change.unit == "N m"
    first = result.sentences[0]
    assert first.startswith("friction of joint 'joint2': Coulomb (Fs_2) ") and "N m (+" in first and " σ)" in first
    assert result.former_error is not None and result.former_error > result.after.runs[0].relative_error


def test_a_fit_compared_with_itself_has_not_changed() -> None:
    result = fit().compare(fit())
    assert not result.changed and "nothing changed significantly" in result.sentences[0]
    assert all(x.difference == 0 and x.p == 1 for x in result.parameters)
    assert all(x.distance == 0 for x in result.groups)


def test_comparison_is_antisymmetric() -> None:
    there, back = fit(6.0, 1).compare(fit()), fit().record.compare(fit(6.0, 1).record)
    assert np.allclose([x.z for x in there.parameters], [-x.z for x in back.parameters])
    assert np.allclose([x.distance for x in there.groups], [x.distance for x in back.groups])


def test_false_alarms_are_no_more_frequent_than_the_level() -> None:
    rng, record, count = np.random.default_rng(0), fit().record, 150
    alarms = sum(comparison(drawn(record, rng), drawn(record, rng), level=0.1).changed for _ in range(count))
    assert 3 <= alarms <= 26  # 15 expected at most; four standard deviations


def test_different_laws_are_compared_by_their_torques() -> None:
    gradual = fit(4.0, 2, sigmoid=0.01)
    same = gradual.compare(fit())
    assert not same.changed and {"Fs_2", "Ft_2"} <= set(same.missing)
    assert not any(x.same_law for x in same.friction)
    changed = fit(6.0, 3, sigmoid=0.01).compare(fit())
    assert [x.joint for x in changed.changed_friction] == [1]
    assert any(
        "friction of joint 'joint2': torque at" in s and "different friction laws" in s for s in changed.sentences
    )
    torque, std = friction_torque(gradual.record, 1, np.array([1.0])) or (np.nan, np.nan)
    assert abs(float(torque[0]) - 6.0) < 5 * float(std[0]) + 0.05


def test_an_undetermined_parameter_is_not_compared() -> None:
    record = replace(fit().record, unidentified=("Fv_1",))
    result = comparison(fit(4.0, 1), record)
    assert "Fv_1" in result.missing and all(np.isfinite(x.z) for x in result.parameters)


def test_parameters_that_are_known_exactly_are_compared_without_warnings() -> None:
    record = fit().record
    exact = replace(record, covariance=0 * record.covariance)
    moved = replace(exact, parameters=2 * exact.parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not comparison(exact, exact).changed
        result = comparison(moved, exact)
        json.dumps(plain(result.written()), allow_nan=False)
    assert result.changed and not any("nan" in sentence for sentence in result.sentences)


def test_fits_of_other_arms_are_one_sentence() -> None:
    other = replace(fit().record, joint_names=("a", "b"), tree_joint_names=("a", "b"))
    with pytest.raises(da.DalembertError, match="compare two fits of the same arm"):
        fit().compare(other)
    longer = replace(fit().record, combinations=fit().record.combinations * 1.5)
    with pytest.raises(da.DalembertError, match="have no parameter that both determine; did the geometry"):
        fit().compare(longer)
    with pytest.raises(da.DalembertError, match="level is 2; it must be a probability between 0 and 1"):
        fit().compare(fit(), level=2.0)
    with pytest.raises(da.DalembertError, match="give at least two"):
        da.compare_fits(fit())
    with pytest.raises(da.DalembertError, match="the fit is a float; give an identification"):
        fit().compare(3.0)


def test_a_trend_names_the_step_at_which_something_changed() -> None:
    trend = da.compare_fits(fit(), fit(4.0, 1), fit(6.0, 2))
    assert [step.changed for step in trend.steps] == [False, True]
    assert [x.name for x in trend.changed] == ["Fs_2"]
    assert all(x.values.shape == (3,) for x in trend.parameters)
    assert len(set(trend.labels)) == 3 and any("3: this fit: friction of joint 'joint2'" in s for s in trend.sentences)


def test_folds_widen_the_errors_of_a_comparison() -> None:
    record = fit().record
    wide = replace(record, error_scale=np.full(len(record.names), 3.0))
    narrow, scaled = (comparison(fit(6.0, 1).record, x) for x in (record, wide))
    for a, b in zip(narrow.parameters, scaled.parameters, strict=True):
        assert np.isclose(b.before_std, 3 * a.before_std) and a.after_std == b.after_std


def test_mahalanobis_does_not_depend_on_units_or_on_what_is_known_exactly() -> None:
    rng = np.random.default_rng(1)
    root, d = rng.standard_normal((4, 4)), rng.standard_normal(4)
    covariance, scale = root @ root.T, np.diag([1e-6, 1.0, 1e6, 3.0])
    square, freedom = mahalanobis(d, covariance)
    assert freedom == 4 and np.isclose(square, d @ np.linalg.solve(covariance, d))
    assert np.isclose(mahalanobis(scale @ d, scale @ covariance @ scale)[0], square)
    assert mahalanobis(0 * d, np.zeros((4, 4))) == (0.0, 0) and mahalanobis(d, np.zeros((4, 4))) == (np.inf, 4)


def test_holm_is_monotone_and_at_most_bonferroni() -> None:
    p = np.random.default_rng(2).uniform(size=20).tolist()
    adjusted = holm(p)
    order = np.argsort(p)
    assert np.all(np.diff(np.array(adjusted)[order]) >= 0)
    assert all(x <= y <= min(1.0, 20 * x) + 1e-15 for x, y in zip(p, adjusted, strict=True))
    assert holm([]) == []


def test_sections_of_the_report_say_it_too() -> None:
    after = fit(6.0, 1, folds=3)
    assert after.folds is not None
    page = comparison_section(da.compare_fits(fit(), after)) + folds_section(after, after.folds)
    for words in (
        "Coulomb (Fs_2)",
        "significant change",
        "joint2: changed",
        "Mahalanobis",
        "part 3 of 3",
        "ratio",
    ):
        assert words in page, words


def test_command_compares_and_validates(tmp_path: Path) -> None:
    fit().save(tmp_path / "march.json")
    fit(4.0, 1).save(tmp_path / "april.json")
    arm = planar(coulomb=6.0)
    arm.save(tmp_path / "arm.toml")
    np.savez(tmp_path / "log.npz", **simulated(arm, 2, noise=2.0))
    words = ["identify", str(tmp_path / "arm.toml"), str(tmp_path / "log.npz"), "--cutoff", "8", "--no-selection"]
    former = ["--compare", str(tmp_path / "march.json")]
    run = CliRunner().invoke(app, [*words, *former, "--folds", "3", "--json", str(tmp_path / "may.json")])
    assert run.exit_code == 0, run.output
    assert "Comparison with march" in run.output and "Coulomb (Fs_2)" in run.output
    assert "Cross-validation" in run.output and "part 3 of 3" in run.output
    numbers = json.loads((tmp_path / "may.json").read_text())
    assert numbers["comparisons"][0]["changed"] and len(numbers["folds"]["parts"]) == 3
    assert da.read_fit(tmp_path / "may.json").error_scale is not None
    several = CliRunner().invoke(app, [*words, *former, "--compare", str(tmp_path / "april.json")])
    assert (
        several.exit_code == 0
        and "Comparison with march, april: the " in several.output
        and "most significant of" in several.output
        and "march → april" in several.output
    )
    for more, said in (
        (["--folds", "x"], "--folds is 'x'"),
        (["--folds", "1"], "folds is 1; it must be a whole number from 2 to 50"),
        (["--compare", str(tmp_path / "arm.toml")], "this is not JSON"),
    ):
        wrong = CliRunner().invoke(app, [*words, *more])
        assert wrong.exit_code != 0 and said in wrong.output, wrong.output
