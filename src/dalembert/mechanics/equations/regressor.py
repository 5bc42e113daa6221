"""The regressor Y of S (7.81): τ = Y(q, q̇, q̈) π, linear in the dynamic parameters of S (7.77).

The parameters of joint i are, in this order,

    m_i, m_i ℓ_x, m_i ℓ_y, m_i ℓ_z, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz, I_mi, F_vi, F_si

for the augmented link i: mass, first moments (7.72), inertia tensor about the origin of frame i
(7.73) with the tensor's own entries (S writes I_xy for minus the entry), and the rotor that drives
joint i, with its full coupling k_r I_m. The coefficients of further friction terms (:mod:`dalembert.robot.terms`) follow
after those of all joints, joint by joint.

A link with mass m, first moments h and tensor I accelerates by a at its origin, with U = S(ω̇) +
S(ω)S(ω). Joint j moves its origin by v_j and rotates it by z_j, so by virtual work

    τ_j = v_jᵀ (m a + U h) + z_jᵀ (h × a + I ω̇ + ω × I ω).

If a fraction s of a link's weight is carried (:attr:`Link.weight` is 1 − s), gravity is reduced accordingly in its
columns: a contains −(1 − s) g.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dalembert.base.algebra.scalars import Grid, Scalar, Values, sgn
from dalembert.base.algebra.vectors import NULL, ZERO, Mat, Vec, vec_sum
from dalembert.errors import RobotError
from dalembert.mechanics.equations.friction import bare, loaded, position
from dalembert.mechanics.equations.kinematics import frames, joint_motion, velocities
from dalembert.mechanics.equations.passive_newton_euler import reference_matrix, reference_torque
from dalembert.robot.model.inertia import Moments
from dalembert.robot.model.mechanism import Body, Mechanism

INERTIAL = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
PARAMETERS = (*INERTIAL, "Im", "Fv", "Fs")  # of one joint, in the order of Y's columns
WIDTH = len(PARAMETERS)
SAME = 1e-12  # distance up to which two centres of mass are the same (compared with 1 m)


def parameters(mechanism: Mechanism) -> list[Scalar]:
    """π of S (7.81), joint by joint."""
    values: list[Scalar] = []
    for body in mechanism.bodies:
        I, h = body.inertia.tensor_at_origin, body.inertia.first_moments
        values += [body.inertia.mass, *h, I[0][0], I[0][1], I[0][2], I[1][1], I[1][2], I[2][2]]
        values += [body.rotor_inertia, body.viscous, 0.5 * (body.coulomb[0] + body.coulomb[1])]
    return values + [x for body in mechanism.bodies for term in body.further for x in term.coefficients]


def names(mechanism: Mechanism) -> list[str]:
    """The names of the parameters: kind and joint number; a second term of one kind at a joint is Fst_3b."""
    own = [f"{kind}_{i}" for i in range(1, mechanism.n + 1) for kind in PARAMETERS]
    bodies = enumerate(mechanism.bodies, 1)
    return distinct(own + [f"{x}_{i}" for i, body in bodies for term in body.further for x in term.symbols])


def distinct(names: Iterable[str]) -> list[str]:
    """The names, with a letter appended to repeated ones.

    >>> distinct(["k_3", "k_3", "k_4", "k_3"])
    ['k_3', 'k_3b', 'k_4', 'k_3c']
    """
    times: dict[str, int] = {}
    out = []
    for name in names:
        times[name] = times.get(name, 0) + 1
        out.append(name if times[name] == 1 else f"{name}{chr(ord('a') + times[name] - 1)}")
    return out


def width(mechanism: Mechanism) -> int:
    """The number of parameters of a tree."""
    return WIDTH * mechanism.n + sum(len(term.linear()) for body in mechanism.bodies for term in body.further)


def reference_regressor(mechanism: Mechanism, q: Values, qd: Values, qd_r: Values, qdd_r: Values) -> Grid:
    """Y(q, q̇, q̇_r, q̈_r) with Yπ = B q̈_r + C(q, q̇) q̇_r + g + f(q̇_r); :mod:`passive_newton_euler` explains its terms."""
    Y: Grid = [[0.0] * width(mechanism) for _ in range(mechanism.n)]
    w, w_r, wd_r, U_r = {-1: ZERO}, {-1: ZERO}, {-1: ZERO}, {-1: NULL}
    a_r = {-1: mechanism.base.rotation.T @ (ZERO - mechanism.gravity)}
    g = {-1: mechanism.base.rotation.T @ mechanism.gravity}  # in the axes of each link
    moves: dict[int, dict[int, tuple[Vec, Vec]]] = {-1: {}}  # link i → joint j → (z_j, v_j) in the axes of link i
    for i, body in enumerate(mechanism.bodies):
        p, P, t, motion = body.parent, body.placement.rotation, body.placement.translation, joint_motion(body, q[i])
        R, r = motion.R, motion.r

        # the motion of link i, S (7.107)–(7.109), with ω̇ × r + ω × (ω × r) written U r
        z_i = R.T @ body.axis
        w[i], w_r[i], wd_r[i] = (R.T @ (P.T @ v) for v in (w[p], w_r[p], wd_r[p]))
        if body.revolute:
            w[i], w_r[i] = w[i] + qd[i] * z_i, w_r[i] + qd_r[i] * z_i
            wd_r[i] = vec_sum([wd_r[i], qdd_r[i] * z_i, qd_r[i] * w[i].cross(z_i)])
        U_r[i] = reference_matrix(w[i], w_r[i], wd_r[i])
        a_r[i] = R.T @ (P.T @ (a_r[p] + U_r[p] @ t)) + U_r[i] @ r
        if not body.revolute:
            across = qd_r[i] * w[i].cross(z_i) + qd[i] * w_r[i].cross(z_i)
            a_r[i] = vec_sum([a_r[i], qdd_r[i] * z_i, across])

        if mechanism.lifts:
            g[i] = R.T @ (P.T @ g[p])
        felt = a_r[i] + carried_share(body) * g[i] if not body.lifted.is_zero else a_r[i]

        # the motion of link i due to every joint up to i
        moves[i] = {}
        for j, (z, v) in moves[p].items():
            z_j = R.T @ (P.T @ z)
            moves[i][j] = (z_j, R.T @ (P.T @ (v + z.cross(t))) + z_j.cross(r))
        moves[i][i] = (z_i, z_i.cross(r)) if body.revolute else (ZERO, z_i)

        first = i * WIDTH
        for j, (z, v) in moves[i].items():
            Y[j][first : first + len(INERTIAL)] = _link_columns(z, v, w[i], w_r[i], wd_r[i], U_r[i], felt)

        # the rotor of joint i on the parent link, S (7.111), (7.113), (7.114)
        k, z_m = body.gear, body.rotor_axis
        I_m, F_v, F_s = range(first + len(INERTIAL), first + WIDTH)
        Y[i][I_m] = k * k * qdd_r[i]
        if not body.reflected:
            gyro, gyro_r = w[p].cross(z_m), w_r[p].cross(z_m)
            Y[i][I_m] = Y[i][I_m] + k * (wd_r[p].dot(z_m) + 0.5 * w_r[p].cross(w[p]).dot(z_m))
            spin = k * qdd_r[i] * z_m + k * (0.5 * (qd_r[i] * gyro + qd[i] * gyro_r))
            for j, (z, _) in moves[p].items():
                Y[j][I_m] = z.dot(spin)
        Y[i][F_v], Y[i][F_s] = qd_r[i], sgn(qd_r[i])

    at = mechanism.n * WIDTH
    load: Values = [0.0] * mechanism.n
    if loaded(mechanism):
        load = reference_torque(bare(mechanism), q, qd, qd_r, qdd_r)
    for i, body in enumerate(mechanism.bodies):
        for term in body.further:
            columns = term.columns(position(body, q[i]), qd_r[i], load[i])
            Y[i][at : at + len(columns)] = columns
            at += len(columns)
    return Y


class EnergyRegressors(NamedTuple):
    """β_Ti and β_Ui of S (7.76), 11 entries for every joint i, in the order of (7.77): INERTIAL, then I_mi."""

    beta_T: Grid
    beta_U: Grid


def energy_regressors(mechanism: Mechanism, q: Values, qd: Values) -> EnergyRegressors:
    """T = Σ β_Tiᵀ π_i and U = Σ β_Uiᵀ π_i, S (7.76): β_Ti and β_Ui depend only on the joints up to link i.

    With ω and v = ṗ_i in the axes of link i, T_i = ½ m vᵀv + hᵀ(v × ω) + ½ ωᵀ Î ω, S (7.70), and U_i is (7.75).
    """
    F = frames(mechanism, q)
    moving = velocities(mechanism, F, qd)
    beta_T, beta_U = [], []
    for i, body in enumerate(mechanism.bodies):
        R, e, k = F.R[i], body.parent, body.gear
        w, v, g = R.T @ moving.omega[i], R.T @ moving.p_dot[i], mechanism.gravity
        spin = 0.5 * k * k * qd[i] * qd[i]
        if not body.reflected and e >= 0:  # the rotor moves with the link that carries it, (7.69)
            spin = spin + k * qd[i] * (F.R[e] @ body.rotor_axis).dot(moving.omega[e])
        xx, xy, xz, yy, yz, zz = w[0] * w[0], w[0] * w[1], w[0] * w[2], w[1] * w[1], w[1] * w[2], w[2] * w[2]
        beta_T.append([0.5 * v.dot(v), *v.cross(w), 0.5 * xx, xy, xz, 0.5 * yy, yz, 0.5 * zz, spin])
        weight = 1.0 if body.lifted.is_zero else 1.0 - carried_share(body)
        beta_U.append([-weight * g.dot(F.p[i]), *(-weight * (R.T @ g)), *[0.0] * 7])
    return EnergyRegressors(beta_T, beta_U)


def carried_share(body: Body) -> float:
    """The fraction of a body's weight that is carried: 1 − weight, which must be the same for all links of the body."""
    lifted, whole = body.lifted, body.inertia
    if isinstance(lifted, Moments):  # numbers that are not known yet
        if lifted.share is None:
            raise RobotError(
                f"joint '{body.name}' moves a payload whose weight is not carried, so its torques are not linear in the parameters "
                "of the combined body; leave out the payload, or give its links weight = 1"
            )
        return lifted.share
    if whole.mass == 0.0:
        raise RobotError(
            f"joint '{body.name}' moves a weight without a mass, as in an approximate model without translational terms, so its "
            "torques are not linear in the parameters of the combined body"
        )
    share = lifted.mass / whole.mass
    if max(abs(x - y) for x, y in zip(lifted.com, whole.com, strict=True)) > SAME * (1.0 + whole.com.norm):
        raise RobotError(
            f"joint '{body.name}' moves parts with different weights (links, rotors, payload), so its torques are not linear "
            "in the parameters of the combined body; give all of its links the same weight"
        )
    return share


def _link_columns(z: Vec, v: Vec, w: Vec, w_r: Vec, wd_r: Vec, U_r: Mat, a: Vec) -> list[Scalar]:
    """The contributions of the ten parameters of a link to the torque of a joint that moves it by (z, v).

    Σ = ½ tr(I) 1 − I in μ = ax(U_r Σ − (U_r Σ)ᵀ) gives μ = I α + ½ (ω × I ω_r + ω_r × I ω), α = ω̇_r + ½ ω_r × ω.
    """
    h = U_r.T @ v + a.cross(z)
    alpha = wd_r + 0.5 * w_r.cross(w)
    xx, yy, zz = (x * y for x, y in zip(w, w_r, strict=True))
    xy, xz, yz = (0.5 * (w[i] * w_r[j] + w[j] * w_r[i]) for i, j in ((0, 1), (0, 2), (1, 2)))
    return [
        v.dot(a), *h,
        z.dot(Vec((alpha[0], xz, -xy))), z.dot(Vec((alpha[1] - xz, alpha[0] + yz, xx - yy))),
        z.dot(Vec((alpha[2] + xy, zz - xx, alpha[0] - yz))), z.dot(Vec((-yz, alpha[1], xy))),
        z.dot(Vec((yy - zz, alpha[2] - xy, alpha[1] + xz))), z.dot(Vec((yz, -xz, alpha[2]))),
    ]  # fmt: skip
