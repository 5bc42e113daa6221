"""The steps of a simulation, traced, compiled and cached.

The program of :mod:`dalembert.compiler.quantities.step_program` runs as one compiled loop (:func:`rollout_kernel`), or
piece by piece from Python (:func:`piece_kernels`) if a torque is a Python function, or if Newton's method closes the
loops of the arm: the pieces then take the joints of its whole tree from ``place``, which Python provides, as it provides
the torque. Functions of the state that are used on their own are in the table ``ROLLOUTS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dalembert.base.algebra.scalars import Values
from dalembert.compiler.graph.program import Call
from dalembert.compiler.quantities.machine import Equations, Quantity, identity, table, taped
from dalembert.compiler.quantities.step_program import LAWS, Plan, Rollout, gains_of, has_events, rollout, setting_of
from dalembert.mechanics.coordinates.chain import AnyMechanism
from dalembert.mechanics.coordinates.pulled import contact_torque
from dalembert.mechanics.coordinates.variable_parameters import with_parameters
from dalembert.mechanics.motion import control, stepping
from dalembert.mechanics.motion.methods import METHODS

if TYPE_CHECKING:
    import numpy as np

    from dalembert.compiler.emit.rollout import ProgramTapes
    from dalembert.compiler.emit.signature import Signature
    from dalembert.compiler.graph.tape import Graph
    from dalembert.compiler.kernel.cuda import DeviceRollout


def _energies(m: AnyMechanism, q: Values, qd: Values, parameters: Values) -> Any:
    return stepping.energies(with_parameters(m, parameters), q, qd)


def _row(arrays: str, summary: str, equations: Equations, **fields: Any) -> Quantity:
    return Quantity(arrays, summary, {"stepping": equations}, condensed=0, **fields)


ROLLOUTS = table("rollouts", {
    "tip_torque": _row("q, tip_wrench -> tau(n)", "Jᵀ h_e", contact_torque),
    "momentum": _row("q, qd -> p(n)", "p = B(q) q̇", stepping.momentum),
    "velocity": _row("q, p -> qd(n)", "q̇ = B⁻¹(q) p", stepping.velocity),
    "decay": _row("q -> rate()", "the fastest pole of friction at rest", stepping.fastest_decay),
    "pulled_wrench": _row(
        "q, qd, pull(5), wrench(6) -> h_e(6)", "h_e of a tip that a spring and a damper pull", control.pulled_wrench
    ),
    "energy": _row(
        "q, qd, parameters -> T(), U()", "T and U of an arm with other parameters", _energies, whole=("off-diagonal",)
    ),
    **{
        name: _row(f"q, qd, reference, {', '.join(gains_of(name))} -> tau(n)", f"the law '{name}'", law)
        for name, law in LAWS.items()
    },
    "adaptive": _row(
        "q, qd, reference, kp, kd, gamma(p), learned(p) -> tau(n), rate(p)", "Slotine and Li", control.adaptive,
        sizes=lambda m, columns: {"p": len(columns)},
    ),
})  # fmt: skip


# -- compiled --------------------------------------------------------------------------------------


def _signature(call: Call, sizes: Mapping[str, int]) -> Signature:
    from dalembert.compiler.emit.signature import Signature

    inputs, outputs = (tuple((f"{x}{k}_", (sizes[slot],)) for k, slot in enumerate(slots)) for x, slots in (
        ("x", call.inputs), ("y", call.outputs)
    ))  # fmt: skip
    return Signature(inputs, outputs)


def rollout_kernel(mechanism: AnyMechanism, plan: Plan, kind: str = "", by: tuple[str, ...] = ()) -> np.ufunc:
    """The whole rollout as one gufunc; :meth:`Program.signature` lists its arguments.

    kind, by  as for :func:`program_of`
    ``out=`` must be given: its shape determines how often the state is recorded.
    """
    from dalembert.compiler.emit.rollout import rollout_ir
    from dalembert.compiler.kernel.compile import target
    from dalembert.compiler.kernel.gufunc import gufunc
    from dalembert.compiler.kernel.make import code_of, shared_kernel

    def make(key: str) -> np.ufunc:
        whole = program_of(mechanism, plan, kind, by)
        program = whole.program

        def ir() -> list[str]:
            return rollout_ir(program, _graphs(whole), target().form())

        doc = f"Many steps from {', '.join(program.state)} in one loop."
        return gufunc(
            code_of(key, ir, f"the simulation of {mechanism.n} joints"),
            program.signature(), "rollout", doc, (rollout_kernel, (mechanism, plan, kind, by)), kinds="d",
        )  # fmt: skip

    derived = (kind, *by) if kind else ()
    return shared_kernel(("rollout", *_identity(mechanism, plan), *derived), make)


def program_of(mechanism: AnyMechanism, plan: Plan, kind: str = "", by: tuple[str, ...] = ()) -> Rollout:
    """The program of a rollout, or of its derivative with respect to the state and the inputs ``by``.

    kind  as for :func:`rollout`; "tangent" and "adjoint" for those of :mod:`dalembert.compiler.graph.program_derivative`;
          "curvature" for the tangent of the adjoint; "passes" takes one pass per step, and "reversal" is its adjoint
    """
    if kind not in ("tangent", "adjoint", "curvature", "passes", "reversal"):
        return rollout(mechanism, plan, kind)
    from dalembert.compiler.graph import program_derivative  # a kernel from the cache needs none

    whole = rollout(mechanism, plan, "held" if kind in ("adjoint", "curvature") else "observed")
    program, pieces, rules = whole.program, whole.pieces, whole.rules
    if kind in ("passes", "reversal"):
        program = program_derivative.pass_by_pass(program)
    if kind == "tangent":
        program, pieces = program_derivative.tangent(program, pieces, rules, by)
    elif kind != "passes":
        program, pieces = program_derivative.adjoint(program, pieces, rules, by, guarded=kind == "reversal")
    if kind == "curvature":
        inputs = tuple(x for x in (*program.constant, *program.stepwise) if x not in ("h", *program.discrete))
        program, pieces = program_derivative.tangent(program, pieces, {}, inputs)
    return replace(whole, program=program, pieces=pieces)


def _graphs(whole: Rollout) -> dict[str, tuple[Graph, Signature]]:
    """The tapes of the pieces of a rollout, and their arrays."""
    signatures = {name: _signature(call, whole.program.sizes) for name, call in whole.calls().items()}
    return {name: (taped(arrays.inputs, whole.pieces[name]), arrays) for name, arrays in signatures.items()}


def step_tapes(mechanism: AnyMechanism, plan: Plan) -> tuple[ProgramTapes, Signature]:
    """One step as a program to emit; its arrays are the state, the constants and the inputs of the step, and the state
    after it."""
    from dalembert.compiler.emit.rollout import ProgramTapes
    from dalembert.compiler.emit.signature import Signature

    whole = rollout(mechanism, plan)
    program = whole.program
    inputs = tuple((name, (program.sizes[name],)) for name in program.inputs)
    outputs = tuple((f"{name}_next", (program.sizes[name],)) for name in program.state)
    return ProgramTapes(program, _graphs(whole)), Signature(inputs, outputs)


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
    if not at_stops and has_events(setting_of(mechanism, bare), bare):
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
