"""From base parameters to an arm: the nearest parameters that predict the same torques, put into a robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.errors import DalembertError, MissingExtraError
from dalembert.identification.base import BaseParameters
from dalembert.identification.parameters import ParameterSet
from dalembert.identification.physical import Belief, consistent, entries, links_of, scales, signed, ten, tensor
from dalembert.robot.inertia import Inertia
from dalembert.robot.model import Friction, Joint, Link, Robot, Rotor

Array = NDArray[np.float64]

SMALL_MASS = 1e-3  # kg: what a link keeps when least change would make it lighter than nothing


def spread_out(base: BaseParameters, values: Array) -> tuple[Array, list[str]]:
    """The full parameters φ with Kφ = ``values`` that are nearest to the arm's own; possible bodies if there are any."""
    phi = _least_change(base, values)
    if _possible(base, phi):
        return phi, []
    try:
        none = np.zeros((0, base.rank))
        return consistent(base, none, np.zeros(0), Belief(), exactly=values)[0], []
    except MissingExtraError as missing:
        return phi, [f"the nearest parameters are not those of bodies, and {missing}"]
    except DalembertError:
        return phi, [
            "no links that can exist give these torques, so that some of the calibrated arm's are marked "
            "physical = false; physical=True (--consistent) finds the nearest that can"
        ]


def _least_change(base: BaseParameters, values: Array) -> Array:
    """φ₀ + S²Kᵀ(KS²Kᵀ)⁻¹(π_b − Kφ₀), no link lighter than nothing."""
    parameters, links = base.parameters, links_of(base.parameters)
    size, start = scales(parameters), parameters.values.copy()
    masses = np.flatnonzero([kind == "m" for kind in parameters.kinds])
    for _ in range(len(masses) + 1):
        phi = start + size * np.linalg.lstsq(base.K * size, values - base.K @ start, rcond=1e-13)[0]
        light = (size[masses] > 0) & (links.own(phi)[:, 0] < SMALL_MASS)
        if not light.any():
            break
        start[masses[light]] = SMALL_MASS - links.constants[light, 0]
        size[masses[light]] = 0.0
    return phi


def _possible(base: BaseParameters, phi: Array) -> bool:
    for J in map(entries, links_of(base.parameters).own(phi)):
        if np.linalg.eigvalsh(J)[0] < -1e-9 * max(np.abs(J).max(), 1e-12):
            return False
    return bool((phi[signed(base, settled=True)] >= 0).all())


def with_stribeck_folded(parameters: ParameterSet, phi: Array, qd: Array) -> tuple[Array, list[str]]:
    """φ with Stribeck friction in Coulomb and viscous friction, as near as these come to it at the speeds of a log.

    A robot file cannot hold it, and without it the others, which were found beside it, would be off.
    """
    at, folded, done = {name: k for k, name in enumerate(parameters.names)}, phi.copy(), list[str]()
    for column in parameters.extra:
        kind, _, k = column.name.partition("_")
        level = phi[at[column.name]]
        homes = [name for name in (f"Fs_{k}", f"Fs+_{k}", f"Fs-_{k}", f"Fv_{k}") if name in at]
        if kind != "Fst" or not level or not homes:
            continue
        torque = level * column.torque(qd, qd, qd)
        j = int(np.argmax(np.abs(torque).sum(axis=0)))
        v = qd[:, j]
        shapes = {"Fs": np.sign(v), "Fs+": np.where(v > 0, 1.0, 0.0), "Fs-": np.where(v < 0, -1.0, 0.0), "Fv": v}
        columns = np.column_stack([shapes[name.partition("_")[0]] for name in homes])
        folded[[at[name] for name in homes]] += np.linalg.lstsq(columns, torque[:, j], rcond=None)[0]
        folded[at[column.name]] = 0.0
        done.append(column.name)
    if not done:
        return phi, []
    return folded, [
        f"Stribeck friction ({', '.join(done)}) stands in the calibrated arm's Coulomb and viscous friction as far as these "
        "follow it at the log's speeds; predict() has it as it is"
    ]


def calibrated_arm(parameters: ParameterSet, phi: Array, note: str) -> tuple[Arm, list[str]]:
    """The arm with these parameters, and what a robot cannot hold, one sentence each."""
    arm, notes = parameters.arm, list[str]()
    robot = arm.robot
    value = dict(zip(parameters.names, phi.tolist(), strict=True))
    folded: list[str] = []
    joints = {joint.name: _joint(value, joint, k, notes, folded) for k, joint in enumerate(robot.tree_joints, 1)}
    if folded:
        notes.append(
            f"the torque offsets of {', '.join(folded)} stand in their Coulomb friction, one level for each direction: equal "
            "to predict() while the joint moves"
        )
    links = links_of(parameters)
    renewed: dict[str, Link] = {}
    for name, before, wanted in zip(links.names, links.own(parameters.values), links.own(phi), strict=True):
        renewed |= _links(robot, name, before, wanted, notes)
    beyond = [column.name for column in parameters.extra if value.get(column.name)]
    gradual = {
        f"Fs_{k}" for k in range(1, len(robot.tree_joints) + 1)
    }  # sigmoid friction has the place of Coulomb friction
    if gradual & set(beyond):
        notes.append(
            "Coulomb friction of the calibrated arm turns over at rest, at once; predict() has its gradual turn"
        )
    if extra := [name for name in beyond if name not in gradual]:
        notes.append(f"a robot file cannot hold {', '.join(extra)}: predict() has them, the calibrated arm has not")
    changed = robot.replace(
        links=tuple(renewed.get(link.name, link) for link in robot.links),
        joints=tuple(joints.get(joint.name, joint) for joint in robot.joints),
        notes=(*robot.notes, note, *notes),
    )
    return Arm(changed), notes


def _joint(value: dict[str, float], joint: Joint, k: int, notes: list[str], folded: list[str]) -> Joint:
    """Joint k, from 1, with its rotor and friction as identified, all of the friction at the joint side."""

    def not_negative(what: str, amount: float) -> float:
        if amount < 0:
            notes.append(f"{what} of joint '{joint.name}' is {amount:.3g}, which nothing can have; the arm has 0")
        return max(amount, 0.0)

    rotor = joint.rotor
    if f"Im_{k}" in value:
        inertia = not_negative("the rotor inertia", value[f"Im_{k}"])
        if rotor is not None or inertia > 0:
            rotor = replace(rotor, inertia=inertia) if rotor is not None else Rotor(inertia=inertia, reflected=True)
    if rotor is not None:
        rotor = replace(rotor, viscous=0.0, coulomb=(0.0, 0.0))
    viscous = not_negative("viscous friction", value.get(f"Fv_{k}", 0.0))
    both = value.get(f"Fs_{k}", 0.0)
    levels = [value.get(f"Fs+_{k}", both), value.get(f"Fs-_{k}", both)]
    offset = value.get(f"offset_{k}", 0.0)
    if offset and min(levels[0] + offset, levels[1] - offset) >= 0:
        levels = [levels[0] + offset, levels[1] - offset]
        folded.append(joint.name)
    elif offset:
        notes.append(
            f"the torque offset of joint '{joint.name}' ({offset:.3g}) is not in the calibrated arm; predict() has it"
        )
    not_negative("Coulomb friction", min(levels))
    return replace(joint, rotor=rotor, friction=Friction(viscous, (max(levels[0], 0.0), max(levels[1], 0.0))))


def _links(robot: Robot, name: str, before: Array, wanted: Array, notes: list[str]) -> dict[str, Link]:
    """A link, so that with what is fixed to it it has the ten parameters ``wanted``; it had those of ``before``."""
    riding = _fixed_to(robot, name)
    kept = _body(wanted - (before - ten(robot.link(name).inertia)))
    if kept is not None and kept.impossible() is None:
        return {name: replace(robot.link(name), inertia=kept, physical=True)}
    whole = _body(wanted)
    if whole is None:
        return {}
    problem = whole.impossible()
    out = {name: replace(robot.link(name), inertia=whole, physical=problem is None)}
    if problem is not None:
        notes.append(f"link '{name}' is marked physical = false: {problem}")
    if riding:
        out |= {other: replace(robot.link(other), inertia=Inertia()) for other in riding}
        notes.append(f"what is fixed to link '{name}' ({', '.join(riding)}) is counted with it")
    return out


def _fixed_to(robot: Robot, name: str) -> list[str]:
    """The links with a body that fixed joints hold to this one, each followed by those that it holds itself."""
    held = [joint.child for joint in robot.joints if joint.parent == name and not joint.moves]
    riding = [link for child in held for link in (child, *_fixed_to(robot, child))]
    return [link for link in riding if not robot.link(link).inertia.is_zero]


def _body(values: Array) -> Inertia | None:
    """The inertia with these ten parameters; None without a mass to put at a centre."""
    if abs(values).max(initial=0.0) < 1e-14:
        return Inertia()
    if not values[0] > 0:
        return None
    m, x, y, z = values[:4].tolist()
    return Inertia.from_origin(m, (x, y, z), tensor(values[4:]).tolist())
