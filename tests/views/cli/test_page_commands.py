"""``dalembert page`` and ``dalembert studio`` take motions from files, and say mistakes in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert.views.cli.main import app
from dalembert.views.studio import server
from dalembert.views.studio.page_tasks import Shown


@pytest.fixture
def motion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    da.triangular([0.0], [1.0], duration=2.0).save("swing.csv")
    return Path("swing.csv")


def test_a_page_has_the_motion_of_a_file(motion: Path) -> None:
    done = CliRunner().invoke(app, ["page", "pendulum", str(motion), "-o", "arm.html"])
    assert done.exit_code == 0 and "the page is in" in done.output and Path("arm.html").stat().st_size > 100_000


def test_the_studio_is_given_arm_motion_and_folder(motion: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {}

    def remember(folder: object, shown: Shown, port: int, browser: bool, say: object) -> None:
        given.update(folder=folder, shown=shown, port=port, browser=browser)

    monkeypatch.setattr(server, "run_studio", remember)
    Path("robots").mkdir()
    da.load("pendulum").save("robots/mine.toml")
    for arm, root in (("pendulum", Path.cwd()), ("robots/mine.toml", Path.cwd() / "robots")):
        done = CliRunner().invoke(app, ["studio", arm, str(motion), "--no-browser", "--payload", "2"])
        assert done.exit_code == 0, done.output
        assert given["folder"].root == root.resolve() and given["browser"] is False and given["port"] == 0
        ((name, note, kept),) = given["shown"].motions
        assert (name, kept.duration) == ("swing", 2.0) and note.startswith("Read from swing.csv.")
        assert given["shown"].arm.robot.payload.mass == 2.0


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-arm"],
        ["pendulum", "--port", "70000"],
        ["pendulum", "no.csv"],
        ["planar-2r", "x.csv", "--example", "7.2"],
    ],
)
def test_mistakes_are_one_sentence(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["studio", "--no-browser", *arguments])
    assert done.exit_code == 2 and done.output.startswith("error: ") and done.output.count("\n") == 1
