"""PyTorch's own checks of operators and gradients, and: every quantity is NumPy's, bit for bit."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.compiler.foreign.libraries import constant, library_of
from dalembert.compiler.quantities.machine import OWN_NUMBERS
from given import ARMS, ROLLED, STEPS, arm, flowing, motion, parts, quantities, rolled, simulated, state

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


@pytest.mark.parametrize("name", ROLLED)
def test_gradients_of_rollouts_pass_pytorchs_check(name: str) -> None:
    """Forwards and backwards, with broadcasting, records on the way, torques per step, constant or none."""
    a, (q, qd, tau) = rolled(name), tensors(motion(name), grad=True).values()
    wide = {"eps": 1e-6, "atol": 1e-6, "check_forward_ad": True}
    assert torch.autograd.gradcheck(lambda *x: a.rollout(*x, **STEPS, every=2), (q, qd, tau), **wide)
    assert torch.autograd.gradcheck(lambda *x: a.rollout(*x, **STEPS), (q[0], qd, tau[:1, 0]), **wide)
    assert torch.autograd.gradcheck(lambda x: a.rollout(x, [0.1] * a.n, **STEPS), (q,), **wide)


@pytest.mark.parametrize("name", ROLLED)
def test_gradients_of_rollouts_are_those_of_runs(name: str) -> None:
    a, given = rolled(name), motion(name, seed=1)
    x = tensors(given, grad=True)
    q, qd = a.rollout(*x.values(), **STEPS, every=3)
    run = da.simulate(a, *given.values(), STEPS["steps"] * STEPS["step"], step=STEPS["step"], every=3)
    np.testing.assert_array_equal(q.detach(), run.q[:, 1:])
    slopes = torch.autograd.grad(q.sum() - 2.0 * qd.sum(), tuple(x.values()))
    weights = np.array([0.0, 1.0, 1.0])[:, None]
    expected = da.gradient(run, ("q0", "qd0", "torque"), q=weights, qd=-2.0 * weights)
    for slope, name_ in zip(slopes, expected, strict=True):
        np.testing.assert_allclose(slope, expected[name_], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["planar-2r", "scara"])
def test_gradients_of_rollouts_reach_the_numbers_of_many_robots(name: str) -> None:
    """Masses that require gradients: each environment has its own, friction coefficients included."""
    a, given = rolled(name), tensors(motion(name))
    numbers = a.parameters * np.linspace(0.9, 1.1, 2)[:, None]
    pi = torch.tensor(numbers, requires_grad=True)
    q, qd = a.variants(parameters=pi).rollout(*given.values(), **STEPS)
    (slope,) = torch.autograd.grad(q.sum() + qd.sum(), pi, retain_graph=True)
    run = da.simulate(a, *motion(name).values(), 6e-3, parameters=numbers)
    last = np.eye(7)[-1][:, None]
    np.testing.assert_allclose(slope, da.gradient(run, "parameters", q=last, qd=last)["parameters"], rtol=1e-9)
    (own,) = torch.autograd.grad(q[0].sum(), pi)
    assert own[0].any() and not own[1].any()
    for number in ("lengths", "payload", "gravity"):
        value = torch.tensor(np.array(OWN_NUMBERS[number](a.mechanism), float) + 0.1, requires_grad=True)
        assert torch.autograd.gradcheck(
            lambda x, number=number: a.variants(**{number: x}).rollout(*given.values(), **STEPS), (value,), atol=1e-6
        )


def test_rollouts_have_second_derivatives_without_dry_friction() -> None:
    a, (q, qd, tau) = rolled("planar-2r"), tensors(motion("planar-2r"), grad=True).values()
    few = {"step": 1e-2, "steps": 6}
    both = {"check_fwd_over_rev": True}
    assert torch.autograd.gradgradcheck(lambda *x: a.rollout(*x, **few, every=3), (q, qd, tau), **both)
    assert torch.autograd.gradgradcheck(lambda *x: a.rollout(*x, **few), (q[0], qd, tau[0, 0]), **both)
    pi = torch.tensor(a.parameters * 1.1, requires_grad=True)

    def roll(q: Any, pi: Any) -> Any:
        return a.variants(parameters=pi).rollout(q, qd.detach(), **few, friction=False)

    assert torch.autograd.gradgradcheck(roll, (q[0], pi), **both)

    def last(q: Any) -> Any:
        return a.rollout(q, qd.detach()[0], **few)[0].sum()

    hessian = torch.func.hessian(last)(q.detach()[0])
    for other in (torch.func.jacrev(torch.func.jacrev(last)), torch.func.jacrev(torch.func.jacfwd(last))):
        torch.testing.assert_close(other(q.detach()[0]), hessian)


def test_second_derivatives_that_do_not_exist_are_one_sentence() -> None:
    s, (q, qd, _) = rolled("scara"), tensors(motion("scara"), grad=True).values()
    (slope,) = torch.autograd.grad(s.rollout(q, qd, **STEPS)[0].sum(), q, create_graph=True)
    with pytest.raises(da.DalembertError, match=r"with dry friction.* has first derivatives only.* use friction=False"):
        slope.sum().backward()
    a, (q, qd, _) = rolled("planar-2r"), tensors(motion("planar-2r")).values()

    def last(x: Any) -> Any:
        return a.rollout(x, qd, **STEPS)[0].sum()

    with pytest.raises(da.DalembertError, match="forward mode twice; differentiate its gradient, as hessian does"):
        torch.func.jacfwd(torch.func.jacfwd(last))(q)
    with pytest.raises(da.DalembertError, match="first and second derivatives"):
        torch.func.grad(lambda x: torch.func.hessian(last)(x).sum())(q)


@pytest.mark.parametrize("backend", BACKENDS)
def test_rollouts_compile_to_one_graph_with_their_gradients(backend: str) -> None:
    a, x = da.load("planar-2r"), list(tensors(motion("planar-2r"), grad=True).values())
    many = a.variants(parameters=torch.tensor(a.parameters * 1.1, requires_grad=True))

    def loss(q: Any, qd: Any, tau: Any) -> Any:
        q1, qd1 = a.rollout(q, qd, tau, **STEPS)
        q2, _ = a.rollout(q, [0.0, 1.0], **STEPS, every=3)
        return q1.sum() + qd1.sum() + q2.sum() + many.rollout(q, qd, tau[:, 0], **STEPS)[0].sum()

    compiled = torch.compile(loss, fullgraph=True, backend=backend)
    torch.testing.assert_close(compiled(*x), loss(*x))
    inputs = [*x, many.parameters]
    for slope, expected in zip(
        torch.autograd.grad(compiled(*x), inputs), torch.autograd.grad(loss(*x), inputs), strict=True
    ):
        torch.testing.assert_close(slope, expected)
    larger = [torch.cat([v, v]) for v in x]
    torch.testing.assert_close(compiled(*larger), loss(*larger))


def test_rollouts_pass_opcheck_vmap_and_float32() -> None:
    a, given = rolled("planar-2r"), motion("planar-2r")
    x = list(tensors(given, grad=True).values())
    same([y.detach() for y in a.rollout(*x, **STEPS)], a.rollout(*given.values(), **STEPS))
    key, _ = a._rollout_call("rk4", 1e-3, 6, 6, True, True)
    torch.library.opcheck(torch.ops.dalembert.call.default, (key, x))
    q, qd, tau = (v.detach() for v in x)
    mapped = torch.func.vmap(lambda *v: a.rollout(*v, **STEPS), in_dims=(0, None, 1))(q, qd[0], tau.movedim(0, 1))
    same(mapped, a.rollout(given["q"], given["qd"][0], given["tau"], **STEPS))
    single = [v.float().requires_grad_() for v in (q, qd, tau)]
    slopes = torch.autograd.grad(a.rollout(*single, **STEPS)[0].sum(), single)
    exact = torch.autograd.grad(a.rollout(*x, **STEPS)[0].sum(), x)
    for slope, expected in zip(slopes, exact, strict=True):
        assert slope.dtype == torch.float32
        torch.testing.assert_close(slope.double(), expected, rtol=1e-5, atol=1e-6)
    turned = tau.movedim(0, -1).contiguous().movedim(-1, 0)
    assert not turned.is_contiguous()
    same(a.rollout(q, qd, turned, **STEPS), a.rollout(*given.values(), **STEPS))
    none = torch.zeros(0, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(a.rollout(none, none, **STEPS)[0].sum(), none)[0].shape == (0, 2)


@pytest.mark.parametrize("law", ["pd", "computed", "servo", "adaptive"])
def test_simulations_pass_gradients_to_the_gains_of_controllers(law: str) -> None:
    gains = {"kp": torch.full((4,), 30.0).double().requires_grad_(), "kd": torch.tensor(5.0).double().requires_grad_()}
    expected = simulated(law, **{name: gain.detach().numpy() for name, gain in gains.items()})
    same([x.detach() for x in simulated(law, **gains)], expected)
    assert torch.autograd.gradcheck(
        lambda *x: simulated(law, **dict(zip(gains, x, strict=True))),
        tuple(gains.values()),
        atol=1e-6,
        check_forward_ad=True,
    )


def test_simulations_pass_gradients_to_states_torques_wrenches_and_parameters() -> None:
    a, rng = rolled("planar-2r"), np.random.default_rng(5)
    given = {
        "q0": rng.normal(size=2), "qd0": rng.normal(size=(3, 2)), "torque": rng.normal(size=(6, 2)),
        "tip_wrench": rng.normal(size=6), "parameters": a.parameters * 1.1,
    }  # fmt: skip

    def run(given: Any) -> Any:
        return da.simulate(
            a, given["q0"], given["qd0"], given["torque"], 0.0055, **{x: given[x] for x in ("tip_wrench", "parameters")}
        )

    x = tensors(given, grad=True)
    own, known = run(x), run(given)
    same([own.q.detach(), own.qd.detach()], (known.q, known.qd))
    np.testing.assert_array_equal(own.t, known.t)
    assert repr(own) == repr(known)
    slopes = dict(zip(x, torch.autograd.grad(own.q.sum() + own.qd.sum(), tuple(x.values())), strict=True))
    for name, slope in da.gradient(known, tuple(given), q=1.0, qd=1.0).items():
        total = slope.reshape(-1, *given[name].shape).sum(axis=0) if slope.shape != given[name].shape else slope
        np.testing.assert_allclose(slopes[name], total, rtol=1e-12, atol=1e-13)
    plain = run(tensors(given))  # nothing to differentiate
    assert type(plain.q) is np.ndarray


def test_simulations_that_cannot_be_differentiated_say_why() -> None:
    a, q = rolled("planar-2r"), torch.ones(2, dtype=torch.float64, requires_grad=True)
    for message, given in {
        "threads are for NumPy arrays; leave them out": {"threads": 2},
        "stops='error' needs values; use": {"stops": "error"},
        "effort_limits cut given torques": {"effort_limits": 3.0, "torque": q},
        "method 'dop853'": {"method": "dop853"},
        "come from a Python function; give arrays": {"torque": lambda t, q, qd: -q},
        "was sampled": {"torque": da.PD(q, 1.0, [0.0, 0.0]), "rate": 100.0},
    }.items():
        arguments = {"torque": None} | given
        arm_ = da.load("pr-arm") if "stops" in given else a
        with pytest.raises(da.DalembertError, match=f"q0 is tracked for differentiation.* no derivatives: .*{message}"):
            da.simulate(arm_, q, None, arguments.pop("torque"), 0.01, **arguments)  # type: ignore[arg-type]


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
