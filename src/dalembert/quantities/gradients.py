"""Gradients of weighted sums, for optimisers: kernels that multiply a Jacobian from the left.

Like :mod:`dalembert.quantities`, made by reverse mode on the graph. A function y(q, q̇, q̈) with many
components is traced, its sum Σ w∘y with weights w that are inputs is taken, and one sweep back over the
tape gives what a gradient needs, ∂(Σ w∘y)/∂(q, q̇, q̈), at a few times the price of y itself. The
Jacobian of y is never made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.algebra.vectors import Vec
from dalembert.coordinates import pulled
from dalembert.coordinates.chain import AnyMechanism, Chain
from dalembert.equations import kinematics, regressor

if TYPE_CHECKING:
    import numpy as np

    from dalembert.emit.llvm import Signature
    from dalembert.graph.tape import Graph

Inputs = dict[str, list[Any]]
Columns = tuple[int, ...]


@dataclass(frozen=True)
class Weighted:
    """A function whose weighted sum is differentiated.

    inputs  of "q", "qd", "qdd"
    value   its components, row after row
    shape   of the components, from the mechanism and the columns asked for
    """

    inputs: tuple[str, ...]
    value: Callable[[AnyMechanism, Inputs, Columns], list[Any]]
    shape: Callable[[AnyMechanism, Columns], tuple[int, ...]]
    summary: str


def points(mechanism: AnyMechanism, q: list[Any]) -> list[Any]:
    """Where the arm is, in base axes: the origins of all joints' and links' frames and the tip, 2n + 1 points.

    Of a closed chain, those of all joints of its tree.
    """
    F = kinematics.frames(mechanism.tree, Chain(mechanism, q).q)
    return [*F.p_joint, *F.p, F.p_tip]


def _heights(m: AnyMechanism, x: Inputs, _: Columns) -> list[Any]:
    """How high each point is over the origin of the base, against gravity (m)."""
    size = float(sum(float(g) ** 2 for g in m.gravity)) ** 0.5
    up = Vec(-float(g) / size for g in m.gravity)
    return [up.dot(point) for point in points(m, x["q"])]


def _regressor(m: AnyMechanism, x: Inputs, columns: Columns) -> list[Any]:
    state = x["q"], x["qd"], x["qdd"]
    Y = pulled.regressor(m, *state, regressor.regressor)
    return [row[k] for row in Y for k in columns]


def _torque(m: AnyMechanism, x: Inputs, _: Columns) -> list[Any]:
    return list(pulled.inverse_dynamics(m, x["q"], x["qd"], x["qdd"]))


def _positions(m: AnyMechanism) -> int:
    """How many numbers q has: where Newton's method closes the loops, it is that of all joints."""
    return m.tree.n if m.by_newton else m.n


WEIGHTED: dict[str, Weighted] = {
    "regressor": Weighted(
        ("q", "qd", "qdd"), _regressor, lambda m, c: (m.n, len(c)), "chosen columns of Y, S (7.81)"
    ),
    "torque": Weighted(("q", "qd", "qdd"), _torque, lambda m, _: (m.n,), "τ of S (7.42); Coulomb friction is constant"),
    "heights": Weighted(("q",), _heights, lambda m, _: (2 * m.tree.n + 1,), "heights of joints, links and tip"),
}  # fmt: skip


def signature_of(mechanism: AnyMechanism, name: str, columns: Columns, gradient: bool) -> Signature:
    """Names and core shapes of the kernel's arrays."""
    from dalembert.emit.llvm import Signature

    entry, n = WEIGHTED[name], mechanism.n
    shape = entry.shape(mechanism, columns)
    states = tuple((x, (_positions(mechanism) if x == "q" else n,)) for x in entry.inputs)
    if not gradient:
        return Signature(states, ((name, shape),))
    return Signature((*states, ("w", shape)), tuple((f"d{x}", (n,)) for x in entry.inputs))


def traced(mechanism: AnyMechanism, name: str, columns: Columns, gradient: bool) -> Graph:
    """The graph of the value, or of the gradient of its weighted sum, simplified."""
    from dalembert.emit.llvm import size
    from dalembert.graph import derivative
    from dalembert.graph.passes import factored, pruned
    from dalembert.graph.sums import condensed
    from dalembert.graph.tape import Graph

    graph = Graph()
    inputs = {
        x: [graph.input(f"{x}{k + 1}") for k in range(size(shape))]
        for x, shape in signature_of(mechanism, name, columns, gradient).inputs
    }
    y = WEIGHTED[name].value(mechanism, inputs, columns)
    if not gradient:
        graph.output(y)
    else:
        total = sum((w * one for w, one in zip(inputs["w"], y, strict=True)), 0.0)
        states = [one for x in WEIGHTED[name].inputs for one in inputs[x]]
        slopes = derivative.gradient(graph, total, states)
        if mechanism.by_newton:  # the joints of the tree move with q_a
            N = mechanism.tree.n
            slopes = [*Chain(mechanism, inputs["q"]).pull(slopes[:N]), *slopes[N:]]
        graph.output(slopes)
    return condensed(factored(pruned(graph)))


def kernel(mechanism: AnyMechanism, name: str, columns: Columns = (), gradient: bool = True) -> np.ufunc:
    """The compiled gufunc: from memory, from the cache on disk, or made now.

    With ``gradient`` (q, q̇, q̈, w) → ∂(Σ w∘y)/∂q, ∂/∂q̇, ∂/∂q̈, and otherwise (q, q̇, q̈) → y; heights
    have q alone. ``columns`` are those of the regressor that count.
    """
    from dalembert.kernel.make import graph_kernel

    summary = WEIGHTED[name].summary
    return graph_kernel(
        ("gradient", repr(mechanism), name, repr(columns), str(gradient)),
        signature_of(mechanism, name, columns, gradient),
        lambda: traced(mechanism, name, columns, gradient),
        name,
        f"gradient of Σ w∘y, y = {summary}" if gradient else summary,
        (kernel, (mechanism, name, columns, gradient)),
    )
