"""Records of identifications: what is written is read, and whatever else a file holds is one sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.work.fits.fit_record import FORMAT, FitRecord, as_record, write_json
from planar_runs import planar, simulated

WHOLE = ("parameters", "covariance", "combinations", "noise", "correlation", "speeds", "std", "load_from", "gains")
LISTED = [
    "arm",
    "joint_names",
    "tree_joint_names",
    "prismatic",
    "method",
    "physical",
    "names",
    "formulas",
    "joints",
    "units",
    "standard_names",
    "friction_kinds",
    "two_sided",
    "offset",
    "rotor",
    "terms",
    "drives",
    "tolerance",
    "condition",
    "scaled_condition",
    "rate",
    "cutoff",
    "essential",
    "unidentified",
    "notes",
    "warnings",
    "log_date",
    "software",
]
MODELS: dict[str, dict[str, Any]] = {
    "plain": {},
    "two-sided": {"two_sided": True},
    "shapes": {"stribeck": 0.1, "coupling": [(1, 2)], "balance": [1], "terms": {"harmonic": {"order": 3}}},
    "gradual": {"sigmoid": 0.1, "offset": False, "rotor": False},
    "by joint": {"friction": {1: ("viscous",)}, "two_sided": [2], "offset": [1]},
    "load": {"terms": ["load"]},
    "physical": {"physical": True},
}


def same(a: FitRecord, b: FitRecord) -> None:
    for name in WHOLE:
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None) and (x is None or np.array_equal(x, y, equal_nan=True)), name
    for name in LISTED:
        assert getattr(a, name) == getattr(b, name), name
    for mine, theirs in zip(a.runs, b.runs, strict=True):
        assert mine.name == theirs.name
        for name in ("relative_error", "joint_errors", "rms"):
            assert np.array_equal(getattr(mine, name), getattr(theirs, name), equal_nan=True)


@pytest.fixture(scope="module")
def fits() -> dict[str, Any]:
    arm = planar()
    log = simulated(arm)
    return {name: da.identify(arm, log, cutoff=8.0, selection=False, **options) for name, options in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_read_of_saved_is_identity(name: str, fits: dict[str, Any], tmp_path: Path) -> None:
    fit = fits[name]
    fit.save(tmp_path / "fit.json")
    record = da.read_fit(tmp_path / "fit.json")
    same(record, fit.record)
    assert as_record(tmp_path / "fit.json").names == as_record(fit).names == as_record(record).names
    base = record.base(planar())
    assert base.names == fit.names and np.allclose(base.K, fit.base.K)
    x = np.random.default_rng(0).uniform(-1, 1, (3, 5, 2))
    assert np.allclose(base.regressor(*x) @ record.parameters, fit.torque(*x))


def test_an_arm_that_does_not_match_is_one_sentence(fits: dict[str, Any]) -> None:
    record = fits["plain"].record
    with pytest.raises(da.DalembertError, match=r"with joints .*, and arm 'panda' has"):
        record.base(da.load("panda"))
    longer = da.from_dh([{"a": 1.3, "mass": 1.0}, {"a": 1.0, "mass": 1.0}], gravity=(0, -9.81, 0))
    renamed = longer.replace(joints=tuple(
        replace(joint, name=name) for joint, name in zip(longer.robot.joints, record.joint_names, strict=True)
    ))  # fmt: skip
    with pytest.raises(da.DalembertError, match=r"of another geometry|does not have"):
        record.base(renamed)


def test_infinite_numbers_and_nan_are_null_in_the_file(fits: dict[str, Any], tmp_path: Path) -> None:
    record = fits["plain"].record
    covariance = record.covariance.copy()
    covariance[0] = covariance[:, 0] = np.nan
    run = replace(record.runs[0], relative_error=np.nan, rms=np.array([np.nan, 1.0]))
    odd = replace(record, covariance=covariance, condition=np.inf, runs=(run,), unidentified=record.names[1:2])
    odd.save(tmp_path / "odd.json")
    text = (tmp_path / "odd.json").read_text()
    assert "NaN" not in text and "Infinity" not in text
    back = da.read_fit(tmp_path / "odd.json")
    same(back, odd)
    assert back.std[1] == np.inf


WRONG: dict[str, tuple[str, Any, str]] = {
    "missing": ("noise", ..., "'noise' is missing"),
    "text for a number": ("cutoff", "5", "cutoff .*finite number"),
    "true for a number": ("rate", True, "rate .*finite number"),
    "zero": ("rate", 0, "rate is 0; it must be a number above 0"),
    "too large": ("cutoff", 10**400, "cutoff .*finite number"),
    "too short": ("parameters", [1.0], "parameters .*list of"),
    "null": ("noise", [None, None], "noise contains null"),
    "not square": ("covariance", [[1.0, 2.0]], "covariance .*list of"),
    "no list": ("names", "m_1", "names .*list of strings"),
    "no term": ("terms", [{"joint": 0, "magic": 1.0}], "terms has .*must be one of viscous"),
    "no joint": ("terms", [{"joint": 9, "offset": 1.0}], "terms has joint 9"),
    "a term's number": ("terms", [{"joint": 0, "offset": "x"}], "terms: offset"),
    "no table": ("runs", [3], "runs is .*list of tables"),
    "no run": ("runs", [], "runs is empty"),
    "a drive of three": ("drives", [{"joints": [0, 1, 2], "ratio": 1.0}], "drives has joints"),
    "a stranger": ("essential", ["nobody"], "essential contains 'nobody'"),
    "a later version": ("version", 99, "version is 99, .*update dalembert"),
    "another format": ("format", "other", "older dalembert, without the covariance"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_one_sentence(case: str, fits: dict[str, Any], tmp_path: Path) -> None:
    key, value, words = WRONG[case]
    plain = fits["plain"].record.written()
    if value is ...:
        del plain[key]
    else:
        plain[key] = value
    write_json(tmp_path / "fit.json", plain, overwrite=False)
    with pytest.raises(da.DalembertError, match=f"fit.json: .*{words}") as raised:
        da.read_fit(tmp_path / "fit.json")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "3", "NaN", "[" * 100_000, '{"format": "x"}', "\xff", "null"])
def test_a_file_that_is_no_record_is_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "fit.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(da.DalembertError, match=r"^[^\n]*fit.json: [^\n]*identif[^\n]*$"):
        da.read_fit(tmp_path / "fit.json")


def test_a_covariance_must_be_one(fits: dict[str, Any], tmp_path: Path) -> None:
    record = fits["plain"].record
    skewed = record.covariance.copy()
    skewed[0, 1] += skewed.max()
    replace(record, covariance=skewed).save(tmp_path / "skewed.json")
    replace(record, covariance=-record.covariance).save(tmp_path / "negative.json")
    for name in ("skewed", "negative"):
        with pytest.raises(da.DalembertError, match=r"covariance (is not symmetric|has a negative)"):
            da.read_fit(tmp_path / f"{name}.json")


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
anything = st.recursive(
    scalars, lambda x: st.lists(x, max_size=4) | st.dictionaries(st.text(max_size=5), x, max_size=3)
)


@settings(max_examples=50, deadline=None)
@given(data=st.data(), value=anything)
def test_any_value_in_any_field_is_read_or_one_sentence(
    data: st.DataObject, value: Any, fits: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    plain = fits["plain"].record.written()
    plain[data.draw(st.sampled_from(sorted(plain)))] = value
    path = tmp_path_factory.mktemp("any") / "fit.json"
    path.write_text(json.dumps(plain))
    try:
        record = da.read_fit(path)
    except da.DalembertError as error:
        assert "\n" not in str(error)
    else:
        assert record.written()["format"] == FORMAT
