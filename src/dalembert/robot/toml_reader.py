"""Robots from TOML files, in the format described in docs/robot-files.md."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dalembert.algebra.vectors import Vec
from dalembert.errors import RobotError
from dalembert.robot.bodies import SHAPE_KEYS, read_body, read_shape
from dalembert.robot.bounds import COUPLINGS, LINKS, LOOPS, NAME, TOML_BYTES, at_most
from dalembert.robot.couplings import Coupling
from dalembert.robot.dh import CONVENTIONS, HELICAL, assemble, read_row, screw
from dalembert.robot.inertia import Inertia
from dalembert.robot.loops import LOOP_KINDS, Loop
from dalembert.robot.model import JOINT_TYPES, STANDARD_GRAVITY, Frame, Joint, Link, Robot
from dalembert.robot.omissions import omissions
from dalembert.robot.parts import (
    INERTIA_KEYS,
    PLACEMENT_KEYS,
    read_friction,
    read_gear,
    read_limits,
    read_motor,
    read_placement,
    read_placement_at,
    read_rotor,
    with_unused_notes,
)
from dalembert.robot.placement import Placement
from dalembert.robot.safe_toml import parse_tables, read_text
from dalembert.robot.shapes import Shape
from dalembert.robot.tables import REQUIRED, Table, errors_at, shown
from dalembert.robot.units import LENGTH
from dalembert.robot.virtual import VIRTUAL, virtual_joints, virtual_note

FILE_KEYS = (
    *("name", "source", "notes", "left_out", "gravity", "omitted", "convention", "base", "tip", "payload"),
    *("joint", "loop", "coupling", "kept"),
)
COUPLING_KEYS = ("joints", "of", "motors", "matrix", "offset", "higher", "limits")
LOOP_KEYS = ("name", "kind", "link_a", "a", "link_b", "b", "axis", "passive", "branch")
LINK_KEYS = ("name", *INERTIA_KEYS, "shapes", "physical", "massless", "weight", "note", "visuals", "collisions", "kept")
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
    return with_unused_notes(robot)


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
    given = table.get("limits", [])
    if not isinstance(given, list):
        raise table.wrong(
            "limits", given, "a list of tables, one per motor, such as [{ velocity = 3.0 }, { velocity = 5.0 }]"
        )
    limits = [
        read_limits(Table({"limits": part}, f"{table.where}, motor {k + 1}", ("limits",)), turns=joint not in slides)
        for k, part in enumerate(given)
        for joint in (joints[k] if k < len(joints) else "",)
    ]
    offset = table.get("offset", ())
    if isinstance(offset, list) and len(offset) == len(joints):
        turns = [joint not in slides for joint in joints]
        offset = [table.scalar("offset", x, angle=angle) for x, angle in zip(offset, turns, strict=True)]
    of, matrix, higher = table.texts("of"), table.get("matrix", ()), table.get("higher", ())
    with errors_at(table.where):
        return Coupling(joints, of, matrix, offset, higher, motors, tuple(limits))


def _loop(table: Table) -> Loop:
    kind: Any = table.choice("kind", LOOP_KINDS, "revolute")
    branch = table.get("branch", {})
    if not isinstance(branch, dict):
        raise table.wrong("branch", branch, "a table of joint positions, such as { joint2 = 1.0 }")
    positions = Table(branch, f"{table.where}, branch", tuple(branch))
    fields = (
        table.name("name"),
        table.name("link_a"),
        read_placement_at(table, "a"),
        table.name("link_b"),
        read_placement_at(table, "b"),
        kind,
        table.vector("axis", (0.0, 0.0, 1.0)),
        table.texts("passive"),
        tuple((joint, positions.number(joint, angle=True)) for joint in branch),
    )
    with errors_at(table.where):
        return Loop(*fields)


def _common(table: Table) -> dict[str, Any]:
    """The fields of the robot that are written the same way in every convention."""
    payload = table.table("payload", (*INERTIA_KEYS, "shapes"))
    return {
        "name": table.name("name", Path(table.where).stem or "arm"),
        "gravity": table.vector("gravity", STANDARD_GRAVITY),
        "payload": _payload(payload, Path(table.where).parent) if payload else None,
        "source": table.text("source", ""),
        "notes": table.texts("notes"),
        "left_out": table.texts("left_out"),
        "omitted": _omitted(table),
        "kept": table.texts("kept"),
    }


def _omitted(table: Table) -> tuple[str, ...]:
    with errors_at(table.where):
        return omissions(table.texts("omitted"))


def _payload(table: Table, folder: Path) -> Inertia:
    if "shapes" not in table:
        table.get("mass")  # a payload without a mass is a mistake
    return read_body(table, folder)[0]


def _tip(table: Table, last: str | None) -> Frame | None:
    """[tip]: a frame on a link, by default on ``last``."""
    tip = table.table("tip", ("name", "link", *PLACEMENT_KEYS))
    if tip is None:
        return None
    link = tip.name("link", REQUIRED if last is None else last)
    return Frame(tip.name("name", "tip"), link, read_placement(tip))


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
    base = table.table("base", ("link", *PLACEMENT_KEYS))
    rows = [read_row(data, where, Path(table.where).parent) for data, where in _tables(table, "joint")]
    if not rows:
        raise RobotError(f"{table.where}: there are no [[joint]] tables; an arm needs at least one joint")
    common = _common(table)
    common["base"] = read_placement(base) if base else Placement()
    base_link = base.name("link", "base") if base else "base"
    tip = _tip(table, rows[-1].link or f"link{len(rows)}")
    with errors_at(table.where):
        return assemble(rows, convention, base_link=base_link, tip=tip, **common)


def _frames(table: Table) -> Robot:
    """Any tree of links, described by the placement of each joint on its parent link."""
    base, common = read_placement_at(table, "base"), _common(table)
    links, notes = [], []
    for link in _each(table, "link", LINK_KEYS):
        flags = (link.flag("physical", True), link.flag("massless", False))
        name, weight = link.name("name"), link.number("weight", 1.0)
        inertia, shapes = read_body(link, Path(table.where).parent)
        with errors_at(link.where):
            visuals, collisions = _shapes(link, "visuals"), _shapes(link, "collisions")
            links.append(Link(name, inertia, *flags, weight, (*shapes, *visuals), collisions, link.texts("kept")))
        note = link.text("note", "")
        if note:
            notes.append(f"link '{links[-1].name}': {note}")
    common["notes"] += tuple(notes)
    joints: list[Joint] = []
    couplings: list[Coupling] = []
    for joint in _each(table, "joint", JOINT_KEYS):
        if str(joint.get("type")) in VIRTUAL:
            between_links, several = _virtual_joint(joint)
            links += between_links
            joints += several
            common["notes"] += (virtual_note(joint.name("name"), joint.name("type")),)
            continue
        joints.append(_joint(joint))
        if joint.get("type") == HELICAL:
            pitch = joint.number("pitch", units=LENGTH)
            with errors_at(joint.where):
                joints[-1:], between, coupling = screw(joints[-1], pitch)
            links.append(between)
            couplings.append(coupling)
        elif "pitch" in joint:
            raise RobotError(
                f"{joint.where}: 'pitch' applies only to joints of type \"helical\", and this one is {joint.get('type')!r}"
            )
    if not links:
        raise RobotError(f"{table.where}: there are no [[link]] tables; convention 'frames' needs one per link")
    tip = _tip(table, None)
    with errors_at(table.where):
        return Robot(links=tuple(links), joints=tuple(joints), tip=tip, base=base, couplings=tuple(couplings), **common)


def _shapes(link: Table, key: str) -> tuple[Shape, ...]:
    """The shapes of a link: tables keyed by their kind, such as { box = [0.1, 0.2, 0.3], xyz = [0.0, 0.0, 0.1] }."""
    value = link.get(key, [])
    if not isinstance(value, list):
        raise link.wrong(key, value, "a list of tables, such as [{ mesh = 'meshes/link1.stl' }, { sphere = [0.1] }]")
    tables = (Table(data, f"{link.where}, {key} {k}", SHAPE_KEYS) for k, data in enumerate(value, 1))
    return tuple(map(read_shape, tables))


def _virtual_joint(table: Table) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:
    """The massless links and the joints of one variable that replace a joint of several variables."""
    kind, name = table.name("type"), table.name("name")
    accepted = ("name", "type", "parent", "child", "axis", "link_frame", *PLACEMENT_KEYS)
    for key in JOINT_KEYS:
        if key in table and key not in accepted:
            raise RobotError(
                f"{table.where}: a {kind} joint has several variables, so '{key}' is ambiguous; describe it as separate "
                f"joints ({', '.join(step for step, _, _ in VIRTUAL[kind])}), each with its own '{key}'"
            )
    axis = Vec(table.vector("axis", (0.0, 0.0, 1.0)))
    with errors_at(table.where):
        if not axis.norm > 0.0:
            raise RobotError("the axis is (0, 0, 0); it must have a direction")
        return virtual_joints(
            name, kind, table.name("parent"), table.name("child"), read_placement(table),
            axis=(1.0 / axis.norm) * axis, link_frame=read_placement_at(table, "link_frame"),
        )  # fmt: skip


def _joint(table: Table) -> Joint:
    kind: Any = table.choice("type", (*JOINT_TYPES, HELICAL, *VIRTUAL))
    kind = "revolute" if kind == HELICAL else kind  # the revolute part of the screw; its prismatic part follows it
    turns = kind in ("revolute", "continuous")
    values: dict[str, Any] = {
        "name": table.name("name"),
        "parent": table.name("parent"),
        "child": table.name("child"),
        "placement": read_placement(table),
        "axis": table.vector("axis", (0.0, 0.0, 1.0)),
        "offset": table.number("offset", 0.0, angle=turns, units=None if turns else LENGTH),
        "link_frame": read_placement_at(table, "link_frame"),
        "friction": read_friction(table, turns=turns),
        "limits": read_limits(table, turns=turns),
        "rotor": read_rotor(table),
        "motor": read_motor(table),
        "gear": read_gear(table),
        "kept": table.texts("kept"),
    }
    with errors_at(table.where):
        return Joint(type=kind, **values)
