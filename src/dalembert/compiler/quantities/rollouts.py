"""The steps of a simulation: programs over the equations, traced, compiled and cached.

The pieces are in :mod:`dalembert.mechanics.motion.stepping` and :mod:`dalembert.mechanics.motion.control`; this module arranges them in
order. A program runs as one compiled loop (:func:`rollout_kernel`), or piece by piece from Python
(:func:`piece_kernels`) if a torque is a Python function, or if Newton's method closes the loops of the arm: the pieces
then take the joints of its whole tree from ``place``, which Python provides, as it provides the torque. Functions of
the state that are used on their own are in the table ``ROLLOUTS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

from dalembert.base.algebra.scalars import Values, select
from dalembert.compiler.graph.program import Call, Program
from dalembert.compiler.quantities.machine import Equations, Quantity, identity, sizes_of, table, taped
from dalembert.mechanics.coordinates.chain import AnyMechanism
from dalembert.mechanics.coordinates.pulled import contact_torque
from dalembert.mechanics.coordinates.variable_parameters import with_parameters
from dalembert.mechanics.equations import articulated
from dalembert.mechanics.equations.newton_euler import BaseMotion
from dalembert.mechanics.equations.regressor import width
from dalembert.mechanics.motion import contact, control, stepping
from dalembert.mechanics.motion.dry_friction import clearance_count
from dalembert.mechanics.motion.methods import METHODS, Tableau
from dalembert.mechanics.motion.stepping import Setting

if TYPE_CHECKING:
    import numpy as np

    from dalembert.compiler.emit.signature import Signature
    from dalembert.compiler.graph.tape import Graph
    from dalembert.compiler.kernel.cuda import DeviceRollout

LAWS: dict[str, Callable[..., list[Any]]] = {
    "pd": control.pd_gravity,
    "computed": control.computed_torque,
    "feedforward": control.feedforward,
    "passivity": control.passivity,
}
FOLLOWING = (*LAWS, "adaptive")  # the laws that follow a motion of the joints
BASE = 9  # entries of a motion of the base: [ω, ω̇, p̈]
PARABOLA = (0.0, 0.5, 1.0)  # fractions of a step at which a reference is given that is needed anywhere within it


def _energies(m: AnyMechanism, q: Values, qd: Values, parameters: Values) -> Any:
    return stepping.energies(with_parameters(m, parameters), q, qd)


def _row(arrays: str, summary: str, equations: Equations, **fields: Any) -> Quantity:
    return Quantity(arrays, summary, {"stepping": equations}, condensed=0, **fields)


ROLLOUTS = table("rollouts", {
    "tip_torque": _row("q, tip_wrench -> tau(n)", "Jᵀ h_e", contact_torque),
    "momentum": _row("q, qd -> p(n)", "p = B(q) q̇", stepping.momentum),
    "velocity": _row("q, p -> qd(n)", "q̇ = B⁻¹(q) p", stepping.velocity),
    "released": _row(
        "q, qd, tau -> B(n,n), r(n), forward(n), backward(n)", "B, τ − τ′ without dry friction, and static levels",
        contact.released, options=("tip_wrench",),
    ),
    "energy": _row(
        "q, qd, parameters -> T(), U()", "T and U of an arm with other parameters", _energies, whole=("off-diagonal",)
    ),
    **{name: _row("q, qd, reference, kp, kd -> tau(n)", f"the law '{name}'", law) for name, law in LAWS.items()},
    "adaptive": _row(
        "q, qd, reference, kp, kd, gamma(p), learned(p) -> tau(n), rate(p)", "Slotine and Li", control.adaptive,
        sizes=lambda m, columns: {"p": len(columns)},
    ),
})  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """The choice of a program: everything that changes the code, nothing that is data.

    method      of ``METHODS``, one with fixed steps
    law         "none", "given" (an array), one of ``FOLLOWING``, "tip" (of ``tip``), or "host" (a Python function)
    friction    whether the arm's friction acts
    stops       (lower, upper) position of the end stops of every joint; () for none
    restitution whether a coefficient of restitution is given; impacts are plastic otherwise
    tip_wrench  whether one is given; with "host" it is part of the torque
    parameters  whether the dynamic parameters are inputs
    tip         the law of the tip, with its numbers
    base_motion "" for a fixed base, "held" if its motion is constant over each step, "sampled" if it is a function of
                time
    twofold     whether torques from Python come as τ − Jᵀ h_e followed by τ, for friction that depends on the load
    model       the mechanism that the law assumes; by default the simulated one
    columns     of the regressor, whose parameters the law "adaptive" learns
    effort      the largest torque of each joint's drive; () for no limit
    """

    method: str = "rk4"
    law: str = "given"
    friction: bool = True
    stops: tuple[tuple[float, float], ...] = ()
    tip_wrench: bool = False
    parameters: bool = False
    tip: control.TipLaw | None = None
    restitution: bool = False
    twofold: bool = False
    base_motion: str = ""
    model: AnyMechanism | None = None
    columns: tuple[int, ...] = ()
    effort: tuple[float, ...] = ()


Piece = Callable[..., Sequence[Sequence[Any]]]


@dataclass(frozen=True)
class Rollout:
    """A program and the pieces it calls, each a function of lists of scalars.

    references  slots of the reference, and the fraction of the step at which each is evaluated
    bases       the same for a motion of the base that is a function of time
    torques     functions that Python provides, and the fraction of the step at which they are called
    """

    program: Program
    pieces: Mapping[str, Piece]
    references: Mapping[str, float]
    bases: Mapping[str, float]
    torques: Mapping[str, float]

    def calls(self) -> dict[str, Call]:
        """One call of each piece; its other calls have slots of the same sizes."""
        return {call.function: call for call in self.program.calls if call.function in self.pieces}


def _acting(mechanism: AnyMechanism, plan: Plan) -> AnyMechanism:
    """The mechanism with the friction that the plan includes."""
    return mechanism if plan.friction else stepping.smooth(mechanism, viscous=False)


def setting_of(mechanism: AnyMechanism, plan: Plan) -> Setting:
    """The setting that a plan simulates; with parameters as inputs, every passive joint may have friction."""
    passive = [(p, body) for p, body in enumerate(mechanism.tree.bodies) if p not in mechanism.actuated]
    dry_passive = (p for p, body in passive if plan.friction and (plan.parameters or stepping.has_dry_friction(body)))
    return Setting(_acting(mechanism, plan), plan.stops or ((-inf, inf),) * mechanism.n, tuple(dry_passive))


def _has_events(setting: Setting, plan: Plan) -> bool:
    """Whether any joint can stick or hit a stop."""
    return setting.has_events or (plan.parameters and plan.friction)


def rollout(mechanism: AnyMechanism, plan: Plan) -> Rollout:
    """The program for a plan."""
    setting, tableau = setting_of(mechanism, plan), METHODS[plan.method].tableau
    if tableau is None:
        return _variational(setting, plan)
    if _has_events(setting, plan):
        return _eventful(setting, plan, tableau.to_the_end)
    return _smooth(setting, plan, tableau)


def _each(letters: Iterable[str], stages: Iterable[int]) -> str:
    """The slots of these stages: "q2 v2 q3 v3" of "qv"."""
    return " ".join(f"{letter}{k}" for k in stages for letter in letters)


def _state(stage: int) -> tuple[str, str]:
    """The slots of a stage's positions and velocities."""
    return (f"q{stage}", f"v{stage}") if stage > 1 else ("q", "qd")


def _learned(stage: int) -> str:
    """The slot of the parameters learned by a law at a stage."""
    return f"learned{stage}" if stage > 1 else "learned"


class _Draft:
    """A program under construction: its calls so far, and its inputs other than the state.

    instants  of the stages, as fractions of the step, each once; "_0", "_1", … in the names of slots are their numbers
    sampled   whether the reference is needed anywhere within a step
    """

    def __init__(self, setting: Setting, plan: Plan, instants: tuple[float, ...], sampled: bool = False) -> None:
        n = setting.n
        given = 2 * n if plan.twofold else n
        self.setting, self.plan, self.instants = setting, plan, instants
        self.calls: list[Call] = []
        self.pieces: dict[str, Piece] = {}
        self.sizes: dict[str, int] = {"h": 1}
        self.stepwise: list[str] = ["h"]
        self.constant: list[str] = []
        self.references: dict[str, float] = {}
        self.torques: dict[str, float] = {}
        self.learned = ""  # the slot that is carried over into "learned"
        self.followed, self.base_slot = ("wanted", "base_within") if sampled else ("reference", "base_motion")
        within = PARABOLA if sampled else instants
        self.bases: dict[str, float] = {}
        if plan.law == "given":
            self._add("tau", given, self.stepwise)
        elif plan.law == "host":
            self._add("t", 1, self.stepwise)
            self.torques = {f"torque_{k}": part for k, part in enumerate(instants)}
            self.sizes |= {f"tau_{k}": given for k in range(len(instants))}
        self.wanted = 3 * plan.tip.space.m if plan.tip is not None else 3 * n if plan.law in FOLLOWING else 0
        if self.wanted:
            self.references = {f"reference_{k}": part for k, part in enumerate(within)}
        for slot in self.references:
            self._add(slot, self.wanted, self.stepwise)
        if plan.law in FOLLOWING:
            self._add("kp", n, self.constant)
            self._add("kd", n, self.constant)
        if self.learns:
            self._add("gamma", len(plan.columns), self.constant)
            self.sizes["tau"] = n
            self.pieces["adapt"] = lambda *values: control.adaptive(self.known, plan.columns, *values)
        if plan.tip_wrench:
            self._add("tip_wrench", sizes_of(setting.mechanism)["W"], self.stepwise)
        if plan.base_motion == "held":
            self._add("base_motion", BASE, self.stepwise)
        elif plan.base_motion:
            self.bases = {f"base_motion_{k}": part for k, part in enumerate(within)}
        for slot in self.bases:
            self._add(slot, BASE, self.stepwise)
        if plan.restitution:
            self._add("restitution", 1, self.constant)
        if plan.parameters:
            self._add("parameters", width(setting.mechanism.tree), self.constant)
        self.parameters = "parameters" if plan.parameters else ""

    @property
    def learns(self) -> bool:
        """Whether the law has a state of its own, the slot "learned"."""
        return self.plan.law == "adaptive"

    @property
    def known(self) -> AnyMechanism:
        """The mechanism that the law assumes: without the parameters that are inputs."""
        return self.setting.mechanism if self.plan.model is None else _acting(self.plan.model, self.plan)

    def _add(self, name: str, size: int, kind: list[str]) -> None:
        self.sizes[name] = size
        kind.append(name)

    def call(
        self,
        function: str,
        inputs: str,
        outputs: str,
        when: str | None = None,
        again: str | None = None,
        carry: str = "",
    ) -> None:
        """Add a call; slots are words, and "new>old" is carried over when the call is repeated."""
        carried = tuple((new, old) for new, _, old in (pair.partition(">") for pair in carry.split()))
        self.calls.append(Call(function, tuple(inputs.split()), tuple(outputs.split()), when, again, carried))

    def place(self, q: str) -> str:
        """The slot from which equations take a position: q, or all joints of the tree, which are computed first."""
        if not self.setting.mechanism.by_newton:
            return q
        self.sizes["tree_" + q] = self.setting.mechanism.tree.n
        self.call("place", q, "tree_" + q)
        return "tree_" + q

    def guard(self, x: str, qd: str, h: str) -> str:
        """The slot that becomes NaN if a closed chain approaches a singular pose, and the call that sets it."""
        clearances = clearance_count(self.setting.mechanism)
        if not clearances:
            return ""
        self.sizes |= {"unsafe": 1, "away": clearances}
        self.pieces["near_singular"] = lambda *values: stepping.near_singular(self.setting, *values)
        self.call("near_singular", f"{x} {qd} {h}", "unsafe away")
        return "unsafe"

    def torque(self, stage: int, part: float, x: str, times: str, when: str | None = None) -> None:
        """Add the call for the torque of a stage at this fraction of the step: of a Python function, or of an adaptive law.

        x      the slot from which equations take the position
        times  the slots of instants that a Python function receives in addition to the state
        """
        k, (q, qd) = self.instants.index(part), _state(stage)
        if self.plan.law == "host":
            self.call(f"torque_{k}", f"{q} {qd} {times}", f"tau_{k}", when)
        elif self.learns:
            given = f"{self.followed}_{k} kp kd gamma {_learned(stage)}"
            self.call("adapt", f"{x} {qd} {given}", f"tau rate{stage}", when)

    def load(self, part: float) -> str:
        """The slots from which torque and contact at this fraction of the step are computed."""
        k = self.instants.index(part)
        reference = f"{self.followed}_{k}"
        law = {"none": "", "given": "tau", "adaptive": "tau", "host": f"tau_{k}", "tip": reference}
        wrench = "tip_wrench" if self.plan.tip_wrench else ""
        base = {"": "", "held": "base_motion", "sampled": f"{self.base_slot}_{k}"}[self.plan.base_motion]
        return f"{law.get(self.plan.law, f'{reference} kp kd')} {wrench} {base} {self.parameters}"

    def loaded(self, function: Callable[..., Any]) -> Piece:
        """A function of (setting, q, q̇, τ, h_e, base) as one of q, q̇ and the slots of :meth:`load`."""

        def piece(q: Any, qd: Any, *values: Any) -> Any:
            return function(*self.take(values, q, qd))

        return piece

    def take(self, values: Sequence[Any], q: Any, qd: Any) -> tuple[Any, ...]:
        """(setting, q, q̇, τ, h_e, base) from the contents of the slots of :meth:`load`."""
        rest = list(values)
        setting = self.with_parameters(rest.pop()) if self.plan.parameters else self.setting
        base = BaseMotion.of(rest.pop()) if self.plan.base_motion else None
        h_e = rest.pop() if self.plan.tip_wrench else None
        if self.plan.law == "none":
            tau: Sequence[Any] = [0.0] * setting.n
        elif self.plan.tip is not None:
            tau = control.tip_control(self.plan.tip, q, qd, *rest)
        elif self.plan.law in LAWS:
            tau = LAWS[self.plan.law](self.known, q, qd, *rest)
        else:
            (tau,) = rest
        if self.plan.effort and self.plan.law not in ("none", "given", "host"):  # these are already limited
            tau = control.limited(tau, self.plan.effort)
        return setting, q, qd, tau, h_e, base

    def with_parameters(self, parameters: Sequence[Any]) -> Setting:
        """The setting with other parameters."""
        mechanism = with_parameters(self.setting.mechanism, parameters)
        return replace(self.setting, mechanism=_acting(mechanism, self.plan))

    def stage(self, tableau: Tableau, k: int, h: str) -> None:
        """Add the state of stage k from the previous ones, counted from 1; calls that differ only in the stage share a piece."""
        used = {j: weight for j, weight in enumerate(tableau.a[k - 1], 1) if weight}
        rows = list(dict.fromkeys(tuple(filter(None, row)) for row in tableau.a[1:]))
        name = f"advance{rows.index(tuple(used.values()))}"
        self.pieces[name] = stepping.advance(tuple(used.values()))
        self.call(name, f"q qd {' '.join(_state(j)[1] for j in used)} {_each('a', used)} {h}", f"q{k} v{k}")
        if self.learns:
            name = name.replace("advance", "learn")
            self.pieces[name] = stepping.learn(tuple(used.values()))
            self.call(name, f"learned {_each(['rate'], used)} {h}", _learned(k))

    def combine(self, tableau: Tableau, h: str, unsafe: str) -> None:
        """Add the state at the end of the step, as that of one more stage."""
        end = len(tableau.b) + 1
        self.pieces["combine"] = stepping.combine(tableau.b)
        self.call(
            "combine", f"q qd {_each('v', range(2, end))} {_each('a', range(1, end))} {h} {unsafe}", f"q{end} v{end}"
        )
        if self.learns:
            self.pieces["learn_all"] = stepping.learn(tableau.b)
            self.call("learn_all", f"learned {_each(['rate'], range(1, end))} {h}", _learned(end))
            slots = (*map(_learned, range(1, end + 1)), *(f"rate{k}" for k in range(1, end)))
            self.sizes |= dict.fromkeys(slots, len(self.plan.columns))
            self.learned = _learned(end)

    def finished(
        self, slots: dict[str, int], state: dict[str, str], inner: dict[str, str], again: str | None = None
    ) -> Rollout:
        """The program, with the sizes of slots that are words, and state and inner slots with what is carried over into them."""
        sizes = {slot: size for words, size in slots.items() for slot in words.split()}
        if self.learns:
            state = {**state, "learned": self.learned}
        program = Program(
            {**sizes, **self.sizes}, tuple(self.calls), tuple((new, old) for old, new in (*state.items(), *inner.items())),
            tuple(state), tuple(inner), tuple(self.stepwise), tuple(self.constant), again,
        )  # fmt: skip
        return Rollout(program, self.pieces, self.references, self.bases, self.torques)


# -- Runge–Kutta, smooth ---------------------------------------------------------------------------


def _smooth(setting: Setting, plan: Plan, tableau: Tableau) -> Rollout:
    n, draft = setting.n, _Draft(setting, plan, tableau.instants)
    unsafe, end = "", len(tableau.b) + 1
    for k, part in enumerate(tableau.c, 1):
        q, v = _state(k)
        if k > 1:
            draft.stage(tableau, k, "h")
        x = draft.place(q)
        if k == 1:
            unsafe = draft.guard(x, v, "h")
        draft.torque(k, part, x, "t h")
        draft.call("accelerate", f"{x} {v} {draft.load(part)}", f"a{k}")
    draft.combine(tableau, "h", unsafe)
    # for many joints, the formulation that is linear in their number
    long = n > 8 and setting.mechanism.identity and not plan.parameters and not setting.mechanism.omitted

    def accelerate(setting: Setting, *values: Any) -> Any:
        if long:
            return (articulated.forward_dynamics(stepping.smooth(setting.mechanism), *values),)
        return (stepping.accelerate(setting, *values),)

    draft.pieces["accelerate"] = draft.loaded(accelerate)
    slots = {f"q qd {_each('qv', range(2, end + 1))} {_each('a', range(1, end))}": n}
    return draft.finished(slots, {"q": f"q{end}", "qd": f"v{end}"}, {})


# -- Runge–Kutta with dry friction and stops -------------------------------------------------------


def _eventful(setting: Setting, plan: Plan, tableau: Tableau) -> Rollout:
    """The passes of a step, in the order of :mod:`dalembert.mechanics.motion.contact`."""
    draft = _Passes(setting, plan, tableau)
    draft.begin()
    draft.impact()
    draft.stages()
    return draft.events()


class _Passes(_Draft):
    """A program whose steps are taken in passes.

    position  the slot from which equations take q
    end       the slots of q, q̇ and q̈ at the end of a pass, and ``pushed`` that of the loads there
    """

    def __init__(self, setting: Setting, plan: Plan, tableau: Tableau) -> None:
        super().__init__(setting, plan, tableau.instants, sampled=True)
        self.tableau, self.last = tableau, len(tableau.b)
        self.position = "tree_q" if setting.mechanism.by_newton else "q"
        self.end, self.pushed = f"q{self.last + 1} v{self.last + 1} a{self.last}", f"push{self.last}"
        self.rubbed = self.when_dry(f"speed{self.last + 1} rise{self.last}")
        self.pieces |= {
            "clock": lambda *values: contact.clock(setting, *values),
            "load": self.loaded(contact.loaded),
            "touch": self.of(contact.touch),
            "strike": self.of(self.strike),
            "take": lambda *values: values,
            "pivot": self.of(contact.pivot),
            "solve": self.of(contact.solved),
            "bear": self.of(contact.borne),
            "watch": self.of(contact.watch, 2),
            "aim": self.of(contact.aim, 2),
            "finish": self.of(contact.finish),
        }

    def when_dry(self, slots: str) -> str:
        """Slots that exist only if passive joints have friction."""
        return slots if self.setting.dry_passive else ""

    def varies(self, slots: str) -> str:
        """Slots of static levels, which exist only if these depend on the state."""
        return slots if self.setting.varies else ""

    def of(self, function: Callable[..., Any], instants: int = 1) -> Piece:
        """A function of the setting, whose last slots may be static levels at this many instants, and the parameters."""

        def piece(*values: Any) -> Any:
            here = self.setting
            if self.plan.parameters:
                *values, parameters = values  # type: ignore[assignment]
                here = self.with_parameters(parameters)
            if self.setting.varies:
                values, levels = values[:-instants], tuple(values[-instants:])
                here = replace(here, levels=levels)
            return function(here, *values)

        return piece

    def strike(self, setting: Setting, *values: Any) -> Any:
        """An impact, whose coefficient of restitution is the last slot if it is given."""
        if self.plan.restitution:
            return contact.strike(setting, values[-1][0], *values[:-1])
        return contact.strike(setting, 0.0, *values)

    def equations(self, k: int, when: str | None = None) -> None:
        """Add the calls that compute B, r (and Γ_p, Γ̇_p q̇, and static levels) of a stage."""
        q, qd = _state(k)
        part = self.tableau.c[k - 1]
        x = self.place(q) if when is None else self.position
        self.torque(k, part, x, "t step done", when)
        outputs = f"B{k} r{k} {self.when_dry(f'G{k} drift{k}')} {self.varies(f'levels{k}')}"
        self.call("load", f"{x} {qd} {self.load(part)}", outputs, when)

    def begin(self) -> None:
        """Add the length of the pass, and the references within it."""
        self.call("clock", "trial done h", "step left turn turns")
        for sample, slot, within in (
            ("sample", self.followed, self.references),
            ("sample_base", self.base_slot, self.bases),
        ):
            for k, part in enumerate(self.instants if within else ()):
                self.pieces[f"{sample}_{k}"] = stepping.reference_at(part)
                self.call(f"{sample}_{k}", f"{' '.join(within)} done step h", f"{slot}_{k}")

    def impact(self) -> None:
        """Add the first stage's equations and the impacts before it, after which they are computed again."""
        dry, levels, known = self.when_dry, self.varies("levels1"), self.parameters
        bounces = "restitution" if self.plan.restitution else ""
        self.equations(1)
        self.call("touch", f"q qd slip still done h {dry('G1')} {levels} {known}", "knock shaken")
        self.call(
            "strike", f"q qd B1 knock slip still tries left turn {dry('G1 h')} {bounces} {levels} {known}",
            "struck left1 turn1 more " + dry("slipped"), "knock", "more", "left1>left turn1>turn",
        )  # fmt: skip
        self.call("take", "struck " + dry("slipped"), "qd " + dry("slip"), "knock")
        self.equations(1, "shaken")

    def stages(self) -> None:
        """Add the choice of the held contacts, and the stages of the method with these."""
        dry, known = self.when_dry, self.parameters
        unsafe = self.guard(self.position, "qd", "step")
        self.call(
            "pivot", f"q qd B1 r1 slip tries turns {dry('G1 drift1')} {self.varies('levels1')} {known}",
            "held way dry a1 push1 slip1 turns1 others " + dry("speed1 rise1"), None, "others", "slip1>slip turns1>turns",
        )  # fmt: skip
        slide = "way" if self.setting.varies else "dry"
        for k in range(2, self.last + 1):
            self.stage(self.tableau, k, "step")
            self.equations(k)
            inputs = f"B{k} r{k} held {slide} {dry(f'G{k} drift{k}')} {self.varies(f'levels{k}')} {known}"
            if k < self.last:
                self.call("solve", inputs, f"a{k}")
            else:
                self.call("bear", inputs, f"a{k} {self.pushed} " + dry(f"rise{k}"))
        self.combine(self.tableau, "step", unsafe)

    def events(self) -> Rollout:
        """Add the search for events and the end of the pass; the program is then finished."""
        last, known, dry = self.last, self.parameters, self.when_dry
        if self.setting.dry_passive:
            self.pieces["contacts"] = lambda *values: contact.contact_speeds(self.setting, *values)
            self.call("contacts", f"{self.place(f'q{last + 1}')} v{last + 1}", f"speed{last + 1}")
        seen = (
            f"q qd held way a1 push1 {self.end} {self.pushed} step tries {dry('speed1 rise1')} {self.rubbed} "
            f"{self.varies(f'levels1 levels{last}')} {known}"
        )
        inner = {slot: f"{slot}_next" for slot in ("slip", "still", "trial", "done", "tries")}
        self.call("watch", seen, "look")
        self.call("aim", seen, "cut up_to", "look")
        pass_ = f"q qd way {self.end} slip step look cut up_to trial done tries h"
        self.call(
            "finish", f"{pass_} {self.rubbed} {self.varies(f'levels{last}')} {known}",
            f"q_next v_next {' '.join(inner.values())} again",
        )  # fmt: skip
        if self.learns:

            def learn(learned: Any, learned1: Any, *values: Any) -> Any:
                complete, _ = contact.keeps(self.setting, *values)
                return ([select(complete, x, y) for x, y in zip(learned1, learned, strict=True)],)

            self.pieces["learn_kept"] = learn
            self.sizes["learned_next"] = len(self.plan.columns)
            self.learned = "learned_next"
            self.call("learn_kept", f"learned {_learned(last + 1)} look cut done tries h", "learned_next")
        return self.finished(self.slots(), {"q": "q_next", "qd": "v_next"}, inner, "again")

    def slots(self) -> dict[str, int]:
        """The sizes of the slots of a pass."""
        n, last, contacts, brakes = self.setting.n, self.last, len(self.setting.contacts), len(self.setting.dry_passive)
        stages, instants = range(1, last + 1), range(len(self.instants))
        of_contacts = f"held way dry push1 {self.pushed} slip slip1 slip_next still still_next"
        return {
            f"q qd {_each('qv', range(2, last + 2))} q_next v_next {_each('ar', stages)} struck left left1": n,
            "step turn turn1 turns turns1 knock shaken more others look cut up_to trial done tries": 1,
            "trial_next done_next tries_next again": 1,
            _each("B", stages): n * n,
            f"{of_contacts} {self.when_dry('slipped speed1 rise1')} {self.rubbed}": contacts,
            self.when_dry(_each("G", stages)): n * brakes,
            self.when_dry(_each(["drift"], stages)): brakes,
            self.varies(_each(["levels"], stages)): 2 * contacts,
            _each(["wanted_"], instants if self.wanted else ()): self.wanted,
            _each(["base_within_"], instants if self.bases else ()): BASE,
        }


# -- variational -----------------------------------------------------------------------------------


def _finish(q: Any, v1: Any, p: Any, p1: Any, again: Any, h: Any, *unsafe: Any) -> Any:
    """(q, p) of the next step once v has converged; NaN near a singular pose of a closed chain."""
    moved = [select(again[0], x, x + h[0] * y) for x, y in zip(q, v1, strict=True)]
    for spoilt in unsafe:
        moved = [x + spoilt[0] for x in moved]
    return moved, [select(again[0], x, y) for x, y in zip(p, p1, strict=True)]


def _settle(again: Any, converged: Any) -> Any:
    """A state that has converged waits for the others of the batch: (must it wait, has it converged, is it active)."""
    ready, before = stepping.no(again[0]), converged[0]
    return [stepping.either(before, again[0])], [stepping.either(before, ready)], [select(before, 0.0, again[0])]


def _keep(converged: Any, v: Any, v1: Any) -> Any:
    return ([select(converged[0], x, y) for x, y in zip(v, v1, strict=True)],)


def _variational(setting: Setting, plan: Plan) -> Rollout:
    middle = 0.5
    draft = _Draft(setting, plan, (middle,))

    def solve(q_m: Any, p: Any, v: Any, rounds: Any, h: Any, *values: Any) -> Any:
        s, _, _, *load = draft.take(values, q_m, v)
        return stepping.discrete_legendre(s, q_m, p, v, rounds, h, *load)

    draft.pieces |= {
        "midpoint": stepping.midpoint,
        "solve": solve,
        "settle": _settle,
        "finish": _finish,
        "keep": _keep,
    }
    draft.call("midpoint", "q v h", "q_m")
    unsafe = draft.guard("q", "v", "h")
    if plan.law == "host":
        draft.call("torque_0", "q_m v t h", "tau_0")
    draft.call("solve", f"q_m p v rounds h {draft.load(middle)}", "v1 p1 rounds1 again")
    draft.call("settle", "again settled", "wait settled1 working")
    draft.call("finish", f"q v1 p p1 wait h {unsafe}", "q1 p2")
    draft.call("keep", "settled v v1", "v2")
    slots = {"q p v q_m q1 v1 v2 p1 p2": setting.n, "rounds rounds1 again settled settled1 wait working": 1}
    inner = {"rounds": "rounds1", "settled": "settled1"}
    return draft.finished(slots, {"q": "q1", "p": "p2", "v": "v2"}, inner, "working")


# -- compiled --------------------------------------------------------------------------------------


def _signature(call: Call, sizes: Mapping[str, int]) -> Signature:
    from dalembert.compiler.emit.signature import Signature

    inputs, outputs = (tuple((f"{x}{k}_", (sizes[slot],)) for k, slot in enumerate(slots)) for x, slots in (
        ("x", call.inputs), ("y", call.outputs)
    ))  # fmt: skip
    return Signature(inputs, outputs)


def rollout_kernel(mechanism: AnyMechanism, plan: Plan) -> np.ufunc:
    """The whole rollout as one gufunc; :meth:`Program.signature` lists its arguments.

    ``out=`` must be given: its shape determines how often the state is recorded.
    """
    from dalembert.compiler.emit.rollout import rollout_ir
    from dalembert.compiler.kernel.compile import target
    from dalembert.compiler.kernel.gufunc import gufunc
    from dalembert.compiler.kernel.make import code_of, shared_kernel

    def make(key: str) -> np.ufunc:
        whole = rollout(mechanism, plan)
        program = whole.program

        def ir() -> list[str]:
            return rollout_ir(program, _graphs(whole), target().form())

        doc = f"Many steps from {', '.join(program.state)} in one loop."
        return gufunc(
            code_of(key, ir, f"the simulation of {mechanism.n} joints"),
            program.signature(), "rollout", doc, (rollout_kernel, (mechanism, plan)), kinds="d",
        )  # fmt: skip

    return shared_kernel(("rollout", *_identity(mechanism, plan)), make)


def _graphs(whole: Rollout) -> dict[str, tuple[Graph, Signature]]:
    """The tapes of the pieces of a rollout, and their arrays."""
    signatures = {name: _signature(call, whole.program.sizes) for name, call in whole.calls().items()}
    return {name: (taped(arrays.inputs, whole.pieces[name]), arrays) for name, arrays in signatures.items()}


def device_rollout(mechanism: AnyMechanism, plan: Plan, scalar: str) -> DeviceRollout:
    """The whole rollout as a kernel for GPUs."""
    from dalembert.compiler.kernel.cuda import DeviceRollout

    whole = rollout(mechanism, plan)
    return DeviceRollout(_identity(mechanism, plan), whole.program, lambda: _graphs(whole), scalar)


def _identity(mechanism: AnyMechanism, plan: Plan) -> tuple[str, ...]:
    """The key under which the kernels of a plan are stored."""
    model = () if plan.model is None else (identity(plan.model),)
    return identity(mechanism), repr(plan), *model


def _relevant_plan(mechanism: AnyMechanism, plan: Plan, name: str) -> Plan:
    """The plan without settings that do not affect a piece, which is then compiled once for all such plans."""
    bare = replace(plan, stops=(), restitution=False)
    at_stops = name in ("touch", "strike", "pivot", "watch", "aim", "finish")
    if not at_stops and _has_events(setting_of(mechanism, bare), bare):
        plan = bare
    if name != "strike":
        plan = replace(plan, restitution=False)
    if name in ("load", "accelerate") or (name == "solve" and METHODS[plan.method].tableau is None):
        # neither a torque nor a motion of the base depends on its origin
        plan = replace(plan, base_motion="held") if plan.base_motion else plan
        return replace(plan, law="given", model=None, columns=()) if plan.law in ("host", "adaptive") else plan
    if name.startswith(("sample", "adapt", "learn")):
        return plan
    return replace(
        plan, law="none", tip_wrench=False, tip=None, twofold=False, base_motion="", model=None, columns=()
    )  # fmt: skip


def piece_kernel(mechanism: AnyMechanism, plan: Plan, name: str) -> np.ufunc:
    """One piece of the program as a gufunc."""
    from dalembert.compiler.kernel.make import graph_kernel

    plan = _relevant_plan(mechanism, plan, name)
    whole = rollout(mechanism, plan)
    call = whole.calls()[name]
    arrays = _signature(call, whole.program.sizes)
    return graph_kernel(
        ("piece", name, *_identity(mechanism, plan)),
        arrays,
        lambda: taped(arrays.inputs, whole.pieces[name]),
        name,
        f"{name}({', '.join(call.inputs)})",
        (piece_kernel, (mechanism, plan, name)),
        f"{mechanism.n} joints",
    )


def piece_kernels(mechanism: AnyMechanism, plan: Plan) -> dict[str, np.ufunc]:
    """Every piece of the program."""
    return {name: piece_kernel(mechanism, plan, name) for name in rollout(mechanism, plan).calls()}
