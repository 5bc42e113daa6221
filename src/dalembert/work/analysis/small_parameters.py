"""Small parameters: an arm without the parameters that matter least along a motion.

The parameters are those from which inverse dynamics is compiled (:mod:`dalembert.mechanics.equations.regrouping`): first moments
h and second moments Σ = ∫ r rᵀ dm of every link and of everything that is lumped with it, in a frame on the axis of its
joint; they are base parameters, and each one that is zero removes its products from the code. In addition there are
rotors that enter through k_r² I_m, viscous and Coulomb friction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array, number
from dalembert.base.environment.short_repr import record
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.regressor import WIDTH
from dalembert.mechanics.equations.regrouping import LeanLink, lean_links
from dalembert.robot.model.inertia import from_ten_parameters, ten_parameters
from dalembert.robot.model.robot import Joint, Robot
from dalembert.work.sizing.motion_samples import samples_of
from dalembert.work.sizing.sizing import rms

FIRST = ("h_x", "h_y", "h_z")
SECOND = {"Σ_xx": (0, 0), "Σ_yy": (1, 1), "Σ_zz": (2, 2), "Σ_xy": (0, 1), "Σ_xz": (0, 2), "Σ_yz": (1, 2)}
DRIVE = ("I_m", "F_v", "F_s")  # in the order of the regressor, after the ten of the link
MOST = 4000  # largest number of samples that are used


@record
class DroppedPart:
    """A parameter of joint i of the tree: its name, and its contribution to the columns of Y."""

    joint: int
    name: str
    share: Array  # (13N,) its combination of the parameters of Arm.regressor


def without_small_parameters(arm: Arm, small: float | None, motion: Any) -> Arm:
    """The arm without the parameters that change no joint torque by more than the fraction ``small`` of its RMS."""
    if small is None or motion is None:
        raise DalembertError(
            "small parameters are defined along a motion: give both small and motion, as in approximate(small=0.01, motion=motion)"
        )
    if not 0.0 < number("small", small) < 1.0:
        raise DalembertError(f"small is {small!r}; it must be a fraction of the RMS torque, between 0 and 1, as 0.01")
    at = samples_of(arm, motion)
    at = at.rows(np.unique(np.linspace(0, len(at.t) - 1, MOST).round().astype(np.intp)))
    states = at.q, at.qd, at.qdd
    whole = arm.replace(omitted=())
    tau = arm.inverse_dynamics(*states)
    allowed = np.asarray(small * rms(at.t, tau), float)
    parts = list(_parts(whole))
    shares = np.reshape([part.share for part in parts], (len(parts), len(whole.parameters)))
    order = _least_first(whole.regressor(*states) @ shares.T, allowed)
    while True:
        dropped = [parts[k] for k in order]
        less = arm.replace(**_without(whole.robot, dropped))
        if not order or (rms(at.t, tau - less.inverse_dynamics(*states)) <= allowed).all():
            return less.replace(notes=(*arm.robot.notes, _note(arm, dropped, small)))
        # load-dependent friction is nonlinear, and omitted terms have a smaller effect with it: a tenth is restored
        order = order[: int(0.9 * len(order))]


def _note(arm: Arm, dropped: list[DroppedPart], small: float) -> str:
    by_joint: dict[str, list[str]] = {}
    for part in sorted(dropped, key=lambda part: part.joint):
        by_joint.setdefault(arm.robot.tree_joints[part.joint].name, []).append(part.name)
    words = "; ".join(f"{', '.join(names)} of {joint}" for joint, names in by_joint.items()) or "none"
    return f"small parameters omitted, which change no torque by more than {100 * small:g} % of its RMS along a motion: {words}"


# -- the parameters -------------------------------------------------------------------------------


def _parts(arm: Arm) -> Iterator[DroppedPart]:
    """The parameters that can be omitted: those that are not zero."""
    tree, robot = arm.mechanism.tree, arm.robot
    width = len(arm.parameters)
    for i, (link, joint) in enumerate(zip(lean_links(tree), robot.tree_joints, strict=True)):
        body, own = tree.bodies[i], robot.link(joint.child)
        for name, unit, value in _moments(link):
            if value and not own.massless and (own.inertia.mass > 0.0 or name not in FIRST):
                yield DroppedPart(i, name, _at(width, WIDTH * i, value * unit))
        others = {
            "I_m": body.rotor_inertia if body.reflected else 0.0,
            "F_v": body.viscous,
            "F_s": sum(body.coulomb) / 2,
        }
        for k, (name, value) in enumerate(others.items(), 10):
            if value:
                yield DroppedPart(i, name, _at(width, WIDTH * i + k, np.array([float(value)])))


def _moments(link: LeanLink) -> Iterator[tuple[str, Array, float]]:
    """The moments of a regrouped link: name, ten parameters of a unit of it in the body's frame, value."""
    R, t = np.array(link.frame.rotation, float), np.array(link.frame.translation, float)
    for k, name in enumerate(FIRST):
        h = R[:, k]
        yield name, _ten(h, np.outer(t, h) + np.outer(h, t)), float(link.h[k])
    for name, (j, k) in SECOND.items():
        unit = np.outer(R[:, j], R[:, k])
        yield name, _ten(np.zeros(3), unit if j == k else unit + unit.T), float(link.Sigma[j][k])


def _ten(h: Array, Sigma: Array) -> Array:
    """m = 0, m c and the tensor tr Σ 1 − Σ about the frame's origin, in the order of S (7.77)."""
    I = np.trace(Sigma) * np.eye(3) - Sigma
    return np.array([0.0, *h, I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]])


def _at(width: int, first: int, values: Array) -> Array:
    out = np.zeros(width)
    out[first : first + len(values)] = values
    return out


# -- the omitted ones ----------------------------------------------------------------------------


def _least_first(columns: Array, allowed: Array) -> list[int]:
    """Parameters in order of increasing contribution to the error, as long as no joint's RMS error exceeds its bound.

    columns  (T, n, K) the torques of each
    """
    Gram = np.einsum("tik,til->ikl", columns, columns) / len(columns)
    scale = np.maximum(allowed**2, np.finfo(float).tiny)  # for a joint without torque: no error is allowed
    acting = [k for k in range(Gram.shape[-1]) if Gram[:, k, k].max() > 1e-24 * scale.max()]
    error, cross = np.zeros(len(allowed)), np.zeros(Gram.shape[:2])
    order: list[int] = []
    while left := [k for k in acting if k not in order]:
        after = error[:, None] + 2.0 * cross[:, left] + Gram[:, left, left]
        with np.errstate(over="ignore"):
            worst = (after / scale[:, None]).max(axis=0)
        best = int(np.argmin(worst))
        if worst[best] > 1.0:
            break
        order.append(left[best])
        error, cross = after[:, best], cross + Gram[:, :, left[best]]
    return order


def _without(robot: Robot, dropped: list[DroppedPart]) -> dict[str, Any]:
    """The links and joints of the robot without these parameters."""
    joints, omitted = {joint.name: joint for joint in robot.joints}, dict[str, Array]()
    for part in dropped:
        joint = robot.tree_joints[part.joint]
        if part.name in DRIVE:
            joints[joint.name] = _lighter(joints[joint.name], part.name)
        else:
            inertial = part.share[WIDTH * part.joint : WIDTH * part.joint + 10]
            omitted[joint.child] = omitted.get(joint.child, np.zeros(10)) + inertial
    links = {link.name: link for link in robot.links}
    for name, ten in omitted.items():  # marked if the result is not that of a body
        inertia = from_ten_parameters(ten_parameters(links[name].inertia) - ten)
        links[name] = replace(links[name], inertia=inertia, physical=inertia.impossible() is None)
    return {"links": tuple(links.values()), "joints": tuple(joints.values())}


def _lighter(joint: Joint, name: str) -> Joint:
    """The joint without its rotor's inertia, or without the viscous or Coulomb friction of the joint and its motor."""
    rotor = joint.rotor
    if name == "I_m":
        return joint if rotor is None else joint.with_rotor(replace(rotor, inertia=0.0))
    none: Any = {"viscous": 0.0} if name == "F_v" else {"coulomb": (0.0, 0.0)}
    rotor = None if rotor is None else replace(rotor, **none)
    return replace(joint, friction=joint.friction.replace(**none), rotor=rotor)
