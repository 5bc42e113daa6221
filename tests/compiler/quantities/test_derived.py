"""Derivatives of every quantity: gradients and tangents agree with each other and with differences, and nest."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import numpy as np
import pytest

import dalembert as da
from arms import FRICTIONS, random_robot, relative, with_terms
from arms import arm as registered
from dalembert.base.algebra.scalars import flat
from dalembert.compiler.graph.passes import pruned
from dalembert.compiler.graph.tape import Graph, evaluate
from dalembert.compiler.quantities import derived
from dalembert.compiler.quantities.joints import JOINTS, known
from dalembert.compiler.quantities.machine import Quantity, signature
from dalembert.errors import DalembertError, ShapeError
from dalembert.robot import Coupling

# one of each kind: through Γ and Γ̇, with B⁻¹, differentiated already, by cosines and sines, of all joints of the tree
KINDS = (
    "inverse_dynamics", "forward_dynamics", "torque_derivatives", "potential_energy", "friction_torque", "jacobian",
    "body_energies", "loop_wrenches", "closure", "closure_derivative", "tree_motion", "loop_equations",
)  # fmt: skip
ARMS = ["terms", "coupled", "five-bar", "newton"]


@cache
def arm(name: str) -> da.Arm:
    """Two joints with rotors and every kind of friction; a joint that follows another; a loop with a formula, and without."""
    if name == "terms":
        return da.Arm(with_terms(random_robot(np.random.default_rng(9), 2, tree=False), FRICTIONS))
    if name == "coupled":
        robot = random_robot(np.random.default_rng(26), 3, tree=False)
        follows = Coupling(("joint2",), ("joint1",), ((0.6,),), (0.2,), higher=(0.1,))
        return da.Arm(robot.replace(couplings=(follows,)))
    if name == "newton":
        five = da.load("five-bar")
        five.__dict__["mechanism"] = replace(five.mechanism, closures=())
        return five
    return registered(name)


def run(
    a: da.Arm, entry: Quantity, options: tuple[str, ...], x: dict[str, np.ndarray], formulation: str | None = None
) -> list[np.ndarray]:
    """The entry's outputs at one state, from its tape; q is that of the arm."""
    shapes = signature(a.mechanism, entry, options)
    placed = {name: a.placed(value) if name == "q" else value for name, value in x.items()}
    numbers = [y for name, _ in shapes.inputs for y in np.ravel(placed[name]).tolist()]
    sizes = [prod(shape) for _, shape in shapes.outputs]
    return np.split(np.array(evaluate(tape(a, entry, options, formulation), numbers)), np.cumsum(sizes)[:-1])


_TAPES: dict[Any, Graph] = {}


def tape(a: da.Arm, entry: Quantity, options: tuple[str, ...], formulation: str | None) -> Graph:
    key = (a, a.mechanism.by_newton, entry.key, options, formulation)
    if key not in _TAPES:
        graph = Graph()
        shapes = signature(a.mechanism, entry, options).inputs
        arrays = {name: [graph.input(f"{name}.{k}") for k in range(prod(shape))] for name, shape in shapes}
        way = formulation or entry.formulations(a.mechanism)[0]
        graph.output(flat(entry.values(a.mechanism, way, arrays)))
        _TAPES[key] = pruned(graph)
    return _TAPES[key]


def state(a: da.Arm, entry: Quantity, options: tuple[str, ...], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random numbers for everything that goes in; q near a pose that can be closed."""
    shapes = dict(signature(a.mechanism, entry, options).inputs)
    x = {name: rng.uniform(-1, 1, shape) for name, shape in shapes.items()}
    if "q" in x:
        x["q"] = a.home + 0.2 * rng.uniform(-1, 1, a.n)
    return x


@pytest.mark.parametrize("name", ARMS)
def test_gradient_tangent_and_differences_agree_for_every_quantity(name: str) -> None:
    """⟨w, ∂y t⟩ = ⟨∂yᵀ w, t⟩, and both are (⟨w, y(x + h t)⟩ − ⟨w, y(x − h t)⟩)/2h."""
    a, h = arm(name), 1e-5
    for quantity, entry in known(a.mechanism).items():
        if name != "terms" and quantity not in KINDS:
            continue
        rng = np.random.default_rng(1)
        options = ("q",) if quantity == "friction_torque" else entry.options
        x = state(a, entry, options, rng)
        t = {key: rng.normal(size=value.shape) for key, value in x.items()}
        w = [rng.normal(size=y.shape) for y in run(a, entry, options, x)]
        back, along = derived.gradient(entry, options), derived.tangent(entry, options)
        slopes = run(a, back, (), x | dict(zip(back.weights, w, strict=True)))
        rates = run(a, along, (), x | {key: t[of] for key, of in along.weights.items()})
        left = sum(float(v @ y) for v, y in zip(w, rates, strict=True))
        right = sum(float(np.ravel(t[key]) @ d) for key, d in zip(back.by, slopes, strict=True))
        ends = [run(a, entry, options, {k: v + s * h * t[k] for k, v in x.items()}) for s in (1.0, -1.0)]
        difference = sum(float(v @ (up - down)) / (2 * h) for v, up, down in zip(w, *ends, strict=True))
        size = 1.0 + abs(right) + sum(float(np.abs(y).sum()) for y in rates)
        assert abs(left - right) < 1e-10 * size, (quantity, left, right)
        assert abs(difference - right) < 1e-6 * size, (quantity, difference, right)


def test_the_second_order_is_the_derivative_of_the_first() -> None:
    """Of ½ q̇ᵀ B q̇ the gradient by q̇ is B q̇, and that of ⟨v, B q̇⟩ is B v; a third order has names of its own."""
    a, entry = arm("terms"), JOINTS["kinetic_energy"]
    once = derived.gradient(entry)
    twice = derived.gradient(once)
    assert list(twice.inputs) == ["q", "qd", "w_T", "w_d_q", "w_d_qd"]
    assert list(twice.outputs) == ["d_q", "d_qd", "d_w_T"]
    rng = np.random.default_rng(3)
    x = {"q": rng.normal(size=2), "qd": rng.normal(size=2), "w_T": np.ones(()), "w_d_q": np.zeros(2)}
    v = rng.normal(size=2)
    B = a.inertia_matrix(x["q"])
    assert relative(run(a, once, (), x)[1], B @ x["qd"]) < 1e-12
    second = run(a, twice, (), x | {"w_d_qd": v})
    assert relative(second[1], B @ v) < 1e-12
    assert relative(second[2], np.atleast_1d(v @ B @ x["qd"])) < 1e-12
    names = list(derived.gradient(twice).inputs)
    assert len(set(names)) == len(names)


@pytest.fixture(scope="module")
def planar() -> da.Arm:
    return da.load("planar-2r")


def test_a_gradient_kernel_is_a_kernel_like_any_other(planar: da.Arm) -> None:
    """Broadcast, pickled, kept by a key of its own; by chosen inputs, with options."""
    kernel = planar.gradient_kernel("inverse_dynamics", options=("tip_wrench",), by=("q", "tip_wrench"))
    assert kernel.signature == "(2),(2),(2),(6),(2)->(2),(6)"
    again = pickle.loads(pickle.dumps(kernel))
    rng = np.random.default_rng(4)
    q, qd, qdd, w = (rng.normal(size=(5, 2)) for _ in range(4))
    h = np.zeros((3, 1, 6))
    dq, dh = kernel(q, qd, qdd, h, w)
    assert dq.shape == (3, 5, 2) and dh.shape == (3, 5, 6)
    assert all((x == y).all() for x, y in zip(again(q, qd, qdd, h, w), (dq, dh), strict=True))
    assert relative(dh[0], np.einsum("kij,kj->ki", planar.jacobian(q), w)) < 1e-12
    slopes = planar.torque_derivatives(q, qd, qdd)[0]
    assert relative(dq[0], np.einsum("kij,ki->kj", slopes, w)) < 1e-12
    assert planar.gradient_kernel("inverse_dynamics") is not kernel


def test_gradient_by_words(planar: da.Arm) -> None:
    q = np.array([[0.3, 0.8], [0.1, -0.4]])
    assert relative(planar.gradient("potential_energy", {"q": q})["q"], planar.gravity_torque(q)) < 1e-12
    closed = arm("newton")
    q = closed.home + np.array([[0.1, 0.05], [-0.05, 0.1]])
    assert relative(closed.gradient("potential_energy", {"q": q})["q"], closed.gravity_torque(q)) < 1e-12


def test_what_cannot_be_differentiated_by_is_named(planar: da.Arm) -> None:
    with pytest.raises(
        DalembertError, match=r"inertia_matrix cannot be differentiated with respect to \(qd\); .* these are q"
    ):
        planar.gradient_kernel("inertia_matrix", by=("qd",))
    with pytest.raises(DalembertError, match="'qd' is missing"):
        planar.gradient("kinetic_energy", {"q": [0.0, 0.0]})
    with pytest.raises(DalembertError, match="'tau' is not one of them"):
        planar.gradient("inertia_matrix", {"q": [0.0, 0.0], "tau": [0.0, 0.0]})
    with pytest.raises(DalembertError, match="weights are given for tau; inertia_matrix needs them for its outputs B"):
        planar.gradient("inertia_matrix", {"q": [0.0, 0.0]}, {"tau": 1.0})
    with pytest.raises(ShapeError, match=r"the weight of B has shape \(3, 3\)"):
        planar.gradient("inertia_matrix", {"q": [0.0, 0.0]}, np.ones((3, 3)))


@pytest.mark.parametrize("by", [(), ("q", "q")])
def test_inputs_to_differentiate_by_are_named_once(by: tuple[str, ...]) -> None:
    a, q = da.load("planar-2r"), np.zeros(2)
    for call in (
        lambda: a.gradient("gravity_torque", {"q": q}, by=by),
        lambda: a.derivatives("gravity_torque", by=by, q=q),
        lambda: a.gradient_kernel("gravity_torque", by=by),
        lambda: a.tangent_kernel("gravity_torque", by=by),
    ):
        with pytest.raises(
            DalembertError, match="name at least one input, each once: with the given options these are q"
        ):
            call()


def test_emitted_derivatives_by_numbers_of_the_arm_are_those_of_the_kernels() -> None:
    a, rng = da.load("planar-2r"), np.random.default_rng(5)
    q, qd, qdd = rng.normal(size=(3, 2))
    module: dict[str, Any] = {}
    source = a.emit("inverse_dynamics_jacobian", "python", by=("parameters",), options=("gravity", "parameters"))
    exec(source.files["planar_2r_inverse_dynamics_jacobian.py"], module)
    slopes = module["planar_2r_inverse_dynamics_jacobian"](q, qd, qdd, a.parameters, a.mechanism.gravity)
    np.testing.assert_allclose(np.reshape(slopes, (2, -1)), a.regressor(q, qd, qdd), rtol=1e-12, atol=1e-12)
    with pytest.raises(
        da.DalembertError, match="pose is not a derivative, so it takes no variables q; name one of pose_grad"
    ):
        a.emit("pose", by="q")
    with pytest.raises(da.DalembertError, match=r"pose cannot be differentiated with respect to \(qd\)"):
        a.emit("pose_jacobian", by=("qd",))
