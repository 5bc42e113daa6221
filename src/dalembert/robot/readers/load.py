"""Loading robots by name or from a file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal

from dalembert.base.files.file_bounds import COMPILE_SECONDS, MANY_JOINTS
from dalembert.base.tables.cells import TEXT_TABLES, WORKBOOKS
from dalembert.base.wording import counted, errors_at, nearest, shown, some
from dalembert.errors import RobotError
from dalembert.robot.model.robot import Robot

LIBRARY = Path(__file__).parents[1] / "library"
TABLES = (*TEXT_TABLES, *WORKBOOKS, ".parquet")  # suffixes of DH tables
# {suffix: function that reads the file}, imported when it is needed
READERS = {
    ".toml": "toml_reader:read_toml", ".urdf": "urdf:read_urdf", ".xacro": "urdf:read_xacro", ".mjcf": "mjcf:read_mjcf",
    ".sdf": "sdf:read_sdf", ".world": "sdf:read_sdf", **dict.fromkeys(TABLES, "dh_table:read_dh_table"),
}  # fmt: skip
SUFFIXES = (".toml", ".urdf", ".xacro", ".xml", ".mjcf", ".sdf", ".world", *TABLES)


def arms() -> list[str]:
    """The names of the shipped arms; no file is opened.

    >>> "planar-2r" in arms()
    True
    """
    return sorted(path.stem for path in LIBRARY.glob("*.toml"))


def load_robot(
    name_or_path: str | os.PathLike[str],
    *,
    physical: Literal["error", "warn"] = "error",
    tip: str | None = None,
    lock: Mapping[str, Any] | None = None,
    root: str | None = None,
    convention: str | None = None,
    density: float | str | None = None,
    arguments: Mapping[str, Any] | None = None,
    snap: float | None = None,
) -> Robot:
    """A shipped arm, or the robot in a .toml, .urdf, .xacro, .xml (MJCF, URDF or SDF), .mjcf or .sdf file or a DH table.

    A word without a folder and a suffix is the name of a shipped arm. ``physical`` states whether a physically
    impossible inertia is an "error" or a "warn"ing. ``tip`` names the link (or MJCF site)
    that carries the end effector. ``lock`` fixes joints, and ``root`` names the link that becomes the base;
    with ``root`` and ``tip``, the arm consists of the joints between them (:mod:`dalembert.robot.model.subrobot`).
    ``convention`` is that of a DH table. With ``density`` (kg/m³ or a material), links without a mass get the inertia of
    their shapes. ``arguments`` are those of a .xacro file. Angles within ``snap`` (rad) of right angles are made exact.
    The robot is checked. Whatever affects torques but
    is not modelled is reported as a :class:`ModelWarning`.
    """
    from dalembert.robot.model.plausibility import ModelWarning, check_numbers, check_physical
    from dalembert.robot.readers.vendor_files import with_density, with_known_limits, with_right_angles, without_mass

    for option, value in (("tip", tip), ("root", root)):
        if value is not None and not isinstance(value, str):
            raise RobotError(f"{option} is {shown(value)}; it must be the name of a link, such as 'tool0'")
    if arguments is not None and not (isinstance(arguments, Mapping) and all(isinstance(x, str) for x in arguments)):
        raise RobotError(f"arguments is {shown(arguments)}; it must map names to values, as in {{'prefix': 'left_'}}")
    if not isinstance(name_or_path, (str, os.PathLike)):
        raise RobotError(f"a robot is loaded from a file or by its name, not from {shown(name_or_path)}")
    path = Path(name_or_path)
    is_name = isinstance(name_or_path, str) and path.name == name_or_path and not path.suffix
    path = _shipped(str(name_or_path)) if is_name else path
    where = f"arm '{name_or_path}'" if is_name else str(path)  # where messages begin
    try:
        robot = _read(path, tip, convention, arguments)
    except RobotError as error:
        if not is_name:
            raise
        raise RobotError(str(error).replace(str(path), where, 1)) from None
    if density is not None:
        with errors_at(where):
            robot = with_density(robot, density, path.parent)
    check_numbers(robot.replace(source=where))  # messages name the file, not the publication of the numbers
    robot = with_right_angles(with_known_limits(robot), snap)
    part = part_of(robot, where, lock=lock, root=root, chain=tip is not None)
    left_out = some(robot.left_out, 20, "; ")
    findings = [f"not modelled, although torques depend on it: {left_out}"] if left_out else []
    if light := without_mass(part):
        links = counted(len(light), "moving link has", "moving links have")
        findings.append(
            f"{links} no mass, although others have one: {some([shown(x) for x in light])}; add it to the file, or compute "
            "it from the shapes with density=2700 (--density aluminium)"
        )
    if (count := len(part.tree_joints)) > MANY_JOINTS:
        findings.append(
            f"the robot has {count} moving joints; the first call of each function compiles for about "
            f"{COMPILE_SECONDS * count:.0f} s or more; root= and tip= (--root, --tip) or lock= (--lock) select a part"
        )
    for finding in findings:
        warnings.warn(f"{where}: {finding}", ModelWarning, stacklevel=3)
    # only for the selected part: an antenna on the base does not prevent loading an arm
    check_physical(part.replace(source=where), physical, level=4)
    return part


def part_of(
    robot: Robot, where: str, *, lock: Mapping[str, Any] | None = None, root: str | None = None, chain: bool = False
) -> Robot:
    """The robot with some joints fixed and a new root; ``where`` begins every error message."""
    if not lock and root is None:
        return robot
    from dalembert.robot.model.subrobot import selected

    with errors_at(where):
        return selected(robot, lock=lock, root=root, chain=chain and root is not None)


def _read(path: Path, tip: str | None, convention: str | None, arguments: Mapping[str, Any] | None) -> Robot:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        if os.path.isdir(path):
            raise RobotError(f"{path}: this is a folder; give the robot file inside it ({', '.join(SUFFIXES)})")
        raise RobotError(
            f"{path}: the suffix '{path.suffix}' is not a supported robot format ({', '.join(SUFFIXES)}){_near(path)}"
        )
    if not os.path.exists(path):
        raise RobotError(f"{path}: there is no such file{_near(path)}")
    if convention is not None and suffix not in TABLES:
        raise RobotError(f"{path}: convention is '{convention}', but only DH tables ({', '.join(TABLES)}) take one")
    if arguments and suffix != ".xacro":
        raise RobotError(f"{path}: arguments ({', '.join(arguments)}) are for .xacro files, not for '{path.suffix}'")
    kind = _xml_kind(path) if suffix == ".xml" else suffix
    reader = resolve_name(f"dalembert.robot.readers.{READERS[kind]}")
    if kind not in TABLES and kind != ".toml":
        return reader(path, tip, arguments) if kind == ".xacro" else reader(path, tip)
    robot = reader(path, convention) if kind in TABLES else reader(path)
    with errors_at(str(path)):
        return robot if tip in (None, robot.tip.name) else robot.with_tip(tip)


def _near(path: Path) -> str:
    """ "; did you mean 'x'?", where x is a robot file in the same folder, or the shipped arm of exactly this name."""
    if str(path.parent) == "." and path.stem in arms():
        return f"; did you mean '{path.stem}'?"
    try:
        files = sorted(x.name for x in path.parent.iterdir() if x.suffix.lower() in SUFFIXES)
    except OSError:  # a folder that does not exist or cannot be listed
        return ""
    same = [name for name in files if Path(name).stem == path.stem]
    if same:
        return f"; did you mean '{same[0]}'?"
    alike = [name for name in files if nearest(path.stem, [Path(name).stem])]  # compare the stems, not the suffixes
    return nearest(path.name, alike)


def _shipped(name: str) -> Path:
    path = LIBRARY / f"{name}.toml"
    known = arms()
    if name not in known:  # not path.exists(): some file systems do not distinguish 'Panda' from 'panda'
        raise RobotError(
            f"there is no shipped arm '{name}'{nearest(name, known)} "
            f"(shipped arms: {', '.join(known)}; files end in {', '.join(SUFFIXES)})"
        )
    return path


def _xml_kind(path: Path) -> str:
    """ ".mjcf", ".urdf" or ".sdf", according to the root element of the file."""
    from dalembert.base.files.safe_xml import parse_xml, read_bytes

    root = parse_xml(read_bytes(path), str(path))
    kinds = {"mujoco": ".mjcf", "robot": ".urdf", "sdf": ".sdf"}
    if root.tag not in kinds:
        raise RobotError(f"{path}: the root element is <{root.tag}>; it must be <{'>, <'.join(kinds)}>")
    return kinds[root.tag]


def save_robot(robot: Robot, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write a robot to a .toml or .urdf file, as a whole or not at all, with mesh paths relative to its folder."""
    from dalembert.base.files import check_writable, whole_file
    from dalembert.robot.readers.urdf_parts import with_meshes_seen_from

    check_writable(path, overwrite=overwrite, error=RobotError)
    suffix = Path(path).suffix.lower()
    if suffix not in (".toml", ".urdf"):
        raise RobotError(f"{path}: robots can be written to .toml and .urdf files, not to '{suffix}'")
    write = resolve_name(f"dalembert.robot.readers.{suffix[1:]}_writer:write_{suffix[1:]}")
    text = write(with_meshes_seen_from(robot, Path(path).parent))
    with whole_file(path, overwrite=True, error=RobotError) as file:
        file.write(text)
