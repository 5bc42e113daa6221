"""From base parameters to an arm: the nearest full parameters that predict the same torques, stored in a robot.

The robot holds all of them: links, rotors, every friction term, and drives shared by two joints, each as a joint
without a body that follows the two. Values that no mechanism can have, such as negative friction, are marked ``physical
= false`` and named in a note.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.errors import DalembertError, MissingExtraError
from dalembert.robot.model.inertia import Inertia, from_ten_parameters, ten_parameters
from dalembert.robot.model.robot import Coupling, Friction, Joint, Link, Robot, Rotor
from dalembert.robot.terms import Term
from dalembert.work.identification.fitting.base_parameters import BaseParameters
from dalembert.work.identification.fitting.fit_options import EstimatorOptions
from dalembert.work.identification.fitting.parameter_set import SLOPE_UNITS, Drive, ParameterSet, shape_of
from dalembert.work.identification.fitting.physical_consistency import (
    ConsistentProblem,
    entries,
    links_of,
    scales,
    signed,
)

SMALL_MASS = 1e-3  # kg: mass of a link whose nearest mass would be negative


def spread_out(base: BaseParameters, values: Array) -> tuple[Array, list[str]]:
    """The full parameters φ with Kφ = ``values`` that are nearest to the arm's own; physically consistent if possible."""
    phi = _least_change(base, values)
    if _possible(base, phi):
        return phi, []
    try:
        return _exactly(base, ConsistentProblem(base, EstimatorOptions(), exact=True).exactly(values), values), []
    except MissingExtraError as missing:
        return phi, [f"the nearest parameters are not physically consistent, and {missing}"]
    except DalembertError:
        return phi, [
            "no physically consistent links give these torques, so some links of the calibrated arm are marked "
            "physical = false; physical=True (--consistent) finds the nearest consistent fit"
        ]


def _exactly(base: BaseParameters, phi: Array, values: Array, size: Array | None = None) -> Array:
    """φ + S²Kᵀ(KS²Kᵀ)⁻¹(π_b − Kφ), applied twice for accuracy."""
    size = scales(base.parameters) if size is None else size
    for _ in range(2):
        phi = phi + size * np.linalg.lstsq(base.K * size, values - base.K @ phi, rcond=1e-13)[0]
    return phi


def _least_change(base: BaseParameters, values: Array) -> Array:
    """The φ of least change, without negative link masses unless the log requires them."""
    parameters, links = base.parameters, links_of(base.parameters)
    size, start = scales(parameters), parameters.values.copy()
    masses = np.flatnonzero([kind == "m" for kind in parameters.kinds])
    nearest = phi = _exactly(base, start, values, size)
    for _ in range(len(masses)):
        light = (size[masses] > 0) & (links.own(phi)[:, 0] < SMALL_MASS)
        if not light.any():
            break
        start[masses[light]] = SMALL_MASS - links.constants[light, 0]
        size[masses[light]] = 0.0
        phi = _exactly(base, start, values, size)
    return (
        phi if np.allclose(base.K @ phi, values, rtol=1e-9, atol=1e-12 * np.abs(values).max(initial=0.0)) else nearest
    )


def _possible(base: BaseParameters, phi: Array) -> bool:
    J = np.array([entries(own) for own in links_of(base.parameters).own(phi)]).reshape(-1, 4, 4)
    least = -1e-9 * np.maximum(np.abs(J).max(axis=(1, 2)), 1e-12)
    return bool((np.linalg.eigvalsh(J)[:, 0] >= least).all() and (phi[signed(base, exact=True)] >= 0).all())


def calibrated_arm(parameters: ParameterSet, phi: Array, note: str) -> tuple[Arm, list[str]]:
    """The arm with these parameters, and remarks on it, one sentence each."""
    robot, notes = parameters.arm.robot, list[str]()
    terms, rotors = _terms(parameters, phi), defaultdict[object, float](float)
    for parameter, x in zip(parameters.members, phi.tolist(), strict=True):
        if parameter.kind == "Im":
            rotors[parameter.drive or parameter.joint] += x
    joints = {
        joint.name: replace(joint, friction=Friction.of(terms.get(k, ()))).with_rotor(_rotor(joint, rotors[k]))
        for k, joint in enumerate(robot.tree_joints)
    }
    links = links_of(parameters)
    renewed: dict[str, Link] = {}
    for name, before, wanted in zip(links.names, links.own(parameters.values), links.own(phi), strict=True):
        own, remarks = _links(robot, name, before, wanted)
        renewed, notes = renewed | own, notes + remarks
    changed = robot.replace(
        links=tuple(renewed.get(link.name, link) for link in robot.links),
        joints=tuple(joints.get(joint.name, joint) for joint in robot.joints),
    )
    for drive in dict.fromkeys(parameters.drives):
        changed = _with_drive(changed, parameters, drive, terms.get(drive, ()), rotors[drive])
    notes += _impossible(changed)
    notes += _heated(parameters, phi)
    if extra := [column.name for column in parameters.extra if column.name in parameters.names]:
        notes.append(
            f"a robot cannot hold the columns {', '.join(extra)}: predict() includes them, the calibrated arm does not"
        )
    return Arm(changed.replace(notes=(*robot.notes, note, *notes))), notes


def _heated(parameters: ParameterSet, phi: Array) -> list[str]:
    """A note that a robot's friction refers to one temperature, and how it changes with temperature."""
    if not parameters.heated:
        return []
    usual = [
        f"{parameters.usual_temperature[j]:.3g} °C at '{parameters.arm.joint_names[j]}'" for j in parameters.heated
    ]
    slopes = [
        f"{parameter.name} = {x:.3g} {SLOPE_UNITS[parameter.kind]}"
        for parameter, x in zip(parameters.members, phi.tolist(), strict=True)
        if parameter.slope is not None
    ]
    return [
        f"the calibrated arm has the friction at the log's mean temperature, {', '.join(usual)}; its change by "
        f"{', '.join(slopes)} is included in predict(), but not in the arm"
    ]


def _terms(parameters: ParameterSet, phi: Array) -> dict[object, list[Term]]:
    """The terms that the parameters are coefficients of, by joint of the tree or shared drive."""
    sums: dict[tuple[object, object], tuple[Term, Array]] = {}
    for parameter, x in zip(parameters.members, phi, strict=True):
        if parameter.unit is not None:
            unit, key = parameter.unit, (parameter.drive or parameter.joint, shape_of(parameter.unit))
            before = sums[key][1] if key in sums else 0.0
            sums[key] = (unit, before + x * np.array(unit.coefficients))
    out: dict[object, list[Term]] = {}
    for (place, _), (unit, coefficients) in sums.items():
        out.setdefault(place, []).append(_term(unit, coefficients.tolist()))
    return out


def _term(unit: Term, coefficients: list[float]) -> Term:
    """The term of this shape with these coefficients, of any sign."""
    values = dict(zip(unit.linear(), coefficients, strict=True))
    about = {entry.name: entry.metadata for entry in unit.numbers()}
    possible = (
        x >= about[name]["least"] and (about[name]["below"] is None or x < about[name]["below"])
        for name, x in values.items()
    )
    return replace(unit, physical=all(possible), **values)


def _rotor(joint: Joint, inertia: float) -> Rotor | None:
    """The identified rotor of a joint; all friction is on the joint side."""
    if joint.rotor is None and inertia == 0.0:
        return None
    rotor = Rotor(reflected=True) if joint.rotor is None else joint.rotor
    return replace(rotor, inertia=inertia, physical=inertia >= 0, viscous=0.0, coulomb=(0.0, 0.0))


def _with_drive(robot: Robot, parameters: ParameterSet, drive: Drive, terms: Sequence[Term], inertia: float) -> Robot:
    """The robot with a motor that follows two joints: a joint on the base whose link has no mass."""
    held, names = parameters.arm.joint_names, {joint.name for joint in robot.joints}
    name = "_".join(["drive", *(str(parameters.actuated[k] + 1) for k in (drive.i, drive.j))])
    while name in names:
        name += "b"
    link = Link(f"{name}:rotor", massless=True)
    motor = Joint(name, "continuous", robot.root, link.name, friction=Friction.of(terms))
    follows = Coupling(name, (held[drive.i], held[drive.j]), ((drive.ratio, 1.0),))
    return robot.replace(
        links=(*robot.links, link),
        joints=(*robot.joints, replace(motor, rotor=_rotor(motor, inertia))),
        couplings=(follows, *robot.couplings),
    )


def _impossible(robot: Robot) -> list[str]:
    """A note on the values that are marked because no mechanism can have them."""
    marked = []
    for joint in robot.tree_joints:
        where = f"joint '{joint.name}'"
        if joint.rotor is not None and not joint.rotor.physical:
            marked.append(f"the rotor inertia of {where} ({joint.rotor.inertia:.3g} kg m²)")
        for term in joint.friction:
            if not term.physical:
                values = (f"{name} {x:.3g}" for name, x in zip(term.linear(), term.coefficients, strict=True))
                marked.append(f"{term.title} of {where} ({', '.join(values)})")
    return [f"marked physical = false, because no mechanism can have them: {', '.join(marked)}"] if marked else []


def _links(robot: Robot, name: str, before: Array, wanted: Array) -> tuple[dict[str, Link], list[str]]:
    """A link that, with what is fixed to it, has the ten parameters ``wanted`` instead of ``before``; and notes."""
    body = _body(wanted - (before - ten_parameters(robot.link(name).inertia)))
    if body is not None and body.impossible() is None:
        return {name: replace(robot.link(name), inertia=body, physical=True)}, []
    whole = _body(wanted)
    if whole is None:
        return {}, [f"link '{name}' keeps its inertia: its identified parameters have moments but no mass"]
    problem, riding = whole.impossible(), _fixed_to(robot, name)
    notes = [] if problem is None else [f"link '{name}' is marked physical = false: {problem}"]
    out = {name: replace(robot.link(name), inertia=whole, physical=problem is None)}
    if riding:
        out |= {other: replace(robot.link(other), inertia=Inertia()) for other in riding}
        notes.append(f"the bodies fixed to link '{name}' ({', '.join(riding)}) are included in its inertia")
    return out, notes


def _fixed_to(robot: Robot, name: str) -> list[str]:
    """The links with a body that are attached to this one by fixed joints, each followed by those attached to it."""
    held = [joint.child for joint in robot.joints if joint.parent == name and not joint.moves]
    riding = [link for child in held for link in (child, *_fixed_to(robot, child))]
    return [link for link in riding if not robot.link(link).inertia.is_zero]


def _body(values: Array) -> Inertia | None:
    """The inertia with these ten parameters; None if there is no mass."""
    if abs(values).max(initial=0.0) < 1e-14:
        return Inertia()
    if values[0] == 0:
        return None
    return from_ten_parameters(values)
