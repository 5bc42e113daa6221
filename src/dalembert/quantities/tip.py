"""What can be asked of an arm in operational space: the table, and its kernels.

Like :mod:`dalembert.quantities`, for quantities that depend on which rows of the tip's pose are
looked at (a :class:`Space`). Every kernel that inverts something also returns what tells whether it
could: the pivots of the factorisation, and the measure of the representation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.coordinates.pulled import AnyMechanism
from dalembert.motion import control
from dalembert.motion import operational_space as s
from dalembert.motion.operational_space import Space

if TYPE_CHECKING:
    import numpy as np

    from dalembert.emit.llvm import Signature
    from dalembert.graph.tape import Graph

Shape = tuple["int | str", ...]
Inputs = dict[str, list[Any]]

# core shapes: n joints, Q what q has (all joints of the tree where loops are closed by Newton), m rows of the task;
# soft is (λ², μ²), the damping of the two kinds of singularity
INPUTS: dict[str, Shape] = {
    "q": ("Q",),
    "qd": ("n",),
    "qdd": ("n",),
    "xdd": ("m",),
    "tip_wrench": (6,),
    "tau0": ("n",),
    "qdd0": ("n",),
    "size": ("n",),
    "soft": (2,),
    "reference": ("3m",),
    "row_gains": ("4m",),
    "joint_gains": ("3n",),
    "surface": (8,),
}
TRUST: tuple[tuple[str, Shape], ...] = (("pivots", ("m",)), ("measure", ()))


@dataclass(frozen=True)
class TaskQuantity:
    """Inputs by name, outputs (name, core shape), and the equations."""

    inputs: tuple[str, ...]
    outputs: tuple[tuple[str, Shape], ...]
    trace: Callable[[AnyMechanism, Space, Inputs], list[Any]]
    summary: str


def _trusted(result: tuple[Any, s.Model]) -> list[Any]:
    value, model = result
    pivots, measure = model.trust
    return [value, pivots, measure]


def _jacobian(m: AnyMechanism, space: Space, x: Inputs) -> list[Any]:
    k = s.analytical(m, space, x["q"], x["soft"])
    return [k.J, k.turn.measure]


def _jacobian_derivative(m: AnyMechanism, space: Space, x: Inputs) -> list[Any]:
    k = s.analytical(m, space, x["q"], x["soft"])
    return [s.analytical_derivative(m, space, x["q"], x["qd"], k), k.turn.measure]


def _velocity(m: AnyMechanism, space: Space, x: Inputs) -> list[Any]:
    k = s.analytical(m, space, x["q"], x["soft"])
    return [[sum(a * b for a, b in zip(row, x["qd"], strict=True)) for row in k.J], k.turn.measure]


def _acceleration(m: AnyMechanism, space: Space, x: Inputs) -> list[Any]:
    k = s.analytical(m, space, x["q"], x["soft"])
    Jd = s.analytical_derivative(m, space, x["q"], x["qd"], k)
    moved = [
        sum(a * b for a, b in zip((*row, *rate), (*x["qdd"], *x["qd"]), strict=True))
        for row, rate in zip(k.J, Jd, strict=True)
    ]
    return [moved, k.turn.measure]


def _inertia(m: AnyMechanism, space: Space, x: Inputs) -> list[Any]:
    model = s.model(m, space, x["q"], x["soft"])
    return _trusted((model.inertia(), model))


def _inverse_jacobian(m: AnyMechanism, space: Space, x: Inputs) -> list[Any]:
    model = s.model(m, space, x["q"], x["soft"])
    columns = model.inverse_jacobian_transposed()
    return _trusted(([list(row) for row in zip(*columns, strict=True)], model))


def _torque(m: AnyMechanism, space: Space, x: Inputs) -> list[Any]:
    return _trusted(s.torque(m, space, x["q"], x["qd"], x["xdd"], x["tip_wrench"], x["tau0"], x["soft"]))


def _resolved(m: AnyMechanism, space: Space, x: Inputs) -> list[Any]:
    return list(s.resolved_acceleration(m, space, x["q"], x["qd"], x["xdd"], x["qdd0"], x["soft"]))


def _controlled(m: AnyMechanism, space: Space, x: Inputs) -> list[Any]:
    gains = x["row_gains"], x["joint_gains"]
    return _trusted(control.tip_torque(m, space, x["q"], x["qd"], x["reference"], x["tip_wrench"], *gains, x["soft"]))


TASK_QUANTITIES: dict[str, TaskQuantity] = {
    "transformation": TaskQuantity(
        ("q",), (("T_A", (6, 6)), ("measure", ())), lambda m, space, x: list(s.transformation(m, space, x["q"])),
        "T_A with v_e = T_A ẋ_e, S (7.128)",
    ),
    "jacobian": TaskQuantity(
        ("q", "soft"), (("J_A", ("m", "n")), ("measure", ())), _jacobian, "analytical Jacobian J_A, S (7.128)"
    ),
    "jacobian_derivative": TaskQuantity(
        ("q", "qd", "soft"), (("Jd_A", ("m", "n")), ("measure", ())), _jacobian_derivative, "J̇_A"
    ),
    "velocity": TaskQuantity(("q", "qd", "soft"), (("xd", ("m",)), ("measure", ())), _velocity, "ẋ_e = J_A q̇"),
    "acceleration": TaskQuantity(
        ("q", "qd", "qdd", "soft"), (("xdd", ("m",)), ("measure", ())), _acceleration, "ẍ_e = J_A q̈ + J̇_A q̇"
    ),
    "inertia": TaskQuantity(("q", "soft"), (("B_A", ("m", "m")), *TRUST), _inertia, "B_A, S (7.130)"),
    "coriolis": TaskQuantity(
        ("q", "qd", "soft"), (("C_A", ("m", "m")), *TRUST),
        lambda m, space, x: _trusted(s.coriolis(m, space, x["q"], x["qd"], x["soft"])),
        "C_A of S (7.131) with Ḃ_A − 2C_A skew-symmetric",
    ),
    "coriolis_force": TaskQuantity(
        ("q", "qd", "soft"), (("force", ("m",)), *TRUST),
        lambda m, space, x: _trusted(s.coriolis_force(m, space, x["q"], x["qd"], x["soft"])),
        "C_A ẋ_e of S (7.131)",
    ),
    "gravity": TaskQuantity(
        ("q", "soft"), (("g_A", ("m",)), *TRUST),
        lambda m, space, x: _trusted(s.gravity(m, space, x["q"], x["soft"])), "g_A, S (7.132)",
    ),
    "inverse_jacobian": TaskQuantity(
        ("q", "soft"), (("J_bar", ("n", "m")), *TRUST), _inverse_jacobian, "J̄_A, S (7.138)"
    ),
    "null_projector": TaskQuantity(
        ("q", "soft"), (("N", ("n", "n")), *TRUST),
        lambda m, space, x: _trusted(s.null_projector(m, space, x["q"], x["soft"])), "1 − J_Aᵀ J̄_Aᵀ, S (7.141)",
    ),
    "torque": TaskQuantity(
        ("q", "qd", "xdd", "tip_wrench", "tau0", "soft"), (("tau", ("n",)), *TRUST), _torque, "τ of S (7.141)"
    ),
    "controlled": TaskQuantity(
        ("q", "qd", "reference", "tip_wrench", "row_gains", "joint_gains", "soft"), (("tau", ("n",)), *TRUST), _controlled,
        "τ of the controller of the tip",
    ),
    "wall_wrench": TaskQuantity(
        ("q", "qd", "surface"), (("h_e", (6,)),),
        lambda m, space, x: [control.wall_wrench(m, space, x["q"], x["qd"], x["surface"])], "what the tip exerts on a wall",
    ),
    "resolved_acceleration": TaskQuantity(
        ("q", "qd", "xdd", "qdd0", "soft"), (("qdd", ("n",)), *TRUST), _resolved,
        "q̈ = J_A⁺(ẍ_e − J̇_A q̇) + (1 − J_A⁺ J_A) q̈_0",
    ),
    "reach": TaskQuantity(
        ("q",), (("J", ("m", "n")), ("over_B_J", ("m", "n")), ("center", ("m",))),
        lambda m, space, x: list(s.reach(m, space, x["q"])), "J, J B⁻¹ and −J B⁻¹ g, S (7.148)",
    ),
    "manipulability": TaskQuantity(
        ("q", "size"), (("p", (3,)), ("w", ())),
        lambda m, space, x: list(s.manipulability(m, space, x["q"], x["size"])), "√det(J W² Jᵀ)",
    ),
    "dynamic_manipulability": TaskQuantity(
        ("q", "size"), (("p", (3,)), ("w", ())),
        lambda m, space, x: list(s.dynamic_manipulability(m, space, x["q"], x["size"])),
        "the product of the radii of the ellipsoid of S (7.148)",
    ),
    "consistent_manipulability": TaskQuantity(
        ("q", "size"), (("p", (3,)), ("w", ())),
        lambda m, space, x: list(s.consistent_manipulability(m, space, x["q"], x["size"])),
        "the same with the dynamically consistent inverse (7.138)",
    ),
    "exact_manipulability": TaskQuantity(
        ("q", "size"), (("p", (3,)), ("w", ())),
        lambda m, space, x: list(s.exact_manipulability(m, space, x["q"], x["size"])), "√det(J B⁻¹ W² B⁻¹ Jᵀ)",
    ),
}  # fmt: skip


def signature_of(name: str, mechanism: AnyMechanism, m: int) -> Signature:
    """Names and core shapes of the kernel's arrays."""
    from dalembert.emit.llvm import Signature
    from dalembert.quantities.joints import sizes_of

    n = mechanism.n
    many = {"n": n, "Q": sizes_of(mechanism)["Q"], "m": m, "3m": 3 * m, "4m": 4 * m, "3n": 3 * n}

    def sized(shape: Shape) -> tuple[int, ...]:
        return tuple(many[k] if isinstance(k, str) else k for k in shape)

    entry = TASK_QUANTITIES[name]
    return Signature(
        tuple((x, sized(INPUTS[x])) for x in entry.inputs), tuple((x, sized(shape)) for x, shape in entry.outputs)
    )


def traced(mechanism: AnyMechanism, space: Space, name: str) -> Graph:
    """The quantity's graph, simplified."""
    from dalembert.emit.llvm import size
    from dalembert.graph.passes import factored, pruned
    from dalembert.graph.sums import condensed
    from dalembert.graph.tape import Graph
    from dalembert.quantities.joints import _flat

    graph = Graph()
    inputs = {
        x: [graph.input(f"{x}{k + 1}") for k in range(size(shape))]
        for x, shape in signature_of(name, mechanism, space.m).inputs
    }
    graph.output(_flat(TASK_QUANTITIES[name].trace(mechanism, space, inputs)))
    return condensed(factored(pruned(graph)))


def kernel(mechanism: AnyMechanism, space: Space, name: str) -> np.ufunc:
    """The compiled gufunc: from memory, from the cache on disk, or made now."""
    from dalembert.kernel.make import graph_kernel

    return graph_kernel(
        ("task", repr(mechanism), repr(space), name),
        signature_of(name, mechanism, space.m),
        lambda: traced(mechanism, space, name),
        name,
        TASK_QUANTITIES[name].summary,
        (kernel, (mechanism, space, name)),
    )
