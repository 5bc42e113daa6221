"""What can be asked of an arm: each quantity's inputs, outputs and equations, in one table.

A quantity is traced with expressions into a graph, compiled, cached and handed out as a gufunc. To
add one, write its equations in ``equations/`` and a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

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
from dalembert.equations.closure import ClosedMechanism
from dalembert.equations.loops import rows_of
from dalembert.equations.newton_euler import BaseMotion
from dalembert.errors import DalembertError
from dalembert.robot.mechanism import Mechanism

if TYPE_CHECKING:
    import numpy as np

    from dalembert.emit.llvm import Signature
    from dalembert.graph.count import Operations
    from dalembert.graph.tape import Graph

Shape = tuple["int | str", ...]
AnyMechanism = Mechanism | ClosedMechanism

# core shapes of every input by name; "n" is the number of joint variables, "N" that of moving links
# (more than n in closed chains), "13N" thirteen times that, "Q" n unless a closure is found by Newton
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
    trace     formulation → equations: a function of the mechanism and the inputs by name
    rivals    formulations of which the one with the fewest operations is taken unless one is named
    """

    inputs: tuple[str, ...]
    outputs: tuple[tuple[str, Shape], ...]
    trace: dict[str, Callable[[Any, dict[str, list[Any]]], Any]]
    options: tuple[str, ...] = ()
    summary: str = ""
    rivals: tuple[str, ...] = ()

    @property
    def default(self) -> str:
        """The formulation that is used unless another is asked for: the fastest."""
        return CHEAPEST if self.rivals else next(iter(self.trace))


def _base(inputs: dict[str, list[Any]]) -> BaseMotion | None:
    b = inputs.get("base_motion")
    return None if b is None else BaseMotion(tuple(b[0:3]), tuple(b[3:6]), tuple(b[6:9]))


def _inverse(formulation: Callable[..., Any]) -> Callable[[Mechanism, dict[str, list[Any]]], Any]:
    return lambda m, x: formulation(m, x["q"], x["qd"], x["qdd"], x.get("tip_wrench"), _base(x))


def _inverse_on_fixed_base(
    name: str, formulation: Callable[..., Any]
) -> Callable[[Mechanism, dict[str, list[Any]]], Any]:
    def run(m: Mechanism, x: dict[str, list[Any]]) -> Any:
        if "base_motion" in x:
            raise DalembertError(
                f"the formulation '{name}' has no base_motion: its energies are those of an arm on a fixed base; "
                "'lean', 'newton-euler' and 'newton-euler-base' take it"
            )
        return formulation(m, x["q"], x["qd"], x["qdd"], x.get("tip_wrench"))

    return run


def _joint_wrenches(m: Mechanism, x: dict[str, list[Any]]) -> Any:
    run = newton_euler.newton_euler(m, x["q"], x["qd"], x["qdd"], x.get("tip_wrench"), _base(x))
    return [[*f, *mu] for f, mu in zip(run.f, run.mu, strict=True)]


def _gravity(m: Mechanism, x: dict[str, list[Any]]) -> Any:
    rest = [0.0] * m.n
    return lean_newton_euler.inverse_dynamics(m, x["q"], rest, rest)


def _fields(values: Any) -> list[Any]:
    """The fields of a dataclass, in order."""
    return [getattr(values, field.name) for field in fields(values)]


def _of(function: Callable[..., Any], *names: str) -> Callable[[Mechanism, dict[str, list[Any]]], Any]:
    """A function of the mechanism and of these inputs, in this order."""
    return lambda m, x: function(m, *(x.get(name) for name in names))


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
    ),
    "joint_wrenches": Quantity(
        ("q", "qd", "qdd"),
        (("wrench", ("N", 6)),),
        {"newton-euler": _joint_wrenches},
        ("tip_wrench", "base_motion"),
        "force f_i and moment μ_i that link i−1 exerts on link i, S (7.112), (7.113)",
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
    ),
    "inertia_derivative": Quantity(
        ("q", "qd"), (("Bd", ("n", "n")),), {"composite": _of(composite.inertia_derivative, "q", "qd")}, (), "Ḃ(q, q̇)"
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
    ),
    "christoffel": Quantity(
        ("q",),
        (("c", ("n", "n", "n")),),
        {"composite": _of(composite.christoffel, "q"), "lagrange": _of(lagrange.christoffel, "q")},
        (),
        "Christoffel symbols c_ijk, S (7.45)",
    ),
    "torque_derivatives": Quantity(
        ("q", "qd", "qdd"),
        (("dq", ("n", "n")), ("dqd", ("n", "n"))),
        {"composite": _of(composite.torque_derivatives, "q", "qd", "qdd")},
        (),
        "∂τ/∂q and ∂τ/∂q̇",
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
    ),
    "regressor": Quantity(
        ("q", "qd", "qdd"),
        (("Y", ("n", "13N")),),
        {"virtual-work": _of(regressor.regressor, "q", "qd", "qdd")},
        (),
        "Y(q, q̇, q̈) with τ = Yπ, S (7.81)",
    ),
    "lagrange_euler": Quantity(
        ("q",),
        (("D", ("n", "n")), ("h", ("n", "n", "n")), ("c", ("n",))),
        {"lagrange-euler": lambda m, x: _fields(lagrange_euler.coefficients(m, x["q"]))},
        (),
        "the coefficients D_ik, h_ikm, c_i of M (2.11), (2.14), (2.15)",
    ),
    "dalembert": Quantity(
        ("q", "qd"),
        (("D_rot", ("n", "n")), ("D_tran", ("n", "n")), ("h_tran", ("n",)), ("h_rot", ("n",)), ("c", ("n",))),
        {"dalembert": lambda m, x: _fields(dalembert.coefficients(m, x["q"], x["qd"]))},
        (),
        "the coefficients of the generalized d'Alembert equations, M (4.2)–(4.5)",
    ),
    "forward_derivatives": Quantity(
        ("q", "qd", "tau"),
        (("dq", ("n", "n")), ("dqd", ("n", "n")), ("dtau", ("n", "n"))),
        {"composite": _of(forward_dynamics.forward_derivatives, "q", "qd", "tau")},
        (),
        "∂q̈/∂q, ∂q̈/∂q̇ and ∂q̈/∂τ",
    ),
    "kinetic_energy": Quantity(
        ("q", "qd"), (("T", ()),), {"links": _of(energy.kinetic_energy, "q", "qd")}, (), "½ q̇ᵀ B q̇, S (7.31)"
    ),
    "potential_energy": Quantity(
        ("q",), (("U", ()),), {"links": _of(energy.potential_energy, "q")}, (), "potential energy, S (7.36)"
    ),
    "gravity_torque": Quantity(("q",), (("g", ("n",)),), {"lean": _gravity}, (), "g(q), S (7.39)"),
    "friction_torque": Quantity(
        ("qd",),
        (("friction", ("n",)),),
        {"joint": _of(friction.friction_torque, "qd")},
        (),
        "F_v q̇ + F_s sgn(q̇), S (7.42)",
    ),
    "pose": Quantity(
        ("q",), (("T", (4, 4)),), {"frames": _of(kinematics.pose, "q")}, (), "homogeneous matrix of the tip"
    ),
    "link_poses": Quantity(
        ("q",),
        (("T", ("N", 4, 4)),),
        {"frames": _of(kinematics.link_poses, "q")},
        (),
        "homogeneous matrices of all link frames",
    ),
    "jacobian": Quantity(
        ("q",),
        (("J", (6, "n")),),
        {"geometric": _of(kinematics.jacobian, "q")},
        (),
        "geometric Jacobian of the tip, S (7.18), (7.19)",
    ),
    "jacobian_derivative": Quantity(
        ("q", "qd"),
        (("Jd", (6, "n")),),
        {"geometric": _of(kinematics.jacobian_derivative, "q", "qd")},
        (),
        "time derivative of the geometric Jacobian of the tip",
    ),
}


def quantity(name: str, mechanism: AnyMechanism | None = None) -> Quantity:
    """The table's entry, or an error that lists the names; closed chains have a table of their own."""
    table = QUANTITIES
    if isinstance(mechanism, ClosedMechanism):
        from dalembert.closed_quantities import CLOSED

        table = CLOSED
    if name not in table:
        raise DalembertError(f"there is no quantity '{name}'; known are {', '.join(table)}")
    return table[name]


def chosen_formulation(name: str, formulation: str | None, mechanism: AnyMechanism | None = None) -> str:
    """The formulation to use, or an error that lists those that exist."""
    known = quantity(name, mechanism).trace
    if formulation is None:
        return quantity(name, mechanism).default
    if formulation not in known and formulation != quantity(name, mechanism).default:
        raise DalembertError(f"{name} has no formulation '{formulation}'; it has {', '.join(known)}")
    return formulation


def _flat(values: Any) -> Iterable[Any]:
    for value in values if isinstance(values, (list, tuple)) else [values]:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def signature_of(name: str, n: int | AnyMechanism, options: tuple[str, ...]) -> Signature:
    """Names and core shapes of the kernel's arrays, for a mechanism or for an open arm of n joints."""
    from dalembert.emit.llvm import Signature

    if isinstance(n, ClosedMechanism):
        many, entry = sizes_of(n), quantity(name, n)
    else:
        joints = n if isinstance(n, int) else n.n
        many, entry = {"n": joints, "N": joints, "Q": joints}, quantity(name)

    def sized(shape: Shape) -> tuple[int, ...]:
        return tuple(k if isinstance(k, int) else many[k[-1]] * int(k[:-1] or 1) for k in shape)

    return Signature(
        tuple((x, sized(INPUTS[x])) for x in (*entry.inputs, *options)),
        tuple((x, sized(shape)) for x, shape in entry.outputs),
    )


def sizes_of(closed: ClosedMechanism) -> dict[str, int]:
    """What the letters in the shapes of a closed chain's arrays stand for; "m" equations, "L" loops."""
    N, m = closed.tree.n, sum(rows_of(loop) for loop in closed.loops)
    return {"n": closed.n, "N": N, "Q": N if closed.by_newton else closed.n, "m": m, "L": len(closed.loops)}


def traced(mechanism: AnyMechanism, name: str, formulation: str, options: tuple[str, ...]) -> Graph:
    """The quantity's graph, simplified."""
    if formulation == CHEAPEST:
        from dalembert.graph.count import count

        graphs = [traced(mechanism, name, rival, options) for rival in quantity(name, mechanism).rivals]
        return min(graphs, key=lambda graph: count(graph).total)
    from dalembert.emit.llvm import size
    from dalembert.graph.passes import factored, pruned
    from dalembert.graph.sums import condensed
    from dalembert.graph.tape import Graph

    graph = Graph()
    inputs = {
        x: [graph.input(f"{x}{k + 1}") for k in range(size(shape))]
        for x, shape in signature_of(name, mechanism, options).inputs
    }
    graph.output(_flat(quantity(name, mechanism).trace[formulation](mechanism, inputs)))
    graph = factored(pruned(graph))
    # the book's closed forms run to tens of thousands of lines: there the search takes longer than it saves
    return condensed(graph) if len(graph.nodes) <= CONDENSED_LENGTH else graph


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
    graph = traced(mechanism, name, chosen, options)
    if chosen == CHEAPEST:  # name the one that was taken, to count it as written
        totals = {
            rival: count(traced(mechanism, name, rival, options)).total for rival in quantity(name, mechanism).rivals
        }
        chosen = min(totals, key=lambda rival: totals[rival])
    return Price(written(mechanism, name, chosen, options), count(graph))


def written(mechanism: AnyMechanism, name: str, formulation: str, options: tuple[str, ...] = ()) -> Operations:
    """The operations of the formulas as they stand, nothing shared and nothing simplified."""
    from dalembert.emit.llvm import size
    from dalembert.graph.count import Tally

    tally = Tally()
    shapes = signature_of(name, mechanism, options).inputs
    quantity(name, mechanism).trace[formulation](
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
