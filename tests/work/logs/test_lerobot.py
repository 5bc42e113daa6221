"""LeRobot datasets of versions 2 and 3 as they are: every episode a run of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import dalembert as da
from dalembert.views.cli.main import app
from dalembert.work.logs.log import read_log
from test_logs import arm, whole

FPS = 200
LENGTH = 1000  # frames of an episode
EPISODES = 4
Features = dict[str, tuple[Any, np.ndarray]]  # by name: the names of its elements, and its numbers


def apart() -> Features:
    """Positions, velocities and torques as features of their own, with a gripper beside the joints."""
    names = ["joint2", "joint1", "gripper"]
    data = {x: np.column_stack([whole()[x][:, ::-1], 0 * whole()["t"]]) for x in ("q", "qd", "tau")}
    return {
        "observation.state": ({"motors": names}, data["q"]),
        "action": (names, data["q"] + 1.0),
        "observation.velocity": (names, data["qd"]),
        "observation.effort": ([names], data["tau"]),
        "action.position": (None, data["q"] + 2.0),
    }


def together() -> Features:
    """All in one state whose elements say what they are."""
    names = [f"joint{j}.{word}" for j in (1, 2) for word in ("pos", "vel", "torque")]
    data = whole()
    return {
        "observation.state": (names, np.column_stack([data[x][:, j] for j in (0, 1) for x in ("q", "qd", "tau")])),
        "action": (names[::3], data["q"]),
    }


def in_degrees() -> Features:
    """Units at the end of the names, and no names at all."""
    data = whole()
    return {
        "observation.state": (["left_joint_1_deg", "left_joint_2_deg"], np.degrees(data["q"])),
        "observation.velocity": (None, data["qd"]),
        "observation.torque": (None, data["tau"]),
    }


def write(
    folder: Path, features: Features, version: str = "v2.1", episodes: int = EPISODES, change: Callable[[dict[str, Any]], Any] = dict,
) -> Path:  # fmt: skip
    """A dataset as LeRobot writes it: of version 3 two episodes per file, of version 2 one."""
    data = folder / "data" / "chunk-000"
    data.mkdir(parents=True)
    per_file = 2 if version.startswith("v3") else 1
    for start in range(0, episodes, per_file):
        numbers = np.repeat(np.arange(start, min(start + per_file, episodes)), LENGTH)
        frames = np.arange(len(numbers)) % LENGTH
        rows = numbers * LENGTH + frames
        columns: dict[str, Any] = {
            name: pa.array(list(values[rows].astype(np.float32)), pa.list_(pa.float32(), values.shape[1]))
            for name, (_, values) in features.items()
        }
        columns |= {"timestamp": (frames / FPS).astype(np.float32), "frame_index": frames, "episode_index": numbers}
        columns |= {"index": rows, "task_index": 0 * rows}
        name = f"file-{start // 2:03d}" if per_file > 1 else f"episode_{start:06d}"
        parquet.write_table(pa.table(columns), data / f"{name}.parquet")
    (folder / "meta").mkdir()
    described = {
        name: {"dtype": "float32", "shape": [values.shape[1]], "names": names}
        for name, (names, values) in features.items()
    }
    described["observation.images.top"] = {"dtype": "video", "shape": [480, 640, 3], "names": ["height", "width", "c"]}
    info = {
        "codebase_version": version, "fps": FPS, "total_episodes": episodes, "chunks_size": 1000, "features": described,
        "data_path": "data/chunk-{episode_chunk:03d}/{__class__}.parquet",
    }  # fmt: skip
    (folder / "meta" / "info.json").write_text(json.dumps(change(info)))
    return folder


@pytest.mark.parametrize("version", ["v2.0", "v3.0"])
@pytest.mark.parametrize("features", [apart, together, in_degrees])
def test_every_episode_is_a_run(tmp_path: Path, features: Callable[[], Features], version: str) -> None:
    run = read_log(write(tmp_path / "set", features(), version), arm())
    assert len(run.parts) == EPISODES and len(run) == EPISODES * LENGTH
    for k, part in enumerate(run.parts):
        assert part.source.endswith(f"set, episode {k}")
        assert np.allclose(part.t - part.t[0], np.arange(LENGTH) / FPS, atol=1e-12, rtol=0)
        rows = slice(k * LENGTH, (k + 1) * LENGTH)
        for name in ("q", "qd", "tau"):
            values = whole()[name][rows]
            assert np.abs(getattr(part, name) - values).max() < 1e-5 * np.abs(values).max(), name
    assert any(version in note and "4 episodes at 200 frames" in note for note in run.notes)


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_episodes_are_chosen(tmp_path: Path, version: str) -> None:
    folder = write(tmp_path / "set", apart(), version)
    every = read_log(folder, arm())
    for asked, chosen in (("1:3", [1, 2]), (":2", [0, 1]), ([3, 0], [0, 3]), (2, [2]), ("0, 2:9", [0, 2, 3])):
        run = read_log(folder, arm(), episodes=asked)
        assert [part.source[-1] for part in run.separate] == [str(k) for k in chosen]
        assert np.array_equal(run.q, np.concatenate([every.parts[k].q for k in chosen]))
    for wrong in ("9", "7:9", [0, 9]):
        with pytest.raises(da.DalembertError, match=r"no episode .*; the dataset has episodes 0 to 3"):
            read_log(folder, arm(), episodes=wrong)
    for nonsense in ("a", "3:1", "", [], "-1", [True], "1:2:3"):
        with pytest.raises(da.DalembertError, match="episodes is"):
            read_log(folder, arm(), episodes=nonsense)
    with pytest.raises(da.DalembertError, match="only LeRobot datasets have them"):
        read_log(whole(), arm(), episodes=1)


@pytest.mark.parametrize("described", [True, False])
def test_a_table_alone_is_read_with_its_description_if_there_is_one(tmp_path: Path, described: bool) -> None:
    folder = write(tmp_path / "set", apart() if described else in_degrees())
    path = folder / "data" / "chunk-000" / "episode_000002.parquet"
    how: dict[str, Any] = {}
    if not described:
        (folder / "meta" / "info.json").unlink()
        how["units"] = {"q": "deg"}
    run = read_log(path, arm(), **how)
    assert not run.parts and np.abs(run.q - whole()["q"][2 * LENGTH : 3 * LENGTH]).max() < 1e-5
    assert np.allclose(np.diff(run.t), 1 / FPS, atol=1e-12 if described else 1e-6, rtol=0)


def test_a_dataset_is_identified_predicted_and_validated(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", together(), "v3.0")
    fit = da.identify(arm(), folder, episodes="0:3", cutoff=8.0, selection=False)
    assert fit.relative_error < 1e-4 and len(fit.run.conditioned.log.parts) == 3
    other = fit.evaluate(folder, episodes=3)
    assert other.relative_error < 1e-3
    tau = fit.predict(folder, episodes=None)
    assert tau.shape == (EPISODES * LENGTH, 2)
    assert np.linalg.norm(tau - whole()["tau"]) < 0.02 * np.linalg.norm(whole()["tau"])
    arm().save(tmp_path / "arm.toml")
    command = [
        "identify",
        str(tmp_path / "arm.toml"),
        str(folder),
        "--cutoff",
        "8",
        "--episodes",
        "0:2",
        "--no-selection",
    ]
    run = CliRunner().invoke(app, command)
    assert run.exit_code == 0, run.output
    assert "2 episodes" in run.output


def test_what_a_dataset_lacks_is_one_sentence(tmp_path: Path) -> None:
    data = {"observation.state": apart()["observation.state"], "action": apart()["action"]}
    with pytest.raises(
        da.DalembertError, match=r"no joint torques .* features are timestamp, observation.state, action;"
    ):
        read_log(write(tmp_path / "positions", data), arm())
    assert len(read_log(tmp_path / "positions", arm(), torque_needed=False).parts) == EPISODES
    wide = 95 * np.sin(whole()["q"]) / np.abs(np.sin(whole()["q"])).max()
    folder = write(tmp_path / "normalised", {**together(), "observation.state": (None, wide)})
    with pytest.raises(da.DalembertError, match=r"normalised positions .* cannot be used"):
        read_log(folder, arm(), torque_needed=False)
    assert np.allclose(read_log(folder, arm(), torque_needed=False, units={"q": "deg"}).q, np.radians(wide), atol=1e-5)
    strangers = {**apart(), "observation.state": (["x", "y", "yaw"], apart()["observation.state"][1])}
    with pytest.raises(da.DalembertError, match="'joint1' of arm 'planar-2r' is not in the log, whose joints are x, y"):
        read_log(write(tmp_path / "strangers", strangers), arm())
    run = read_log(tmp_path / "strangers", arm(), columns={"q": "observation.state[0:2]"})
    assert np.abs(run.q[:, ::-1] - whole()["q"]).max() < 1e-5


def test_a_damaged_dataset_is_one_sentence(tmp_path: Path) -> None:
    def changed(name: str, change: Callable[[dict[str, Any]], Any]) -> Path:
        return write(tmp_path / name, apart(), "v3.0", 2, change)

    for k, (change, words) in enumerate(
        (
            (lambda info: [info], "it contains a list"),
            (lambda info: {**info, "fps": 0}, "fps is 0"),
            (lambda info: {**info, "fps": True}, "fps is True"),
            (lambda info: {**info, "fps": 1e300}, "fps is 1e"),
            (lambda info: {**info, "fps": float("nan")}, "fps is nan"),
        )
    ):
        with pytest.raises(da.DalembertError, match=words):
            read_log(changed(f"{k}", change), arm())
    run = read_log(changed("odd", lambda info: {**info, "features": {"observation.state": {"names": [["a"], 3]}}}), arm(),
                   columns={x: f"{y}[0:2]" for x, y in (("q", "observation.state"), ("qd", "observation.velocity"), ("tau", "observation.effort"))},
                   joint_names=["joint2", "joint1"])  # fmt: skip
    assert np.abs(run.q - whole()["q"][: 2 * LENGTH]).max() < 1e-5
    folder = changed("text", dict)
    (folder / "meta" / "info.json").write_text("{" * 100_000)
    with pytest.raises(da.DalembertError, match="not valid JSON"):
        read_log(folder, arm())
    (folder / "meta" / "info.json").write_text(" " * (5 << 20))
    with pytest.raises(da.DalembertError, match="the maximum is"):
        read_log(folder, arm())
    (folder / "meta" / "info.json").write_text("{}")
    (folder / "data" / "chunk-000" / "file-000.parquet").write_bytes(b"PAR1")
    with pytest.raises(da.DalembertError, match="not a Parquet file"):
        read_log(folder, arm())
    (folder / "data" / "chunk-000" / "file-000.parquet").unlink()
    with pytest.raises(da.DalembertError, match="were its tables downloaded"):
        read_log(folder, arm())
