"""What can be asked of an arm: each quantity's inputs, outputs and equations, in one table.

A quantity is traced with expressions into a graph, compiled, cached and handed out as a gufunc. To
add one, write its equations in ``equations/`` and a line here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from dalembert.algebra.scalars import cos, sin
from dalembert.coordinates import pulled
from dalembert.coordinates.chain import Angle, AnyMechanism, Chain
from dalembert.coordinates.loops import rates, rows_of
from dalembert.equations import (
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
    regressor,
    terms,
)
from dalembert.equations.newton_euler import BaseMotion
from dalembert.errors import DalembertError
from dalembert.quantities.lighter import CLOSED_FORM, HELD, closed_form, flat, has_closed_form
from dalembert.robot.mechanism import Mechanism

if TYPE_CHECKING:
    import numpy as np

    from dalembert.emit.llvm import Signature
    from dalembert.graph.count import Operations
    from dalembert.graph.tape import Graph

Shape = tuple["int | str", ...]
Inputs = dict[str, list[Any]]
Trace = Callable[[Any, Inputs], Any]
Pulled = Callable[[Any, Inputs, Trace], Any]

# core shapes of every input by name; "n" is the number of joint variables, "N" that of moving links
# (more than n in closed chains), "P" that of their parameters, "Q" n unless a closure is found by Newton
INPUTS: dict[str, Shape] = {
    "q": ("Q",),
    "qd": ("n",),
    "qdd": ("n",),
    "tau": ("n",),
    "tree_q": ("N",),
    "tip_wrench": (6,),
    "base_motion": (9,),
}


CHEAPEST = "cheapest"
CONDENSED_LENGTH = 6000


@dataclass(frozen=True)
class Quantity:
    """One thing to compute.

    inputs    names in ``INPUTS``, in the order of the kernel's arguments
    options   further inputs that a caller may ask for, each making a kernel of its own
    outputs   (name, core shape) of each result
    trace     formulation → equations of the tree: a function of the mechanism and the inputs by name
    pulled    the same where the coordinates are not those of the tree: a function of the mechanism, the inputs
              and the tree's equations
    coupled   the formulations that hold there; all of them unless named
    rivals    formulations of which the one with the fewest operations is taken unless one is named
    where     what a mechanism must have for it: "coordinates" that are not those of its tree, or "loops"
    """

    inputs: tuple[str, ...]
    outputs: tuple[tuple[str, Shape], ...]
    trace: dict[str, Trace]
    options: tuple[str, ...] = ()
    summary: str = ""
    rivals: tuple[str, ...] = ()
    pulled: Pulled | None = None
    coupled: tuple[str, ...] = ()
    where: str = ""

    def formulations(self, mechanism: AnyMechanism | None) -> dict[str, Trace]:
        """The equations by formulation, on this mechanism; an open arm's unless given."""
        if mechanism is None or mechanism.identity or self.pulled is None:
            return self.trace
        pull, names = self.pulled, self.coupled or tuple(self.trace)

        def through(tree: Trace) -> Trace:
            return lambda m, x: pull(m, x, tree)

        out = {name: through(self.trace[name]) for name in names}
        return {**out, CLOSED_FORM: closed_form(out[names[0]])} if has_closed_form(mechanism) else out

    def contenders(self, mechanism: AnyMechanism | None) -> tuple[str, ...]:
        """The formulations of which the one with the fewest operations is taken unless one is named."""
        known = self.formulations(mechanism)
        rivals = self.rivals if self.rivals and set(self.rivals) <= set(known) else (next(iter(known)),)
        small = mechanism is not None and mechanism.n <= HELD
        return (*rivals, CLOSED_FORM) if small and CLOSED_FORM in known else rivals

    def default(self, mechanism: AnyMechanism | None) -> str:
        """The formulation that is used unless another is asked for: the fastest."""
        rivals = self.contenders(mechanism)
        return CHEAPEST if len(rivals) > 1 else rivals[0]


def _base(inputs: Inputs) -> BaseMotion | None:
    b = inputs.get("base_motion")
    return None if b is None else BaseMotion(tuple(b[0:3]), tuple(b[3:6]), tuple(b[6:9]))


def _inverse(formulation: Callable[..., Any]) -> Trace:
    return lambda m, x: formulation(m, x["q"], x["qd"], x["qdd"], x.get("tip_wrench"), _base(x))


def _inverse_on_fixed_base(name: str, formulation: Callable[..., Any]) -> Trace:
    def run(m: Mechanism, x: Inputs) -> Any:
        if "base_motion" in x:
            raise DalembertError(
                f"the formulation '{name}' has no base_motion: its energies are those of an arm on a fixed base; "
                "'lean', 'newton-euler' and 'newton-euler-base' take it"
            )
        return formulation(m, x["q"], x["qd"], x["qdd"], x.get("tip_wrench"))

    return run


def _joint_wrenches(m: Mechanism, x: Inputs) -> Any:
    run = newton_euler.newton_euler(m, x["q"], x["qd"], x["qdd"], x.get("tip_wrench"), _base(x))
    return [[*f, *mu] for f, mu in zip(run.f, run.mu, strict=True)]


def _gravity(m: Mechanism, x: Inputs) -> Any:
    rest = [0.0] * m.n
    return lean_newton_euler.inverse_dynamics(m, x["q"], rest, rest)


def _fields(values: Any) -> list[Any]:
    """The fields of a dataclass, in order."""
    return [getattr(values, field.name) for field in fields(values)]


def _of(function: Callable[..., Any], *names: str) -> Trace:
    """A function of the mechanism and of these inputs, in this order."""
    return lambda m, x: function(m, *(x.get(name) for name in names))


# -- through γ: how each kind of quantity follows from the tree's --------------------------------------


def _on_tree(m: AnyMechanism, x: Inputs) -> tuple[Chain, Inputs]:
    """The chain, and the inputs as its tree has them. Where Γ is constant, velocities need no positions."""
    chain = Chain(m, x["q"] if "q" in x else [0.0] * m.n, x["qd"] if "qdd" in x else None)
    inner = {**x, "q": chain.q}
    if "qd" in x:
        inner["qd"] = chain.push(x["qd"]) if chain.qd is None else chain.qd
    if "qdd" in x:
        inner["qdd"] = chain.accelerations(x["qdd"])
    return chain, inner


def _covector(m: AnyMechanism, x: Inputs, tree: Trace) -> Any:
    """Γᵀ τ: torques."""
    chain, inner = _on_tree(m, x)
    return chain.pull(tree(m.tree, inner))


def _rows(m: AnyMechanism, x: Inputs, tree: Trace) -> Any:
    """J Γ, row by row."""
    chain, inner = _on_tree(m, x)
    return [chain.pull(row) for row in tree(m.tree, inner)]


def _columns(m: AnyMechanism, x: Inputs, tree: Trace) -> Any:
    """Γᵀ Y, column by column."""
    chain, inner = _on_tree(m, x)
    Y = tree(m.tree, inner)
    columns = [chain.pull([row[k] for row in Y]) for k in range(len(Y[0]))]
    return [[column[i] for column in columns] for i in range(m.n)]


def _metric(m: AnyMechanism, x: Inputs, tree: Trace) -> Any:
    """Γᵀ B Γ"""
    chain, inner = _on_tree(m, x)
    return pulled.congruent(chain.Gamma, tree(m.tree, inner))


def _scalar(m: AnyMechanism, x: Inputs, tree: Trace) -> Any:
    """What has no coordinates of its own: energies, poses."""
    return tree(m.tree, _on_tree(m, x)[1])


def _directly(function: Callable[..., Any], *names: str) -> Pulled:
    """Equations of their own on the coordinates that are held."""
    return lambda m, x, tree: function(m, *(x.get(name) for name in names))


def _coriolis(m: AnyMechanism, x: Inputs, tree: Trace) -> Any:
    """Γᵀ (C Γ + B Γ̇)"""
    return pulled.coriolis_matrix(m, x["q"], x["qd"], lambda t, q, qd: tree(t, {"q": q, "qd": qd}))


def _christoffel(m: AnyMechanism, x: Inputs, tree: Trace) -> Any:
    """c_ijk of Γᵀ B Γ, from C of the tree in the same formulation."""
    coriolis = lagrange.coriolis_matrix if tree is LAGRANGE_SYMBOLS else composite.coriolis_matrix
    return pulled.christoffel(m, x["q"], coriolis)


def _wrenches(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda m, x, *_: function(m, x["q"], x["qd"], x["qdd"], x.get("tip_wrench"), _base(x))


def _slopes(m: AnyMechanism, values: list[Any], x: Inputs) -> tuple[Any, Any]:
    """The derivatives by q_a and q̇_a of torques or accelerations that stand on the tape."""
    from dalembert.graph.derivative import jacobian
    from dalembert.graph.tape import Expr

    first = x["q"][0]
    if not isinstance(first, Expr):
        raise DalembertError("derivatives of closed chains exist on the tape only: they have no formulas as written")
    dq = jacobian(first.graph, values, x["q"])
    if m.by_newton:  # the joints of the tree move with q_a
        chain = Chain(m, x["q"])
        dq = [chain.pull(row) for row in dq]
    return dq, jacobian(first.graph, values, x["qd"])


def _torque_derivatives(m: AnyMechanism, x: Inputs, tree: Trace) -> Any:
    if m.linear:
        chain, inner = _on_tree(m, x)
        return [pulled.both_sides(chain, part) for part in tree(m.tree, inner)]
    return _slopes(m, pulled.inverse_dynamics(m, x["q"], x["qd"], x["qdd"]), x)


def _forward_derivatives(m: AnyMechanism, x: Inputs, tree: Trace) -> Any:
    n = m.n
    factor = pulled.factorised(m, pulled.inertia_matrix(m, x["q"]))
    dq, dqd = _slopes(m, pulled.forward_dynamics(m, x["q"], x["qd"], x["tau"]), x)
    return dq, dqd, [factor.solve([1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]


# -- the coordinates themselves ----------------------------------------------------------------------


def _closure(m: AnyMechanism, x: Inputs) -> Any:
    """(cos, sin) of the joints that are known so; of the others (position, 0)."""
    chain = Chain(m, x["q"])
    cosines, sines = [], []
    for q in chain.q:
        known = isinstance(q, Angle)
        cosines.append(cos(q) if known else q)
        sines.append(sin(q) if known else 0.0)
    return cosines, sines


def _gamma(m: AnyMechanism, x: Inputs) -> Any:
    columns = Chain(m, x["q"]).Gamma
    return [[column[i] for column in columns] for i in range(m.tree.n)]


def _gamma_dot(m: AnyMechanism, x: Inputs) -> Any:
    chain = Chain(m, x["q"], x["qd"])
    columns = chain.Gamma_dot(chain.Gamma)
    return [[column[i] for column in columns] for i in range(m.tree.n)]


def _tree_motion(m: AnyMechanism, x: Inputs) -> Any:
    chain = Chain(m, x["q"], x["qd"])
    return chain.qd, chain.accelerations(x["qdd"])


def _loop_equations(m: AnyMechanism, x: Inputs) -> Any:
    """Φ and ∂Φ/∂q of all loops at any q of the tree, closed or not: what Newton's method asks for."""
    residual: list[Any] = []
    rows: list[list[Any]] = []
    for loop in m.loops:
        there = rates(m.tree, loop, x["tree_q"])
        at = dict(zip(loop.ends.joints, there.columns, strict=True))
        residual += there.residual
        for r in range(len(there.residual)):
            rows.append([at[i][r] if i in at else 0.0 for i in range(m.tree.n)])
    return residual, rows


LAGRANGE_SYMBOLS = _of(lagrange.christoffel, "q")

QUANTITIES: dict[str, Quantity] = {
    "inverse_dynamics": Quantity(
        ("q", "qd", "qdd"),
        (("tau", ("n",)),),
        {
            "lean": _inverse(lean_newton_euler.inverse_dynamics),
            "newton-euler": _inverse(newton_euler.inverse_dynamics),
            "newton-euler-base": _inverse(newton_euler_base.inverse_dynamics),
            "lagrange": _inverse_on_fixed_base("lagrange", lagrange.inverse_dynamics),
            "lagrange-euler": _inverse_on_fixed_base("lagrange-euler", lagrange_euler.inverse_dynamics),
            "dalembert": _inverse_on_fixed_base("dalembert", dalembert.inverse_dynamics),
        },
        ("tip_wrench", "base_motion"),
        "joint torques (N m or N) for a motion, S (7.42)",
        pulled=_covector,
    ),
    "joint_wrenches": Quantity(
        ("q", "qd", "qdd"),
        (("wrench", ("N", 6)),),
        {"newton-euler": _joint_wrenches},
        ("tip_wrench", "base_motion"),
        "force f_i and moment μ_i that link i−1 exerts on link i, S (7.112), (7.113)",
        pulled=_wrenches(pulled.joint_wrenches),
    ),
    "forward_dynamics": Quantity(
        ("q", "qd", "tau"),
        (("qdd", ("n",)),),
        {
            "composite": _of(forward_dynamics.forward_dynamics, "q", "qd", "tau", "tip_wrench"),
            "articulated": _of(articulated.forward_dynamics, "q", "qd", "tau", "tip_wrench"),
        },
        ("tip_wrench",),
        "joint accelerations for given torques, S (7.115)",
        rivals=("composite", "articulated"),
        pulled=_directly(pulled.forward_dynamics, "q", "qd", "tau", "tip_wrench"),
        coupled=("composite",),
    ),
    "inertia_matrix": Quantity(
        ("q",),
        (("B", ("n", "n")),),
        {
            "composite": _of(composite.inertia_matrix, "q"),
            "column-by-column": _of(forward_dynamics.column_by_column, "q"),
            "lagrange": _of(lagrange.inertia_matrix, "q"),
        },
        (),
        "B(q), S (7.32)",
        pulled=_metric,
    ),
    "inertia_derivative": Quantity(
        ("q", "qd"),
        (("Bd", ("n", "n")),),
        {"composite": _of(composite.inertia_derivative, "q", "qd")},
        (),
        "Ḃ(q, q̇)",
        pulled=_directly(pulled.inertia_derivative, "q", "qd"),
    ),
    "coriolis_matrix": Quantity(
        ("q", "qd"),
        (("C", ("n", "n")),),
        {
            "composite": _of(composite.coriolis_matrix, "q", "qd"),
            "lagrange": _of(lagrange.coriolis_matrix, "q", "qd"),
        },
        (),
        "C(q, q̇) with Christoffel symbols, S (7.44)",
        pulled=_coriolis,
    ),
    "christoffel": Quantity(
        ("q",),
        (("c", ("n", "n", "n")),),
        {"composite": _of(composite.christoffel, "q"), "lagrange": LAGRANGE_SYMBOLS},
        (),
        "Christoffel symbols c_ijk, S (7.45)",
        pulled=_christoffel,
    ),
    "torque_derivatives": Quantity(
        ("q", "qd", "qdd"),
        (("dq", ("n", "n")), ("dqd", ("n", "n"))),
        {"composite": _of(composite.torque_derivatives, "q", "qd", "qdd")},
        (),
        "∂τ/∂q and ∂τ/∂q̇",
        pulled=_torque_derivatives,
    ),
    "torque_terms": Quantity(
        ("q", "qd", "qdd"),
        (
            ("inertia", ("n", "n")),
            ("rotor", ("n", "n")),
            ("centrifugal", ("n", "n")),
            ("coriolis", ("n", "n", "n")),
            ("gravity", ("n",)),
            ("viscous", ("n",)),
            ("coulomb", ("n",)),
            ("contact", ("n",)),
        ),
        {"composite": _of(terms.torque_terms, "q", "qd", "qdd", "tip_wrench")},
        ("tip_wrench",),
        "the torque in its parts, S (7.40)",
        pulled=_directly(pulled.torque_terms, "q", "qd", "qdd", "tip_wrench"),
    ),
    "regressor": Quantity(
        ("q", "qd", "qdd"),
        (("Y", ("n", "P")),),
        {"virtual-work": _of(regressor.regressor, "q", "qd", "qdd")},
        (),
        "Y(q, q̇, q̈) with τ = Yπ, S (7.81)",
        pulled=_columns,
    ),
    "lagrange_euler": Quantity(
        ("q",),
        (("D", ("n", "n")), ("h", ("n", "n", "n")), ("c", ("n",))),
        {"lagrange-euler": lambda m, x: _fields(lagrange_euler.coefficients(m, x["q"]))},
        (),
        "the coefficients D_ik, h_ikm, c_i of M (2.11), (2.14), (2.15)",
        pulled=_directly(pulled.lagrange_euler_coefficients, "q"),
    ),
    "dalembert": Quantity(
        ("q", "qd"),
        (("D_rot", ("n", "n")), ("D_tran", ("n", "n")), ("h_tran", ("n",)), ("h_rot", ("n",)), ("c", ("n",))),
        {"dalembert": lambda m, x: _fields(dalembert.coefficients(m, x["q"], x["qd"]))},
        (),
        "the coefficients of the generalized d'Alembert equations, M (4.2)–(4.5)",
        pulled=_directly(pulled.dalembert_coefficients, "q", "qd"),
    ),
    "forward_derivatives": Quantity(
        ("q", "qd", "tau"),
        (("dq", ("n", "n")), ("dqd", ("n", "n")), ("dtau", ("n", "n"))),
        {"composite": _of(forward_dynamics.forward_derivatives, "q", "qd", "tau")},
        (),
        "∂q̈/∂q, ∂q̈/∂q̇ and ∂q̈/∂τ",
        pulled=_forward_derivatives,
    ),
    "kinetic_energy": Quantity(
        ("q", "qd"),
        (("T", ()),),
        {"links": _of(energy.kinetic_energy, "q", "qd")},
        (),
        "½ q̇ᵀ B q̇, S (7.31)",
        pulled=_scalar,
    ),
    "potential_energy": Quantity(
        ("q",),
        (("U", ()),),
        {"links": _of(energy.potential_energy, "q")},
        (),
        "potential energy, S (7.36)",
        pulled=_scalar,
    ),
    "gravity_torque": Quantity(
        ("q",),
        (("g", ("n",)),),
        {"lean": _gravity},
        (),
        "g(q), S (7.39)",
        pulled=_covector,
    ),
    "friction_torque": Quantity(
        ("qd",),
        (("friction", ("n",)),),
        {"joint": _of(friction.friction_torque, "qd")},
        ("q",),
        "F_v q̇ + F_s sgn(q̇), S (7.42); with q where passive joints rub",
        pulled=_covector,
    ),
    "pose": Quantity(
        ("q",),
        (("T", (4, 4)),),
        {"frames": _of(kinematics.pose, "q")},
        (),
        "homogeneous matrix of the tip",
        pulled=_scalar,
    ),
    "link_poses": Quantity(
        ("q",),
        (("T", ("N", 4, 4)),),
        {"frames": _of(kinematics.link_poses, "q")},
        (),
        "homogeneous matrices of all link frames",
        pulled=_scalar,
    ),
    "jacobian": Quantity(
        ("q",),
        (("J", (6, "n")),),
        {"geometric": _of(kinematics.jacobian, "q")},
        (),
        "geometric Jacobian of the tip, S (7.18), (7.19)",
        pulled=_rows,
    ),
    "jacobian_derivative": Quantity(
        ("q", "qd"),
        (("Jd", (6, "n")),),
        {"geometric": _of(kinematics.jacobian_derivative, "q", "qd")},
        (),
        "time derivative of the geometric Jacobian of the tip",
        pulled=_directly(pulled.jacobian_derivative, "q", "qd"),
    ),
    "loop_wrenches": Quantity(
        ("q", "qd", "qdd"),
        (("wrench", ("L", 6)),),
        {"passive-joints": _wrenches(pulled.loop_wrenches)},
        ("tip_wrench", "base_motion"),
        "force and moment that link b of a loop exerts on link a at the cut, in base axes",
        where="loops",
    ),
    "closure": Quantity(
        ("q",),
        (("cos", ("N",)), ("sin", ("N",))),
        {"closure": _closure},
        (),
        "γ(q_a) by cosines and sines",
        where="coordinates",
    ),
    "closure_jacobian": Quantity(
        ("q",), (("Gamma", ("N", "n")),), {"closure": _gamma}, (), "Γ = ∂γ/∂q_a", where="coordinates"
    ),
    "closure_derivative": Quantity(
        ("q", "qd"), (("Gamma_dot", ("N", "n")),), {"closure": _gamma_dot}, (), "Γ̇ along a motion", where="coordinates"
    ),
    "tree_motion": Quantity(
        ("q", "qd", "qdd"),
        (("qd", ("N",)), ("qdd", ("N",))),
        {"closure": _tree_motion},
        (),
        "q̇ and q̈ of all joints of the tree",
        where="coordinates",
    ),
    "loop_residual": Quantity(
        ("q",), (("residual", ("m",)),), {"closure": _of(pulled.residuals, "q")}, (), "Φ(γ(q_a))", where="loops"
    ),
    "loop_equations": Quantity(
        ("tree_q",),
        (("residual", ("m",)), ("Phi_q", ("m", "N"))),
        {"loops": _loop_equations},
        (),
        "Φ(q) and ∂Φ/∂q",
        where="loops",
    ),
}


def known(mechanism: AnyMechanism | None = None) -> dict[str, Quantity]:
    """The quantities that a mechanism has; an open arm unless given."""
    has = {"": True, "coordinates": mechanism is not None and not mechanism.identity}
    has["loops"] = mechanism is not None and bool(mechanism.loops)
    return {name: entry for name, entry in QUANTITIES.items() if has[entry.where]}


def quantity(name: str, mechanism: AnyMechanism | None = None) -> Quantity:
    """The table's entry, or an error that lists the names."""
    entries = known(mechanism)
    if name not in entries:
        raise DalembertError(f"there is no quantity '{name}'; known are {', '.join(entries)}")
    return entries[name]


def chosen_formulation(name: str, formulation: str | None, mechanism: AnyMechanism | None = None) -> str:
    """The formulation to use, or an error that lists those that exist."""
    entry = quantity(name, mechanism)
    formulations, default = entry.formulations(mechanism), entry.default(mechanism)
    if formulation is None:
        return default
    if formulation not in formulations and formulation != default:
        raise DalembertError(f"{name} has no formulation '{formulation}'; it has {', '.join(formulations)}")
    return formulation


def signature_of(name: str, n: int | AnyMechanism, options: tuple[str, ...]) -> Signature:
    """Names and core shapes of the kernel's arrays, for a mechanism or for an open arm of n joints."""
    from dalembert.emit.llvm import Signature

    if isinstance(n, int):
        many, entry = {"n": n, "N": n, "P": regressor.WIDTH * n, "Q": n}, quantity(name)
    else:
        many, entry = sizes_of(n), quantity(name, n)

    def sized(shape: Shape) -> tuple[int, ...]:
        return tuple(k if isinstance(k, int) else many[k] for k in shape)

    return Signature(
        tuple((x, sized(INPUTS[x])) for x in (*entry.inputs, *options)),
        tuple((x, sized(shape)) for x, shape in entry.outputs),
    )


def sizes_of(mechanism: AnyMechanism) -> dict[str, int]:
    """What the letters in the shapes of a mechanism's arrays stand for; "m" equations, "L" loops."""
    N, m = mechanism.tree.n, sum(rows_of(loop) for loop in mechanism.loops)
    Q, P = N if mechanism.by_newton else mechanism.n, regressor.WIDTH * N
    return {"n": mechanism.n, "N": N, "P": P, "Q": Q, "m": m, "L": len(mechanism.loops)}


def traced(mechanism: AnyMechanism, name: str, formulation: str, options: tuple[str, ...]) -> Graph:
    """The quantity's graph, simplified."""
    if formulation == CHEAPEST:
        return cheapest(mechanism, name, options)[1]
    from dalembert.emit.llvm import size
    from dalembert.graph.passes import factored, pruned
    from dalembert.graph.sums import condensed
    from dalembert.graph.tape import Graph

    graph = Graph()
    inputs = {
        x: [graph.input(f"{x}{k + 1}") for k in range(size(shape))]
        for x, shape in signature_of(name, mechanism, options).inputs
    }
    graph.output(flat(quantity(name, mechanism).formulations(mechanism)[formulation](mechanism, inputs)))
    graph = factored(pruned(graph))
    # the book's closed forms run to tens of thousands of lines: there the search takes longer than it saves
    return condensed(graph) if len(graph.nodes) <= CONDENSED_LENGTH else graph


def cheapest(mechanism: AnyMechanism, name: str, options: tuple[str, ...]) -> tuple[str, Graph]:
    """The formulation with the fewest operations, and its graph. A closed form that is too large does not compete."""
    from dalembert.graph.count import count
    from dalembert.symbols.harmonics import ClosedFormTooLarge

    graphs: dict[str, Graph] = {}
    for rival in quantity(name, mechanism).contenders(mechanism):
        try:
            graphs[rival] = traced(mechanism, name, rival, options)
        except ClosedFormTooLarge:
            continue
    return min(graphs.items(), key=lambda item: count(item[1]).total)


@dataclass(frozen=True)
class Price:
    """What a quantity costs: ``written`` as the formulas stand, ``compiled`` after simplification."""

    written: Operations
    compiled: Operations


def price(mechanism: AnyMechanism, name: str, formulation: str | None, options: tuple[str, ...] = ()) -> Price:
    """Count a quantity's operations both ways."""
    from dalembert.graph.count import count

    chosen = chosen_formulation(name, formulation, mechanism)
    check_options(name, options, mechanism)
    if chosen == CHEAPEST:  # name the one that is taken, to count it as written
        chosen, graph = cheapest(mechanism, name, options)
    else:
        graph = traced(mechanism, name, chosen, options)
    return Price(written(mechanism, name, chosen, options), count(graph))


def written(mechanism: AnyMechanism, name: str, formulation: str, options: tuple[str, ...] = ()) -> Operations:
    """The operations of the formulas as they stand, nothing shared and nothing simplified."""
    from dalembert.emit.llvm import size
    from dalembert.graph.count import Tally

    tally = Tally()
    shapes = signature_of(name, mechanism, options).inputs
    quantity(name, mechanism).formulations(mechanism)[formulation](
        mechanism, {x: [tally.scalar() for _ in range(size(s))] for x, s in shapes}
    )
    return tally.operations()


def check_options(name: str, options: tuple[str, ...], mechanism: AnyMechanism | None = None) -> None:
    """Refuse an option that the quantity does not take."""
    unknown = [x for x in options if x not in quantity(name, mechanism).options]
    if unknown:
        allowed = ", ".join(quantity(name, mechanism).options) or "none"
        raise DalembertError(f"{name} does not take '{unknown[0]}'; the options it takes are: {allowed}")


def kernel(
    mechanism: AnyMechanism, name: str, formulation: str | None = None, options: tuple[str, ...] = ()
) -> np.ufunc:
    """The compiled gufunc: from memory, from the cache on disk, or made now."""
    from dalembert.kernel.make import graph_kernel

    chosen = chosen_formulation(name, formulation, mechanism)
    check_options(name, options, mechanism)
    return graph_kernel(
        ("quantity", repr(mechanism), name, chosen, ",".join(options)),
        signature_of(name, mechanism, options),
        lambda: traced(mechanism, name, chosen, options),
        name,
        quantity(name, mechanism).summary,
        (kernel, (mechanism, name, chosen, options)),
    )
