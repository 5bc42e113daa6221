"""JAX's own check of gradients, its transformations against our derivatives, and: every quantity is NumPy's, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.compiler.foreign.libraries import common_library, library_of
from given import ARMS, ROLLED, STEPS, arm, flowing, motion, parts, quantities, rolled, simulated, state

jax = pytest.importorskip("jax")
jnp, check_grads = jax.numpy, pytest.importorskip("jax.test_util").check_grads


@pytest.fixture(autouse=True)
def doubles() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def arrays(given: dict[str, np.ndarray]) -> dict[str, Any]:
    return {x: jnp.asarray(a) for x, a in given.items()}


def same(result: Any, expected: Any) -> None:
    assert len(parts(result)) == len(parts(expected))
    for x, y in zip(parts(result), parts(expected), strict=True):
        assert isinstance(x, jax.Array) and x.dtype == np.asarray(y).dtype
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", ARMS)
def test_every_quantity_is_that_of_numpy_bit_for_bit_compiled_or_not(name: str) -> None:
    for quantity in quantities(name):
        given = state(name, quantity)
        method = getattr(arm(name), quantity)
        same(method(**arrays(given)), method(**given))
        given = state(name, quantity, seed=1, options=True)
        same(jax.jit(method)(**given), method(**given))


def test_float32_is_the_default_and_lists_and_numpy_arrays_go_along() -> None:
    a, rng = arm("planar-2r"), np.random.default_rng(1)
    q, qd, qdd = rng.normal(size=(3, 4, 5, 2))
    with jax.enable_x64(False):
        few = [x.astype(np.float32) for x in (q, qd, qdd)]
        same(a.inverse_dynamics(jnp.asarray(q), qd, qdd), a.inverse_dynamics(*few))
        slope = jax.grad(lambda x: a.kinetic_energy(x, qd).sum())(jnp.asarray(q))
        assert slope.dtype == np.float32
    same(a.inverse_dynamics(jnp.asarray(q), [0.0, 1.0], qdd[0, 0]), a.inverse_dynamics(q, [0.0, 1.0], qdd[0, 0]))
    same(a.gravity_torque(jnp.zeros((0, 2))), a.gravity_torque(np.zeros((0, 2))))
    same(a.velocity_products(jnp.asarray(qd)), a.velocity_products(qd))


@pytest.mark.parametrize("name", ARMS)
def test_gradients_pass_jaxs_check_in_both_modes(name: str) -> None:
    for quantity in flowing(name):
        order = 3 if quantity == "kinetic_energy" else 2 if name == "planar-2r" else 1
        check_grads(
            getattr(arm(name), quantity), tuple(state(name, quantity).values()), order=order, atol=1e-4, rtol=1e-4
        )


def test_transformations_are_our_derivatives() -> None:
    a = arm("planar-2r")
    q, qd, qdd = state("planar-2r", "inverse_dynamics").values()
    same(jax.vmap(a.inverse_dynamics)(q, qd, qdd), a.inverse_dynamics(q, qd, qdd))
    mapped = jax.vmap(a.inverse_dynamics, in_axes=(0, None, 1))(q, qd, qdd.T)
    same(mapped, a.inverse_dynamics(q[:, None], qd, qdd[:, None]))
    dq, dqd = a.torque_derivatives(q, qd, qdd)
    for jacobian in (jax.jacrev, jax.jacfwd):
        slopes = jax.jit(jax.vmap(jacobian(a.inverse_dynamics, (0, 1, 2))))(q, qd, qdd)
        for slope, expected in zip(slopes, (dq, dqd, a.inertia_matrix(q)), strict=True):
            np.testing.assert_allclose(slope, expected, atol=1e-10)
    curvature = a.torque_derivatives(q, 0 * q, 0 * q)[0]
    for hessian in (jax.hessian, lambda f: jax.jacrev(jax.jacrev(f)), lambda f: jax.jacrev(jax.jacfwd(f))):
        np.testing.assert_allclose(jax.jit(jax.vmap(hessian(a.potential_energy)))(q), curvature, atol=1e-10)


def test_results_with_names_go_through_jit_and_vmap() -> None:
    a, given = arm("planar-2r"), state("planar-2r", "torque_terms")
    terms = jax.jit(jax.vmap(lambda x: a.torque_terms(**x)))(given)
    same(terms, a.torque_terms(**given))
    np.testing.assert_allclose(terms.total, a.inverse_dynamics(**given), rtol=1e-12)
    same(terms.coriolis, a.torque_terms(**given).coriolis)


def test_gradients_reach_the_parameters_of_many_robots() -> None:
    a, rng = arm("planar-2r"), np.random.default_rng(2)
    q, qd, qdd = rng.uniform(-2, 2, (3, 20, 2))
    measured = a.inverse_dynamics(q, qd, qdd)

    def loss(pi: Any) -> Any:
        return ((a.variants(parameters=pi).inverse_dynamics(q, qd, qdd) - measured) ** 2).sum()

    pi = jnp.asarray(a.parameters * 1.1)
    Y = a.regressor(q, qd, qdd)
    expected = 2 * np.einsum("kip,ki->p", Y, Y @ (a.parameters * 0.1))
    slope = jax.jit(jax.grad(loss))(pi)
    np.testing.assert_allclose(slope, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


def test_rollouts_on_the_cpu_are_those_of_numpy() -> None:
    a, steps = arm("planar-2r"), {"step": 1e-3, "steps": 4, "every": 2}
    q, qd, tau = np.random.default_rng(3).normal(size=(3, 5, 2))
    same(a.rollout(jnp.asarray(q), qd, tau, **steps), a.rollout(q, qd, tau, **steps))
    few = [x.astype(np.float32) for x in (q, qd)]
    same(a.rollout(*map(jnp.asarray, few), **steps), a.rollout(*few, **steps))
    same(jax.jit(lambda x: a.rollout(x, qd, tau, **steps))(q), a.rollout(q, qd, tau, **steps))


@pytest.mark.parametrize("name", ROLLED)
def test_gradients_of_rollouts_pass_jaxs_check_in_both_modes(name: str) -> None:
    a, (q, qd, tau) = rolled(name), motion(name).values()
    few = {"order": 1, "eps": 1e-6, "atol": 1e-6, "rtol": 1e-6}
    check_grads(lambda *x: a.rollout(*x, **STEPS, every=2), (q, qd, tau), **few)
    check_grads(lambda *x: a.rollout(*x, **STEPS), (q[0], qd, tau[:1, 0]), **few)


@pytest.mark.parametrize("name", ROLLED)
def test_gradients_of_rollouts_are_those_of_runs_compiled_or_not(name: str) -> None:
    a, given = rolled(name), motion(name, seed=1)

    def loss(*x: Any) -> Any:
        q, qd = a.rollout(*x, **STEPS, every=3)
        return q.sum() - 2.0 * qd.sum()

    run = da.simulate(a, *given.values(), STEPS["steps"] * STEPS["step"], step=STEPS["step"], every=3)
    weights = np.array([0.0, 1.0, 1.0])[:, None]
    expected = da.gradient(run, ("q0", "qd0", "torque"), q=weights, qd=-2.0 * weights)
    for of in (jax.grad(loss, (0, 1, 2)), jax.jit(jax.vmap(jax.grad(loss, (0, 1, 2))))):
        for slope, name_ in zip(of(*given.values()), expected, strict=True):
            np.testing.assert_allclose(slope, expected[name_], rtol=1e-12, atol=1e-13)


def test_rollouts_transform_like_quantities() -> None:
    a, (q, qd, tau) = rolled("planar-2r"), motion("planar-2r").values()

    def roll(*x: Any) -> Any:
        return a.rollout(*x, **STEPS)

    same(jax.vmap(roll, in_axes=(0, None, 1))(q, qd[0], tau.transpose(1, 0, 2)), roll(q, qd[0], tau))
    (value, pull), (same_value, along) = jax.vjp(roll, q, qd, tau), jax.jvp(roll, (q, qd, tau), (q, qd, tau))
    same(value, [np.asarray(x) for x in same_value])
    dots = sum(np.sum(x * y) for x, y in zip((q, qd, tau), pull(value), strict=True))
    np.testing.assert_allclose(sum(np.sum(x * y) for x, y in zip(value, along, strict=True)), dots, rtol=1e-12)

    def last(x: Any) -> Any:
        return a.rollout(x, qd[0], step=1e-2, steps=6)[0].sum()

    hessian = jax.jit(jax.hessian(last))(q[0])
    np.testing.assert_allclose(jax.jacrev(jax.jacrev(last))(q[0]), hessian, atol=1e-15)
    check_grads(last, (q[0],), order=2, modes=["rev"], atol=1e-5, rtol=1e-5)
    exact = jax.grad(lambda x: roll(x, qd, tau)[0].sum())(q)
    with jax.enable_x64(False):
        single = [x.astype(np.float32) for x in (q, qd, tau)]
        slope = jax.grad(lambda x: a.rollout(x, *single[1:], **STEPS)[0].sum())(single[0])
    assert slope.dtype == np.float32
    np.testing.assert_allclose(slope, exact, rtol=1e-5)


def test_gradients_of_rollouts_reach_the_masses_of_many_robots() -> None:
    a, given = rolled("scara"), motion("scara")
    numbers = a.parameters * np.linspace(0.9, 1.1, 2)[:, None]

    def loss(pi: Any) -> Any:
        q, qd = a.variants(parameters=pi).rollout(*given.values(), **STEPS)
        return q.sum() + qd.sum()

    run = da.simulate(a, *given.values(), 6e-3, parameters=numbers)
    last = np.eye(7)[-1][:, None]
    expected = da.gradient(run, "parameters", q=last, qd=last)["parameters"]
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(numbers), expected, rtol=1e-9)
    with pytest.raises(da.DalembertError, match="has first derivatives only"):
        jax.hessian(loss)(numbers)


@pytest.mark.parametrize("law", ["pd", "computed", "servo", "adaptive"])
def test_simulations_pass_gradients_to_the_gains_of_controllers(law: str) -> None:
    kp, kd = np.full(4, 30.0), np.array(5.0)
    same(jax.jit(lambda *x: simulated(law, kp=x[0], kd=x[1]))(kp, kd), simulated(law, kp=kp, kd=kd))
    check_grads(lambda *x: simulated(law, kp=x[0], kd=x[1]), (kp, kd), order=1, eps=1e-5, atol=1e-6, rtol=1e-6)


def test_simulations_are_traced_from_any_pose() -> None:
    """While a function is traced, positions are unknown: panda's limits exclude zero, and five-bar's loop cannot close there."""
    for name, pose in (("panda", [0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.5]), ("five-bar", [2.2, 0.9])):
        a = da.load(name)
        slope = jax.jit(jax.grad(lambda x, a=a: da.simulate(a, x, None, None, 0.01, stops="contact").q[-1].sum()))(
            jnp.asarray(pose)
        )
        run = da.simulate(a, pose, None, None, 0.01, stops="contact")
        expected = da.gradient(run, "q0", q=np.eye(11)[-1][:, None])["q0"]
        np.testing.assert_allclose(slope, expected, rtol=1e-12)


def test_mistakes_are_one_sentence() -> None:
    a, q = arm("planar-2r"), jnp.ones(2)
    for message, call in {
        r"qd has dtype float32 and another array has float64": lambda: a.inverse_dynamics(q, q.astype("float32"), q),
        r"q has dtype int64; JAX arrays must be float32 or float64": lambda: a.gravity_torque(q.astype(int)),
        r"q has shape \(3,\); its last axis must be 2": lambda: a.gravity_torque(jnp.ones(3)),
        r"out cannot be given with a JAX array": lambda: a.inverse_dynamics(q, q, q, out=q),
        r"q is a JAX array, but the positions of the tree": lambda: a.tree_positions(q),
        r"these shapes do not broadcast: q \(3, 2\), qd \(4, 2\)": lambda: a.inverse_dynamics(jnp.ones((3, 2)), jnp.ones((4, 2)), q),
    }.items():  # fmt: skip
        with pytest.raises(da.ShapeError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_what_is_wrong_with_a_state_is_said_from_within_compiled_programs() -> None:
    far = jnp.asarray([50.0, -50.0])
    for call in (arm("five-bar by Newton").gravity_torque, jax.jit(arm("five-bar by Newton").gravity_torque)):
        with pytest.raises(Exception, match=r"ClosureError: loop .* of arm .* cannot be closed"):
            jax.block_until_ready(call(far))


def test_arrays_and_what_stands_for_them_are_jaxs() -> None:
    jax.jit(lambda x: [x, *(() if library_of(x) == "jax" else (1 / 0,))])(1.0)
    torch = pytest.importorskip("torch")
    with pytest.raises(da.ShapeError, match="one input is a PyTorch tensor and another is a JAX array"):
        common_library([torch.ones(2), jnp.ones(2)])
