"""Data with which a page changes a robot's parameters and rewrites its file, for ``js/design_numbers.js``.

A link is changed as defined in the robot file, without the rotors that it carries; dynamic parameters are those of
augmented links.
"""

from __future__ import annotations

from typing import Any

from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.friction import loaded
from dalembert.mechanics.equations.regressor import WIDTH
from dalembert.robot.model.inertia import Inertia, ten_parameters
from dalembert.robot.model.mechanism import Body, places
from dalembert.robot.model.robot import Joint
from dalembert.robot.readers.toml_pieces import toml_pieces

Data = dict[str, Any]


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
        _body(joint, body, links[joint.child]) | {"turned": _rotation(at[joint.parent][1])}
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


def _body(joint: Joint, body: Body, own: Inertia) -> Data:
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
    """The dynamic parameters that are zero without friction, and whether some friction depends on the load or acts at
    passive joints."""
    tree, actuated = arm.mechanism.tree, set(arm.mechanism.actuated)
    where: list[int] = []
    at = WIDTH * tree.n
    for i, body in enumerate(tree.bodies):
        where += [WIDTH * i + WIDTH - 2, WIDTH * i + WIDTH - 1]
        for term in body.terms[2:]:
            size = len(term.linear())
            where += range(at, at + size) if {"qd", "load"} & set(term.of) else ()
            at += size
    passive = [body.name for i, body in enumerate(tree.bodies) if i not in actuated and body.coulomb != (0.0, 0.0)]
    return {
        "friction_parameters": where,
        "load_friction": bool(loaded(arm.mechanism.tree)),
        "passive_friction": passive,
    }


def decoupling_data(arm: Arm) -> Data | None:
    """For a closed chain of two joints that one condition decouples, S 7.3.3: that condition, and the body that carries
    the tip."""
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
