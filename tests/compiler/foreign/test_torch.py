"""PyTorch's own checks of operators and gradients, and: every quantity is NumPy's, bit for bit."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.compiler.foreign.libraries import constant, library_of
from given import ARMS, arm, flowing, parts, quantities, state

torch = pytest.importorskip("torch")


def tensors(arrays: dict[str, np.ndarray], grad: bool = False) -> dict[str, Any]:
    return {x: torch.tensor(a, requires_grad=grad) for x, a in arrays.items()}


def same(result: Any, expected: Any) -> None:
    assert len(parts(result)) == len(parts(expected))
    for x, y in zip(parts(result), parts(expected), strict=True):
        assert isinstance(x, torch.Tensor) and x.numpy().dtype == np.asarray(y).dtype
        np.testing.assert_array_equal(x.numpy(), y)


@pytest.mark.parametrize("name", ARMS)
def test_every_quantity_is_that_of_numpy_bit_for_bit(name: str) -> None:
    asked = quantities(name)
    assert len(asked) >= 28
    for quantity in asked:
        for options in (False, True):
            given = state(name, quantity, options=options)
            method = getattr(arm(name), quantity)
            same(method(**tensors(given)), method(**given))


def test_float32_stays_and_strides_broadcasting_and_lists_are_as_in_numpy() -> None:
    a, rng = arm("planar-2r"), np.random.default_rng(1)
    q, qd, qdd = rng.normal(size=(3, 4, 5, 2))
    few = [x.astype(np.float32) for x in (q, qd, qdd)]
    same(a.inverse_dynamics(*map(torch.tensor, few)), a.inverse_dynamics(*few))
    wide = [torch.tensor(q).mT.contiguous().mT, torch.tensor(qd)[:, ::2], torch.tensor(qdd[0, 0])]
    assert not wide[0].is_contiguous()
    same(a.inverse_dynamics(wide[0][:, ::2], *wide[1:]), a.inverse_dynamics(q[:, ::2], qd[:, ::2], qdd[0, 0]))
    same(
        a.inverse_dynamics(torch.tensor(q), [0.0, 1.0], qdd, tip_wrench=[1.0, 0, 0, 0, 0, 0]),
        a.inverse_dynamics(q, [0.0, 1.0], qdd, tip_wrench=[1.0, 0, 0, 0, 0, 0]),
    )
    same(a.gravity_torque(torch.zeros(0, 2).double()), a.gravity_torque(np.zeros((0, 2))))
    same(a.velocity_products(torch.tensor(qd)), a.velocity_products(qd))


def test_wrenches_and_frames_of_links_are_as_in_numpy() -> None:
    a, rng = arm("planar-2r"), np.random.default_rng(2)
    (q, qd, qdd), push = rng.normal(size=(3, 4, 2)), rng.normal(size=(4, 6))
    for other in ([1.0, 2.0, 0.0, 0.0, 0.0, 3.0], torch.tensor(push[0])):
        given = {"link1": push, "tip": np.asarray(other)}
        tau = a.inverse_dynamics(torch.tensor(q), qd, qdd, wrenches={"link1": torch.tensor(push), "tip": other})
        same(tau, a.inverse_dynamics(q, qd, qdd, wrenches=given))
    same(a.jacobian(torch.tensor(q), frame="link1"), a.jacobian(q, frame="link1"))
    pushing = torch.tensor(push, requires_grad=True)
    a.inverse_dynamics(torch.tensor(q), qd, qdd, wrenches={"link1": pushing}).sum().backward()
    np.testing.assert_allclose(pushing.grad, a.jacobian(q, frame="link1").sum(axis=-1), atol=1e-14)


@pytest.mark.parametrize("name", ARMS)
def test_gradients_pass_pytorchs_checks_forwards_and_backwards_twice(name: str) -> None:
    for quantity in flowing(name):
        given = tuple(tensors(state(name, quantity), grad=True).values())
        method = getattr(arm(name), quantity)
        assert torch.autograd.gradcheck(method, given, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(arm(name).gravity_torque, given[:1], check_fwd_over_rev=True)


def test_gradients_are_taken_only_by_what_needs_them() -> None:
    a = arm("planar-2r")
    q, qd, qdd = (torch.ones(3, 2, dtype=torch.float64, requires_grad=x) for x in (True, False, True))
    tau = a.inverse_dynamics(q, qd, qdd)
    slopes = torch.autograd.grad(tau[:, 0].sum(), (q, qdd))
    np.testing.assert_allclose(slopes[1], a.inertia_matrix(q.detach().numpy())[:, 0], rtol=1e-12)
    terms = a.torque_terms(q, qd, qdd)
    terms.gravity.sum().backward()  # of ten outputs
    np.testing.assert_allclose(
        q.grad, a.torque_derivatives(q.detach().numpy(), np.zeros(2), np.zeros(2))[0].sum(1), atol=1e-9
    )
    np.testing.assert_allclose(terms.total.detach(), tau.detach(), rtol=1e-12)
    known = a.torque_terms(*(x.detach().numpy() for x in (q, qd, qdd)))
    for name in ("centrifugal", "coriolis", "friction", "total"):
        same(getattr(terms, name).detach(), getattr(known, name))


@pytest.mark.parametrize("name", ARMS)
def test_the_operator_passes_opcheck(name: str) -> None:
    key, _ = arm(name).foreign_call("inverse_dynamics", None, ())
    given = list(tensors(state(name, "inverse_dynamics"), grad=True).values())
    torch.library.opcheck(torch.ops.dalembert.call.default, (key, given))
    torch.library.opcheck(torch.ops.dalembert.call.default, (key, [given[0].detach()[0], *given[1:]]))


BACKENDS = [
    "eager",
    "aot_eager",
    pytest.param("inductor", marks=pytest.mark.skipif(not shutil.which("g++"), reason="no g++")),
]


@pytest.mark.parametrize("backend", BACKENDS)
def test_methods_compile_to_one_graph_with_their_gradients(backend: str) -> None:
    """Of an arm that has computed nothing yet, and of one that has."""
    known = arm("planar-2r")
    given = state("planar-2r", "inverse_dynamics")
    for a in (da.load("planar-2r"), known) if backend != "inductor" else (known,):
        known.inverse_dynamics(**given)

        def loss(q: Any, qd: Any, qdd: Any, wrench: Any, a: da.Arm = a) -> Any:
            terms = a.torque_terms(q, qd, qdd, tip_wrench=wrench)
            return (
                a.inverse_dynamics(q, qd, qdd)
                + terms.total
                + terms.coriolis.sum(-1).sum(-1)
                + a.forward_dynamics(q, qd, qdd)
                + a.friction_torque(qd)
            ).sum() + a.potential_energy(q).sum()

        x = [*tensors(given, grad=True).values(), torch.ones(6, dtype=torch.float64, requires_grad=True)]
        compiled = torch.compile(loss, fullgraph=True, backend=backend)
        torch.testing.assert_close(compiled(*x), loss(*x))
        for slope, expected in zip(torch.autograd.grad(compiled(*x), x), torch.autograd.grad(loss(*x), x), strict=True):
            torch.testing.assert_close(slope, expected)
        larger = [torch.cat([v, v]) if v.ndim > 1 else v for v in x]  # another size of batch
        torch.testing.assert_close(compiled(*larger), loss(*larger))


def test_vmap_and_jacobians_of_torch_func_are_ours() -> None:
    a, func = arm("planar-2r"), torch.func
    q, qd, qdd = state("planar-2r", "inverse_dynamics").values()
    x = list(map(torch.tensor, (q, qd, qdd)))
    same(func.vmap(a.inverse_dynamics)(*x), a.inverse_dynamics(q, qd, qdd))
    same(
        func.vmap(a.inverse_dynamics, in_dims=(0, None, 1))(x[0], x[1], x[2].mT),
        a.inverse_dynamics(q[:, None], qd, qdd[:, None]),
    )
    dq, dqd = a.torque_derivatives(q, qd, qdd)
    for jacobian in (func.jacrev, func.jacfwd):
        slopes = func.vmap(jacobian(a.inverse_dynamics, argnums=(0, 1, 2)))(*x)
        for slope, expected in zip(slopes, (dq, dqd, a.inertia_matrix(q)), strict=True):
            np.testing.assert_allclose(slope, expected, atol=1e-10)
    curvature = a.torque_derivatives(q, 0 * q, 0 * q)[0]
    for hessian in (func.hessian(a.potential_energy), func.jacrev(func.jacrev(a.potential_energy))):
        np.testing.assert_allclose(func.vmap(hessian)(x[0]), curvature, atol=1e-10)


def test_parameters_are_calibrated_by_gradients() -> None:
    """τ is linear in π: its gradient is the regressor's, and descent finds torques that were measured."""
    a, rng = arm("planar-2r"), np.random.default_rng(2)
    q, qd, qdd = map(torch.tensor, rng.uniform(-2, 2, (3, 200, 2)))
    truth = torch.tensor(a.parameters * 1.1)
    measured = a.variants(parameters=truth).inverse_dynamics(q, qd, qdd)
    pi = torch.tensor(a.parameters, requires_grad=True)
    tau = a.variants(parameters=pi).inverse_dynamics(q, qd, qdd)
    (slope,) = torch.autograd.grad(((tau - measured) ** 2).sum(), pi)
    Y = a.regressor(q.numpy(), qd.numpy(), qdd.numpy())
    expected = 2 * np.einsum("kip,ki->p", Y, (tau - measured).detach().numpy())
    np.testing.assert_allclose(slope, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    search = torch.optim.LBFGS([pi], lr=1.0, max_iter=50, line_search_fn="strong_wolfe")

    def closure() -> Any:
        search.zero_grad()
        loss = ((a.variants(parameters=pi).inverse_dynamics(q, qd, qdd) - measured) ** 2).mean()
        loss.backward()
        return loss

    before = closure().detach()
    search.step(closure)
    assert closure().detach() < 1e-5 * before


def test_rollouts_on_the_cpu_are_those_of_numpy() -> None:
    a, steps = arm("planar-2r"), {"step": 1e-3, "steps": 4, "every": 2}
    q, qd, tau = np.random.default_rng(3).normal(size=(3, 5, 2))
    same(a.rollout(torch.tensor(q), qd, tau, **steps), a.rollout(q, qd, tau, **steps))
    few = [x.astype(np.float32) for x in (q, qd)]
    same(a.rollout(*map(torch.tensor, few), **steps), a.rollout(*few, **steps))
    with pytest.raises(da.ShapeError, match="q is tracked for differentiation by its library, which ends here"):
        a.rollout(torch.ones(2, requires_grad=True), qd, **steps)


def test_mistakes_are_one_sentence() -> None:
    a, q = arm("planar-2r"), torch.ones(2, dtype=torch.float64)
    for message, call in {
        r"qd has dtype torch.float32 and another tensor has torch.float64": lambda: a.inverse_dynamics(q, q.float(), q),
        r"q has dtype torch.int64; tensors must be float32 or float64": lambda: a.gravity_torque(q.long()),
        r"qd is on the device meta and another tensor is on cpu": lambda: a.inverse_dynamics(q, q.to("meta"), q),
        r"q has shape \(3,\); its last axis must be 2": lambda: a.gravity_torque(torch.ones(3)),
        r"out cannot be given with a PyTorch tensor": lambda: a.inverse_dynamics(q, q, q, out=q),
        r"threads cannot be given with a PyTorch tensor": lambda: a.gravity_torque(q, threads=2),
        r"parameters has shape \(3,\)": lambda: a.variants(parameters=torch.ones(3)),
        r"q is a PyTorch tensor, but the positions of the tree": lambda: a.tree_positions(q),
        r"q is tracked for differentiation by its library": lambda: a.manipulability(q.clone().requires_grad_()),
        r"these shapes do not broadcast": lambda: a.inverse_dynamics(q.expand(3, 2), q.expand(4, 2), q),
    }.items():
        with pytest.raises(da.ShapeError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
    with pytest.raises(da.DalembertError, match="no formulation 'x'"):
        a.inverse_dynamics(q, q, q, formulation="x")


def test_what_stands_for_pytorchs_own_decorator_is_the_same() -> None:
    def plain() -> None:
        pass

    def ours() -> None:
        pass

    assert vars(torch.compiler.assume_constant_result(plain)) == vars(constant(ours))
    assert library_of(torch.nn.Parameter(torch.ones(2))) == "torch"
