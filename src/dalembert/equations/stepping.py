"""One step of direct dynamics, S 7.6, in pieces: Runge–Kutta 4, dry friction and stops, variational.

Dry friction is a set-valued law: a joint that moves feels F_s sgn(q̇), a joint at rest feels
whatever torque up to F_s keeps it there. So each joint is either *held* (q̇ = 0, q̈ = 0) or free with
a constant dry torque, and between the instants at which a joint changes over, the motion is smooth
and Runge–Kutta keeps its order. A step is therefore taken in passes:

1. :func:`modes`: a joint at rest is held unless it has been found to slip.
2. Four :func:`accelerate`: (7.115) for the free joints, the held ones staying where they are.
3. :func:`judge`: does friction (or a stop) suffice to hold the held joints, and do the joints that
   slip from rest go where they were thought to? If not, the pass is thrown away and taken again.
4. :func:`events`: has a velocity passed zero, or a joint its stop? Then the pass is taken again, just
   up to there.
5. :func:`project`: there the joint is stopped by an impulse on this joint alone: in the metric of
   B this is the projection on q̇_i = 0, which never adds kinetic energy.
6. :func:`commit`: what the pass has brought is kept or not, and the rest of the step follows.

A joint that sticks is therefore at q̇ = 0.0 exactly and cannot creep; stops are inelastic. If a step
needs more than :func:`most_passes`, what is left of it is taken as one pass and whatever passed zero
is stopped at its end: again no energy is added.

Passive joints of a closed chain that rub stick and slip by the same rules (:mod:`rubbing`): what is held
are then *contacts*, first the joints of q, then the directions Γ_p of those passive joints.

Conditions are numbers, 1 or 0, and choices are :func:`select`: the text runs on floats and can be
traced for many states at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

from dalembert.equations.any_chain import coriolis_matrix, factorised, inertia_matrix, inverse_dynamics, smooth
from dalembert.equations.closed_chain import Chain
from dalembert.equations.closure import ClosedMechanism
from dalembert.equations.friction import coulomb
from dalembert.equations.kinematics import frames
from dalembert.equations.rubbing import Brakes, brakes, clearances, directions, drifts, viscous_torque
from dalembert.robot.linalg import (
    Matrix,
    Scalar,
    Vector,
    add,
    dot,
    less,
    madd,
    matmul,
    matvec,
    mscale,
    outer,
    scale,
    select,
    sgn,
    sqrt,
    transpose,
)
from dalembert.robot.mechanism import Body, Mechanism
from dalembert.robot.placement import Placement

Values = Sequence[Scalar]
PARAMETERS = 13  # a joint's: m, m c (3), I (6) about the frame's origin, I_m, F_v, F_s; S (7.77)


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
    """Whether one of them holds."""
    result: Scalar = 0.0
    for c in conditions:
        result = either(c, result)
    return result


# -- the mechanism -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moments:
    """A body by its moments about the frame's origin, S (7.77): linear, so that even the mass may be 0."""

    mass: Scalar
    first_moments: Vector
    second_moments: Matrix

    def seen_from(self, placement: Placement) -> Moments:
        """The same body when its frame stands at ``placement``, in the outer frame's axes."""
        R, t, m = placement.rotation, placement.translation, self.mass
        h = matvec(R, self.first_moments)
        turned = matmul(R, matmul(self.second_moments, transpose(R)))
        moved = madd(madd(outer(t, h), outer(h, t)), mscale(m, outer(t, t)))
        return Moments(m, add(h, scale(m, t)), madd(turned, moved))


def with_parameters(mechanism: Mechanism, parameters: Values) -> Mechanism:
    """The mechanism with the parameters of S (7.77) of every augmented link, 13 a joint; of a closed chain, of its tree."""
    if isinstance(mechanism, ClosedMechanism):
        closed: ClosedMechanism = mechanism
        return replace(closed, tree=with_parameters(closed.tree, parameters))  # type: ignore[return-value]
    bodies = []
    for i, body in enumerate(mechanism.bodies):
        m, hx, hy, hz, xx, xy, xz, yy, yz, zz, I_m, F_v, F_s = parameters[PARAMETERS * i : PARAMETERS * (i + 1)]
        half = 0.5 * (xx + yy + zz)  # Σ = ½ tr(I) 1 − I
        Sigma = ((half - xx, -xy, -xz), (-xy, half - yy, -yz), (-xz, -yz, half - zz))
        inertia = Moments(m, (hx, hy, hz), Sigma)
        bodies.append(replace(body, inertia=inertia, rotor_inertia=I_m, viscous=F_v, coulomb=(F_s, F_s)))  # type: ignore[arg-type]
    return replace(mechanism, bodies=tuple(bodies))


CREEP = 1e-10  # rad/s or m/s: slower than this, a contact rests where passive joints rub
SLACK = 1e-9  # rad/s² or m/s²: and is not pulled back from its slip


def has_dry_friction(body: Body) -> bool:
    """Whether the joint has dry friction, or may have: a parameter that is not known yet."""
    return any(not isinstance(F, (int, float)) or F != 0.0 for F in body.coulomb)


@dataclass(frozen=True)
class Setting:
    """What is simulated: the mechanism, and (lower, upper) of every joint's stops, infinite where there is none.

    rubs  passive joints of a closed chain (numbers in its tree) that have dry friction, or may have
    """

    mechanism: Mechanism
    stops: tuple[tuple[float, float], ...]
    rubs: tuple[int, ...] = ()

    @property
    def n(self) -> int:
        """How many joints there are."""
        return self.mechanism.n

    @property
    def contacts(self) -> tuple[Body, ...]:
        """All that can stick: the joints, then the passive joints that rub."""
        if not self.rubs:
            return self.mechanism.bodies
        return (*self.mechanism.bodies, *(self.mechanism.tree.bodies[p] for p in self.rubs))  # type: ignore[attr-defined]

    def dry(self, i: int) -> bool:
        """Whether the contact has dry friction, or may have: a parameter that is not known yet."""
        return has_dry_friction(self.contacts[i])

    def sticks(self, i: int) -> Scalar:
        """Whether there is dry friction that can hold the contact."""
        forward, backward = self.contacts[i].coulomb
        return less(0.0, forward + backward) if self.dry(i) else 0.0

    def stopped(self, i: int) -> bool:
        """Whether the contact has a stop: passive joints have none."""
        return i < self.n and self.stops[i] != (-inf, inf)

    @property
    def has_events(self) -> bool:
        """Whether anything can stick or hit a stop."""
        return any(self.dry(i) or self.stopped(i) for i in range(len(self.contacts)))

    def moves(self, v: Scalar) -> Scalar:
        """Whether that is a speed: joints rest at 0.0 exactly, directions of passive joints but for rounding."""
        return either(less(CREEP, v), less(v, -CREEP)) if self.rubs else sgn(v) * sgn(v)

    def backwards(self, v: Scalar, slack: float) -> Scalar:
        """Whether that is below 0, by more than rounding where there are directions of passive joints."""
        return less(v, -slack if self.rubs else 0.0)

    def at_stops(self, i: int, q: Values) -> tuple[Scalar, Scalar]:
        """Whether the contact is at its lower and at its upper stop."""
        lower, upper = self.stops[i] if i < self.n else (-inf, inf)
        return (no(less(lower, q[i])) if lower > -inf else 0.0), (no(less(q[i], upper)) if upper < inf else 0.0)


def inertia_and_load(
    setting: Setting, q: Values, qd: Values, h_e: Values | None
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """B(q), and τ′(q, q̇) of (7.116) without the dry friction."""
    mechanism, rest = smooth(setting.mechanism), [0.0] * setting.n
    return inertia_matrix(mechanism, q), inverse_dynamics(mechanism, q, qd, rest, h_e)


def solve_free(setting: Setting, B: Sequence[Sequence[Scalar]], r: Values, held: Values) -> list[Scalar]:
    """x with B x = r in the rows of the free joints, and x = 0 for the held ones."""
    n = setting.n
    free = [no(h) for h in held]
    masked = [
        [free[i] * free[j] * B[i][j] if i != j else select(held[i], 1.0, B[i][i]) for j in range(n)] for i in range(n)
    ]
    x = factorised(setting.mechanism, masked).solve([select(held[i], 0.0, r[i]) for i in range(n)])
    return [select(held[i], 0.0, x[i]) for i in range(n)]


# -- Runge–Kutta 4 -------------------------------------------------------------------------------


def advance(part: float) -> Callable[..., tuple[list[Scalar], list[Scalar]]]:
    """A stage's state: (q, q̇) after ``part`` of the step with the velocity v and the acceleration a."""

    def state(q: Values, qd: Values, v: Values, a: Values, h: Values) -> tuple[list[Scalar], list[Scalar]]:
        c = part * h[0]
        return [x + c * y for x, y in zip(q, v, strict=True)], [x + c * y for x, y in zip(qd, a, strict=True)]

    return state


def combine(
    q: Values, v1: Values, v2: Values, v3: Values, v4: Values, a1: Values, a2: Values, a3: Values, a4: Values, h: Values
) -> tuple[list[Scalar], list[Scalar]]:
    """x + h/6 (k_1 + 2 k_2 + 2 k_3 + k_4)"""
    sixth = (1.0 / 6.0) * h[0]

    def total(x: Values, k1: Values, k2: Values, k3: Values, k4: Values) -> list[Scalar]:
        return [x[i] + sixth * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]) for i in range(len(x))]

    return total(q, v1, v2, v3, v4), total(v1, a1, a2, a3, a4)


def reference_at(part: float) -> Callable[..., tuple[list[Scalar]]]:
    """The reference after ``part`` of a pass, from its values at 0, h/2 and h: a parabola through them."""

    def value(r0: Values, r1: Values, r2: Values, done: Values, step: Values, h: Values) -> tuple[list[Scalar]]:
        x = (done[0] + part * step[0]) / h[0]
        l0, l1, l2 = (1.0 - x) * (1.0 - 2.0 * x), 4.0 * x * (1.0 - x), x * (2.0 * x - 1.0)
        return ([l0 * a + l1 * b + l2 * c for a, b, c in zip(r0, r1, r2, strict=True)],)

    return value


def near_singular(setting: Setting, q: Values, qd: Values, h: Values) -> tuple[list[Scalar], list[Scalar]]:
    """(0, or NaN where a closed chain comes to a singular pose within a step and a half; how far it is: r²).

    There the actuated joints turn back while the passive ones go on, into another way to close the loop:
    what is simulated would bounce off instead.
    """
    closed: ClosedMechanism = setting.mechanism  # type: ignore[assignment]
    away, rate = clearances(closed, q, qd)
    # r + 1.5 h ṙ < 0 with r² and its rate 2 r ṙ: 2 r² + 1.5 h (2 r ṙ) < 0
    meets = some([less(2.0 * a + 1.5 * h[0] * b, 0.0) for a, b in zip(away, rate, strict=True)])
    return [select(meets, float("nan"), 0.0)], away


def combine_safely(*values: Values) -> tuple[list[Scalar], list[Scalar]]:
    """:func:`combine`, spoilt where the pose is near a singular one: the last value is 0 or NaN."""
    q, qd = combine(*values[:-1])
    return [x + values[-1][0] for x in q], [x + values[-1][0] for x in qd]


# -- dry friction and stops ----------------------------------------------------------------------


def most_passes(n: int) -> float:
    """How many passes a step with n contacts may be cut into before the rest is taken at once."""
    return float(10 + 4 * n)


SOFT = 1e-4  # rad/s or m/s: below this a joint meets its stop without shaking the others loose


def contacts(setting: Setting, q: Values, qd: Values) -> tuple[list[Scalar], list[Scalar]]:
    """The speed of every contact, and the directions Γ_p of those that are passive joints."""
    G = directions(setting.mechanism, q, setting.rubs)
    return [*qd, *(_along(g, qd) for g in G)], [x for g in G for x in g]


def _along(g: Values, v: Values) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(g, v, strict=True):
        total = total + x * y
    return total


def modes(
    setting: Setting, q: Values, speed: Values, slip: Values, aim: Values, bump: Values, trial: Values, done: Values,
    h: Values,
) -> tuple[list[Scalar], list[Scalar], list[Scalar], list[Scalar]]:  # fmt: skip
    """Who is held, which way friction points, the torque it exerts, and how long this pass is."""
    held: list[Scalar] = []
    way: list[Scalar] = []
    for i in range(len(setting.contacts)):
        moves = setting.moves(speed[i])
        lower, upper = setting.at_stops(i, q)
        may_be_held = either(setting.sticks(i), either(lower, upper))
        rests = both(may_be_held, no(moves))
        held.append(both(rests, no(slip[i])))
        if setting.rubs:  # a contact that goes on through rest is known by its slip, not yet by its speed
            way.append(select(slip[i], slip[i], select(moves, sgn(speed[i]), 0.0)))
        else:
            way.append(select(moves, sgn(speed[i]), both(rests, slip[i])))
    dry = [coulomb(body, w) for body, w in zip(setting.contacts, way, strict=True)]
    aimed = some([*aim, *bump])
    return held, way, dry, [select(aimed, trial[0], h[0] - done[0])]


def accelerate(
    setting: Setting, q: Values, qd: Values, tau: Values, h_e: Values | None, held: Values, dry: Values
) -> tuple[list[Scalar], ...]:
    """q̈ of (7.115) with the held joints at rest; and B and the torque it was made from.

    Where passive joints rub, also the acceleration of every contact, and what pushes it while it is held.
    """
    B, load = inertia_and_load(setting, q, qd, h_e)
    n = setting.n
    r = [t - p - d for t, p, d in zip(tau, load, dry[:n], strict=True)]
    flat = [x for row in B for x in row]
    if not setting.rubs:
        return solve_free(setting, B, r, held), flat, r
    G, drift = directions(setting.mechanism, q, setting.rubs), drifts(setting.mechanism, q, qd, setting.rubs)
    for g, d in zip(G, dry[n:], strict=True):
        r = [x - y * d for x, y in zip(r, g, strict=True)]
    a, force = _brakes(setting, B, G, held).hold(solve_free(setting, B, r, held[:n]), drift)
    rise = [*a, *(_along(g, a) + b for g, b in zip(G, drift, strict=True))]
    push = [x - _along(row, a) for x, row in zip(r, B, strict=True)]
    for g, f in zip(G, force, strict=True):
        push = [x + y * f for x, y in zip(push, g, strict=True)]
    return a, flat, r, rise, [*push, *(-f for f in force)]


def _brakes(setting: Setting, B: Sequence[Values], G: Sequence[Values], held: Values) -> Brakes:
    """The passive contacts, with the joints that are held at rest."""
    n = setting.n
    return brakes(B, lambda g: solve_free(setting, B, g, held[:n]), G, held[n:])


def judge(
    setting: Setting, q: Values, qd: Values, slip: Values, held: Values, a: Values, B: Values, r: Values
) -> tuple[list[Scalar], list[Scalar]]:
    """(which way joints at rest slip after all, whether that is news)."""
    n = setting.n
    push: list[Scalar] = []  # what pushes a joint while it is held
    for i in range(n):
        x = r[i]
        for j in range(n):
            if j != i:
                x = x - B[n * i + j] * a[j]
        push.append(x)
    return judge_contacts(setting, q, qd, slip, held, a, push)


def judge_contacts(
    setting: Setting, q: Values, speed: Values, slip: Values, held: Values, rise: Values, push: Values
) -> tuple[list[Scalar], list[Scalar]]:
    """The same from the contacts' speeds and accelerations and what pushes them."""
    new: list[Scalar] = []
    news: Scalar = 0.0
    for i, body in enumerate(setting.contacts):
        if not (setting.dry(i) or setting.stopped(i)):
            new.append(0.0)
            continue
        forward, backward = body.coulomb
        lower, upper = setting.at_stops(i, q)
        up = both(held[i], both(less(forward, push[i]), no(upper)))
        down = both(held[i], both(less(push[i], -backward), no(lower)))
        rests = no(setting.moves(speed[i]))
        # a contact thought to slip one way that is pulled the other way is held
        back = both(rests, setting.backwards(slip[i] * rise[i], SLACK))
        back = both(either(setting.sticks(i), either(lower, upper)), back)
        new.append(select(back, 0.0, select(up, 1.0, select(down, -1.0, slip[i]))))
        news = either(either(up, down), either(back, news))
    return new, [news]


def _root(x0: Scalar, slope: Scalar, x1: Scalar) -> Scalar:
    """Where in [0, 1] the parabola from x0 ≥ 0 with this first slope to x1 < 0 is zero."""
    bend = x1 - x0 - slope
    root = sqrt(select(less(0.0, slope * slope - 4.0 * bend * x0), slope * slope - 4.0 * bend * x0, 0.0))
    rising = less(0.0, slope)
    top = select(rising, slope + root, 2.0 * x0)
    bottom = select(rising, -2.0 * bend, root - slope)
    inside = both(less(0.0, top), less(0.0, bottom))
    t = top / select(inside, bottom, 1.0)
    return select(inside, select(less(t, 1.0), t, 1.0), 0.0)


def events(
    setting: Setting, q: Values, qd: Values, way: Values, a: Values, q1: Values, qd1: Values, aim: Values, bump: Values,
    held: Values, step: Values, tries: Values, news: Values, speed: Values = (), rise: Values = (), speed1: Values = (),
) -> tuple[list[Scalar], ...]:  # fmt: skip
    """(keep, stopped, hit, still, aim, bump, trial): what becomes of the pass from (q, q̇) to (q1, q̇1).

    speed, rise, speed1   q̇, q̈ and q̇1 of the contacts, where passive joints rub

    keep     whether the pass counts
    stopped  contacts to be stopped at its end; ``hit`` those of them that are at a stop, with its sign
    still    contacts that the stopping impulse must leave at rest
    aim, bump, trial   else, whom to stop, at which stop, and how long the next pass is
    """
    n, c = setting.n, len(setting.contacts)
    speed, rise, speed1 = (speed, rise, speed1) if setting.rubs else (qd, a, qd1)
    passed: list[Scalar] = [0.0] * c
    beyond: list[Scalar] = [0.0] * n
    when: list[Scalar] = [1.0] * c
    when_beyond: list[Scalar] = [1.0] * n
    for i in range(c):
        if setting.dry(i):
            passed[i] = both(setting.sticks(i), setting.backwards(way[i] * speed1[i], CREEP))
            first_speed = way[i] * speed[i]
            if setting.rubs:
                first_speed = select(less(0.0, first_speed), first_speed, 0.0)
            when[i] = _root(first_speed, way[i] * rise[i] * step[0], way[i] * speed1[i])
        if not setting.stopped(i):
            continue
        lower, upper = setting.stops[i]
        above = less(upper, q1[i]) if upper < inf else 0.0
        below = less(q1[i], lower) if lower > -inf else 0.0
        beyond[i] = select(above, 1.0, select(below, -1.0, 0.0))
        up = 1.0 if lower == -inf else 0.0 if upper == inf else above  # the only stop, or the one that is passed
        room, left = select(up, upper - q[i], q[i] - lower), select(up, upper - q1[i], q1[i] - lower)
        when_beyond[i] = _root(room, select(up, -qd[i], qd[i]) * step[0], left)
    new_passed = [both(passed[i], no(aim[i])) for i in range(c)]
    new_beyond = [both(beyond[i] * beyond[i], no(bump[i])) for i in range(n)]
    first: Scalar = 1.0
    for happens, at in zip([*new_passed, *new_beyond], [*when, *when_beyond], strict=True):
        first = select(both(happens, less(at, first)), at, first)
    tired = no(less(tries[0], most_passes(c)))
    again = both(some([*new_passed, *new_beyond]), no(either(tired, news[0])))
    keep = either(tired, no(either(news[0], again)))
    hit = [select(keep, select(bump[i], bump[i], beyond[i]), 0.0) for i in range(n)]
    stopped = [both(keep, either(either(aim[i], passed[i]), hit[i] if i < n else 0.0)) for i in range(c)]
    # friction has no time to act in an impact: it holds a joint only where nothing is hit, or so softly
    # that two joints would rock on their stops for ever
    bang = some([both(hit[i], either(less(SOFT, qd1[i]), less(qd1[i], -SOFT))) for i in range(n)])
    still = [either(stopped[i], both(held[i], no(bang))) for i in range(c)]
    # on a pass that is thrown away for other reasons the aim stays
    aim1 = [select(again, both(new_passed[i], no(less(first, when[i]))), aim[i]) for i in range(c)]
    bump1 = [
        select(again, select(both(new_beyond[i], no(less(first, when_beyond[i]))), beyond[i], 0.0), bump[i])
        for i in range(n)
    ]
    trial = select(again, first * step[0], step[0])
    # a direction that is held turns with the pose: what is left along it is taken away
    turned = [both(keep, held[i]) for i in range(n, c)]
    return [keep], stopped, hit, still, aim1, bump1, [trial], [some([*stopped, *turned])]


def project(
    setting: Setting, B: Values, qd: Values, still: Values, G: Values = (), h: Values = ()
) -> tuple[list[Scalar], ...]:
    """q̇ after impulses on the contacts of ``still`` that bring them to rest.

    Where passive joints rub, G are their directions, and the second result says who then rests: friction
    stops a passive joint only if it could do so within a step. Where its direction Γ_p vanishes, as at a dead
    centre of a linkage, the joint turns back while the others move on, and friction with it.
    """
    n = setting.n
    matrix = [list(B[n * i : n * (i + 1)]) for i in range(n)]
    lost = [select(still[j], qd[j], 0.0) for j in range(n)]
    r = []
    for i in range(n):
        total: Scalar = 0.0
        for j in range(n):
            if j != i:
                total = total + matrix[i][j] * lost[j]
        r.append(total)
    gained = solve_free(setting, matrix, r, still[:n])
    left = [select(still[i], 0.0, qd[i] + gained[i]) for i in range(n)]
    if not setting.rubs:
        return (left,)
    rows = [list(G[n * k : n * (k + 1)]) for k in range(len(setting.rubs))]
    most = [h[0] * (body.coulomb[0] + body.coulomb[1]) for body in setting.contacts[n:]]
    left, _ = _brakes(setting, matrix, rows, still).hold(left, [0.0] * len(rows), most)
    left = [select(still[i], 0.0, x) for i, x in enumerate(left)]
    return left, [no(setting.moves(v)) for v in (*left, *(_along(g, left) for g in rows))]


def commit(
    setting: Setting, q: Values, qd: Values, q1: Values, qd1: Values, stilled: Values, bang: Values, keep: Values,
    stopped: Values, hit: Values, slip: Values, judged: Values, news: Values, aim: Values, bump: Values,
    aim1: Values, bump1: Values, trial1: Values, step: Values, done: Values, tries: Values, h: Values,
    way: Values = (), rest: Values = (),
) -> tuple[list[Scalar], ...]:  # fmt: skip
    """(q, q̇, slip, aim, bump, trial, done, tries, again) for the next pass.

    way, rest  of the contacts, where passive joints rub: who was to be stopped and does not rest turns back
    """
    n = setting.n
    kept = keep[0]
    position, velocity, slips = [], [], []
    for i in range(n):
        lower, upper = setting.stops[i]
        snapped = q1[i]
        if upper < inf:
            snapped = select(less(0.0, hit[i]), upper, snapped)
        if lower > -inf:
            snapped = select(less(hit[i], 0.0), lower, snapped)
        position.append(select(kept, snapped, q[i]))
        velocity.append(select(kept, select(bang[0], stilled[i], qd1[i]), qd[i]))
    for i in range(len(setting.contacts)):
        after = select(rest[i], 0.0, -way[i]) if setting.rubs else 0.0
        slips.append(select(kept, select(stopped[i], after, slip[i]), select(news[0], judged[i], slip[i])))
    aimed = some([*aim, *bump])
    now = select(kept, select(aimed, done[0] + step[0], h[0]), done[0])
    forget = [select(kept, 0.0, x) for x in aim1], [select(kept, 0.0, x) for x in bump1]
    return (
        position, velocity, slips, *forget, [select(kept, 0.0, trial1[0])], [now], [tries[0] + 1.0],
        [less(now, h[0])],
    )  # fmt: skip


# -- variational ---------------------------------------------------------------------------------

MOST_ROUNDS = 60.0
SETTLED = 1e-12  # change of v in the last round, beside the largest speed; what remains is h times less


def momentum(setting: Setting, q: Values, qd: Values) -> tuple[list[Scalar]]:
    """p = B(q) q̇"""
    B, _ = inertia_and_load(setting, q, [0.0] * setting.n, None)
    return ([sum((B[i][j] * qd[j] for j in range(1, setting.n)), B[i][0] * qd[0]) for i in range(setting.n)],)


def velocity(setting: Setting, q: Values, p: Values) -> tuple[list[Scalar]]:
    """q̇ = B⁻¹(q) p"""
    B, _ = inertia_and_load(setting, q, [0.0] * setting.n, None)
    return (factorised(setting.mechanism, B).solve(p),)


def energies(setting: Setting, q: Values, qd: Values) -> tuple[list[Scalar], list[Scalar]]:
    """T = ½ q̇ᵀ p and U = −Σ g_0ᵀ (m p + R h), S (7.31), (7.36), from the moments of the links."""
    (p,) = momentum(setting, q, qd)
    mechanism = setting.mechanism
    T: Scalar = 0.0
    U: Scalar = 0.0
    for v, x in zip(qd, p, strict=True):
        T = T + 0.5 * v * x
    if isinstance(mechanism, ClosedMechanism):
        closed: ClosedMechanism = mechanism
        mechanism, q = closed.tree, Chain(closed, q).q
    placed = frames(mechanism, q)
    for i, body in enumerate(mechanism.bodies):
        h = add(scale(body.inertia.mass, placed.p[i]), matvec(placed.R[i], body.inertia.first_moments))
        U = U - dot(mechanism.gravity, h)
    return [T], [U]


def midpoint(q: Values, v: Values, h: Values) -> tuple[list[Scalar]]:
    """q + h/2 v"""
    return ([x + 0.5 * h[0] * y for x, y in zip(q, v, strict=True)],)


def discrete_legendre(
    setting: Setting, q_m: Values, p: Values, v: Values, rounds: Values, h: Values, tau: Values, h_e: Values | None
) -> tuple[list[Scalar], list[Scalar], list[Scalar], list[Scalar]]:
    """One round of solving the discrete Euler–Lagrange equations of the midpoint Lagrangian.

    L_d(q_0, q_1) = h L(q_m, v) with q_m = (q_0 + q_1)/2 and v = (q_1 − q_0)/h. With the forces f at the
    midpoint, p_0 = −D_1 L_d − h/2 f and p_1 = D_2 L_d + h/2 f read

        B(q_m) v = p_0 + h/2 k,    p_1 = p_0 + h k,    k = ∂L/∂q + f = C^T v − g + τ − F_v v − J^T h_e,

    since ½ ∂(v^T B v)/∂q = (Ḃ − C) v = C^T v. The first is solved for v by repetition, which gains a
    factor of order h every time. (v, p_1, rounds, again); NaN if it does not settle.
    """
    n, mechanism = setting.n, smooth(setting.mechanism)
    C = coriolis_matrix(mechanism, q_m, v)
    rest = [0.0] * n
    load, rubbed = inverse_dynamics(mechanism, q_m, rest, rest, h_e), viscous_torque(mechanism, q_m, v)
    k = []
    for i in range(n):
        total = tau[i] - load[i] - rubbed[i]
        for j in range(n):
            total = total + C[j][i] * v[j]
        k.append(total)
    factor = factorised(mechanism, inertia_matrix(mechanism, q_m))
    v1 = factor.solve([p[i] + 0.5 * h[0] * k[i] for i in range(n)])
    fastest: Scalar = 1e-3
    farthest: Scalar = 0.0
    for x, y in zip(v1, v, strict=True):
        size, change = select(less(x, 0.0), -x, x), select(less(x, y), y - x, x - y)
        fastest = select(less(fastest, size), size, fastest)
        farthest = select(less(farthest, change), change, farthest)
    moves = less(SETTLED * fastest, farthest)
    last = no(less(rounds[0], MOST_ROUNDS))
    wrong = select(both(last, moves), float("nan"), 0.0)
    return (
        [x + wrong for x in v1],
        [x + h[0] * y for x, y in zip(p, k, strict=True)],
        [rounds[0] + 1.0],
        [both(moves, no(last))],
    )
