"""The quantities of an arm in joint space: inputs, outputs and equations of each, in one table."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from dalembert.base.algebra.scalars import Grid, Scalar, Values, cos, flat, sin
from dalembert.base.wording import nearest
from dalembert.compiler.quantities.derived import MODES, derivative_of, jacobian
from dalembert.compiler.quantities.machine import CONDENSED_LENGTH, Arrays, Equations, Quantity, sizes_of, table
from dalembert.errors import DalembertError
from dalembert.mechanics.coordinates import pulled
from dalembert.mechanics.coordinates.chain import Angle, AnyMechanism, Chain
from dalembert.mechanics.coordinates.loop_closure import rates
from dalembert.mechanics.equations import (
    articulated,
    composite,
    dalembert,
    energy,
    forward_dynamics,
    friction,
    kinematics,
    lagrange,
    lagrange_euler,
    lean_newton_euler,
    newton_euler,
    newton_euler_base,
    passive_newton_euler,
    regressor,
)
from dalembert.mechanics.equations import torque_terms as terms
from dalembert.mechanics.equations.factorisation import ancestors_of
from dalembert.robot.model.mechanism import Mechanism
from dalembert.robot.model.omitted_terms import SUMMANDS

KEPT = 16  # mechanisms whose patterns are cached
DEEP = 60.0  # products per joint in the factorisation of B, as in a chain of 20: then articulated bodies are cheaper

# -- equations with the arguments of the table: the mechanism and the arrays -----------------------


def _on_fixed_base(name: str, function: Equations) -> Equations:
    def run(m: Mechanism, q: Values, qd: Values, qdd: Values, h_e: Values | None = None, base: Any = None) -> Any:
        if base is not None:
            raise DalembertError(
                f"the formulation '{name}' does not support base_motion: its energies are those of an arm on a fixed base; "
                "'lean', 'newton-euler' and 'newton-euler-base' do"
            )
        return function(m, q, qd, qdd, h_e)

    return run


def _rivals_of_forward_dynamics(m: AnyMechanism) -> tuple[str, ...]:
    """Only articulated bodies if the tree is deep.

    Factorising B takes d (d + 1)/2 products for a joint with d ancestors; articulated bodies are linear in the joints.
    """
    depth: list[int] = []
    for body in m.tree.bodies:
        depth.append(depth[body.parent] + 1 if body.parent >= 0 else 0)
    deep = sum(d * (d + 1) / 2 for d in depth) > DEEP * len(depth)
    return ("articulated",) if deep else ("composite", "articulated")


# -- through γ: how each kind of quantity follows from that of the tree ----------------------------


def _by(function: Callable[..., Any]) -> Callable[..., Any]:
    """A rule given by a function of the mechanism, the arrays and the equations of the tree."""
    return lambda m, x, tree: function(m, *x.values(), tree=tree)


def _scalar(m: AnyMechanism, x: Arrays, tree: Equations) -> Any:
    """Quantities without coordinates of their own: energies, poses, functions of q and q̇ of the tree."""
    chain = Chain(m, x["q"])
    return tree(m.tree, chain.q, *([chain.push(x["qd"])] if "qd" in x else []))


def _torque_derivatives(m: AnyMechanism, x: Arrays, tree: Equations) -> Any:
    if m.linear and not m.omitted:
        return pulled.torque_derivatives(m, x["q"], x["qd"], x["qdd"], tree)
    return _slopes(m, pulled.inverse_dynamics(m, x["q"], x["qd"], x["qdd"]), x["q"], x["qd"])


def _forward_derivatives(m: AnyMechanism, q: Values, qd: Values, tau: Values) -> Any:
    dq, dqd = _slopes(m, pulled.forward_dynamics(m, q, qd, tau), q, qd)
    return dq, dqd, pulled.forward_derivative(m, q, qd, tau)


def _slopes(m: AnyMechanism, values: list[Any], q: Values, qd: Values) -> tuple[Any, Any]:
    """The derivatives with respect to q_a and q̇_a of torques or accelerations on the tape."""
    from dalembert.compiler.graph.derivative import jacobian
    from dalembert.compiler.graph.tape import Expr

    first = q[0]
    if not isinstance(first, Expr):
        raise DalembertError(
            "derivatives of closed chains and of approximate models exist only on the tape: they have no written formulas"
        )
    dq = jacobian(first.graph, values, q)
    if m.by_newton:  # the joints of the tree move with q_a
        chain = Chain(m, q)
        dq = [chain.pull(row) for row in dq]
    return dq, jacobian(first.graph, values, qd)


def _torque_second_derivatives(m: AnyMechanism, q: Values, qd: Values, qdd: Values) -> Any:
    """From ∂τ/∂q, ∂τ/∂q̇ and B, by forward mode; symmetric entries are computed once per pair."""
    span, motion = range(m.n), {"q": q, "qd": qd, "qdd": qdd}

    def slopes(quantity: str, by: str) -> list[list[Grid]]:
        """∂y_ij/∂x_k of every output y."""
        entry = jacobian(JOINTS[quantity], by=(by,))
        arrays = {name: motion[name] for name in entry.inputs}
        values = iter(entry.values(m, entry.formulations(m)[0], arrays))
        return [[[[next(values) for _ in span] for _ in span] for _ in span] for _ in entry.outputs]

    (q_q, qd_q), (_, qd_qd), (B_q,) = (
        slopes("torque_derivatives", "q"), slopes("torque_derivatives", "qd"), slopes("inertia_matrix", "q"),
    )  # fmt: skip
    q_q, qd_qd = ([[[y[i][min(j, k)][max(j, k)] for k in span] for j in span] for i in span] for y in (q_q, qd_qd))
    q_qd, q_qdd = ([[[y[i][k][j] for k in span] for j in span] for i in span] for y in (qd_q, B_q))
    return q_q, q_qd, qd_qd, q_qdd


# -- entries that are not 0 in every state ---------------------------------------------------------


def _compact_regressor(mechanism: AnyMechanism, q: Values, qd: Values, qdd: Values) -> list[Scalar]:
    """The entries of Y(q, q̇, q̈), S (7.81), that :func:`regressor_pattern` lists, in its order."""
    Y = pulled.regressor(mechanism, q, qd, qdd)
    return [Y[i][k] for i, k in regressor_pattern(mechanism)]


@lru_cache(KEPT)
def regressor_pattern(mechanism: AnyMechanism) -> tuple[tuple[int, int], ...]:
    """(row, column) of every entry of Y that is not 0 on the tape, row by row."""
    from dalembert.compiler.graph.tape import Graph

    graph, sizes = Graph(), sizes_of(mechanism)
    q, qd, qdd = (
        [graph.input(f"{x}{k}") for k in range(sizes[size])] for x, size in (("q", "Q"), ("qd", "n"), ("qdd", "n"))
    )
    Y = pulled.regressor(mechanism, q, qd, qdd)
    graph.output(flat(Y))
    there = [graph.value(line) != 0.0 for line in graph.outputs]
    return tuple(divmod(k, sizes["K"]) for k, nonzero in enumerate(there) if nonzero)


# -- the coordinates themselves --------------------------------------------------------------------


def _closure(m: AnyMechanism, q: Values) -> Any:
    """(cos, sin) of the joints whose closure gives them; (position, 0) for the others."""
    positions = Chain(m, q).q
    cosines = [cos(x) if isinstance(x, Angle) else x for x in positions]
    return cosines, [sin(x) if isinstance(x, Angle) else 0.0 for x in positions]


def _gamma_dot(m: AnyMechanism, q: Values, qd: Values) -> Any:
    chain = Chain(m, q, qd)
    return list(zip(*chain.Gamma_dot(chain.Gamma), strict=True))


def _tree_motion(m: AnyMechanism, q: Values, qd: Values, qdd: Values) -> Any:
    chain = Chain(m, q, qd)
    return chain.qd, chain.accelerations(qdd)


def _loop_equations(m: AnyMechanism, tree_q: Values) -> Any:
    """Φ and ∂Φ/∂q of all loops at any q of the tree, closed or not, for Newton's method."""
    residual: list[Any] = []
    rows: list[list[Any]] = []
    for loop in m.loops:
        cut = rates(m.tree, loop, tree_q)
        columns = dict(zip(loop.ends.joints, cut.columns, strict=True))
        residual += cut.residual
        for r in range(len(cut.residual)):
            rows.append([columns[i][r] if i in columns else 0.0 for i in range(m.tree.n)])
    return residual, rows


MOTION = "q, qd, qdd -> "
CONTACT = ("tip_wrench", "base_motion")

JOINTS = table("joints", {
    "inverse_dynamics": Quantity(
        MOTION + "tau(n)", "joint torques (N m or N) for a motion, S (7.42)",
        {
            "lean": lean_newton_euler.inverse_dynamics,
            "newton-euler": newton_euler.inverse_dynamics,
            "newton-euler-base": newton_euler_base.inverse_dynamics,
            "lagrange": _on_fixed_base("lagrange", lagrange.inverse_dynamics),
            "lagrange-euler": _on_fixed_base("lagrange-euler", lagrange_euler.inverse_dynamics),
            "dalembert": _on_fixed_base("dalembert", dalembert.inverse_dynamics),
        },
        CONTACT, _by(pulled.inverse_dynamics),
    ),
    "joint_wrenches": Quantity(
        MOTION + "wrench(N,6)", "force f_i and moment μ_i that link i−1 exerts on link i, S (7.112), (7.113)",
        {"newton-euler": pulled.joint_wrenches}, CONTACT, whole=SUMMANDS,
    ),
    "recursion": Quantity(
        MOTION + "omega(N,3), omega_dot(N,3), p_dot(N,3), p_ddot(N,3), p_ddot_C(N,3), omega_dot_m(N,3), F(N,3), M(N,3), "
        "f(N,3), mu(N,3), tau(N)", "every step of the Newton–Euler recursion, S (7.107)–(7.114), M Tables 1 and 2",
        {
            "newton-euler": pulled.recursion,
            "newton-euler-base": partial(pulled.recursion, axes="base"),
        },
        CONTACT, whole=SUMMANDS,
    ),
    "forward_dynamics": Quantity(
        "q, qd, tau -> qdd(n)", "joint accelerations for given torques, S (7.115)",
        {
            "composite": forward_dynamics.forward_dynamics,
            "articulated": articulated.forward_dynamics,
            "column-by-column": forward_dynamics.as_in_the_book,
        },
        CONTACT, rivals=_rivals_of_forward_dynamics,
        independent={"composite": pulled.forward_dynamics},
    ),
    "inertia_matrix": Quantity(
        "q -> B(n,n)", "B(q), S (7.32)",
        {
            "composite": composite.inertia_matrix,
            "column-by-column": forward_dynamics.column_by_column,
            "lagrange": lagrange.inertia_matrix,
        },
        pulled=_by(pulled.inertia_matrix),
    ),
    "inertia_derivative": Quantity(
        "q, qd -> Bd(n,n)", "Ḃ(q, q̇)",
        {"composite": pulled.inertia_derivative}, independent={"composite": pulled.inertia_derivative},
    ),
    "coriolis_matrix": Quantity(
        "q, qd -> C(n,n)", "C(q, q̇) with Christoffel symbols, S (7.44)",
        {"composite": composite.coriolis_matrix, "lagrange": lagrange.coriolis_matrix},
        pulled=_by(pulled.coriolis_matrix),
    ),
    "christoffel": Quantity(
        "q -> c(n,n,n)", "Christoffel symbols c_ijk, S (7.45)",
        {"composite": composite.christoffel, "lagrange": lagrange.christoffel},
        independent={
            "composite": pulled.christoffel,
            "lagrange": partial(pulled.christoffel, tree=lagrange.coriolis_matrix),
        },
    ),
    "velocity_product_matrix": Quantity(
        "q -> Gamma(n,V)", "Γ(q) with C q̇ = Γ [q̇q̇], S (7.117)",
        {
            "composite": composite.velocity_product_matrix,
            "lagrange": partial(composite.velocity_product_matrix, symbols=lagrange.christoffel),
        },
        independent={"composite": partial(composite.velocity_product_matrix, symbols=pulled.christoffel)},
    ),
    "torque_derivatives": Quantity(
        MOTION + "dq(n,n), dqd(n,n)", "∂τ/∂q and ∂τ/∂q̇",
        {"composite": composite.torque_derivatives}, pulled=_torque_derivatives,
    ),
    "torque_second_derivatives": Quantity(
        MOTION + "dq_dq(n,n,n), dq_dqd(n,n,n), dqd_dqd(n,n,n), dq_dqdd(n,n,n)",
        "∂²τ/∂q∂q, ∂²τ/∂q∂q̇, ∂²τ/∂q̇∂q̇ and ∂²τ/∂q∂q̈ = ∂B/∂q", {"composite": _torque_second_derivatives},
        condensed=5 * CONDENSED_LENGTH,
    ),
    "torque_terms": Quantity(
        MOTION + "inertia(n,n), rotor(n,n), products(n,V), gravity(n), viscous(n), coulomb(n), "
        "other(n), contact(n), base(n)", "the terms of the torque, S (7.40)",
        {"composite": terms.torque_terms}, CONTACT,
        independent={"composite": pulled.torque_terms},
    ),
    "regressor": Quantity(
        MOTION + "Y(n,K)", "Y(q, q̇, q̈) with τ = Yπ, S (7.81)",
        {"virtual-work": pulled.regressor}, independent={"virtual-work": pulled.regressor}, whole=SUMMANDS,
    ),
    "compact_regressor": Quantity(
        MOTION + "Y(Z)", "the entries of Y(q, q̇, q̈) that are not identically 0, row by row",
        {"virtual-work": _compact_regressor}, whole=SUMMANDS, sizes=lambda m: {"Z": len(regressor_pattern(m))},
        varies=False,
    ),
    "reference_torque": Quantity(
        "q, qd, qd_r, qdd_r -> tau(n)", "B(q) q̈_r + C(q, q̇) q̇_r + g(q) + f(q, q̇_r), C of S (7.44)",
        {"passive": passive_newton_euler.reference_torque}, pulled=_by(pulled.reference_torque), whole=SUMMANDS,
    ),
    "reference_regressor": Quantity(
        "q, qd, qd_r, qdd_r -> Y(n,K)", "Y(q, q̇, q̇_r, q̈_r) with reference_torque = Yπ",
        {"virtual-work": regressor.reference_regressor}, pulled=_by(pulled.reference_regressor), whole=SUMMANDS,
    ),
    "energy_regressors": Quantity(
        "q, qd -> beta_T(N,11), beta_U(N,11)", "β_T and β_U with T = Σ β_Tᵀ π and U = Σ β_Uᵀ π, S (7.76)",
        {"links": regressor.energy_regressors}, pulled=_scalar, whole=SUMMANDS,
    ),
    "lagrange_euler": Quantity(
        "q -> D(n,n), h(n,n,n), c(n)", "the coefficients D_ik, h_ikm, c_i of M (2.11), (2.14), (2.15)",
        {"lagrange-euler": lagrange_euler.coefficients},
        independent={"lagrange-euler": pulled.lagrange_euler_coefficients}, whole=SUMMANDS,
    ),
    "dalembert": Quantity(
        "q, qd -> D_rot(n,n), D_tran(n,n), h_tran(n), h_rot(n), c(n)",
        "the coefficients of the generalized d'Alembert equations, M (4.2)–(4.5)",
        {"dalembert": dalembert.coefficients}, independent={"dalembert": pulled.dalembert_coefficients},
        whole=SUMMANDS,
    ),
    "dalembert_terms": Quantity(
        "q, qd -> tran_1(n,N), tran_2(n,N), tran_3(n,N), tran_4(n,N), tran_sliding(n,N), rot_1(n,N), rot_2(n,N), "
        "rot_rotor(n,N), centrifugal_1(n,N), centrifugal_3(n,N), centrifugal_rot(n,N), closure_tran(n), closure_rot(n)",
        "every term of M (4.3) and (4.4), by link, and the parts with p = q", {"dalembert": pulled.dalembert_terms},
        whole=SUMMANDS,
    ),
    "forward_derivatives": Quantity(
        "q, qd, tau -> dq(n,n), dqd(n,n), dtau(n,n)", "∂q̈/∂q, ∂q̈/∂q̇ and ∂q̈/∂τ",
        {"composite": forward_dynamics.forward_derivatives}, independent={"composite": _forward_derivatives},
        phases=lambda m: () if friction.loaded(m) else (
            ("q, qd, tau -> qdd(n), factor(F)", forward_dynamics.acceleration_and_factor),
            ("q, qd, qdd -> dq(n,n), dqd(n,n)", composite.torque_derivatives),
            ("factor(F), dq(n,n), dqd(n,n) -> dq(n,n), dqd(n,n), dtau(n,n)", forward_dynamics.solved_derivatives),
        ),
        sizes=lambda m: {"F": m.tree.n + sum(map(len, ancestors_of(m.tree)))},
    ),
    "kinetic_energy": Quantity(
        "q, qd -> T()", "½ q̇ᵀ B q̇, S (7.31)", {"links": energy.kinetic_energy}, pulled=_scalar,
        whole=("off-diagonal",),
    ),
    "potential_energy": Quantity(
        "q -> U()", "potential energy, S (7.36)", {"links": energy.potential_energy}, pulled=_scalar
    ),
    "body_jacobians": Quantity(
        "q -> link_mass(N), link_position(N,3), link_linear(N,3,n), link_angular(N,3,n), link_tensor(N,3,3), "
        "rotor_mass(N), rotor_position(N,3), rotor_linear(N,3,n), rotor_angular(N,3,n), rotor_tensor(N,3,3)",
        "Jacobians of the links and rotors, S (7.16)–(7.19), (7.25)–(7.29)", {"lagrange": pulled.body_jacobians},
    ),
    "body_energies": Quantity(
        "q, qd -> link_kinetic(N), rotor_kinetic(N), link_potential(N), rotor_potential(N)",
        "energies of each link and rotor, S (7.20), (7.30), (7.34), (7.35)",
        {"lagrange": lagrange.body_energies}, pulled=_scalar, whole=SUMMANDS,
    ),
    "gravity_torque": Quantity(
        "q -> g(n)", "g(q), S (7.39)", {"lean": pulled.gravity_torque}, ("base_motion",),
        independent={"lean": pulled.gravity_torque},
    ),
    "friction_torque": Quantity(
        "qd -> friction(n)", "F_v q̇ + F_s sgn(q̇), S (7.42), and further terms, with q and load if they depend on them",
        {"joint": pulled.friction_torque}, ("q", "load"), independent={"joint": pulled.friction_torque},
    ),
    "pose": Quantity("q -> T(4,4)", "homogeneous matrix of the tip", {"frames": kinematics.pose}, pulled=_scalar),
    "link_poses": Quantity(
        "q -> T(N,4,4)", "homogeneous matrices of all link frames", {"frames": kinematics.link_poses}, pulled=_scalar
    ),
    "jacobian": Quantity(
        "q -> J(6,n)", "geometric Jacobian of the tip, S (7.18), (7.19)",
        {"geometric": kinematics.jacobian}, independent={"geometric": pulled.jacobian},
    ),
    "jacobian_derivative": Quantity(
        "q, qd -> Jd(6,n)", "time derivative of the geometric Jacobian of the tip",
        {"geometric": kinematics.jacobian_derivative}, independent={"geometric": pulled.jacobian_derivative},
    ),
    "loop_wrenches": Quantity(
        MOTION + "wrench(L,6)", "force and moment that link b of a loop exerts on link a at the cut, in base axes",
        {"passive-joints": pulled.loop_wrenches}, CONTACT, where="loops", whole=SUMMANDS,
    ),
    "closure": Quantity("q -> cos(N), sin(N)", "γ(q_a) by cosines and sines", {"closure": _closure}, where="coordinates"),
    "closure_jacobian": Quantity("q -> Gamma(N,n)", "Γ = ∂γ/∂q_a", {"closure": lambda m, q: [*zip(*Chain(m, q).Gamma, strict=True)]}, where="coordinates"),
    "closure_derivative": Quantity(
        "q, qd -> Gamma_dot(N,n)", "Γ̇ along a motion", {"closure": _gamma_dot}, where="coordinates"
    ),
    "tree_motion": Quantity(
        MOTION + "qd(N), qdd(N)", "q̇ and q̈ of all joints of the tree", {"closure": _tree_motion}, where="coordinates"
    ),
    "loop_residual": Quantity("q -> residual(e)", "Φ(γ(q_a))", {"closure": pulled.residuals}, where="loops"),
    "loop_equations": Quantity(
        "tree_q -> residual(e), Phi_q(e,N)", "Φ(q) and ∂Φ/∂q", {"loops": _loop_equations}, where="loops"
    ),
})  # fmt: skip


def known(mechanism: AnyMechanism) -> dict[str, Quantity]:
    """The quantities of a mechanism."""
    has = {"": True, "coordinates": not mechanism.identity, "loops": bool(mechanism.loops)}
    return {name: entry for name, entry in JOINTS.items() if has[entry.where]}


def quantity(name: str, mechanism: AnyMechanism) -> Quantity:
    """The entry of the table, or its derivative, as in "pose_gradient"; otherwise an error that lists the names."""
    entries = known(mechanism)
    if name in entries:
        return entries[name]
    source, _, mode = name.rpartition("_")
    if mode in MODES:
        return derivative_of(mode, quantity(source, mechanism))
    *first, last = (f"_{mode}" for mode in MODES)
    raise DalembertError(
        f"there is no quantity '{name}'; the quantities are {', '.join(entries)}, and their derivatives, with "
        f"{', '.join(first)} or {last} appended to the name{nearest(name, list(entries))}"
    )
