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
3. Four stages of Runge–Kutta (:func:`loaded`, :func:`solved`, :func:`borne`).
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
from math import inf

from dalembert.base.algebra.scalars import Scalar, dot, less, select, sgn, sqrt
from dalembert.mechanics.coordinates.chain import AnyMechanism, Chain
from dalembert.mechanics.coordinates.pulled import factorised
from dalembert.mechanics.equations.friction import dry as dry_friction
from dalembert.mechanics.equations.friction import dry_levels
from dalembert.mechanics.equations.newton_euler import BaseMotion
from dalembert.mechanics.motion.dry_friction import Brakes, brakes, directions, drifts
from dalembert.mechanics.motion.stepping import Setting, Values, both, either, inertia_and_load, no, some

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


def most_passes(n: int) -> float:
    """Number of passes that a step with n contacts may be cut into before its contacts are frozen until its end."""
    return float(40 + 10 * n)


# -- equations -----------------------------------------------------------------------------------


def loaded(
    setting: Setting, q: Values, qd: Values, tau: Values, h_e: Values | None, base: BaseMotion | None
) -> tuple[list[Scalar], ...]:
    """B, and r = τ − τ′ of (7.116) without dry friction; with friction of passive joints, also Γ_p and Γ̇_p q̇.

    If static levels depend on the state, they come last.

    tau  τ, or τ − Jᵀ h_e followed by τ if h_e is not given
    """
    n = setting.n
    B, load = inertia_and_load(setting, q, qd, h_e, base)
    flat = [x for row in B for x in row]
    r = [t - p for t, p in zip(tau[:n], load, strict=True)]
    levels = (_levels_at(setting, q, qd, tau[-n:]),) if setting.varies else ()
    if not setting.dry_passive:
        return flat, r, *levels
    G = directions(setting.mechanism, q, setting.dry_passive)
    return flat, r, [x for g in G for x in g], drifts(setting.mechanism, q, qd, setting.dry_passive), *levels


def released(
    mechanism: AnyMechanism, q: Values, qd: Values, tau: Values, h_e: Values | None
) -> tuple[list[list[Scalar]], list[Scalar], list[Scalar], list[Scalar]]:
    """B, r = τ − τ′ of (7.116) without dry friction, and the static levels of the joints, forward and backward.

    This is all that a step needs to know of a state, for targets that pivot themselves. Dry friction of passive joints
    is omitted.
    """
    setting = Setting(mechanism, ((-inf, inf),) * mechanism.n)
    B, load = inertia_and_load(setting, q, qd, h_e, None)
    levels = _levels_at(setting, q, qd, tau)
    return B, [t - p for t, p in zip(tau, load, strict=True)], levels[: mechanism.n], levels[mechanism.n :]


def _levels_at(setting: Setting, q: Values, qd: Values, tau: Values) -> list[Scalar]:
    """Static levels of all contacts, forward and then backward; passive joints have no load."""
    x = Chain(setting.mechanism, q).q
    places = [x[i] for i in (*setting.mechanism.actuated, *setting.dry_passive)]
    rest = [0.0] * len(setting.dry_passive)
    levels = [dry_levels(*of) for of in zip(setting.contacts, places, [*qd, *rest], [*tau, *rest], strict=True)]
    return [*(forward for forward, _ in levels), *(backward for _, backward in levels)]


def contact_speeds(setting: Setting, q: Values, qd: Values) -> tuple[list[Scalar]]:
    """Speed of every contact."""
    G = directions(setting.mechanism, q, setting.dry_passive)
    return ([*qd, *(dot(g, qd) for g in G)],)


def solved(
    setting: Setting, B: Values, r: Values, held: Values, slide: Values, G: Values = (), drift: Values = ()
) -> tuple[list[Scalar]]:
    """q̈ with these contacts held and the others sliding, with this friction, or in this direction if levels vary."""
    return (_solved(setting, B, r, held, _acting(setting, held, slide), G, drift)[0],)


def borne(
    setting: Setting, B: Values, r: Values, held: Values, slide: Values, G: Values = (), drift: Values = ()
) -> tuple[list[Scalar], ...]:
    """q̈ and the load on the held contacts; with friction of passive joints, also the acceleration of every contact."""
    a, push, rise = _solved(setting, B, r, held, _acting(setting, held, slide), G, drift)
    return (a, push, rise) if setting.dry_passive else (a, push)


def _acting(setting: Setting, held: Values, slide: Values) -> list[Scalar]:
    return _dry(setting, held, slide) if setting.varies else list(slide)


def _dry(setting: Setting, held: Values, way: Values) -> list[Scalar]:
    """Dry friction of contacts that move in this direction."""
    if not setting.varies:
        return [dry_friction(body, 0.0, 0.0, w, 0.0) for body, w in zip(setting.contacts, way, strict=True)]
    dry: list[Scalar] = []
    for i, w in enumerate(way):
        forward, backward = setting.static(i)
        # a contact that nothing holds may be at rest and carry its load: both levels are then the same torque
        moves = select(less(0.0, w), forward, select(less(w, 0.0), -backward, 0.5 * (forward - backward)))
        dry.append(select(held[i], 0.0, moves))
    return dry


def _solved(
    setting: Setting, flat: Values, r: Values, held: Values, dry: Values, flat_G: Values, drift: Values
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    n = setting.n
    B, G = _rows(flat, n), _rows(flat_G, n)
    r = [x - d for x, d in zip(r, dry[:n], strict=True)]
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


def _can_rest(setting: Setting, i: int, q: Values) -> Scalar:
    """Whether friction or a stop can hold the contact."""
    return either(setting.sticks(i), either(*setting.at_stops(i, q)))


def _tired(setting: Setting, tries: Values) -> Scalar:
    return no(less(tries[0], most_passes(len(setting.contacts))))


# -- impacts -------------------------------------------------------------------------------------


def clock(setting: Setting, trial: Values, done: Values, h: Values) -> tuple[list[Scalar], ...]:
    """(step, left, turn, turn): the length of the pass, and the initial values of its pivoting."""
    return [select(trial[0], trial[0], h[0] - done[0])], [0.0] * setting.n, [0.0], [0.0]


def touch(
    setting: Setting, q: Values, qd: Values, slip: Values, still: Values, done: Values, h: Values, G: Values = ()
) -> tuple[list[Scalar], list[Scalar]]:
    """(knock, shaken): whether the velocity jumps, and whether by more than rounding."""
    goes_on = less(done[0], h[0])
    shaken = both(goes_on, some([*(_into(setting, i, q, qd) for i in range(setting.n)), *still]))
    if not setting.dry_passive:
        return [shaken], [shaken]
    speed = _speeds(setting, qd, G)
    # a held direction rotates with the pose: the remaining velocity along it is removed
    strays = some([both(_rests(setting, i, q, speed, slip), speed[i]) for i in range(len(speed))])
    return [either(shaken, both(goes_on, strays))], [shaken]


def _rests(setting: Setting, i: int, q: Values, speed: Values, slip: Values) -> Scalar:
    return both(both(_can_rest(setting, i, q), no(slip[i])), no(_moves(setting, speed[i])))


def _into(setting: Setting, i: int, q: Values, qd: Values) -> Scalar:
    """Whether the joint is at a stop and moves into it."""
    lower, upper = setting.at_stops(i, q)
    return either(both(lower, less(qd[i], 0.0)), both(upper, less(0.0, qd[i])))


def strike(
    setting: Setting, restitution: Scalar, q: Values, qd: Values, B: Values, knock: Values, slip: Values, still: Values,
    tries: Values, left: Values, turn: Values, G: Values = (), h: Values = (),
) -> tuple[list[Scalar], ...]:  # fmt: skip
    """(q̇⁺, left, turn, more), and with friction of passive joints the slip: one pivot of the impact.

    An impact is hard if a joint hits its stop so that others may leave theirs and friction has no influence. Otherwise
    contacts at rest stay at rest; the impulse that achieves this is a projection, too.

    left  in a hard impact, joints at a stop that leave it without an impulse; otherwise joints that the impulse would
          drive into their stop and that are brought to rest as well; ``more`` whether that must be tried
    """
    n, matrix, speed = setting.n, _rows(B, setting.n), _speeds(setting, qd, G)
    into = [_into(setting, i, q, qd) for i in range(n)]
    sharp = some([both(into[i], either(less(SOFT, qd[i]), less(qd[i], -SOFT))) for i in range(n)])
    hard = [both(sharp, no(_tired(setting, tries)))]
    fixed = [
        either(either(still[i], into[i] if i < n else 0.0), _rests(setting, i, q, speed, slip))
        for i in range(len(setting.contacts))
    ]  # fmt: skip
    stops = [setting.at_stops(i, q) for i in range(n)]
    pressed = [
        select(hard[0], both(either(*stops[i]), no(left[i])), either(fixed[i], left[i])) for i in range(n)
    ]  # fmt: skip
    v = _brought_to_rest(setting, matrix, qd, pressed)
    if setting.dry_passive:
        # friction stops a passive joint only if it could do so within a step: where its direction Γ_p vanishes, as
        # at a dead centre of a linkage, the joint reverses while the others continue, and so does its friction
        rows = _rows(G, n)
        braked = [*pressed, *(both(no(hard[0]), x) for x in fixed[n:])]
        most = [h[0] * sum(setting.static(i)) for i in range(n, len(setting.contacts))]
        v, _ = _brakes(setting, matrix, rows, braked).hold(v, [0.0] * len(rows), most)
        v = [select(pressed[i], 0.0, x) for i, x in enumerate(v)]
        after = [*v, *(dot(g, v) for g in rows)]
        slip = [
            select(knock[0], both(both(no(hard[0]), x), _moves(setting, w)) * x, x)
            for x, w in zip(slip, after, strict=True)
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
        pulls = both(hard[0], both(pressed[i], less(off * impulse, -1e-13 * size)))
        enters = both(no(pressed[i]), less(off * v[i], 0.0))
        one_stop = select(lower, no(upper), upper)
        fault.append(both(one_stop, either(pulls, enters)))
        approach = both(into[i], _size(qd[i]))
        fastest = select(less(fastest, approach), approach, fastest)
    change, any_fault = _changes(fault, turn)
    more = both(both(knock[0], any_fault), less(turn[0], TURNS))
    e = both(both(hard[0], less(BOUNCE, fastest)), restitution)
    after = []
    for i in range(n):
        lower, upper = stops[i]
        x = select(both(lower, less(v[i], 0.0)), 0.0, select(both(upper, less(0.0, v[i])), 0.0, v[i]))
        after.append(select(knock[0], x + e * (x - qd[i]), qd[i]))
    result = after, [select(c, no(x), x) for c, x in zip(change, left, strict=True)], [turn[0] + 1.0], [more]
    return (*result, list(slip)) if setting.dry_passive else result


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


def _changes(fault: Values, turn: Values) -> tuple[list[Scalar], Scalar]:
    """The violated contacts that change in this turn, and whether there are any violated contacts."""
    change: list[Scalar] = []
    earlier: Scalar = 0.0
    for x in fault:
        change.append(both(x, either(less(turn[0], AT_ONCE), no(earlier))))
        earlier = either(earlier, x)
    return change, earlier


# -- held contacts -------------------------------------------------------------------------------


def pivot(
    setting: Setting, q: Values, qd: Values, B: Values, r: Values, slip: Values, tries: Values, turn: Values,
    G: Values = (), drift: Values = (),
) -> tuple[list[Scalar], ...]:  # fmt: skip
    """(held, way, dry, q̈, push, slip, turn, more), and with friction of passive joints (speed, rise): one pivot.

    held, way, dry  which contacts are held, and the direction and level of dry friction on the others
    push            load on the held contacts
    slip            assumed slip direction of contacts at rest; ``more`` whether it must be tried
    """
    speed, tired = _speeds(setting, qd, G), _tired(setting, tries)
    held: list[Scalar] = []
    way: list[Scalar] = []
    rests: list[Scalar] = []
    for i in range(len(setting.contacts)):
        moves = _moves(setting, speed[i])
        rests.append(both(_can_rest(setting, i, q), no(moves)))
        stays = either(tired, no(slip[i])) if i < setting.n else no(slip[i])
        held.append(both(rests[i], stays))
        if setting.dry_passive:  # a contact that passes through rest is identified by its slip, not yet by its speed
            way.append(select(held[i], 0.0, select(slip[i], slip[i], select(moves, sgn(speed[i]), 0.0))))
        else:
            way.append(select(moves, sgn(speed[i]), both(both(rests[i], no(held[i])), slip[i])))
    dry = _dry(setting, held, way)
    a, push, rise = _solved(setting, B, r, held, dry, G, drift)
    fault: list[Scalar] = []
    new: list[Scalar] = []
    for i in range(len(setting.contacts)):
        if not (setting.dry(i) or setting.stopped(i)):
            fault.append(0.0)
            new.append(0.0)
            continue
        forward, backward = setting.static(i)
        lower, upper = setting.at_stops(i, q)
        up = both(held[i], both(less(forward, push[i]), no(upper)))
        down = both(held[i], both(less(push[i], -backward), no(lower)))
        # a contact assumed to slip one way but pulled the other way is held
        back = both(rests[i], less(slip[i] * rise[i], -SLACK if setting.dry_passive else 0.0))
        fault.append(either(either(up, down), back))
        new.append(select(back, 0.0, select(up, 1.0, -1.0)))
    change, any_fault = _changes(fault, turn)
    more = both(both(any_fault, less(turn[0], TURNS)), no(tired))
    slips = [select(both(more, c), x, s) for c, x, s in zip(change, new, slip, strict=True)]
    result = held, way, dry, a, push, slips, [turn[0] + 1.0], [more]
    return (*result, speed, rise) if setting.dry_passive else result


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
    setting: Setting, i: int, q: Values, qd: Values, q1: Values, qd1: Values, length: Scalar
) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar]:
    """(which stop, 1 for the upper; distance; its rate at both ends) of the only stop, or the one ahead or passed."""
    lower, upper = setting.stops[i]
    up: Scalar = 1.0
    if lower > -inf:
        passed = either(less(upper, q1[i]), both(no(less(q1[i], lower)), less(0.0, qd[i])))
        up = passed if upper < inf else 0.0
    v0, v1 = length * qd[i], length * qd1[i]
    return (
        up, select(up, upper - q[i], q[i] - lower), select(up, -v0, v0), select(up, upper - q1[i], q1[i] - lower),
        select(up, -v1, v1),
    )  # fmt: skip


def _margins(
    setting: Setting, i: int, q: Values, held: Values, push: Values, push1: Values, tries: Values
) -> tuple[Scalar, Scalar, Scalar]:
    """(whether a held contact gives way in the pass, its remaining capacity at the start and at the end)."""
    lower, upper = setting.at_stops(i, q)

    def margin(p: Scalar, instant: int) -> Scalar:
        forward, backward = setting.static(i, instant)
        return _least(select(upper, inf, forward - p), select(lower, inf, backward + p))

    m0, m1 = margin(push[i], 0), margin(push1[i], -1)
    forward, backward = setting.static(i, -1)
    overloaded = both(no(less(m0, 0.0)), less(m1, -OVERLOAD * (1.0 + forward + backward)))
    in_time = less(LATE * m0, (LATE - 1.0) * m1)  # m0 / (m0 − m1) < 1 − LATE
    return both(both(held[i], no(_tired(setting, tries))), both(overloaded, in_time)), m0, m1


def watch(
    setting: Setting, q: Values, qd: Values, held: Values, way: Values, a: Values, push: Values, q1: Values,
    qd1: Values, a1: Values, push1: Values, step: Values, tries: Values, speed: Values = (), rise: Values = (),
    speed1: Values = (), rise1: Values = (),
) -> tuple[list[Scalar]]:  # fmt: skip
    """Whether an event may have occurred in the pass from (q, q̇) to (q1, q̇1); arguments as for :func:`aim`."""
    speed, rise, speed1, rise1 = (speed, rise, speed1, rise1) if setting.dry_passive else (qd, a, qd1, a1)
    look: list[Scalar] = []
    nearest: Scalar = 0.0
    for i in range(len(setting.contacts)):
        if setting.dry(i):
            look.append(both(setting.sticks(i), less(way[i] * speed1[i], -SLOWED)))
        if setting.stopped(i):  # at the end, or on the way if it may reverse
            ahead, (lower, upper) = q[i] + step[0] * qd[i], setting.stops[i]
            if upper < inf:
                nearest = _least(nearest, upper - select(less(ahead, q1[i]), q1[i], ahead))
            if lower > -inf:
                nearest = _least(nearest, select(less(ahead, q1[i]), ahead, q1[i]) - lower)
        if setting.dry(i) or setting.stopped(i):
            forward, backward = setting.static(i, -1)
            lower, upper = setting.at_stops(i, q)
            overload = OVERLOAD * (1.0 + forward + backward)
            up = both(less(forward + overload, push1[i]), no(upper))
            down = both(less(push1[i], -backward - overload), no(lower))
            look.append(both(held[i], either(up, down)))
    return ([some([*look, less(nearest, -REACHED)])],)


def _least(x: Scalar, y: Scalar) -> Scalar:
    return select(less(y, x), y, x)


def aim(
    setting: Setting, q: Values, qd: Values, held: Values, way: Values, a: Values, push: Values, q1: Values,
    qd1: Values, a1: Values, push1: Values, step: Values, tries: Values, speed: Values = (), rise: Values = (),
    speed1: Values = (), rise1: Values = (),
) -> tuple[list[Scalar], list[Scalar]]:  # fmt: skip
    """(whether the pass from (q, q̇) to (q1, q̇1) must be repeated up to its first event, and its new length).

    a, push                      q̈ and the load on held contacts at the start; with suffix 1, at the end
    speed, rise, speed1, rise1   q̇ and q̈ of the contacts, if passive joints have friction
    """
    speed, rise, speed1, rise1 = (speed, rise, speed1, rise1) if setting.dry_passive else (qd, a, qd1, a1)
    cut: Scalar = 0.0
    first: Scalar = 1.0
    for i in range(len(setting.contacts)):
        events: list[tuple[Scalar, Scalar]] = []
        if setting.dry(i):
            u0 = way[i] * speed[i]  # in the direction that friction opposes
            if setting.dry_passive:
                u0 = select(less(0.0, u0), u0, 0.0)
            s0, u1, s1 = step[0] * way[i] * rise[i], way[i] * speed1[i], step[0] * way[i] * rise1[i]
            stops = _Cubic(u0, s0, u1, s1).root(1.0, u1, SLOWED)
            events.append((both(setting.sticks(i), less(u1, -SLOWED)), stops))
        if setting.stopped(i):
            _, room, d0, left, d1 = _room(setting, i, q, qd, q1, qd1, step[0])
            curve = _Cubic(room, d0, left, d1)
            # it passes the stop and returns within the pass
            turns = both(less(d0, 0.0), less(0.0, d1))
            deepest = d0 / select(turns, d0 - d1, 1.0)
            depth, passes = curve.at(deepest), less(left, -REACHED)
            dips = both(both(turns, no(passes)), less(depth, -REACHED))
            hits = curve.root(select(dips, deepest, 1.0), select(dips, depth, left), REACHED)
            events.append((either(dips, passes), hits))
        if setting.dry(i) or setting.stopped(i):
            gives_way, m0, m1 = _margins(setting, i, q, held, push, push1, tries)
            # the chord gives the time to second order
            events.append((gives_way, m0 / select(gives_way, m0 - m1, 1.0) + 0.2 * LATE))
        for happens, at in events:
            cut = either(happens, cut)
            first = select(both(happens, less(at, first)), at, first)
    return [cut], [first * step[0] + NO_TIME]


def keeps(setting: Setting, look: Values, cut: Values, done: Values, tries: Values, h: Values) -> tuple[Scalar, Scalar]:
    """(whether a pass is accepted, whether the step is given up)."""
    given_up = no(less(tries[0], 4.0 * most_passes(len(setting.contacts))))
    return both(less(done[0], h[0]), no(either(both(look[0], cut[0]), given_up))), given_up


def finish(
    setting: Setting, q: Values, qd: Values, way: Values, q1: Values, qd1: Values, a1: Values, slip: Values,
    step: Values, look: Values, cut: Values, up_to: Values, trial: Values, done: Values, tries: Values, h: Values,
    speed1: Values = (), rise1: Values = (),
) -> tuple[list[Scalar], ...]:  # fmt: skip
    """(q, q̇, slip, still, trial, done, tries, again) for the next pass, after one from (q, q̇) to (q1, q̇1).

    speed1, rise1   q̇1 and q̈1 of the contacts, if passive joints have friction
    """
    n, count = setting.n, len(setting.contacts)
    speed1, rise1 = (speed1, rise1) if setting.dry_passive else (qd1, a1)
    accepted, given_up = keeps(setting, look, cut, done, tries, h)
    now = select(accepted, select(trial[0], done[0] + step[0], h[0]), select(given_up, h[0], done[0]))
    ends = no(less(now, h[0]))
    position, velocity, slips, still = [], [], [], []
    for i in range(count):
        slows: Scalar = 0.0
        if setting.dry(i):
            slows = both(setting.sticks(i), both(less(way[i] * rise1[i], 0.0), less(way[i] * speed1[i], SLOWED)))
        still.append(both(accepted, slows))
        # a passive joint reverses unless the impulse that stops it leaves it at rest
        slips.append(select(still[i], -way[i] if setting.dry_passive else 0.0, slip[i]))
    for i in range(n):
        x, (lower, upper) = q1[i], setting.stops[i]
        if setting.stopped(i):
            up, _, _, left, d1 = _room(setting, i, q, qd, q1, qd1, step[0])
            reached = either(less(left, 0.0), both(less(left, REACHED), less(d1, 0.0)))
            x = select(reached, select(up, upper, lower), x)
        position.append(select(accepted, x, q[i]))
        rests = 0.0 if setting.dry_passive else both(still[i], ends)
        velocity.append(select(accepted, select(rests, 0.0, qd1[i]), qd[i]))
    return (
        position, velocity, slips, still, [select(accepted, 0.0, up_to[0])], [now], [tries[0] + 1.0],
        [less(now, h[0])],
    )  # fmt: skip
