"""What a simulation's step is made of: programs over the equations, traced, compiled and cached.

The pieces are in :mod:`dalembert.motion.stepping` and :mod:`dalembert.motion.control`; here
is in which order they are called. A program runs as one compiled loop (:func:`rollout_kernel`), or
piece by piece from Python (:func:`piece_kernels`) where a torque is a Python function, or where
Newton's method closes the loops of the arm: pieces then take the joints of its whole tree from
``place``, which Python is to provide, as it does the torque.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

from dalembert.algebra.scalars import select
from dalembert.coordinates.chain import AnyMechanism
from dalembert.coordinates.pulled import jacobian
from dalembert.equations import articulated
from dalembert.equations.regressor import WIDTH
from dalembert.graph.program import Call, Program
from dalembert.motion import contact, control, stepping
from dalembert.motion.rubbing import all_bodies, clearance_count, passive_joints
from dalembert.motion.stepping import Setting

if TYPE_CHECKING:
    import numpy as np

    from dalembert.emit.llvm import Signature
    from dalembert.graph.tape import Graph

LAWS: dict[str, Callable[..., list[Any]]] = {"pd": control.pd_gravity, "computed": control.computed_torque}
STAGES = ("_0", "_half", "_1")  # the instants 0, h/2 and h of a step


@dataclass(frozen=True)
class Plan:
    """Which program: everything that changes the code, nothing that is data.

    method      "rk4" or "variational"
    law         "none", "given" (an array), "pd", "computed", "tip" (of ``tip``), or "host" (a Python function)
    friction    whether the arm's friction acts
    stops       (lower, upper) of every joint, to bump into; () for none
    restitution whether a coefficient of restitution is given; stops are plastic otherwise
    tip_wrench  whether one is given; with "host" it is part of the torque
    parameters  whether the dynamic parameters are inputs
    tip         the law of the tip, with its numbers
    """

    method: str = "rk4"
    law: str = "given"
    friction: bool = True
    stops: tuple[tuple[float, float], ...] = ()
    tip_wrench: bool = False
    parameters: bool = False
    tip: control.TipLaw | None = None
    restitution: bool = False


Piece = Callable[..., Sequence[Sequence[Any]]]


@dataclass(frozen=True)
class Rollout:
    """A program and the pieces it calls, each a function of lists of scalars."""

    program: Program
    pieces: Mapping[str, Piece]

    def calls(self) -> dict[str, Call]:
        """For each piece one of its calls; the others have slots of the same sizes."""
        return {call.function: call for call in self.program.calls if call.function in self.pieces}


def setting_of(mechanism: AnyMechanism, plan: Plan) -> Setting:
    """What a plan simulates; parameters that are not known yet may make every passive joint rub."""
    rubs: tuple[int, ...] = ()
    if plan.friction:
        bodies = all_bodies(mechanism)
        rubs = tuple(p for p in passive_joints(mechanism) if plan.parameters or stepping.has_dry_friction(bodies[p]))
    return Setting(mechanism, plan.stops or ((-inf, inf),) * mechanism.n, rubs)


def rollout(mechanism: AnyMechanism, plan: Plan) -> Rollout:
    """The program for a plan."""
    if not plan.friction:
        mechanism = stepping.smooth(mechanism, viscous=False)
    setting = setting_of(mechanism, plan)
    if plan.method == "variational":
        return _variational(setting, plan)
    if _has_events(mechanism, plan):
        return _eventful(setting, plan)
    return _smooth(setting, plan)


# -- pieces that all programs share --------------------------------------------------------------


class _Inputs:
    """What is given besides the state: slots, and how a piece takes them apart again."""

    def __init__(self, setting: Setting, plan: Plan) -> None:
        n = setting.n
        self.setting, self.plan = setting, plan
        self.sizes: dict[str, int] = {"h": 1}
        self.stepwise: list[str] = ["h"]
        self.constant: list[str] = []
        if plan.law == "given":
            self._add("tau", n, self.stepwise)
        elif plan.law == "host":
            self._add("t", 1, self.stepwise)
        self.wanted = 3 * plan.tip.space.m if plan.tip is not None else 3 * n if plan.law in LAWS else 0
        for stage in STAGES if self.wanted else ():
            self._add("reference" + stage, self.wanted, self.stepwise)
        if plan.law in LAWS:
            self._add("kp", n, self.constant)
            self._add("kd", n, self.constant)
        if plan.tip_wrench:
            self._add("tip_wrench", 6, self.stepwise)
        if plan.restitution:
            self._add("restitution", 1, self.constant)
        if plan.parameters:
            self._add("parameters", WIDTH * len(all_bodies(setting.mechanism)), self.constant)
        self.by_newton = setting.mechanism.by_newton
        self.guarded = clearance_count(setting.mechanism)
        self.joints = setting.mechanism.tree.n if self.by_newton else n

    def _add(self, name: str, size: int, kind: list[str]) -> None:
        self.sizes[name] = size
        kind.append(name)

    def placed(self, calls: list[Call], q: str) -> str:
        """The slot that equations take a position from: q, or all joints of the tree, found before."""
        if not self.by_newton:
            return q
        self.sizes["tree_" + q] = self.joints
        calls.append(Call("place", (q,), ("tree_" + q,)))
        return "tree_" + q

    def parameters(self) -> tuple[str, ...]:
        """The slot of the parameters, if they are given."""
        return ("parameters",) if self.plan.parameters else ()

    def load(self, stage: str) -> tuple[str, ...]:
        """The slots that torque and contact are made from."""
        law = {
            "none": (),
            "given": ("tau",),
            "host": ("tau" + stage,),
            "tip": ("reference" + stage,),
        }.get(self.plan.law, ("reference" + stage, "kp", "kd"))
        return (*law, *(("tip_wrench",) if self.plan.tip_wrench else ()), *self.parameters())

    def take(
        self, values: Sequence[Sequence[Any]], q: Sequence[Any], qd: Sequence[Any]
    ) -> tuple[Setting, Sequence[Any], Sequence[Any] | None]:
        """(setting, τ, h_e) from what is in the slots of :meth:`load`."""
        rest = list(values)
        setting = self.setting_of(rest.pop()) if self.plan.parameters else self.setting
        h_e = rest.pop() if self.plan.tip_wrench else None
        if self.plan.law == "none":
            tau: Sequence[Any] = [0.0] * setting.n
        elif self.plan.tip is not None:
            tau = control.tip_control(self.plan.tip, q, qd, *rest)
        elif self.plan.law in LAWS:
            # a controller knows the arm it was made for, not the parameters it meets
            tau = LAWS[self.plan.law](self.setting.mechanism, q, qd, *rest)
        else:
            (tau,) = rest
        return setting, tau, h_e

    def setting_of(self, parameters: Sequence[Any]) -> Setting:
        """The setting with other parameters."""
        mechanism = stepping.with_parameters(self.setting.mechanism, parameters)
        if not self.plan.friction:
            mechanism = stepping.smooth(mechanism, viscous=False)
        return Setting(mechanism, self.setting.stops, self.setting.rubs)


def _host_sizes(inputs: _Inputs) -> dict[str, int]:
    return {"tau" + stage: inputs.setting.n for stage in STAGES} if inputs.plan.law == "host" else {}


def _guard(calls: list[Call], inputs: _Inputs, q: str, qd: str, h: str) -> tuple[str, ...]:
    """The slot that is not a number where a closed chain comes near a singular pose, and the call for it."""
    if not inputs.guarded:
        return ()
    inputs.sizes |= {"unsafe": 1, "away": inputs.guarded}
    calls.append(Call("near_singular", (q, qd, h), ("unsafe", "away")))
    return ("unsafe",)


# -- Runge–Kutta 4, smooth -----------------------------------------------------------------------


def _smooth(setting: Setting, plan: Plan) -> Rollout:
    n, inputs = setting.n, _Inputs(setting, plan)

    def accelerate(q: Any, qd: Any, *values: Any) -> Any:
        s, tau, h_e = inputs.take(values, q, qd)
        return (stepping.accelerate(s, q, qd, tau, h_e),)

    def with_articulated_bodies(q: Any, qd: Any, *values: Any) -> Any:
        s, tau, h_e = inputs.take(values, q, qd)
        return (articulated.forward_dynamics(stepping.smooth(s.mechanism), q, qd, tau, h_e),)

    calls: list[Call] = []
    stages = (("q", "qd", "_0"), ("q2", "v2", "_half"), ("q3", "v3", "_half"), ("q4", "v4", "_1"))
    for k, (q, v, stage) in enumerate(stages, 1):
        x = inputs.placed(calls, q)
        if k == 1:
            unsafe = _guard(calls, inputs, x, "qd", "h")
        if plan.law == "host":
            calls.append(Call("torque" + stage, (q, v, "t", "h"), ("tau" + stage,)))
        calls.append(Call("accelerate", (x, v, *inputs.load(stage)), (f"a{k}",)))
        if k < 4:
            part = "whole" if k == 3 else "half"
            calls.append(Call(part, ("q", "qd", v, f"a{k}", "h"), (f"q{k + 1}", f"v{k + 1}")))
    calls.append(Call("combine", ("q", "qd", "v2", "v3", "v4", "a1", "a2", "a3", "a4", "h", *unsafe), ("q5", "v5")))
    sizes = dict.fromkeys(("q", "qd", *(f"{x}{k}" for k in (2, 3, 4, 5) for x in "qv"), "a1", "a2", "a3", "a4"), n)
    program = Program(
        {**sizes, **inputs.sizes, **_host_sizes(inputs)}, tuple(calls), (("q5", "q"), ("v5", "qd")), ("q", "qd"),
        (), tuple(inputs.stepwise), tuple(inputs.constant),
    )  # fmt: skip
    pieces: dict[str, Piece] = {
        "accelerate": accelerate,
        "half": stepping.advance(0.5),
        "whole": stepping.advance(1.0),
        "combine": stepping.combine_safely if inputs.guarded else stepping.combine,
    }
    if inputs.guarded:
        pieces["near_singular"] = lambda *x: stepping.near_singular(setting, *x)
    long = n > 8 and setting.mechanism.identity  # then what is linear in the number of joints
    if long and not plan.parameters:
        pieces["accelerate"] = with_articulated_bodies
    return Rollout(program, pieces)


# -- Runge–Kutta 4 with dry friction and stops ---------------------------------------------------


def _eventful(setting: Setting, plan: Plan) -> Rollout:
    n, inputs = setting.n, _Inputs(setting, plan)
    inner = ("slip", "still", "trial", "done", "tries")
    known = inputs.parameters()

    def of(function: Callable[..., Any]) -> Piece:
        """A function of the setting, whose last slot may be the parameters."""

        def piece(*values: Any) -> Any:
            if plan.parameters:
                return function(inputs.setting_of(values[-1]), *values[:-1])
            return function(setting, *values)

        return piece

    def load(q: Any, qd: Any, *values: Any) -> Any:
        s, tau, h_e = inputs.take(values, q, qd)
        return contact.loaded(s, q, qd, tau, h_e)

    def strike(s: Setting, *values: Any) -> Any:
        if plan.restitution:
            return contact.strike(s, values[-1][0], *values[:-1])
        return contact.strike(s, 0.0, *values)

    rubs = bool(setting.rubs)
    bounces = ("restitution",) if plan.restitution else ()
    calls = [Call("clock", ("trial", "done", "h"), ("step", "left", "turn", "turns"))]
    loads = {stage: tuple(x.replace("reference", "wanted") for x in inputs.load(stage)) for stage in STAGES}
    if inputs.wanted:
        samples = tuple("reference" + stage for stage in STAGES)
        for stage in STAGES:
            calls.append(Call("sample" + stage, (*samples, "done", "step", "h"), ("wanted" + stage,)))

    def equations(k: int, q: str, qd: str, stage: str, when: str | None = None) -> tuple[str, ...]:
        """The calls that say B, r (and Γ_p, Γ̇_p q̇) of a stage, and their slots."""
        slots = tuple(f"{x}{k}" for x in (("B", "r", "G", "drift") if rubs else ("B", "r")))
        if plan.law == "host":
            calls.append(Call("torque" + stage, (q, qd, "t", "step", "done"), ("tau" + stage,), when))
        x = inputs.placed(calls, q) if when is None else "tree_q" if inputs.by_newton else q
        calls.append(Call("load", (x, qd, *loads[stage]), slots, when))
        return slots

    B, r, *G = equations(1, "q", "qd", "_0")
    directions, drift = tuple(G[:1]), tuple(G[1:])
    struck = ("struck", *(("slipped",) if rubs else ()))
    calls += [
        Call(
            "touch", ("q", "qd", "slip", "still", "done", "h", *directions, *known), ("knock", "shaken"),
        ),
        Call(
            "strike",
            (
                "q", "qd", B, "knock", "slip", "still", "tries", "left", "turn", *directions,
                *(("h",) if rubs else ()), *bounces, *known,
            ),
            ("struck", "left1", "turn1", "more", *struck[1:]), "knock", "more", (("left1", "left"), ("turn1", "turn")),
        ),
        Call("take", struck, ("qd", "slip")[: len(struck)], "knock"),
    ]  # fmt: skip
    equations(1, "q", "qd", "_0", "shaken")
    unsafe = _guard(calls, inputs, "tree_q" if inputs.by_newton else "q", "qd", "step")
    calls.append(
        Call(
            "pivot", ("q", "qd", B, r, "slip", "tries", "turns", *directions, *drift, *known),
            ("held", "way", "dry", "a1", "push1", "slip1", "turns1", "others", *(("speed1", "rise1") if rubs else ())),
            None, "others", (("slip1", "slip"), ("turns1", "turns")),
        )
    )  # fmt: skip
    calls.append(Call("half", ("q", "qd", "qd", "a1", "step"), ("q2", "v2")))
    for k, stage in ((2, "_half"), (3, "_half"), (4, "_1")):
        B, r, *G = equations(k, f"q{k}", f"v{k}", stage)
        given = (B, r, "held", "dry", *G, *known)
        if k < 4:
            calls.append(Call("solve", given, (f"a{k}",)))
            part = "half" if k == 2 else "whole"
            calls.append(Call(part, ("q", "qd", f"v{k}", f"a{k}", "step"), (f"q{k + 1}", f"v{k + 1}")))
        else:
            calls.append(Call("bear", given, ("a4", "push4", *(("rise4",) if rubs else ()))))
    calls.append(Call("combine", ("q", "qd", "v2", "v3", "v4", "a1", "a2", "a3", "a4", "step", *unsafe), ("q5", "v5")))
    if rubs:
        calls.append(Call("contacts", (inputs.placed(calls, "q5"), "v5"), ("speed5",)))
    seen = (
        "q", "qd", "held", "way", "a1", "push1", "q5", "v5", "a4", "push4", "step", "tries",
        *(("speed1", "rise1", "speed5", "rise4") if rubs else ()), *known,
    )  # fmt: skip
    calls += [
        Call("watch", seen, ("look",)),
        Call("aim", seen, ("cut", "up_to"), "look"),
        Call(
            "finish",
            (
                "q", "qd", "way", "q5", "v5", "a4", "slip", "step", "look", "cut", "up_to", "trial", "done", "tries",
                "h", *(("speed5", "rise4") if rubs else ()), *known,
            ),
            ("q6", "v6", "slip6", "still6", "trial6", "done6", "tries6", "again"),
        ),
    ]  # fmt: skip
    each = (
        "q", "qd", *(f"{x}{k}" for k in (2, 3, 4, 5, 6) for x in "qv"), *(f"{x}{k}" for k in (1, 2, 3, 4) for x in "ar"),
        "struck", "left", "left1",
    )  # fmt: skip
    touching = (
        "held", "way", "dry", "push1", "push4", "slip", "slip1", "slip6", "still", "still6",
        *(("slipped", "speed1", "rise1", "speed5", "rise4") if rubs else ()),
    )  # fmt: skip
    one = (
        "step", "turn", "turn1", "turns", "turns1", "knock", "shaken", "more", "others", "look", "cut",
        "up_to", "trial", "done", "tries", "trial6", "done6", "tries6", "again",
    )  # fmt: skip
    sizes = {**dict.fromkeys(each, n), **dict.fromkeys(one, 1), **{f"B{k}": n * n for k in (1, 2, 3, 4)}}
    sizes |= dict.fromkeys(touching, len(setting.contacts))
    if rubs:
        sizes |= {f"G{k}": n * len(setting.rubs) for k in (1, 2, 3, 4)}
        sizes |= {f"drift{k}": len(setting.rubs) for k in (1, 2, 3, 4)}
    if inputs.wanted:
        sizes |= {"wanted" + stage: inputs.wanted for stage in STAGES}
    program = Program(
        {**sizes, **inputs.sizes, **_host_sizes(inputs)}, tuple(calls),
        (("q6", "q"), ("v6", "qd"), *((f"{x}6", x) for x in inner)),
        ("q", "qd"), inner, tuple(inputs.stepwise), tuple(inputs.constant), "again",
    )  # fmt: skip
    pieces: dict[str, Piece] = {
        "clock": lambda *x: contact.clock(setting, *x),
        "load": load,
        "touch": of(contact.touch),
        "strike": of(strike),
        "take": lambda *x: x,
        "pivot": of(contact.pivot),
        "half": stepping.advance(0.5),
        "whole": stepping.advance(1.0),
        "solve": of(contact.solved),
        "bear": of(contact.borne),
        "combine": stepping.combine_safely if inputs.guarded else stepping.combine,
        "watch": of(contact.watch),
        "aim": of(contact.aim),
        "finish": of(contact.finish),
    }
    if rubs:
        pieces["contacts"] = lambda *x: contact.contact_speeds(setting, *x)
    if inputs.guarded:
        pieces["near_singular"] = lambda *x: stepping.near_singular(setting, *x)
    if inputs.wanted:
        for stage, at in zip(STAGES, (0.0, 0.5, 1.0), strict=True):
            pieces["sample" + stage] = stepping.reference_at(at)
    return Rollout(program, pieces)


# -- variational ---------------------------------------------------------------------------------


def _variational(setting: Setting, plan: Plan) -> Rollout:
    n, inputs = setting.n, _Inputs(setting, plan)

    def solve(q_m: Any, p: Any, v: Any, rounds: Any, h: Any, *values: Any) -> Any:
        s, tau, h_e = inputs.take(values, q_m, v)
        return stepping.discrete_legendre(s, q_m, p, v, rounds, h, tau, h_e)

    def finish(q: Any, v1: Any, p: Any, p1: Any, again: Any, h: Any, *unsafe: Any) -> Any:
        """(q, p) of the next step once v has settled; spoilt near a singular pose of a closed chain."""
        moved = [select(again[0], x, x + h[0] * y) for x, y in zip(q, v1, strict=True)]
        for spoilt in unsafe:
            moved = [x + spoilt[0] for x in moved]
        return moved, [select(again[0], x, y) for x, y in zip(p, p1, strict=True)]

    def settle(again: Any, settled: Any) -> Any:
        """A state that has settled waits for its neighbours: (must it wait, has it settled, is it at work)."""
        ready, before = stepping.no(again[0]), settled[0]
        return [stepping.either(before, again[0])], [stepping.either(before, ready)], [select(before, 0.0, again[0])]

    def keep(settled: Any, v: Any, v1: Any) -> Any:
        return ([select(settled[0], x, y) for x, y in zip(v, v1, strict=True)],)

    calls = [Call("midpoint", ("q", "v", "h"), ("q_m",))]
    unsafe = _guard(calls, inputs, "q", "v", "h")
    if plan.law == "host":
        calls.append(Call("torque_half", ("q_m", "v", "t", "h"), ("tau_half",)))
    calls += [
        Call("solve", ("q_m", "p", "v", "rounds", "h", *inputs.load("_half")), ("v1", "p1", "rounds1", "again")),
        Call("settle", ("again", "settled"), ("wait", "settled1", "working")),
        Call("finish", ("q", "v1", "p", "p1", "wait", "h", *unsafe), ("q1", "p2")),
        Call("keep", ("settled", "v", "v1"), ("v2",)),
    ]
    sizes = dict.fromkeys(("q", "p", "v", "q_m", "q1", "v1", "v2", "p1", "p2"), n)
    sizes |= dict.fromkeys(("rounds", "rounds1", "again", "settled", "settled1", "wait", "working"), 1)
    program = Program(
        {**sizes, **inputs.sizes, **_host_sizes(inputs)}, tuple(calls),
        (("q1", "q"), ("p2", "p"), ("v2", "v"), ("rounds1", "rounds"), ("settled1", "settled")),
        ("q", "p", "v"), ("rounds", "settled"), tuple(inputs.stepwise), tuple(inputs.constant), "working",
    )  # fmt: skip

    pieces: dict[str, Piece] = {
        "midpoint": stepping.midpoint,
        "solve": solve,
        "settle": settle,
        "finish": finish,
        "keep": keep,
    }
    if inputs.guarded:
        pieces["near_singular"] = lambda *x: stepping.near_singular(setting, *x)
    return Rollout(program, pieces)


# -- other functions of the state ----------------------------------------------------------------


def single(mechanism: AnyMechanism, plan: Plan, what: str) -> tuple[tuple[str, ...], dict[str, int], Piece]:
    """(inputs, sizes, piece) of a function that is wanted by itself.

    "torque": the control law;  "tip_torque": Jᵀ h_e;  "momentum": p of (q, q̇);  "velocity": q̇ of (q, p);
    "energy": T and U of (q, q̇, parameters)
    """
    n, setting = mechanism.n, Setting(mechanism, ((-inf, inf),) * mechanism.n)
    joints = _Inputs(setting, Plan()).joints
    if what == "energy":

        def energies(q: Any, qd: Any, parameters: Any) -> Any:
            return stepping.energies(Setting(stepping.with_parameters(mechanism, parameters), setting.stops), q, qd)

        count = WIDTH * len(all_bodies(mechanism))
        return ("q", "qd", "parameters"), {"q": joints, "qd": n, "parameters": count}, energies
    if what == "torque":
        law = LAWS[plan.law]
        if not plan.friction:
            mechanism = stepping.smooth(mechanism, viscous=False)
        sizes = {"q": joints, "qd": n, "reference": 3 * n, "kp": n, "kd": n, "tau": n}
        return ("q", "qd", "reference", "kp", "kd"), sizes, lambda *x: (law(mechanism, *x),)
    if what == "tip_torque":

        def tip_torque(q: Any, h_e: Any) -> Any:
            J = jacobian(mechanism, q)
            return ([sum(J[k][i] * h_e[k] for k in range(6)) for i in range(n)],)

        return ("q", "tip_wrench"), {"q": joints, "tip_wrench": 6}, tip_torque
    sizes = {"q": n, "x": n, "y": n}
    function = {"momentum": stepping.momentum, "velocity": stepping.velocity}[what]
    return ("q", "x"), sizes, lambda *x: function(setting, *x)


# -- compiled ------------------------------------------------------------------------------------


def _traced(piece: Piece, inputs: Sequence[str], sizes: Mapping[str, int]) -> tuple[Graph, Signature]:
    from dalembert.emit.llvm import Signature
    from dalembert.graph.passes import factored, pruned
    from dalembert.graph.tape import Graph

    graph = Graph()
    arrays = [[graph.input(f"x{a}_{k}") for k in range(sizes[x])] for a, x in enumerate(inputs)]
    results = [list(values) for values in piece(*arrays)]
    for values in results:
        graph.output(values)
    signature = Signature(
        tuple((f"x{a}", (sizes[x],)) for a, x in enumerate(inputs)),
        tuple((f"y{k}", (len(values),)) for k, values in enumerate(results)),
    )
    return factored(pruned(graph)), signature


def rollout_kernel(mechanism: AnyMechanism, plan: Plan) -> np.ufunc:
    """The whole rollout as one gufunc; :meth:`Program.signature` says what it takes.

    ``out=`` must be given: how often the state is recorded is told by its shape.
    """
    from dalembert.emit.rollout import rollout_ir
    from dalembert.kernel.compile import target
    from dalembert.kernel.gufunc import gufunc
    from dalembert.kernel.make import code_of, made

    def make(key: str) -> np.ufunc:
        whole = rollout(mechanism, plan)
        program = whole.program

        def ir() -> str:
            graphs = {
                name: _traced(whole.pieces[name], call.inputs, program.sizes) for name, call in whole.calls().items()
            }
            return rollout_ir(program, graphs, target().width)

        inputs = len(program.state) + len(program.constant) + len(program.stepwise)
        doc = f"Many steps from {', '.join(program.state)}: all in one loop."
        return gufunc(
            code_of(key, ir), program.signature(), inputs, len(program.state), "rollout", doc,
            (rollout_kernel, (mechanism, plan)), kinds="d",
        )  # fmt: skip

    return made(("rollout", repr(mechanism), repr(plan)), make)


def _as_far_as_it_matters(mechanism: AnyMechanism, plan: Plan, name: str) -> Plan:
    """The plan as a piece knows it, so that pieces are compiled once for all plans that they cannot tell apart."""
    bare = replace(plan, stops=(), restitution=False)
    if name not in ("touch", "strike", "pivot", "watch", "aim", "finish") and _has_events(mechanism, bare):
        plan = bare
    if name != "strike":
        plan = replace(plan, restitution=False)
    if name in ("load", "accelerate") or (name == "solve" and plan.method == "variational"):
        # a torque is a torque, wherever it comes from
        return replace(plan, law="given") if plan.law == "host" else plan
    if name == "torque" or name.startswith("sample"):
        return plan
    return replace(plan, law="none", tip_wrench=False, tip=None)


def _has_events(mechanism: AnyMechanism, plan: Plan) -> bool:
    """Whether anything can stick or hit a stop."""
    if not plan.friction:
        mechanism = stepping.smooth(mechanism, viscous=False)
    return setting_of(mechanism, plan).has_events or (plan.parameters and plan.friction)


def piece_kernel(mechanism: AnyMechanism, plan: Plan, name: str) -> np.ufunc:
    """One piece of the program, or a function of :func:`single`, as a gufunc."""
    from dalembert.emit.llvm import llvm_ir
    from dalembert.kernel.compile import target
    from dalembert.kernel.gufunc import gufunc
    from dalembert.kernel.make import code_of, made

    plan = _as_far_as_it_matters(mechanism, plan, name)

    def make(key: str) -> np.ufunc:
        if name in ("torque", "tip_torque", "momentum", "velocity", "energy"):
            inputs, sizes, piece = single(mechanism, plan, name)
        else:
            whole = rollout(mechanism, plan)
            inputs, sizes, piece = whole.calls()[name].inputs, dict(whole.program.sizes), whole.pieces[name]
        graph, signature = _traced(piece, inputs, sizes)
        return gufunc(
            code_of(key, lambda: llvm_ir(graph, signature, target().width)),
            signature.gufunc(), len(signature.inputs), len(signature.outputs), name, f"{name}({', '.join(inputs)})",
            (piece_kernel, (mechanism, plan, name)),
        )  # fmt: skip

    return made(("piece", name, repr(mechanism), repr(plan)), make)


def piece_kernels(mechanism: AnyMechanism, plan: Plan) -> dict[str, np.ufunc]:
    """Every piece of the program."""
    return {name: piece_kernel(mechanism, plan, name) for name in rollout(mechanism, plan).calls()}
