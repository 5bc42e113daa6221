"""Logs as other labs write them: every format for real, and everything that can be wrong with one."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as da
from arms import MODELS, SHARED
from dalembert.base.tables.signal_columns import matched
from dalembert.views.cli.main import app
from dalembert.work.identification.fitting.fit import IdentificationWarning
from dalembert.work.logs.checks.plausible_units import suspicions
from dalembert.work.logs.conditioning import condition
from dalembert.work.logs.log import joined, read_log
from test_identification import motion, with_friction

ROWS = 400


@cache
def arm() -> da.Arm:
    return with_friction("planar-2r")


@cache
def whole() -> dict[str, np.ndarray]:
    t, q, qd, qdd = motion(2, seed=3)
    return {"t": t, "q": q, "qd": qd, "tau": np.asarray(arm().inverse_dynamics(q, qd, qdd))}


def log() -> dict[str, np.ndarray]:
    return {name: values[:ROWS].copy() for name, values in whole().items()}


def same(found: Any, rows: slice = slice(None), close: float = 0.0) -> None:
    truth = {name: values[rows] for name, values in log().items()}
    assert np.abs(found.t - found.t[0] - truth["t"] + truth["t"][0]).max() < 1e-6
    for name in ("q", "qd", "tau"):
        assert np.abs(getattr(found, name) - truth[name]).max() <= close, name


HEADER = ["t", "q1", "q2", "qd1", "qd2", "tau1", "tau2"]


def table() -> np.ndarray:
    return np.column_stack([log()[name] for name in ("t", "q", "qd", "tau")])


def text(
    path: Path, header: str | None, rows: np.ndarray | list[list[Any]], between: str = ",", end: str = "\n"
) -> Path:
    lines = [] if header is None else [header]
    lines += [between.join(x if isinstance(x, str) else f"{x:.17g}" for x in row) for row in rows]
    path.write_bytes((end.join(lines) + end).encode())
    return path


# -- messages ------------------------------------------------------------------------------------

Message = tuple[str, list[str], float, list[Any]]  # topic, joints, stamp, (position, velocity, effort)


def states(
    names: tuple[str, ...] = ("joint2", "joint1", "finger"), topic: str = "/joint_states", without: tuple[int, ...] = ()
) -> list[Message]:
    """The log as messages, its joints in another order and with one more."""
    made = []
    data = log()
    for k in range(ROWS):
        rows = []
        for which, name in enumerate(("q", "qd", "tau")):
            by = {"joint1": data[name][k, 0], "joint2": data[name][k, 1], "finger": 0.25}
            rows.append([] if which in without else [by[joint.removeprefix("left_")] for joint in names])
        made.append((topic, list(names), 1.7e9 + data["t"][k], rows))
    return made


@cache
def stores() -> tuple[Any, Any]:
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.LATEST), get_typestore(Stores.ROS1_NOETIC)


def encoded(message: Message, encoding: str) -> bytes:
    _, names, stamp, rows = message
    nanos = round(stamp * 1e9)
    sec, nano = nanos // 10**9, nanos % 10**9
    if encoding == "json":
        fields = dict(zip(("position", "velocity", "effort"), rows, strict=True))
        return json.dumps({"header": {"stamp": {"sec": sec, "nanosec": nano}}, "name": names, **fields}).encode()
    ros2, ros1 = stores()
    store = ros2 if encoding == "cdr" else ros1
    time = store.types["builtin_interfaces/msg/Time"](sec=sec, nanosec=nano)
    head = {"stamp": time, "frame_id": ""} | ({} if encoding == "cdr" else {"seq": 0})
    state = store.types["sensor_msgs/msg/JointState"](
        store.types["std_msgs/msg/Header"](**head), names, *(np.asarray(row, float) for row in rows)
    )
    serialize = store.serialize_cdr if encoding == "cdr" else store.serialize_ros1
    return bytes(serialize(state, "sensor_msgs/msg/JointState"))


def write_mcap(
    path: Path, messages: list[Message], encoding: str, kind: str = "sensor_msgs/msg/JointState", **how: Any
) -> Path:
    from mcap.writer import Writer

    with path.open("wb") as file:
        out = Writer(file, **how)
        out.start()
        schema = out.register_schema(kind, {"cdr": "ros2msg", "ros1": "ros1msg"}.get(encoding, "jsonschema"), b"")
        channels = {topic: out.register_channel(topic, encoding, schema) for topic in {m[0] for m in messages}}
        for message in messages:
            at = round(message[2] * 1e9)
            data = encoded(message, encoding if encoding in ("cdr", "ros1") else "json")
            out.add_message(channels[message[0]], at, data, at)
        out.finish()
    return path


def write_ros1(path: Path, messages: list[Message], compression: Any = None) -> Path:
    from rosbags.rosbag1 import Writer

    bag = Writer(path)
    if compression is not None:
        bag.set_compression(compression)
    with bag:
        topics = {m[0] for m in messages}
        at = {t: bag.add_connection(t, "sensor_msgs/msg/JointState", typestore=stores()[1]) for t in topics}
        for message in messages:
            bag.write(at[message[0]], round(message[2] * 1e9), encoded(message, "ros1"))
    return path


def write_ros2(path: Path, messages: list[Message]) -> Path:
    from rosbags.rosbag2 import Writer

    with Writer(path, version=9) as bag:
        topics = {m[0] for m in messages}
        at = {t: bag.add_connection(t, "sensor_msgs/msg/JointState", typestore=stores()[0]) for t in topics}
        for message in messages:
            bag.write(at[message[0]], round(message[2] * 1e9), encoded(message, "cdr"))
    return path


WRITERS: dict[str, Callable[[Path, list[Message]], Path]] = {
    "a.bag": write_ros1,
    "folder": write_ros2,
    "cdr.mcap": lambda path, m: write_mcap(path, m, "cdr"),
    "ros1.mcap": lambda path, m: write_mcap(path, m, "ros1"),
    "json.mcap": lambda path, m: write_mcap(path, m, "json"),
}


@pytest.fixture(params=WRITERS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[list[Message]], Path]:
    pytest.importorskip("rosbags.rosbag2")
    pytest.importorskip("mcap.writer")
    return lambda messages: WRITERS[request.param](tmp_path / request.param, messages)


def test_messages_by_name_in_any_order_with_others_beside(written: Callable[[list[Message]], Path]) -> None:
    found = read_log(written(states()), arm())
    same(found)
    assert any("finger" in note and "left out" in note for note in found.notes)


def test_topics_and_publishers(written: Callable[[list[Message]], Path]) -> None:
    """The gripper speaks first and on the same topic; a fuller topic has no efforts; another is a second arm."""
    gripper = [("/joint_states", ["finger"], m[2] - 1e-4, [[0.0], [0.0], [0.0]]) for m in states()]
    wanted = [("/desired", m[1], m[2] + k * 1e-4, m[3]) for m in states(without=(2,)) for k in (0, 1)]
    path = written(sorted([*gripper, *wanted, *states()], key=lambda m: m[2]))
    found = read_log(path, arm())
    same(found)
    assert any("/desired" in note and "/joint_states was read" in note for note in found.notes)
    assert any("400 JointState messages of joints other" in note for note in found.notes)
    with pytest.raises(da.DalembertError, match="no joint torques"):
        read_log(path, arm(), topic="/desired")
    with pytest.raises(da.DalembertError, match=r"on the topic '/joint_sttes', only on .*did you mean '/joint_states'"):
        read_log(path, arm(), topic="/joint_sttes")


def test_messages_without_velocity_or_effort(written: Callable[[list[Message]], Path]) -> None:
    messages = states(without=(1,))
    messages[7][3][2] = []  # one message lost its effort
    found = read_log(written(messages), arm())
    assert found.qd is None and len(found) == ROWS - 1
    assert any("1 of 400 messages have no effort" in note for note in found.notes)
    assert any("1 of 400 rows contain NaN" in note for note in found.notes)


def test_one_db3_alone_and_a_folder_without_its_yaml(tmp_path: Path) -> None:
    pytest.importorskip("rosbags.rosbag2")
    folder = write_ros2(tmp_path / "bag", states())
    (file,) = folder.glob("*.db3")
    alone = file.rename(tmp_path / "alone.db3")
    same(read_log(alone, arm()))
    with pytest.raises(da.DalembertError, match=r"cannot be read|there is no such|metadata"):
        read_log(folder, arm())
    (folder / "metadata.yaml").unlink()
    with pytest.raises(da.DalembertError, match=r"no metadata.yaml; name the .db3 or .mcap file in it"):
        read_log(folder, arm())
    for name in ("x.db3", "x.bag", "x.mcap", "x.parquet", "x.npz", "x.npy", "x.mat"):
        (tmp_path / name).write_bytes(b"this is something else, and long enough to look at" * 20)
        with pytest.raises(da.DalembertError, match=name) as error:
            read_log(tmp_path / name, arm())
        assert "\n" not in str(error.value)
    broken = tmp_path / "broken.db3"
    broken.write_bytes(alone.read_bytes()[:3000] + b"\xff" * 4000)
    with pytest.raises(da.DalembertError, match="cannot be read"):
        read_log(broken, arm())


def test_mcap_cut_off_and_of_other_encodings(tmp_path: Path) -> None:
    pytest.importorskip("mcap.writer")
    path = write_mcap(tmp_path / "a.mcap", states(), "json")
    write_mcap(path, states() * 20, "json")
    (tmp_path / "cut.mcap").write_bytes(path.read_bytes()[:-5000])
    found = read_log(tmp_path / "cut.mcap", arm())
    assert len(found) > ROWS and any("is truncated" in note for note in found.notes)
    write_mcap(tmp_path / "b.mcap", states(), "protobuf")
    with pytest.raises(da.DalembertError, match="encoded as 'protobuf'; supported are cdr, ros1, json"):
        read_log(tmp_path / "b.mcap", arm())
    write_mcap(tmp_path / "c.mcap", states(), "json", "sensor_msgs/msg/Imu")
    with pytest.raises(
        da.DalembertError, match=r"no sensor_msgs/JointState messages; it has /joint_states \(sensor_msgs/msg/Imu\)"
    ):
        read_log(tmp_path / "c.mcap", arm())


def test_damaged_files_are_one_sentence(tmp_path: Path) -> None:
    """Whatever the readers of others raise on bytes that are wrong."""
    pytest.importorskip("mcap.writer")
    pytest.importorskip("rosbags.rosbag2")
    rng = np.random.default_rng(0)
    data = log()
    np.savez_compressed(tmp_path / "a.npz", **data)
    np.save(tmp_path / "a.npy", table())
    paths = [write_ros1(tmp_path / "a.bag", states()[:60]), write_mcap(tmp_path / "a.mcap", states()[:60], "json")]
    for path in (*paths, tmp_path / "a.npz", tmp_path / "a.npy"):
        whole_file = np.frombuffer(path.read_bytes(), np.uint8)
        for k in range(40):
            wrong = whole_file.copy()
            wrong[rng.integers(0, len(wrong) if k % 2 else 200, 8)] = rng.integers(0, 256, 8)
            broken = tmp_path / f"broken{path.suffix}"
            broken.write_bytes(wrong[: rng.integers(1, len(wrong))].tobytes() if k % 5 == 0 else wrong.tobytes())
            try:
                read_log(broken, arm(), columns={"t": 0, "q": "1:3", "tau": "5:7"} if path.suffix == ".npy" else None)
            except da.DalembertError as error:
                assert "broken" in str(error) and str(error).isprintable()


def test_joints_under_other_names() -> None:
    assert matched(["joint1", "joint2"], ["joint2", "joint1"]) == [1, 0]
    assert matched(["panda_joint1", "panda_joint2"], ["fr3_joint1", "fr3_joint2", "fr3_finger_joint1"]) == [0, 1]
    assert matched(["shoulder", "elbow"], ["ur/elbow", "ur/shoulder"]) == [1, 0]
    assert matched(["shoulder", "elbow"], ["J2", "J1"]) == [1, 0]
    assert matched(["joint1", "joint2"], ["left_joint1", "left_joint2", "right_joint1", "right_joint2"]) is None
    assert matched(["shoulder", "elbow"], ["a", "b"]) is None


# -- tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "between", "end"),
    [
        (",".join(HEADER), ",", "\n"),
        (",".join(HEADER), ",", "\r\n"),
        ("\ufeff" + ",".join(HEADER), ",", "\n"),
        (";".join(HEADER), ";", "\n"),
        ("\t".join(HEADER), "\t", "\n"),
        (" ".join(HEADER), " ", "\n"),
        ("# " + " ".join(HEADER), " ", "\n"),
        ("% a comment\n\nt,q0,q1,qd0,qd1,tau0,tau1", ",", "\n"),
        ('"t","q[0]","q[1]","dq[0]","dq[1]","tau_J[0]","tau_J[1]"', ",", "\n"),
        ("time [s], q1 [rad], q2 [rad], qd1 (rad/s), qd2 (rad/s), tau1 [Nm], tau2 [Nm]", ",", "\n"),
        ("timestamp actual_q_0 actual_q_1 actual_qd_0 actual_qd_1 tau_0 tau_1", " ", "\n"),
        ("t,joint1_pos,joint2_pos,joint1_vel,joint2_vel,joint1_torque,joint2_torque", ",", "\n"),
        ("t,pos_j1,pos_j2,vel_j1,vel_j2,tau_j1,tau_j2", ",", "\n"),
        ("__time,/js/joint1/position,/js/joint2/position,/js/joint1/velocity,/js/joint2/velocity,/js/joint1/effort,/js/joint2/effort", ",", "\n"),
    ],
)  # fmt: skip
def test_text_as_others_write_it(tmp_path: Path, header: str, between: str, end: str) -> None:
    same(read_log(text(tmp_path / "a.csv", header, table(), between, end), arm()))


def test_rostopic_echo_tells_the_order_of_its_joints(tmp_path: Path) -> None:
    """As ``rostopic echo -p`` writes it: names in cells, nanoseconds since 1970."""
    swapped = [
        [f"{round((1.6e9 + r[0]) * 1e9)}", "joint2", "joint1", *(float(r[k]) for k in (2, 1, 4, 3, 6, 5))]
        for r in table()
    ]
    header = "%time,field.name0,field.name1," + ",".join(
        f"field.{name}{k}" for name in ("position", "velocity", "effort") for k in (0, 1)
    )
    found = read_log(text(tmp_path / "a.csv", header, swapped), arm())
    same(found)
    assert any("ns since 1970" in note for note in found.notes)


def test_decimal_commas(tmp_path: Path) -> None:
    path = text(tmp_path / "a.csv", ";".join(HEADER), table(), ";")
    path.write_text(path.read_text().replace(".", ","))
    found = read_log(path, arm())
    same(found)
    assert any("decimal points" in note for note in found.notes)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "-1;0;0;0;0;0;0", *lines[1:]]))  # the first row has no comma
    assert np.array_equal(read_log(path, arm()).q[1:], log()["q"])


def test_comments_between_rows_and_numbers_that_are_none(tmp_path: Path) -> None:
    path = text(tmp_path / "a.csv", ",".join(HEADER) + "\n# s, rad, …", table())
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:50], "# a pause", "", "% another", *lines[50:]]))
    same(read_log(path, arm()))
    found = read_log(text(path, ",".join(HEADER), spoiled(a=(20, 0, "#N/A"), b=(30, 0, "#n/a"))), arm())
    assert any("2 of 400 rows contain NaN" in note for note in found.notes)  # no comment, but a time that is missing
    with pytest.raises(da.DalembertError, match="line 22, column 2: '1_0' is not a number"):
        read_log(text(path, ",".join(HEADER), spoiled(a=(20, 1, "1_0"))), arm())
    ended = text(path, "\t".join([*HEADER, "e"]) + "\t", [[*row, "", ""] for row in table()], "\t")
    same(read_log(ended, arm()))


def test_no_header_and_columns_by_number(tmp_path: Path) -> None:
    path = text(tmp_path / "a.csv", None, table())
    by_number = {"t": 0, "q": "1:3", "qd": "3:5", "tau": "5:"}
    same(read_log(path, arm(), columns=by_number))
    np.save(tmp_path / "a.npy", table())
    same(read_log(tmp_path / "a.npy", arm(), columns=by_number))
    np.savez(tmp_path / "a.npz", data=table())
    within = {"t": "data[0]", "q": "data[1:3]", "qd": "data[3:5]", "tau": "data[5:7]"}
    same(read_log(tmp_path / "a.npz", arm(), columns=within))
    with pytest.raises(da.DalembertError, match=r"no header; assign its 7 columns .*counted from 0.*--column"):
        read_log(path, arm())
    with pytest.raises(da.DalembertError, match=r"q is assigned to column 1:9, but there are 7 columns, from 0 to 6"):
        read_log(path, arm(), columns={**by_number, "q": "1:9"})
    headed = text(tmp_path / "b.csv", "clock,a,b,c,d,e,f", table())
    by_name = {"t": "clock", "q": ["a", "b"], "qd": "c,d", "tau": "e,f"}
    same(read_log(headed, arm(), columns=by_name))
    with pytest.raises(da.DalembertError, match=r"no 'clok' for t; it has clock, a, b.*did you mean 'clock'"):
        read_log(headed, arm(), columns={**by_name, "t": "clok"})


def test_matlab(tmp_path: Path) -> None:
    from scipy.io import savemat

    data = log()
    savemat(tmp_path / "a.mat", {"t": data["t"], "q": data["q"], "qd": data["qd"], "tau": data["tau"]})
    savemat(tmp_path / "b.mat", {"run": {name: values.T for name, values in data.items()}, "robot": "planar"})
    savemat(tmp_path / "c.mat", {"M": table()})
    same(read_log(tmp_path / "a.mat", arm()))
    found = read_log(tmp_path / "b.mat", arm())
    same(found)
    assert any("column per instant" in note for note in found.notes)
    same(read_log(tmp_path / "c.mat", arm(), columns={"t": "M[0]", "q": "M[1:3]", "qd": "M[3:5]", "tau": "M[5:7]"}))
    hdf = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM" + b"\x89HDF\r\n\x1a\n"
    (tmp_path / "d.mat").write_bytes(hdf.ljust(600, b"\0"))
    with pytest.raises(da.DalembertError, match=r"version 7.3"):
        read_log(tmp_path / "d.mat", arm())


def test_pickled_objects_are_refused(tmp_path: Path) -> None:
    data = log()
    np.savez(tmp_path / "a.npz", allow_pickle=True, **data, meta=np.array({"robot": "x"}, object))
    same(read_log(tmp_path / "a.npz", arm()))  # one that is not asked for does not matter
    np.savez(tmp_path / "b.npz", allow_pickle=True, **{**data, "tau": data["tau"].astype(object)})
    with pytest.raises(da.DalembertError, match="'tau' is not a plain array but a pickled object"):
        read_log(tmp_path / "b.npz", arm())


# -- what can be wrong with a table ----------------------------------------------------------------


def spoiled(**cells: tuple[int, int, str]) -> list[list[Any]]:
    rows: list[list[Any]] = [list(row) for row in table()]
    for line, column, word in cells.values():
        rows[line][column] = word
    return rows


@pytest.mark.parametrize("word", ["nan", "NaN", "inf", "-Infinity", "", "null", "-nan(ind)"])
def test_cells_without_a_number_are_counted(tmp_path: Path, word: str) -> None:
    path = text(tmp_path / "a.csv", ",".join(HEADER), spoiled(a=(5, 5, word), b=(50, 1, word), c=(51, 0, word)))
    found = read_log(path, arm())
    assert len(found) == ROWS - 3
    (note,) = (note for note in found.notes if "rows contain NaN" in note)
    assert "3 of 400 rows" in note and "1 in t, 1 in q, 1 in tau" in note
    assert found.instants is not None and len(found.instants) == ROWS


def test_large_files_are_read_as_small_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks of a few lines: the same numbers, notes and errors to the letter."""
    name, path = ",".join(HEADER), tmp_path / "a.csv"
    rows = table()
    files: list[Callable[[], Path]] = [
        lambda: text(path, name, rows),
        lambda: text(path, name, rows, end="\r\n"),
        lambda: text(path, name, spoiled(a=(5, 5, ""), b=(50, 1, "nan"), c=(51, 2, "inf"), d=(77, 6, '"1.5"'))),
        lambda: text(path, name, spoiled(a=(300, 5, "x"))),
        lambda: text(path, name, [*spoiled(), ["1", "2"]]),
        lambda: text(path, name, [*spoiled(), ["1", "2"], *spoiled()]),
        lambda: text(path, name + ",mode", [[*row, "on"] for row in spoiled()]),
        lambda: text(path, name + ",", [[*row, ""] for row in spoiled()]),
    ]
    for write in files:
        write()
        said = []
        for lines in (20_000, 64):
            monkeypatch.setattr("dalembert.base.tables.number_tables.LINES", lines)
            try:
                found = read_log(path, arm())
                said.append((found.notes, found.t.tobytes(), found.q.tobytes(), found.tau.tobytes()))
            except da.DalembertError as error:
                said.append((str(error),))
        assert said[0] == said[1]


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet", "mat"])
def test_nan_in_every_format(tmp_path: Path, suffix: str) -> None:
    data = log()
    data["tau"][10:17, 0] = np.nan
    data["q"][100] = np.inf

    def write(name: str) -> Path:
        path = tmp_path / f"{name}.{suffix}"
        rows = np.column_stack([data[k] for k in ("t", "q", "qd", "tau")])
        if suffix == "csv":
            return text(path, ",".join(HEADER), rows)
        if suffix == "npz":
            np.savez(path, **data)
        elif suffix == "mat":
            from scipy.io import savemat

            savemat(path, data)
        else:
            arrow = pytest.importorskip("pyarrow")
            from pyarrow import parquet

            parquet.write_table(arrow.table({n: rows[:, k] for k, n in enumerate(HEADER)}), path)
        return path

    assert any(
        "8 of 400 rows contain NaN, inf or an empty cell (1 in q, 7 in tau)" in n
        for n in read_log(write("a"), arm()).notes
    )
    data["tau"][:, 1] = np.nan
    with pytest.raises(da.DalembertError, match="tau of joint 'joint2' contains no number in any of its 400 rows"):
        read_log(write("b"), arm())
    data["tau"][:, 1] = 1.0
    data["qd"][:, 1] = np.nan
    found = read_log(write("c"), arm())
    assert found.qd is None and any("qd contains no numbers at all for joint2" in note for note in found.notes)
    data["qd"][:] = 1.0
    data["tau"][5:] = np.nan
    with pytest.raises(
        da.DalembertError, match=r"only 5 of 400 rows consist of numbers throughout; .*1 in q, 395 in tau"
    ):
        read_log(write("d"), arm())


def test_text_where_numbers_should_be(tmp_path: Path) -> None:
    rows = [[*row, "RUNNING"] for row in spoiled()]
    path = text(tmp_path / "a.csv", ",".join([*HEADER, "mode"]), rows)
    found = read_log(path, arm())
    same(found)
    assert any("mode contain text" in note for note in found.notes)
    for line, word in ((0, "x"), (300, "error 5")):
        path = text(tmp_path / "b.csv", ",".join(HEADER), spoiled(a=(line, 5, word)))
        with pytest.raises(da.DalembertError, match=f"line {line + 2}, column 6: '{word}' is not a number"):
            read_log(path, arm())


def test_headers_that_are_wrong(tmp_path: Path) -> None:
    path = text(tmp_path / "a.csv", "t,q1,q1,qd1,qd2,tau1,tau2", table())
    titled = read_log(text(path, "a planar arm, today\n" + ",".join(HEADER), table()), arm())
    same(titled)
    assert any("1 line above the header was ignored" in note for note in titled.notes)
    path = text(tmp_path / "a.csv", "t,q1,q1,qd1,qd2,tau1,tau2", table())
    with pytest.raises(da.DalembertError, match="the header contains 'q1' twice, in columns 1 and 2"):
        read_log(path, arm())
    with pytest.raises(da.DalembertError, match="number 2 of the columns q1, q2, … is missing"):
        read_log(text(path, "t,q1,q3,qd1,qd2,tau1,tau2", table()), arm())
    same(read_log(text(path, ",".join([*HEADER, "sensor7"]), [[*r, 0.0] for r in table()]), arm()))
    with pytest.raises(da.DalembertError, match="rows have 7 values, but the header has 6 columns"):
        read_log(text(path, "t,q1,q2,qd1,qd2,tau1", table()), arm())
    with pytest.raises(da.ShapeError, match="q has 3 joints, but arm 'planar-2r' has 2: joint1, joint2"):
        read_log(text(path, "t,q1,q2,q3,v,tau1,tau2", table()), arm())
    with pytest.raises(da.DalembertError, match=r"it has no time .*; it has .*name it with columns"):
        read_log(text(path, "x,q1,q2,qd1,qd2,tau1,tau2", table()), arm())
    with pytest.raises(da.DalembertError, match="this is not a table"):
        read_log(text(path, "hello", [["world"]]), arm())
    with pytest.raises(da.DalembertError, match="known units are rad, deg"):
        read_log(text(path, "t,q1 [V],q2 [V],qd1,qd2,tau1,tau2", table()), arm())


def test_a_row_that_is_cut_off(tmp_path: Path) -> None:
    path = text(tmp_path / "a.csv", ",".join(HEADER), table())
    path.write_text(path.read_text()[:-60])
    found = read_log(path, arm())
    assert len(found) == ROWS - 1 and any("the last row, line 401, ends after" in note for note in found.notes)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:50], "1,2,3", *lines[50:-1]]))
    with pytest.raises(da.DalembertError, match="line 51: the row has 3 values, but the header has 7"):
        read_log(path, arm())
    ended = text(tmp_path / "b.csv", ",".join(HEADER) + ",", [[*row, ""] for row in table()])
    same(read_log(ended, arm()))


@pytest.mark.parametrize("rows", [0, 1, 9])
def test_too_few_rows(tmp_path: Path, rows: int) -> None:
    path = text(tmp_path / "a.csv", ",".join(HEADER), table()[:rows])
    with pytest.raises(da.DalembertError, match=r"header but no rows|it has \d rows; at least 10"):
        read_log(path, arm())
    with pytest.raises(da.DalembertError, match="at least 10"):
        read_log({name: values[:rows] for name, values in log().items()}, arm())
    path.write_text("")
    with pytest.raises(da.DalembertError, match="the file is empty"):
        read_log(path, arm())


# -- time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
def test_time_in_other_units(tmp_path: Path, unit: str, factor: float) -> None:
    data = log()
    with pytest.raises(da.DalembertError, match=f"which looks like {unit}; give time_unit='{unit}'"):
        read_log({**data, "t": data["t"] * factor}, arm())
    same(read_log({**data, "t": data["t"] * factor}, arm(), time_unit=unit))
    same(read_log({**data, "t": data["t"] * factor}, arm(), units={"t": unit}))
    found = read_log({**data, "t": (1.7e9 + data["t"]) * factor}, arm())
    same(found)
    assert any(f"read as {unit} since 1970" in note for note in found.notes)
    rows = table()
    rows[:, 0] *= factor
    same(read_log(text(tmp_path / "a.csv", f"time_{unit},q1,q2,qd1,qd2,tau1,tau2", rows), arm()))
    same(read_log(text(tmp_path / "a.csv", f"time [{unit}],q1,q2,qd1,qd2,tau1,tau2", rows), arm()))


def test_fast_logs_in_milliseconds_are_not_taken_for_slow_ones() -> None:
    data = log()
    data["t"] = np.arange(ROWS) * 0.2  # 5 kHz in ms
    with pytest.raises(da.DalembertError, match=r"0.2 s apart, which looks like ms"):
        read_log(data, arm())
    with pytest.raises(da.DalembertError, match="which is implausible for a log of an arm; give another time_unit"):
        read_log(log(), arm(), time_unit="ns")


@pytest.mark.parametrize("zone", ["", "Z", "+02:00"])
def test_iso_stamps(tmp_path: Path, zone: str) -> None:
    from datetime import datetime, timedelta

    start = datetime(2024, 2, 28, 23, 59, 59)
    rows = [
        [(start + timedelta(seconds=float(r[0]))).isoformat(timespec="microseconds") + zone, *r[1:]] for r in table()
    ]
    same(read_log(text(tmp_path / "a.csv", ",".join(HEADER), rows), arm()))


def test_stamps_out_of_order_all_alike_or_rounded() -> None:
    data = log()
    mixed = np.random.default_rng(0).permutation(ROWS)
    found = read_log({name: values[mixed] for name, values in data.items()}, arm())
    same(found)
    assert any("not in chronological order" in note and "sorted" in note for note in found.notes)
    same(read_log({name: values[::-1] for name, values in data.items()}, arm()))
    swapped = np.arange(ROWS)
    swapped[[100, 101]] = 101, 100
    same(read_log({name: values[swapped] for name, values in data.items()}, arm()))
    twice = read_log({name: np.concatenate([values, values]) for name, values in data.items()}, arm())
    assert len(twice) == 2 * ROWS and any("backwards 1 time;" in note for note in twice.notes)
    with pytest.raises(da.DalembertError, match="all 400 rows have the same time, t = 7"):
        read_log({**data, "t": np.full(ROWS, 7.0)}, arm())
    with pytest.raises(da.DalembertError, match="is it written with too few digits"):
        read_log({**data, "t": np.float32(1.7e9 + data["t"])}, arm())
    with pytest.raises(da.ShapeError, match="q is not an array of numbers"):
        read_log({**data, "q": [[1.0, 2.0], [1.0]]}, arm())
    rounded = read_log({**data, "t": np.floor(data["t"] * 50) / 50}, arm())
    assert len(rounded) == ROWS // 4 and any(
        "300 of 400 rows have the same time as the row before" in n for n in rounded.notes
    )


# -- units ---------------------------------------------------------------------------------------


def test_units_are_brought_to_si(tmp_path: Path) -> None:
    data = log()
    odd = {"t": data["t"], "q": np.degrees(data["q"]), "qd": np.degrees(data["qd"]), "tau": data["tau"] * 1e3}
    found = read_log(odd, arm(), units={"q": "deg", "qd": "deg/s", "tau": "N mm"})
    same(found, close=1e-9)
    assert any("q was converted from deg to SI" in note for note in found.notes)
    rows = np.column_stack([odd[name] for name in ("t", "q", "qd", "tau")])
    header = "t,q1 [deg],q2 [deg],qd1 [deg/s],qd2 [deg/s],tau1 [mNm],tau2 [mNm]"
    same(read_log(text(tmp_path / "a.csv", header, rows), arm()), close=1e-9)
    named = {"t": data["t"], "q_deg": odd["q"], "q_m": 100 * data["q"], "q_d": data["q"], "tau": data["tau"]}
    assert np.allclose(read_log(named, arm()).q, data["q"])  # not the motors', nor those desired
    with pytest.raises(da.DalembertError, match="no joint positions"):
        read_log({name: values for name, values in named.items() if name != "q_deg"}, arm())
    with pytest.raises(da.DalembertError, match="q is in 'grad'; known units are rad, deg"):
        read_log(odd, arm(), units={"q": "grad"})
    with pytest.raises(da.DalembertError, match="units names 'x', which is not a quantity"):
        read_log(odd, arm(), units={"x": "deg"})
    current = {"t": data["t"], "q": data["q"], "qd": data["qd"], "current": data["tau"] / 10 * 1e3}
    same(read_log(current, arm(), gains=10.0, units={"current": "mA"}), close=1e-9)
    sliding = da.load("pr-arm")  # a joint that slides, one that turns
    kinds = [joint.type for joint in sliding.robot.moving_joints]
    two = read_log(data, sliding, units={"q": "deg mm"})
    factors = [1e-3 if kind == "prismatic" else np.pi / 180 for kind in kinds]
    assert np.allclose(two.q, data["q"] * factors)


def test_every_column_has_the_unit_that_it_says(tmp_path: Path) -> None:
    sliding, rows = da.load("pr-arm"), table()  # joint 1 slides
    rows[:, 1:5] *= [1e3, 180 / np.pi] * 2
    header = "t,q1 [mm],q2 [deg],qd1 [mm/s],qd2 [deg/s],tau1 [N],tau2 [Nm]"
    path = text(tmp_path / "a.csv", header, rows)
    for columns in (None, {"q": "q1,q2", "qd": [3, 4]}):
        found = read_log(path, sliding, columns=columns)
        same(found, close=1e-9)
        assert any(note.endswith("was converted from mm, deg to SI") for note in found.notes)
    one, two = sliding.joint_names
    named = f"t,{two}.position [deg],{one}.position [mm],{one}.velocity [mm/s],{two}.velocity [deg/s],tau1,tau2"
    same(read_log(text(path, named, rows[:, [0, 2, 1, 3, 4, 5, 6]]), sliding), close=1e-9)
    text(path, header, rows)
    with pytest.raises(
        da.DalembertError, match="q of joint 1 is in 'deg', but the joint is prismatic; known units are m, mm"
    ):
        read_log(text(path, header.replace("[mm]", "[deg]"), rows), sliding)
    data = log()
    assert np.array_equal(read_log({**data, "q_deg": data["q"], "q": None}, sliding).q[:, 0], data["q"][:, 0])


# -- several logs --------------------------------------------------------------------------------


def test_several_logs_are_fitted_together() -> None:
    """Two halves at different rates, one without velocities, beside the whole; nothing is read across the seam."""
    data = whole()
    first = {name: values[:2000] for name, values in data.items()}
    second = {name: values[2000::2] for name, values in data.items() if name != "qd"}
    both = da.identify(arm(), [first, second], validate=[first, second], cutoff=8.0)
    one = da.identify(arm(), data, cutoff=8.0)
    assert len(both.run.conditioned.pieces) == 2 and len(both.validation) == 2
    assert both.relative_error < 0.01
    values = dict(zip(both.names, both.parameters, strict=True))  # two runs cannot rule out offsets, five blocks can
    assert set(values) - set(one.names) <= {"offset_1", "offset_2"}
    size = np.maximum(np.abs(one.parameters), 0.01 * np.abs(one.parameters).max())
    assert np.abs(([values[name] for name in one.names] - one.parameters) / size).max() < 0.02
    assert any("resampled from 100 Hz to 200 Hz" in note for note in both.notes)
    with pytest.raises(da.DalembertError, match="the list of logs is empty"):
        da.identify(arm(), [])
    with pytest.raises(da.DalembertError, match=r"between 0\.001 Hz and half the sampling rate, 50 Hz"):
        da.identify(arm(), [first, second], cutoff=60.0)


def test_joined_logs_keep_to_themselves() -> None:
    logs = [read_log(log(), arm()), read_log(log(), arm())]
    both = joined(logs)
    assert len(both) == 2 * ROWS and (np.diff(both.t) > 0).all()
    assert [len(one) for one in both.separate] == [ROWS, ROWS] and both.separate[1].qd is not None
    assert len(joined([one.part(0.0, 0.5) for one in logs])) == len(both.part(0.0, 0.5))
    assert len(condition(both, cutoff=5.0).pieces) == 2


def test_stretches_that_are_too_short_are_said() -> None:
    data = {name: np.delete(values, slice(30, 200), axis=0) for name, values in whole().items()}
    assert any(
        "1 of 2 stretches, 0.15 s in total, are too short" in note
        for note in da.identify(arm(), data, cutoff=8.0).notes
    )


def test_predict_gives_every_run_of_a_file_its_own_torques() -> None:
    """Two runs in one file with the same stamps, in ms, some rows without numbers."""
    data = whole()
    fit = da.identify(arm(), data, cutoff=8.0)
    turned = {"t": data["t"] * 1e3, "q": data["q"][::-1], "qd": -data["qd"][::-1]}
    twice = {name: np.concatenate([data[name] * (1e3 if name == "t" else 1.0), turned[name]]) for name in turned}
    twice["q"] = twice["q"].copy()
    twice["q"][100] = np.nan
    tau = fit.predict(twice, time_unit="ms")
    alone = fit.predict(turned, time_unit="ms")
    assert tau.shape == (8000, 2)
    assert np.abs(tau[4000:] - alone).max() < 1e-9 * np.abs(alone).max()
    assert np.linalg.norm(tau[:4000] - data["tau"]) / np.linalg.norm(data["tau"]) < 0.02


@pytest.mark.parametrize("rate", [50, 200, 1000, 5000])
def test_every_rate(rate: int) -> None:
    t, q, qd, qdd = motion(2, seconds=12.0, rate=rate, seed=3)
    fit = da.identify(arm(), {"t": 1.7e9 + t, "q": q, "qd": qd, "tau": np.asarray(arm().inverse_dynamics(q, qd, qdd))})
    assert fit.relative_error < 0.03
    assert not any("resampled" in note for note in fit.notes)  # stamps since 1970 are no finer than 0.2 µs


# -- what does not look like what it is --------------------------------------------------------------


@cache
def puma() -> tuple[da.Arm, dict[str, np.ndarray]]:
    """Within its limits, with a little noise, by an arm a fifth heavier than its description."""
    arm = da.load("puma560")
    t, q, qd, qdd = motion(6, seed=1)
    middle = [0.5 * (j.limits.lower + j.limits.upper) for j in arm.robot.moving_joints]
    q, qd, qdd = 0.35 * q + middle, 0.35 * qd, 0.35 * qdd
    tau = 1.2 * np.asarray(arm.inverse_dynamics(q, qd, qdd))
    return arm, {
        "t": t,
        "q": q,
        "qd": qd,
        "tau": tau + 0.02 * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape),
    }


def sign(*joints: int) -> np.ndarray:
    return np.where(np.isin(np.arange(1, 7), joints), -1.0, 1.0)


def order(a: int, b: int) -> list[int]:
    return [{a: b, b: a}.get(j, j) - 1 for j in range(1, 7)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: {"q": np.degrees(d["q"]), "qd": np.degrees(d["qd"])}, "which looks like degrees: units={'q': 'deg'}"),
        (lambda d: {"qd": np.degrees(d["qd"])}, "57.3 times the derivative of q, which looks like degrees per second"),
        (lambda d: {"qd": -d["qd"]}, "looks like the opposite sign"),
        (lambda d: {"t": d["t"] / 1e3 * 5}, "looks like time in another unit"),
        (lambda d: {"tau": 1e3 * d["tau"]}, "looks like N mm"),
        (lambda d: {"tau": d["tau"] * sign(2)}, "with the sign of the torque of 'joint2' reversed"),
        (lambda d: {"tau": -d["tau"]}, "with the signs of the torques of joint"),
        (lambda d: {"tau": d["tau"] * sign(5)}, "with the sign of the torque of 'joint5' reversed"),
        (lambda d: {"q": d["q"] * sign(5), "qd": d["qd"] * sign(5)}, "with the sign of q of 'joint5' reversed"),
        (lambda d: {k: d[k] * sign(2) for k in ("q", "qd", "tau")}, "with the direction of joint 'joint2' reversed"),
        (lambda d: {k: d[k][:, order(2, 3)] for k in ("q", "qd", "tau")}, "with joints 'joint2' and 'joint3' exchanged"),
        (lambda d: {"tau": d["tau"][:, order(1, 2)]}, "with the torques of 'joint1' and 'joint2' exchanged"),
        (lambda d: {"q": 100 * d["q"], "qd": 100 * d["qd"]}, "motor angles"),
        (lambda d: {"qd": 0 * d["qd"]}, "qd is zero throughout, although q moves"),
        (lambda d: {"tau": d["tau"] + 3e3 * (np.arange(len(d["t"])) % 97 == 5)[:, None] * (np.arange(6) == 1)},
         "tau of joint 'joint2' has 42 isolated outliers"),
        (lambda d: {"tau": d["tau"] * (np.arange(6) != 1)}, "the torques of joint2 are zero throughout"),
        (lambda d: {}, ""),
    ],
)  # fmt: skip
def test_odd_logs_say_what_they_look_like(change: Callable[[dict[str, Any]], dict[str, Any]], words: str) -> None:
    arm, data = puma()
    found = read_log({**data, **change(data)}, arm)
    said = suspicions(arm, found, condition(found), {})
    assert words in " ".join(said) if words else said == []


def test_exchanged_joints_that_move_alike_are_told() -> None:
    """Shoulder and elbow near each other's posture: both models explain most of the torques, one nearly all."""
    arm = da.load("puma560")
    t, q, qd, qdd = motion(6, seed=0)
    q, qd, qdd = 0.4 * q + np.random.default_rng(0).uniform(-0.5, 0.5, 6), 0.4 * qd, 0.4 * qdd
    tau = np.asarray(arm.with_payload(1.5, com=(0, 0, 0.05)).inverse_dynamics(q, qd, qdd))
    for swap, told in ((order(2, 3), True), (order(1, 1), False)):
        found = read_log({"t": t, "q": q[:, swap], "qd": qd[:, swap], "tau": tau[:, swap]}, arm)
        said = " ".join(suspicions(arm, found, condition(found), {}))
        assert ("with joints 'joint2' and 'joint3' exchanged" in said) == told
        assert ("the arm's own model would leave" in said) == told


def test_an_arm_that_rests_has_no_odd_velocities() -> None:
    arm, data = puma()
    q = data["q"][0] + 1e-6 * np.random.default_rng(0).normal(size=data["q"].shape)
    found = read_log({**data, "q": q, "qd": np.zeros_like(q)}, arm)
    assert not any("qd" in words for words in suspicions(arm, found, condition(found), {}))


@pytest.mark.skipif(not MODELS.exists(), reason="../shared/data is not here")
def test_real_logs_raise_no_suspicion_until_they_are_spoiled() -> None:
    arm = da.load("panda")
    data = dict(np.load(SHARED / "data" / "logs" / "panda_gaz.npz"))
    for changed, words in ((data, ""), ({**data, "tau": data["tau"] * (1 - 2 * (np.arange(7) == 4))}, "panda_joint5")):
        found = read_log(changed, arm)
        said = suspicions(arm, found, condition(found), {})
        assert words in " ".join(said) if words else said == []


def test_validation_logs_are_looked_at_too() -> None:
    data = whole()
    with pytest.warns(IdentificationWarning, match="which looks like degrees"):
        da.identify(arm(), data, {**data, "q": np.degrees(data["q"]), "qd": np.degrees(data["qd"])}, cutoff=8.0)
    with pytest.raises(da.DalembertError, match="the torques are zero throughout"):
        da.identify(arm(), {**data, "tau": 0 * data["tau"]}, cutoff=8.0)


# -- the command ---------------------------------------------------------------------------------


def test_command_reads_what_it_is_told_to(tmp_path: Path) -> None:
    arm().save(tmp_path / "arm.toml")
    rows = np.column_stack([whole()[name] for name in ("t", "q", "qd", "tau")])
    rows[:, 1:5] = np.degrees(rows[:, 1:5])
    rows[:, 0] *= 1e3
    words = ["identify", str(tmp_path / "arm.toml"), "--cutoff", "8", "--json", str(tmp_path / "fit.json"), "--force"]
    files = [str(text(tmp_path / "a.csv", None, rows[:2000])), str(text(tmp_path / "b.csv", None, rows[2000:]))]
    columns = ["--column", "t=0", "--column", "q=1:3", "--column", "qd=3:5", "--column", "tau=5:7"]
    units = ["--unit", "t=ms", "--unit", "q=deg", "--unit", "qd=deg/s", "--joints", "joint1 joint2"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = CliRunner().invoke(app, [*words, *files, *columns, *units])
    assert run.exit_code == 0, run.output
    found = json.loads((tmp_path / "fit.json").read_text())
    assert found["runs"][0]["name"] == "a.csv, b.csv" and found["runs"][0]["relative_error"] < 0.01
    for more, said in (
        ([files[0]], "the file has no header; assign its"),
        ([files[0], *columns, "--column", "q=3"], "--column gives q twice"),
        ([files[0], *columns, "--unit", "q=turns"], "the samples are 5 s apart"),
        ([files[0], *columns, *units[:2], "--unit", "q=turns"], "q is in 'turns'; known units are rad, deg"),
        ([files[0], *columns, *units[:2], "--topic", "/x"], "only ROS bags and MCAP files have topics"),
        ([str(tmp_path / "arm.toml")], "not '.toml'"),
    ):
        wrong = CliRunner().invoke(app, [*words, *more])
        assert wrong.exit_code == 2 and "Traceback" not in wrong.output
        assert said in " ".join(wrong.output.split()), wrong.output
    bad = text(tmp_path / "nan.csv", ",".join(HEADER), np.where(np.arange(7) == 5, np.nan, table()))
    wrong = CliRunner().invoke(app, [*words, str(bad)])
    assert wrong.exit_code == 2 and "tau of joint 'joint1' contains no number" in " ".join(wrong.output.split())


def test_a_position_that_stands_still_while_its_speed_does_not() -> None:
    """KR300's q_link: the wrist has no encoders at the links, and zeros stand there."""
    data = whole()
    with pytest.warns(IdentificationWarning, match=r"q of joint 'joint2' does not move, although its qd covers"):
        da.identify(arm(), {**data, "q": data["q"] * [1.0, 0.0]}, cutoff=8.0)
