"""Robots from TOML files, in the format described in docs/robot-files.md."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from dalembert.base.algebra.vectors import Z
from dalembert.base.files.file_bounds import COUPLINGS, LINKS, LOOPS, NAME, TOML_BYTES, at_most
from dalembert.base.files.safe_toml import parse_tables, read_text
from dalembert.base.tables.located import REQUIRED, Table
from dalembert.base.tables.units import LENGTH
from dalembert.base.wording import errors_at, shown
from dalembert.errors import RobotError
from dalembert.robot.model.joint_couplings import Coupling
from dalembert.robot.model.loop_joints import LOOP_KINDS, Loop
from dalembert.robot.model.multi_dof_joints import VIRTUAL
from dalembert.robot.model.omitted_terms import omissions
from dalembert.robot.model.robot import JOINT_TYPES, STANDARD_GRAVITY, Frame, Joint, Link, Robot
from dalembert.robot.readers import table_parts as parts
from dalembert.robot.readers.dh import CONVENTIONS, HELICAL, assemble, read_row
from dalembert.robot.readers.robot_builder import RobotBuilder

FILE_KEYS = (
    *("name", "source", "notes", "left_out", "gravity", "omitted", "convention", "base", "tip", "payload"),
    *("joint", "loop", "coupling", "kept"),
)
COUPLING_KEYS = ("joints", "of", "motors", "matrix", "offset", "higher", "limits")
LOOP_KEYS = ("name", "kind", "link_a", "a", "link_b", "b", "axis", "passive", "branch")
LINK_KEYS = (
    *("name", *parts.INERTIA_KEYS, "shapes", "physical", "massless", "weight", "note", "visuals", "collisions", "kept"),
)
JOINT_KEYS = (
    *("name", "type", "parent", "child", "xyz", "rpy", "rotation", "axis", "offset", "link_frame"),
    *("friction", "limits", "rotor", "motor", "gear", "pitch", "kept"),
)


def read_toml(path: str | os.PathLike[str]) -> Robot:
    """The robot described by a TOML file."""
    return parse_toml(read_text(path, TOML_BYTES, "robot file"), os.fspath(path))


def parse_toml(text: str, where: str = "robot.toml") -> Robot:
    """The robot described by a TOML text; ``where`` begins every error message."""
    data = parse_tables(text, where)
    convention = data.get("convention", REQUIRED)
    options = (*CONVENTIONS, "frames")
    if convention is REQUIRED:
        raise RobotError(f"{where}: the key 'convention' is missing; it must be one of {', '.join(map(repr, options))}")
    frames = convention == "frames"
    table = Table(data, where, (*FILE_KEYS, "link") if frames else FILE_KEYS)
    table.choice("convention", options)
    robot = _coupled(table, _frames(table) if frames else _dh(table, str(convention)))
    if frames and "tip" not in table:  # links moved by couplings are not candidates for the tip
        robot = robot.replace(tip=None).with_tip_note()
    return parts.with_unused_notes(robot)


def _coupled(table: Table, robot: Robot) -> Robot:
    """The robot with the closed chains of its [[loop]] tables and the coupled joints of its [[coupling]] tables."""
    loops = [_loop(loop) for loop in _each(table, "loop", LOOP_KEYS)]
    couplings = [_coupling(coupling, robot) for coupling in _each(table, "coupling", COUPLING_KEYS)]
    if not loops and not couplings:
        return robot
    with errors_at(table.where):
        return robot.replace(loops=tuple(loops), couplings=(*robot.couplings, *couplings))


def _coupling(table: Table, robot: Robot) -> Coupling:
    joints, motors = table.texts("joints"), table.texts("motors")
    slides = {joint.name for joint in robot.joints if joint.type == "prismatic"}
    must = "a list of tables, one per motor, such as [{ velocity = 3.0 }, { velocity = 5.0 }]"
    limits = [
        parts.read_limits(Table({"limits": part.data}, part.where, None), turns=joint not in slides)
        for part, joint in zip_longest(table.parts("limits", must, None, "motor"), joints)
        if part is not None
    ]
    offset = table.get("offset", ())
    if isinstance(offset, list) and len(offset) == len(joints):
        offset = [table.scalar("offset", x, angle=name not in slides) for x, name in zip(offset, joints, strict=True)]
    of, matrix, higher = table.texts("of"), table.get("matrix", ()), table.get("higher", ())
    with errors_at(table.where):
        return Coupling(joints, of, matrix, offset, higher, motors, tuple(limits))


def _loop(table: Table) -> Loop:
    positions = Table(table.get("branch", {}), f"{table.where}, branch", None)
    values: dict[str, Any] = {
        **{key: table.name(key) for key in ("name", "link_a", "link_b")},
        **{f"placement_{key}": parts.read_placement_at(table, key) for key in ("a", "b")},
        "kind": table.choice("kind", LOOP_KINDS, "revolute"),
        "axis": table.vector("axis", Z),
        "passive": table.texts("passive"),
        "branch": tuple((joint, positions.number(joint, angle=True)) for joint in positions.data),
    }
    with errors_at(table.where):
        return Loop(**values)


def _common(table: Table) -> dict[str, Any]:
    """The fields of the robot that are written the same way in every convention."""
    payload = table.part("payload", (*parts.INERTIA_KEYS, "shapes"))
    if payload and "shapes" not in payload:
        payload.get("mass")  # a payload without a mass is a mistake
    with errors_at(table.where):
        omitted = omissions(table.texts("omitted"))
    return {
        "name": table.name("name", Path(table.where).stem or "arm"),
        "gravity": table.vector("gravity", STANDARD_GRAVITY),
        "payload": parts.read_body(payload, Path(table.where).parent)[0] if payload else None,
        "source": table.text("source", ""),
        "omitted": omitted,
        **{key: table.texts(key) for key in ("notes", "left_out", "kept")},
    }


def _tip(table: Table, last: str | None) -> Frame | None:
    """[tip]: a frame on a link, by default on ``last``."""
    tip = table.part("tip", ("name", "link", *parts.PLACEMENT_KEYS))
    if tip is None:
        return None
    link = tip.name("link", REQUIRED if last is None else last)
    return Frame(tip.name("name", "tip"), link, parts.read_placement(tip))


def _each(table: Table, key: str, allowed: Sequence[str]) -> Iterator[Table]:
    """The [[key]] tables of the file, one by one."""
    for data, where in _tables(table, key):
        yield Table(data, where, allowed)


def _tables(table: Table, key: str) -> list[tuple[Any, str]]:
    """The contents of the [[key]] tables of the file, each with its name in messages: its own name if it has one."""
    value = table.get(key, [])
    if not isinstance(value, list):
        raise RobotError(f"{table.where}: '{key}' is {shown(value)}; write each {key} as a [[{key}]] table")
    at_most({"loop": LOOPS, "coupling": COUPLINGS}.get(key, LINKS), len(value), f"[[{key}]] tables", table.where)
    names = [data.get("name") if isinstance(data, dict) and key != "coupling" else None for data in value]
    which = [f"'{x}'" if isinstance(x, str) and 1 <= len(x) <= NAME else str(i) for i, x in enumerate(names, 1)]
    return [(data, f"{table.where}: {key} {of_it}") for data, of_it in zip(value, which, strict=True)]


def _dh(table: Table, convention: str) -> Robot:
    """A serial arm described by DH rows."""
    base = table.part("base", ("link", *parts.PLACEMENT_KEYS)) or Table({}, table.where, None)
    rows = [read_row(data, where, Path(table.where).parent) for data, where in _tables(table, "joint")]
    if not rows:
        raise RobotError(f"{table.where}: there are no [[joint]] tables; an arm needs at least one joint")
    fields = _common(table) | {"base": parts.read_placement(base), "base_link": base.name("link", "base")}
    tip = _tip(table, rows[-1].link or f"link{len(rows)}")
    with errors_at(table.where):
        return assemble(rows, convention, tip=tip, **fields)


def _frames(table: Table) -> Robot:
    """Any tree of links, described by the placement of each joint on its parent link."""
    fields = _common(table) | {"base": parts.read_placement_at(table, "base")}
    builder = RobotBuilder(table.where)
    for link in _each(table, "link", LINK_KEYS):
        builder.links.append(_link(link, Path(table.where).parent))
        if note := link.text("note", ""):
            builder.sentences.append(f"link '{link.name()}': {note}")
    for joint in _each(table, "joint", JOINT_KEYS):
        kind = joint.choice("type", (*JOINT_TYPES, HELICAL, *VIRTUAL))
        if kind != HELICAL and "pitch" in joint:
            raise RobotError(f"{joint.where}: 'pitch' applies only to joints of type 'helical', not to {kind!r}")
        values = _joint(joint, kind)
        with errors_at(joint.where):
            if kind in VIRTUAL:
                builder.add_virtual(Joint(type="fixed", **values), kind)
            elif kind == HELICAL:
                builder.add_screw(Joint(type="revolute", **values), joint.number("pitch", units=LENGTH))
            else:
                builder.joints.append(Joint(type=kind, **values))
    if not builder.links:
        raise RobotError(f"{table.where}: there are no [[link]] tables; convention 'frames' needs one per link")
    fields["notes"] += tuple(builder.sentences)
    return builder.robot(tip=_tip(table, None), **fields)


def _link(table: Table, folder: Path) -> Link:
    inertia, shapes = parts.read_body(table, folder)
    must = "a list of tables, such as [{ mesh = 'meshes/link1.stl' }, { sphere = [0.1] }]"
    with errors_at(table.where):
        drawn = (table.parts(key, must, parts.SHAPE_KEYS) for key in ("visuals", "collisions"))
        visuals, collisions = (tuple(map(parts.read_shape, tables)) for tables in drawn)
        more: dict[str, Any] = {"visuals": (*shapes, *visuals), "collisions": collisions, "kept": table.texts("kept")}
        return Link(table.name(), inertia, **parts.read_share(table), **more)


def _joint(table: Table, kind: str) -> dict[str, Any]:
    """The fields of a joint; one of several variables has only those that describe its place."""
    place = {
        **{key: table.name(key) for key in ("name", "parent", "child")},
        "placement": parts.read_placement(table),
        "axis": table.vector("axis", Z),
        "link_frame": parts.read_placement_at(table, "link_frame"),
    }
    if kind in VIRTUAL:
        for key in JOINT_KEYS:
            if key in table and key not in (*place, "type", *parts.PLACEMENT_KEYS):
                raise RobotError(
                    f"{table.where}: a {kind} joint has several variables, so '{key}' is ambiguous; describe it as separate "
                    f"joints ({', '.join(step for step, _, _ in VIRTUAL[kind])}), each with its own '{key}'"
                )
        return place
    turns = kind in ("revolute", "continuous", HELICAL)
    return place | {
        "offset": table.number("offset", 0.0, angle=turns, units=None if turns else LENGTH),
        "kept": table.texts("kept"),
        **parts.read_joint_parts(table, turns=turns),
    }
