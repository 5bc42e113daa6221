"""Links and rotors one by one, in letters: :mod:`dalembert.equations.lagrange` on polynomials, S (7.16)–(7.45)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dalembert.algebra.vectors import ZERO, Mat, Vec, Z
from dalembert.equations.kinematics import Frames
from dalembert.equations.lagrange import (
    MovingBody,
    christoffel_of,
    gravity_of,
    inertia_derivatives_of,
    inertia_of,
    moving_bodies,
)
from dalembert.errors import DalembertError
from dalembert.robot.inertia import Inertia
from dalembert.robot.mechanism import Body, Mechanism
from dalembert.robot.placement import Placement
from dalembert.symbols.closed_form import Tree
from dalembert.symbols.names import Letter, braced
from dalembert.symbols.ring import Polynomial

Table = list[list[Polynomial]]


@dataclass
class BodyStep:
    """One link (ℓ_i), payload (L) or rotor (m_i): its Jacobians (3×n), its contribution to B, and its potential energy."""

    label: Letter
    J_P: Table
    J_O: Table
    B: Table
    U: Polynomial


@dataclass
class LagrangeSteps:
    """Every body separately, and the total B, ∂b_ij/∂q_k, Christoffel symbols and g; ``gravity`` is g_0."""

    bodies: list[BodyStep]
    B: Table
    dB: list[Table]
    christoffel: list[Table]
    g: list[Polynomial]
    gravity: list[Polynomial]

    def map(self, change: Callable[[Polynomial], Polynomial], relabel: Callable[[Letter], Letter]) -> LagrangeSteps:
        """The same in other letters."""

        def changed(x: Any) -> Any:
            return change(x) if isinstance(x, Polynomial) else [changed(y) for y in x]

        bodies = [
            BodyStep(relabel(x.label), changed(x.J_P), changed(x.J_O), changed(x.B), change(x.U)) for x in self.bodies
        ]
        return LagrangeSteps(
            bodies, changed(self.B), changed(self.dB), changed(self.christoffel), changed(self.g), changed(self.gravity)
        )


def steps_of(tree: Tree) -> LagrangeSteps:
    """The steps of Lagrange's formulation in S 7.1 and 7.2.1, on the tree."""
    model, zero = tree.model, tree.model.ring.number(0)
    if not all(lump.body for member in model.members for lump in member.lumps):
        raise DalembertError(
            "parameters='all' uses augmented links, while S derives the equations link by link and rotor by rotor; "
            "use equations() or equations('numbers') for a derivation"
        )
    if any(a is not b for x in model.members for a, b in zip(x.weighing, x.lumps, strict=True)):
        raise DalembertError("S has no derivation for links whose weight is partly carried; give them weight = 1")
    F = _frames(tree)
    mechanism, named = _bodies(tree, F)

    def short(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return [short(y) for y in x]
        return tree.short(x.map(_exact) if isinstance(x, Polynomial) else zero + x)

    def jacobian(columns: dict[int, Vec]) -> Any:
        return short([[columns.get(j, ZERO)[row] for j in range(mechanism.n)] for row in range(3)])

    reflected = inertia_of(mechanism, [])  # S 7.3.2's reduced model: k_r² I_m on the diagonal
    steps = []
    for label, body in named:
        B = _less(inertia_of(mechanism, [body]), reflected)
        if label.kind == "tensor" and mechanism.bodies[label.index - 1].reflected:
            B[label.index - 1][label.index - 1] += reflected[label.index - 1][label.index - 1]
        U = -body.m * mechanism.gravity.dot(body.p)  # (7.34), (7.35)
        steps.append(BodyStep(label, jacobian(body.J_P), jacobian(body.J_O), short(B), short(U)))
    bodies = [body for _, body in named]
    dB = inertia_derivatives_of(mechanism, F, bodies)
    return LagrangeSteps(
        steps,
        short(inertia_of(mechanism, bodies)),
        short(dB),
        short(christoffel_of(dB)),
        short(gravity_of(mechanism, F, bodies)),
        short(mechanism.gravity),
    )


def _less(A: Any, B: Any) -> Any:
    return [[x - y for x, y in zip(a, b, strict=True)] for a, b in zip(A, B, strict=True)]


def _exact(c: Any) -> Any:
    """Fractions instead of halves, which 0.5 times a whole number leaves."""
    return Fraction(c) if isinstance(c, float) and (2 * c).is_integer() else c


def _frames(tree: Tree) -> Frames:
    """Every body's frame in base axes, from its group's base: sums of parallel angles are one angle."""
    base = tree.model.base
    G, p_of = {-1: base.rotation}, {-1: base.translation}  # group's base axes → base axes
    R: list[Mat] = []
    z: list[Vec] = []
    for i, (member, at) in enumerate(zip(tree.model.members, tree.seen, strict=True)):
        p_of[i] = p_of[member.parent] + G[member.parent] @ at.r
        G[i] = G[member.parent] if at.turn is None else G[member.parent] @ at.turn
        R.append(G[i] @ (at.spin @ at.M))
        z.append(G[i] @ (at.sigma * Z if member.revolute else at.slide))
    p = [p_of[i] for i in range(len(R))]
    return Frames(R, p, z, p, base.rotation, base.translation)


def _bodies(tree: Tree, F: Frames) -> tuple[Mechanism, list[tuple[Letter, MovingBody]]]:
    """The mechanism in letters, and its links and rotors by name, in the order of the joints."""
    members = tree.model.members
    links = [[lump for lump in member.lumps if lump.label] for member in members]
    most = max(map(len, links))
    gravity = tree.model.base.rotation @ tree.model.gravity
    named: list[tuple[Letter, MovingBody]] = []
    for k in range(max(most, 1)):  # links that are fixed to each other, and the payload, are treated separately
        bodies = []
        for i, member in enumerate(members):
            gear, spin, axis, reflected = member.rotor or (0.0, 0.0, Z, True)
            mass, position, across = member.motor
            own = links[i][k].body if k < len(links[i]) else None
            bodies.append(
                Body(
                    str(i + 1), member.parent, member.revolute, Placement(), Z, 0.0, Placement(), Inertia(),
                    own or Inertia(), gear, spin, axis, position, mass, across, reflected, (),
                )
            )  # fmt: skip
        mechanism = Mechanism(tuple(bodies), gravity, tree.model.base, -1, Placement())
        if k == 0:
            first = mechanism
        moving = moving_bodies(mechanism, F)
        named += [(_label(links[i][k].label, i), moving[i]) for i in range(len(members)) if k < len(links[i])]
        if k == 0:
            named += [(_label(f"m{body.joints[-1] + 1}", body.joints[-1]), body) for body in moving[len(members) :]]
    spinning = {label.index for label, _ in named if label.kind == "tensor"}
    for i, member in enumerate(members):
        if member.rotor is not None and i + 1 not in spinning:  # reflected and without mass
            named.append((_label(f"m{i + 1}", i), MovingBody(0.0, ZERO, Mat((ZERO, ZERO, ZERO)), (), (), {}, {})))
    return first, sorted(named, key=lambda pair: (pair[0].kind == "tensor", pair[0].name == "L", pair[0].index))


def _label(name: str, i: int) -> Letter:
    """ℓ_1, m_1 or L: of the kind "tensor" for rotors, which are sorted after the links."""
    letters = {"l": (r"\ell", "ℓ", "mass"), "m": ("m", "m", "tensor")}
    if name == "L":
        return Letter("L", "L", "L", "mass", i + 1)
    latex, text, kind = letters[name[0]]
    return Letter(name, f"{latex}_{braced(name[1:])}", f"{text}{name[1:]}", kind, i + 1)
