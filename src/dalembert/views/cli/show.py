"""``dalembert show``: the parts of a robot, as tables or as JSON."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import dalembert as da
from dalembert.base.options import option
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, Loading
from dalembert.views.cli.terminal import console, finite, number, numbers, plain, print_json, print_table, tell

STYLES = {"name": "bold", "note": "yellow", "omitted": "bold yellow", "left out": "bold yellow"}


def show(
    arm: ArmArgument,
    *,
    as_json: bool = option("Print the robot as JSON, for programs.", False, spelled="--json"),
    output: Path | None = option(
        "Also write the robot as loaded: a .toml or .urdf file.", spelled="--output -o", metavar="ROBOT.toml", writes=()
    ),
    force: bool = options.overwriting("ROBOT.toml"),
    loading: Loading,
) -> None:
    """Show the parts of a robot: joints, drives, links, tip. SI units, radians."""
    loaded = options.load(arm, loading)
    if output is not None:
        loaded.save(output, overwrite=force)
    _show_json(loaded.robot) if as_json else _show_robot(loaded.robot)
    if output is not None:
        tell(f"the robot is in {plain(str(output))}", stderr=True)


def principal_moments(inertia: da.Inertia) -> list[float]:
    """The eigenvalues of the tensor about the centre of mass, smallest first (kg m²)."""
    import numpy as np

    return [float(x) for x in np.linalg.eigvalsh(np.array(inertia.tensor, dtype=float))]


def _show_robot(robot: da.Robot) -> None:
    """The robot as tables."""
    from rich.table import Table
    from rich.text import Text

    screen = console()
    facts = Table.grid(padding=(0, 2))
    for word, text in _facts(robot):
        facts.add_row(word, Text(plain(text), STYLES.get(word, "")))
    screen.print(facts)
    for title, columns, rows in (_joints(robot), _drives(robot), _data_sheets(robot), _terms(robot), _links(robot)):
        if rows:
            screen.print()
            print_table(columns, rows, title)


def _facts(robot: da.Robot) -> list[tuple[str, str]]:
    from dalembert.robot.model.omitted_terms import OMISSIONS

    assert robot.tip is not None
    tip, place = robot.tip, robot.tip.placement.translation
    facts = [("name", robot.name), *([("source", robot.source)] if robot.source else [])]
    letters = robot.joint_letters
    passive, following = len(robot.tree_joints) - len(robot.moving_joints), sum(len(x.joints) for x in robot.couplings)
    words = [f"{count} {word}" for count, word in ((passive - following, "passive"), (following, "following")) if count]
    moving = ", ".join([f"{len(letters)} {'actuated' if words else 'moving'}", *words])
    facts.append(("joints", f"{letters} ({moving}, {len(robot.joints) - len(robot.tree_joints)} fixed)"))
    facts += [*robot.ties, ("mass", f"{number(robot.mass, 'kg', 6)} in total")]
    facts.append(("gravity", f"{numbers(robot.gravity)} m/s²"))
    where = "" if not any(place) else f" at {numbers(place)} m"
    facts.append(("tip", f"'{tip.name}' on link '{tip.link}'{where}"))
    if robot.payload is not None:
        body = robot.payload
        facts.append(("payload", f"{number(body.mass, 'kg')} at {numbers(body.com)} m in the tip's frame"))
    facts += [("omitted", OMISSIONS[name]) for name in robot.omitted]
    facts += [("left out", what) for what in robot.left_out]
    facts += [("note", note) for note in robot.notes]
    return facts


def _listed(robot: da.Robot) -> list[tuple[str, da.Joint]]:
    """The joints of the arm's q with their numbers, then the joints that follow from them or from loops."""
    moving = [joint.name for joint in robot.moving_joints]
    others = [joint for joint in robot.tree_joints if joint.name not in moving]
    return [(str(k), joint) for k, joint in enumerate(robot.moving_joints, 1)] + [("", joint) for joint in others]


Shown = tuple[str, list[str], list[list[str]]]  # title, columns, rows


def _joints(robot: da.Robot) -> Shown:
    rows = []
    for index, joint in _listed(robot):
        limits, axis = joint.limits, numbers(joint.placement.direction(joint.axis), 3)
        known = (limits.lower, limits.upper, limits.velocity, limits.acceleration, limits.effort)
        rows.append([index, plain(joint.name), joint.type, axis, *map(number, known)])
    sliding = {joint.type == "prismatic" for joint in robot.tree_joints}
    listed = " or ".join("m, m/s, N" if slides else "rad, rad/s, N m" for slides in sorted(sliding))
    columns = ["", "name", "type", "axis", ">lower", ">upper", ">speed", ">acceleration", ">effort"]
    return f"Joints: axis in the parent link's frame, limits in {listed}", columns, rows


def _drives(robot: da.Robot) -> Shown:
    """Friction at the joint, and the rotor, for the joints that have one of them."""
    rows = []
    for index, joint in _listed(robot):
        friction, rotor = joint.friction, joint.rotor
        if rotor is None and not friction.viscous and not any(friction.coulomb):
            continue
        units = {"inertia": "", "mass": "kg", "viscous": ""}
        sizes = [_some(getattr(rotor, name, 0.0), unit) for name, unit in units.items()]
        counted = "–" if rotor is None else "k_r² I_m only" if rotor.reflected else "fully"
        own = [_some(friction.viscous), _two_sided(friction.coulomb), number(getattr(rotor, "gear", None)), *sizes]
        rows.append([index, plain(joint.name), *own, _two_sided(getattr(rotor, "coulomb", (0.0, 0.0))), counted])
    columns = ["", "joint", ">F_v", ">F_s", ">gear k_r", ">I_m", ">mass", ">motor F_v", ">motor F_s", "rotor counted"]
    return "Drives: viscous friction F_v, Coulomb friction F_s, rotor inertia I_m (kg m²)", columns, rows


def _data_sheets(robot: da.Robot) -> Shown:
    """Motors and gears from their data sheets, for the joints that have one of them."""
    rpm = math.pi / 30
    rows = []
    for index, joint in _listed(robot):
        motor, gear = joint.motor, joint.gear
        if motor is None and gear is None:
            continue
        names = ["–" if part is None else plain(part.name or "given") for part in (motor, gear)]
        torques = (getattr(motor, name, None) for name in ("stall_torque", "rated_torque", "peak_torque"))
        speed = getattr(motor, "max_speed", None)
        of_motor = [*map(number, torques), number(None if speed is None else speed / rpm)]
        of_gear = (getattr(gear, name, None) for name in ("ratio", "rated_torque", "acceleration_torque"))
        rows.append([index, plain(joint.name), names[0], *of_motor, names[1], *map(number, of_gear)])
    columns = ["", "joint", "motor", ">M0", ">Mn", ">Mmax", ">n max", "gear", ">ratio", ">T2N", ">T2B"]
    return "Motors and gears: torques in N m, speed in rpm", columns, rows


def _terms(robot: da.Robot) -> Shown:
    """Friction beyond F_v and F_s, springs and losses: one line each."""
    rows = []
    for index, joint in _listed(robot):
        for k, term in enumerate(joint.friction.further):
            rows.append([*(("", "") if k else (index, plain(joint.name))), term.text_at(joint.type)])
    return "Further friction, springs and losses at the joints", ["", "joint", "term"], rows


def _some(value: float, unit: str = "") -> str:
    return number(value or None, unit)


def _two_sided(levels: tuple[float, float]) -> str:
    """A Coulomb level, or the two levels for positive and negative speed."""
    return _some(levels[0]) if levels[0] == levels[1] else f"+{number(levels[0])} / -{number(levels[1])}"


def _links(robot: da.Robot) -> Shown:
    rows = []
    for link in robot.links:
        body, name = link.inertia, plain(link.name)
        if body.is_zero:
            rows.append([name, "–", "–", "–", "", ""])
            continue
        weight, mark = "" if link.weight == 1.0 else number(link.weight), "" if link.physical else "not physical"
        rows.append([name, number(body.mass), numbers(body.com), numbers(principal_moments(body)), weight, mark])
    columns = ["name", ">mass", "centre of mass", "principal moments", ">weight held", ""]
    return "Links: mass (kg), centre of mass (m), principal moments (kg m²)", columns, rows


def _show_json(robot: da.Robot) -> None:
    """The robot as JSON: every field of the model, and values derived from them."""
    data = dataclasses.asdict(robot)
    data["moving_joints"] = [joint.name for joint in robot.moving_joints]
    data["joint_letters"] = robot.joint_letters
    data["total_mass"] = robot.mass
    for entry, link in zip(data["links"], robot.links, strict=True):
        entry["principal_moments"] = principal_moments(link.inertia)
    for entry, joint in zip(data["joints"], robot.joints, strict=True):
        friction = joint.friction
        entry["friction"] = {**friction.written(), "viscous": friction.viscous, "coulomb": friction.coulomb}
    print_json(finite(data), ascii_only=False)
