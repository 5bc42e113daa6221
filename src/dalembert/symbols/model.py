"""A robot with letters for its numbers: the input of :mod:`closed_form`.

Here every joint rotates about, or moves along, the z-axis of its own frame. ``lumps`` are the rigid bodies of which a
link consists, kept separate so that every mass keeps its letter: the link, the rotors that it carries, links attached
by fixed joints, the payload.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dalembert.algebra.scalars import QUARTER_TOLERANCE, Scalar
from dalembert.algebra.vectors import IDENTITY, ZERO, Mat, Vec, Z, rotation_about
from dalembert.coordinates.chain import Angle
from dalembert.environment.cached_property import cached_property
from dalembert.equations.regressor import carried_share
from dalembert.errors import DalembertError
from dalembert.robot.dh import Row, joint_of, rows_of, tree_rows
from dalembert.robot.inertia import Inertia, steiner
from dalembert.robot.mechanism import Mechanism, mechanism
from dalembert.robot.model import Joint, Robot, Rotor
from dalembert.robot.placement import Placement
from dalembert.symbols.laws import torque_of
from dalembert.symbols.names import Letter, braced, joint_variable, letter, sign_of
from dalembert.symbols.ring import Polynomial, Ring

PARAMETERS = ("nonzero", "all", "numbers")
DESIGN = "design"  # nonzero, and every twist of the DH table that is not a right angle: used for design conditions
AXES = "xyz"
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
SAME = QUARTER_TOLERANCE


@dataclass
class Lump:
    """A rigid body on a link, about the origin of the joint's moved frame: m, m r_C, Î.

    ``body`` is the same about its centre of mass, and ``label`` its index in m_ℓ1, for separate links and payloads.
    """

    mass: Scalar
    first: Vec
    tensor: Mat
    label: str = ""
    body: Inertia | None = None

    def weighing(self, share: Scalar) -> Lump:
        """The body on which gravity acts if the joints support only a fraction of its weight."""
        return Lump(share * self.mass, share * self.first, share * self.tensor)

    def __add__(self, other: Lump) -> Lump:
        return Lump(self.mass + other.mass, self.first + other.first, self.tensor + other.tensor)

    def turned(self, R: Mat) -> Lump:
        """In the axes to which R leads."""
        return Lump(self.mass, R @ self.first, R @ (self.tensor @ R.T))

    def moved(self, r: Vec) -> Lump:
        """About a point at −r from the original one: parallel axis theorem, S (7.60)."""
        m, h = self.mass, self.first
        cross_term = 2 * r.dot(h) * IDENTITY - (r.outer(h) + h.outer(r))
        return Lump(m, h + m * r, self.tensor + (cross_term + steiner(m, r)))


@dataclass
class Member:
    """Joint i, about or along z, and the link that it moves, in the frame that moves with it.

    R, t      the joint's frame on the parent's moved frame (parent −1: the base)
    offset    added to the variable; quarter turns are not part of it but of the lumps and the next R, t
    rotor     (k_r, I_m, z_m in the parent's moved frame, reflected), or None
    friction  (F_v, F_s, half the difference of the two Coulomb levels)
    further   the torque of the other terms
    weighing  the bodies on which gravity acts, if weight is carried (:attr:`Link.weight`)
    motor     the rotor's mass, position in the parent's moved frame and transverse inertia
    link      the link's frame in the moved frame
    """

    parent: int
    revolute: bool
    R: Mat
    t: Vec
    offset: Scalar
    phase: float
    lumps: list[Lump]
    rotor: tuple[Scalar, Scalar, Vec, bool] | None
    friction: tuple[Scalar, Scalar, Scalar]
    further: Polynomial
    weighing: list[Lump] = field(default_factory=list)
    motor: tuple[Scalar, Vec, Scalar] = (0.0, ZERO, 0.0)
    link: Placement = Placement()


@dataclass
class Model:
    """The robot in letters.

    ``base`` is the pose of the root link, ``gravity`` is in the root's axes. ``q`` are the letters of the joint
    variables; ``slides`` (joint → d_i), ``qd``, ``qdd`` and ``sgn`` are the letters of the motion that are in the ring.
    """

    ring: Ring
    members: list[Member]
    gravity: Vec
    base: Placement
    q: list[Letter]
    slides: dict[int, Polynomial]
    qd: list[Polynomial]
    qdd: list[Polynomial]
    sgn: list[Polynomial]
    tensors: dict[str, list[Letter]] = field(default_factory=dict)  # link → letters of its tensor
    pi: list[tuple[Letter, Polynomial]] = field(default_factory=list)  # the parameters of S (7.77): name, expression


class Lettering:
    """Assigns letters to numbers, according to ``parameters``."""

    def __init__(self, ring: Ring, parameters: str) -> None:
        self.ring, self.parameters = ring, parameters
        self._roots: dict[int, Polynomial] = {}

    def __call__(self, value: float, base: str, subscript: str, kind: str, index: int, meaning: str) -> Polynomial:
        """The letter of a number; zero remains zero."""
        if value == 0.0:
            return self.ring.number(0)
        if self.parameters == "numbers":
            return self.ring.number(value)
        return self.ring.letter(letter(base, subscript, kind, index, value, meaning))

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


def model(robot: Robot, parameters: str = "nonzero") -> Model:
    """The robot with letters for its nonzero numbers, for all inertial parameters, or for none."""
    if parameters not in (*PARAMETERS, DESIGN):
        raise DalembertError(f"parameters is '{parameters}'; it must be one of {', '.join(PARAMETERS)}")
    if not robot.tree_joints:
        raise DalembertError(f"robot '{robot.name}' has no moving joint, so it has no equations of motion")
    ring = Ring()
    build = _Builder(robot, Lettering(ring, parameters))
    members = build.members()
    numbered = [(i, member.revolute) for i, member in enumerate(members, 1)]
    q, qd, qdd = ([joint_variable(i, turns, dots) for i, turns in numbered] for dots in range(3))
    slides = {i - 1: ring.letter(q[i - 1]) for i, turns in numbered if not turns}
    signs = [sign_of([(v, 1)]) for v in qd]
    v, a, sgn = ([ring.letter(x) for x in letters] for letters in (qd, qdd, signs))
    return Model(
        ring, members, build.gravity(), build.base(), q, slides, v, a, sgn, build.tensors,
        build.dynamic_parameters(members),
    )  # fmt: skip


def _symmetric(entry: Callable[[int, int, str], Polynomial]) -> Mat:
    """The symmetric matrix of ``entry(row, column, axes)``, each entry computed once."""
    entries = {(j, k): entry(j, k, AXES[j] + AXES[k]) for j, k in PAIRS}
    return Mat.of([entries[min(j, k), max(j, k)] for k in range(3)] for j in range(3))


def _to_z(axis: Vec) -> Mat:
    """A rotation that takes z to ``axis``: the identity, a cyclic permutation of the axes, or the shortest rotation."""
    for columns in (
        ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        ((0, 1, 0), (0, 0, 1), (1, 0, 0)),
        ((0, 0, 1), (1, 0, 0), (0, 1, 0)),
        ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
        ((0, 1, 0), (0, 0, -1), (-1, 0, 0)),
        ((0, 0, 1), (-1, 0, 0), (0, -1, 0)),
    ):
        if (Vec(columns[2]) - axis).norm < SAME:
            return Mat.of(columns).T
    across = Z.cross(axis)
    return rotation_about(1.0 / across.norm * across, math.acos(max(-1.0, min(1.0, axis[2]))))


def _quarter(angle: float) -> Mat | None:
    """Rz of a quarter turn, or None for any other angle."""
    turned = rotation_about(Z, angle)
    return turned if all(float(x).is_integer() for row in turned for x in row) else None


class _Builder:
    def __init__(self, robot: Robot, letters: Lettering) -> None:
        self.robot, self.letters = robot, letters
        self.tensors: dict[str, list[Letter]] = {}
        self.convention, self.rows = rows_of(robot) or tree_rows(robot) or ("frames", ())

    # -- joints ----------------------------------------------------------------------------------

    def _joint(self, joint: Joint, number: str, index: int) -> tuple[Placement, Placement, Scalar]:
        """Placement, link frame and offset of a joint, in letters."""
        L = self.letters
        if self.rows:
            row = self.rows[index - 1]
            earlier = index - 1 if self.convention == "modified" else index
            alpha: Any = row.alpha
            exact = _quarter(row.alpha) is not None if L.parameters == DESIGN else _special(row.alpha)
            if L.parameters != "numbers" and not exact:
                alpha = self._angle(row.alpha, earlier)
            lettered = joint_of(
                Row(
                    L(row.a, "a", str(earlier), "length", earlier, f"DH length a of row {index}"),
                    alpha,
                    L(row.d, "d0" if row.slides else "d", str(index), "length", index, f"DH offset d of row {index}"),
                    row.theta,
                    row.type,
                ),
                self.convention, joint.name, joint.parent, joint.child,
            )  # fmt: skip
            return L.exact_placement(lettered.placement), L.exact_placement(lettered.link_frame), lettered.offset
        place = L.exact_placement(Placement(joint.placement.rotation))
        at = L.vector(joint.placement.translation, "p", number, index, f"origin of joint '{joint.name}' on its parent")
        end = L.exact_placement(Placement(joint.link_frame.rotation))
        end_at = L.vector(joint.link_frame.translation, "e", number, index, f"link frame after joint '{joint.name}'")
        offset: Scalar = joint.offset
        if joint.type == "prismatic":
            offset = L(joint.offset, "d0", str(index), "length", index, f"offset of joint '{joint.name}'")
        return replace(place, translation=at), replace(end, translation=end_at), offset

    def _angle(self, value: float, index: int) -> Angle:
        sub = braced(str(index))
        c, s = (
            Letter(f"{f}_alpha{index}", rf"\{word}\alpha_{sub}", f"{word} α_{index}", "twist", index, number, f"{word} α of row {index}")
            for f, word, number in (("c", "cos", math.cos(value)), ("s", "sin", math.sin(value)))
        )  # fmt: skip
        return Angle(*self.letters.ring.circle(c, s))

    # -- bodies ----------------------------------------------------------------------------------

    def _link(self, body: Inertia, sub: str, index: int, name: str) -> tuple[Scalar, Vec, Mat]:
        """Mass, centre of mass and tensor of a link, in letters."""
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
        before = len(L.ring.letters)
        tensor = L.tensor(body.tensor, f"l{sub}", index, f"inertia of {name}")
        self.tensors[sub] = L.ring.letters[before:]
        return mass, Vec((x, y, z)), tensor

    def _a(self, index: int) -> Polynomial:
        """The letter a_i from the DH table."""
        ring = self.letters.ring
        return ring.known(next(k for k, known in enumerate(ring.letters) if known.name == f"a_{index}"))

    def members(self) -> list[Member]:
        """The moving joints with their links."""
        robot, L = self.robot, self.letters
        moving = robot.tree_joints
        number = {joint.name: i for i, joint in enumerate(moving, 1)}
        geometry: dict[str, tuple[Placement, Placement, Scalar]] = {}
        fixed = 0
        for joint in robot.joints:
            if joint.moves:
                geometry[joint.name] = self._joint(joint, str(number[joint.name]), number[joint.name])
            else:
                fixed += 1
                geometry[joint.name] = self._joint(joint, f"F{fixed}", 0)
        # the pose of each link's frame in the moved frame of its body
        at: dict[str, tuple[int, Placement]] = {robot.root: (-1, L.exact_placement(Placement()))}
        out: list[Member] = []
        attached: list[list[str]] = []
        for joint in robot.joints:
            body, stands = at[joint.parent]
            place, end, offset = geometry[joint.name]
            joint_frame = stands @ place
            if not joint.moves:
                at[joint.child] = (body, joint_frame @ end)
                if body >= 0:
                    attached[body].append(joint.child)
                continue
            A = L.exact_placement(Placement(_to_z(joint.axis)))
            frame, back = joint_frame @ A, A.inverse
            phase = 0.0
            if joint.type != "prismatic":
                turned, phase, offset = _quarter(float(offset)), float(offset), 0.0
                if turned is not None:
                    back, phase = L.exact_placement(Placement(turned)) @ back, 0.0
            index = number[joint.name]
            at[joint.child] = (index - 1, back @ end)
            rotor, motor = self._rotor(joint.rotor, index, body, stands, joint_frame, joint.axis, out)
            revolute, friction = joint.type != "prismatic", self._friction(joint, index, rotor)
            torques = (torque_of(term, index, revolute, L) for term in joint.friction.further)
            further = sum(torques, L.ring.number(0))
            out.append(
                Member(
                    body, revolute, frame.rotation, frame.translation, offset, phase, [], rotor, friction, further,
                    motor=motor, link=back @ end,
                )
            )  # fmt: skip
            attached.append([joint.child])
        for i, names in enumerate(attached):
            out[i].weighing = list(out[i].lumps)  # rotors
            if L.parameters == "all":
                out[i].lumps = [self._augmented(i, at[names[0]][1])]
                out[i].weighing = [self._weighing(out[i].lumps[0], 1.0 - self._share(i), str(i + 1), i + 1)]
            else:
                bodies = [n for n in names if not robot.link(n).inertia.is_zero]
                for k, link in enumerate(bodies):
                    sub = str(i + 1) + ("" if link == names[0] else "abcdefghijklmnopqrstuvwxyz"[k % 26])
                    lettered = self._link(robot.link(link).inertia, sub, i + 1, f"link '{link}'")
                    out[i].lumps.append(lump(*lettered, at[link][1], f"l{sub}"))
                    out[i].weighing.append(self._weighing(out[i].lumps[-1], robot.link(link).weight, sub, i + 1))
        self._payload(out, at)
        return out

    def _augmented(self, i: int, stands: Placement) -> Lump:
        """The ten parameters of augmented link i about the origin of its frame, S (7.77), all in letters."""
        m, hx, hy, hz, *entries = map(self.letters.ring.letter, self._augmented_letters(i))
        at = dict(zip(PAIRS, entries, strict=True))
        tensor = _symmetric(lambda j, k, axes: at[j, k])
        return Lump(m, Vec((hx, hy, hz)), tensor).turned(stands.rotation).moved(stands.translation)

    def _augmented_letters(self, i: int) -> list[Letter]:
        """m, m ℓ_C and Î of augmented link i, S (7.77), the tensor's entries in the order of PAIRS."""
        body, k = self._mechanism.bodies[i].inertia, i + 1
        name = f"augmented link {k}"
        out = [letter("m", str(k), "mass", k, float(body.mass), f"mass of {name}")]
        for c, axis in zip(body.first_moments, AXES, strict=True):
            written = Letter(
                f"ml_{k}{axis}", rf"m_{{{k}}}\ell_{{C_{{{k}}}{axis}}}", f"m_{k}ℓ_C{k}{axis}", "mass", k, float(c),
                f"first moment of {name}, {axis}",
            )  # fmt: skip
            out.append(written)
        for j, l in PAIRS:
            axes, value = AXES[j] + AXES[l], float(body.tensor_at_origin[j][l])
            out.append(letter("Ih", f"{k},{axes}", "tensor", k, value, f"tensor entry {axes} of {name}"))
        return out

    def dynamic_parameters(self, members: list[Member]) -> list[tuple[Letter, Polynomial]]:
        """π_i of S (7.77) for every joint: those of the augmented link, as sums over its bodies, and I_mi."""
        out: list[tuple[Letter, Polynomial]] = []
        zero = self.letters.ring.number(0)
        for i, member in enumerate(members):
            none = Vec((zero, zero, zero))
            whole = sum(member.lumps, Lump(zero, none, Mat((none, none, none))))
            own = whole.moved(-member.link.translation).turned(member.link.rotation.T)
            letters = self._augmented_letters(i)
            if self.letters.parameters == "numbers":
                out += [(x, self.letters.ring.number(x.value)) for x in letters]
            else:
                entries = (own.tensor[j][k] for j, k in PAIRS)
                out += [(x, y + zero) for x, y in zip(letters, (own.mass, *own.first, *entries), strict=True)]
            if member.rotor is not None:
                out.append((letter("I", f"m{i + 1}", "tensor", i + 1, 0.0, ""), member.rotor[1] + zero))
        return out

    def _share(self, i: int) -> float:
        """The fraction of body i's weight that is carried."""
        body = self._mechanism.bodies[i]
        return 0.0 if body.lifted.is_zero else carried_share(body)

    def _weighing(self, body: Lump, weight: float, sub: str, i: int) -> Lump:
        if weight == 1.0:
            return body
        return body.weighing(
            self.letters(weight, "w", sub, "mass", i, f"fraction of its weight that the joints support, link {sub}")
        )

    @cached_property
    def _mechanism(self) -> Mechanism:
        return mechanism(self.robot)

    def _payload(self, out: list[Member], at: dict[str, tuple[int, Placement]]) -> None:
        robot, L = self.robot, self.letters
        if robot.payload is None or L.parameters == "all":
            return
        assert robot.tip is not None
        body, stands = at[robot.tip.link]
        if body < 0:
            return
        last = len(out) + 1
        tip = L.exact_placement(Placement(robot.tip.placement.rotation))
        reach = L.vector(robot.tip.placement.translation, "p", "e", last, "tip on its link")
        mass = L(robot.payload.mass, "m", "L", "mass", last, "mass of the payload")
        com = L.vector(robot.payload.com, "l", "L", last, "centre of mass of the payload")
        tensor = L.tensor(robot.payload.tensor, "L", last, "inertia of the payload")
        out[body].lumps.append(lump(mass, com, tensor, stands @ replace(tip, translation=reach), "L"))
        out[body].weighing.append(out[body].lumps[-1])

    def _rotor(
        self,
        rotor: Rotor | None,
        i: int,
        body: int,
        stands: Placement,
        joint_frame: Placement,
        axis: Vec,
        out: list[Member],
    ) -> tuple[tuple[Scalar, Scalar, Vec, bool] | None, tuple[Scalar, Vec, Scalar]]:
        """The rotor of joint i: attached to its link, and its effect on the joint."""
        motor: tuple[Scalar, Vec, Scalar] = (0.0, ZERO, 0.0)
        if rotor is None:
            return None, motor
        L = self.letters
        gear = L(rotor.gear, "k", f"r{i}", "gear", i, f"gear ratio of joint {i}")
        inertia = L(rotor.inertia, "I", f"m{i}", "tensor", i, f"inertia of rotor {i} about its axis")
        z = Vec(map(L.exact, axis if rotor.axis is None else rotor.axis))
        z_m = joint_frame.direction(z) if rotor.axis is None else stands.direction(z)
        if body >= 0 and L.parameters != "all":
            mass = L(rotor.mass, "m", f"m{i}", "mass", i, f"mass of rotor {i}")
            place = joint_frame.translation
            if rotor.position is not None:
                place = stands.point(L.vector(rotor.position, "p", f"m{i}", i, f"position of rotor {i}"))
            across = 0.0 if rotor.reflected else rotor.transverse
            t = L(across, "I", f"m{i},t", "tensor", i, f"transverse inertia of rotor {i}")
            along = z_m.outer(z_m)
            tensor = along * (0.0 if rotor.reflected else inertia) + (IDENTITY - along) * t
            out[body].lumps.append(lump(mass, place, tensor, L.exact_placement(Placement())))
            motor = (mass, place, t)
        return (gear, inertia, z_m, rotor.reflected) if rotor.inertia != 0 else None, motor

    def _friction(self, joint: Joint, i: int, rotor: Any) -> tuple[Scalar, Scalar, Scalar]:
        """F_v, F_s and half the difference of the Coulomb levels, with those of the motor referred to the joint by k_r."""
        L = self.letters
        viscous = L(joint.friction.viscous, "F", f"v{i}", "friction", i, f"viscous friction of joint {i}")
        level, uneven = self._coulomb(joint.friction.coulomb, f"s{i}", i, f"joint {i}")
        motor = joint.rotor
        if motor is not None and (motor.viscous or any(motor.coulomb)):
            gear = rotor[0] if rotor else L(motor.gear, "k", f"r{i}", "gear", i, f"gear ratio of joint {i}")
            F_m = L(motor.viscous, "F", f"m{i}", "friction", i, f"viscous friction of motor {i}")
            F_sm, uneven_m = self._coulomb(motor.coulomb, f"sm{i}", i, f"motor {i}")
            viscous = viscous + gear * gear * F_m
            level = level + gear * F_sm * (1 if motor.gear > 0 else -1)
            uneven = uneven + gear * uneven_m
        return viscous, level, uneven

    def _coulomb(self, levels: tuple[Scalar, Scalar], sub: str, i: int, whose: str) -> tuple[Polynomial, Polynomial]:
        (forward, backward), L, friction = levels, self.letters, f"Coulomb friction of {whose}"
        mean = L((forward + backward) / 2, "F", sub, "friction", i, friction)
        difference = f"{friction}: half of forward − backward"
        return mean, L((forward - backward) / 2, "F", f"{sub}d", "friction", i, difference)

    # -- gravity ---------------------------------------------------------------------------------

    def gravity(self) -> Vec:
        """g_0 in the root's axes: g along one base axis, else its components."""
        L, g = self.letters, self.robot.gravity
        along = [k for k in range(3) if g[k] != 0.0]
        lettered: list[Any] = [0, 0, 0]
        for k in along:
            if L.parameters == "numbers":
                lettered[k] = L.ring.number(g[k])
            elif len(along) == 1:
                size = L.ring.letter(Letter("g", "g", "g", "gravity", 0, abs(g[k]), "acceleration of gravity"))
                lettered[k] = size if g[k] > 0 else -size
            else:
                lettered[k] = L(g[k], "g", AXES[k], "gravity", 0, f"gravity along {AXES[k]} of the base")
        base = L.exact_placement(Placement(self.robot.base.rotation))
        return base.rotation.T @ Vec(map(L.exact, lettered))

    def base(self) -> Placement:
        """The pose of the root link in the base frame."""
        L, base = self.letters, self.robot.base
        at = L.vector(base.translation, "p", "0", 0, "origin of the root link in the base frame")
        return replace(L.exact_placement(Placement(base.rotation)), translation=at)


def _special(angle: float) -> bool:
    twelfths = angle / (math.pi / 12)
    return abs(twelfths - round(twelfths)) < SAME


def lump(mass: Scalar, com: Vec, tensor: Mat, stands: Placement, label: str = "") -> Lump:
    """A body given by its centre of mass, in a frame placed in the moved frame."""
    body = Inertia(mass, com, tensor).seen_from(stands)
    return Lump(mass, body.first_moments, body.tensor_at_origin, label, body)
