"""One step of forward dynamics, S 7.6, in parts: Runge–Kutta 4 and variational.

Dry friction and stops are in :mod:`dalembert.mechanics.motion.contact`. Conditions are numbers, 1 or 0, and choices
use :func:`select`, so that the code runs on floats and can be traced for many states at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf

from dalembert.base.algebra.scalars import Scalar, Values, dot, less, select, sqrt
from dalembert.base.algebra.vectors import Vec
from dalembert.mechanics.coordinates import pulled
from dalembert.mechanics.coordinates.chain import AnyMechanism, Chain
from dalembert.mechanics.coordinates.pulled import smooth
from dalembert.mechanics.equations.friction import static, varies
from dalembert.mechanics.equations.kinematics import frames
from dalembert.mechanics.equations.newton_euler import BaseMotion
from dalembert.mechanics.motion.dry_friction import clearances, moving_torque
from dalembert.robot.model.mechanism import Body

SLOW = 1e-6  # rad/s or m/s over which the slope of friction is taken
ROUNDS = 12  # of the power iteration, which is then within a few percent of the pole

# -- conditions ----------------------------------------------------------------------------------


def both(a: Scalar, b: Scalar) -> Scalar:
    """a and b"""
    return select(a, b, 0.0)


def either(a: Scalar, b: Scalar) -> Scalar:
    """a or b"""
    return select(a, 1.0, b)


def no(a: Scalar) -> Scalar:
    """not a"""
    return select(a, 0.0, 1.0)


def some(conditions: Values) -> Scalar:
    """Whether at least one of them holds."""
    result: Scalar = 0.0
    for c in conditions:
        result = either(c, result)
    return result


# -- the mechanism -------------------------------------------------------------------------------


def has_dry_friction(body: Body) -> bool:
    """Whether the joint has dry friction, or may have it through a parameter that is not yet known."""
    return varies(body) or any(not isinstance(F, (int, float)) or F != 0.0 for F in static(body))


def bounded(stop: Scalar) -> bool:
    """Whether the position of a stop is finite, or not yet known."""
    return not isinstance(stop, (int, float)) or abs(stop) < inf


@dataclass(frozen=True)
class Setting:
    """The simulated system: the mechanism, and the stops (lower, upper) of every joint, infinite where there are none;
    they may be expressions.

    dry_passive  passive joints of a closed chain (indices in its tree) that have dry friction, or may have
    """

    mechanism: AnyMechanism
    stops: tuple[tuple[Scalar, Scalar], ...]
    dry_passive: tuple[int, ...] = ()

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.mechanism.n

    @property
    def contacts(self) -> tuple[Body, ...]:
        """Everything that can stick: the joints, then the passive joints with friction."""
        if not self.dry_passive:
            return self.mechanism.bodies
        return (*self.mechanism.bodies, *(self.mechanism.tree.bodies[p] for p in self.dry_passive))

    def dry(self, i: int) -> bool:
        """Whether the contact has dry friction, or may have it through a parameter that is not yet known."""
        return has_dry_friction(self.contacts[i])

    @property
    def varies(self) -> bool:
        """Whether any static level depends on the state."""
        return any(map(varies, self.contacts))

    def static(self, i: int, levels: Values = ()) -> tuple[Scalar, Scalar]:
        """Static levels of a contact, forward and backward; ``levels`` are those of all contacts if they depend on the state."""
        return (levels[i], levels[len(self.contacts) + i]) if levels else static(self.contacts[i])

    def sticks(self, i: int, levels: Values = ()) -> Scalar:
        """Whether dry friction can hold the contact."""
        forward, backward = self.static(i, levels)
        return less(0.0, forward + backward) if self.dry(i) else 0.0

    def stopped(self, i: int) -> bool:
        """Whether the contact has a stop; passive joints have none."""
        return i < self.n and any(map(bounded, self.stops[i]))

    @property
    def has_events(self) -> bool:
        """Whether any joint can stick or hit a stop."""
        return any(self.dry(i) or self.stopped(i) for i in range(len(self.contacts)))

    def at_stops(self, i: int, q: Values) -> tuple[Scalar, Scalar]:
        """Whether the contact is at its lower and at its upper stop."""
        lower, upper = self.stops[i] if i < self.n else (-inf, inf)
        return (no(less(lower, q[i])) if bounded(lower) else 0.0), (no(less(q[i], upper)) if bounded(upper) else 0.0)


def inertia_and_load(
    setting: Setting, q: Values, qd: Values, h_e: Values | None, base: BaseMotion | None
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """B(q), and τ′(q, q̇) of (7.116) without dry friction."""
    mechanism, rest = smooth(setting.mechanism), [0.0] * setting.n
    return pulled.inertia_matrix(mechanism, q), pulled.inverse_dynamics(mechanism, q, qd, rest, h_e, base)


# -- Runge–Kutta 4 -------------------------------------------------------------------------------


def accelerate(
    setting: Setting, q: Values, qd: Values, tau: Values, h_e: Values | None, base: BaseMotion | None
) -> list[Scalar]:
    """q̈ of (7.115), without dry friction."""
    B, load = inertia_and_load(setting, q, qd, h_e, base)
    r = [t - p for t, p in zip(tau, load, strict=True)]
    return pulled.factorised(setting.mechanism, B).solve(r)


def costate(
    setting: Setting,
    q: Values,
    qd: Values,
    tau: Values,
    h_e: Values | None,
    base: BaseMotion | None,
    qdd: Values,
    w: Values,
) -> tuple[list[Scalar], Scalar]:
    """(λ, y): y = λᵀ (τ − τ′(q, q̇, q̈)) with λ = B⁻¹ w, whose gradient at constant λ and q̈ is that of wᵀ q̈.

    For B q̈ = τ − τ′(q, q̇), wᵀ dq̈ = λᵀ B dq̈ = λᵀ d(τ − τ′(q, q̇, q̈)): the inverse of B need not be differentiated.
    """
    mechanism = smooth(setting.mechanism)
    weights = pulled.factorised(setting.mechanism, pulled.inertia_matrix(mechanism, q)).solve(w)
    load = pulled.inverse_dynamics(mechanism, q, qd, qdd, h_e, base)
    return weights, dot(weights, [t - x for t, x in zip(tau, load, strict=True)])


def advance(weights: Sequence[float]) -> Callable[..., tuple[list[Scalar], list[Scalar]]]:
    """State of a stage: (q, q̇) after these fractions of the step with each velocity and each acceleration."""

    def state(
        q: Values, qd: Values, velocities: Sequence[Values], accelerations: Sequence[Values], h: Scalar
    ) -> tuple[list[Scalar], list[Scalar]]:
        parts = [weight * h for weight in weights]
        return _moved(q, parts, velocities), _moved(qd, parts, accelerations)

    return state


def _moved(x: Values, parts: Values, slopes: Sequence[Values]) -> list[Scalar]:
    for c, slope in zip(parts, slopes, strict=True):
        x = [y + c * k for y, k in zip(x, slope, strict=True)]
    return list(x)


def learn(weights: Sequence[float]) -> Callable[..., list[Scalar]]:
    """Estimate at a stage, or at the end of a step: δ after these fractions of the step with each rate."""

    def state(learned: Values, rates: Sequence[Values], h: Scalar) -> list[Scalar]:
        return _moved(learned, [weight * h for weight in weights], rates)

    return state


def combine(weights: Sequence[float]) -> Callable[..., tuple[list[Scalar], list[Scalar]]]:
    """State at the end, x + h Σ b_i k_i, from (q, q̇), the velocities of the later stages, all accelerations and h.

    ``unsafe``, 0 or NaN, invalidates it if the pose is close to a singular one.
    """
    count = len(weights)
    unit = next(weight for weight in weights if weight)
    runs = [(weight / unit, list(run)) for weight, run in groupby(range(count), lambda k: weights[k])]

    def total(x: Values, slopes: Sequence[Values], part: Scalar, i: int) -> Scalar:
        """x_i + h b (k_1 + 2 (k_2 + k_3) + k_4), b being the first weight"""
        summed: Scalar = 0.0
        for ratio, run in runs:
            if ratio:
                alike: Scalar = slopes[run[0]][i]
                for k in run[1:]:
                    alike = alike + slopes[k][i]
                summed = summed + ratio * alike
        return x[i] + part * summed

    def state(
        q: Values, qd: Values, v: Sequence[Values], a: Sequence[Values], h: Scalar, unsafe: Scalar | None
    ) -> tuple[list[Scalar], list[Scalar]]:
        part = unit * h
        end = [[total(x, slopes, part, i) for i in range(len(x))] for x, slopes in ((q, (qd, *v)), (qd, a))]
        if unsafe is not None:
            end = [[x + unsafe for x in values] for values in end]
        return end[0], end[1]

    return state


def reference_at(part: float) -> Callable[..., list[Scalar]]:
    """Reference after the fraction ``part`` of a pass, from the parabola through its values at 0, h/2 and h."""

    def value(references: Sequence[Values], done: Scalar, step: Scalar, h: Scalar) -> list[Scalar]:
        x = (done + part * step) / h
        l0, l1, l2 = (1.0 - x) * (1.0 - 2.0 * x), 4.0 * x * (1.0 - x), x * (2.0 * x - 1.0)
        return [l0 * a + l1 * b + l2 * c for a, b, c in zip(*references, strict=True)]

    return value


def near_singular(setting: Setting, q: Values, qd: Values, h: Scalar) -> tuple[Scalar, list[Scalar]]:
    """(0, or NaN if a closed chain reaches a singular pose within a step and a half; its distance from it: r²).

    There the actuated joints reverse while the passive ones continue, into another closure of the loop,
    whereas the simulated chain would bounce back.
    """
    away, rate = clearances(setting.mechanism, q, qd)
    # r + 1.5 h ṙ < 0 with r² and its rate 2 r ṙ: 2 r² + 1.5 h (2 r ṙ) < 0
    meets = some([less(2.0 * a + 1.5 * h * b, 0.0) for a, b in zip(away, rate, strict=True)])
    return select(meets, float("nan"), 0.0), away


# -- variational ---------------------------------------------------------------------------------

MOST_ROUNDS = 60.0  # iterations of an implicit step; a contraction by one half in each reaches rounding before
# change of v in the last iteration, relative to the largest speed; the remaining error is h times smaller
SETTLED = 1e-12


def momentum(mechanism: AnyMechanism, q: Values, qd: Values) -> list[Scalar]:
    """p = B(q) q̇"""
    return [Vec(row).dot(qd) for row in pulled.inertia_matrix(mechanism, q)]


def velocity(mechanism: AnyMechanism, q: Values, p: Values) -> list[Scalar]:
    """q̇ = B⁻¹(q) p"""
    return pulled.factorised(mechanism, pulled.inertia_matrix(mechanism, q)).solve(p)


def fastest_decay(mechanism: AnyMechanism, q: Values) -> Scalar:
    """The pole (1/s) with which viscous friction makes speeds decay fastest: the largest eigenvalue of B⁻¹ D by power
    iteration, where D is the slope of friction over the speed at rest."""
    mechanism, n = smooth(mechanism), mechanism.n
    slow, rest = (pulled.friction_torque(mechanism, [v] * n, q, None) for v in (SLOW, 0.0))
    D = [(x - y) / SLOW for x, y in zip(slow, rest, strict=True)]
    B = pulled.factorised(mechanism, pulled.inertia_matrix(mechanism, q))
    rate: Scalar = 0.0
    mode: list[Scalar] = [1.0 / n**0.5] * n
    for _ in range(ROUNDS):
        mode = B.solve([d * x for d, x in zip(D, mode, strict=True)])
        rate = sqrt(dot(mode, mode))
        mode = [x / select(rate, rate, 1.0) for x in mode]
    return rate


def energies(mechanism: AnyMechanism, q: Values, qd: Values) -> tuple[Scalar, Scalar]:
    """T = ½ q̇ᵀ p and U = −Σ g_0ᵀ (m p + R h), S (7.31), (7.36), from the moments of the links."""
    T: Scalar = 0.0
    U: Scalar = 0.0
    for v, x in zip(qd, momentum(mechanism, q, qd), strict=True):
        T = T + 0.5 * v * x
    placed = frames(mechanism.tree, Chain(mechanism, q).q)
    for i, body in enumerate(mechanism.tree.bodies):
        h = body.inertia.mass * placed.p[i] + placed.R[i] @ body.inertia.first_moments
        U = U - mechanism.gravity.dot(h)
        if not body.lifted.is_zero:
            h = body.lifted.mass * placed.p[i] + placed.R[i] @ body.lifted.first_moments
            U = U + mechanism.gravity.dot(h)
    return T, U


def midpoint(q: Values, v: Values, h: Scalar) -> list[Scalar]:
    """q + h/2 v"""
    return [x + 0.5 * h * y for x, y in zip(q, v, strict=True)]


def discrete_legendre(
    setting: Setting,
    q_m: Values,
    p: Values,
    v: Values,
    rounds: Scalar,
    h: Scalar,
    tau: Values,
    h_e: Values | None,
    base: BaseMotion | None,
) -> tuple[list[Scalar], list[Scalar], Scalar, Scalar]:
    """One iteration for the discrete Euler–Lagrange equations of the midpoint Lagrangian.

    L_d(q_0, q_1) = h L(q_m, v) with q_m = (q_0 + q_1)/2 and v = (q_1 − q_0)/h. With the forces f at the
    midpoint, p_0 = −D_1 L_d − h/2 f and p_1 = D_2 L_d + h/2 f read

        B(q_m) v = p_0 + h/2 k,    p_1 = p_0 + h k,    k = ∂L/∂q + f = C^T v − g + τ − F_v v − J^T h_e − τ_b,

    where τ_b is the contribution of a base motion, since ½ ∂(v^T B v)/∂q = (Ḃ − C) v = C^T v. The first equation is
    solved for v by fixed-point iteration, which gains a factor of order h per iteration. Returns (v, p_1, rounds,
    again); NaN if it does not converge.
    """
    n, mechanism = setting.n, smooth(setting.mechanism)
    C = pulled.coriolis_matrix(mechanism, q_m, v)
    rest = [0.0] * n
    load, rubbed = pulled.inverse_dynamics(mechanism, q_m, rest, rest, h_e), moving_torque(mechanism, q_m, v)
    if base is not None:
        load = [x + y for x, y in zip(load, pulled.base_torque(mechanism, q_m, v, base), strict=True)]
    k = []
    for i in range(n):
        total = tau[i] - load[i] - rubbed[i]
        for j in range(n):
            total = total + C[j][i] * v[j]
        k.append(total)
    factor = pulled.factorised(mechanism, pulled.inertia_matrix(mechanism, q_m))
    v1 = factor.solve([p[i] + 0.5 * h * k[i] for i in range(n)])
    fastest: Scalar = 1e-3
    farthest: Scalar = 0.0
    for x, y in zip(v1, v, strict=True):
        size, change = select(less(x, 0.0), -x, x), select(less(x, y), y - x, x - y)
        fastest = select(less(fastest, size), size, fastest)
        farthest = select(less(farthest, change), change, farthest)
    moves = less(SETTLED * fastest, farthest)
    last = no(less(rounds, MOST_ROUNDS))
    wrong = select(both(last, moves), float("nan"), 0.0)
    return (
        [x + wrong for x in v1],
        [x + h * y for x, y in zip(p, k, strict=True)],
        rounds + 1.0,
        both(moves, no(last)),
    )
