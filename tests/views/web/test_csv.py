"""The page's reader of motions says and reads what dalembert's own does; its modules run in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.base.tables.signal_columns import declarations
from dalembert.work.trajectory.planning.motion_file import read_motion

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="the page's modules are run in Node")
JS = Path(da.__file__).parent / "views" / "web" / "js"


def in_node(script: str, given: Any) -> Any:
    """What a module writes to its output as JSON, with ``given`` as JSON on its input."""
    start = 'import { readFileSync } from "node:fs";\nconst given = JSON.parse(readFileSync(0, "utf8"));\n'
    source = start + script.replace("JS/", f"{JS.as_uri()}/")
    command = ["node", "--input-type=module", "--eval", source]
    run = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout)


READ_FILES = """
import { fileText, readMotion } from "JS/csv.js";
const answers = given.files.map((file) => {
  try {
    const bytes = Uint8Array.from(file.bytes).buffer;
    const motion = readMotion(file.name, fileText(file.name, bytes), given.arm);
    return Object.fromEntries(Object.entries(motion).map(([k, x]) => [k, ArrayBuffer.isView(x) ? Array.from(x) : x]));
  } catch (error) {
    if (error.constructor.name !== "FileError") throw error;
    return error.message;
  }
});
process.stdout.write(JSON.stringify(answers));
"""


def names_of(arm: da.Arm) -> dict[str, Any]:
    joints = [{"name": joint.name, "revolute": joint.type == "revolute"} for joint in arm.robot.moving_joints]
    return {"name": arm.name, "joints": joints, "column_words": declarations()}


def read_in_page(arm: da.Arm, *contents: bytes) -> list[Any]:
    files = [{"name": "motion.csv", "bytes": list(content)} for content in contents]
    answers: list[Any] = in_node(READ_FILES, {"arm": names_of(arm), "files": files})
    return answers


BAD = {
    "empty": b"",
    "blank lines": b"\n\n  \n",
    "comments only": b"# nothing\n",
    "header only": b"t,q1,q2\n",
    "no header": b"0,1,2\n1,2,3\n",
    "not utf-8": b"t,q1,q2\n0,\xff,1\n",
    "too few cells": b"t,q1,q2\n0,1,2\n1,2\n",
    "too many cells": b"t,q1,q2\n0,1,2,3\n",
    "text in a number column": b"t,q1,q2\n0,1,2\n0.1,one,2\n",
    "a quote in a cell": b't,q1,q2\n0,1,2\n0.1,"it\'s",2\n',
    "an empty cell": b"t,q1,q2\n0,1,2\n0.1,,2\n",
    "NaN": b"t,q1,q2\n0,1,2\n0.1,nan,2\n",
    "infinite": b"t,q1,q2\n0,1,2\n0.1,-inf,2\n",
    "overflow": b"t,q1,q2\n0,1,2\n0.1,1e999,2\n",
    "time goes back": b"t,q1,q2,qd1,qd2,qdd1,qdd2\n0,1,2,0,0,0,0\n0.2,1,2,0,0,0,0\n0.1,1,2,0,0,0,0\n",
    "instant twice": b"t,q1,q2\n0,1,2\n0.1,1,2\n0.1,1,3\n0.2,1,2\n",
    "three times": b"t,q1,q2,qd1,qd2,qdd1,qdd2\n0,1,2,0,0,0,0\n"
    + b"".join(b"0.1,1,2,0,0,%d,0\n" % k for k in range(3))
    + b"0.2,1,2,0,0,0,0\n",
    "first instant twice": b"t,q1,q2,qd1,qd2,qdd1,qdd2\n0,1,2,0,0,0,0\n0,1,2,0,0,1,0\n1,1,2,0,0,1,0\n",
    "one row": b"t,q1,q2,qd1,qd2,qdd1,qdd2\n0,1,2,0,0,0,0\n",
    "another number of joints": b"t,q1,q2,q3\n0,1,2,3\n1,2,3,4\n",
    "a column is missing": b"t,q1,q2,qd1\n0,1,2,3\n",
    "time is missing": b"q1,q2\n0,1\n",
    "a column is unknown": b"t,q1,q2,qqd1\n0,1,2,3\n",
    "two columns are unknown": b"t,q1,q2,apple,pear\n0,1,2,3,4\n",
    "a column has no name": b"t,q1,,q2\n0,1,2,3\n",
    "a column twice": b"t,q1,q1,q2\n0,1,2,3\n",
    "a gap in the numbers": b"t,q1,q3\n0,1,2\n",
    "unknown unit": b"t,q1 [furlong],q2\n0,1,2\n",
    "unit of the other kind": b"t,q1 [mm],q2 [deg]\n0,1,2\n",
    "other joints": b"t,knee.position,hip.position\n0,1,2\n",
    "two kinds of position": b"time,theta_1,theta_2,pos_1,pos_2\n0,1,2,3,4\n",
    "a payload without a mass": b"t,q1,q2,qd1,qd2,qdd1,qdd2,payload_x\n0,1,2,0,0,0,0,1\n1,1,2,0,0,0,0,1\n",
    "a negative payload": b"t,q1,q2,qd1,qd2,qdd1,qdd2,payload\n0,1,2,0,0,0,0,-1\n1,1,2,0,0,0,0,-1\n",
    "an impossible payload": b"t,q1,q2,qd1,qd2,qdd1,qdd2,payload,payload_ixx\n"
    + b"0,1,2,0,0,0,0,1,5\n1,1,2,0,0,0,0,1,5\n",
    "unit of a payload": b"t,q1,q2,payload [stone]\n0,1,2,1\n",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_file_gives_the_sentence_of_read_trajectory(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    arm = da.load("planar-2r")
    monkeypatch.chdir(tmp_path)
    Path("motion.csv").write_bytes(BAD[name])
    with pytest.raises(da.DalembertError) as error:
        da.read_trajectory("motion.csv", arm)
    (sentence,) = read_in_page(arm, BAD[name])
    assert str(error.value).startswith(sentence)  # Python also names options, which a page does not have


def test_too_few_rows_for_a_derivative_and_too_large_a_file_are_refused() -> None:
    arm = da.load("pendulum")
    few, large = read_in_page(arm, b"t,q1\n0,0\n1,1\n2,4\n", b"t,q1\n" + b"0,0\n" * 5_000_000)[:2]
    assert few == (
        "motion.csv: the columns qd1 … and qdd1 … are missing and cannot be derived: a derivative needs values at 6 times or "
        "more, not 3"
    )
    assert large == "motion.csv: the motion has 20000005 bytes; the maximum is 20000000"


GOOD = {
    "a row twice": b"t,q1,q2\n" + b"".join(b"%d,%d,1\n" % (k, k * k) for k in (0, 1, 2, 3, 3, 4, 5, 6, 7)),
    "German": b"Zeit [s];Winkel Gelenk 1 [deg];Winkel Gelenk 2 [deg]\n"
    + b"".join(b"%d;%d;1\n" % (k, k * k) for k in range(8)),
    "semicolons and decimal commas": b"t;q1;q2\n" + b"".join(b"0,%d;%d,5;-1\n" % (k, k * k % 7) for k in range(9)),
    "tabs": b"t\tq1\tq2\n" + b"".join(b"%d\t%d\t1\n" % (k, k * k) for k in range(8)),
    "blanks": b"t q1 q2\n" + b"".join(b"%d   %d  1\n" % (k, k * k) for k in range(8)),
    "a comment as numpy writes it": b"# t q1 q2\n" + b"".join(b"%d %d 1\n" % (k, k * k) for k in range(8)),
    "degrees": b"t,q1 [deg],q2 [deg]\n" + b"".join(b"%d,%d,1\n" % (k, k * k) for k in range(8)),
    "milliseconds and degrees a second": b"time [ms],q1,q2,qd1 (deg/s),qd2 (deg/s)\n"
    + b"".join(b"%d,%d,1,%d,0\n" % (k, k * k, 2 * k) for k in range(8)),
    "joint names": b"time,joint2.position,joint1.position\n" + b"".join(b"%d,%d,1\n" % (k, k * k) for k in range(8)),
    "joint names behind a prefix": b"t,arm_joint2_pos,arm_joint1_pos,arm_gripper_pos\n".replace(
        b",arm_gripper_pos", b""
    )
    + b"".join(b"%d,%d,1\n" % (k, k * k) for k in range(8)),
    "numbers in brackets": b"t,q[0],q[1]\n" + b"".join(b"%d,%d,1\n" % (k, k * k) for k in range(8)),
    "commas at the ends of lines": b"t,q1,q2,\n" + b"".join(b"%d,%d,1,\n" % (k, k * k) for k in range(8)),
    "later beginning, torques left aside": b"t,q1,q2,tau1,tau2\n"
    + b"".join(b"%d,%d,1,5,6\n" % (k + 3, k * k) for k in range(8)),
    "velocities but no accelerations": b"t,q1,q2,qd1,qd2\n"
    + b"".join(b"%d,%d,1,%d,0\n" % (k, k * k, 2 * k) for k in range(8)),
    "byte order mark and quotes": b'\xef\xbb\xbf"t","q1","q2"\n'
    + b"".join(b'%d,"%d",1\n' % (k, k * k) for k in range(8)),
    "a joint that is held": b"t,q1,q2\n" + b"".join(b"%d,%d,%d\n" % (k, 5 * (k > 4), k * k) for k in range(14)),
    "held twice, uneven steps": b"t,q1,q2\n"
    + b"".join(
        b"%.3f,%.4f,%.4f\n" % (k + 0.3 * np.sin(k), min(max(k - 4, 0), 5) ** 2, np.sin(k) * (k < 9)) for k in range(20)
    ),
    "a spline that swings between waypoints": b"t,q1,q2\n0,0,0\n1,0.1,1\n2,3,2\n3,3.1,3\n4,0.2,4\n5,0,5\n6,0.1,6\n",
    "payload in grams and a wrench": b"t,q1,q2,payload [g],payload_x [mm],payload_ixx,payload_izz,fx,mz\n"
    + b"".join(b"%d,%d,1,%d,50,%d,%d,%d,0\n" % (k, k * k, 1500 * (k > 3), k, k, 5 * (k < 6)) for k in range(8)),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_file_reads_as_read_motion_reads_it(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    arm = da.load("planar-2r")
    monkeypatch.chdir(tmp_path)
    Path("motion.csv").write_bytes(GOOD[name])
    table = read_motion("motion.csv", arm, strict=True)
    (motion,) = read_in_page(arm, GOOD[name])
    assert isinstance(motion, dict), motion
    rows = np.searchsorted(table.t - table.t[0], motion["t"])
    for group in ("q", "qd", "qdd"):
        np.testing.assert_allclose(
            np.reshape(motion[group], (-1, 2)), getattr(table, group)[rows], rtol=1e-12, atol=1e-12
        )
    for note in (*table.notes, *table.doubts):
        assert note in motion["note"]
    for kind in ("payload", "wrench"):
        values = getattr(table, kind)
        got = [motion["loads"][k][kind] for k in motion["load"]]
        if values is not None:
            last = np.append(np.diff(rows) > 0, True)  # of a row that stands twice, the second side
            np.testing.assert_allclose(np.array(got)[last], values, rtol=1e-13, atol=1e-15)


def test_written_motion_is_read_back_to_the_last_bit(tmp_path: Path) -> None:
    """What ``Trajectory.save`` writes goes through the page's reader and writer unchanged."""
    arm = da.load("planar-2r")
    motion = da.trapezoidal([0.1, 0.2], [1.0, -0.5], acceleration_time=0.2, max_velocity=2.0)
    motion = motion.with_payload(3.0, (0.05, 0.0, 0.02), start=0.3).with_tip_wrench([0, 5, 0, 0, 0, 0.5], end=0.4)
    path = tmp_path / "motion.csv"
    motion.save(path, arm=arm)
    written = in_node(
        """
        import { readMotion, writeMotion } from "JS/csv.js";
        import { Motion } from "JS/motion.js";
        const motion = new Motion(readMotion("motion.csv", given.text, given.arm), 2);
        const rows = motion.nodes(motion.t.map((_, k) => k));
        process.stdout.write(JSON.stringify(writeMotion(rows, new Float64Array(rows.q.length), given.arm.column_words)));
        """,
        {"text": path.read_text(), "arm": names_of(arm)},
    )
    again = tmp_path / "again.csv"
    again.write_text(written)
    first, second = da.read_trajectory(path, arm), da.read_trajectory(again, arm)
    np.testing.assert_array_equal(first.t, second.t)
    for group in ("q", "qd", "qdd"):
        np.testing.assert_array_equal(getattr(first, group), getattr(second, group))
    assert [str(event) for event in first.events] == [str(event) for event in second.events]
    t = np.linspace(0.0, first.duration, 301)
    np.testing.assert_allclose(first.torques(arm, t), second.torques(arm, t), rtol=1e-12, atol=1e-9)


def test_quintic_pieces_of_the_page_are_those_of_read_trajectory(tmp_path: Path) -> None:
    arm = da.load("planar-2r")
    motion = da.fourier(np.array([[[0.4, 0.1], [0.3, -0.2]], [[0.0, 0.2], [0.1, 0.1]]]), 0.7)
    path = tmp_path / "motion.csv"
    motion.save(path, rate=100.0)
    t = np.linspace(0.0, motion.duration, 777)
    states = in_node(
        """
        import { readMotion } from "JS/csv.js";
        import { Motion } from "JS/motion.js";
        const motion = new Motion(readMotion("motion.csv", given.text, given.arm), 2);
        const states = given.t.map((t) => motion.at(t));
        const group = (name) => states.map((state) => Array.from(state[name]));
        process.stdout.write(JSON.stringify([group("q"), group("qd"), group("qdd")]));
        """,
        {"text": path.read_text(), "arm": names_of(arm), "t": t.tolist()},
    )
    for got, expected in zip(states, da.read_trajectory(path, arm)(t), strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9)
