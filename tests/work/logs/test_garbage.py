"""Rows of uninitialised memory: found on every path, counted, and no different from rows that were never written."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.work.logs.checks.impossible_values import garbage_in
from dalembert.work.logs.checks.plausible_units import suspicions
from dalembert.work.logs.conditioning import condition
from dalembert.work.logs.log import Log, read_log
from test_logs import HEADER, ROWS, WRITERS, Message, arm, log, states, text, whole
from test_payload import MASS, puma, wrist

GROUPS = ("q", "qd", "tau")
WORDS = "rows contain values that no arm can have"


def spoiled(rows: dict[int, dict[str, float]], data: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The log with these values in some of its rows, in the last column of each quantity."""
    changed = {name: values.copy() for name, values in data.items()}
    for row, values in rows.items():
        for name, value in values.items():
            changed[name][row, ...] = value if name == "t" else [*changed[name][row][:-1], value]
    return changed


# as they stand at the start of real logs: huge, tiny beside huge, stamps of 0
START = {0: {"q": 1e282, "tau": 6.9e-310}, 1: {"q": -3.1e-310, "t": 0.0}, 2: {"qd": -7e255}, 200: {"tau": 4e38}}


def cells(data: dict[str, np.ndarray]) -> np.ndarray:
    return np.column_stack([data[name] for name in ("t", *GROUPS)])


def matlab(path: Path, data: dict[str, np.ndarray]) -> Path:
    from scipy.io import savemat

    savemat(path, data)
    return path


def zipped(path: Path, data: dict[str, np.ndarray]) -> Path:
    np.savez(path, **data)
    return path


def table(path: Path, data: dict[str, np.ndarray]) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(dict(zip(HEADER, cells(data).T, strict=True))), path)
    return path


def bagged(name: str) -> Callable[[Path, dict[str, np.ndarray]], Path]:
    def write(path: Path, data: dict[str, np.ndarray]) -> Path:
        messages: list[Message] = []
        for k, (topic, names, _, _) in enumerate(states(names=("joint1", "joint2"))):
            stamp = float(data["t"][k])
            messages.append((topic, names, stamp, [data[group][k].tolist() for group in GROUPS]))
        return WRITERS[name](path, messages)

    return write


PATHS: dict[str, Callable[[Path, dict[str, np.ndarray]], Any]] = {
    "dict": lambda path, data: data,
    "a.csv": lambda path, data: text(path, ",".join(HEADER), cells(data)),
    "a.npz": zipped,
    "a.mat": matlab,
    "a.parquet": table,
    **{name: bagged(name) for name in WRITERS},
}


@pytest.mark.parametrize("name", PATHS)
def test_garbage_is_dropped_and_counted_in_every_format(name: str, tmp_path: Path) -> None:
    if name in WRITERS:
        pytest.importorskip("rosbags.rosbag2")
        pytest.importorskip("mcap.writer")
    data = {**log(), "t": 1.7e9 + log()["t"]}
    read = read_log(PATHS[name](tmp_path / name, spoiled(START, data)), arm())
    kept = np.setdiff1d(np.arange(ROWS), list(START))
    assert any(f"4 of 400 {WORDS}" in note for note in read.notes), read.notes
    for group in GROUPS:
        assert np.array_equal(getattr(read, group), data[group][kept])


@cache
def removed(rows: tuple[int, ...]) -> Log:
    kept = np.setdiff1d(np.arange(len(whole()["t"])), rows)
    return read_log({name: values[kept] for name, values in whole().items()}, arm())


garbage = st.floats(min_value=1e10, allow_infinity=False) | st.floats(max_value=-1e10, allow_infinity=False)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.integers(1, len(whole()["t"]) - 2),
        st.dictionaries(st.sampled_from(("t", *GROUPS)), garbage, min_size=1),
        min_size=1,
        max_size=30,
    )
)
def test_a_log_with_garbage_is_the_log_without_those_rows(rows: dict[int, dict[str, float]]) -> None:
    read, truth = read_log(spoiled(rows, whole()), arm()), removed(tuple(sorted(rows)))
    for name in ("t", *GROUPS):
        assert np.array_equal(getattr(read, name), getattr(truth, name))
    assert any(f"{len(rows)} of {len(whole()['t'])} {WORDS}" in note for note in read.notes)


def test_identify_predict_and_validate_do_not_see_garbage() -> None:
    kept = np.setdiff1d(np.arange(len(whole()["t"])), list(START))
    late = {**whole(), "t": 50 + whole()["t"]}
    bad, good = spoiled(START, late), {name: values[kept] for name, values in late.items()}
    fit = da.identify(arm(), bad, bad, cutoff=8.0)
    same = da.identify(arm(), good, good, cutoff=8.0)
    assert fit.warnings == same.warnings
    assert np.array_equal(fit.parameters, same.parameters)
    assert fit.validation_error == pytest.approx(same.validation_error)
    predicted = fit.predict(bad)
    assert len(predicted) == len(whole()["t"])
    assert np.allclose(predicted[kept], same.predict(good), atol=1e-6)


def test_torques_that_nobody_asked_for_cost_no_row() -> None:
    bad = spoiled({5: {"tau": 1e200}}, log())
    read = read_log(bad, arm(), torque_needed=False)
    assert len(read) == ROWS and np.isnan(read.tau[5, 1])
    assert suspicions(arm(), read, condition(read), {}) == []


def test_many_rows_of_garbage_are_an_error() -> None:
    rows = {k: {"q": 1e200} for k in range(100)}
    with pytest.raises(
        da.DalembertError, match="100 of 400 rows contain values that no arm can have: q of joint 'joint2'"
    ):
        read_log(spoiled(rows, log()), arm())
    with pytest.raises(da.DalembertError, match="the largest plausible value is 1e\\+30"):
        read_log({**log(), "q": 1e40 * log()["q"]}, arm())


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3, 1e4])
def test_other_units_encoders_and_rests_are_no_garbage(factor: float) -> None:
    """Encoder counts, speeds of motors, an arm that rests at 0 nearly all the time, several runs in one file."""
    data = log()
    moves = (np.arange(ROWS) > 0.7 * ROWS)[:, None]
    for t in (data["t"], np.concatenate([data["t"][:200], 1e6 + data["t"][200:]]), np.tile(data["t"][:200], 2)):
        assert garbage_in(t, {group: factor * data[group] for group in GROUPS}) is None
        assert garbage_in(t, {group: factor * data[group] * moves for group in GROUPS}) is None


def test_garbage_of_a_wrist_sensor_is_dropped_and_counted() -> None:
    run = wrist(3, 0.1, np.random.default_rng(0))
    spoiled_run = {name: values.copy() for name, values in run.items()}
    spoiled_run["wrench"][:3], spoiled_run["q"][1] = [1e282, 1e-310, 0, 0, 0, 5e150], 1e282
    load, truth = da.identify_payload(puma(), spoiled_run, cutoff=10.0), da.identify_payload(puma(), run, cutoff=10.0)
    assert load.mass == pytest.approx(truth.mass, rel=1e-3) == pytest.approx(MASS, rel=0.02)
    assert any("3 of 4000 rows of the wrench" in note for note in load.notes)
    assert any(f"1 of 4000 {WORDS}" in note for note in load.notes)
    spoiled_run["wrench"][:1000] = 1e200
    with pytest.raises(da.DalembertError, match="1000 of 4000 rows of the wrench"):
        da.identify_payload(puma(), spoiled_run, cutoff=10.0)
