"""Loading robots by name or from a file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from dalembert.errors import RobotError
from dalembert.robot.bounds import COMPILE_SECONDS, MANY_JOINTS
from dalembert.robot.model import Robot
from dalembert.robot.table_cells import TEXT_TABLES, WORKBOOKS
from dalembert.robot.tables import errors_at, nearest, shown, some

LIBRARY = Path(__file__).parent / "library"
TABLES = (*TEXT_TABLES, *WORKBOOKS)  # suffixes of DH tables
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
    with ``root`` and ``tip``, the arm consists of the joints between them (:mod:`dalembert.robot.selection`).
    ``convention`` is that of a DH table. With ``density`` (kg/m³ or a material), links without a mass get the inertia of
    their shapes. ``arguments`` are those of a .xacro file. Angles within ``snap`` (rad) of right angles are made exact.
    The robot is checked. Whatever affects torques but
    is not modelled is reported as a :class:`ModelWarning`.
    """
    from dalembert.robot.check import ModelWarning, check_numbers, check_physical
    from dalembert.robot.vendor_files import with_known_limits, with_right_angles, without_mass

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
        from dalembert.robot.bodies import with_density

        with errors_at(where):
            robot = with_density(robot, density, path.parent)
    check_numbers(robot.replace(source=where))  # messages name the file, not the publication of the numbers
    robot = with_right_angles(with_known_limits(robot), snap)
    if robot.left_out:
        left_out = some(robot.left_out, 20, "; ")
        warnings.warn(f"{where}: not modelled, although torques depend on it: {left_out}", ModelWarning, stacklevel=3)
    part = part_of(robot, where, lock=lock, root=root, chain=tip is not None)
    if light := without_mass(part):
        warnings.warn(
            f"{where}: the moving link{'s' * (len(light) > 1)} {some([shown(x) for x in light])} "
            f"{'have' if len(light) > 1 else 'has'} no mass, although others have one; add it to the file, or compute it "
            "from the shapes with density=2700 (--density aluminium)",
            ModelWarning,
            stacklevel=3,
        )
    if (count := len(part.tree_joints)) > MANY_JOINTS:
        warnings.warn(
            f"{where}: the robot has {count} moving joints; the first call of each function compiles for about "
            f"{COMPILE_SECONDS * count:.0f} s or more; root= and tip= (--root, --tip) or lock= (--lock) select a part",
            ModelWarning,
            stacklevel=3,
        )
    # only for the selected part: an antenna on the base does not prevent loading an arm
    check_physical(part.replace(source=where), physical, level=4)
    return part


def part_of(
    robot: Robot, where: str, *, lock: Mapping[str, Any] | None = None, root: str | None = None, chain: bool = False
) -> Robot:
    """The robot with some joints fixed and a new root; ``where`` begins every error message."""
    if not lock and root is None:
        return robot
    from dalembert.robot.selection import selected

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
    if suffix in TABLES:
        from dalembert.robot.dh_table import read_dh_table

        return _with_tip(read_dh_table(path, convention), path, tip)
    if suffix == ".xacro":
        from dalembert.robot.xacro_reader import read_xacro

        return read_xacro(path, tip, arguments)
    if suffix == ".xml":
        suffix = _xml_kind(path)
    return _reader(suffix)(path, tip)


def _near(path: Path) -> str:
    """ "; did you mean 'x'?", where x is a robot file in the same folder, or the shipped arm of exactly this name."""
    if str(path.parent) == "." and path.stem in arms():
        return f"; did you mean '{path.stem}'?"
    if not path.parent.is_dir():
        return ""
    try:
        files = sorted(x.name for x in path.parent.iterdir() if x.suffix.lower() in SUFFIXES)
    except OSError:  # a folder that cannot be listed
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


def _reader(suffix: str) -> Callable[[Path, str | None], Robot]:
    if suffix == ".toml":
        return _toml
    if suffix == ".urdf":
        from dalembert.robot.urdf import read_urdf

        return read_urdf
    if suffix in (".sdf", ".world"):
        from dalembert.robot.sdf import read_sdf

        return read_sdf
    from dalembert.robot.mjcf import read_mjcf

    return read_mjcf


def _toml(path: Path, tip: str | None) -> Robot:
    from dalembert.robot.toml_reader import read_toml

    return _with_tip(read_toml(path), path, tip)


def _with_tip(robot: Robot, path: Path, tip: str | None) -> Robot:
    assert robot.tip is not None
    if tip is None or tip == robot.tip.name:
        return robot
    with errors_at(str(path)):
        return robot.with_tip(tip)


def _xml_kind(path: Path) -> str:
    """ ".mjcf", ".urdf" or ".sdf", according to the root element of the file."""
    from dalembert.robot.safe_xml import parse_xml, read_bytes

    root = parse_xml(read_bytes(path), str(path))
    kinds = {"mujoco": ".mjcf", "robot": ".urdf", "sdf": ".sdf"}
    if root.tag not in kinds:
        raise RobotError(
            f"{path}: the root element is <{root.tag}>; it must be <mujoco> (MJCF), <robot> (URDF) or <sdf> (SDF)"
        )
    return kinds[root.tag]


def save_robot(robot: Robot, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write a robot to a .toml or .urdf file, according to the suffix."""
    from dalembert.files import check_writable

    check_writable(path, overwrite=overwrite, error=RobotError)
    suffix = Path(path).suffix.lower()
    if suffix == ".toml":
        from dalembert.robot.toml_writer import save_toml

        save_toml(robot, path)
    elif suffix == ".urdf":
        from dalembert.robot.urdf_writer import save_urdf

        save_urdf(robot, path)
    else:
        raise RobotError(f"{path}: robots can be written to .toml and .urdf files, not to '{suffix}'")
