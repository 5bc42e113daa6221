"""Logs without time stamps: rate says how many rows there are per second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert.views.cli.main import app
from dalembert.work.logs.log import read_log
from test_logs import HEADER, arm, log, same, table, text, whole

RATE = float(1.0 / np.median(np.diff(log()["t"])))


def unstamped() -> dict[str, np.ndarray]:
    return {name: values for name, values in log().items() if name != "t"}


@pytest.mark.parametrize("kind", ["dict", "turned", "csv", "headerless", "npy", "npz"])
def test_rows_without_stamps_are_one_over_rate_apart(tmp_path: Path, kind: str) -> None:
    how: dict[str, Any] = {}
    source: Any = unstamped()
    if kind == "turned":
        source = {name: values.T for name, values in source.items()}
    elif kind == "csv":
        source = text(tmp_path / "log.csv", ",".join(HEADER[1:]), table()[:, 1:])
    elif kind == "npz":
        np.savez(tmp_path / "log.npz", **source)
        source = tmp_path / "log.npz"
    elif kind in ("headerless", "npy"):
        how = {"columns": {"q": "0:2", "qd": "2:4", "tau": "4:6"}}
        source = tmp_path / "log.npy"
        np.save(source, table()[:, 1:])
        if kind == "headerless":
            source = text(tmp_path / "log.csv", None, table()[:, 1:])
    run = read_log(source, arm(), rate=RATE, **how)
    same(run)
    assert any("no time stamps" in note and f"{RATE:g} Hz" in note for note in run.notes)
    with pytest.raises(da.DalembertError, match=r"rate=500 \(--rate 500\)"):
        read_log(source, arm(), **how)


def test_stamps_and_a_rate_agree_or_count_rows_or_are_refused() -> None:
    rows = np.arange(len(log()["t"]), dtype=float)
    same(read_log(log(), arm(), rate=1.01 * RATE))
    for scale, words in ((1e3, "read in ms"), (1e6, "read in us")):
        run = read_log({**log(), "t": scale * log()["t"]}, arm(), rate=RATE)
        same(run)
        assert any(words in note for note in run.notes)
    for counter, words in ((rows, "counts the rows"), (rows + 17, "counts the rows"), (0 * rows, "is 0 in all rows")):
        run = read_log({**log(), "t": counter}, arm(), rate=RATE)
        same(run)
        assert any(words in note for note in run.notes)
    for rate, unit in ((2 * RATE, None), (RATE, "ms")):
        with pytest.raises(da.DalembertError, match=r"rate is .* Hz, but t gives .* Hz; omit rate"):
            read_log(log(), arm(), rate=rate, time_unit=unit)
    with pytest.raises(da.DalembertError, match=r"--rate\) if it counts the rows"):
        read_log({**log(), "t": rows}, arm())
    for wrong in (0.0, -5.0, 1e9, np.nan, "fast"):
        with pytest.raises(da.DalembertError, match="rate"):
            read_log(unstamped(), arm(), rate=wrong)  # type: ignore[arg-type]
    with pytest.raises(da.DalembertError, match="no time"):
        read_log(unstamped(), arm(), rate=RATE, time_unit="ms")


def test_identify_predict_evaluate_and_the_command_take_a_rate(tmp_path: Path) -> None:
    rate = float(1.0 / np.median(np.diff(whole()["t"])))
    bare = {name: values for name, values in whole().items() if name != "t"}
    fit = da.identify(arm(), bare, rate=rate, selection=False)
    usual = da.identify(arm(), whole(), selection=False)
    assert np.allclose(fit.parameters, usual.parameters, rtol=1e-5, atol=1e-5)
    assert np.allclose(fit.predict(bare), usual.predict(whole()), rtol=1e-4, atol=0.02)
    assert np.allclose(fit.predict(whole()), usual.predict(whole()), rtol=1e-4, atol=0.02)
    assert fit.evaluate(bare).relative_error < 0.01
    path = text(tmp_path / "log.csv", ",".join(HEADER[1:]), np.column_stack([bare[x] for x in ("q", "qd", "tau")]))
    arm().save(tmp_path / "arm.toml")
    command = [
        "identify",
        str(tmp_path / "arm.toml"),
        str(path),
        "--json",
        str(tmp_path / "out.json"),
        "--no-selection",
    ]
    run = CliRunner().invoke(app, [*command, "--rate", f"{rate:.17g}"])
    assert run.exit_code == 0, run.output
    run = CliRunner().invoke(app, [*command, "--force"])
    assert run.exit_code != 0 and "--rate" in run.output
