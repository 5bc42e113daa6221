"""A step with dry friction and stops: a complementarity problem at each time, and a step cut where its solution
changes.

Dry friction and stops are set-valued. A moving joint experiences F_s sgn(q̇); a joint at rest experiences whatever
torque within [−F_s⁺, F_s⁻] keeps it there, and at a stop whatever the stop must bear: there the interval is unbounded
on one side. So at rest there is one torque f_i and one interval per joint, for friction and stop combined, and

    B q̈ = r + f,    f_i inside its interval: q̈_i = 0,    at its lower end: q̈_i ≥ 0,    at its upper end: q̈_i ≤ 0.

Since B is positive definite, this boxed complementarity problem has exactly one solution. An impact is the same problem
for the velocity: with the momentum B q̇⁻ for r and no friction (it has no time to act), its solution p is the
projection of q̇⁻ on the admissible velocities in the metric of B. With one coefficient of restitution e for all
joints, q̇⁺ = (1 + e) p − e q̇⁻ has T⁺ = e² T⁻ + (1 − e²) T(p) ≤ T⁻, however many joints hit at once.

A step is taken in passes. Each pass:

1. :func:`touch`, :func:`strike`: apply impacts, and stop what friction has just brought to rest.
2. :func:`pivot`: determine which contacts are held and which way the others slip, by principal pivoting; then all is
   smooth.
3. Four stages of Runge–Kutta (:func:`loaded`, :func:`solved`).
4. :func:`watch`, :func:`aim`: check whether a joint has passed a stop, a velocity zero, or a load the capacity of
   friction or a stop. If so, the pass is repeated, just up to the first such time.
5. :func:`finish`: otherwise it is accepted, and the rest of the step follows.

A joint that sticks or rests on its stop has q̇ = 0.0 exactly and cannot creep. If a step needs more than
:func:`most_passes`, every joint at rest stays at rest until the end of the step, and every joint that comes to
rest stays there: after at most one more event per joint the step is finished, and no energy is added.

Passive joints of a closed chain with dry friction stick and slip by the same rules (:mod:`dry_friction`): the elements that
are held are then *contacts*, first the joints of q, then the directions Γ_p of those passive joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from dalembert.base.algebra.scalars import Scalar, dot, less, select, sgn, sqrt
from dalembert.mechanics.coordinates import pulled
from dalembert.mechanics.coordinates.chain import Chain
from dalembert.mechanics.coordinates.pulled import factorised, smooth
from dalembert.mechanics.equations.friction import dry as dry_friction
from dalembert.mechanics.equations.friction import dry_levels
from dalembert.mechanics.equations.newton_euler import BaseMotion
from dalembert.mechanics.motion.dry_friction import Brakes, brakes, directions, drifts
from dalembert.mechanics.motion.stepping import Setting, Values, both, bounded, either, inertia_and_load, no, some

# A joint past its stop by REACHED is put back, which gives it the speed √(2 a REACHED); that must stay below SOFT, or
# joints would rock on their stops forever.
REACHED = 1e-12  # rad or m: a joint this close to its stop is at it
SLOWED = 1e-9  # rad/s or m/s: a contact this close to rest is stopped by friction
SOFT = 1e-4  # rad/s or m/s: a slower impact releases no contact, so that rocking ends
BOUNCE = 1e-3  # rad/s or m/s: a slower impact is plastic, so that bouncing ends
CREEP = 1e-10  # rad/s or m/s: a slower contact is at rest if passive joints have friction
SLACK = 1e-9  # rad/s² or m/s²: and is not pulled back from its slip
OVERLOAD = 1e-9  # relative to 1 N m (or N) and the friction: a larger excess load releases a contact
LATE = 1e-4  # of a pass: tolerated delay of a contact that gives way
NO_TIME = 1e-100  # s: a pass this short only moves a joint to its stop
TURNS = 60.0  # maximum number of pivots
AT_ONCE = 6.0  # pivots that change all violated contacts; later ones change only the first (Murty), which terminates

Rows = Sequence[Values]

# -- what a pass knows ---------------------------------------------------------------------------


@dataclass(frozen=True)
class ContactEquations:
    """The equations B q̈ = r + f at a state, where f is dry friction and what stops bear; matrices row by row.

    r       τ − τ′ of (7.116), without dry friction
    G       Γ_p of the passive joints with dry friction, and ``drift`` their Γ̇_p q̇
    levels  static levels of the contacts, forward ones first, if they depend on the state
    """

    B: Values
    r: Values
    G: Values = ()
    drift: Values = ()
    levels: Values = ()


@dataclass(frozen=True)
class Modes:
    """Which contacts are held, and in which direction (−1, 0, 1) and with what friction the others slip."""

    held: Values
    way: Values
    dry: Values


@dataclass(frozen=True)
class Instant:
    """The motion at the beginning or the end of a pass.

    speed, rise  velocity and acceleration of every contact
    push         load on the held contacts
    levels       as in :class:`ContactEquations`
    """

    q: Values
    qd: Values
    speed: Values
    rise: Values
    push: Values
    levels: Values = ()


@dataclass(frozen=True)
class Passes:
    """How far a step is: the length of the pass to be tried (0 for all that is left), the time done, the passes tried."""

    trial: Scalar
    done: Scalar
    tries: Scalar


@dataclass(frozen=True)
class TriedPass:
    """A pass that has been computed: the motion at both ends, its length, and the search for events.

    way, slip  as in :class:`Modes`, and the slip directions assumed for contacts at rest
    look, cut  whether an event may have occurred, and whether the pass must be repeated ``up_to`` an earlier time
    h          length of the whole step
    final      q̈ at the end, which only the derivative needs
    """

    start: Instant
    end: Instant
    way: Values
    slip: Values
    length: Scalar
    look: Scalar
    cut: Scalar
    up_to: Scalar
    passes: Passes
    h: Scalar
    final: Values | None = None


def most_passes(n: int) -> float:
    """Number of passes that a step with n contacts may be cut into before its contacts are frozen until its end."""
    return float(40 + 10 * n)


# -- equations -----------------------------------------------------------------------------------


def loaded(
    setting: Setting, q: Values, qd: Values, tau: Values, h_e: Values | None, base: BaseMotion | None
) -> ContactEquations:
    """The equations at a state.

    tau  τ, or τ − Jᵀ h_e followed by τ if h_e is not given
    """
    n = setting.n
    B, load = inertia_and_load(setting, q, qd, h_e, base)
    flat = [x for row in B for x in row]
    r = [t - p for t, p in zip(tau[:n], load, strict=True)]
    levels = _levels_at(setting, q, qd, tau[-n:]) if setting.varies else ()
    if not setting.dry_passive:
        return ContactEquations(flat, r, levels=levels)
    G = directions(setting.mechanism, q, setting.dry_passive)
    return ContactEquations(
        flat, r, [x for g in G for x in g], drifts(setting.mechanism, q, qd, setting.dry_passive), levels
    )


def _levels_at(setting: Setting, q: Values, qd: Values, tau: Values) -> list[Scalar]:
    """Static levels of all contacts, forward and then backward; passive joints have no load."""
    x = Chain(setting.mechanism, q).q
    places = [x[i] for i in (*setting.mechanism.actuated, *setting.dry_passive)]
    rest = [0.0] * len(setting.dry_passive)
    levels = [dry_levels(*of) for of in zip(setting.contacts, places, [*qd, *rest], [*tau, *rest], strict=True)]
    return [*(forward for forward, _ in levels), *(backward for _, backward in levels)]


def contact_speeds(setting: Setting, q: Values, qd: Values) -> list[Scalar]:
    """Speed of every contact."""
    G = directions(setting.mechanism, q, setting.dry_passive)
    return [*qd, *(dot(g, qd) for g in G)]


def solved(setting: Setting, load: ContactEquations, modes: Modes) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """q̈ with these contacts held and the others slipping, the load on the held ones, and the acceleration of all."""
    dry = _dry(setting, load.levels, modes.held, modes.way) if setting.varies else modes.dry
    return _solved(setting, load, modes.held, dry)


def held_acceleration(
    setting: Setting, q: Values, qd: Values, tau: Values, h_e: Values | None, base: BaseMotion | None,
    held: Values, way: Values,
) -> list[Scalar]:  # fmt: skip
    """q̈ with these contacts held and the others slipping."""
    load = loaded(setting, q, qd, tau, h_e, base)
    return _solved(setting, load, held, _dry(setting, load.levels, held, way))[0]


def held_costate(
    setting: Setting, q: Values, qd: Values, tau: Values, h_e: Values | None, base: BaseMotion | None,
    held: Values, way: Values, qdd: Values, w: Values,
) -> tuple[list[Scalar], Scalar]:  # fmt: skip
    """(λ, y) as in :func:`stepping.costate`, in the rows of the free joints; λ = 0 for the held ones."""
    mechanism, n = smooth(setting.mechanism), setting.n
    weights = solve_free(setting, pulled.inertia_matrix(mechanism, q), w, held)
    load = pulled.inverse_dynamics(mechanism, q, qd, qdd, h_e, base)
    dry = _dry(setting, _levels_at(setting, q, qd, tau) if setting.varies else (), held, way)
    return weights, dot(weights, [t - x - d for t, x, d in zip(tau, load, dry[:n], strict=True)])


def _dry(setting: Setting, levels: Values, held: Values, way: Values) -> list[Scalar]:
    """Dry friction of contacts that move in this direction."""
    if not setting.varies:
        return [dry_friction(body, 0.0, 0.0, w, 0.0) for body, w in zip(setting.contacts, way, strict=True)]
    dry: list[Scalar] = []
    for i, w in enumerate(way):
        forward, backward = setting.static(i, levels)
        # a contact that nothing holds may be at rest and carry its load: both levels are then the same torque
        moves = select(less(0.0, w), forward, select(less(w, 0.0), -backward, 0.5 * (forward - backward)))
        dry.append(select(held[i], 0.0, moves))
    return dry


def _solved(
    setting: Setting, load: ContactEquations, held: Values, dry: Values
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    n, drift = setting.n, load.drift
    B, G = _rows(load.B, n), _rows(load.G, n)
    r = [x - d for x, d in zip(load.r, dry[:n], strict=True)]
    if not G:
        a = solve_free(setting, B, r, held)
        return a, [x - dot(row, a) for x, row in zip(r, B, strict=True)], a
    for g, d in zip(G, dry[n:], strict=True):
        r = [x - y * d for x, y in zip(r, g, strict=True)]
    a, force = _brakes(setting, B, G, held).hold(solve_free(setting, B, r, held[:n]), drift)
    rise = [*a, *(dot(g, a) + b for g, b in zip(G, drift, strict=True))]
    push = [x - dot(row, a) for x, row in zip(r, B, strict=True)]
    for g, f in zip(G, force, strict=True):
        push = [x + y * f for x, y in zip(push, g, strict=True)]
    return a, [*push, *(-f for f in force)], rise


def solve_free(setting: Setting, B: Rows, r: Values, held: Values) -> list[Scalar]:
    """x with B x = r in the rows of the free joints, and x = 0 for the held ones."""
    n = setting.n
    free = [no(h) for h in held]
    masked = [
        [free[i] * free[j] * B[i][j] if i != j else select(held[i], 1.0, B[i][i]) for j in range(n)] for i in range(n)
    ]
    x = factorised(setting.mechanism, masked).solve([select(held[i], 0.0, r[i]) for i in range(n)])
    return [select(held[i], 0.0, x[i]) for i in range(n)]


def _brakes(setting: Setting, B: Rows, G: Rows, held: Values) -> Brakes:
    """The passive contacts, with the held joints at rest."""
    n = setting.n
    return brakes(B, lambda g: solve_free(setting, B, g, held[:n]), G, held[n:])


def _rows(flat: Values, n: int) -> list[Values]:
    return [flat[k : k + n] for k in range(0, len(flat), n)]


def _speeds(setting: Setting, qd: Values, G: Values) -> list[Scalar]:
    return [*qd, *(dot(g, qd) for g in _rows(G, setting.n))]


def _moves(setting: Setting, v: Scalar) -> Scalar:
    """Whether v counts as motion: joints rest at exactly 0.0, directions of passive joints only up to rounding."""
    return either(less(CREEP, v), less(v, -CREEP)) if setting.dry_passive else sgn(v) * sgn(v)


def _tired(setting: Setting, passes: Passes) -> Scalar:
    return no(less(passes.tries, most_passes(len(setting.contacts))))


# -- impacts -------------------------------------------------------------------------------------


def clock(setting: Setting, passes: Passes, h: Scalar) -> tuple[Scalar, list[Scalar], Scalar, Scalar]:
    """(step, left, turn, turn): the length of the pass, and the initial values of its pivoting."""
    return select(passes.trial, passes.trial, h - passes.done), [0.0] * setting.n, 0.0, 0.0


def touch(
    setting: Setting,
    q: Values,
    qd: Values,
    load: ContactEquations,
    slip: Values,
    still: Values,
    passes: Passes,
    h: Scalar,
) -> tuple[Scalar, Scalar]:
    """(knock, shaken): whether the velocity jumps, and whether by more than rounding."""
    goes_on = less(passes.done, h)
    shaken = both(goes_on, some([*(_into(setting, i, q, qd) for i in range(setting.n)), *still]))
    if not setting.dry_passive:
        return shaken, shaken
    speed = _speeds(setting, qd, load.G)
    # a held direction rotates with the pose: the remaining velocity along it is removed
    strays = some([both(_rests(setting, i, q, load, speed, slip), speed[i]) for i in range(len(speed))])
    return either(shaken, both(goes_on, strays)), shaken


def _rests(setting: Setting, i: int, q: Values, load: ContactEquations, speed: Values, slip: Values) -> Scalar:
    return both(both(_can_rest(setting, i, q, load), no(slip[i])), no(_moves(setting, speed[i])))


def _can_rest(setting: Setting, i: int, q: Values, load: ContactEquations) -> Scalar:
    """Whether friction or a stop can hold the contact."""
    return either(setting.sticks(i, load.levels), either(*setting.at_stops(i, q)))


def _into(setting: Setting, i: int, q: Values, qd: Values) -> Scalar:
    """Whether the joint is at a stop and moves into it."""
    lower, upper = setting.at_stops(i, q)
    return either(both(lower, less(qd[i], 0.0)), both(upper, less(0.0, qd[i])))


def strike(
    setting: Setting, q: Values, qd: Values, load: ContactEquations, knock: Scalar, slip: Values, still: Values, passes: Passes,
    left: Values, turn: Scalar, h: Scalar, restitution: Scalar | None,
) -> tuple[list[Scalar], list[Scalar], Scalar, Scalar, Values]:  # fmt: skip
    """(q̇⁺, left, turn, more, slip): one pivot of the impact; without a coefficient of restitution it is plastic.

    An impact is hard if a joint hits its stop so that others may leave theirs and friction has no influence. Otherwise
    contacts at rest stay at rest; the impulse that achieves this is a projection, too.

    left  in a hard impact, joints at a stop that leave it without an impulse; otherwise joints that the impulse would
          drive into their stop and that are brought to rest as well; ``more`` whether that must be tried
    """
    n, matrix, speed = setting.n, _rows(load.B, setting.n), _speeds(setting, qd, load.G)
    into = [_into(setting, i, q, qd) for i in range(n)]
    sharp = some([both(into[i], either(less(SOFT, qd[i]), less(qd[i], -SOFT))) for i in range(n)])
    hard = both(sharp, no(_tired(setting, passes)))
    fixed = [
        either(either(still[i], into[i] if i < n else 0.0), _rests(setting, i, q, load, speed, slip))
        for i in range(len(setting.contacts))
    ]  # fmt: skip
    stops = [setting.at_stops(i, q) for i in range(n)]
    pressed = [
        select(hard, both(either(*stops[i]), no(left[i])), either(fixed[i], left[i])) for i in range(n)
    ]  # fmt: skip
    v = _brought_to_rest(setting, matrix, qd, pressed)
    if setting.dry_passive:
        # friction stops a passive joint only if it could do so within a step: where its direction Γ_p vanishes, as
        # at a dead centre of a linkage, the joint reverses while the others continue, and so does its friction
        rows = _rows(load.G, n)
        braked = [*pressed, *(both(no(hard), x) for x in fixed[n:])]
        most = [h * sum(setting.static(i, load.levels)) for i in range(n, len(setting.contacts))]
        v, _ = _brakes(setting, matrix, rows, braked).hold(v, [0.0] * len(rows), most)
        v = [select(pressed[i], 0.0, x) for i, x in enumerate(v)]
        after = [*v, *(dot(g, v) for g in rows)]
        slip = [
            select(knock, both(both(no(hard), x), _moves(setting, w)) * x, x) for x, w in zip(slip, after, strict=True)
        ]
    fault: list[Scalar] = []
    fastest: Scalar = 0.0
    for i in range(n):
        if not setting.stopped(i):
            fault.append(0.0)
            continue
        lower, upper = stops[i]
        off = select(lower, 1.0, -1.0)
        impulse: Scalar = 0.0
        size: Scalar = 0.0
        for j in range(n):
            part = matrix[i][j] * (v[j] - qd[j])
            impulse, size = impulse + part, size + _size(part)
        pulls = both(hard, both(pressed[i], less(off * impulse, -1e-13 * size)))
        enters = both(no(pressed[i]), less(off * v[i], 0.0))
        one_stop = select(lower, no(upper), upper)
        fault.append(both(one_stop, either(pulls, enters)))
        approach = both(into[i], _size(qd[i]))
        fastest = select(less(fastest, approach), approach, fastest)
    change, any_fault = _changes(fault, turn)
    more = both(both(knock, any_fault), less(turn, TURNS))
    e = both(both(hard, less(BOUNCE, fastest)), 0.0 if restitution is None else restitution)
    after = []
    for i in range(n):
        lower, upper = stops[i]
        x = select(both(lower, less(v[i], 0.0)), 0.0, select(both(upper, less(0.0, v[i])), 0.0, v[i]))
        after.append(select(knock, x + e * (x - qd[i]), qd[i]))
    return after, [select(c, no(x), x) for c, x in zip(change, left, strict=True)], turn + 1.0, more, slip


def _brought_to_rest(setting: Setting, B: Rows, qd: Values, still: Values) -> list[Scalar]:
    """q̇ after impulses on the joints of ``still`` that bring them to rest."""
    n = setting.n
    lost = [select(still[j], qd[j], 0.0) for j in range(n)]
    r = []
    for i in range(n):
        total: Scalar = 0.0
        for j in range(n):
            if j != i:
                total = total + B[i][j] * lost[j]
        r.append(total)
    gained = solve_free(setting, B, r, still)
    return [select(still[i], 0.0, qd[i] + gained[i]) for i in range(n)]


def _size(x: Scalar) -> Scalar:
    return select(less(x, 0.0), -x, x)


def _changes(fault: Values, turn: Scalar) -> tuple[list[Scalar], Scalar]:
    """The violated contacts that change in this turn, and whether there are any violated contacts."""
    change: list[Scalar] = []
    earlier: Scalar = 0.0
    for x in fault:
        change.append(both(x, either(less(turn, AT_ONCE), no(earlier))))
        earlier = either(earlier, x)
    return change, earlier


# -- held contacts -------------------------------------------------------------------------------


def pivot(
    setting: Setting, q: Values, qd: Values, load: ContactEquations, slip: Values, passes: Passes, turn: Scalar
) -> tuple[Modes, list[Scalar], list[Scalar], list[Scalar], list[Scalar], list[Scalar], Scalar, Scalar]:
    """(modes, q̈, load on the held contacts, speed and acceleration of all, slip, turn, more): one pivot.

    slip  assumed slip direction of contacts at rest; ``more`` whether another one must be tried
    """
    speed, tired = _speeds(setting, qd, load.G), _tired(setting, passes)
    held: list[Scalar] = []
    way: list[Scalar] = []
    rests: list[Scalar] = []
    for i in range(len(setting.contacts)):
        moves = _moves(setting, speed[i])
        rests.append(both(_can_rest(setting, i, q, load), no(moves)))
        stays = either(tired, no(slip[i])) if i < setting.n else no(slip[i])
        held.append(both(rests[i], stays))
        if setting.dry_passive:  # a contact that passes through rest is identified by its slip, not yet by its speed
            way.append(select(held[i], 0.0, select(slip[i], slip[i], select(moves, sgn(speed[i]), 0.0))))
        else:
            way.append(select(moves, sgn(speed[i]), both(both(rests[i], no(held[i])), slip[i])))
    dry = _dry(setting, load.levels, held, way)
    a, push, rise = _solved(setting, load, held, dry)
    fault: list[Scalar] = []
    new: list[Scalar] = []
    for i in range(len(setting.contacts)):
        if not (setting.dry(i) or setting.stopped(i)):
            fault.append(0.0)
            new.append(0.0)
            continue
        forward, backward = setting.static(i, load.levels)
        lower, upper = setting.at_stops(i, q)
        up = both(held[i], both(less(forward, push[i]), no(upper)))
        down = both(held[i], both(less(push[i], -backward), no(lower)))
        # a contact assumed to slip one way but pulled the other way is held
        back = both(rests[i], less(slip[i] * rise[i], -SLACK if setting.dry_passive else 0.0))
        fault.append(either(either(up, down), back))
        new.append(select(back, 0.0, select(up, 1.0, -1.0)))
    change, any_fault = _changes(fault, turn)
    more = both(both(any_fault, less(turn, TURNS)), no(tired))
    slips = [select(both(more, c), x, s) for c, x, s in zip(change, new, slip, strict=True)]
    return Modes(held, way, dry), a, push, speed, rise, slips, turn + 1.0, more


# -- events --------------------------------------------------------------------------------------


def _parabola_root(x0: Scalar, slope: Scalar, x1: Scalar) -> Scalar:
    """Root in [0, 1] of the parabola from x0 ≥ 0 with this initial slope to x1 < 0."""
    bend = x1 - x0 - slope
    square = slope * slope - 4.0 * bend * x0
    root = sqrt(select(less(0.0, square), square, 0.0))
    rising = less(0.0, slope)
    top = select(rising, slope + root, 2.0 * x0)
    bottom = select(rising, -2.0 * bend, root - slope)
    inside = both(less(0.0, top), less(0.0, bottom))
    t = top / select(inside, bottom, 1.0)
    return select(inside, select(less(t, 1.0), t, 1.0), 0.0)


class _Cubic:
    """x on [0, 1] from its values and slopes at both ends."""

    def __init__(self, x0: Scalar, d0: Scalar, x1: Scalar, d1: Scalar) -> None:
        self.x0, self.d0 = x0, d0
        self.c2 = 3.0 * (x1 - x0) - 2.0 * d0 - d1
        self.c3 = 2.0 * (x0 - x1) + d0 + d1

    def at(self, s: Scalar) -> Scalar:
        return self.x0 + s * (self.d0 + s * (self.c2 + s * self.c3))

    def root(self, end: Scalar, value: Scalar, edge: float) -> Scalar:
        """First decrease through 0 before ``end``, where the value is ``value`` < 0.

        If it starts within ``edge`` of 0 and does not decrease, at least an eighth of the way, so that it can leave 0.
        """
        s = end * _parabola_root(self.x0, end * self.d0, value)
        for _ in range(3):
            slope = self.d0 + s * (2.0 * self.c2 + s * (3.0 * self.c3))
            falls = less(slope, 0.0)
            better = s - self.at(s) / select(falls, slope, 1.0)
            inside = both(falls, both(less(0.0, better), less(better, end)))
            s = select(inside, better, s)
        leaves = both(less(self.x0, edge), no(less(self.d0, 0.0)))
        return select(both(leaves, less(s, 0.125)), 0.125, s)


def _room(
    setting: Setting, i: int, start: Instant, end: Instant, length: Scalar
) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar]:
    """(which stop, 1 for the upper; distance; its rate at both ends) of the only stop, or the one ahead or passed."""
    q, qd, q1, qd1 = start.q, start.qd, end.q, end.qd
    lower, upper = setting.stops[i]
    up: Scalar = 1.0
    if bounded(lower):
        passed = either(less(upper, q1[i]), both(no(less(q1[i], lower)), less(0.0, qd[i])))
        up = passed if bounded(upper) else 0.0
    v0, v1 = length * qd[i], length * qd1[i]
    return (
        up, select(up, upper - q[i], q[i] - lower), select(up, -v0, v0), select(up, upper - q1[i], q1[i] - lower),
        select(up, -v1, v1),
    )  # fmt: skip


def _margins(
    setting: Setting, i: int, start: Instant, end: Instant, held: Values, passes: Passes
) -> tuple[Scalar, Scalar, Scalar]:
    """(whether a held contact gives way in the pass, its remaining capacity at the start and at the end)."""
    lower, upper = setting.at_stops(i, start.q)

    def margin(at: Instant) -> Scalar:
        forward, backward = setting.static(i, at.levels)
        return _least(select(upper, inf, forward - at.push[i]), select(lower, inf, backward + at.push[i]))

    m0, m1 = margin(start), margin(end)
    forward, backward = setting.static(i, end.levels)
    overloaded = both(no(less(m0, 0.0)), less(m1, -OVERLOAD * (1.0 + forward + backward)))
    in_time = less(LATE * m0, (LATE - 1.0) * m1)  # m0 / (m0 − m1) < 1 − LATE
    return both(both(held[i], no(_tired(setting, passes))), both(overloaded, in_time)), m0, m1


def watch(setting: Setting, start: Instant, end: Instant, modes: Modes, step: Scalar) -> Scalar:
    """Whether an event may have occurred in a pass of this length."""
    q, q1 = start.q, end.q
    look: list[Scalar] = []
    nearest: Scalar = 0.0
    for i in range(len(setting.contacts)):
        if setting.dry(i):
            look.append(both(setting.sticks(i, start.levels), less(modes.way[i] * end.speed[i], -SLOWED)))
        if setting.stopped(i):  # at the end, or on the way if it may reverse
            ahead, (lower, upper) = q[i] + step * start.qd[i], setting.stops[i]
            if bounded(upper):
                nearest = _least(nearest, upper - select(less(ahead, q1[i]), q1[i], ahead))
            if bounded(lower):
                nearest = _least(nearest, select(less(ahead, q1[i]), ahead, q1[i]) - lower)
        if setting.dry(i) or setting.stopped(i):
            forward, backward = setting.static(i, end.levels)
            lower, upper = setting.at_stops(i, q)
            overload = OVERLOAD * (1.0 + forward + backward)
            up = both(less(forward + overload, end.push[i]), no(upper))
            down = both(less(end.push[i], -backward - overload), no(lower))
            look.append(both(modes.held[i], either(up, down)))
    return some([*look, less(nearest, -REACHED)])


def _least(x: Scalar, y: Scalar) -> Scalar:
    return select(less(y, x), y, x)


def aim(
    setting: Setting, start: Instant, end: Instant, modes: Modes, passes: Passes, step: Scalar
) -> tuple[Scalar, Scalar]:
    """(whether the pass must be repeated up to its first event, and its new length)."""
    way = modes.way
    cut: Scalar = 0.0
    first: Scalar = 1.0
    for i in range(len(setting.contacts)):
        events: list[tuple[Scalar, Scalar]] = []
        if setting.dry(i):
            u0 = way[i] * start.speed[i]  # in the direction that friction opposes
            if setting.dry_passive:
                u0 = select(less(0.0, u0), u0, 0.0)
            s0, u1, s1 = step * way[i] * start.rise[i], way[i] * end.speed[i], step * way[i] * end.rise[i]
            stops = _Cubic(u0, s0, u1, s1).root(1.0, u1, SLOWED)
            events.append((both(setting.sticks(i, start.levels), less(u1, -SLOWED)), stops))
        if setting.stopped(i):
            _, room, d0, left, d1 = _room(setting, i, start, end, step)
            curve = _Cubic(room, d0, left, d1)
            # it crosses the stop and returns within the pass
            turns = both(less(d0, 0.0), less(0.0, d1))
            deepest = d0 / select(turns, d0 - d1, 1.0)
            depth, crosses = curve.at(deepest), less(left, -REACHED)
            dips = both(both(turns, no(crosses)), less(depth, -REACHED))
            hits = curve.root(select(dips, deepest, 1.0), select(dips, depth, left), REACHED)
            events.append((either(dips, crosses), hits))
        if setting.dry(i) or setting.stopped(i):
            gives_way, m0, m1 = _margins(setting, i, start, end, modes.held, passes)
            # the chord gives the time to second order
            events.append((gives_way, m0 / select(gives_way, m0 - m1, 1.0) + 0.2 * LATE))
        for happens, at in events:
            cut = either(happens, cut)
            first = select(both(happens, less(at, first)), at, first)
    return cut, first * step + NO_TIME


def keeps(setting: Setting, look: Scalar, cut: Scalar, passes: Passes, h: Scalar) -> tuple[Scalar, Scalar]:
    """(whether a pass is accepted, whether the step is given up)."""
    given_up = no(less(passes.tries, 4.0 * most_passes(len(setting.contacts))))
    return both(less(passes.done, h), no(either(both(look, cut), given_up))), given_up


def _slows(setting: Setting, i: int, end: Instant, way: Values) -> Scalar:
    """Whether friction has just brought a contact to rest."""
    if not setting.dry(i):
        return 0.0
    brakes_it, slow = less(way[i] * end.rise[i], 0.0), less(way[i] * end.speed[i], SLOWED)
    return both(setting.sticks(i, end.levels), both(brakes_it, slow))


def _reaches(setting: Setting, i: int, start: Instant, end: Instant, step: Scalar) -> tuple[Scalar, Scalar]:
    """(whether a joint has reached a stop, whether that is the upper one)."""
    up, _, _, left, d1 = _room(setting, i, start, end, step)
    return either(less(left, 0.0), both(less(left, REACHED), less(d1, 0.0))), up


def finish(
    setting: Setting, tried: TriedPass
) -> tuple[list[Scalar], list[Scalar], list[Scalar], list[Scalar], Passes, Scalar]:
    """(q, q̇, slip, still, passes, again) for the next pass."""
    start, end, way, passes, h = tried.start, tried.end, tried.way, tried.passes, tried.h
    accepted, given_up = keeps(setting, tried.look, tried.cut, passes, h)
    ended = select(passes.trial, passes.done + tried.length, h)
    now = select(accepted, ended, select(given_up, h, passes.done))
    position, velocity, slips, still = [], [], [], []
    for i in range(len(setting.contacts)):
        still.append(both(accepted, _slows(setting, i, end, way)))
        # a passive joint reverses unless the impulse that stops it leaves it at rest
        slips.append(select(still[i], -way[i] if setting.dry_passive else 0.0, tried.slip[i]))
    for i in range(setting.n):
        x, (lower, upper) = end.q[i], setting.stops[i]
        if setting.stopped(i):
            reached, up = _reaches(setting, i, start, end, tried.length)
            x = select(reached, select(up, upper, lower), x)
        position.append(select(accepted, x, start.q[i]))
        rests = 0.0 if setting.dry_passive else both(still[i], no(less(now, h)))
        velocity.append(select(accepted, select(rests, 0.0, end.qd[i]), start.qd[i]))
    following = Passes(select(accepted, 0.0, tried.up_to), now, passes.tries + 1.0)
    return position, velocity, slips, still, following, less(now, h)


# -- derivatives ---------------------------------------------------------------------------------


def count_events(setting: Setting, events: Scalar, passes: Passes, shaken: Scalar) -> Scalar:
    """The number of passes so far, except those that are a whole step without an impact."""
    return events + select(either(passes.tries, shaken), 1.0, 0.0)


def finish_tangent(
    setting: Setting, tried: TriedPass, direction: TriedPass
) -> tuple[list[Scalar], list[Scalar], None, None, Passes, None]:
    """The directions of (q, q̇, slip, still, passes, again) for the next pass.

    The length L of a pass that is repeated up to an event has the direction that :func:`aim` gives. Where a contact comes
    to rest or a joint reaches its stop, its function g, the speed or the distance, vanishes at the end, which determines
    what is missing of dL: dg + ġ dL = 0. If two happen at once, the first contact decides. At a grazing contact, ġ = 0,
    the motion has no derivative: dL = 0 is used.
    """
    end, dstart, dend = tried.end, direction.start, direction.end
    accepted, stopped, reached, events = _ends(setting, tried)
    later: Scalar = 0.0
    for i, (on_speed, weight) in enumerate(events):
        dg = select(on_speed, dend.qd[i], dend.q[i])
        later = later + select(weight, weight * dg, 0.0)
    q, qd = [], []
    rise: Values = tried.final or ()
    for i in range(setting.n):
        dq = select(reached[i], 0.0, dend.q[i] + end.qd[i] * later)
        dqd = dend.qd[i] + select(later, rise[i], 0.0) * later
        q.append(select(accepted, dq, dstart.q[i]))
        qd.append(select(accepted, select(stopped[i], 0.0, dqd), dstart.qd[i]))
    done = direction.passes.done + select(accepted, direction.length + later, 0.0)
    return q, qd, None, None, Passes(select(accepted, 0.0, direction.up_to), done, None), None


def finish_costate(
    setting: Setting, tried: TriedPass, ends: tuple[Any, ...], weights: tuple[Any, ...]
) -> tuple[list[Scalar], Scalar]:
    """(held, y) as in :class:`~dalembert.compiler.graph.program.DerivativeRule`: :func:`finish_tangent`, transposed."""
    start, end, n = tried.start, tried.end, setting.n
    accepted, stopped, reached, events = _ends(setting, tried)
    rise: Values = tried.final or ()
    (w_q, w_qd, _, _, w_passes, _), total = weights, 0.0
    of_later: Scalar = w_passes.done
    for i in range(n):
        free = select(reached[i], 0.0, w_q[i])
        moving = select(stopped[i], 0.0, w_qd[i])
        of_later = of_later + free * end.qd[i] + select(moving, moving * rise[i], 0.0)
        total = total + select(
            accepted, free * end.q[i] + moving * end.qd[i], w_q[i] * start.q[i] + w_qd[i] * start.qd[i]
        )
    held = [select(weight, weight * of_later, 0.0) for _, weight in events]
    for i, ((on_speed, _), share) in enumerate(zip(events, held, strict=True)):
        total = total + share * select(on_speed, end.qd[i], end.q[i])
    total = total + w_passes.done * (tried.passes.done + select(accepted, tried.length, 0.0))
    return held, total + w_passes.trial * select(accepted, 0.0, tried.up_to)


def _ends(setting: Setting, tried: TriedPass) -> tuple[Scalar, list[Scalar], list[Scalar], list[tuple[Scalar, Scalar]]]:
    """(accepted, stopped, reached, events) of a pass: the joints that friction stops for the rest of the step, those that
    reach a stop, and for each joint whether its speed decides, and −1/ġ if it is the one that determines dL."""
    start, end = tried.start, tried.end
    accepted, _ = keeps(setting, tried.look, tried.cut, tried.passes, tried.h)
    goes_on = less(tried.passes.done + tried.length, tried.h)
    rise: Values = tried.final or ()
    searched = both(accepted, tried.passes.trial)
    stopped, reached, events = [], [], []
    for i in range(setting.n):
        slows = _slows(setting, i, end, tried.way)
        reaches = _reaches(setting, i, start, end, tried.length)[0] if setting.stopped(i) else 0.0
        on_speed, at_stop = both(slows, rise[i]), both(reaches, end.qd[i])
        rate = select(on_speed, rise[i], end.qd[i])
        happens = both(searched, either(on_speed, at_stop))
        events.append((on_speed, select(happens, -1.0 / select(happens, rate, 1.0), 0.0)))
        searched = select(happens, 0.0, searched)
        stopped.append(both(slows, no(goes_on)))
        reached.append(reaches)
    return accepted, stopped, reached, events
