"""What can be asked of a closed chain: the table of :mod:`quantities`, on its actuated joints.

Every formulation of the tree gives one of the closed chain; to add a quantity, write its equations in
``equations/closed_chain.py`` and a line here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dalembert.equations import (
    closed_chain,
    composite,
    dalembert,
    forward_dynamics,
    lagrange,
    lagrange_euler,
    lean_newton_euler,
    newton_euler,
    newton_euler_base,
)
from dalembert.equations.closed_chain import Angle, Chain
from dalembert.equations.closure import ClosedMechanism
from dalembert.equations.loops import rates
from dalembert.errors import DalembertError
from dalembert.graph.derivative import jacobian
from dalembert.graph.tape import Expr
from dalembert.quantities import QUANTITIES, Quantity, _base
from dalembert.robot.linalg import cos, sin

Inputs = dict[str, list[Any]]
Trace = Callable[[Any, Inputs], Any]


def _of(function: Callable[..., Any], *names: str, **fixed: Any) -> Trace:
    """A function of the closed chain and of these inputs, in this order."""
    return lambda m, x: function(m, *(x.get(name) for name in names), **fixed)


def _inverse(tree: Callable[..., Any], *, on_fixed_base: bool = False) -> Trace:
    def run(m: ClosedMechanism, x: Inputs) -> Any:
        if on_fixed_base and "base_motion" in x:
            raise DalembertError(
                "this formulation has no base_motion: its energies are those of an arm on a fixed base"
            )
        return closed_chain.inverse_dynamics(m, x["q"], x["qd"], x["qdd"], x.get("tip_wrench"), _base(x), tree)

    return run


def _wrenches(function: Callable[..., Any]) -> Trace:
    return lambda m, x: function(m, x["q"], x["qd"], x["qdd"], x.get("tip_wrench"), _base(x))


# -- derivatives: the graph's own ----------------------------------------------------------------


def _slopes(m: ClosedMechanism, tau: list[Any], x: Inputs) -> tuple[Any, Any]:
    """The derivatives by q_a and q̇_a of torques or accelerations that stand on the tape."""
    first = x["q"][0]
    if not isinstance(first, Expr):
        raise DalembertError("derivatives of closed chains exist on the tape only: they have no formulas as written")
    dq = jacobian(first.graph, tau, x["q"])
    if m.by_newton:  # the joints of the tree move with q_a
        chain = Chain(m, x["q"])
        dq = [chain.pull(row) for row in dq]
    return dq, jacobian(first.graph, tau, x["qd"])


def _torque_derivatives(m: ClosedMechanism, x: Inputs) -> Any:
    if m.linear:
        chain = Chain(m, x["q"], x["qd"])
        parts = composite.torque_derivatives(m.tree, chain.q, chain.qd, chain.accelerations(x["qdd"]))  # type: ignore[arg-type]
        return [_both_sides(chain, part) for part in parts]
    return _slopes(m, closed_chain.inverse_dynamics(m, x["q"], x["qd"], x["qdd"]), x)


def _both_sides(chain: Chain, A: list[list[Any]]) -> list[list[Any]]:
    """Γᵀ A Γ"""
    rows = [chain.pull(row) for row in A]
    columns = [chain.pull([row[j] for row in rows]) for j in range(chain.n)]
    return [[column[i] for column in columns] for i in range(chain.n)]


def _forward_derivatives(m: ClosedMechanism, x: Inputs) -> Any:
    n = m.n
    factor = closed_chain.factorised(closed_chain.inertia_matrix(m, x["q"]))
    dq, dqd = _slopes(m, closed_chain.forward_dynamics(m, x["q"], x["qd"], x["tau"]), x)
    return dq, dqd, [factor.solve([1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]


# -- the closure itself --------------------------------------------------------------------------


def _closure(m: ClosedMechanism, x: Inputs) -> Any:
    """(cos, sin) of the joints that are known so; of the others (position, 0)."""
    chain = Chain(m, x["q"])
    cosines, sines = [], []
    for q in chain.q:
        known = isinstance(q, Angle)
        cosines.append(cos(q) if known else q)
        sines.append(sin(q) if known else 0.0)
    return cosines, sines


def _gamma(m: ClosedMechanism, x: Inputs) -> Any:
    columns = Chain(m, x["q"]).Gamma
    return [[column[i] for column in columns] for i in range(m.tree.n)]


def _gamma_dot(m: ClosedMechanism, x: Inputs) -> Any:
    chain = Chain(m, x["q"], x["qd"])
    columns = chain.Gamma_dot(chain.Gamma)
    return [[column[i] for column in columns] for i in range(m.tree.n)]


def _motion(m: ClosedMechanism, x: Inputs) -> Any:
    chain = Chain(m, x["q"], x["qd"])
    return chain.qd, chain.accelerations(x["qdd"])


def _equations(m: ClosedMechanism, x: Inputs) -> Any:
    """Φ and ∂Φ/∂q of all loops at any q of the tree, closed or not: what Newton's method asks for."""
    residual: list[Any] = []
    rows: list[list[Any]] = []
    for loop in m.loops:
        found = rates(m.tree, loop, x["tree_q"])
        at = dict(zip(loop.ends.joints, found.columns, strict=True))
        residual += found.residual
        for r in range(len(found.residual)):
            rows.append([at[i][r] if i in at else 0.0 for i in range(m.tree.n)])
    return residual, rows


# -- M's coefficients ----------------------------------------------------------------------------


def _lagrange_euler(m: ClosedMechanism, x: Inputs) -> Any:
    """D_a = Γᵀ D Γ, c_a = Γᵀ c, and h_a the Christoffel symbols of D_a."""
    chain = Chain(m, x["q"])
    found = lagrange_euler.coefficients(m.tree, chain.q)
    return closed_chain.congruent(chain.Gamma, found.D), closed_chain.christoffel(m, x["q"]), chain.pull(found.c)


def _dalembert(m: ClosedMechanism, x: Inputs) -> Any:
    """D_rot and D_tran by Γ on both sides; h by Γᵀ, each with its own D times Γ̇ q̇_a."""
    chain = Chain(m, x["q"], x["qd"])
    assert chain.qd is not None
    found = dalembert.coefficients(m.tree, chain.q, chain.qd)
    drift = chain.accelerations([0.0] * m.n)

    def with_drift(h: list[Any], D: list[list[Any]]) -> list[Any]:
        return [y + closed_chain._sparse_dot(row, drift) for y, row in zip(h, D, strict=True)]

    Gamma = chain.Gamma
    return (
        closed_chain.congruent(Gamma, found.D_rot),
        closed_chain.congruent(Gamma, found.D_tran),
        chain.pull(with_drift(found.h_tran, found.D_tran)),
        chain.pull(with_drift(found.h_rot, found.D_rot)),
        chain.pull(found.c),
    )


def _changed(name: str, trace: dict[str, Trace], **changes: Any) -> Quantity:
    return replace(QUANTITIES[name], trace=trace, rivals=(), **changes)


CLOSED: dict[str, Quantity] = {
    "inverse_dynamics": _changed(
        "inverse_dynamics",
        {
            "lean": _inverse(lean_newton_euler.inverse_dynamics),
            "newton-euler": _inverse(newton_euler.inverse_dynamics),
            "newton-euler-base": _inverse(newton_euler_base.inverse_dynamics),
            "lagrange": _inverse(lagrange.inverse_dynamics, on_fixed_base=True),
            "lagrange-euler": _inverse(lagrange_euler.inverse_dynamics, on_fixed_base=True),
            "dalembert": _inverse(dalembert.inverse_dynamics, on_fixed_base=True),
        },
    ),
    "joint_wrenches": _changed("joint_wrenches", {"newton-euler": _wrenches(closed_chain.joint_wrenches)}),
    "loop_wrenches": Quantity(
        ("q", "qd", "qdd"),
        (("wrench", ("L", 6)),),
        {"passive-joints": _wrenches(closed_chain.loop_wrenches)},
        ("tip_wrench", "base_motion"),
        "force and moment that link b of a loop exerts on link a at the cut, in base axes",
    ),
    "forward_dynamics": _changed(
        "forward_dynamics", {"composite": _of(closed_chain.forward_dynamics, "q", "qd", "tau", "tip_wrench")}
    ),
    "inertia_matrix": _changed(
        "inertia_matrix",
        {
            "composite": _of(closed_chain.inertia_matrix, "q"),
            "column-by-column": _of(closed_chain.inertia_matrix, "q", tree=forward_dynamics.column_by_column),
            "lagrange": _of(closed_chain.inertia_matrix, "q", tree=lagrange.inertia_matrix),
        },
    ),
    "inertia_derivative": _changed(
        "inertia_derivative", {"composite": _of(closed_chain.inertia_derivative, "q", "qd")}
    ),
    "coriolis_matrix": _changed(
        "coriolis_matrix",
        {
            "composite": _of(closed_chain.coriolis_matrix, "q", "qd"),
            "lagrange": _of(closed_chain.coriolis_matrix, "q", "qd", tree=lagrange.coriolis_matrix),
        },
    ),
    "christoffel": _changed(
        "christoffel",
        {
            "composite": _of(closed_chain.christoffel, "q"),
            "lagrange": _of(closed_chain.christoffel, "q", tree=lagrange.coriolis_matrix),
        },
    ),
    "torque_derivatives": _changed("torque_derivatives", {"composite": _torque_derivatives}),
    "torque_terms": _changed(
        "torque_terms", {"composite": _of(closed_chain.torque_terms, "q", "qd", "qdd", "tip_wrench")}
    ),
    "regressor": _changed("regressor", {"virtual-work": _of(closed_chain.regressor, "q", "qd", "qdd")}),
    "lagrange_euler": _changed("lagrange_euler", {"lagrange-euler": _lagrange_euler}),
    "dalembert": _changed("dalembert", {"dalembert": _dalembert}),
    "forward_derivatives": _changed("forward_derivatives", {"composite": _forward_derivatives}),
    "kinetic_energy": _changed("kinetic_energy", {"links": _of(closed_chain.kinetic_energy, "q", "qd")}),
    "potential_energy": _changed("potential_energy", {"links": _of(closed_chain.potential_energy, "q")}),
    "gravity_torque": _changed("gravity_torque", {"lean": _of(closed_chain.gravity_torque, "q")}),
    "friction_torque": _changed(
        "friction_torque", {"joint": _of(closed_chain.friction_torque, "q", "qd")}, inputs=("q", "qd")
    ),
    "pose": _changed("pose", {"frames": _of(closed_chain.pose, "q")}),
    "link_poses": _changed("link_poses", {"frames": _of(closed_chain.link_poses, "q")}),
    "jacobian": _changed("jacobian", {"geometric": _of(closed_chain.jacobian, "q")}),
    "jacobian_derivative": _changed(
        "jacobian_derivative", {"geometric": _of(closed_chain.jacobian_derivative, "q", "qd")}
    ),
    "closure": Quantity(
        ("q",), (("cos", ("N",)), ("sin", ("N",))), {"closure": _closure}, (), "γ(q_a) by cosines and sines"
    ),
    "closure_jacobian": Quantity(("q",), (("Gamma", ("N", "n")),), {"closure": _gamma}, (), "Γ = ∂γ/∂q_a"),
    "closure_derivative": Quantity(
        ("q", "qd"), (("Gamma_dot", ("N", "n")),), {"closure": _gamma_dot}, (), "Γ̇ along a motion"
    ),
    "tree_motion": Quantity(
        ("q", "qd", "qdd"),
        (("qd", ("N",)), ("qdd", ("N",))),
        {"closure": _motion},
        (),
        "q̇ and q̈ of all joints of the tree",
    ),
    "loop_residual": Quantity(
        ("q",), (("residual", ("m",)),), {"closure": _of(closed_chain.residuals, "q")}, (), "Φ(γ(q_a))"
    ),
    "loop_equations": Quantity(
        ("tree_q",), (("residual", ("m",)), ("Phi_q", ("m", "N"))), {"loops": _equations}, (), "Φ(q) and ∂Φ/∂q"
    ),
}
