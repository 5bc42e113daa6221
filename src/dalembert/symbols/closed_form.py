"""B, C, g and friction of S (7.42) in letters.

Orientations are relative to the base of a *group*: a series of joints with parallel axes, in which the orientation
of a link is the sum of the angles before it. In these axes, Rz(ϑ_1) Rz(ϑ_2) is Rz(ϑ_1 + ϑ_2) from the start, and sums
of angles appear directly as c_12, s_12. An expression in the axes of a group that does not depend on the orientation of
the group (c_1 c_12 + s_1 s_12) becomes c_2: :func:`compact`.

B is computed with composite rigid bodies: all links that joint i moves are one body, whose momentum at unit speed of
joint i, carried down to joint j, is b_ij. C follows from Christoffel symbols, S (7.45).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dalembert.algebra.scalars import Scalar
from dalembert.algebra.vectors import IDENTITY, ZERO, Mat, RotZ, Vec, Z
from dalembert.errors import DalembertError
from dalembert.symbols.model import SAME, Lump, Member, Model
from dalembert.symbols.names import Letter, braced, circle_letters, upright
from dalembert.symbols.ring import Polynomial, Ring, Terms

AngleKey = tuple[tuple[int, float], ...]  # (joint from 1, ±1) …
Progress = Callable[[float], None]
FLOAT_NOISE = 1e-14
TOO_MANY = 600_000  # terms of one composite body


class Circles:
    """cos and sin of sums of joint angles, one pair of letters per sum."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.pairs: dict[AngleKey, tuple[Polynomial, Polynomial]] = {}

    def __call__(self, angle: dict[int, int]) -> tuple[Polynomial, Polynomial]:
        """(cos, sin) of the sum; the sign is chosen such that most joints have a positive factor."""
        ring, members = self.model.ring, self.model.members
        joints = sorted((joint, k) for joint, k in angle.items() if k)
        if not joints:
            return ring.number(1), ring.number(0)
        key, sign = upright(joints)
        if key not in self.pairs:
            phase = sum(k * members[joint - 1].phase for joint, k in key)
            revolute = {i: member.revolute for i, member in enumerate(members, 1)}
            self.pairs[key] = ring.circle(*circle_letters(key, revolute, phase))
        c, s = self.pairs[key]
        return c, (s if sign > 0 else -s)


@dataclass
class Seen:
    """A body with respect to the base of its group.

    group   number of the group; M takes vectors of the moved frame to axes that rotate with the sum φ
    angle   φ: (joint → ±1); spin is Rz(φ)
    turn    from this group's base axes to those of the parent's group (None: they are the same)
    sigma   +1 or −1: the joint rotates about plus or minus the group's z
    slide   direction of a prismatic joint, in the group's base axes
    r       this body's origin relative to the parent's, in the parent's group's base axes
    """

    group: int
    M: Mat
    angle: dict[int, int]
    spin: Mat
    turn: Mat | None
    sigma: int
    slide: Vec
    r: Vec


@dataclass(frozen=True)
class Tree:
    """The robot in letters, its bodies with respect to their groups, and the function that shortens a polynomial."""

    model: Model
    seen: list[Seen]
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

        def changed(table: Any) -> Any:
            return change(table) if isinstance(table, Polynomial) else [changed(x) for x in table]

        fields = ("qd", "qdd", "B", "christoffel", "g", "friction", "carried", "U")
        return replace(self, ring=ring, **{name: changed(getattr(self, name)) for name in fields})


def _numbers(ring: Ring, v: Vec) -> list[float]:
    values = [letter.value for letter in ring.letters]
    return [float(x.value(values)) if isinstance(x, Polynomial) else float(x) for x in v]


def see(model: Model, circles: Circles) -> list[Seen]:
    """Every body with respect to the base of its group."""
    ring, out = model.ring, list[Seen]()
    for i, member in enumerate(model.members):
        p = member.parent
        at_base = Seen(0, IDENTITY, {}, IDENTITY, None, 1, ZERO, ZERO)
        parent = out[p] if p >= 0 else at_base
        M = parent.M @ member.R
        z = M @ Z
        shift = parent.M @ member.t
        group, angle, turn, sigma, slide = parent.group, parent.angle, None, 1, ZERO
        if not member.revolute:
            shift = shift + (model.slides[i] + member.offset) * z
            slide = parent.spin @ z
        else:
            x, y, up = _numbers(ring, z)
            if abs(x) < SAME and abs(y) < SAME:
                sigma = 1 if up > 0 else -1
                angle = {**angle, i + 1: sigma}
            else:
                group, angle = 1 + max([0, *(seen.group for seen in out)]), {i + 1: 1}
                turn, M = parent.spin @ M, IDENTITY
        spin = RotZ(*circles(angle)).matrix
        out.append(Seen(group, M, angle, spin, turn, sigma, slide, parent.spin @ shift))
    return out


def closed_form(model: Model, progress: Progress | None = None) -> ClosedForm:
    """B, the Christoffel symbols, g and friction, each in the fewest terms that we can find."""
    tell = progress or (lambda fraction: None)
    circles = Circles(model)
    seen = see(model, circles)
    n = len(seen)
    composite = composites(model, seen, [member.lumps for member in model.members], lambda x: tell(0.2 * x))
    pulled = composite
    if any(a is not b for x in model.members for a, b in zip(x.weighing, x.lumps, strict=True)):
        pulled = composites(model, seen, [member.weighing for member in model.members], lambda x: None)
    zero = model.ring.number(0)
    B = [[zero] * n for _ in range(n)]
    g = [zero] * n
    gravity = _gravity_in_groups(model, seen)
    for i in range(n):
        _inertia_column(model, seen, composite[i], i, B)
        f, _ = _momentum(model, seen, pulled[i], i)
        g[i] = -gravity[i].dot(f) + zero
        tell(0.2 + 0.1 * (i + 1) / n)
    ((B,), ((g,),)) = map(without_noise, ([B], [[g]]))
    christoffel = _christoffel(model, circles, B, lambda fraction: tell(0.3 + 0.4 * fraction))
    christoffel = without_noise(christoffel)
    short = _Compactor(circles, seen)
    B = [[short(B[i][j]) if j >= i else zero for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(i):
            B[i][j] = B[j][i]
    tell(0.75)
    for i in range(n):
        for j in range(n):
            for k in range(j, n):
                christoffel[i][j][k] = christoffel[i][k][j] = short(christoffel[i][j][k])
        tell(0.75 + 0.25 * (i + 1) / n)
    _name_single_tensors(model, B)
    g, U = [short(x) for x in g], short(_potential_energy(model, seen, pulled))
    return ClosedForm(
        model.ring, model.q, model.qd, model.qdd, B, christoffel, g, friction_of(model), [zero] * n, U, model.pi,
        tree=Tree(model, seen, short),
    )  # fmt: skip


def friction_of(model: Model) -> list[Polynomial]:
    """F_v q̇ + F_s sgn q̇ and further terms for every joint, S (7.42)."""
    return [
        F_v * qd + F_s * sgn + uneven * sgn * sgn + member.further
        for member, qd, sgn in zip(model.members, model.qd, model.sgn, strict=True)
        for F_v, F_s, uneven in [member.friction]
    ]


def _potential_energy(model: Model, seen: list[Seen], pulled: list[Lump]) -> Polynomial:
    """U = −Σ g_0ᵀ (m_i p_i + m_i r_i,Ci), S (7.36), (7.75), over the bodies that each joint on the base moves."""
    U, root = model.ring.number(0), model.base.rotation.T @ model.base.translation
    for member, at, body in zip(model.members, seen, pulled, strict=True):
        if member.parent < 0:
            first = body.first if at.turn is None else at.turn @ body.first
            U = U - model.gravity.dot(body.mass * (root + at.r) + first)
    return without_noise([[[U]]])[0][0][0]


def composites(model: Model, seen: list[Seen], lumps: list[list[Lump]], tell: Progress) -> list[Lump]:
    """Everything that a joint moves as one body, about its origin, in its group's base axes, from the members' ``lumps``."""
    zero = model.ring.number(0)
    none = Vec((zero, zero, zero))
    out = [Lump(zero, none, Mat((none, none, none))) for _ in seen]
    for i in reversed(range(len(seen))):
        own: Member = model.members[i]
        tell(1.0 - (i + 1) / len(seen))
        for body in lumps[i]:
            out[i] = out[i] + body.turned(seen[i].M).turned(seen[i].spin)
        p = own.parent
        if p >= 0:
            turn = seen[i].turn
            body = out[i] if turn is None else out[i].turned(turn)
            out[p] = out[p] + body.moved(seen[i].r)
            ((first, *tensor),) = without_noise([[out[p].first, *out[p].tensor]], 0.01 * FLOAT_NOISE)
            out[p] = Lump(out[p].mass, Vec(first), Mat.of(tensor))
            terms = sum(len(out[p].tensor[a][b]) for a in range(3) for b in range(a + 1))
            if terms > TOO_MANY:
                raise DalembertError(
                    f"the closed form for these {len(seen)} joints is too large to be useful: the composite body of joint {p + 1} "
                    f"already has {terms} terms (parameters='numbers' gives the fewest); the compiled functions have no such limit"
                )
    return out


def _gravity_in_groups(model: Model, seen: list[Seen]) -> list[Vec]:
    out: list[Vec] = []
    for i, member in enumerate(model.members):
        above = out[member.parent] if member.parent >= 0 else model.gravity
        turn = seen[i].turn
        out.append(above if turn is None else turn.T @ above)
    return out


def _momentum(model: Model, seen: list[Seen], body: Lump, i: int) -> tuple[Vec, Vec]:
    """The momentum of the composite body at unit speed of joint i: f, and n about the joint's origin."""
    at, m, h, I = seen[i], body.mass, body.first, body.tensor
    if model.members[i].revolute:
        return Vec((-h[1] * at.sigma, h[0] * at.sigma, m * 0)), I.T[2] * at.sigma
    return m * at.slide, h.cross(at.slide)


def _inertia_column(
    model: Model,
    seen: list[Seen],
    body: Lump,
    i: int,
    B: list[list[Polynomial]],
) -> None:
    """b_ji for all joints j on the path from joint i to the base."""
    member, at = model.members[i], seen[i]
    f, n = _momentum(model, seen, body, i)
    B[i][i] = _along(member, at, f, n) + model.ring.number(0)
    if member.rotor is not None:
        k_r, I_m, _, _ = member.rotor
        B[i][i] = B[i][i] + k_r * k_r * I_m
    j, down = member.parent, at
    while j >= 0:
        if down.turn is not None:
            f, n = down.turn @ f, down.turn @ n
        n = n + down.r.cross(f)
        if j == member.parent and member.rotor is not None and not member.rotor[3]:
            # the rotor also rotates with link i−1: S (7.28), (7.29)
            k_r, I_m, z_m, _ = member.rotor
            n = n + k_r * I_m * (seen[j].spin @ (seen[j].M @ z_m))
        B[i][j] = B[j][i] = _along(model.members[j], seen[j], f, n) + model.ring.number(0)
        j, down = model.members[j].parent, seen[j]


def _along(member: Member, at: Seen, f: Vec, n: Vec) -> Scalar:
    return n[2] * at.sigma if member.revolute else f.dot(at.slide)


def derivatives(model: Model, circles: Circles) -> list[dict[int, Terms]]:
    """For every joint, the derivatives of the letters that depend on it."""
    out: list[dict[int, Terms]] = [{} for _ in model.members]
    for joint, slide in model.slides.items():
        out[joint][slide.number] = {0: 1}
    for key, (c, s) in circles.pairs.items():
        for joint, k in key:
            out[joint - 1] |= {c.number: (s * -k).terms, s.number: (c * k).terms}
    return out


def _christoffel(model: Model, circles: Circles, B: list[list[Polynomial]], tell: Progress) -> list[Any]:
    """c_ijk = ½ (∂b_ij/∂q_k + ∂b_ik/∂q_j − ∂b_jk/∂q_i), S (7.45)."""
    n = len(B)
    of = derivatives(model, circles)
    D: list[Any] = [[[None] * n for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            D[i][j] = D[j][i] = [B[i][j].derivative(of[k]) for k in range(n)]
        tell(0.5 * (i + 1) / n)
    out: list[Any] = [[[None] * n for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(j, n):
                twice = D[i][j][k] + D[i][k][j] - D[j][k][i]
                out[i][j][k] = out[i][k][j] = twice.map(_half)
        tell(0.5 + 0.5 * (i + 1) / n)
    return out


def _half(c: Any) -> Any:
    if isinstance(c, float):
        return c / 2
    return c // 2 if isinstance(c, int) and c % 2 == 0 else Fraction(c) / 2


def without_noise(tables: list[Any], level: float = FLOAT_NOISE) -> list[Any]:
    """The polynomials without the rounding errors of terms that cancel, relative to the largest coefficient."""
    coefficients = [c for table in tables for row in table for x in row for c in x.terms.values()]
    if not any(isinstance(c, float) for c in coefficients):
        return tables
    floor = level * float(max(map(abs, coefficients)))
    return [[[x.map(lambda c: c if abs(c) > floor else 0) for x in row] for row in table] for table in tables]


class _Compactor:
    """Rewrites a polynomial in fewer terms, with letters for differences of angles."""

    def __init__(self, circles: Circles, seen: list[Seen]) -> None:
        self.circles, self.ring = circles, circles.model.ring
        # the angle sums of each group, each once, and the monomials of their letters
        sums: dict[int, list[dict[int, int]]] = {}
        for at in seen:
            if at.angle and at.angle not in sums.setdefault(at.group, []):
                sums[at.group].append(at.angle)
        self.pairs = [(a, b) for group in sums.values() for k, b in enumerate(group) for a in group[:k]]
        self.squares = [self._units(angle) for group in sums.values() for angle in group]
        self.group_mask = {}
        for group in sums.values():
            mask = 0
            for angle in group:
                for unit in self._units(angle):
                    mask |= 15 * unit
            for angle in group:
                self.group_mask[tuple(angle.items())] = mask

    def _units(self, angle: dict[int, int]) -> tuple[int, int]:
        c, s = self.circles(angle)
        return next(iter(c.terms)), next(iter(s.terms))

    def __call__(self, x: Polynomial) -> Polynomial:
        if not x.terms:
            return x
        terms = dict(x.terms)
        for a, b in self.pairs:
            self._difference(terms, a, b)
        for c, s in self.squares:
            _sine_squares(terms, c, s)
        return Polynomial(self.ring, terms)

    def _difference(self, terms: Terms, a: dict[int, int], b: dict[int, int]) -> None:
        """c_a c_b + s_a s_b → cos(φ_b − φ_a) and c_a s_b − s_a c_b → sin(φ_b − φ_a)."""
        (ca, sa), (cb, sb) = self._units(a), self._units(b)
        mask = self.group_mask[tuple(a.items())]
        sign_a, sign_b = (next(iter(self.circles(angle)[1].terms.values())) for angle in (a, b))
        for first, second, sign in ((ca + cb, sa + sb, sign_a * sign_b), (ca + sb, sa + cb, -sign_a * sign_b)):
            rests = [m - first for m in terms if m & mask == first]
            for rest in rests:
                p, q = terms.get(rest + first, 0), terms.get(rest + second, 0)
                if q != 0 and _equal(p, sign * q):
                    del terms[rest + first], terms[rest + second]
                    joints = {*a, *b}
                    c, s = self.circles({joint: b.get(joint, 0) - a.get(joint, 0) for joint in joints})
                    ((unit, k),) = (c if sign == sign_a * sign_b else s).terms.items()
                    factor = k if first == ca + cb else k * sign_b
                    terms[rest + unit] = terms.get(rest + unit, 0) + p * factor


def _sine_squares(terms: Terms, c: int, s: int) -> None:
    """x − x c² → x s²"""
    for m in [m for m in terms if m & (15 * c) == 2 * c and not m & (15 * s)]:
        rest = m - 2 * c
        if rest in terms and _equal(terms[rest], -terms[m]):
            terms[rest + 2 * s] = terms.pop(rest)
            del terms[m]


def _equal(x: Any, y: Any) -> bool:
    if isinstance(x, float) or isinstance(y, float):
        return bool(abs(x - y) <= 1e-12 * abs(x))
    return bool(x == y)


def _name_single_tensors(model: Model, B: list[list[Polynomial]]) -> None:
    """Use I_ℓi for a link if only one diagonal entry of its tensor has an effect."""
    used = {k for row in B for x in row for m in x.terms for k, _ in model.ring.exponents(m)}
    letters = [model.ring.letters[k] for k in used]
    for sub, candidates in model.tensors.items():
        felt = [entry for entry in candidates if any(entry is other for other in letters)]
        if len(felt) == 1 and felt[0].name[-2:] in ("xx", "yy", "zz"):
            felt[0].name, felt[0].text = f"I_l{sub}", f"I_ℓ{sub}"
            felt[0].latex = rf"I_{{\ell_{braced(sub)}}}"
