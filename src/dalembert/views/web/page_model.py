"""An arm as plain data with which the page draws it, names its parts, computes, and changes its parameters."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.environment.version import __version__
from dalembert.base.tables.signal_columns import declarations
from dalembert.compiler.quantities.machine import identity
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.regressor import WIDTH
from dalembert.mechanics.motion.operational_space import Space
from dalembert.robot.model.inertia import Inertia, ten_parameters
from dalembert.robot.model.mechanism import Body, places
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Joint
from dalembert.robot.readers.toml_writer import toml_pieces
from dalembert.views.web.kernels import varied_numbers
from dalembert.views.web.posture import first_posture
from dalembert.work.analysis.ellipsoid import task_space

Data = dict[str, Any]
LIMITS = ("lower", "upper", "velocity", "acceleration", "effort")
LARGEST = 3e38  # of a number on a page, which draws in single precision


def arm_data(arm: Arm) -> Data:
    """The data of ``js/robot.js``; a homogeneous matrix is sixteen numbers, row by row."""
    mechanism = arm.mechanism
    tree = mechanism.tree
    space = tip_space(arm)
    return {
        "name": arm.name,
        "digest": hashlib.sha256(identity(mechanism).encode()).hexdigest()[:16],
        "version": __version__,
        "n": arm.n,
        "N": tree.n,
        "joints": [_joint(joint) for joint in arm.robot.moving_joints],
        "bodies": [_body(body, joint.child) for body, joint in zip(tree.bodies, arm.robot.tree_joints, strict=True)],
        "base": matrix(tree.base),
        "tip": {"body": tree.tip_body, "name": arm.robot.tip.name if arm.robot.tip else "", "placement": matrix(tree.tip)},
        "tip_space": None if space is None else {"rows": space.rows, "normal": floats(space.normal)},
        "loops": [
            {
                "body_a": loop.ends.body_a, "place_a": matrix(loop.ends.place_a),
                "body_b": loop.ends.body_b, "place_b": matrix(loop.ends.place_b),
            }
            for loop in mechanism.loops
        ],
        "numbers": {name: _numbers(arm, name) for name in varied_numbers(arm)},
        "payload": ten_parameters(arm.robot.payload).tolist() if arm.robot.payload is not None else [0.0] * 10,
        "parameter_names": list(arm.parameter_names),
        "length_names": list(arm.length_names) if "lengths" in varied_numbers(arm) else [],
        "start": {"q": first_posture(arm)},
        "column_words": declarations(),
        "design": design_data(arm),
        **friction_data(arm),
    }  # fmt: skip


def tip_space(arm: Arm) -> Space | None:
    """The rows of the tip's pose in which its capability is shown; None if no joint moves the tip."""
    try:
        return task_space(arm, None)
    except DalembertError:
        return None


def _numbers(arm: Arm, name: str) -> list[float]:
    if name == "payload":
        return [0.0] * 10
    of = arm.mechanism.tree if name == "gravity" else arm
    values = np.ravel(np.asarray(getattr(of, name), float)).tolist()
    names = {"parameters": arm.parameter_names, "lengths": arm.length_names}.get(name)
    for k, value in enumerate(values):
        check_fits(f"arm '{arm.name}'", names[k] if names else f"{name}[{k}]", value)
    return values


def check_fits(where: str, name: str, value: float) -> None:
    """Raise an error if a number cannot be shown on a page."""
    if not abs(value) <= LARGEST:
        raise DalembertError(
            f"{where}: {name} is {value:g}; a page needs finite numbers that fit single precision, at most {LARGEST:g}"
        )


def _joint(joint: Joint) -> Data:
    limits = {name: getattr(joint.limits, name) for name in LIMITS}
    known = {name: None if x is None or abs(x) > LARGEST else float(x) for name, x in limits.items()}
    return {"name": joint.name, "revolute": joint.type != "prismatic", **known}


def _body(body: Body, link: str) -> Data:
    rotor: Data = {name: float(getattr(body, f"rotor_{name}")) for name in ("mass", "inertia")}
    rotor |= {name: floats(getattr(body, f"rotor_{name}")) for name in ("position", "axis")}
    rotor["gear"] = float(body.gear)
    return {
        "name": link,
        "joint": body.name,
        "parent": body.parent,
        "revolute": body.revolute,
        "axis": floats(body.axis),
        "placement": matrix(body.placement),
        "link_frame": matrix(body.link_frame),
        "rotor": rotor if body.has_rotor or body.rotor_mass else None,
    }


def matrix(placement: Placement) -> list[float]:
    """The homogeneous matrix of a placement, row by row."""
    rows = [[*map(float, row), float(x)] for row, x in zip(placement.rotation, placement.translation, strict=True)]
    return [x for row in (*rows, [0.0, 0.0, 0.0, 1.0]) for x in row]


# -- what the page changes -----------------------------------------------------------------------------
# A link is changed as defined in the robot file, without the rotors that it carries; dynamic parameters are those of
# augmented links. ``js/design_numbers.js`` reads these data.


def design_data(arm: Arm) -> Data:
    """Links, rotors and friction as defined in the robot file, and the file in pieces.

    bodies  for each joint of the tree: ``link``, the ten moments of all bodies fixed to its link about the link's
            frame, without rotors; ``own``, those of the link itself; ``rotor``; ``levels``, Coulomb friction forward
            and backward; ``xyz`` and ``turned``, the position of the joint on the preceding link and the orientation of
            that link on its body
    toml    the file in pieces, or null with the reason in ``why_not``
    """
    robot, tree = arm.robot, arm.mechanism.tree
    at = places(robot)
    links = {link.name: link.inertia for link in robot.links}
    assert robot.tip is not None
    bodies = [
        _design_body(joint, body, links[joint.child]) | {"turned": _rotation(at[joint.parent][1])}
        for joint, body in zip(robot.tree_joints, tree.bodies, strict=True)
    ]
    data: Data = {
        "bodies": bodies,
        "tip": {"xyz": floats(robot.tip.placement.translation), "turned": _rotation(at[robot.tip.link][1])},
        "toml": None,
        "why_not": "",
        "decoupling": decoupling_data(arm),
    }
    try:
        if robot.omitted:
            raise DalembertError("an approximate model omits terms, which a robot file cannot express")
        data["toml"] = toml_pieces(robot, tree.bodies)
    except DalembertError as problem:
        data["why_not"] = str(problem)
    return data


def _design_body(joint: Joint, body: Body, own: Inertia) -> Data:
    rotor = joint.rotor and {
        "inertia": float(body.rotor_inertia),
        "gear": float(body.gear),
        "viscous": float(joint.rotor.viscous),
        "coulomb": floats(joint.rotor.coulomb),
        "axis": floats(body.rotor_axis),
        "reflected": body.reflected,
    }
    return {
        "link": ten_parameters(body.link).tolist(),
        "own": ten_parameters(own).tolist(),
        "rotor": rotor,
        "levels": floats(body.coulomb),
        "xyz": floats(joint.placement.translation),
    }


def _rotation(placement: Any) -> list[float]:
    return floats(x for row in placement.rotation for x in row)


def floats(values: Any) -> list[float]:
    """Numbers for JSON."""
    return [float(x) for x in values]


def friction_data(arm: Arm) -> Data:
    """Which of the dynamic parameters are those of friction."""
    tree = arm.mechanism.tree
    where: list[int] = []
    at = WIDTH * tree.n
    for i, body in enumerate(tree.bodies):
        where += [WIDTH * i + WIDTH - 2, WIDTH * i + WIDTH - 1]
        for term in body.terms[2:]:
            size = len(term.linear())
            where += range(at, at + size) if {"qd", "load"} & set(term.of) else ()
            at += size
    return {"friction_parameters": where}


def decoupling_data(arm: Arm) -> Data | None:
    """For a closed chain of two joints that one condition decouples, S 7.3.3: that condition, and the tip's body."""
    tree = arm.mechanism.tree
    if arm.n != 2 or len(arm.loops) != 1 or tree.tip_body < 0 or arm.omitted:
        return None
    try:
        equations = arm.couplings().condition("b", 1, 2).equations
    except DalembertError:
        return None
    if len(equations) != 1:
        return None
    return {"body": tree.tip_body, "condition": f"{str(equations[0]).replace('*', ' ')} = 0"}
