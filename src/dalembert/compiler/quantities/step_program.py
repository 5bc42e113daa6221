"""The step of a simulation, written once: :func:`smooth_step`, :func:`contact_step` and :func:`variational_step`.

They read as pseudo-code: ``step.do(f, x, y, to=z)`` is z = f(setting, x, y) with a function of
:mod:`dalembert.mechanics.motion`. What they call is noted as a program, which is compiled to one loop or performed call
by call (:mod:`dalembert.compiler.graph.program`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from math import inf
from typing import Any

from dalembert.base.algebra.scalars import Scalar, Values, select
from dalembert.compiler.graph.program import Call, DerivativeRule, Function, Program, Recorder, Slot, slots_of
from dalembert.compiler.quantities.machine import INPUTS, size_of, sizes_of
from dalembert.mechanics.coordinates.chain import AnyMechanism
from dalembert.mechanics.coordinates.variable_parameters import varied
from dalembert.mechanics.equations import articulated
from dalembert.mechanics.equations.newton_euler import BaseMotion
from dalembert.mechanics.motion import contact, control, stepping
from dalembert.mechanics.motion.contact import ContactEquations, Instant, Modes, Passes, TriedPass
from dalembert.mechanics.motion.dry_friction import clearance_count
from dalembert.mechanics.motion.methods import METHODS, Tableau
from dalembert.mechanics.motion.stepping import Setting

LAWS: dict[str, Callable[..., list[Any]]] = {
    "pd": control.pd_gravity,
    "computed": control.computed_torque,
    "feedforward": control.feedforward,
    "passivity": control.passivity,
    "servo": control.servo,
}
# the constants of a law with others than its two gains
GAINS = {"servo": ("kp", "kd", "effort", "speed"), "posture": ("posture", "kp", "kd", "choice", "effort")}
FOLLOWING = (*LAWS, "adaptive")  # the laws that follow a motion of the joints
BASE = 9  # entries of a motion of the base: [ω, ω̇, p̈]
PARABOLA = (0.0, 0.5, 1.0)  # fractions of a step at which a reference is given that is needed anywhere within it
MANY = 8  # joints above which the formulation that is linear in their number is faster


def gains_of(law: str) -> tuple[str, ...]:
    """The constants of a law that follows a motion, one number per joint each."""
    return GAINS.get(law, ("kp", "kd"))


@dataclass(frozen=True)
class Plan:
    """The choice of a program: everything that changes the code, nothing that is data.

    method      of ``METHODS``, one with fixed steps
    law         "none", "given" (an array), one of ``FOLLOWING``, "tip" (of ``tip``), "host" (a Python function), or
                "posture" (:func:`control.held_posture`)
    friction    whether the arm's friction acts
    stops       (lower, upper) position of the end stops of every joint; () for none
    restitution whether a coefficient of restitution is given; impacts are plastic otherwise
    tip_wrench  whether one is given; with "host" it is part of the torque
    numbers     the numbers of the mechanism that are inputs, among ``VARIANTS``
    tip         the law of the tip, with its numbers
    base_motion "" for a fixed base, "held" if its motion is constant over each step, "sampled" if it is a function of
                time
    twofold     whether torques from Python come as τ − Jᵀ h_e followed by τ, for friction that depends on the load
    model       the mechanism that the law assumes; by default the simulated one
    columns     of the regressor, whose parameters the law "adaptive" learns
    effort      the largest torque of each joint's drive; () for no limit
    by_hand     whether the stops (``lower``, ``upper``) and the ``pull`` of a spring at the tip are inputs, and q̈ is
                recorded, as for a person who changes them during the simulation
    """

    method: str = "rk4"
    law: str = "given"
    friction: bool = True
    stops: tuple[tuple[float, float], ...] = ()
    tip_wrench: bool = False
    numbers: tuple[str, ...] = ()
    tip: control.TipLaw | None = None
    restitution: bool = False
    twofold: bool = False
    base_motion: str = ""
    model: AnyMechanism | None = None
    columns: tuple[int, ...] = ()
    effort: tuple[float, ...] = ()
    by_hand: bool = False

    @property
    def parameters(self) -> bool:
        """Whether the dynamic parameters are inputs."""
        return "parameters" in self.numbers


@dataclass(frozen=True)
class Rollout:
    """A program and the pieces it calls, each a function of lists of scalars.

    references  slots of the reference, and the fraction of the step at which each is evaluated
    bases       the same for a motion of the base that is a function of time
    torques     functions that Python provides, and the fraction of the step at which they are called
    rules       of the pieces that are not differentiated line by line
    """

    program: Program
    pieces: Mapping[str, Function]
    references: Mapping[str, float]
    bases: Mapping[str, float]
    torques: Mapping[str, float]
    rules: Mapping[str, DerivativeRule]

    def calls(self) -> dict[str, Call]:
        """One call of each piece; its other calls have slots of the same sizes."""
        return {call.function: call for call in self.program.calls if call.function in self.pieces}


def setting_of(mechanism: AnyMechanism, plan: Plan) -> Setting:
    """The setting that a plan simulates; with parameters as inputs, every passive joint may have friction."""
    passive = [(p, body) for p, body in enumerate(mechanism.tree.bodies) if p not in mechanism.actuated]
    dry_passive = (p for p, body in passive if plan.friction and (plan.parameters or stepping.has_dry_friction(body)))
    return Setting(_acting(mechanism, plan), plan.stops or ((-inf, inf),) * mechanism.n, tuple(dry_passive))


def _acting(mechanism: AnyMechanism, plan: Plan) -> AnyMechanism:
    """The mechanism with the friction that the plan includes."""
    return mechanism if plan.friction else stepping.smooth(mechanism, viscous=False)


def has_events(setting: Setting, plan: Plan) -> bool:
    """Whether any joint can stick or hit a stop."""
    return setting.has_events or plan.by_hand or (plan.parameters and plan.friction)


def rollout(mechanism: AnyMechanism, plan: Plan, kind: str = "") -> Rollout:
    """The program for a plan.

    kind  "observed" for the program that counts its ``events`` and that is differentiated along a direction; "held" for
          steps in which no contact changes, whatever happens, of which the adjoint is made
    """
    setting, tableau = setting_of(mechanism, plan), METHODS[plan.method].tableau
    if tableau is None:
        return variational_step(StepRecorder(setting, plan, (0.5,)))
    if not has_events(setting, plan):
        return smooth_step(StepRecorder(setting, plan, tableau.instants), tableau)
    tableau = tableau.to_the_end
    if kind == "held":
        return held_step(StepRecorder(setting, plan, tableau.instants), tableau)
    return contact_step(StepRecorder(setting, plan, tableau.instants, sampled=True), tableau, kind == "observed")


# -- smooth ----------------------------------------------------------------------------------------


def smooth_step(step: StepRecorder, tableau: Tableau, held: tuple[Any, ...] = ()) -> Rollout:
    """x + h Σ b_i k_i with k_i = f(t + c_i h, x + h Σ a_ij k_j).

    held  which contacts are held, and the way in which the others slip, during the step
    """
    h, stages, unsafe = step.h, step.stages(len(tableau.b) + 1), None
    m = step.setting.mechanism
    many = m.n > MANY and m.identity and not step.plan.numbers and not m.omitted
    equations = contact.held_acceleration if held else _linear_in_joints if many else stepping.accelerate
    costate = step.driven(contact.held_costate if held else stepping.costate)
    for k, part in enumerate(tableau.c):
        if k > 0:
            step.advance(tableau.a, k, stages, h)
        x, qd = step.place(stages[k].q), stages[k].qd
        if k == 0:
            unsafe = step.guard(x, qd, h)
        step.torque(part, x, stages[k], h)
        given = x, qd, step.acting(part), *held
        step.do(step.driven(equations), *given, to=stages[k].a, name="accelerate", adjoint=costate)
    step.combine(tableau.b, stages, h, unsafe)
    return step.finished(stages[0], stages[-1])


def _linear_in_joints(setting: Setting, *given: Any) -> list[Scalar]:
    """q̈ of (7.115) by the formulation that is linear in the number of joints."""
    return articulated.forward_dynamics(stepping.smooth(setting.mechanism), *given)


# -- with dry friction and stops -------------------------------------------------------------------


def held_step(step: StepRecorder, tableau: Tableau) -> Rollout:
    """A step with the contacts that are held at its beginning."""
    setting, flag, start = step.setting, step.flag, step.stages(len(tableau.b) + 1)[0]
    contacts, load, n, q, qd = len(setting.contacts), step.load_slots(1), setting.n, start.q, start.qd
    slip, slip1, turns, turns1, others = (
        flag("slip", contacts),
        flag("slip1", contacts),
        flag("turns"),
        flag("turns1"),
        flag("others"),
    )
    passes = Passes(flag("trial"), flag("done"), flag("tries"))
    modes = Modes(flag("held", contacts), flag("way", contacts), flag("dry", contacts))
    results = modes, flag("a0", n), flag("push", contacts), None, None, slip1, turns1, others
    step.torque(0.0, q, start, step.h)
    step.do(step.driven(contact.loaded), q, qd, step.acting(0.0), to=load, name="load")
    step.do(
        contact.pivot, q, qd, load, slip, passes, turns, to=results, again=others, carry=((slip1, slip), (turns1, turns))
    )  # fmt: skip
    step.cleared = [slip, turns, *slots_of(passes)]
    return smooth_step(step, tableau, (modes.held, modes.way))


def contact_step(step: StepRecorder, tableau: Tableau, observed: bool = False) -> Rollout:
    """One pass, in the order of :mod:`dalembert.mechanics.motion.contact`, repeated until the step is finished.

    observed  whether events are counted, and passes that end with one yield what their derivative needs
    """
    setting, h, slot, flag, last = step.setting, step.h, step.slot, step.flag, len(tableau.b)
    n, contacts, passive = setting.n, len(setting.contacts), bool(setting.dry_passive)
    stages, loads = step.stages(last + 1), [step.load_slots(k) for k in range(1, last + 1)]
    start, end = stages[0], stages[-1]
    q, qd = start.q, start.qd
    slip, still = flag("slip", contacts), flag("still", contacts)
    passes = Passes(slot("trial"), slot("done"), flag("tries"))
    length, left, turn, turns = slot("step"), flag("left", n), flag("turn"), flag("turns")

    def equations(k: int, x: Slot, when: Slot | None = None) -> None:
        step.torque(tableau.c[k], x, stages[k], (length, passes.done), when)
        given = x, stages[k].qd, step.acting(tableau.c[k])
        step.do(step.driven(contact.loaded), *given, to=loads[k], name="load", when=when)

    # the length of the pass, and the references within it
    step.do(contact.clock, passes, h, to=(length, left, turn, turns))
    step.sample(passes.done, length)

    # 1. impacts, after which the equations are computed again
    x = step.place(q)
    equations(0, x)
    knock, shaken, more = flag("knock"), flag("shaken"), flag("more")
    step.do(contact.touch, q, qd, loads[0], slip, still, passes, h, to=(knock, shaken))
    struck, left1, turn1 = slot("struck", n), flag("left1", n), flag("turn1")
    slipped = flag("slipped", contacts) if passive else None
    step.do(
        contact.strike, q, qd, loads[0], knock, slip, still, passes, left, turn, h, step.restitution,
        to=(struck, left1, turn1, more, slipped), when=knock, again=more, carry=((left1, left), (turn1, turn)),
    )  # fmt: skip
    step.record(lambda *x: x, struck, slipped, to=(qd, slip if passive else None), name="take", when=knock)
    equations(0, x, shaken)

    # 2. the contacts that are held, and the directions in which the others slip
    unsafe = step.guard(x, qd, length)
    modes = Modes(flag("held", contacts), flag("way", contacts), slot("dry", contacts))
    speed, rise = (slot("speed1", contacts), slot("rise1", contacts)) if passive else (None, None)
    push, slip1, turns1, others = slot("push1", contacts), flag("slip1", contacts), flag("turns1"), flag("others")
    step.do(
        contact.pivot, q, qd, loads[0], slip, passes, turns, to=(modes, start.a, push, speed, rise, slip1, turns1, others),
        again=others, carry=((slip1, slip), (turns1, turns)),
    )  # fmt: skip
    before = Instant(q, qd, speed or qd, rise or start.a, push, loads[0].levels)

    # 3. the stages of the method with these contacts
    push, rise = slot(f"push{last}", contacts), slot(f"rise{last}", contacts) if passive else None
    for k in range(1, last):
        step.advance(tableau.a, k, stages, length)
        equations(k, step.place(stages[k].q))
        name, *borne = ("solve", None, None) if k < last - 1 else ("bear", push, rise)
        step.do(contact.solved, loads[k], modes, to=(stages[k].a, *borne), name=name)
    step.combine(tableau.b, stages, length, unsafe)
    if passive:
        speed = slot(f"speed{last + 1}", contacts)
        step.record(partial(contact.contact_speeds, setting), step.place(end.q), end.qd, to=speed, name="contacts")
    after = Instant(end.q, end.qd, speed or end.qd, rise or stages[-2].a, push, loads[-1].levels)

    # 4. the search for events
    look, cut, up_to, again = flag("look"), flag("cut"), slot("up_to"), flag("again")
    step.do(contact.watch, before, after, modes, length, to=look)
    step.do(contact.aim, before, after, modes, passes, length, to=(cut, up_to), when=look)

    # 5. the end of the pass, or its repetition
    following = step.stage("_next")
    slip2, still2 = flag("slip_next", contacts), flag("still_next", contacts)
    passes2 = Passes(slot("trial_next"), slot("done_next"), flag("tries_next"))
    shown = step.plan.by_hand
    final = (
        _final_acceleration(step, end, last + 1, modes, None if shown else passes.trial) if observed or shown else None
    )
    tried = TriedPass(before, after, modes.way, slip, length, look, cut, up_to, passes, h, final)
    ends = following.q, following.qd, slip2, still2, passes2, again
    step.do(contact.finish, tried, to=ends, tangent=contact.finish_tangent, adjoint=contact.finish_costate)
    counted: dict[Slot, Slot] = {slot("qdd", n): final} if shown and final else {}
    if observed:
        events = flag("events")
        counted[events] = flag("events_next")
        step.do(contact.count_events, events, passes, shaken, to=counted[events])
    if step.learns:
        given = start.learned, end.learned, look, cut, passes, h
        step.do(_learned, *given, to=following.learned, name="learn_kept")
    inner = {slip: slip2, still: still2, **dict(zip(slots_of(passes), slots_of(passes2), strict=True))}
    return step.finished(start, following, inner, again, counted)


def _final_acceleration(step: StepRecorder, end: RungeKuttaStage, stage: int, modes: Modes, when: Slot | None) -> Slot:
    """Note q̈ at the end of a pass, with its contacts."""
    load, final = step.load_slots(stage), step.slot("a_end", step.setting.n)
    x, acting = step.place(end.q), step.acting(1.0)
    step.do(step.driven(contact.loaded), x, end.qd, acting, to=load, name="load", when=when)
    step.do(contact.solved, load, modes, to=(final, None, None), name="solve", when=when)
    return final


def _learned(setting: Setting, before: Values, after: Values, *given: Any) -> list[Scalar]:
    """The estimate of an adaptive law after a pass, if it is accepted."""
    accepted, _ = contact.keeps(setting, *given)
    return [select(accepted, x, y) for x, y in zip(after, before, strict=True)]


# -- variational -----------------------------------------------------------------------------------


def variational_step(step: StepRecorder) -> Rollout:
    """The discrete Euler–Lagrange equations, iterated until v has converged in every state of the batch."""
    n, h, slot, (middle,) = step.setting.n, step.h, step.slot, step.instants
    q, p, v, q_m, q1, p1, p2, v1, v2 = (slot(x, n) for x in ("q", "p", "v", "q_m", "q1", "p1", "p2", "v1", "v2"))
    rounds, rounds1, again, converged, converged1 = map(slot, ("rounds", "rounds1", "again", "converged", "converged1"))
    wait, working = slot("wait"), slot("working")

    def solve(setting: Setting, q: Values, p: Values, v: Values, rounds: Scalar, h: Scalar, given: Acting) -> Any:
        return stepping.discrete_legendre(setting, q, p, v, rounds, h, *step.drive(setting, q, v, given))

    step.record(stepping.midpoint, q, v, h, to=q_m, name="midpoint")
    unsafe = step.guard(q, v, h)
    if step.plan.law == "host":
        step.record(None, q_m, v, step.t, h, to=step.acting(middle).tau, name="torque_0")
    step.do(solve, q_m, p, v, rounds, h, step.acting(middle), to=(v1, p1, rounds1, again))
    step.record(_wait, again, converged, to=(wait, converged1, working), name="wait")
    step.record(_finish, q, v1, p, p1, wait, h, unsafe, to=(q1, p2), name="finish")
    step.record(_keep, converged, v, v1, to=v2, name="keep")
    inner = {rounds: rounds1, converged: converged1}
    return step.program({q: q1, p: p2, v: v2}, inner, working)


def _wait(again: Scalar, converged: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """A state that has converged waits for the others of the batch: (must it wait, has it converged, is it active)."""
    ready = stepping.no(again)
    return stepping.either(converged, again), stepping.either(converged, ready), select(converged, 0.0, again)


def _finish(
    q: Values, v1: Values, p: Values, p1: Values, again: Scalar, h: Scalar, unsafe: Scalar | None
) -> tuple[list[Scalar], list[Scalar]]:
    """(q, p) of the next step once v has converged; NaN near a singular pose of a closed chain."""
    moved = [select(again, x, x + h * y) for x, y in zip(q, v1, strict=True)]
    if unsafe is not None:
        moved = [x + unsafe for x in moved]
    return moved, [select(again, x, y) for x, y in zip(p, p1, strict=True)]


def _keep(converged: Scalar, v: Values, v1: Values) -> list[Scalar]:
    return [select(converged, x, y) for x, y in zip(v, v1, strict=True)]


# -- inputs, and the calls that all steps share ----------------------------------------------------


@dataclass(frozen=True)
class Acting:
    """What acts on the arm at one time: torques, or the inputs of their law; a wrench at the tip; a motion of the base."""

    tau: Any = None
    reference: Any = None
    gains: Any = None
    wrench: Any = None
    base: Any = None
    pull: Any = None


@dataclass(frozen=True)
class RungeKuttaStage:
    """The slots of a stage: state and q̈, and the estimate of an adaptive law with its rate."""

    q: Slot
    qd: Slot
    a: Slot
    learned: Slot | None = None
    rate: Slot | None = None


class StepRecorder(Recorder):
    """The program of a step under construction: its inputs as slots, and the calls that all steps share.

    instants  of the stages, as fractions of the step, each once
    sampled   whether references are needed anywhere within a step, from their values at its beginning, middle and end
    """

    def __init__(self, setting: Setting, plan: Plan, instants: tuple[float, ...], sampled: bool = False) -> None:
        super().__init__()
        n, self.setting, self.plan, self.instants = setting.n, setting, plan, instants
        self.cleared: list[Slot] = []
        self.within = PARABOLA if sampled else instants
        self.stepwise: list[Slot] = []
        self.constant: list[Slot] = []
        self.learns, follows = plan.law == "adaptive", plan.law in FOLLOWING
        self.h = self._input("h")
        given = 2 * n if plan.twofold else n
        tau: list[Slot | None] = [None] * len(instants)
        if plan.law == "given":
            tau = [self._input("tau", given)] * len(instants)
        elif plan.law == "host":
            self.t, tau = self._input("t"), [*self._slots("tau", given)]
        elif self.learns:
            tau = [self.slot("tau", n)] * len(instants)
        wanted = 3 * plan.tip.space.m if plan.tip is not None else 3 * n if follows else 0
        self.references = self._inputs("reference", wanted)
        gains = tuple(self._constant(name, n) for name in gains_of(plan.law)) if follows or plan.law in GAINS else ()
        self.gamma = self._constant("gamma", len(plan.columns)) if self.learns else None
        wrench = self._input("tip_wrench", sizes_of(setting.mechanism)["W"]) if plan.tip_wrench else None
        held = self._input("base_motion", BASE) if plan.base_motion == "held" else None
        self.bases = self._inputs("base_motion", BASE if plan.base_motion == "sampled" else 0)
        self.restitution = self._constant("restitution") if plan.restitution else None
        pull = self._constant("pull", 5) if plan.by_hand else None
        self.stops = tuple(self._constant(name, n) for name in ("lower", "upper")) if plan.by_hand else ()
        sizes = sizes_of(setting.mechanism)
        self.numbers = tuple(self._constant(name, size_of(INPUTS[name][0], sizes)) for name in plan.numbers)
        references = self._slots("wanted", wanted) if sampled else self.references
        bases = self._slots("base_within", BASE) if sampled and self.bases else self.bases
        each = zip(tau, references or repeat(None), bases or repeat(held), strict=False)
        self.all_acting = [Acting(t, reference, gains, wrench, base, pull) for t, reference, base in each]

    def _input(self, name: str, size: int | None = None) -> Slot:
        self.stepwise.append(self.slot(name, size))
        return self.stepwise[-1]

    def _inputs(self, name: str, size: int) -> list[Slot]:
        return [self._input(f"{name}_{k}", size) for k in range(len(self.within) if size else 0)]

    def _slots(self, name: str, size: int) -> list[Slot]:
        return [self.slot(f"{name}_{k}", size) for k in range(len(self.instants) if size else 0)]

    def _constant(self, name: str, size: int | None = None) -> Slot:
        self.constant.append(self.slot(name, size))
        return self.constant[-1]

    def do(self, function: Callable[..., Any], *given: Any, to: Any, name: str = "", **control: Any) -> None:
        """Note ``to = function(setting, *given)``, where the setting has the numbers that are inputs."""
        count = len(given)

        def setting(values: Sequence[Any]) -> Setting:
            numbers, stops = values[count]
            given = replace(self.setting, stops=tuple(zip(*stops, strict=True))) if stops else self.setting
            if not numbers:
                return given
            mechanism = varied(self.setting.mechanism, dict(zip(self.plan.numbers, numbers, strict=True)))
            return replace(given, mechanism=_acting(mechanism, self.plan))

        def piece(*values: Any) -> Any:
            return function(setting(values), *values[:count])

        def rule(of: Callable[..., Any], last: int | None) -> Callable[..., Any]:
            return lambda *values: of(setting(values), *values[:count], *values[count + 1 : last])

        # the directions of numbers come last; decisions do not follow them
        ends = {"tangent": 2 * count + 1, "adjoint": None}
        rules: dict[str, Any] = {key: rule(control.pop(key), last) for key, last in ends.items() if key in control}
        self.record(
            piece, *given, (self.numbers, self.stops), to=to, name=name or function.__name__, **control, **rules
        )

    @property
    def known(self) -> AnyMechanism:
        """The mechanism that the law assumes: without the parameters that are inputs."""
        return self.setting.mechanism if self.plan.model is None else _acting(self.plan.model, self.plan)

    def acting(self, part: float) -> Acting:
        """What determines torques and contact at this fraction of the step; an adaptive law has computed τ before."""
        acting = self.all_acting[self.instants.index(part)]
        return replace(acting, reference=None, gains=()) if self.learns else acting

    def drive(
        self, setting: Setting, q: Values, qd: Values, given: Acting
    ) -> tuple[Values, Values | None, BaseMotion | None]:
        """(τ, h_e, motion of the base) at a state."""
        law, tau, wrench = self.plan.law, given.tau, given.wrench
        if law == "none":
            tau = [0.0] * self.setting.n
        elif self.plan.tip is not None:
            tau = control.tip_control(self.plan.tip, q, qd, given.reference)
        elif law in LAWS:
            tau = LAWS[law](self.known, q, qd, given.reference, *given.gains)
        elif law == "posture":
            tau = control.held_posture(setting.mechanism, q, qd, *given.gains)
        if given.pull is not None:
            wrench = control.pulled_wrench(setting.mechanism, q, qd, given.pull, wrench or [0.0] * 6)
        if self.plan.effort and law not in ("none", "given", "host"):  # these are already limited
            tau = control.limited(tau, self.plan.effort)
        return tau, wrench, None if given.base is None else BaseMotion.of(given.base)

    def driven(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of (setting, q, q̇, τ, h_e, base, …) as one of (setting, q, q̇, acting, …)."""
        return lambda setting, q, qd, given, *more: function(setting, q, qd, *self.drive(setting, q, qd, given), *more)

    def torque(self, part: float, x: Slot, stage: RungeKuttaStage, times: Any, when: Slot | None = None) -> None:
        """Note the torque of a stage at this fraction of the step: of a Python function, or of an adaptive law.

        x      the slot from which equations take the position
        times  the slots of instants that a Python function receives in addition to the state
        """
        k = self.instants.index(part)
        given = self.all_acting[k]
        if self.plan.law == "host":
            self.record(None, stage.q, stage.qd, self.t, times, to=given.tau, name=f"torque_{k}", when=when)
        elif self.learns:
            law = partial(control.adaptive, self.known, self.plan.columns)
            inputs = x, stage.qd, given.reference, *given.gains, self.gamma, stage.learned
            self.record(law, *inputs, to=(given.tau, stage.rate), name="adapt", when=when)

    def place(self, q: Slot) -> Slot:
        """The slot from which equations take a position: q, or all joints of the tree, which are computed first."""
        if not self.setting.mechanism.by_newton:
            return q
        placed = self.slot("tree_" + q.name, self.setting.mechanism.tree.n)
        self.record(None, q, to=placed, name="place")
        return placed

    def guard(self, x: Slot, qd: Slot, h: Slot) -> Slot | None:
        """The slot that becomes NaN if a closed chain approaches a singular pose, and the call that sets it."""
        clearances = clearance_count(self.setting.mechanism)
        if not clearances:
            return None
        to = self.slot("unsafe"), self.slot("away", clearances)
        self.record(partial(stepping.near_singular, self.setting), x, qd, h, to=to, name="near_singular")
        return to[0]

    def sample(self, done: Slot, length: Slot) -> None:
        """Note the references and the motion of the base at the instants of a pass."""
        for name, field, given in (("sample", "reference", self.references), ("sample_base", "base", self.bases)):
            for k, part in enumerate(self.instants if given else ()):
                at, to = stepping.reference_at(part), getattr(self.all_acting[k], field)
                self.record(at, given, done, length, self.h, to=to, name=f"{name}_{k}")

    def load_slots(self, number: int) -> ContactEquations:
        """The slots of the equations at a stage."""
        n, brakes, contacts = self.setting.n, len(self.setting.dry_passive), len(self.setting.contacts)
        G, drift = (self.slot(f"G{number}", n * brakes), self.slot(f"drift{number}", brakes)) if brakes else ((), ())
        levels = self.slot(f"levels{number}", 2 * contacts) if self.setting.varies else ()
        return ContactEquations(self.slot(f"B{number}", n * n), self.slot(f"r{number}", n), G, drift, levels)

    def stages(self, count: int) -> list[RungeKuttaStage]:
        """The slots of the stages; the first is the state, and the last that at the end of the step."""
        return [self.stage("", "qd", "1"), *(self.stage(str(k), f"v{k}", str(k)) for k in range(2, count + 1))]

    def stage(self, number: str, qd: str = "v_next", rates: str = "_next") -> RungeKuttaStage:
        """The slots of one stage."""
        names = (f"q{number}", qd, f"a{rates}")
        learned = (f"learned{number}", f"rate{rates}") if self.learns else ()
        columns = len(self.plan.columns)
        return RungeKuttaStage(
            *(self.slot(x, self.setting.n) for x in names), *(self.slot(x, columns) for x in learned)
        )

    def advance(self, a: Sequence[Sequence[float]], k: int, stages: Sequence[RungeKuttaStage], h: Slot) -> None:
        """Note the state of a stage from those before it; calls that differ only in the stage share a piece."""
        rows = list(dict.fromkeys(tuple(filter(None, row)) for row in a[1:]))
        used = [stage for stage, weight in zip(stages, a[k], strict=False) if weight]
        weights = tuple(filter(None, a[k]))
        name, start, end = str(rows.index(weights)), stages[0], stages[k]
        slopes = [stage.qd for stage in used], [stage.a for stage in used]
        self.record(stepping.advance(weights), start.q, start.qd, *slopes, h, to=(end.q, end.qd), name=f"advance{name}")
        self._learn(weights, used, start, end, h, f"learn{name}")

    def combine(self, b: Sequence[float], stages: Sequence[RungeKuttaStage], h: Slot, unsafe: Slot | None) -> None:
        """Note the state at the end of the step."""
        start, *later, end = stages
        slopes = [stage.qd for stage in later], [stage.a for stage in stages[:-1]]
        given = start.q, start.qd, *slopes, h, unsafe
        self.record(stepping.combine(b), *given, to=(end.q, end.qd), name="combine")
        self._learn(b, stages[:-1], start, end, h, "learn_all")

    def _learn(
        self,
        weights: Sequence[float],
        used: Sequence[RungeKuttaStage],
        start: RungeKuttaStage,
        end: RungeKuttaStage,
        h: Slot,
        name: str,
    ) -> None:
        if self.learns:
            rates = [stage.rate for stage in used]
            self.record(stepping.learn(weights), start.learned, rates, h, to=end.learned, name=name)

    def finished(
        self,
        start: RungeKuttaStage,
        end: RungeKuttaStage,
        inner: Mapping[Slot, Slot] | None = None,
        again: Slot | None = None,
        counted: Mapping[Slot, Slot] | None = None,
    ) -> Rollout:
        """The program of a step from one state to the next."""
        state = {start.q: end.q, start.qd: end.qd, **(counted or {})}
        if start.learned is not None and end.learned is not None:
            state[start.learned] = end.learned
        return self.program(state, inner or {}, again)

    def program(self, state: Mapping[Slot, Slot], inner: Mapping[Slot, Slot], again: Slot | None) -> Rollout:
        """The program whose state, and slots that are 0 at the beginning of a step, take these values after a pass."""
        carry = [(new.name, old.name) for old, new in (*state.items(), *inner.items())]
        persistent, cleared, stepwise, constant = (
            tuple(slot.name for slot in slots)
            for slots in (state, (*inner, *self.cleared), self.stepwise, self.constant)
        )
        program = Program(
            self.sizes, tuple(self.calls), tuple(carry), persistent, cleared, stepwise, constant, again and again.name,
            frozenset(self.discrete),
        )  # fmt: skip
        references, bases = (
            {slot.name: part for slot, part in zip(slots, self.within, strict=bool(slots))}
            for slots in (self.references, self.bases)
        )
        host = self.instants if self.plan.law == "host" else ()
        torques = {f"torque_{k}": part for k, part in enumerate(host)}
        return Rollout(program, self.pieces, references, bases, torques, self.rules)
