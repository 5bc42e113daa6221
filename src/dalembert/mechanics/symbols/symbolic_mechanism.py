"""A robot with symbols for its numbers, whose mechanism follows as that of any robot: the input of :mod:`closed_form`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dalembert.base.algebra.scalars import QUARTER_TOLERANCE, Scalar
from dalembert.base.algebra.vectors import IDENTITY, Mat, Vec, Z, rotation_about
from dalembert.errors import DalembertError
from dalembert.mechanics.coordinates.chain import Angle
from dalembert.mechanics.equations.friction import coulomb, viscous
from dalembert.mechanics.equations.regressor import carried_share
from dalembert.mechanics.symbols.laws import torque_of
from dalembert.mechanics.symbols.names import Letter, braced, joint_variable, letter, parameter_letter, sign_of
from dalembert.mechanics.symbols.ring import Polynomial, Ring, exact, tidy
from dalembert.robot.model.friction_data import Friction
from dalembert.robot.model.inertia import Inertia, Moments
from dalembert.robot.model.mechanism import Body, Mechanism, mechanism, places
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Frame, Joint, Link, Robot, Rotor
from dalembert.robot.readers.dh import Row, joint_of, rows_of, tree_rows
from dalembert.robot.terms import Coulomb, Viscous

PARAMETERS = ("nonzero", "all", "numbers")
DESIGN = "design"  # nonzero, and every twist of the DH table that is not a right angle: used for design conditions
AXES = "xyz"
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
SAME = QUARTER_TOLERANCE


class SymbolicInertia(Inertia):
    """An inertia with symbols for its numbers: bodies are combined by their moments, without dividing by a mass."""

    is_zero = False

    def seen_from(self, placement: Placement) -> SymbolicInertia:
        """The same body expressed in the outer frame in which its own frame has this ``placement``."""
        seen = super().seen_from(placement)
        return SymbolicInertia(seen.mass, seen.com, seen.tensor)

    def __add__(self, other: Any) -> Any:
        return Moments.of(self) + other

    __radd__ = __add__

    def scaled(self, share: Scalar) -> SymbolicInertia:
        """The body on which gravity acts if the joints support only a share of its weight."""
        return SymbolicInertia(share * self.mass, self.com, share * self.tensor)


@dataclass
class Model:
    """A robot with symbols for its numbers, as the equations of motion take it.

    tree      its mechanism: joints about or along z, revolute joints without offset
    weighing  the tree as gravity acts on it; the same object unless weight is carried (:attr:`Link.weight`)
    phases    the offsets of revolute joints that are not quarter turns, which are part of the frames
    parts     for every body, its links and payload separately in its frame, each with its index in m_ℓ1
    further   the torques of terms beyond viscous and Coulomb friction
    q         the letters of the joint variables
    slides    joint → d_i; ``slides``, ``qd`` and ``qdd`` are in the ring
    pi        the parameters of S (7.77): letter, expression
    """

    ring: Ring
    parameters: str
    tree: Mechanism
    weighing: Mechanism
    phases: list[float]
    parts: list[list[tuple[str, SymbolicInertia]]]
    further: list[Polynomial]
    q: list[Letter]
    slides: dict[int, Polynomial]
    qd: list[Polynomial]
    qdd: list[Polynomial]
    pi: list[tuple[Letter, Polynomial]]

    def exact(self, x: Polynomial) -> Polynomial:
        """The polynomial with fractions for halves; numbers of the robot itself remain decimal fractions."""
        return x.map(tidy if self.parameters == "numbers" else exact)

    @property
    def friction(self) -> list[Polynomial]:
        """F_v q̇ + F_s sgn q̇ and further terms of every joint, S (7.42)."""
        joints = zip(self.tree.bodies, self.qd, self.further, strict=True)
        return [viscous(body, qd) + coulomb(body, qd) + further for body, qd, further in joints]


class Lettering:
    """Assigns letters to numbers, according to ``parameters``."""

    def __init__(self, ring: Ring, parameters: str, labels: Sequence[str]) -> None:
        self.ring, self.parameters, self.labels = ring, parameters, labels
        self._roots: dict[int, Polynomial] = {}

    def __call__(self, value: float, base: str, subscript: str, kind: str, index: int, meaning: str) -> Polynomial:
        """The letter of a number; zero remains zero."""
        if value == 0.0:
            return self.ring.number(0)
        if self.parameters == "numbers":
            return self.ring.number(value)
        return self.ring.letter(letter(base, subscript, kind, index, value, meaning))

    def label(self, joint: int) -> str:
        """The number of a joint, from 1, as it is written; 0 is the base."""
        return self.labels[joint - 1] if joint else "0"

    def vector(self, v: Sequence[float], base: str, subscript: str, index: int, meaning: str) -> Vec:
        """The letters of a vector's coordinates."""
        axes = zip(v, AXES, strict=True)
        return Vec(self(x, base, f"{subscript},{axis}", "length", index, f"{meaning}, {axis}") for x, axis in axes)

    def tensor(self, I: Mat, subscript: str, index: int, meaning: str) -> Mat:
        """The letters of a symmetric tensor's entries."""

        def entry(j: int, k: int, axes: str) -> Polynomial:
            sign = "" if j == k else f" (the tensor's entry, S's −I_{axes})"
            return self(float(I[j][k]), "I", f"{subscript},{axes}", "tensor", index, f"{meaning}, {axes}{sign}")

        return _symmetric(entry)

    def root(self, square: int) -> Polynomial:
        """√2 or √3, exactly."""
        if square not in self._roots:
            word = Letter(f"sqrt{square}", rf"\sqrt{{{square}}}", f"√{square}", "root", square, math.sqrt(square))
            self._roots[square] = self.ring.root(word, square)
        return self._roots[square]

    def exact(self, x: Scalar) -> Scalar:
        """An entry of a rotation as a polynomial: ½, √2/2, √3/2 and (√6 ± √2)/4 exactly."""
        if isinstance(x, Polynomial):
            return x
        for value, make in _SPECIAL:
            if abs(abs(x) - value) < 1e-14:
                return make(self) * (1 if x > 0 else -1)
        return self.ring.number(float(x))

    def exact_placement(self, placement: Placement) -> Placement:
        """A placement all of whose entries are polynomials."""
        rows: Any = tuple(tuple(map(self.exact, row)) for row in placement.rotation)
        x, y, z = map(self.exact, placement.translation)
        return Placement(rows, (x, y, z))


_SPECIAL: tuple[tuple[float, Any], ...] = (
    (0.0, lambda L: L.ring.number(0)),
    (1.0, lambda L: L.ring.number(1)),
    (0.5, lambda L: L.ring.number(Fraction(1, 2))),
    (math.sqrt(2) / 2, lambda L: L.root(2) * Fraction(1, 2)),
    (math.sqrt(3) / 2, lambda L: L.root(3) * Fraction(1, 2)),
    ((math.sqrt(6) + math.sqrt(2)) / 4, lambda L: (L.root(2) * L.root(3) + L.root(2)) * Fraction(1, 4)),
    ((math.sqrt(6) - math.sqrt(2)) / 4, lambda L: (L.root(2) * L.root(3) - L.root(2)) * Fraction(1, 4)),
)


def model(robot: Robot, parameters: str = "nonzero", labels: Sequence[str] = ()) -> Model:
    """The robot with symbols for its nonzero numbers, for all inertial parameters, or for none.

    labels   the numbers of its joints as they are written: 1'' for a joint called joint1''
    """
    if parameters not in (*PARAMETERS, DESIGN):
        raise DalembertError(f"parameters is '{parameters}'; it must be one of {', '.join(PARAMETERS)}")
    if not robot.tree_joints:
        raise DalembertError(f"robot '{robot.name}' has no moving joint, so it has no equations of motion")
    labels = labels or tuple(map(str, range(1, len(robot.tree_joints) + 1)))
    return _Builder(robot, Lettering(Ring(), parameters, labels)).model()


def _symmetric(entry: Callable[[int, int, str], Polynomial]) -> Mat:
    """The symmetric matrix of ``entry(row, column, axes)``, each entry computed once."""
    entries = {(j, k): entry(j, k, AXES[j] + AXES[k]) for j, k in PAIRS}
    return Mat.of([entries[min(j, k), max(j, k)] for k in range(3)] for j in range(3))


def _parameters(body: Inertia | Moments) -> list[Scalar]:
    """m, m ℓ_C and Î of S (7.77), the tensor's entries in the order of PAIRS."""
    tensor = body.tensor_at_origin
    return [body.mass, *body.first_moments, *(tensor[j][k] for j, k in PAIRS)]


def _to_z(axis: Vec) -> Mat:
    """A rotation that takes z to ``axis``: the identity, a cyclic permutation of the axes, or the shortest rotation."""
    for sign, k in itertools.product((1, -1), range(3)):
        x, y, z = (*IDENTITY[k:], *IDENTITY[:k])
        if (sign * z - axis).norm < SAME:
            return Mat((x, sign * y, sign * z)).T
    across = Z.cross(axis)
    return rotation_about(1.0 / across.norm * across, math.acos(max(-1.0, min(1.0, axis[2]))))


def _quarter(angle: float) -> Mat | None:
    """Rz of a quarter turn, or None for any other angle."""
    turned = rotation_about(Z, angle)
    return turned if all(float(x).is_integer() for row in turned for x in row) else None


class _Builder:
    """Replaces the numbers of a robot by symbols; its mechanism then follows as that of any robot."""

    def __init__(self, robot: Robot, letters: Lettering) -> None:
        self.robot, self.letters = robot, letters
        self.at, self.numbers = places(robot), mechanism(robot)
        self.phases: list[float] = []
        self.further: list[Polynomial] = []
        self.convention, self.rows = rows_of(robot) or tree_rows(robot) or ("frames", ())

    def model(self) -> Model:
        """The robot, its mechanism and the symbols of its motion."""
        robot, ring = self.robot, self.letters.ring
        joints = self._joints()
        bodies, shares = self._links()
        tip, payload = self._payload()
        numbered = [(i, joint.type != "prismatic") for i, joint in enumerate(robot.tree_joints, 1)]
        q, qd, qdd = (
            [joint_variable(i, turns, dots, self.letters.label(i)) for i, turns in numbered] for dots in range(3)
        )
        slides = {i - 1: ring.letter(q[i - 1]) for i, turns in numbered if not turns}
        v, a = ([ring.letter(x) for x in letters] for letters in (qd, qdd))
        ring.signs = {x.number: ring.letter(sign_of([(x.letter, 1)])) for x in v}
        links = tuple(Link(x.name, bodies.get(x.name, ("", x.inertia))[1]) for x in robot.links)
        symbolic = Robot(robot.name, links, joints, self._gravity(), self._base(), tip, payload)
        tree = weighing = mechanism(symbolic)
        if self.letters.parameters == "all":
            tree, weighing = self._augmented(tree)
        elif shares:
            carried = {name: bodies[name][1].scaled(share) for name, share in shares.items()}
            pulled = (replace(x, inertia=carried.get(x.name, x.inertia)) for x in links)
            weighing = mechanism(symbolic.replace(links=tuple(pulled)))
        parts: list[list[tuple[str, SymbolicInertia]]] = [[] for _ in numbered]
        stands = places(symbolic)
        for name, (label, body) in bodies.items():
            i, place = stands[name]
            parts[i].append((label, body.seen_from(place)))
        if payload is not None and tree.tip_body >= 0:
            parts[tree.tip_body].append(("L", payload.seen_from(tree.tip)))
        return Model(
            ring, self.letters.parameters, tree, weighing, self.phases, parts, self.further, q, slides, v, a,
            self._pi(tree),
        )  # fmt: skip

    # -- joints ----------------------------------------------------------------------------------

    def _joints(self) -> tuple[Joint, ...]:
        """The joints, whose axes are made z; a quarter turn in the offset becomes part of the link frame."""
        L, joints = self.letters, self.robot.joints
        number = {joint.name: i for i, joint in enumerate(self.robot.tree_joints, 1)}
        fixed = (f"F{k}" for k in itertools.count(1))
        geometry = [
            self._joint(x, L.label(number[x.name]) if x.moves else next(fixed), number.get(x.name, 0)) for x in joints
        ]
        out = []
        for joint, (place, end, offset) in zip(joints, geometry, strict=True):
            if not joint.moves:
                out.append(replace(joint, placement=place, link_frame=end))
                continue
            A = L.exact_placement(Placement(_to_z(joint.axis)))
            back, phase = A.inverse, 0.0
            if joint.type != "prismatic":
                turned, phase, offset = _quarter(float(offset)), float(offset), 0.0
                if turned is not None:
                    back, phase = L.exact_placement(Placement(turned)) @ back, 0.0
            i, revolute = number[joint.name], joint.type != "prismatic"
            rotor = self._rotor(joint, i)
            levels = self._levels(joint.friction, ("v", "s"), i, "joint")
            friction = Friction.of((Viscous(levels["viscous"]), Coulomb(*levels["coulomb"])))
            if rotor is not None:
                rotor = replace(rotor, **self._levels(rotor, ("m", "sm"), i, "motor"))
            torques = (torque_of(term, i, revolute, L) for term in joint.friction.further)
            self.further.append(sum(torques, L.ring.number(0)))
            self.phases.append(phase)
            symbolic = replace(
                joint, placement=place @ A, axis=Z, offset=offset, link_frame=back @ end, friction=friction,
                rotor=rotor, motor=None, gear=None,
            )  # fmt: skip
            out.append(symbolic)
        return tuple(out)

    def _joint(self, joint: Joint, number: str, index: int) -> tuple[Placement, Placement, Scalar]:
        """Placement, link frame and offset of a joint, symbolic."""
        L = self.letters
        if self.rows:
            row = self.rows[index - 1]
            earlier = index - 1 if self.convention == "modified" else index
            alpha: Any = row.alpha
            exact = _quarter(row.alpha) is not None if L.parameters == DESIGN else twelfths(row.alpha) is not None
            if L.parameters != "numbers" and not exact:
                alpha = self._angle(row.alpha, earlier)
            symbolic = joint_of(
                Row(
                    L(row.a, "a", L.label(earlier), "length", earlier, f"DH length a of row {number}"),
                    alpha,
                    L(row.d, "d0" if row.slides else "d", number, "length", index, f"DH offset d of row {number}"),
                    row.theta,
                    row.type,
                ),
                self.convention, joint.name, joint.parent, joint.child,
            )  # fmt: skip
            return L.exact_placement(symbolic.placement), L.exact_placement(symbolic.link_frame), symbolic.offset
        place = L.exact_placement(Placement(joint.placement.rotation))
        at = L.vector(joint.placement.translation, "p", number, index, f"origin of joint '{joint.name}' on its parent")
        end = L.exact_placement(Placement(joint.link_frame.rotation))
        end_at = L.vector(joint.link_frame.translation, "e", number, index, f"link frame after joint '{joint.name}'")
        offset: Scalar = joint.offset
        if joint.type == "prismatic":
            offset = L(joint.offset, "d0", number, "length", index, f"offset of joint '{joint.name}'")
        return replace(place, translation=at), replace(end, translation=end_at), offset

    def _angle(self, value: float, index: int) -> Angle:
        label = self.letters.label(index)
        c, s = (
            Letter(f"{f}_alpha{label}", rf"\{word}\alpha_{braced(label)}", f"{word} α_{label}", "twist", index, number, f"{word} α of row {label}")
            for f, word, number in (("c", "cos", math.cos(value)), ("s", "sin", math.sin(value)))
        )  # fmt: skip
        return Angle(*self.letters.ring.circle(c, s))

    # -- bodies ----------------------------------------------------------------------------------

    def _link(self, body: Inertia, sub: str, index: int, name: str) -> SymbolicInertia:
        """Mass, centre of mass and tensor of a link."""
        L = self.letters
        mass = L(body.mass, "m", f"l{sub}", "mass", index, f"mass of {name}")
        x, y, z = L.vector((0.0, *body.com[1:]), "l", sub, index, f"centre of mass of {name}")
        a = self.rows[index - 1].a if self.rows and self.convention == "standard" else 0.0
        reach = a + body.com[0]
        if L.parameters == "numbers" or body.com[0] == 0.0:
            x = L.ring.number(body.com[0])
        else:  # x = ℓ_i − a_i
            distance = f"centre of mass of {name}, from the joint's axis along x"
            x = L(0.0 if abs(reach) < 1e-12 else reach, "l", sub, "length", index, distance)
            x = x if a == 0.0 else x - self._a(index)
        return SymbolicInertia(mass, Vec((x, y, z)), L.tensor(body.tensor, f"l{sub}", index, f"inertia of {name}"))

    def _a(self, index: int) -> Polynomial:
        """The letter a_i from the DH table."""
        ring, name = self.letters.ring, f"a_{self.letters.label(index)}"
        return next(ring.known(k) for k, known in enumerate(ring.letters) if known.name == name)

    def _links(self) -> tuple[dict[str, tuple[str, SymbolicInertia]], dict[str, Polynomial]]:
        """By name of the link: its label with its inertia, and the share of its weight that the joints support."""
        bodies: dict[str, tuple[str, SymbolicInertia]] = {}
        shares: dict[str, Polynomial] = {}
        if self.letters.parameters == "all":
            return bodies, shares
        for i in range(1, len(self.robot.tree_joints) + 1):
            names = [name for name, (body, _) in self.at.items() if body == i - 1]
            links = [link for link in map(self.robot.link, names) if not link.inertia.is_zero]
            for k, link in enumerate(links):
                sub = self.letters.label(i) + ("" if link.name == names[0] else "abcdefghijklmnopqrstuvwxyz"[k % 26])
                bodies[link.name] = f"l{sub}", self._link(link.inertia, sub, i, f"link '{link.name}'")
                if link.weight != 1.0:
                    shares[link.name] = self._share(link.weight, sub, i)
        return bodies, shares

    def _share(self, weight: float, sub: str, i: int) -> Polynomial:
        what = f"fraction of its weight that the joints support, link {sub}"
        return self.letters(weight, "w", sub, "mass", i, what)

    def _augmented(self, tree: Mechanism) -> tuple[Mechanism, Mechanism]:
        """The tree with a symbol for each of the ten parameters of every augmented link, and as gravity acts on it."""
        moving, weighing = list[Body](), list[Body]()
        for i, (body, known) in enumerate(zip(tree.bodies, self.numbers.bodies, strict=True)):
            moments = self._moments(i)
            moving.append(replace(body, inertia=moments))
            share = 1.0 if known.lifted.is_zero else 1.0 - carried_share(known)
            pulled = moments if share == 1.0 else moments.scaled(self._share(share, self.letters.label(i + 1), i + 1))
            weighing.append(replace(body, inertia=pulled))
        changed = replace(tree, bodies=tuple(moving))
        return changed, replace(tree, bodies=tuple(weighing)) if self.numbers.lifts else changed

    def _moments(self, i: int) -> Any:
        """Augmented link i by its moments about the origin of its frame."""
        m, hx, hy, hz, *entries = map(self.letters.ring.letter, self._augmented_letters(i))
        at = dict(zip(PAIRS, entries, strict=True))
        tensor = _symmetric(lambda j, k, axes: at[j, k])
        return Moments(m, Vec((hx, hy, hz)), 0.5 * tensor.trace * IDENTITY - tensor)

    def _augmented_letters(self, i: int) -> list[Letter]:
        """m, m ℓ_C and Î of augmented link i, S (7.77), the tensor's entries in the order of PAIRS."""
        k = self.letters.label(i + 1)
        whose = f"of augmented link {k}"
        meanings = {"m": f"mass {whose}"} | {f"m{x}": f"first moment {whose}, {x}" for x in AXES}
        meanings |= {f"I{axes}": f"tensor entry {axes} {whose}" for axes in (AXES[j] + AXES[l] for j, l in PAIRS)}
        return [
            replace(parameter_letter(f"{kind}_{k}"), index=i + 1, value=float(x), meaning=meaning)
            for x, (kind, meaning) in zip(_parameters(self.numbers.bodies[i].inertia), meanings.items(), strict=True)
        ]

    def _pi(self, tree: Mechanism) -> list[tuple[Letter, Polynomial]]:
        """π_i of S (7.77) for every joint: those of the augmented link, as sums over its bodies, and I_mi."""
        out: list[tuple[Letter, Polynomial]] = []
        ring, numbers = self.letters.ring, self.letters.parameters == "numbers"
        for i, body in enumerate(tree.bodies):
            letters = self._augmented_letters(i)
            values = [x.value for x in letters] if numbers else _parameters(body.inertia)
            if body.has_rotor:
                letters.append(replace(parameter_letter(f"Im_{self.letters.label(i + 1)}"), index=i + 1))
                values.append(body.rotor_inertia)
            out += [
                (x, (ring.number(0) + y).map(tidy if numbers else exact)) for x, y in zip(letters, values, strict=True)
            ]
        return out

    def _payload(self) -> tuple[Frame, SymbolicInertia | None]:
        robot, L = self.robot, self.letters
        assert robot.tip is not None
        if robot.payload is None or L.parameters == "all" or self.numbers.tip_body < 0:
            return robot.tip, None
        last = len(robot.tree_joints) + 1
        place = L.exact_placement(Placement(robot.tip.placement.rotation))
        reach = L.vector(robot.tip.placement.translation, "p", "e", last, "tip on its link")
        mass = L(robot.payload.mass, "m", "L", "mass", last, "mass of the payload")
        com = L.vector(robot.payload.com, "l", "L", last, "centre of mass of the payload")
        tensor = L.tensor(robot.payload.tensor, "L", last, "inertia of the payload")
        return replace(robot.tip, placement=replace(place, translation=reach)), SymbolicInertia(mass, com, tensor)

    def _rotor(self, joint: Joint, i: int) -> Rotor | None:
        """The rotor of joint i; the numbers that have no effect have no symbol."""
        L, rotor, k = self.letters, joint.rotor, self.letters.label(i)
        if rotor is None:
            return None
        symbols: dict[str, Any] = {
            "gear": L(rotor.gear, "k", f"r{k}", "gear", i, f"gear ratio of joint {k}"),
            "inertia": L(rotor.inertia, "I", f"m{k}", "tensor", i, f"inertia of rotor {k} about its axis") or 0.0,
            "axis": None if rotor.axis is None else Vec(map(L.exact, rotor.axis)),
            "mass": 0.0, "position": None, "transverse": 0.0,
        }  # fmt: skip
        if self.at[joint.parent][0] >= 0 and L.parameters != "all":
            symbols["mass"] = L(rotor.mass, "m", f"m{k}", "mass", i, f"mass of rotor {k}")
            if rotor.position is not None:
                symbols["position"] = L.vector(rotor.position, "p", f"m{k}", i, f"position of rotor {k}")
            across = 0.0 if rotor.reflected else rotor.transverse
            symbols["transverse"] = L(across, "I", f"m{k},t", "tensor", i, f"transverse inertia of rotor {k}")
        return replace(rotor, **symbols)

    def _levels(self, of: Friction | Rotor, subs: tuple[str, str], i: int, whose: str) -> dict[str, Any]:
        """Viscous friction, and the Coulomb levels at positive and at negative velocity: mean ± half of the difference."""
        L, (forward, backward), k = self.letters, of.coulomb, self.letters.label(i)
        word = f"friction of {whose} {k}"
        F_v = L(of.viscous, "F", f"{subs[0]}{k}", "friction", i, f"viscous {word}")
        mean = L((forward + backward) / 2, "F", f"{subs[1]}{k}", "friction", i, f"Coulomb {word}")
        difference = f"Coulomb {word}: half of forward − backward"
        half = L((forward - backward) / 2, "F", f"{subs[1]}{k}d", "friction", i, difference)
        return {"viscous": F_v, "coulomb": (mean + half, mean - half)}

    # -- gravity ---------------------------------------------------------------------------------

    def _gravity(self) -> Vec:
        """g_0 in base axes: g along one base axis, else its components."""
        L, g = self.letters, self.robot.gravity
        along = [k for k in range(3) if g[k] != 0.0]
        g_0: list[Any] = [0, 0, 0]
        for k in along:
            if L.parameters == "numbers":
                g_0[k] = L.ring.number(g[k])
            elif len(along) == 1:
                size = L.ring.letter(Letter("g", "g", "g", "gravity", 0, abs(g[k]), "acceleration of gravity"))
                g_0[k] = size if g[k] > 0 else -size
            else:
                g_0[k] = L(g[k], "g", AXES[k], "gravity", 0, f"gravity along {AXES[k]} of the base")
        return Vec(map(L.exact, g_0))

    def _base(self) -> Placement:
        """The pose of the root link in the base frame."""
        L, base = self.letters, self.robot.base
        at = L.vector(base.translation, "p", "0", 0, "origin of the root link in the base frame")
        return replace(L.exact_placement(Placement(base.rotation)), translation=at)


def twelfths(angle: float) -> int | None:
    """The multiple of π/12 that an angle is, if it is one."""
    number = angle / (math.pi / 12)
    return round(number) if abs(number - round(number)) < SAME else None
