"""B, C, g and friction of S (7.42), symbolic: :mod:`dalembert.mechanics.equations` evaluated on polynomials.

Orientations are relative to the base of a *group*: a series of joints with parallel axes, in which the orientation
of a link is the sum of the angles before it. In these axes, Rz(ϑ_1) Rz(ϑ_2) is Rz(ϑ_1 + ϑ_2) from the start, and sums
of angles appear directly as c_12, s_12. An expression in the axes of a group that does not depend on the orientation of
the group (c_1 c_12 + s_1 s_12) becomes c_2: :class:`_Compactor`.

B and U are those of composite bodies, :mod:`~dalembert.mechanics.equations.composite`; C follows from the Christoffel
symbols of :mod:`~dalembert.mechanics.equations.lagrange`, S (7.45), and g from ∂U/∂q.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

from dalembert.base.algebra.vectors import IDENTITY, ZERO, Mat, RotZ, Vec, Z
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.composite import Composite, LinkSteps, composites, inertia_of, potential_energy_of
from dalembert.mechanics.equations.lagrange import christoffel_of
from dalembert.mechanics.equations.regrouping import LeanLink
from dalembert.mechanics.symbols.names import Letter, braced, circle_letters, upright
from dalembert.mechanics.symbols.ring import FIELD, Polynomial, Ring, Terms, halves, mapped, mapped_half, occurring
from dalembert.mechanics.symbols.symbolic_mechanism import SAME, Model
from dalembert.robot.model.inertia import Moments
from dalembert.robot.model.mechanism import Mechanism
from dalembert.robot.model.placement import Placement

AngleKey = tuple[tuple[int, float], ...]  # (joint from 1, ±1) …
Progress = Callable[[float], None]
FLOAT_NOISE = 1e-14
TOO_MANY = 600_000  # terms of one composite body


class Circles:
    """cos and sin of sums of angles, one pair of letters of the ring per sum; ``offsets`` of the variables, if they have any."""

    def __init__(self, ring: Ring, variables: Sequence[Letter], offsets: Sequence[float] = ()) -> None:
        self.ring, self.variables, self.offsets = ring, dict(enumerate(variables, 1)), offsets
        self.pairs: dict[tuple[AngleKey, float], tuple[Polynomial, Polynomial]] = {}

    def of(self, angle: Sequence[tuple[int, float]], phase: float) -> tuple[Polynomial, Polynomial]:
        """(cos, sin) of Σ k x_i + phase; the sign is chosen such that most angles have a positive factor."""
        key, sign = upright(angle)
        phase = sign * phase + 0.0  # no −0
        name = key, round(phase, 12)
        if name not in self.pairs:
            self.pairs[name] = self.ring.circle(*circle_letters(key, self.variables, phase))
        c, s = self.pairs[name]
        return c, (s if sign > 0 else -s)

    def __call__(self, angle: dict[int, int]) -> tuple[Polynomial, Polynomial]:
        """(cos, sin) of the sum of joint angles, including their offsets: joint → factor."""
        joints = sorted((joint, k) for joint, k in angle.items() if k)
        if not joints:
            return self.ring.number(1), self.ring.number(0)
        return self.of(joints, sum(k * self.offsets[joint - 1] for joint, k in joints))


@dataclass
class GroupPlace:
    """A body with respect to the base of its group, whose origin is that of the body's joint.

    group   number of the group, whose base axes have z along the joint's axis
    angle   φ: (joint → ±1); spin is Rz(φ)
    frame   the link frame in axes that rotate with φ
    turn    from this group's base axes to those of the parent's group
    sigma   +1 or −1: the joint rotates about plus or minus the group's z
    slide   the frame of a prismatic joint, whose z is its direction, in the group's base axes
    r       this body's origin relative to the parent's, in the parent's group's base axes
    """

    group: int = 0
    angle: dict[int, int] = field(default_factory=dict)
    spin: Mat = IDENTITY
    frame: Placement = field(default_factory=Placement)
    turn: Mat | None = None
    sigma: int = 1
    slide: Mat | None = None
    r: Vec = ZERO

    @property
    def axes(self) -> Mat | None:
        """From the axes in which this body is described to those of the parent's group; None if they are the same."""
        return self.slide or self.turn


@dataclass(frozen=True)
class Tree:
    """The symbolic robot, its bodies with respect to their groups, and the function that shortens a polynomial."""

    model: Model
    places: list[GroupPlace]
    short: Callable[[Polynomial], Polynomial]


@dataclass
class ClosedForm:
    """The results, as polynomials. ``christoffel[i][j][k]`` is c_ijk; friction contains q̇, sgn q̇ and functions.

    carried   the part of the friction that belongs to joints that follow, and not to the joint itself
    U         the potential energy, S (7.36)
    pi        the parameters of S (7.77) by name, and their expressions
    far_ends  (link, letter of its length) → the joint at the link's far end, if a loop is closed there
    tree      the tree from which it was computed
    """

    ring: Ring
    q: list[Letter]
    qd: list[Polynomial]
    qdd: list[Polynomial]
    B: list[list[Polynomial]]
    christoffel: list[list[list[Polynomial]]]
    g: list[Polynomial]
    friction: list[Polynomial]
    carried: list[Polynomial]
    U: Polynomial
    pi: list[tuple[Letter, Polynomial]]
    far_ends: dict[tuple[int, int], str] = field(default_factory=dict)
    tree: Tree | None = None

    @property
    def n(self) -> int:
        """The number of joint variables."""
        return len(self.g)

    def polynomials(self) -> list[Polynomial]:
        """The distinct formulas: half of B, half of the Christoffel symbols, and g."""
        n = range(self.n)
        pairs = [(i, j) for i in n for j in n if j >= i]
        return [self.B[i][j] for i, j in pairs] + [x[i][j] for x in self.christoffel for i, j in pairs] + self.g

    def map(self, change: Callable[[Polynomial], Polynomial], ring: Ring) -> ClosedForm:
        """The same form with every polynomial changed, in that ring."""
        B, *c = (mapped_half(table, change) for table in (self.B, *self.christoffel))
        fields = ("qd", "qdd", "g", "friction", "carried", "U")
        rest = {name: mapped(getattr(self, name), change) for name in fields}
        return replace(self, ring=ring, B=B, christoffel=c, **rest)


def group_places(model: Model, circles: Circles) -> list[GroupPlace]:
    """Every body with respect to the base of its group."""
    out: list[GroupPlace] = []
    for i, body in enumerate(model.tree.bodies):
        parent = out[body.parent] if body.parent >= 0 else GroupPlace()
        joint = parent.frame @ body.placement
        J, shift, end = joint.rotation, joint.translation, body.link_frame
        z = J @ Z
        place = GroupPlace(parent.group, parent.angle, parent.spin, Placement(J) @ end)
        if not body.revolute:
            shift = shift + (model.slides[i] + body.offset) * z
            place.slide = parent.spin @ J
        elif all(abs(float(x)) < SAME for x in z[:2]):
            place.sigma = 1 if float(z[2]) > 0 else -1
            place.angle = {**parent.angle, i + 1: place.sigma}
        else:
            group = 1 + max([0, *(other.group for other in out)])
            place = GroupPlace(group, {i + 1: 1}, frame=end, turn=parent.spin @ J)
        place.spin, place.r = RotZ(*circles(place.angle)).matrix, parent.spin @ shift
        out.append(place)
    return out


def link_steps(tree: Mechanism, places: Sequence[GroupPlace]) -> LinkSteps:
    """The tree as composite bodies are computed from it: links in the base axes of their groups, at the present angles.

    A revolute joint about −z is treated as one about z whose variable is −q.
    """
    links = []
    for body, at in zip(tree.bodies, places, strict=True):
        parent = places[body.parent] if body.parent >= 0 else GroupPlace()
        back = IDENTITY if parent.slide is None else parent.slide.T
        stands = (at.frame, Placement(at.spin)) if body.revolute else (body.link_frame,)
        own: Any = reduce(Moments.seen_from, stands, Moments.of(body.inertia))
        axis = back @ (parent.spin @ (parent.frame.rotation @ body.rotor_axis))
        links.append(
            LeanLink(
                body.parent, body.revolute, back @ (at.axes or IDENTITY), back @ at.r, 0.0, 0.0, own.mass,
                own.first_moments, own.second_moments, at.sigma * body.gear, body.rotor_inertia, axis, body.reflected,
                Placement(),
            )
        )  # fmt: skip
    still = [ZERO] * len(links)
    return LinkSteps(links, [RotZ(1.0, 0.0)] * len(links), still, shift_velocity=still, step_velocity=still)


def closed_form(model: Model, progress: Progress | None = None) -> ClosedForm:
    """B, the Christoffel symbols, g and friction, each in the fewest terms that we can find."""
    tell = progress or (lambda fraction: None)
    circles = Circles(model.ring, model.q, model.phases)
    places = group_places(model, circles)
    n, zero = len(places), model.ring.number(0)
    steps = link_steps(model.tree, places)
    bodies = pulled = list(_watched(steps, lambda x: tell(0.2 * x)))
    if model.weighing is not model.tree:
        pulled = list(_watched(link_steps(model.weighing, places), lambda x: None))
    B = [[model.exact(zero + x * (a.sigma * b.sigma)) for x, b in zip(row, places, strict=True)]
         for row, a in zip(inertia_of(steps, bodies), places, strict=True)]  # fmt: skip
    base = model.tree.base
    gravity, origin = base.rotation.T @ model.tree.gravity, base.rotation.T @ base.translation
    U = model.exact(zero + potential_energy_of(steps, pulled, gravity, origin))
    tell(0.3)
    ((B,), (((U,),),)) = map(without_noise, ([B], [[[U]]]))
    by_joint = derivatives(model, circles)
    g = [U.derivative(of) for of in by_joint]
    christoffel = _christoffel(B, by_joint, lambda fraction: tell(0.3 + 0.4 * fraction))
    short = _Compactor(circles, places)
    B = mapped_half(B, short)
    tell(0.75)
    for i, table in enumerate(christoffel):
        christoffel[i] = mapped_half(table, short)
        tell(0.75 + 0.25 * (i + 1) / n)
    _name_single_tensors(model, B)
    return ClosedForm(
        model.ring, model.q, model.qd, model.qdd, B, christoffel, [short(x) for x in g], model.friction, [zero] * n,
        short(U), model.pi, tree=Tree(model, places, short),
    )  # fmt: skip


def _watched(steps: LinkSteps, tell: Progress) -> Iterator[tuple[int, LeanLink, Composite]]:
    """The composite bodies without rounding errors; an error if they become too large."""
    n = len(steps.links)
    for i, link, body in composites(steps):
        tell(1.0 - (i + 1) / n)
        ((first, *tensor),) = without_noise([[body.h, *body.Sigma]], 0.01 * FLOAT_NOISE)
        body.h, body.Sigma = Vec(first), Mat.of(tensor)
        terms = sum(len(body.Sigma[a][b]) for a in range(3) for b in range(a + 1))
        if terms > TOO_MANY:
            raise DalembertError(
                f"the closed form for these {n} joints is too large to be useful: the composite body of joint {i + 1} "
                f"already has {terms} terms (parameters='numbers' gives the fewest); the compiled functions have no such limit"
            )
        yield i, link, body


def derivatives(model: Model, circles: Circles) -> list[dict[int, Terms]]:
    """For every joint, the derivatives of the letters that depend on it."""
    out: list[dict[int, Terms]] = [{} for _ in model.tree.bodies]
    for joint, slide in model.slides.items():
        out[joint][slide.number] = {0: 1}
    for (key, _), (c, s) in circles.pairs.items():
        for joint, k in key:
            out[joint - 1] |= {c.number: (s * -k).terms, s.number: (c * k).terms}
    return out


def _christoffel(B: list[list[Polynomial]], by_joint: list[dict[int, Terms]], tell: Progress) -> list[Any]:
    """The Christoffel symbols of B, from its derivatives."""
    dB: list[Any] = []
    for of in by_joint:
        dB.append(mapped_half(B, partial(Polynomial.derivative, of=of)))
        tell(0.5 * len(dB) / len(B))
    c = [mapped_half(table, lambda x: x.map(halves)) for table in christoffel_of(dB)]
    tell(1.0)
    return without_noise(c)


def without_noise(tables: list[Any], level: float = FLOAT_NOISE) -> list[Any]:
    """The polynomials without the rounding errors of terms that cancel, relative to the largest coefficient."""
    coefficients = [c for table in tables for row in table for x in row for c in x.terms.values()]
    if float not in set(map(type, coefficients)):
        return tables
    floor = level * float(max(map(abs, coefficients)))

    def clean(x: Polynomial) -> Polynomial:
        return Polynomial(x.ring, {m: c for m, c in x.terms.items() if abs(c) > floor})

    return [mapped(table, clean) for table in tables]


class _Compactor:
    """Rewrites a polynomial in fewer terms, with letters for differences of angles."""

    def __init__(self, circles: Circles, places: list[GroupPlace]) -> None:
        self.circles = circles
        groups: dict[int, list[dict[int, int]]] = {}  # the angle sums of each group, each once
        for at in places:
            if at.angle and at.angle not in groups.setdefault(at.group, []):
                groups[at.group].append(at.angle)
        self.pairs: list[tuple[dict[int, int], dict[int, int], int]] = []  # with the bits of all letters of the group
        self.squares: list[tuple[int, int]] = []
        for group in groups.values():
            units = [self._units(angle) for angle in group]
            mask = FIELD * sum({unit for pair in units for unit in pair})
            self.pairs += [(a, b, mask) for k, b in enumerate(group) for a in group[:k]]
            self.squares += units

    def _units(self, angle: dict[int, int]) -> tuple[int, int]:
        c, s = self.circles(angle)
        return next(iter(c.terms)), next(iter(s.terms))

    def __call__(self, x: Polynomial) -> Polynomial:
        terms = dict(x.terms)
        for a, b, mask in self.pairs:
            replace_products(terms, self.circles, a, b, mask)
        for c, s in self.squares:
            _sine_squares(terms, c, s)
        return Polynomial(x.ring, terms)


def replace_products(terms: Terms, circles: Circles, a: dict[int, int], b: dict[int, int], mask: int) -> None:
    """c_a c_b + s_a s_b → cos(φ_b − φ_a) and c_a s_b − s_a c_b → sin(φ_b − φ_a)."""
    (ca, sa), (cb, sb) = circles(a), circles(b)
    angle = {joint: b.get(joint, 0) - a.get(joint, 0) for joint in {*a, *b}}
    _replace_pairs(terms, ca * cb, sa * sb, lambda: circles(angle)[0], mask)
    _replace_pairs(terms, ca * sb, -(sa * cb), lambda: circles(angle)[1], mask)


def _replace_pairs(
    terms: Terms, first: Polynomial, second: Polynomial, by: Callable[[], Polynomial], mask: int
) -> None:
    """k (first + second) → k by, wherever both have the same factor k, which has none of the letters in ``mask``."""
    ((m1, k1),), ((m2, k2),) = first.terms.items(), second.terms.items()
    for rest in [m - m1 for m in terms if m & mask == m1]:
        x, y = k1 * terms.get(rest + m1, 0), k2 * terms.get(rest + m2, 0)  # k1 and k2 are ±1
        if y != 0 and _equal(x, y):
            del terms[rest + m1], terms[rest + m2]
            ((unit, k),) = by().terms.items()
            terms[rest + unit] = terms.get(rest + unit, 0) + k * x


def _sine_squares(terms: Terms, c: int, s: int) -> None:
    """x − x c² → x s²"""
    for m in [m for m in terms if m & (FIELD * c) == 2 * c and not m & (FIELD * s)]:
        rest = m - 2 * c
        if rest in terms and _equal(terms[rest], -terms[m]):
            terms[rest + 2 * s] = terms.pop(rest)
            del terms[m]


def _equal(x: Any, y: Any) -> bool:
    if isinstance(x, float) or isinstance(y, float):
        return bool(abs(x - y) <= 1e-12 * abs(x))
    return bool(x == y)


def _name_single_tensors(model: Model, B: list[list[Polynomial]]) -> None:
    """Use I_ℓi for a link if only one entry of its tensor has an effect, and that on the diagonal."""
    entries: dict[str, list[Letter]] = {}
    for k in occurring(x for row in B for x in row):
        if match := re.fullmatch(r"I_l(.+)[xyz]{2}", model.ring.letters[k].name):
            entries.setdefault(match[1], []).append(model.ring.letters[k])
    for sub, (entry, *others) in entries.items():
        if not others and entry.name[-2] == entry.name[-1]:
            entry.name, entry.text = f"I_l{sub}", f"I_ℓ{sub}"
            entry.latex = rf"I_{{\ell_{braced(sub)}}}"
