"""The same mechanism with other numbers, which may be traced: parameters, lengths, payload, gravity and gears as inputs.

``parameters``  π of S (7.81), as listed by :func:`dalembert.mechanics.equations.regressor.parameters`, for augmented links. The
                masses and positions of rotors, which S counts with the link that carries them, stay those of the
                mechanism, and so does the difference between the two Coulomb levels of a joint, whose mean is F_s
``lengths``     translations (m): for each joint of the tree that of its frame on the previous link, in the link's axes,
                then that of its link frame from it; last that of the tip on its link. Inertias do not move in their
                link frames
``payload``     mass (kg), first moments (kg m) and inertia about the tip's origin (kg m²), in the tip's axes: I_xx,
                I_xy, I_xz, I_yy, I_yz, I_zz as entries of the tensor; added to the payload of the mechanism
``gravity``     g_0 (m/s²) in the base frame
``gears``       k_r of every joint of the tree, signed: 1 if there is no rotor. Motor friction is counted on the joint
                side, in F_v and F_s of ``parameters``, and does not change
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dalembert.base.algebra.scalars import Scalar, Values
from dalembert.base.algebra.vectors import Mat, Vec
from dalembert.errors import DalembertError
from dalembert.mechanics.coordinates.chain import AnyMechanism
from dalembert.mechanics.equations.lagrange import carried_rotor
from dalembert.mechanics.equations.regressor import WIDTH, carried_share
from dalembert.robot.model.inertia import Moments
from dalembert.robot.model.mechanism import Body, Mechanism


def varied(mechanism: AnyMechanism, numbers: Mapping[str, Values]) -> AnyMechanism:
    """The mechanism with these numbers in place of its own, by the names of ``VARIANTS``."""
    for name, vary in VARIANTS.items():
        if name in numbers:
            mechanism = vary(mechanism, numbers[name])
    return mechanism


def _moments(m: Scalar, hx: Scalar, hy: Scalar, hz: Scalar, *tensor: Scalar) -> Moments:
    """From the first ten parameters of S (7.77): Σ = ½ tr(Î) 1 − Î."""
    xx, xy, xz, yy, yz, zz = tensor
    half = 0.5 * (xx + yy + zz)
    Sigma = Mat.of(((half - xx, -xy, -xz), (-xy, half - yy, -yz), (-xz, -yz, half - zz)))
    return Moments(m, Vec((hx, hy, hz)), Sigma)


def with_parameters(mechanism: AnyMechanism, parameters: Values) -> AnyMechanism:
    """The mechanism with the parameters of S (7.81): 13 per joint of its tree, and those of further terms."""
    tree = mechanism.tree
    bodies: list[Body] = []
    at = WIDTH * tree.n
    for i, body in enumerate(tree.bodies):
        *inertial, I_m, F_v, F_s = parameters[WIDTH * i : WIDTH * (i + 1)]
        inertia = _moments(*inertial)
        one_way = 0.5 * (body.coulomb[0] - body.coulomb[1])
        changed = body.with_friction(F_v, F_s + one_way, F_s - one_way)
        terms = list(changed.terms)
        for k, term in enumerate(terms[2:], 2):
            last = at + len(term.linear())
            terms[k] = replace(term, **dict(zip(term.linear(), parameters[at:last], strict=True)))
            at = last
        new: Any = {"inertia": inertia, "rotor_inertia": I_m, "terms": tuple(terms)}
        if not body.lifted.is_zero:
            new["lifted"] = inertia.scaled(carried_share(body))
        bodies.append(replace(changed, **new))
    return _on_tree(mechanism, bodies=tuple(_with_link(bodies, i) for i in range(tree.n)))


def _with_link(bodies: list[Body], i: int) -> Body:
    """Body i with its link, that is, the augmented link without the rotors that it carries, S (7.63)–(7.66)."""
    link: Any = bodies[i].inertia
    for rotor in bodies:
        if rotor.parent == i:
            link = link - carried_rotor(rotor)
    return replace(bodies[i], link=link)


def lengths(mechanism: AnyMechanism) -> list[Scalar]:
    """The translations in the order of :func:`with_lengths`."""
    values: list[Scalar] = []
    for body in mechanism.tree.bodies:
        values += [*body.placement.translation, *body.link_frame.translation]
    return [*values, *mechanism.tip.translation]


def length_names(mechanism: AnyMechanism) -> list[str]:
    """The names of the lengths: px_3 for the frame of joint 3, lx_3 for that of its link, tx for the tip."""
    numbers = range(1, mechanism.tree.n + 1)
    return [f"{kind}{x}_{i}" for i in numbers for kind in "pl" for x in "xyz"] + ["tx", "ty", "tz"]


def with_lengths(mechanism: AnyMechanism, values: Values) -> AnyMechanism:
    """The mechanism with its joints, link frames and tip at these translations."""
    if mechanism.loops:
        raise DalembertError(
            "lengths cannot be inputs of a closed chain, because its closure is computed for its own lengths; change the robot, "
            "arm.replace(joints=…), for each set of lengths"
        )
    steps = [Vec(values[k : k + 3]) for k in range(0, len(values), 3)]
    bodies = [
        replace(
            body,
            placement=replace(body.placement, translation=before),
            link_frame=replace(body.link_frame, translation=after),
        )
        for body, before, after in zip(mechanism.tree.bodies, steps[::2], steps[1::2], strict=False)
    ]
    return _on_tree(mechanism, bodies=tuple(bodies), tip=replace(mechanism.tip, translation=steps[-1]))


def with_payload(mechanism: AnyMechanism, payload: Values) -> AnyMechanism:
    """The mechanism with one more body at its tip."""
    tree, k = mechanism.tree, mechanism.tip_body
    if k < 0:
        return mechanism
    body, held = tree.bodies[k], _moments(*payload).seen_from(tree.tip)
    new: Any = {"inertia": Moments.of(body.inertia) + held, "link": Moments.of(body.link) + held}
    if not body.lifted.is_zero:  # the weight of the payload is not compensated
        new["lifted"] = Moments.of(body.lifted)
    bodies = (*tree.bodies[:k], replace(body, **new), *tree.bodies[k + 1 :])
    return _on_tree(mechanism, bodies=bodies)


def with_gravity(mechanism: AnyMechanism, gravity: Values) -> AnyMechanism:
    """The mechanism under another gravity."""
    return _on_tree(mechanism, gravity=Vec(gravity))


def gears(mechanism: AnyMechanism) -> list[Scalar]:
    """The gear ratios in the order of :func:`with_gears`."""
    return [body.gear for body in mechanism.tree.bodies]


def with_gears(mechanism: AnyMechanism, ratios: Values) -> AnyMechanism:
    """The mechanism with rotors that turn by these ratios faster than their joints, S (7.22)."""
    bodies = [replace(body, gear=k) for body, k in zip(mechanism.tree.bodies, ratios, strict=True)]
    return _on_tree(mechanism, bodies=tuple(bodies))


def _on_tree(mechanism: AnyMechanism, **changes: Any) -> Any:
    tree: Mechanism = replace(mechanism.tree, **changes)
    return mechanism.with_tree(tree)


# lengths before the payload, which is attached to the tip
VARIANTS: dict[str, Callable[[AnyMechanism, Values], AnyMechanism]] = {
    "parameters": with_parameters,
    "lengths": with_lengths,
    "payload": with_payload,
    "gravity": with_gravity,
    "gears": with_gears,
}
