"""Everything that reads, one row per reader: its name, the suffix of its files, seeds made on the spot, how it is called.

An entry gets the path of a file with the input in it; what is read from the command line or from Python finds its text
there too. Whatever an entry raises other than a DalembertError is a finding.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
import folders  # noqa: F401
from dalembert.base.tables.units import parse_angle
from dalembert.compiler.kernel import cache as kept
from dalembert.errors import DalembertError
from dalembert.robot.readers.limits_file import with_limits
from dalembert.robot.readers.load import LIBRARY
from dalembert.robot.readers.mjcf import read_mjcf
from dalembert.robot.readers.urdf import parse_urdf
from dalembert.views.cli.compare import joints_of
from dalembert.views.cli.ellipsoid import limits_of
from dalembert.views.cli.identify import boxes_of, couplings_of, terms_of
from dalembert.views.cli.options import LogReading, list_of, numbers_of, pairs_of
from dalembert.work.identification.fitting.model_parameters import drives_of
from dalembert.work.logs.formats.raw import Request
from dalembert.work.logs.formats.rosbag import read_bag
from dalembert.work.logs.log import episodes_of, read_log
from dalembert.work.tip.task_rows import space_of, with_frame
from dalembert.work.trajectory.planning.motion_file import read_motion

Seeds = Iterable[bytes]


@dataclass(frozen=True)
class Target:
    """A reader: ``seeds`` may use a folder to write in; ``words`` are those that its format gives a meaning."""

    name: str
    suffix: str
    seeds: Callable[[Path], Seeds]
    entry: Callable[[Path], object]
    words: tuple[bytes, ...] = ()


@cache
def arm() -> da.Arm:
    return da.load("planar-2r")


# -- robots ----------------------------------------------------------------------------------------

MJCF = (
    '<mujoco><compiler angle="degree"/><worldbody><body name="a" pos="0 0 1"><inertial pos="0 0 .1" mass="1" '
    'diaginertia=".1 .1 .1"/><joint name="j1" axis="0 0 1" range="-90 90" damping=".1" armature=".01"/><body name="b" '
    'pos="1 0 0" quat="1 0 0 0"><geom type="capsule" fromto="0 0 0 1 0 0" size=".1"/><joint name="j2" type="slide"/>'
    '<site name="tip"/></body></body></worldbody><actuator><motor joint="j1" gear="2"/></actuator></mujoco>',
    '<mujoco><default><joint damping="1"/></default><asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset>'
    '<worldbody><replicate count="2" euler="0 0 90"><body><geom size=".1"/><joint axis="0 0 1"/></body></replicate>'
    '</worldbody><keyframe><key qpos="0 0"/></keyframe></mujoco>',
)  # fmt: skip
MJCF_WORDS = (
    b"<freejoint/>", b'<joint type="ball"/>', b"<include", b"<composite", b"<flexcomp", b"<replicate", b"count=", b"<frame",
    b"<attach", b'mass="', b"fullinertia=", b"inertiafromgeom=", b"<mesh", b"<option", b"gravity=", b"childclass=", b"<tendon",
)  # fmt: skip


DH_TABLES = (
    "Arm;;;\njoint;type;a_i-1 [mm];α_i-1 (°);d [mm];θ;m [kg];Im [kg cm²];kr;min [deg, mm]\n1;R;0;-90;400,5;q1 + 90;3;0,2;1:100;-170\n"
    "2;P;0;0;*;0;1;;;0\nflange;F;0;0;100;0\n\nTotal;;;;;;4\n",
    "# convention: modified\na,alpha,d,theta,mass,cx,Ixx,Iyy,effort\n0.5,pi/2,0,,1,0.1,0.2,0.2,10 N cm\n0,90 deg,,0,,,,,\n",
)
TABLE_WORDS = (b"[mm]", b"(deg)", b"q1", b"*", b";", b",", b"alpha", b"1e999", b"nan", b"\"", b"+", b"# gravity: 0 0 1", b"\xff\xfe")  # fmt: skip


def saved(suffix: str, *names: str) -> Callable[[Path], Seeds]:
    """Shipped arms in another format."""

    def seeds(folder: Path) -> Iterator[bytes]:
        for name in names:
            path = folder / f"seed{suffix}"
            da.load(name).save(path)
            yield path.read_bytes()

    return seeds


def shipped(*names: str) -> Callable[[Path], Seeds]:
    return lambda folder: [(LIBRARY / f"{name}.toml").read_bytes() for name in names]


# every term of friction, and a weight that is carried in part
WITH_FRICTION = {
    "viscous": 0.3, "coulomb": [0.4, 0.2], "offset": -0.3, "stribeck": {"level": 0.7, "speed": 0.5},
    "tanh": {"level": 0.6, "width": 0.3, "centre": 0.1}, "sigmoid": {"level": 0.5, "width": 0.4}, "load": 0.1,
    "gear": {"driving": 0.1, "driven": 0.2}, "harmonic": [{"order": 1, "sine": 0.4}, {"order": 4, "cosine": -0.3}],
    "drag": {"level": 0.2}, "spring": {"stiffness": 3.0, "rest": 0.4}, "gas_spring": {"force": 30.0, "a": 0.1, "b": 0.3, "rate": 20.0},
}  # fmt: skip


def with_friction(suffix: str) -> Callable[[Path], Seeds]:
    """An arm whose joints have all of them that they can have."""

    def seeds(folder: Path) -> Iterator[bytes]:
        robot = da.load("pr-arm").robot
        whole = da.Friction(**WITH_FRICTION)
        friction = {"prismatic": whole.without("gas_spring")}  # which requires a revolute joint
        joints = tuple(replace(joint, friction=friction.get(joint.type, whole)) for joint in robot.joints)
        links = tuple(replace(link, weight=0.4) for link in robot.links)
        da.Arm(robot.replace(joints=joints, links=links)).save(folder / f"seed{suffix}")
        yield (folder / f"seed{suffix}").read_bytes()

    return seeds


def loaded_and_saved(*suffixes: str) -> Callable[[Path], None]:
    """What was read is written, and read again."""

    def entry(path: Path) -> None:
        loaded = da.load(path)
        for suffix in suffixes:
            other = path.with_name(f"again{suffix}")
            other.unlink(missing_ok=True)  # a file system may write what takes another's place to the disk at once
            loaded.save(other)
            da.load(other)

    return entry


def table_of_rows(path: Path) -> None:
    """DH rows as Python has them, through JSON; what is no JSON is an angle."""
    text = path.read_bytes().decode(errors="replace")
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        parse_angle(text)
        return
    if isinstance(rows, list):
        da.from_dh(rows)
        da.from_dh(rows, "modified")


ROWS: tuple[Any, ...] = (
    [[1.0, "pi/2", 0, "90 deg"], [0.5, 0.0, "q", 0]],
    [
        {
            "type": "prismatic", "a": 0.1, "alpha": "-3 pi / 4", "d": 0.2, "theta": 1, "mass": 2.0, "com": [0, 0, 1],
            "inertia": {"xx": 1, "yy": 1, "zz": 1, "xy": 0.1}, "limits": {"lower": -1, "upper": 1, "effort": 3},
            "friction": {"viscous": 1, "coulomb": [1, 2]}, "rotor": {"inertia": 0.1, "gear": 100}, "name": "j", "note": "n",
        }
    ],
)  # fmt: skip


def dh_rows(folder: Path) -> Seeds:
    return [*(json.dumps(rows).encode() for rows in ROWS), b" - 3 pi / 4 ", b"1.5e3 deg"]


LIMITS = {
    ".toml": (b"effort = 10\nvelocity = [1.0, 2.0]\n[joints.joint1]\nlower = -1\nupper = 1.5\nacceleration = 3\n",),
    ".csv": (b"joint,effort,velocity,lower,upper\njoint1,10,2,-1,1\njoint2,5,-,,\n",),
    ".txt": (b"effort: 10 20; velocity: 2; lower: -1,-2; acceleration: - 3",),
}
LIMIT_WORDS = (b"effort", b"velocity", b"acceleration", b"lower", b"upper", b"joint", b"joints", b"joint1", b";", b":")


def limits(path: Path) -> None:
    text = str(path) if path.suffix != ".txt" else path.read_bytes().decode(errors="replace")
    with_limits(arm().robot, text)


# -- motions and logs ------------------------------------------------------------------------------

COUNT = 12  # rows
HEADER = ("t", "q1", "q2", "qd1", "qd2", "tau1", "tau2")
WORDS = tuple(
    name.encode() for name in (*HEADER, "qdd1", "temp1", "position", "elbow", "[deg]", "current", "nan", ";", "\t", '"')
)


def recorded() -> dict[str, Any]:
    """A short log of planar-2r."""
    t = 0.005 * np.arange(COUNT)
    q = np.column_stack([np.sin(t), np.cos(t)])
    return {"t": t, "q": q, "qd": np.gradient(q, axis=0) / 0.005, "tau": 3.0 * q}


def rows_of(names: Iterable[str], between: str = ",", start: str = "") -> bytes:
    log = recorded()
    table = np.column_stack([log["t"], log["q"], log["qd"], log["tau"]])[:, : len(list(names))]
    lines = [start + between.join(names), *(between.join(f"{x:.6g}" for x in row) for row in table)]
    return ("\n".join(lines) + "\n").encode()


def texts(folder: Path) -> Seeds:
    dated = rows_of(HEADER).replace(b"\n0,", b"\n2024-01-01 00:00:00,").replace(b"\n0.0", b"\n2024-01-01 00:00:00.0")
    words = "time [s]", "joint1.position", "joint2.position", "joint1_vel", "joint2_vel", "effort[0]", "effort[1]"
    return [
        rows_of(HEADER), rows_of(HEADER, ";").replace(b".", b","), rows_of(HEADER, " ", "# "), rows_of(words, "\t"), dated,
        rows_of(HEADER).decode().encode("utf-16"), rows_of(HEADER).replace(b"\n", b",\n"), b"% text\n" + rows_of(HEADER),
    ]  # fmt: skip


def motions(folder: Path) -> Seeds:
    moves = HEADER[:5]
    tau = rows_of(HEADER)
    return [rows_of(moves), rows_of(moves[:3]), tau, rows_of(moves, start="# ")]


def read_motions(path: Path) -> None:
    try:
        da.read_trajectory(path)
    except DalembertError:
        read_motion(path, torques=True)
    read_motion(path, da.load("planar-2r"), cutoff=10.0)


def log(path: Path) -> None:
    read_log(path, arm())


def bag_here(path: Path) -> None:
    """A bag in this process, where coverage shows; the helper tells that memory is short in a sentence."""
    try:
        read_bag(path, Request(arm().joint_names))
    except MemoryError:
        raise DalembertError("out of memory") from None


def numbered(path: Path) -> None:
    """A matrix, whose columns are said."""
    read_log(path, arm(), columns={"t": 0, "q": "1:3", "qd": "3:5", "tau": "5:7"})


def archives(folder: Path) -> Iterator[bytes]:
    for save in (np.savez, np.savez_compressed):
        made = io.BytesIO()
        save(made, joint_names=np.array(["joint1", "joint2"]), **recorded())
        yield made.getvalue()


def array(values: Any) -> bytes:
    made = io.BytesIO()
    np.save(made, np.asarray(values))
    return made.getvalue()


def matrix(folder: Path) -> Seeds:
    log = recorded()
    table = np.column_stack([log["t"], log["q"], log["qd"], log["tau"]])
    return [array(table), array(np.asfortranarray(table)), array(table.astype(">f4"))]


def members(folder: Path) -> Seeds:
    q = recorded()["q"]
    return [array(q), array(q.astype("f2")), array(q.astype(">f4")), array(q.astype("i8"))]


def words(folder: Path) -> Seeds:
    return [array(np.array(["joint2", "joint1"])), array(np.array([b"joint1", b"joint2"]))]


def in_archive(name: str, path: Path) -> None:
    """One member of an npz is the input; the archive around it is whole."""
    data, whole = path.read_bytes(), recorded()
    archived = path.with_name("archive.npz")
    archived.unlink(missing_ok=True)
    with zipfile.ZipFile(archived, "w") as archive:
        for other, values in whole.items():
            if other != name:
                archive.writestr(f"{other}.npy", array(values))
        archive.writestr(f"{name}.npy", data)
    log(archived)


def matlab(folder: Path) -> Iterator[bytes]:
    from scipy.io import savemat

    for how in ({"do_compression": False}, {"do_compression": True}, {"format": "4"}):
        made = io.BytesIO()
        savemat(
            made,
            recorded() | ({} if "format" in how else {"log": {"q": [1.0], "joint_names": ["joint1", "joint2"]}}),
            **how,
        )
        yield made.getvalue()


def parquets(folder: Path) -> Iterator[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    log = recorded()
    flat = dict(zip(HEADER, np.column_stack([log["t"], log["q"], log["qd"], log["tau"]]).T, strict=True))
    lists = {"t": log["t"], **{name: log[name].tolist() for name in ("q", "qd", "tau")}}
    for columns, how in ((flat, {"compression": "none"}), (lists, {"compression": "none"}), (flat, {}), (lists, {"compression": "zstd"})):  # fmt: skip
        made = io.BytesIO()
        parquet.write_table(pa.table(columns), made, **how)
        yield made.getvalue()


def frames(folder: Path) -> Iterator[bytes]:
    """Tables as LeRobot writes them: of one episode, and of two."""
    import pyarrow as pa
    from pyarrow import parquet

    log, count = recorded(), np.arange(2 * COUNT)
    for rows in (count[:COUNT], count):
        frame = rows % COUNT
        columns = {
            "observation.state": pa.array(list(log["q"][frame]), pa.list_(pa.float32(), 2)),
            "action": list(log["q"][frame]),
        }
        columns |= {"observation.effort": list(log["tau"][frame]), "timestamp": log["t"][frame].astype("f4")}
        columns |= {"frame_index": frame, "episode_index": rows // COUNT, "index": rows, "task_index": 0 * rows}
        written = io.BytesIO()
        parquet.write_table(pa.table(columns), written, compression="none")
        yield written.getvalue()


INFO = {
    "codebase_version": "v3.0", "fps": 200, "total_episodes": 2, "data_path": "data/chunk-{chunk_index:03d}/file.parquet",
    "features": {
        "observation.state": {"dtype": "float32", "shape": [2], "names": {"motors": ["joint1.pos", "joint2.pos"]}},
        "observation.effort": {"dtype": "float32", "shape": [2], "names": ["joint2_nm", "joint1_nm"]},
        "observation.images.top": {"dtype": "video", "shape": [4, 4, 3], "names": ["height", "width", "c"]},
    },
}  # fmt: skip


def infos(folder: Path) -> Seeds:
    table = folder / "dataset" / "data" / "chunk-000" / "file-000.parquet"
    table.parent.mkdir(parents=True, exist_ok=True)
    table.write_bytes(list(frames(folder))[1])
    (folder / "dataset" / "meta").mkdir(exist_ok=True)
    bare = {**INFO, "features": {"observation.state": {"names": None}, "action": {"names": [["a", "b"]]}}}
    return [json.dumps(INFO, indent=1).encode(), json.dumps(bare).encode()]


def dataset(path: Path) -> None:
    """The input is the meta/info.json of a dataset whose table is whole."""
    info = path.parent / "dataset" / "meta" / "info.json"
    info.unlink(missing_ok=True)
    info.write_bytes(path.read_bytes())
    log(info.parent.parent)


def messages() -> list[Any]:
    log = recorded()
    return [
        ("/joint_states", ["joint2", "joint1"], 1.7e9 + t, [list(row[::-1]) for row in rows])
        for t, *rows in zip(log["t"], log["q"], log["qd"], log["tau"], strict=True)
    ]


def ros1_bags(folder: Path) -> Iterator[bytes]:
    from rosbags.rosbag1 import Writer

    from test_logs import write_ros1

    for compression in (None, Writer.CompressionFormat.BZ2, Writer.CompressionFormat.LZ4):
        path = folder / "seed.bag"
        path.unlink(missing_ok=True)
        write_ros1(path, messages(), compression)
        yield path.read_bytes()


def ros2_folder(folder: Path) -> Path:
    """A small ROS 2 bag."""
    from test_logs import write_ros2

    bag = folder / "seed"
    shutil.rmtree(bag, ignore_errors=True)
    write_ros2(bag, messages())
    with sqlite3.connect(next(bag.glob("*.db3")), isolation_level=None) as database:
        database.execute("PRAGMA page_size = 512")
        database.execute("VACUUM")
    database.close()
    return bag


def databases(folder: Path) -> Seeds:
    return [next(ros2_folder(folder).glob("*.db3")).read_bytes()]


def descriptions(folder: Path) -> Seeds:
    return [(ros2_folder(folder) / "metadata.yaml").read_bytes()]


def described(path: Path) -> None:
    """The input is the metadata.yaml of a bag whose database is whole."""
    bag = path.parent / "seed"
    (bag / "metadata.yaml").unlink()
    (bag / "metadata.yaml").write_bytes(path.read_bytes())
    log(bag)


def mcaps(encoding: str) -> Callable[[Path], Seeds]:
    def seeds(folder: Path) -> Iterator[bytes]:
        from mcap.writer import CompressionType

        from test_logs import write_mcap

        for how in (
            {"use_chunking": False}, {"compression": CompressionType.NONE}, {"compression": CompressionType.LZ4}, {}
        ):  # fmt: skip
            yield write_mcap(folder / "seed.mcap", messages(), encoding, **how).read_bytes()

    return seeds


# -- the command line ------------------------------------------------------------------------------

OPTIONS: tuple[tuple[Callable[[str], object], str], ...] = (
    (lambda text: numbers_of("--q", text, "q1 q2"), "0.1, -2e3"),
    (lambda text: list_of("--gains", text), "1 2,3"),
    (lambda text: pairs_of("--unit", text.split()), "q=deg t=ms"),
    (lambda text: boxes_of(text.split(";")), "link1=0 0 0 1 1 1;link2=-1 -1 -1 1 1 1"),
    (lambda text: terms_of(text.split(), arm().joint_names), "1:spring:rest=0.2 joint2:stribeck:speed=0.1"),
    (lambda text: drives_of(arm(), couplings_of(text.split())), "1:2 joint1:joint2:0.5"),
    (joints_of, "2..12"),
    (episodes_of, "0:5, 7, 9:"),
    (lambda text: limits_of(arm(), text, "effort"), "1 2"),
    (lambda text: space_of(arm(), with_frame(arm(), "tip"), "zyz", text), "x y"),
    (da.load, "planar-2r"),
    (lambda text: bound_of(text.replace("\0", "")), "512"),
)


def bound_of(text: str) -> int:
    """The size of the cache that the environment says."""
    os.environ["DALEMBERT_CACHE_SIZE"] = text
    try:
        return kept.bound()
    finally:
        del os.environ["DALEMBERT_CACHE_SIZE"]


def option_texts(folder: Path) -> Seeds:
    return [bytes([k]) + text.encode() for k, (_, text) in enumerate(OPTIONS)]


def option(path: Path) -> None:
    data = path.read_bytes()
    if data:
        OPTIONS[data[0] % len(OPTIONS)][0](data[1:].decode(errors="replace"))


def reading_options(folder: Path) -> Seeds:
    (folder / "log.csv").write_bytes(rows_of(HEADER))
    return [
        b"q=q\ntau=5:7\nt=0\n\nq=deg\ntau=N m\n\n\n\n\n\n",
        b"q=q1,q2\ncurrent=tau\nt=t\n\nt=s\n\n1 2\n2 3\nq,tau\njoint2 joint1",
        b"q=1,2\nqd=3:5\ntau=tau\n\nqd=deg/s\n\n\n1 0 1 1\nq qd\n\ns",
    ]


def reading_option(path: Path) -> None:
    """Lines of --column, an empty one, of --unit, an empty one, then gains, gears, motor side, joints and time unit."""
    columns, _, rest = path.read_bytes().decode(errors="replace").partition("\n\n")
    units, _, rest = rest.partition("\n\n")
    gains, gears, side, joints, unit, *_ = (line or None for line in [*rest.split("\n"), "", "", "", "", ""])
    given = LogReading(
        columns.split("\n"), units.split("\n") if units else None, joints,
        gains=gains, gears=gears, motor_side=side, time_unit=unit,
    )  # fmt: skip
    read_log(path.with_name("log.csv"), arm(), **given.keywords(2))


# -- compiled kernels on disk ----------------------------------------------------------------------

KEY = "0" * 64


def own_cache(folder: Path) -> None:
    os.environ["DALEMBERT_CACHE"], os.environ["XDG_STATE_HOME"] = str(folder / "cache"), str(folder / "state")


def kept_objects(folder: Path) -> Seeds:
    own_cache(folder)
    kept.store(KEY, b"code")
    return [(kept.folder() / f"{KEY}.o").read_bytes()]


def kept_object(path: Path) -> None:
    """An object is taken exactly as it was kept, or not at all."""
    file = kept.folder() / f"{KEY}.o"
    file.unlink(missing_ok=True)  # ``verify`` removes those that are not good
    file.write_bytes(path.read_bytes())
    if kept.load(KEY) not in (None, b"code"):
        raise AssertionError("an object that was changed is taken")
    kept.verify()


def secrets(folder: Path) -> Seeds:
    own_cache(folder)
    kept.store(KEY, b"code")
    return [kept._secret_file().read_bytes(), b"", bytes(31)]


def secret(path: Path) -> None:
    """With any secret, what is kept is found again, and what was kept with another is not taken."""
    kept._secret_file().unlink()
    kept._secret_file().write_bytes(path.read_bytes())
    kept._secret_file().chmod(0o600)
    if kept.load(KEY) not in (None, b"code"):
        raise AssertionError("an object of another secret is taken")
    kept.store(KEY, b"code")
    if kept.load(KEY) != b"code":
        raise AssertionError("what was kept is not found")


# -- the table -------------------------------------------------------------------------------------

XML_WORDS = (
    b"<link name=", b"<joint name=", b' type="prismatic"', b' type="fixed"', b"<origin xyz=", b"<mimic joint=", b"<axis xyz=",
    b"<limit ", b"<dynamics ", b"<dalembert ", b"<rotor ", b"<!DOCTYPE", b"<!ENTITY", b"&a;", b"&#0;", b"<![CDATA[", b"<!--",
)  # fmt: skip
TOML_WORDS = (
    b"[[joint]]\n", b"[[link]]\n", b"[[loop]]\n", b"[tip]\n", b"[base]\n", b"[payload]\n", b'convention = "frames"\n', b'"pi/2"',
    b"= [", b"{", b"}", b'"""', b"'''", b"0x", b"1979-05-27", b"true", b"rotor = ", b"limits = ", b"physical = false\n",
)  # fmt: skip

NPY_WORDS = (b"'descr': ", b"'<f8'", b"'|O'", b"'<U9'", b"'<M8[s]'", b"[('a', '<f8')]", b"(12, 2)", b"True")
INFO_WORDS = (
    b'"fps": ',
    b'"features": ',
    b'"names": ',
    b'"motors"',
    b'"joint1.vel"',
    b'"joint1 [deg]"',
    b"[[",
    b"{}",
    b"1e999",
    b"NaN",
    b"null",
)
BAG_WORDS = (b"op=", b"conn=", b"topic=", b"chunk_pos=", b"compression=bz2", b"size=")
DATABASE_WORDS = (b"CREATE VIEW ", b" AS (", b"topics", b"messages", b"schema")

# a robot with all that a URDF file keeps, and one in the words of SDF
KEPT = (
    '<robot name="r"><material name="m"><color rgba="1 0 0 1"/></material><link name="a"><visual name="v"><origin xyz="0 0 1"/>'
    '<geometry><mesh filename="a.stl" scale="1 1 1"/></geometry><material name="m"/></visual></link><link name="b"><collision>'
    '<geometry><box size="1 1 1"/></geometry></collision></link><joint name="j" type="continuous"><parent link="a"/><child '
    'link="b"/><safety_controller k_velocity="1"/></joint><transmission name="t"><joint name="j"/><actuator name="m">'
    '<mechanicalReduction>9</mechanicalReduction><drake:rotor_inertia value="1"/></actuator></transmission></robot>'
)  # fmt: skip
SDF = (
    '<sdf version="1.9"><world name="w"><gravity>0 0 -9</gravity><model name="m"><pose>0 0 1 0 0 0</pose><link name="a"><inertial>'
    "<mass>1</mass><inertia><ixx>1</ixx></inertia></inertial></link><frame name='f' attached_to='a'><pose>1 0 0 0 0 0</pose></frame>"
    '<model name="n" placement_frame="b"><link name="b"><pose relative_to="__model__">0 0 1 0 0 0</pose></link></model><joint '
    'name="j" type="revolute"><parent>world</parent><child>a</child><axis><xyz expressed_in="f">0 0 1</xyz><limit><lower>-1'
    '</lower></limit><dynamics><damping>1</damping></dynamics></axis></joint><joint name="k" type="screw"><parent>f</parent>'
    "<child>n::b</child><axis><xyz>1 0 0</xyz></axis><screw_thread_pitch>1</screw_thread_pitch></joint></model></world></sdf>"
)  # fmt: skip
SDF_WORDS = (
    b"<link name=", b' type="universal"', b' type="fixed"', b"<pose relative_to=", b"<frame name=", b" attached_to=", b"__model__",
    b"<include><uri>", b"model://", b"../", b"<axis2>", b"<mimic joint=", b"<static>", b'version="1.4"', b"<!DOCTYPE", b"::", b"world",
)  # fmt: skip

TARGETS: tuple[Target, ...] = (
    Target("urdf kept", ".urdf", lambda folder: [KEPT.encode()], loaded_and_saved(".toml", ".urdf"), XML_WORDS),
    Target("sdf", ".sdf", lambda folder: [SDF.encode()], loaded_and_saved(".toml"), SDF_WORDS),
    Target("urdf", ".urdf", saved(".urdf", "planar-2r", "pr-arm"), loaded_and_saved(".toml", ".urdf"), XML_WORDS),
    Target("urdf text", ".urdf", saved(".urdf", "pendulum"), lambda path: parse_urdf(path.read_bytes().decode(errors="replace")), XML_WORDS),
    Target("mjcf", ".xml", lambda folder: [text.encode() for text in MJCF], lambda path: read_mjcf(path), MJCF_WORDS),
    Target("toml", ".toml", shipped("planar-2r", "pr-arm", "scara"), loaded_and_saved(".toml", ".urdf"), TOML_WORDS),
    Target("toml terms", ".toml", with_friction(".toml"), loaded_and_saved(".toml", ".urdf"), TOML_WORDS),
    Target("urdf terms", ".urdf", with_friction(".urdf"), loaded_and_saved(".toml", ".urdf"), XML_WORDS),
    Target("toml loops", ".toml", shipped("five-bar", "parallelogram"), loaded_and_saved(".toml"), TOML_WORDS),
    Target("dh table", ".csv", lambda folder: [text.encode() for text in DH_TABLES], loaded_and_saved(".toml"), TABLE_WORDS),
    Target("dh rows", ".json", dh_rows, table_of_rows, (b'"alpha": ', b'"rotor": {', b"[", b"]", b"null", b"1e999", b"NaN")),
    *(Target(f"limits {suffix}", suffix, lambda folder, suffix=suffix: LIMITS[suffix], limits, LIMIT_WORDS) for suffix in LIMITS),
    Target("motion", ".csv", motions, read_motions, WORDS),
    Target("log text", ".csv", texts, log, WORDS),
    Target("log npz", ".npz", archives, log),
    Target("log npz array", ".npy", members, partial(in_archive, "q"), NPY_WORDS),
    Target("log npz names", ".npy", words, partial(in_archive, "joint_names"), NPY_WORDS),
    Target("log npy", ".npy", matrix, numbered, NPY_WORDS),
    Target("log mat", ".mat", matlab, log),
    Target("log parquet", ".parquet", parquets, log),
    Target("lerobot table", ".parquet", frames, log),
    Target("lerobot info", ".json", infos, dataset, INFO_WORDS),
    Target("log bag", ".bag", ros1_bags, log, BAG_WORDS),
    Target("log bag here", ".bag", ros1_bags, bag_here, BAG_WORDS),
    Target("log db3 here", ".db3", databases, bag_here, DATABASE_WORDS),
    Target("log db3", ".db3", databases, log, DATABASE_WORDS),
    Target("log folder", ".yaml", descriptions, described, (b"zstd", b"file", b"message", b"mcap", b"sqlite3", b"&a ", b"*a", b"!!")),
    *(Target(f"log mcap {name}", ".mcap", mcaps(name), log, (b"zstd", b"lz4", b"json", b"cdr", b"ros1", b"JointState")) for name in ("cdr", "ros1", "json")),
    Target("options", ".txt", option_texts, option, (b"x", b"pose", b"=", b":", b"..", b"joint1")),
    Target("log options", ".txt", reading_options, reading_option, (b"q=", b"deg", b"ms", b":", b"\n\n", b"tau", b"current=")),
    Target("cache object", ".o", kept_objects, kept_object, (kept.MAGIC,)),
    Target("cache secret", ".secret", secrets, secret),
)  # fmt: skip
