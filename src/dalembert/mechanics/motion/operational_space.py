"""The dynamic model in operational space, S 7.8, and the quantities behind the ellipsoids of S 7.9.

x_e are some rows of the tip's pose: x, y, z and three numbers for the orientation. With E = T⁻¹(φ),

    φ̇ = E ω,   J_A = [J_P; E J_O],   J̇_A = [J̇_P; E J̇_O + Ė J_O],

and T_A = diag(1, T) of S (7.128): J = T_A J_A. There are four representations of the orientation:

    zyz         φ, ϑ, ψ with R = R_z(φ) R_y(ϑ) R_z(ψ); T is singular where sin ϑ = 0
    rpy         roll, pitch, yaw with R = R_z(yaw) R_y(pitch) R_x(roll); singular where cos pitch = 0
    quaternion  ε, the vector part of the unit quaternion (η, ε) with η ≥ 0; singular where η = 0
    geometric   no coordinates at all: ω itself, T = 1

No angle is ever computed: sines and cosines of the angles are entries of R. For an arm that rotates its tip
about a single fixed axis n, the row ``ANGLE`` is nᵀω, which no representation can make singular.

For a closed chain, q, J, B, C and g are those of its actuated joints, S 7.3.3; all equations hold unchanged.

``soft`` are two small numbers (λ², μ²), zero unless a singularity is to be damped: λ² 1 is added to
J_A B⁻¹ J_Aᵀ (and to J_A J_Aᵀ), and 1/s becomes s/(s² + μ²) in E.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import mul, truediv
from typing import Any

from dalembert.base.algebra.scalars import Grid, Scalar, Values, sqrt, zeros
from dalembert.base.algebra.vectors import IDENTITY, NULL, Mat, MatLike, Vec, VecLike, Z, skew
from dalembert.mechanics.coordinates import pulled
from dalembert.mechanics.coordinates.chain import AnyMechanism, Chain
from dalembert.mechanics.coordinates.pulled import Factor
from dalembert.mechanics.equations.friction import bare, loaded

Soft = Values

ANGLE = 6  # the row nᵀω
EXACT: Soft = (0.0, 0.0)
STILL = 1e-8  # of the sum of all |J_i|²: least entry of D in :func:`damped_step`


@dataclass(frozen=True)
class Space:
    """Rows of the pose: 0, 1, 2 are x, y, z; 3, 4, 5 the orientation; ``ANGLE`` the angle about ``normal``."""

    orientation: str
    rows: tuple[int, ...]
    normal: tuple[Scalar, Scalar, Scalar] = Z

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def represented(self) -> bool:
        """Whether the rows include a representation of the orientation, which can be singular."""
        return self.orientation != "geometric" and any(3 <= k < 6 for k in self.rows)


# -- representations of the orientation ----------------------------------------------------------


@dataclass(frozen=True)
class Turn:
    """E = T⁻¹ at one orientation, and its measure of singularity: |sin ϑ|, |cos pitch| or η."""

    E: Mat
    measure: Scalar
    parts: tuple[Scalar, ...] = ()  # intermediate values for Ė


def _over(s: Scalar, s_squared: Scalar, mu_squared: Scalar) -> Scalar:
    """1/s, or s/(s² + μ²); for numbers, NaN for 0/0, as in compiled code"""
    below = s_squared + mu_squared
    return math.nan if isinstance(below, float) and below == 0.0 else s / below


def _zyz(R: Mat, mu: Scalar) -> Turn:
    s_squared = R[0][2] * R[0][2] + R[1][2] * R[1][2]
    sin_theta, cos_theta = sqrt(s_squared), R[2][2]
    o = _over(sin_theta, s_squared, mu)
    c, s, cot = R[0][2] * o, R[1][2] * o, cos_theta * o  # of φ; cot ϑ
    E = Mat.of(((-(c * cot), -(s * cot), 1.0), (-s, c, 0.0), (c * o, s * o, 0.0)))
    return Turn(E, sin_theta, (c, s, o, cot))


def _rpy(R: Mat, mu: Scalar) -> Turn:
    c_squared = R[0][0] * R[0][0] + R[1][0] * R[1][0]
    cos_pitch, sin_pitch = sqrt(c_squared), -R[2][0]
    o = _over(cos_pitch, c_squared, mu)
    c, s, tan = R[0][0] * o, R[1][0] * o, sin_pitch * o  # of yaw; tan pitch
    E = Mat.of(((c * o, s * o, 0.0), (-s, c, 0.0), (c * tan, s * tan, 1.0)))
    return Turn(E, cos_pitch, (c, s, o, tan))


def _quaternion(R: Mat, mu: Scalar) -> Turn:
    four_eta_squared = 1.0 + R[0][0] + R[1][1] + R[2][2]
    eta = 0.5 * sqrt(four_eta_squared)
    o = _over(eta, 0.25 * four_eta_squared, mu)
    eps = 0.25 * o * Vec((R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]))
    return Turn(0.5 * (eta * IDENTITY - skew(eps)), eta, (eta, *eps))


TURNS: dict[str, Callable[[MatLike, Scalar], Turn]] = {
    "zyz": _zyz,
    "rpy": _rpy,
    "quaternion": _quaternion,
    "geometric": lambda R, mu: Turn(IDENTITY, 1.0),
}


def turn(space: Space, R: MatLike, soft: Soft = EXACT) -> Turn:
    """E of φ̇ = E ω."""
    return TURNS[space.orientation](R, soft[1])


def turn_derivative(space: Space, at: Turn, omega: Vec) -> Mat:
    """Ė while the tip rotates with ω."""
    if space.orientation == "geometric":
        return NULL
    rates = at.E @ omega  # φ̇
    if space.orientation == "quaternion":
        eps = Vec(at.parts[1:])
        return 0.5 * (-0.5 * eps.dot(omega) * IDENTITY - skew(rates))
    c, s, o, t = at.parts
    if space.orientation == "zyz":
        cd, sd = -(s * rates[0]), c * rates[0]
        cot_d = -(o * o * rates[1])  # d cot ϑ = −ϑ̇/sin² ϑ
        od = -(o * t * rates[1])
        return Mat.of((
            (-(cd * t + c * cot_d), -(sd * t + s * cot_d), 0.0),
            (-sd, cd, 0.0),
            (cd * o + c * od, sd * o + s * od, 0.0),
        ))  # fmt: skip
    cd, sd = -(s * rates[2]), c * rates[2]
    tan_d = o * o * rates[1]  # d tan = ṗ/cos²
    od = o * t * rates[1]
    return Mat.of((
        (cd * o + c * od, sd * o + s * od, 0.0),
        (-sd, cd, 0.0),
        (cd * t + c * tan_d, sd * t + s * tan_d, 0.0),
    ))  # fmt: skip


def transformation(mechanism: AnyMechanism, space: Space, q: Values) -> tuple[Mat, Scalar]:
    """T_A, 6×6, of S (7.128): v_e = T_A ẋ_e."""
    R, _ = pulled.tip_frame(mechanism, q)
    at = turn(space, R)
    T = IDENTITY
    if space.orientation == "zyz":
        c, s, _, _ = at.parts
        st, ct = at.measure, R[2][2]
        T = Mat.of(((0.0, -s, c * st), (0.0, c, s * st), (1.0, 0.0, ct)))
    elif space.orientation == "rpy":
        c, s, _, _ = at.parts
        T = Mat.of(((c * at.measure, -s, 0.0), (s * at.measure, c, 0.0), (R[2][0], 0.0, 1.0)))
    elif space.orientation == "quaternion":
        eta, eps = at.parts[0], Vec(at.parts[1:])
        T = 2.0 / eta * (eta * eta * IDENTITY + (eta * skew(eps) + eps.outer(eps)))
    upper, lower = zip(IDENTITY, NULL, strict=True), zip(NULL, T, strict=True)
    return Mat.of((*left, *right) for left, right in (*upper, *lower)), at.measure


# -- the Jacobian --------------------------------------------------------------------------------


def _selected(space: Space, J_P: Mat, J_O: Mat, E_J_O: Mat) -> Mat:
    """The rows of the space from J_P, J_O and E J_O."""
    about = Vec(Vec(space.normal).dot(column) for column in J_O.T)
    rows = (*J_P, *E_J_O, about)
    return Mat(rows[k] for k in space.rows)


def _times(E: Mat, J_O: Mat) -> Mat:
    """E J_O, column by column"""
    return Mat(E @ column for column in J_O.T).T


@dataclass(frozen=True)
class TipKinematics:
    """J_A (m×n), the measure of the representation, and intermediate values for J̇_A."""

    J: Mat
    turn: Turn
    J_O: Mat


def analytical(mechanism: AnyMechanism, space: Space, q: Values, soft: Soft = EXACT) -> TipKinematics:
    """The analytical Jacobian: ẋ_e = J_A q̇."""
    J = Mat.of(pulled.jacobian(mechanism, q))
    R, _ = pulled.tip_frame(mechanism, q)
    at = turn(space, R, soft)
    J_P, J_O = Mat(J[:3]), Mat(J[3:])
    return TipKinematics(_selected(space, J_P, J_O, _times(at.E, J_O)), at, J_O)


def analytical_derivative(mechanism: AnyMechanism, space: Space, q: Values, qd: Values, k: TipKinematics) -> Mat:
    """J̇_A: S (3.98) is ẍ_e = J_A q̈ + J̇_A q̇."""
    Jd = Mat.of(pulled.jacobian_derivative(mechanism, q, qd))
    Jd_P, Jd_O = Mat(Jd[:3]), Mat(Jd[3:])
    Ed = turn_derivative(space, k.turn, k.J_O @ Vec(qd))
    return _selected(space, Jd_P, Jd_O, _times(k.turn.E, Jd_O) + _times(Ed, k.J_O))


# -- small matrices ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Symmetric(Factor):
    """A symmetric positive definite matrix as L D Lᵀ: pivots D, in the order of the rows."""

    D: list[Scalar]

    def solve(self, b: Values) -> Any:
        """A⁻¹ b, a vector"""
        return Vec(super().solve(b))

    def inverse(self) -> Mat:
        """A⁻¹, exactly symmetric."""
        m = len(self.D)
        columns = [self.solve([1.0 if i == j else 0.0 for i in range(m)]) for j in range(m)]
        return Mat.of([columns[max(i, j)][min(i, j)] for j in range(m)] for i in range(m))

    def determinant(self) -> Scalar:
        """Π D"""
        product = self.D[0]
        for d in self.D[1:]:
            product = product * d
        return product


def ldl(A: Sequence[Values]) -> Symmetric:
    """L D Lᵀ = A, read from the lower triangle of A."""
    m = len(A)
    L = zeros(m)
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
    return Symmetric(L, over_D, D)


def _gram(A: Mat, B: Mat, extra: Scalar = 0.0) -> Grid:
    """The lower triangle of A Bᵀ + extra 1, where that is symmetric."""
    return [[a.dot(b) + (extra if i == j else 0.0) for j, b in enumerate(B[: i + 1])] for i, a in enumerate(A)]


# -- the model, S (7.130)–(7.141) ----------------------------------------------------------------


@dataclass(frozen=True)
class TaskModel:
    """Common factors of all terms: J_A, J_A B⁻¹ (m×n) and J_A B⁻¹ J_Aᵀ factorised."""

    kinematics: TipKinematics
    J_over_B: Mat
    A: Symmetric

    @property
    def J(self) -> Mat:
        """J_A"""
        return self.kinematics.J

    @property
    def trust(self) -> tuple[list[Scalar], Scalar]:
        """(pivots of J_A B⁻¹ J_Aᵀ, measure of the representation), which indicate singularities."""
        return self.A.D, self.kinematics.turn.measure

    def inertia(self) -> Mat:
        """B_A = (J_A B⁻¹ J_Aᵀ)⁻¹, S (7.130)"""
        return self.A.inverse()

    def inverse_jacobian(self) -> Mat:
        """J̄_A = B⁻¹ J_Aᵀ B_A, n×m, S (7.138)"""
        return Mat(self.A.solve(column) for column in self.J_over_B.T)


def model(mechanism: AnyMechanism, space: Space, q: Values, soft: Soft = EXACT) -> TaskModel:
    """The operational space model at q."""
    k = analytical(mechanism, space, q, soft)
    B = pulled.factorised(mechanism, pulled.inertia_matrix(mechanism, q))
    J_over_B = Mat.of(B.solve(row) for row in k.J)
    return TaskModel(k, J_over_B, ldl(_gram(k.J, J_over_B, soft[0])))


def _at_rest(mechanism: AnyMechanism, q: Values) -> Vec:
    """g(q), including the torques of springs and offsets"""
    rest = [0.0] * mechanism.n
    return Vec(pulled.inverse_dynamics(mechanism, q, rest, rest))


def coriolis(mechanism: AnyMechanism, space: Space, q: Values, qd: Values, soft: Soft = EXACT) -> tuple[Mat, TaskModel]:
    """C_A = J̄_Aᵀ C J̄_A − B_A J̇_A J̄_A, with the Christoffel C: Ḃ_A − 2C_A is skew-symmetric.

    C_A ẋ_e is S (7.131) wherever q̇ = J̄_A ẋ_e: always for a nonredundant arm, and for a redundant
    one without internal motion (docs/operational-space.md).
    """
    M = model(mechanism, space, q, soft)
    J_bar = M.inverse_jacobian()
    C = Mat.of(pulled.coriolis_matrix(mechanism, q, qd))
    J_bar_C, B_A = J_bar.T @ C, M.inertia()
    return (J_bar_C - B_A @ analytical_derivative(mechanism, space, q, qd, M.kinematics)) @ J_bar, M


def coriolis_force(
    mechanism: AnyMechanism, space: Space, q: Values, qd: Values, soft: Soft = EXACT
) -> tuple[Vec, TaskModel]:
    """C_A ẋ_e of S (7.131) with the arm's own q̇: B_A (J_A B⁻¹ C q̇ − J̇_A q̇)."""
    M = model(mechanism, space, q, soft)
    C_qd = Vec(pulled.inverse_dynamics(pulled.weightless(mechanism), q, qd, [0.0] * mechanism.n))
    Jd_qd = analytical_derivative(mechanism, space, q, qd, M.kinematics) @ Vec(qd)
    return M.A.solve(M.J_over_B @ C_qd - Jd_qd), M


def gravity(mechanism: AnyMechanism, space: Space, q: Values, soft: Soft = EXACT) -> tuple[Vec, TaskModel]:
    """g_A = B_A J_A B⁻¹ g, S (7.132)"""
    M = model(mechanism, space, q, soft)
    return M.A.solve(M.J_over_B @ _at_rest(mechanism.with_tree(bare(mechanism.tree)), q)), M


def null_projector(mechanism: AnyMechanism, space: Space, q: Values, soft: Soft = EXACT) -> tuple[Mat, TaskModel]:
    """1 − J_Aᵀ J̄_Aᵀ, n×n, S (7.141): projects a torque so that it does not move the tip."""
    M, n = model(mechanism, space, q, soft), mechanism.n
    identity = Mat.of([1.0 if i == j else 0.0 for j in range(n)] for i in range(n))
    return identity - M.J.T @ M.inverse_jacobian().T, M


def torque(
    mechanism: AnyMechanism,
    space: Space,
    q: Values,
    qd: Values,
    xdd: Values,
    h_e: Values | None = None,
    tau_0: Values | None = None,
    soft: Soft = EXACT,
) -> tuple[Vec, TaskModel]:
    """τ = J_Aᵀ γ_A + (1 − J_Aᵀ J̄_Aᵀ) τ_0, S (7.141), with γ_A of (7.139):

    γ_A = J̄_Aᵀ τ = B_A (ẍ_e − J̇_A q̇) + J̄_Aᵀ τ′, where τ′ is everything that acts besides B q̈: C q̇ + g and,
    beyond (7.133), friction and the contact Jᵀ h_e, also if only some rows of the pose are selected. Load-dependent
    friction is added for the resulting loads.
    """
    M = model(mechanism, space, q, soft)
    rest = Vec(pulled.inverse_dynamics(pulled.unloaded(mechanism), q, qd, [0.0] * mechanism.n, h_e))
    Jd_qd = analytical_derivative(mechanism, space, q, qd, M.kinematics) @ Vec(qd)
    free = M.J_over_B @ (rest if tau_0 is None else rest - Vec(tau_0))
    tau = M.J.T @ M.A.solve([a - b + c for a, b, c in zip(xdd, Jd_qd, free, strict=True)])
    tau = tau if tau_0 is None else tau + Vec(tau_0)
    return Vec(pulled.with_loads(mechanism, Chain(mechanism, q).q, qd, tau)) if loaded(mechanism.tree) else tau, M


def resolved_acceleration(
    mechanism: AnyMechanism,
    space: Space,
    q: Values,
    qd: Values,
    xdd: Values,
    qdd_0: Values | None = None,
    soft: Soft = EXACT,
) -> tuple[Vec, list[Scalar], Scalar]:
    """q̈ = J_A⁺ (ẍ_e − J̇_A q̇) + (1 − J_A⁺ J_A) q̈_0: redundancy resolved at the kinematic level.

    Returns q̈, the pivots of J_A J_Aᵀ and the measure of the representation.
    """
    k = analytical(mechanism, space, q, soft)
    wanted = Vec(xdd) - analytical_derivative(mechanism, space, q, qd, k) @ Vec(qd)
    if qdd_0 is not None:
        wanted = wanted - k.J @ Vec(qdd_0)
    A = ldl(_gram(k.J, k.J, soft[0]))
    qdd = k.J.T @ A.solve(wanted)
    return qdd if qdd_0 is None else qdd + Vec(qdd_0), A.D, k.turn.measure


def damped_step(mechanism: AnyMechanism, space: Space, q: Values, error: Values, free: Values, damping: Values) -> Vec:
    """(JᵀJ + λ D)⁻¹ Jᵀ e, a step of the joints that reduces the error e of the tip (Levenberg–Marquardt).

    D = diag(JᵀJ) makes the step independent of units; ``free`` is 1, or 0 for a joint that is held.
    """
    J = analytical(mechanism, space, q).J
    moved = Mat(on * column for on, column in zip(free, J.T, strict=True))
    squares = [column.dot(column) for column in J.T]
    least = STILL * sum(squares)
    A = _gram(moved, moved)
    for i, square in enumerate(squares):
        A[i][i] = A[i][i] + damping[0] * (square + least)
    return ldl(A).solve(moved @ Vec(error))


# -- ellipsoids, S 7.9 ---------------------------------------------------------------------------


def reach(mechanism: AnyMechanism, space: Space, q: Values) -> tuple[Mat, Mat, Vec]:
    """(J, J B⁻¹, −J B⁻¹ g), from which acceleration ellipsoids are drawn, S (7.148); g includes springs and offsets."""
    M = model(mechanism, space, q)
    return M.J, M.J_over_B, -(M.J_over_B @ _at_rest(mechanism, q))


def torque_maps(mechanism: AnyMechanism, space: Space, q: Values, soft: Soft = EXACT) -> tuple[Mat, Mat]:
    """(B J⁺)ᵀ and (B J̄)ᵀ, m×n: torques that accelerate the tip from rest, with J⁺ = Jᵀ (J Jᵀ)⁻¹ and J̄ of S (7.138)."""
    M = model(mechanism, space, q, soft)
    JJ = ldl(_gram(M.J, M.J, soft[0]))
    B = Mat.of(pulled.inertia_matrix(mechanism, q))
    by_plus, by_bar = (Mat(A.solve(column) for column in M.J.T) for A in (JJ, M.A))
    return (B @ by_plus).T, by_bar.T


def _magnitude(x: Scalar) -> Scalar:
    """|x|, since rounding may leave −1e-30 where a determinant vanishes."""
    return sqrt(x * x)


def _volume(A: Mat) -> Scalar:
    """√det(A Aᵀ)"""
    return sqrt(_magnitude(ldl(_gram(A, A)).determinant()))


def manipulability(mechanism: AnyMechanism, space: Space, q: Values, size: Values) -> tuple[VecLike, Scalar]:
    """(tip position, √det(J W² Jᵀ)): the product of the radii of the velocity ellipsoid; ``size`` is diag W."""
    J = analytical(mechanism, space, q).J
    return pulled.tip_frame(mechanism, q)[1], _volume(Mat.of(map(mul, row, size) for row in J))


def dynamic_manipulability(mechanism: AnyMechanism, space: Space, q: Values, size: Values) -> tuple[VecLike, Scalar]:
    """(tip position, product of the radii of the ellipsoid (7.148)); ``size`` is diag W, τᵀ W⁻² τ = 1.

    The core is K = J⁺ᵀ B W⁻² B J⁺ with J⁺ = Jᵀ (J Jᵀ)⁻¹, so 1/√det K = det(J Jᵀ) / √det(J B W⁻² B Jᵀ).
    """
    J = analytical(mechanism, space, q).J
    B = Mat.of(pulled.inertia_matrix(mechanism, q))
    J_B_over_W = Mat.of(map(truediv, B @ row, size) for row in J)
    spread = ldl(_gram(J, J)).determinant()
    return pulled.tip_frame(mechanism, q)[1], _magnitude(spread) / _volume(J_B_over_W)


def consistent_manipulability(mechanism: AnyMechanism, space: Space, q: Values, size: Values) -> tuple[VecLike, Scalar]:
    """As :func:`dynamic_manipulability`, with the dynamically consistent J̄ (7.138) for J⁺.

    K = B_A J W⁻² Jᵀ B_A with B_A = (J B⁻¹ Jᵀ)⁻¹, so 1/√det K = det(J B⁻¹ Jᵀ) / √det(J W⁻² Jᵀ).
    """
    M = model(mechanism, space, q)
    mobility, J_over_W = M.A.determinant(), Mat.of(map(truediv, row, size) for row in M.J)
    return pulled.tip_frame(mechanism, q)[1], _magnitude(mobility) / _volume(J_over_W)


def exact_manipulability(mechanism: AnyMechanism, space: Space, q: Values, size: Values) -> tuple[VecLike, Scalar]:
    """(tip position, √det(J B⁻¹ W² B⁻¹ Jᵀ)): as above, but for all accelerations reachable with τᵀ W⁻² τ ≤ 1."""
    J = analytical(mechanism, space, q).J
    B = pulled.factorised(mechanism, pulled.inertia_matrix(mechanism, q))
    return pulled.tip_frame(mechanism, q)[1], _volume(Mat.of(map(mul, B.solve(row), size) for row in J))
