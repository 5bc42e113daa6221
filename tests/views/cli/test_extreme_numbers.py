"""Numbers from 1e-308 to 1e308 in every numeric place of the commands for motions: a finite answer, or one sentence."""

from __future__ import annotations

import csv
import math
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert.views.cli.main import app

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # as the program ignores them
VALUES = ("1e-308", "1e160", "-1e308", "nan")
LIMITS = ("1e-308", "1e99", "1e308")
DH = """name = "extreme"
convention = "standard"
[[joint]]
name = "joint1"
a = {a}
mass = {mass}
com = [{com}, 0, 0]
limits = {{lower = -3, upper = 3, effort = {effort}, velocity = {velocity}}}
[[joint]]
name = "joint2"
a = 0.5
mass = 1.0
limits = {{lower = -3, upper = 3, effort = {effort}, velocity = {velocity}}}
"""
USUAL = {"a": "0.5", "mass": "1.0", "com": "-0.2", "effort": "100", "velocity": "2"}
COMMANDS = (
    "torques {arm} {motion} -o out.csv --force",
    "scale {arm} {motion} -o out.csv --force",
    "scale {arm} {motion} --time-optimal -o out.csv --force",
    "plan {arm} --from '0 0' --to '1 1' -o out.csv --force",
)


def settled(command: str, folder: Path) -> int:
    """The exit status; the command must have said one sentence, or written finite numbers."""
    out = folder / "out.csv"
    out.unlink(missing_ok=True)
    words = [str(folder / word) if word.endswith((".csv", ".toml", ".html")) else word for word in shlex.split(command)]
    done = CliRunner().invoke(app, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), (command, done.exception)
    assert done.exit_code in (0, 2), (command, done.output)
    assert done.exit_code or "nan" not in done.output, (command, done.output)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == (1 if done.exit_code else 0), (command, done.output)
    if not done.exit_code and out.exists():
        with out.open() as file:
            rows = list(csv.reader(file))[1:]
        assert all(math.isfinite(float(cell)) for row in rows for cell in row), command
    return done.exit_code


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("extreme")
    da.polynomial([0.0, 0.0], [0.6, -0.4], 1.0).save(where / "motion.csv", rate=20.0)
    (where / "usual.toml").write_text(DH.format(**USUAL))
    return where


@pytest.mark.parametrize("value", VALUES)
def test_options_with_extreme_numbers(value: str, folder: Path) -> None:
    for command in (
        "scale usual.toml motion.csv --payload {}", "scale usual.toml motion.csv --time-optimal --duration {}",
        "scale usual.toml motion.csv --rate {}", "scale usual.toml motion.csv --cutoff {}",
        "scale usual.toml motion.csv --limits 'effort: {}'", "torques usual.toml motion.csv --payload {}",
        "torques usual.toml motion.csv --tip-wrench '{} 0 0 0 0 0'", "torques usual.toml motion.csv --scaling {}",
        "plan usual.toml --from '0 0' --to '{0} {0}'", "plan usual.toml --from '0 0' --to '{} 1'",
        "plan usual.toml --from '0 0' --to '1 1' --duration {}", "plan usual.toml --from '0 0' --to '1 1' --payload {}",
        "plan usual.toml --from '0 0' --to '1 1' --hold {}", "plan usual.toml --from '0 0' --to '1 1' --rate {}",
        "plan usual.toml --from '0 0' --to '1 1' --duration 1 --acceleration-time {}",
        "plan usual.toml --from '0.3 0.8' --circle '0.3 0.3 0' --angle {} --duration 1",
        "plan usual.toml --from '0.3 0.8' --line '{} 0.3 0' --duration 1",
    ):  # fmt: skip
        settled(f"{command.format(value)} -o out.csv --force", folder)


@pytest.mark.parametrize("field", ["a", "mass", "com", "effort", "velocity"])
def test_robots_with_extreme_numbers(field: str, folder: Path) -> None:
    for value in LIMITS:
        (folder / "arm.toml").write_text(DH.format(**{**USUAL, field: value}))
        for command in COMMANDS:
            status = settled(command.format(arm="arm.toml", motion="motion.csv"), folder)
            unlimited = field in ("effort", "velocity") and float(value) > 1.0
            assert status == 0 or not unlimited or field == "effort", (field, value, command)


@pytest.mark.parametrize("value", VALUES)
def test_motions_with_one_extreme_cell(value: str, folder: Path) -> None:
    lines = (folder / "motion.csv").read_text().splitlines()
    for column in (0, 1, 5):
        cells = lines[11].split(",")
        cells[column] = value
        (folder / "cell.csv").write_text("\n".join([*lines[:11], ",".join(cells), *lines[12:]]) + "\n")
        for command in COMMANDS[1:3]:
            settled(command.format(arm="usual.toml", motion="cell.csv"), folder)


def test_work_without_bound_is_refused_at_once(folder: Path) -> None:
    for command, sentence in (
        ("plan usual.toml --from '0 0' --to '1 1' --back --repeat 1000000000", "segments; at most 1,000,000"),
        ("plan usual.toml --from '0.3 0.8' --circle '0.3 0.3 0' --angle 1e9", "turns; at most"),
        ("map usual.toml --poses 100000000000", "at most"),
    ):
        words = [str(folder / word) if word.endswith(".toml") else word for word in shlex.split(command)]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2 and sentence in done.stderr, done.output
