"""Links and rotors one by one, symbolic: :mod:`dalembert.mechanics.equations.lagrange` on polynomials, S (7.16)–(7.35)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dalembert.base.algebra.vectors import NULL, ZERO, Mat, Vec, Z
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.kinematics import Frames
from dalembert.mechanics.equations.lagrange import (
    MovingBody,
    inertia_of,
    moving_bodies,
    potential_energy_of,
)
from dalembert.mechanics.symbols.closed_form import Tree
from dalembert.mechanics.symbols.names import Letter, braced
from dalembert.mechanics.symbols.ring import Polynomial, halves
from dalembert.mechanics.symbols.symbolic_mechanism import Model
from dalembert.robot.model.inertia import Inertia

Table = list[list[Polynomial]]


@dataclass
class BodyStep:
    """One link (ℓ_i), payload (L) or rotor (m_i): its Jacobians (3×n), its contribution to B, and its potential energy."""

    label: Letter
    J_P: Table
    J_O: Table
    B: Table
    U: Polynomial


def steps_of(tree: Tree) -> list[BodyStep]:
    """The links and rotors of Lagrange's formulation in S 7.1 and 7.2.1, on the tree."""
    model, zero = tree.model, tree.model.ring.number(0)
    if model.parameters == "all":
        raise DalembertError(
            "parameters='all' uses augmented links, while S derives the equations link by link and rotor by rotor; "
            "use equations() or equations('numbers') for a derivation"
        )
    if model.weighing is not model.tree:
        raise DalembertError("S has no derivation for links whose weight is partly carried; give them weight = 1")
    F = _frames(tree)
    mechanism = model.tree

    def short(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return [short(y) for y in x]
        return tree.short(model.exact((zero + x).map(halves)))

    def jacobian(columns: dict[int, Vec]) -> Any:
        return short([[columns.get(j, ZERO)[row] for j in range(mechanism.n)] for row in range(3)])

    reflected = inertia_of(mechanism, [])  # S 7.3.2's reduced model: k_r² I_m on the diagonal
    steps = []
    for label, body in _bodies(model, F):
        rows = zip(inertia_of(mechanism, [body]), reflected, strict=True)
        B = [[x - y for x, y in zip(*row, strict=True)] for row in rows]
        if label.kind == "tensor" and mechanism.bodies[label.index - 1].reflected:
            B[label.index - 1][label.index - 1] += reflected[label.index - 1][label.index - 1]
        U = potential_energy_of(mechanism, body)
        steps.append(BodyStep(label, jacobian(body.J_P), jacobian(body.J_O), short(B), short(U)))
    return steps


def _frames(tree: Tree) -> Frames:
    """Every body's frame in base axes, from its group's base: sums of parallel angles are one angle."""
    base = tree.model.tree.base
    G, origin = {-1: base.rotation}, {-1: base.translation}  # group's base axes → base axes
    R: list[Mat] = []
    p: list[Vec] = []
    z: list[Vec] = []
    for i, (body, at) in enumerate(zip(tree.model.tree.bodies, tree.places, strict=True)):
        origin[i] = origin[body.parent] + G[body.parent] @ at.r
        G[i] = G[body.parent] if at.turn is None else G[body.parent] @ at.turn
        R.append(G[i] @ (at.spin @ at.frame.rotation))
        p.append(origin[i] + G[i] @ (at.spin @ at.frame.translation))
        z.append(G[i] @ (at.sigma * Z if at.slide is None else at.slide @ Z))
    return Frames(R, p, z, [origin[i] for i in range(len(R))], base.rotation, base.translation)


def _bodies(model: Model, F: Frames) -> list[tuple[Letter, MovingBody]]:
    """Links and rotors by name, in the order of the joints."""
    bodies, parts = model.tree.bodies, model.parts
    named: list[tuple[Letter, MovingBody]] = []
    # links that are fixed to each other, and the payload, are treated separately
    for k in range(max(1, *map(len, parts))):
        links = [own[k][1] if k < len(own) else Inertia() for own in parts]
        alone = tuple(replace(body, link=link) for body, link in zip(bodies, links, strict=True))
        moving = moving_bodies(replace(model.tree, bodies=alone), F)
        named += [(_label(own[k][0], i), moving[i]) for i, own in enumerate(parts) if k < len(own)]
        if k == 0:
            rotors = ((body.joints[-1], body) for body in moving[len(bodies) :])
            named += [(_label(f"m{model.q[i].label}", i), body) for i, body in rotors]
    spinning = {label.index for label, _ in named if label.kind == "tensor"}
    for i, body in enumerate(bodies):
        if body.has_rotor and i + 1 not in spinning:  # reflected and without mass
            named.append((_label(f"m{model.q[i].label}", i), MovingBody(0.0, ZERO, NULL, (), (), {}, {})))
    return sorted(named, key=lambda pair: (pair[0].kind == "tensor", pair[0].name == "L", pair[0].index))


def _label(name: str, i: int) -> Letter:
    """ℓ_1, m_1 or L: of the kind "tensor" for rotors, which are sorted after the links."""
    letters = {"l": (r"\ell", "ℓ", "mass"), "m": ("m", "m", "tensor")}
    if name == "L":
        return Letter("L", "L", "L", "mass", i + 1)
    latex, text, kind = letters[name[0]]
    return Letter(name, f"{latex}_{braced(name[1:])}", f"{text}{name[1:]}", kind, i + 1)
