"""The dynamic model in operational space, S 7.8, and what the ellipsoids of S 7.9 are made of.

x_e are some rows of the tip's pose: x, y, z and three numbers for the orientation. With E = T⁻¹(φ),

    φ̇ = E ω,   J_A = [J_P; E J_O],   J̇_A = [J̇_P; E J̇_O + Ė J_O],

and T_A = diag(1, T) of S (7.128): J = T_A J_A. The four ways to write an orientation:

    zyz         φ, ϑ, ψ with R = R_z(φ) R_y(ϑ) R_z(ψ); T is singular where sin ϑ = 0
    rpy         roll, pitch, yaw with R = R_z(yaw) R_y(pitch) R_x(roll); singular where cos pitch = 0
    quaternion  ε, the vector part of the unit quaternion (η, ε) with η ≥ 0; singular where η = 0
    geometric   no coordinates at all: ω itself, T = 1

No angle is ever computed: their sines and cosines are entries of R. For an arm that turns its tip
about one fixed axis n only, the row ``ANGLE`` is nᵀω, which no representation can make singular.

Of a closed chain, q, J, B, C and g are those of its actuated joints, S 7.3.3; every line holds as it stands.

``soft`` are two small numbers (λ², μ²), zero unless a singularity is to be damped: λ² 1 is added to
J_A B⁻¹ J_Aᵀ (and to J_A J_Aᵀ), and 1/s becomes s/(s² + μ²) in E.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.algebra.linalg import (
    IDENTITY,
    NULL,
    Matrix,
    Scalar,
    Vector,
    dot,
    madd,
    matvec,
    mscale,
    msub,
    outer,
    scale,
    skew,
    sqrt,
)
from dalembert.coordinates import pulled
from dalembert.coordinates.pulled import (
    AnyMechanism,
    coriolis_matrix,
    factorised,
    inertia_matrix,
    inverse_dynamics,
    jacobian,
    jacobian_derivative,
    tip_frame,
    weightless,
)
from dalembert.equations.factorisation import Factor

Rows = list[list[Scalar]]
Soft = Sequence[Scalar]

ANGLE = 6  # the row nᵀω
EXACT: Soft = (0.0, 0.0)


@dataclass(frozen=True)
class Space:
    """Which rows of the pose: 0, 1, 2 are x, y, z; 3, 4, 5 the orientation; ``ANGLE`` that about ``normal``."""

    orientation: str
    rows: tuple[int, ...]
    normal: Vector = (0.0, 0.0, 1.0)

    @property
    def m(self) -> int:
        """How many rows."""
        return len(self.rows)

    @property
    def represented(self) -> bool:
        """Whether a representation of the orientation, which can be singular, takes part."""
        return self.orientation != "geometric" and any(3 <= k < 6 for k in self.rows)


# -- representations of the orientation ----------------------------------------------------------


@dataclass(frozen=True)
class Turn:
    """E = T⁻¹ at one orientation, and how far it is from singular: |sin ϑ|, |cos pitch| or η."""

    E: Matrix
    measure: Scalar
    parts: tuple[Scalar, ...] = ()  # what Ė is made of


def turn(space: Space, R: Matrix, soft: Soft = EXACT) -> Turn:
    """E of φ̇ = E ω."""
    if space.orientation == "zyz":
        return _zyz(R, soft[1])
    if space.orientation == "rpy":
        return _rpy(R, soft[1])
    if space.orientation == "quaternion":
        return _quaternion(R, soft[1])
    return Turn(IDENTITY, 1.0)


def _over(s: Scalar, s_squared: Scalar, mu_squared: Scalar) -> Scalar:
    """1/s, or s/(s² + μ²); of numbers, NaN where that is 0/0, as compiled code has it"""
    below = s_squared + mu_squared
    return math.nan if isinstance(below, float) and below == 0.0 else s / below


def _zyz(R: Matrix, mu: Scalar) -> Turn:
    s_squared = R[0][2] * R[0][2] + R[1][2] * R[1][2]
    sin_theta, cos_theta = sqrt(s_squared), R[2][2]
    o = _over(sin_theta, s_squared, mu)
    c, s, cot = R[0][2] * o, R[1][2] * o, cos_theta * o  # of φ; cot ϑ
    return Turn(((-(c * cot), -(s * cot), 1.0), (-s, c, 0.0), (c * o, s * o, 0.0)), sin_theta, (c, s, o, cot))


def _rpy(R: Matrix, mu: Scalar) -> Turn:
    c_squared = R[0][0] * R[0][0] + R[1][0] * R[1][0]
    cos_pitch, sin_pitch = sqrt(c_squared), -R[2][0]
    o = _over(cos_pitch, c_squared, mu)
    c, s, tan = R[0][0] * o, R[1][0] * o, sin_pitch * o  # of yaw; tan pitch
    return Turn(((c * o, s * o, 0.0), (-s, c, 0.0), (c * tan, s * tan, 1.0)), cos_pitch, (c, s, o, tan))


def _quaternion(R: Matrix, mu: Scalar) -> Turn:
    four_eta_squared = 1.0 + R[0][0] + R[1][1] + R[2][2]
    eta = 0.5 * sqrt(four_eta_squared)
    o = _over(eta, 0.25 * four_eta_squared, mu)
    eps = scale(0.25 * o, (R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]))
    return Turn(mscale(0.5, msub(mscale(eta, IDENTITY), skew(eps))), eta, (eta, *eps))


def turn_derivative(space: Space, at: Turn, omega: Vector) -> Matrix:
    """Ė while the tip turns with ω."""
    if space.orientation == "geometric":
        return NULL
    rates = matvec(at.E, omega)  # φ̇
    if space.orientation == "quaternion":
        eps = at.parts[1:]
        return mscale(0.5, msub(mscale(-0.5 * dot(eps, omega), IDENTITY), skew(rates)))
    c, s, o, t = at.parts
    if space.orientation == "zyz":
        cd, sd = -(s * rates[0]), c * rates[0]
        cot_d = -(o * o * rates[1])  # d cot ϑ = −ϑ̇/sin² ϑ
        od = -(o * t * rates[1])
        return (
            (-(cd * t + c * cot_d), -(sd * t + s * cot_d), 0.0),
            (-sd, cd, 0.0),
            (cd * o + c * od, sd * o + s * od, 0.0),
        )
    cd, sd = -(s * rates[2]), c * rates[2]
    tan_d = o * o * rates[1]  # d tan = ṗ/cos²
    od = o * t * rates[1]
    return (
        (cd * o + c * od, sd * o + s * od, 0.0),
        (-sd, cd, 0.0),
        (cd * t + c * tan_d, sd * t + s * tan_d, 0.0),
    )


def transformation(mechanism: AnyMechanism, space: Space, q: Sequence[Scalar]) -> tuple[Rows, Scalar]:
    """T_A, 6×6, of S (7.128): v_e = T_A ẋ_e."""
    R, _ = tip_frame(mechanism, q)
    at = turn(space, R)
    if space.orientation == "zyz":
        c, s, _, _ = at.parts
        st, ct = at.measure, R[2][2]
        T: Matrix = ((0.0, -s, c * st), (0.0, c, s * st), (1.0, 0.0, ct))
    elif space.orientation == "rpy":
        c, s, _, _ = at.parts
        T = ((c * at.measure, -s, 0.0), (s * at.measure, c, 0.0), (R[2][0], 0.0, 1.0))
    elif space.orientation == "quaternion":
        eta, *eps = at.parts
        T = mscale(2.0 / eta, madd(mscale(eta * eta, IDENTITY), madd(mscale(eta, skew(eps)), outer(eps, eps))))
    else:
        T = IDENTITY
    zero, one = [0.0] * 3, IDENTITY
    return [[*one[k], *zero] for k in range(3)] + [[*zero, *T[k]] for k in range(3)], at.measure


# -- the Jacobian --------------------------------------------------------------------------------


def _selected(space: Space, linear: Rows, angular: Rows, turned: Rows) -> Rows:
    """The rows of the space from J_P, J_O and E J_O."""
    n = len(linear[0])
    about = [dot(space.normal, [angular[k][j] for k in range(3)]) for j in range(n)]
    every = [*linear, *turned, about]
    return [every[k] for k in space.rows]


def _times(E: Matrix, angular: Rows) -> Rows:
    columns = [matvec(E, column) for column in zip(*angular, strict=True)]
    return [[column[k] for column in columns] for k in range(3)]


@dataclass(frozen=True)
class Kinematics:
    """J_A (m×n), the representation's measure, and what J̇_A needs."""

    J: Rows
    turn: Turn
    geometric: Rows


def analytical(mechanism: AnyMechanism, space: Space, q: Sequence[Scalar], soft: Soft = EXACT) -> Kinematics:
    """The analytical Jacobian: ẋ_e = J_A q̇."""
    J = jacobian(mechanism, q)
    R, _ = tip_frame(mechanism, q)
    at = turn(space, R, soft)
    return Kinematics(_selected(space, J[:3], J[3:], _times(at.E, J[3:])), at, J)


def analytical_derivative(
    mechanism: AnyMechanism, space: Space, q: Sequence[Scalar], qd: Sequence[Scalar], k: Kinematics
) -> Rows:
    """J̇_A: S (3.98) is ẍ_e = J_A q̈ + J̇_A q̇."""
    Jd = jacobian_derivative(mechanism, q, qd)
    J_O = k.geometric[3:]
    omega: Vector = tuple(_dot(row, qd) for row in J_O)
    Ed = turn_derivative(space, k.turn, omega)
    turned = _plus(_times(k.turn.E, Jd[3:]), _times(Ed, J_O))
    return _selected(space, Jd[:3], Jd[3:], turned)


# -- small matrices ------------------------------------------------------------------------------


def _dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def _plus(A: Rows, B: Rows) -> Rows:
    return [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(A, B, strict=True)]


def _minus(A: Rows, B: Rows) -> Rows:
    return [[x - y for x, y in zip(a, b, strict=True)] for a, b in zip(A, B, strict=True)]


def _transposed(A: Rows) -> Rows:
    return [list(column) for column in zip(*A, strict=True)]


def _product(A: Rows, B: Rows) -> Rows:
    columns = _transposed(B)
    return [[_dot(row, column) for column in columns] for row in A]


def _apply(A: Rows, x: Sequence[Scalar]) -> list[Scalar]:
    return [_dot(row, x) for row in A]


def _apply_transposed(A: Rows, y: Sequence[Scalar]) -> list[Scalar]:
    return [_dot(column, y) for column in zip(*A, strict=True)]


@dataclass(frozen=True)
class Symmetric:
    """A symmetric positive definite matrix as L D Lᵀ: pivots D, in the order of the rows."""

    L: Rows
    D: list[Scalar]
    over_D: list[Scalar]

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """A⁻¹ b"""
        m = len(self.D)
        y: list[Scalar] = list(b)
        for i in range(m):
            for j in range(i):
                y[i] = y[i] - self.L[i][j] * y[j]
        y = [v * o for v, o in zip(y, self.over_D, strict=True)]
        for i in reversed(range(m)):
            for j in range(i + 1, m):
                y[i] = y[i] - self.L[j][i] * y[j]
        return y

    def inverse(self) -> Rows:
        """A⁻¹, exactly symmetric."""
        m = len(self.D)
        columns = [self.solve([1.0 if i == j else 0.0 for i in range(m)]) for j in range(m)]
        return [[columns[max(i, j)][min(i, j)] for j in range(m)] for i in range(m)]

    def determinant(self) -> Scalar:
        """Π D"""
        product = self.D[0]
        for d in self.D[1:]:
            product = product * d
        return product


def ldl(A: Rows) -> Symmetric:
    """L D Lᵀ = A, whose entries are taken from the lower triangle."""
    m = len(A)
    L: Rows = [[0.0] * m for _ in range(m)]
    D: list[Scalar] = []
    over_D: list[Scalar] = []
    for i in range(m):
        v = list(A[i][: i + 1])  # v_j = L_ij D_j
        for j in range(i):
            for k in range(j):
                v[j] = v[j] - L[j][k] * v[k]
        d = v[i]
        for j in range(i):
            L[i][j] = v[j] * over_D[j]
            d = d - L[i][j] * v[j]
        L[i][i] = 1.0
        D.append(d)
        over_D.append(1.0 / d)
    return Symmetric(L, D, over_D)


def _gram(A: Rows, B: Rows, add: Scalar = 0.0) -> Rows:
    """The lower triangle of A Bᵀ + add 1, where that is symmetric."""
    m = len(A)
    return [[_dot(A[i], B[j]) + (add if i == j else 0.0) for j in range(i + 1)] for i in range(m)]


# -- the model, S (7.130)–(7.141) ----------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """What every term needs: J_A, B⁻¹ J_Aᵀ (its columns as rows) and J_A B⁻¹ J_Aᵀ factorised."""

    kinematics: Kinematics
    B: Factor | pulled.Factor
    over_B_J: Rows  # m×n: rows of (B⁻¹ J_Aᵀ)ᵀ = J_A B⁻¹
    A: Symmetric

    @property
    def J(self) -> Rows:
        """J_A"""
        return self.kinematics.J

    @property
    def trust(self) -> tuple[list[Scalar], Scalar]:
        """(pivots of J_A B⁻¹ J_Aᵀ, measure of the representation): what tells singularities."""
        return self.A.D, self.kinematics.turn.measure

    def inertia(self) -> Rows:
        """B_A = (J_A B⁻¹ J_Aᵀ)⁻¹, S (7.130)"""
        return self.A.inverse()

    def inverse_jacobian_transposed(self) -> Rows:
        """J̄_Aᵀ = B_A J_A B⁻¹, m×n, S (7.138)"""
        columns = [self.A.solve(column) for column in zip(*self.over_B_J, strict=True)]
        return _transposed(columns)


def model(mechanism: AnyMechanism, space: Space, q: Sequence[Scalar], soft: Soft = EXACT) -> Model:
    """The pieces of the operational space model at q."""
    k = analytical(mechanism, space, q, soft)
    B = factorised(mechanism, inertia_matrix(mechanism, q))
    over = [B.solve(row) for row in k.J]
    return Model(k, B, over, ldl(_gram(k.J, over, soft[0])))


def coriolis(
    mechanism: AnyMechanism, space: Space, q: Sequence[Scalar], qd: Sequence[Scalar], soft: Soft = EXACT
) -> tuple[Rows, Model]:
    """C_A = J̄_Aᵀ C J̄_A − B_A J̇_A J̄_A, with the Christoffel C: Ḃ_A − 2C_A is skew-symmetric.

    C_A ẋ_e is S (7.131) wherever q̇ = J̄_A ẋ_e: always for a nonredundant arm, and for a redundant
    one when it has no internal motion (docs/operational-space.md).
    """
    M = model(mechanism, space, q, soft)
    Jt = M.inverse_jacobian_transposed()
    J_bar = _transposed(Jt)
    inner = _minus(
        _product(Jt, coriolis_matrix(mechanism, q, qd)),
        _product(M.inertia(), analytical_derivative(mechanism, space, q, qd, M.kinematics)),
    )
    return _product(inner, J_bar), M


def coriolis_force(
    mechanism: AnyMechanism, space: Space, q: Sequence[Scalar], qd: Sequence[Scalar], soft: Soft = EXACT
) -> tuple[list[Scalar], Model]:
    """C_A ẋ_e of S (7.131) with the arm's own q̇: B_A (J_A B⁻¹ C q̇ − J̇_A q̇)."""
    M = model(mechanism, space, q, soft)
    C_qd = inverse_dynamics(weightless(mechanism), q, qd, [0.0] * mechanism.n)
    Jd_qd = _apply(analytical_derivative(mechanism, space, q, qd, M.kinematics), qd)
    return M.A.solve([x - y for x, y in zip(_apply(M.over_B_J, C_qd), Jd_qd, strict=True)]), M


def gravity(
    mechanism: AnyMechanism, space: Space, q: Sequence[Scalar], soft: Soft = EXACT
) -> tuple[list[Scalar], Model]:
    """g_A = B_A J_A B⁻¹ g, S (7.132)"""
    M = model(mechanism, space, q, soft)
    rest = [0.0] * mechanism.n
    g = inverse_dynamics(mechanism, q, rest, rest)
    return M.A.solve(_apply(M.over_B_J, g)), M


def null_projector(
    mechanism: AnyMechanism, space: Space, q: Sequence[Scalar], soft: Soft = EXACT
) -> tuple[Rows, Model]:
    """1 − J_Aᵀ J̄_Aᵀ, n×n, S (7.141): what it makes of a torque does not move the tip."""
    M = model(mechanism, space, q, soft)
    moved = _product(_transposed(M.J), M.inverse_jacobian_transposed())
    n = mechanism.n
    return [[(1.0 if i == j else 0.0) - moved[i][j] for j in range(n)] for i in range(n)], M


def torque(
    mechanism: AnyMechanism,
    space: Space,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    xdd: Sequence[Scalar],
    h_e: Sequence[Scalar] | None = None,
    tau_0: Sequence[Scalar] | None = None,
    soft: Soft = EXACT,
) -> tuple[list[Scalar], Model]:
    """τ = J_Aᵀ γ_A + (1 − J_Aᵀ J̄_Aᵀ) τ_0, S (7.141), with γ_A of (7.139):

    γ_A = J̄_Aᵀ τ = B_A (ẍ_e − J̇_A q̇) + J̄_Aᵀ τ′, τ′ being all that acts besides B q̈: C q̇ + g and,
    beyond (7.133), friction and the contact Jᵀ h_e also where only some rows of the pose are taken.
    """
    M = model(mechanism, space, q, soft)
    rest = inverse_dynamics(mechanism, q, qd, [0.0] * mechanism.n, h_e)
    Jd_qd = _apply(analytical_derivative(mechanism, space, q, qd, M.kinematics), qd)
    free = rest if tau_0 is None else [r - t for r, t in zip(rest, tau_0, strict=True)]
    wanted = [a - b + c for a, b, c in zip(xdd, Jd_qd, _apply(M.over_B_J, free), strict=True)]
    tau = _apply_transposed(M.J, M.A.solve(wanted))
    return tau if tau_0 is None else [x + t for x, t in zip(tau, tau_0, strict=True)], M


def resolved_acceleration(
    mechanism: AnyMechanism,
    space: Space,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    xdd: Sequence[Scalar],
    qdd_0: Sequence[Scalar] | None = None,
    soft: Soft = EXACT,
) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """q̈ = J_A⁺ (ẍ_e − J̇_A q̇) + (1 − J_A⁺ J_A) q̈_0: redundancy resolved at the kinematic level.

    Returns q̈, the pivots of J_A J_Aᵀ and the representation's measure.
    """
    k = analytical(mechanism, space, q, soft)
    Jd_qd = _apply(analytical_derivative(mechanism, space, q, qd, k), qd)
    wanted = [a - b for a, b in zip(xdd, Jd_qd, strict=True)]
    if qdd_0 is not None:
        wanted = [a - b for a, b in zip(wanted, _apply(k.J, qdd_0), strict=True)]
    A = ldl(_gram(k.J, k.J, soft[0]))
    qdd = _apply_transposed(k.J, A.solve(wanted))
    if qdd_0 is not None:
        qdd = [a + b for a, b in zip(qdd, qdd_0, strict=True)]
    return qdd, A.D, k.turn.measure


# -- ellipsoids, S 7.9 ---------------------------------------------------------------------------


def reach(mechanism: AnyMechanism, space: Space, q: Sequence[Scalar]) -> tuple[Rows, Rows, list[Scalar]]:
    """(J, J B⁻¹, −J B⁻¹ g): what ellipsoids of acceleration are drawn from, S (7.148)."""
    M = model(mechanism, space, q)
    rest = [0.0] * mechanism.n
    g = inverse_dynamics(mechanism, q, rest, rest)
    return M.J, M.over_B_J, [-x for x in _apply(M.over_B_J, g)]


def manipulability(
    mechanism: AnyMechanism, space: Space, q: Sequence[Scalar], size: Sequence[Scalar]
) -> tuple[list[Scalar], Scalar]:
    """(tip position, √det(J W² Jᵀ)): the product of the velocity ellipsoid's radii; ``size`` is diag W."""
    k = analytical(mechanism, space, q)
    scaled = [[x * s for x, s in zip(row, size, strict=True)] for row in k.J]
    return list(tip_frame(mechanism, q)[1]), _root(ldl(_gram(scaled, scaled)).determinant())


def dynamic_manipulability(
    mechanism: AnyMechanism, space: Space, q: Sequence[Scalar], size: Sequence[Scalar]
) -> tuple[list[Scalar], Scalar]:
    """(tip position, product of the radii of the ellipsoid (7.148)); ``size`` is diag W, τᵀ W⁻² τ = 1.

    The core is K = J⁺ᵀ B W⁻² B J⁺ with J⁺ = Jᵀ (J Jᵀ)⁻¹, so 1/√det K = det(J Jᵀ) / √det(J B W⁻² B Jᵀ).
    """
    J = analytical(mechanism, space, q).J
    B = inertia_matrix(mechanism, q)
    scaled = [[x / s for x, s in zip(_apply(B, row), size, strict=True)] for row in J]
    plain = ldl(_gram(J, J)).determinant()
    return list(tip_frame(mechanism, q)[1]), _magnitude(plain) / _root(ldl(_gram(scaled, scaled)).determinant())


def consistent_manipulability(
    mechanism: AnyMechanism, space: Space, q: Sequence[Scalar], size: Sequence[Scalar]
) -> tuple[list[Scalar], Scalar]:
    """As :func:`dynamic_manipulability`, with the dynamically consistent J̄ (7.138) for J⁺.

    K = B_A J W⁻² Jᵀ B_A with B_A = (J B⁻¹ Jᵀ)⁻¹, so 1/√det K = det(J B⁻¹ Jᵀ) / √det(J W⁻² Jᵀ).
    """
    J = analytical(mechanism, space, q).J
    B = factorised(mechanism, inertia_matrix(mechanism, q))
    mobility = ldl(_gram(J, [B.solve(row) for row in J])).determinant()
    scaled = [[x / s for x, s in zip(row, size, strict=True)] for row in J]
    return list(tip_frame(mechanism, q)[1]), _magnitude(mobility) / _root(ldl(_gram(scaled, scaled)).determinant())


def exact_manipulability(
    mechanism: AnyMechanism, space: Space, q: Sequence[Scalar], size: Sequence[Scalar]
) -> tuple[list[Scalar], Scalar]:
    """(tip position, √det(J B⁻¹ W² B⁻¹ Jᵀ)): as above, but of all accelerations that τᵀ W⁻² τ ≤ 1 reaches."""
    J = analytical(mechanism, space, q).J
    B = factorised(mechanism, inertia_matrix(mechanism, q))
    scaled = [[x * s for x, s in zip(B.solve(row), size, strict=True)] for row in J]
    return list(tip_frame(mechanism, q)[1]), _root(ldl(_gram(scaled, scaled)).determinant())


def _magnitude(x: Scalar) -> Scalar:
    return sqrt(x * x)


def _root(x: Scalar) -> Scalar:
    """√|x|: where a determinant vanishes, rounding may leave −1e-30."""
    return sqrt(_magnitude(x))
