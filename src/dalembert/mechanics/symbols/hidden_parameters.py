"""The changes of an arm's parameters that no motion reveals, computed exactly by a recursion over the joints.

Let δπ be a change of the parameters that changes no torque. Then neither the inertia matrix nor the gravity torques
change, and for an outermost link i, on joint i with screw φ, with J = [[Σ, h], [hᵀ, m]] (Σ = ∫ r rᵀ dm) its change,

    tr(φ J φᵀ) + k_r² δI_m = 0                       the coefficient of q̇_i²
    tr(V J φᵀ) + k_r (z_m · ω) δI_m = 0              of q̇_i times the parent's velocity V
    d/dq_i tr(V (e^φq J e^φqᵀ) Vᵀ) = 0               the inertia seen by the parent is the same for all q_i
    d/dq_i γ e^φq (h, m) = δoffset                   and so is the weight

for every velocity V that the parent can have and every direction γ that gravity can have. A change that satisfies
these has the same effect as one of the parent's own parameters, and is compensated by the opposite change there:
(J at link i, −J at its parent) is a change that no motion reveals. After subtracting all of these, the link is
eliminated, and the next one is outermost: there are no other hidden changes.

The velocities enter only through their span, their products through the span of the linear functionals
J ↦ tr(V J V'ᵀ), gravity through the span of (γ, 1): each span follows from the parent's by moving it to the
joint and closing it under the joint's motion. All of this is linear algebra on at most twelve numbers whose
coefficients are polynomials in the lengths, so it can be done symbolically.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dalembert.base.algebra.vectors import Mat, Vec, Z
from dalembert.base.environment.extras import extra
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.regressor import INERTIAL
from dalembert.mechanics.symbols.names import Letter
from dalembert.mechanics.symbols.ring import Polynomial
from dalembert.mechanics.symbols.symbolic_mechanism import Model, model
from dalembert.robot.model.placement import Placement
from dalembert.robot.model.robot import Joint, Robot

Number = Any  # an element of the field: a fraction, a quotient of polynomials in symbols, or a float
Row = list[Number]

# the ten coordinates of J: places in the symmetric 4×4 matrix [[Σ, h], [hᵀ, m]]
PLACES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2), (0, 3), (1, 3), (2, 3), (3, 3))
STRAIGHT = 2e-5  # rotations this close to right angles are treated as right angles
NOISE = 1e-9  # tolerance below which floats of order one count as zero


class Inexact(Exception):
    """A rotation that cannot be expressed by roots: the exact field does not contain it."""


@dataclass(frozen=True)
class Field:
    """The field of the numbers.

    convert     a polynomial of the robot's model as such a number
    letters     the symbols in the field
    domain      SymPy's domain of the exact numbers
    exact       False: floats
    """

    zero: Number
    one: Number
    convert: Callable[[Polynomial], Number]
    letters: tuple[Letter, ...] = ()
    domain: Any = None
    exact: bool = True

    def none(self, x: Number) -> bool:
        """Whether it is zero."""
        return not x if self.exact else abs(x) < NOISE

    def size(self, x: Number) -> float:
        """The quality of a pivot: the smaller, the better."""
        if not self.exact:
            return -abs(x)
        return len(x.numer) + len(x.denom) if hasattr(x, "numer") and hasattr(x.numer, "terms") else 0


class Span:
    """The reduced echelon basis of some rows, extended row by row."""

    def __init__(self, field: Field, width: int) -> None:
        self.field, self.width = field, width
        self.rows: dict[int, Row] = {}  # pivot → row

    def add(self, row: Sequence[Number]) -> Row | None:
        """Add a row; its new component, or None."""
        field, row = self.field, list(row)
        if not field.exact:  # floats: scaled to length one, so that the tolerance is meaningful
            largest = max(map(abs, row), default=0.0)
            if largest < NOISE:
                return None
            row = [x / largest for x in row]
        for pivot, basis in self.rows.items():
            if not field.none(row[pivot]):
                row = _less(row, row[pivot], basis)
        places = [k for k in range(self.width) if not field.none(row[k])]
        if not places:
            return None
        pivot = min(places, key=lambda k: field.size(row[k]))
        row = [x / row[pivot] if not field.none(x) else field.zero for x in row]
        for other, basis in self.rows.items():
            if not field.none(basis[pivot]):
                self.rows[other] = _less(basis, basis[pivot], row)
        self.rows[pivot] = row
        return row

    def close(self, rows: Sequence[Row], step: Callable[[Row], Row]) -> Span:
        """Add rows, and everything that ``step`` generates from them."""
        waiting = list(rows)
        while waiting:
            new = self.add(waiting.pop())
            if new is not None and len(self.rows) < self.width:
                waiting.append(step(new))
        return self

    @property
    def basis(self) -> list[Row]:
        """The rows."""
        return list(self.rows.values())

    def kernel(self) -> list[Row]:
        """The vectors that all rows map to zero."""
        out = []
        for free in (k for k in range(self.width) if k not in self.rows):
            vector = [self.field.zero] * self.width
            vector[free] = self.field.one
            for pivot, row in self.rows.items():
                vector[pivot] = -row[free]
            out.append(vector)
        return out


def _less(row: Row, factor: Number, basis: Row) -> Row:
    return [x - factor * b if b else x for x, b in zip(row, basis, strict=True)]


# -- rigid displacements of J, velocities and gravity ------------------------------------------------


def _symmetric(field: Field, J: Row, off: Number) -> Mat:
    """The symmetric 4×4 matrix with these entries, off-diagonal ones times ``off``."""
    full = [[field.zero] * 4 for _ in range(4)]
    for x, (a, b) in zip(J, PLACES, strict=True):
        full[a][b] = full[b][a] = x if a == b else x * off
    return Mat.of(full)


def _functional(F: Mat) -> Row:
    """The row f with f · J = tr(F J)."""
    return [F[a][b] if a == b else F[a][b] + F[b][a] for a, b in PLACES]


def _form(field: Field, f: Row) -> Mat:
    """The symmetric F with f · J = tr(F J)."""
    return _symmetric(field, f, field.one / (field.one + field.one))


def _twist(field: Field, v: Sequence[Number]) -> Mat:
    """(ω, v) as the 4×4 matrix [[S(ω), v], [0, 0]]."""
    (x, y, z), (a, b, c), o = v[:3], v[3:], field.zero
    return Mat.of([[o, -z, y, a], [z, o, -x, b], [-y, x, o, c], [o, o, o, o]])


def _homogeneous(field: Field, at: Placement) -> Mat:
    o, i = field.zero, field.one
    return Mat.of([*((*row, x) for row, x in zip(at.rotation, at.translation, strict=True)), (o, o, o, i)])


def standard_of_sigma(J: Row) -> Row:
    """(m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz) of J: I = tr(Σ) 1 − Σ."""
    xx, xy, xz, yy, yz, zz, hx, hy, hz, m = J
    return [m, hx, hy, hz, yy + zz, -xy, -xz, xx + zz, -yz, xx + yy]


# -- the recursion ---------------------------------------------------------------------------------------


Hidden = dict[tuple[int, str], Number]  # a change that no motion reveals: (link, kind of standard parameter) → amount


@dataclass
class Seat:
    """A joint and its link in the field's numbers.

    place        from the joint's frame to the parent's; T is its 4×4 matrix
    own          from the joint's frame to the one in which the link's parameters are expressed, as a matrix
    rotor_axis   in the parent's frame; None if only k_r² I_m has an effect
    """

    parent: int
    screw: Row
    place: Placement
    T: Mat
    own: Mat
    gear: Number
    rotor_axis: Vec | None


@dataclass
class _Reach:
    """The possible motions of a link: velocities, their products, and gravity with a 1 appended."""

    velocities: list[Row]
    products: list[Row]
    gravity: list[Row]


def hidden_changes(seats: Sequence[Seat], gravity: Vec, field: Field, rotor: bool, offset: bool) -> list[Hidden]:
    """A basis of all changes of the parameters that change no torque."""
    out: list[Hidden] = []
    reaches: list[_Reach] = []
    base = _Reach([], [], [[*(field.zero + x for x in gravity), field.zero, field.one]])
    for i, seat in enumerate(seats):
        parent = reaches[seat.parent] if seat.parent >= 0 else base
        reach, null = _joint(seat, parent, field, rotor, offset)
        reaches.append(reach)
        out += [_in_standard(i, seats, vector, field) for vector in null]
    return out


def _joint(seat: Seat, parent: _Reach, field: Field, rotor: bool, offset: bool) -> tuple[_Reach, list[Row]]:
    """The possible motions of link i, and the changes (J, I_m, offset) at it that its parent can compensate."""
    T, phi = seat.T, _twist(field, seat.screw)

    def turned(v: Row) -> Row:  # d/dq of a velocity seen from the moving frame: V φ − φ V
        w, u, z, s = Vec(v[:3]), Vec(v[3:6]), Vec(seat.screw[:3]), Vec(seat.screw[3:])
        return [*w.cross(z), *(w.cross(s) - z.cross(u))] + [field.zero] * (len(v) - 6)

    def moved(f: Row) -> Row:  # d/dq f(e^φq J e^φqᵀ) = f(φ J + J φᵀ) = 2 tr(F φ J)
        return [x + x for x in _functional(_form(field, f) @ phi)]

    def fallen(g: Row) -> Row:  # d/dq of γ e^φq
        return [*(phi.T @ Vec(g[:4])), field.zero]

    # the parent's velocities at the joint, with their effect on the rotor appended
    back, at_joint = seat.place.rotation.T, []
    for v in parent.velocities:
        w, u = Vec(v[:3]), Vec(v[3:])
        spin = seat.gear * seat.rotor_axis.dot(w) if seat.rotor_axis is not None else field.zero
        at_joint.append([*(back @ w), *(back @ (u + w.cross(seat.place.translation))), field.zero + spin])
    coupled = Span(field, 7).close(at_joint, turned)
    velocities = Span(field, 6).close([v[:6] for v in at_joint], turned)
    products = Span(field, 10).close([_functional(_moved(_form(field, f), T.T)) for f in parent.products], moved)
    weights = [[*(T.T @ Vec(g[:4])), g[4]] for g in parent.gravity]
    gravity = Span(field, 5).close(weights, fallen)

    # the conditions on (J, I_m, offset)
    o = field.zero
    own = _functional(phi.T @ phi)  # tr(V J Wᵀ) = tr(WᵀV J)
    rows = [[*own, seat.gear * seat.gear, o]]
    rows += [[*_functional(phi.T @ _twist(field, v[:6])), v[6], o] for v in coupled.basis]
    rows += [[*moved(f), o, o] for f in products.basis]
    slopes = Span(field, 5).close([[*(-x for x in fallen(g)[:4]), g[4]] for g in gravity.basis], fallen)
    rows += [[o] * 6 + [g[0], g[1], g[2], g[3], o, g[4]] for g in slopes.basis]
    if not rotor:
        rows.append([o] * 10 + [field.one, o])
    if not offset:
        rows.append([o] * 11 + [field.one])
    conditions = Span(field, 12)
    for row in rows:
        conditions.add(row)

    for v in velocities.basis:
        products.add(_functional(phi.T @ _twist(field, v)))
    products.add(own)
    products = Span(field, 10).close(products.basis, moved)
    velocities.add(seat.screw)
    return _Reach(velocities.basis, products.basis, gravity.basis), conditions.kernel()


def _in_standard(i: int, seats: Sequence[Seat], vector: Row, field: Field) -> Hidden:
    """A change at link i and its compensation at the parent, as changes of standard parameters."""
    seat, amounts = seats[i], Hidden()

    def put(link: int, J: Mat, sign: int) -> None:
        J = _moved(J, seats[link].own)
        for name, x in zip(INERTIAL, standard_of_sigma([J[a][b] for a, b in PLACES]), strict=True):
            if not field.none(x):
                amounts[link, name] = x if sign > 0 else -x

    J = _symmetric(field, vector[:10], field.one)
    put(i, J, 1)
    if seat.parent >= 0:
        put(seat.parent, _moved(J, seat.T), -1)
    for k, name in ((10, "Im"), (11, "offset")):
        if not field.none(vector[k]):
            amounts[i, name] = vector[k]
    return amounts


def _moved(J: Mat, T: Mat) -> Mat:
    """T J Tᵀ: the same body seen from another frame; with Tᵀ for T, a functional of J as one of T J Tᵀ."""
    return T @ (J @ T.T)


# -- a robot in the field's numbers ------------------------------------------------------------------------


def seats_of(robot: Robot, lengths: str) -> tuple[list[Seat], Vec, Field]:
    """The joints of a robot, gravity, and the field: with symbols for lengths, or with numbers."""
    symbolic = model(robot.replace(joints=tuple(map(_meant, robot.joints))), "all")
    try:
        field = exact_field(symbolic, lengths == "symbols")
        return (*_seats(symbolic, field), field)
    except Inexact:
        if lengths == "symbols":
            raise DalembertError(
                f"robot '{robot.name}' has rotations by angles that are not multiples of 15° and not in a DH table: "
                "compute its base parameters with lengths='numbers' (without --symbols)"
            ) from None
        values = [letter.value if letter.value is not None else 1.0 for letter in symbolic.ring.letters]
        field = Field(0.0, 1.0, lambda x: float(x.value(values)), exact=False)
        return (*_seats(symbolic, field), field)


def _meant(joint: Joint) -> Joint:
    """The joint with a rotor to be identified, even if its inertia is zero, and exact right angles where a file says 1.5708."""

    def straight(placement: Placement) -> Placement:
        given = np.array(placement.rotation, float)
        near = np.round(given) + 0.0  # no −0
        return replace(placement, rotation=near.tolist()) if 0.0 < np.abs(given - near).max() < STRAIGHT else placement

    rotor = joint.rotor
    if rotor is not None and rotor.inertia == 0.0:
        rotor = replace(rotor, inertia=1.0)
    joint = joint.with_rotor(rotor)
    return replace(joint, placement=straight(joint.placement), link_frame=straight(joint.link_frame))


def _seats(symbolic: Model, field: Field) -> tuple[list[Seat], Vec]:
    tree = symbolic.tree

    def number(x: Any) -> Number:
        return field.convert(symbolic.ring.number(0) + x)

    def vector(v: Any) -> Vec:
        return Vec(map(number, v))

    o = field.zero

    def placed(x: Placement) -> Placement:
        return Placement(Mat(map(vector, x.rotation)), vector(x.translation))

    frames = [placed(body.link_frame) for body in tree.bodies]
    out = []
    for body, frame in zip(tree.bodies, frames, strict=True):
        parent = frames[body.parent] if body.parent >= 0 else placed(Placement())
        at = parent @ placed(body.placement)
        full = body.has_rotor and not body.reflected and body.parent >= 0
        axis = parent.direction(vector(body.rotor_axis)) if full else None
        screw = [*vector(Z), o, o, o] if body.revolute else [o, o, o, *vector(Z)]
        gear = number(body.gear) if body.has_rotor else field.one
        T, own = (_homogeneous(field, x) for x in (at, frame.inverse))
        out.append(Seat(body.parent, screw, at, T, own, gear, axis))
    return out, vector(tree.base.rotation.T @ tree.gravity)


def exact_field(symbolic: Model, symbols: bool) -> Field:
    """Quotients of polynomials in the lengths (or plain fractions), with √2 and √3 where they occur.

    The cosine and sine of a twist that is not a multiple of 15° are (1 − t²)/(1 + t²) and 2t/(1 + t²), with t = tan α/2
    a symbol, or a fraction so close that the angle is the same to the last digit.
    """
    with extra("identify", "a base parameter as a formula"):
        import sympy

    letters = symbolic.ring.letters
    roots = [sympy.sqrt(letter.index) for letter in letters if letter.kind == "root"]
    ground: Any = sympy.QQ.algebraic_field(*roots) if roots else sympy.QQ
    tangents = {
        k: half_tangent(x, letters[k + 1])
        for k, x in enumerate(letters)
        if x.kind == "twist" and x.name.startswith("c_")
    }
    inside: list[Letter] = []
    if symbols:
        kinds = ("length", "gear", "gravity")
        inside = [tangents.get(k, x) for k, x in enumerate(letters) if k in tangents or x.kind in kinds]
    domain = ground.frac_field(*(sympy.Symbol(letter.name) for letter in inside)) if inside else ground
    values: dict[str, Any] = {x.name: gen for x, gen in zip(inside, domain.gens, strict=True)} if inside else {}

    def number(x: Any) -> Any:
        if isinstance(x, float) and not x.is_integer():
            raise Inexact
        x = Fraction(x)
        return domain.convert(sympy.QQ(x.numerator, x.denominator))

    for letter in letters:
        if letter.kind == "root":
            values[letter.name] = domain.convert(ground.from_sympy(sympy.sqrt(letter.index)), ground)
        elif letter.name not in values and letter.value is not None:
            values[letter.name] = number(Fraction(repr(letter.value)))
    for k, tangent in tangents.items():
        t = values[tangent.name] if symbols else number(Fraction(tangent.value or 0.0).limit_denominator(10**12))
        below = domain.one + t * t
        values[letters[k].name], values[letters[k + 1].name] = (domain.one - t * t) / below, (t + t) / below
    of_letter = [values.get(letter.name) for letter in letters]
    return Field(domain.zero, domain.one, lambda x: x.value(of_letter, number), tuple(inside), domain)


def half_tangent(cosine: Letter, sine: Letter) -> Letter:
    """tan α/2 of a twist whose cosine and sine are symbols."""
    k, c, s = cosine.index, cosine.value or 0.0, sine.value or 0.0
    return Letter(f"t_alpha{k}", rf"\tan(\alpha_{k}/2)", f"tan(α_{k}/2)", "twist", k, s / (1.0 + c))
