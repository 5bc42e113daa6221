"""Every quantity of small random robots, compiled, on open arms, mimic joints and closed loops.

A compiled result is compared with the equations of every formulation as plain Python, and with an identity that derives it
from other quantities, from the derivative of a tape, or from :mod:`plain_mechanics`, which shares nothing with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import dalembert as da
from arms import friction, one_level, random_robot, tree_positions, tree_velocities, uncompiled
from dalembert.base.algebra.scalars import flat
from dalembert.compiler.quantities import derived
from dalembert.compiler.quantities.joints import JOINTS, known
from dalembert.compiler.quantities.machine import CLOSED_FORM, signature, trace
from dalembert.robot import Coupling
from plain_mechanics import PlainMechanics
from test_closed_sliders import LOOPS, near
from test_closed_sliders import arm as loop_of
from trust.check import Outcome, Task

KINDS = ("open", "mimic", "loop")
STATES = 5
# whose equations differentiate a tape, so that they do not run on plain numbers
ON_TAPES = ("torque_second_derivatives",)
IN_OTHER_AXES = ("recursion", "newton-euler-base")  # compared after it is turned
ON_TAPES_IN_COORDINATES = ("torque_derivatives", "forward_derivatives")


def work(task: Task, outcome: Outcome) -> None:
    """One robot after the other, of all kinds of coordinates in turn."""
    for number in task.numbers:
        kind = KINDS[number % len(KINDS)]
        a, x = example(kind, task.seed, number)
        where = f"{kind} robot {number}, seed {task.seed}"
        asked = Asked(a, x)
        for name, error in comparisons(asked):
            outcome.measure(name, error, where)
        outcome.count += 1


# -- random robots ---------------------------------------------------------------------------------


def example(kind: str, seed: int, number: int) -> tuple[da.Arm, dict[str, np.ndarray]]:
    """A random arm with coordinates of this kind, and states that it can have."""
    rng = np.random.default_rng([seed, number])
    if kind == "loop":
        return _loop(rng)
    n = int(rng.integers(1, 4)) if kind == "open" else int(rng.choice([2, 3, 4], p=[0.45, 0.45, 0.1]))
    robot = random_robot(rng, n, tree=bool(rng.random() < 0.5))
    if kind == "mimic":
        robot = robot.replace(couplings=_couplings(rng, [joint.name for joint in robot.tree_joints]))
    a = one_level(da.Arm(robot))  # as S (7.42) has it, so that regressors hold
    return a, _motions(rng, a, rng.uniform(-1, 1, (STATES, a.n)))


def _couplings(rng: np.random.Generator, names: list[str]) -> list[Coupling]:
    """Some joints that follow one or two others, some of them by polynomials; at least one, and at most all but two."""
    followers = names[max(1, len(names) - int(rng.integers(1, 3))) :]
    leaders = [name for name in names if name not in followers]
    couplings = []
    for name in followers:
        of = [str(x) for x in rng.choice(leaders, int(rng.integers(1, min(2, len(leaders)) + 1)), replace=False)]
        higher = tuple(rng.uniform(-0.3, 0.3, 1)) if len(of) == 1 and rng.random() < 0.4 else ()
        couplings.append(
            Coupling(name, of, rng.uniform(-1.5, 1.5, (1, len(of))), float(rng.uniform(-0.5, 0.5)), higher)
        )
    return couplings


def _loop(rng: np.random.Generator) -> tuple[da.Arm, dict[str, np.ndarray]]:
    """A planar loop of random links, of one of the kinds of test_closed_sliders, away from its singular poses."""
    while True:
        a = loop_of.__wrapped__(str(rng.choice(list(LOOPS))), int(rng.integers(2**31)))
        try:
            q = np.array([state[0] for state in near(a, STATES)])
        except AssertionError:  # nearly all states are singular
            continue
        return a, _motions(rng, a, q)


def _motions(rng: np.random.Generator, a: da.Arm, q: np.ndarray) -> dict[str, np.ndarray]:
    x = {name: rng.uniform(-2, 2, q.shape) for name in ("qd", "qdd", "tau", "qd_r", "qdd_r")}
    return {"q": q, **x, "tip_wrench": rng.uniform(-5, 5, (len(q), 6)), "tree_q": tree_positions(a, q)}


# -- compiled results ------------------------------------------------------------------------------


@dataclass
class Asked:
    """An arm, a batch of its states, and what its kernels give for them, each asked for once."""

    arm: da.Arm
    x: dict[str, np.ndarray]

    def __post_init__(self) -> None:
        self.results: dict[str, Any] = {}
        self.batch = len(self.x["q"])

    def __getitem__(self, quantity: str) -> Any:
        if quantity not in self.results:
            kernel = self.arm.kernel(quantity, options=self.options(quantity))
            self.results[quantity] = kernel(*self.arrays(quantity).values())
        return self.results[quantity]

    def options(self, quantity: str) -> tuple[str, ...]:
        """A tip wrench where the quantity takes one, and the position for friction that depends on it."""
        if quantity == "friction_torque":
            return ("q",)
        return ("tip_wrench",) if "tip_wrench" in JOINTS[quantity].options else ()

    def arrays(self, quantity: str) -> dict[str, np.ndarray]:
        """The arrays of a quantity, q as kernels take it."""
        return {
            name: self.arm.placed(self.x[name]) if name == "q" else self.x[name]
            for name in (*JOINTS[quantity].inputs, *self.options(quantity))
        }

    def at(self, **changed: np.ndarray) -> Asked:
        """The same at other states."""
        return Asked(self.arm, self.x | changed)

    def tangent(self, quantity: str, formulation: str | None = None, **directions: np.ndarray) -> Any:
        """The derivative of a quantity along these directions of its inputs, from the tape of its tangent."""
        entry = derived.tangent(JOINTS[quantity], self.options(quantity), by=tuple(directions))
        arrays = self.arrays(quantity) | {name: directions[of] for name, of in entry.weights.items()}
        shapes = signature(self.arm.mechanism, entry)
        graph = trace(self.arm.mechanism, replace(entry, condensed=0.0), formulation)
        values = uncompiled(graph, shapes, *(arrays[name] for name, _ in shapes.inputs))
        return values[0] if len(values) == 1 else values

    def on_text(self, quantity: str, formulation: str) -> np.ndarray:
        """The equations as they are written, on Python's numbers, state by state: (batch, numbers)."""
        arrays, entry = self.arrays(quantity), JOINTS[quantity]
        rows = zip(*(array.tolist() for array in arrays.values()), strict=True)
        values = (entry.values(self.arm.mechanism, formulation, dict(zip(arrays, row, strict=True))) for row in rows)
        return np.array([list(flat(value)) for value in values], float).reshape(self.batch, -1)

    @cached_property
    def plain(self) -> list[PlainMechanics]:
        """The tree in each state, by brute force."""
        return [PlainMechanics(self.arm.mechanism.tree, row) for row in tree_positions(self.arm, self.x["q"])]

    @cached_property
    def Gamma(self) -> np.ndarray:
        """How the joints of the tree follow those that are held."""
        a = self.arm
        return (
            np.broadcast_to(np.eye(a.n), (self.batch, a.n, a.n)) if a.mechanism.identity else self["closure_jacobian"]
        )


def comparisons(asked: Asked) -> Iterator[tuple[str, float]]:
    """(quantity, relative error) of every comparison of every quantity that the arm has."""
    m = asked.arm.mechanism
    for quantity, entry in known(m).items():
        expected = IDENTITIES[quantity](asked)
        for value, other, *scale in expected:
            yield quantity, difference(value, other, *scale)
        if quantity in ON_TAPES or (quantity in ON_TAPES_IN_COORDINATES and not m.identity):
            continue
        result = asked[quantity]
        row = np.concatenate(
            [np.reshape(y, (asked.batch, -1)) for y in (result if isinstance(result, tuple) else (result,))], 1
        )
        for formulation in entry.formulations(m):
            if formulation != CLOSED_FORM and (quantity, formulation) != IN_OTHER_AXES:
                scale = np.abs(row).max(initial=0.0)
                if quantity == "forward_dynamics":  # as sensitive to rounding as B is near to singular
                    scale *= np.linalg.cond(asked["inertia_matrix"]).max() / 100 + 1
                yield (
                    quantity,
                    difference(row, asked.on_text(quantity, formulation), max(scale, _least(asked, quantity))),
                )


def _least(asked: Asked, quantity: str) -> float:
    """The size of what a quantity is made of, where it may cancel to nothing."""
    if quantity in ("loop_residual", "loop_equations"):
        return 1.0  # m
    if quantity == "jacobian_derivative":
        return float(np.abs(asked["jacobian"]).max(initial=0.0))
    moving = (
        "coriolis",
        "christoffel",
        "inertia_derivative",
        "velocity_product",
        "dalembert",
        "recursion",
        "lagrange_euler",
    )
    return float(np.abs(asked["inertia_matrix"]).max(initial=0.0)) if quantity.startswith(moving) else 0.0


def difference(value: Any, expected: Any, scale: float | None = None) -> float:
    """The largest difference over the largest value, or over the scale where that is larger."""
    value, expected = np.asarray(value, float), np.asarray(expected, float)
    assert value.shape == expected.shape, f"shapes {value.shape} and {expected.shape} are compared"
    largest = max(np.abs(expected).max(initial=0.0), scale or 0.0, 1e-12)
    return float(np.abs(value - expected).max(initial=0.0) / largest)


# -- identities ------------------------------------------------------------------------------------

Pairs = list[tuple[Any, ...]]  # (value, expected) or (value, expected, scale)


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.einsum("k...ij,kj->k...i", A, x)


def size_of(x: Asked) -> float:
    return float(np.abs(x["inertia_matrix"]).max(initial=0.0))


def torque(x: Asked) -> np.ndarray:
    """B q̈ + C q̇ + g + friction + Jᵀ h, S (7.42)."""
    still = times(x["inertia_matrix"], x.x["qdd"]) + times(x["coriolis_matrix"], x.x["qd"]) + x["gravity_torque"]
    contact = np.einsum("kij,ki->kj", x["jacobian"], x.x["tip_wrench"])
    return still + friction(x.arm, x.x["q"], x.x["qd"]) + contact


def _inertia(x: Asked) -> Pairs:
    B = np.stack([plain.B for plain in x.plain])
    return [(x["inertia_matrix"], np.einsum("kji,kjl,klm->kim", x.Gamma, B, x.Gamma))]


def _gravity(x: Asked) -> Pairs:
    g = np.stack([plain.g for plain in x.plain])
    fall = np.stack([x.tangent("potential_energy", q=np.tile(e, (x.batch, 1))) for e in np.eye(x.arm.n)], -1)
    return [(x["gravity_torque"], np.einsum("kji,kj->ki", x.Gamma, g)), (x["gravity_torque"], fall)]


def _potential(x: Asked) -> Pairs:
    tree = x.arm.mechanism.tree
    U = np.array([
        -sum(b.inertia.mass * np.dot(tree.gravity, (F @ [*b.inertia.com, 1.0])[:3]) for b, F in zip(tree.bodies, plain.frames, strict=True))
        for plain in x.plain
    ])  # fmt: skip
    V = x["potential_energy"]
    return [(V - V[0], U - U[0], float(np.abs(U).max()))]


def _jacobian(x: Asked) -> Pairs:
    tip = x.arm.mechanism.tree.tip_body
    J = np.stack([np.concatenate(plain.jacobian(tip, plain.tip[:3, 3])) for plain in x.plain])
    return [(x["jacobian"], np.einsum("kij,kjl->kil", J, x.Gamma))]


def _kinetic(x: Asked) -> Pairs:
    return [(x["kinetic_energy"], 0.5 * np.einsum("ki,kij,kj->k", x.x["qd"], x["inertia_matrix"], x.x["qd"]))]


def _coriolis(x: Asked) -> Pairs:
    C, size = x["coriolis_matrix"], size_of(x)
    by_c = np.einsum("kijl,kl->kij", x["christoffel"], x.x["qd"])
    return [(C, by_c, size), (C + np.swapaxes(C, 1, 2), x.tangent("inertia_matrix", q=x.x["qd"]), size)]


def _christoffel(x: Asked) -> Pairs:
    """½ (∂b_ij/∂q_k + ∂b_ik/∂q_j − ∂b_jk/∂q_i), S (7.45)."""
    slopes = [x.tangent("inertia_matrix", q=np.tile(e, (x.batch, 1))) for e in np.eye(x.arm.n)]
    D = np.stack(slopes, -1)  # D[…, i, j, k] = ∂b_ij/∂q_k
    c = 0.5 * (D + np.swapaxes(D, -1, -2) - np.moveaxis(D, -1, -3))
    return [(x["christoffel"], c, size_of(x))]


def _inertia_derivative(x: Asked) -> Pairs:
    return [(x["inertia_derivative"], x.tangent("inertia_matrix", q=x.x["qd"]), size_of(x))]


def _velocity_products(x: Asked) -> Pairs:
    products = x.arm.velocity_products(x.x["qd"])
    return [(times(x["velocity_product_matrix"], products), times(x["coriolis_matrix"], x.x["qd"]), size_of(x))]


def _forward(x: Asked) -> Pairs:
    qdd = x["forward_dynamics"]
    reached = float(np.abs(x["inertia_matrix"] * qdd[:, None, :]).max(initial=0.0))
    return [(x.at(qdd=qdd)["inverse_dynamics"], x.x["tau"], reached)]


def _torque_derivatives(x: Asked) -> Pairs:
    t = {name: x.x[other] for name, other in (("q", "tau"), ("qd", "qd_r"), ("qdd", "qdd_r"))}
    dq, dqd = x["torque_derivatives"]
    along = times(dq, t["q"]) + times(dqd, t["qd"]) + times(x["inertia_matrix"], t["qdd"])
    still = x.at(tip_wrench=np.zeros_like(x.x["tip_wrench"]))  # Jᵀ h has a derivative by q, too
    return [(along, still.tangent("inverse_dynamics", "newton-euler", **t))]


def _second_derivatives(x: Asked) -> Pairs:
    t = {name: x.x[other] for name, other in (("q", "tau"), ("qd", "qd_r"), ("qdd", "qdd_r"))}
    q_q, q_qd, qd_qd, q_qdd = x["torque_second_derivatives"]
    by_q, by_qd = x.tangent("torque_derivatives", **t)
    scale = max(size_of(x), *(float(np.abs(y).max(initial=0.0)) for y in (q_q, q_qd, qd_qd, q_qdd)))
    return [
        (times(q_q, t["q"]) + times(q_qd, t["qd"]) + times(q_qdd, t["qdd"]), by_q, scale),
        (np.einsum("kijl,kj->kil", q_qd, t["q"]) + times(qd_qd, t["qd"]), by_qd, scale),
    ]


def _forward_derivatives(x: Asked) -> Pairs:
    free = x.at(tip_wrench=np.zeros_like(x.x["tip_wrench"]))
    at = free.at(qdd=free["forward_dynamics"])
    B, (dq, dqd), (aq, aqd, atau) = x["inertia_matrix"], at["torque_derivatives"], x["forward_derivatives"]

    def solved(by: np.ndarray, right: np.ndarray) -> tuple[Any, ...]:
        reached = np.abs(np.einsum("kij,kjl->kijl", B, by)).max(initial=0.0)
        return np.einsum("kij,kjl->kil", B, by), right, float(reached)

    return [solved(atau, np.broadcast_to(np.eye(x.arm.n), B.shape)), solved(aq, -dq), solved(aqd, -dqd)]


def _torque_terms(x: Asked) -> Pairs:
    inertia, rotor, products, *others = x["torque_terms"]
    total = sum(np.sum(y, -1) for y in (inertia, rotor, products)) + sum(others)
    moved = x["inertia_matrix"] * x.x["qdd"][:, None, :]
    return [(total, x["inverse_dynamics"]), (inertia + rotor, moved)]


def _still(x: Asked) -> Asked:
    return x.at(tip_wrench=np.zeros_like(x.x["tip_wrench"]))


def _regressor(x: Asked) -> Pairs:
    return [(times(x["regressor"], np.tile(x.arm.parameters, (x.batch, 1))), _still(x)["inverse_dynamics"])]


def _compact_regressor(x: Asked) -> Pairs:
    from dalembert.compiler.quantities.joints import regressor_pattern

    rows, columns = np.array(regressor_pattern(x.arm.mechanism), int).reshape(-1, 2).T
    whole = np.zeros_like(x["regressor"])
    whole[:, rows, columns] = x["compact_regressor"]
    return [(whole, x["regressor"])]


def _reference_torque(x: Asked) -> Pairs:
    qd_r, qdd_r = x.x["qd_r"], x.x["qdd_r"]
    smooth = times(x["inertia_matrix"], qdd_r) + times(x["coriolis_matrix"], qd_r) + x["gravity_torque"]
    return [(x["reference_torque"], smooth + friction(x.arm, x.x["q"], qd_r))]


def _reference_regressor(x: Asked) -> Pairs:
    product = times(x["reference_regressor"], np.tile(x.arm.parameters, (x.batch, 1)))
    return [(product, x["reference_torque"])]


def _energy_regressors(x: Asked) -> Pairs:
    beta_T, beta_U = x["energy_regressors"]
    pi = x.arm.parameters[: 13 * x.arm.mechanism.tree.n].reshape(-1, 13)[:, :11]
    T, U = ((beta * pi).sum(axis=(1, 2)) for beta in (beta_T, beta_U))
    energy = x["potential_energy"]
    return [(T, x["kinetic_energy"]), (U - U[0], energy - energy[0], float(np.abs(energy).max()))]


def _lagrange_euler(x: Asked) -> Pairs:
    D, h, c = x["lagrange_euler"]
    size = size_of(x)
    return [(D, x["inertia_matrix"]), (h, x["christoffel"], size), (c, x["gravity_torque"])]


def _dalembert(x: Asked) -> Pairs:
    D_rot, D_tran, h_tran, h_rot, c = x["dalembert"]
    moving = times(x["coriolis_matrix"], x.x["qd"])
    return [(D_rot + D_tran, x["inertia_matrix"]), (h_tran + h_rot, moving, size_of(x)), (c, x["gravity_torque"])]


def _dalembert_terms(x: Asked) -> Pairs:
    *terms, closure_tran, closure_rot = x["dalembert_terms"]
    _, _, h_tran, h_rot, _ = x["dalembert"]
    tran, rot = sum(terms[:5]).sum(-1) + closure_tran, sum(terms[5:8]).sum(-1) + closure_rot
    return [(tran, h_tran, size_of(x)), (rot, h_rot, size_of(x))]


def _body_jacobians(x: Asked) -> Pairs:
    y = x["body_jacobians"]
    B = sum(
        np.einsum("ks,ksxi,ksxj->kij", m, J_P, J_P) + np.einsum("ksxi,ksxy,ksyj->kij", J_O, I, J_O)
        for m, _, J_P, J_O, I in (y[:5], y[5:])
    )
    return [(B, x["inertia_matrix"])]


def _body_energies(x: Asked) -> Pairs:
    link_T, rotor_T, link_U, rotor_U = x["body_energies"]
    U, V = (link_U + rotor_U).sum(-1), x["potential_energy"]
    scale = float(max(np.abs(U).max(), np.abs(V).max()))
    return [((link_T + rotor_T).sum(-1), x["kinetic_energy"]), (U - U[0], V - V[0], scale)]


def _friction(x: Asked) -> Pairs:
    rest = x.at(tip_wrench=np.zeros_like(x.x["tip_wrench"]))["inverse_dynamics"]
    smooth = times(x["inertia_matrix"], x.x["qdd"]) + times(x["coriolis_matrix"], x.x["qd"]) + x["gravity_torque"]
    return [(x["friction_torque"] + smooth, rest)]


def _pose(x: Asked) -> Pairs:
    return [(x["pose"], np.stack([plain.tip for plain in x.plain]))]


def _link_poses(x: Asked) -> Pairs:
    return [(x["link_poses"], np.stack([plain.frames for plain in x.plain]))]


def _jacobian_derivative(x: Asked) -> Pairs:
    return [(x["jacobian_derivative"], x.tangent("jacobian", q=x.x["qd"]), float(np.abs(x["jacobian"]).max()))]


def _turned(x: Asked, vectors: np.ndarray) -> np.ndarray:
    """Vectors (batch, N, 3) of the links from base axes to those of their links."""
    return np.einsum("ksji,ksj->ksi", x["link_poses"][..., :3, :3], vectors)


def _recursion(x: Asked) -> Pairs:
    """In base axes it is the same, turned; ω̇_m is in the axes of the link before and is left out."""
    names = list(JOINTS["recursion"].outputs)
    kernel = x.arm.kernel("recursion", formulation="newton-euler-base", options=x.options("recursion"))
    in_base = dict(zip(names, kernel(*x.arrays("recursion").values()), strict=True))
    own = dict(zip(names, x["recursion"], strict=True))
    vectors = [name for name in names if name not in ("tau", "omega_dot_m")]
    return [(own["tau"], in_base["tau"])] + [(own[v], _turned(x, in_base[v]), _scale(own)) for v in vectors]


def _scale(parts: dict[str, np.ndarray]) -> float:
    return float(max(np.abs(part).max(initial=0.0) for part in parts.values()))


def _joint_wrenches(x: Asked) -> Pairs:
    """f and μ of the recursion; about the axes of bearings that no motor turns they are what friction takes."""
    own = dict(zip(JOINTS["recursion"].outputs, x["recursion"], strict=True))
    pairs: Pairs = [(x["joint_wrenches"], np.concatenate([own["f"], own["mu"]], -1))]
    m = x.arm.mechanism
    if m.loops:
        V = tree_velocities(x.arm, x.x["q"], x.x["qd"])
        scale = float(np.abs(x["joint_wrenches"]).max())
        for i, body in enumerate(m.tree.bodies):
            z = np.array(body.link_frame.rotation).T @ body.axis
            carried = x["joint_wrenches"][:, i, 3 if body.revolute else 0 :][:, :3] @ z
            resisted = body.viscous * V[:, i] + body.coulomb[0] * np.sign(V[:, i])
            given = x["inverse_dynamics"][:, list(m.actuated).index(i)] if i in m.actuated else 0.0 * carried
            pairs.append((carried + resisted, given, scale))
    return pairs


def _loop_wrenches(x: Asked) -> Pairs:
    """The reactions at the cuts are right if the joint wrenches that they cause leave the passive joints without a motor."""
    return _joint_wrenches(x)


def _closure(x: Asked) -> Pairs:
    cosines, sines = x["closure"]
    d_cos, d_sin = x.tangent("closure", q=x.x["qd"])
    V = times(x["closure_jacobian"], x.x["qd"])
    angle = np.any(sines != 0.0, axis=0)  # the others are given by their positions
    scale = float(np.abs(V).max(initial=0.0))
    return [(d_cos, np.where(angle, -sines * V, V), scale), (d_sin, np.where(angle, cosines * V, 0.0), scale)]


def _closure_derivative(x: Asked) -> Pairs:
    size = float(np.abs(x["closure_jacobian"]).max())
    return [(x["closure_derivative"], x.tangent("closure_jacobian", q=x.x["qd"]), size)]


def _tree_motion(x: Asked) -> Pairs:
    V, A = x["tree_motion"]
    return [
        (V, times(x["closure_jacobian"], x.x["qd"])),
        (A, times(x["closure_jacobian"], x.x["qdd"]) + times(x["closure_derivative"], x.x["qd"])),
    ]


def _residual(x: Asked) -> Pairs:
    return [(x["loop_residual"], np.zeros_like(x["loop_residual"]), 1.0)]


def _loop_equations(x: Asked) -> Pairs:
    """Φ = 0 where the tree is, and Φ_q Γ = 0."""
    residual, rows = x["loop_equations"]
    product = np.einsum("kij,kjl->kil", rows, x["closure_jacobian"])
    reached = float(np.abs(rows).max() * np.abs(x["closure_jacobian"]).max())
    return [(residual, np.zeros_like(residual), 1.0), (product, np.zeros_like(product), reached)]


def _inverse(x: Asked) -> Pairs:
    return [(x["inverse_dynamics"], torque(x))]


IDENTITIES: dict[str, Callable[[Asked], Pairs]] = {
    "inverse_dynamics": _inverse, "joint_wrenches": _joint_wrenches, "recursion": _recursion,
    "forward_dynamics": _forward, "inertia_matrix": _inertia, "inertia_derivative": _inertia_derivative,
    "coriolis_matrix": _coriolis, "christoffel": _christoffel, "velocity_product_matrix": _velocity_products,
    "torque_derivatives": _torque_derivatives, "torque_second_derivatives": _second_derivatives,
    "torque_terms": _torque_terms, "regressor": _regressor, "compact_regressor": _compact_regressor,
    "reference_torque": _reference_torque, "reference_regressor": _reference_regressor,
    "energy_regressors": _energy_regressors, "lagrange_euler": _lagrange_euler, "dalembert": _dalembert,
    "dalembert_terms": _dalembert_terms, "forward_derivatives": _forward_derivatives, "kinetic_energy": _kinetic,
    "potential_energy": _potential, "body_jacobians": _body_jacobians, "body_energies": _body_energies,
    "gravity_torque": _gravity, "friction_torque": _friction, "pose": _pose, "link_poses": _link_poses,
    "jacobian": _jacobian, "jacobian_derivative": _jacobian_derivative, "loop_wrenches": _loop_wrenches,
    "closure": _closure, "closure_jacobian": _closure, "closure_derivative": _closure_derivative,
    "tree_motion": _tree_motion, "loop_residual": _residual, "loop_equations": _loop_equations,
}  # fmt: skip
