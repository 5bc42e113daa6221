"""Methods of integration: each converges with its order, and a method more is an entry more."""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
import pytest
import scipy.integrate

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.mechanics.motion.methods import METHODS, Method, Tableau
from dalembert.views.cli.simulate import Scheme
from dalembert.work.simulation.fixed import compiled, stepped
from dalembert.work.simulation.task import SimulationRequest, make_task

# not shipped: what the machinery is built for besides the entries that are
OTHERS = MappingProxyType({
    "euler": Method(1, Tableau(((),), (1.0,))),
    "midpoint": Method(2, Tableau(((), (1 / 2,)), (0.0, 1.0))),
    "heun": Method(2, Tableau(((), (1.0,)), (1 / 2, 1 / 2))),
    "kutta": Method(3, Tableau(((), (1 / 2,), (-1.0, 2.0)), (1 / 6, 2 / 3, 1 / 6))),
    "three eighths": Method(4, Tableau(((), (1 / 3,), (-1 / 3, 1.0), (1.0, -1.0, 1.0)), (1 / 8, 3 / 8, 3 / 8, 1 / 8))),
    "butcher": Method(5, Tableau(
        ((), (1 / 4,), (1 / 8, 1 / 8), (0.0, -1 / 2, 1.0), (3 / 16, 0.0, 0.0, 9 / 16),
         (-3 / 7, 2 / 7, 12 / 7, -12 / 7, 8 / 7)),
        (7 / 90, 0.0, 32 / 90, 12 / 90, 32 / 90, 7 / 90),
    )),
})  # fmt: skip
FIXED = [name for name, method in METHODS.items() if not method.solver]


@pytest.fixture(autouse=True)
def others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, method in OTHERS.items():
        monkeypatch.setitem(METHODS, name, method)


def swinging(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    w, a = np.array([2.0, 3.0]), np.array([0.6, 0.4])
    x = w * t[:, None]
    return a * np.sin(x), a * w * np.cos(x), -a * w * w * np.sin(x)


def after_a_second(method: str, step: float, **options: float) -> np.ndarray:
    """A smooth arm that follows a motion by a law: its stages ask for the reference at their own instants."""
    law = da.PD(40.0, 8.0, swinging)
    run = da.simulate(
        da.load("planar-2r"), [0.3, -0.4], [1.0, 0.5], law, 1.0, method=method, step=step, friction=False, **options,  # type: ignore[arg-type]
    )  # fmt: skip
    return run.q[-1]


@pytest.mark.parametrize("method", [*FIXED, *OTHERS])
def test_the_error_falls_with_the_order_of_the_method(method: str) -> None:
    exact = after_a_second("dop853", 1e-2, rtol=1e-13, atol=1e-13)
    coarse, fine = (np.abs(after_a_second(method, h) - exact).max() for h in (1 / 16, 1 / 32))
    assert np.log2(coarse / fine) == pytest.approx(METHODS[method].order, abs=0.3)


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].solver])
def test_adaptive_methods_have_the_order_of_their_solver_and_keep_to_the_tolerance(method: str) -> None:
    assert getattr(scipy.integrate, METHODS[method].solver).order == METHODS[method].order
    exact = after_a_second("rk4", 1e-4)
    errors = [np.abs(after_a_second(method, 1e-2, rtol=rtol, atol=rtol) - exact).max() for rtol in (1e-5, 1e-8, 1e-11)]
    assert errors[0] < 1e-4 and errors[1] < 1e-7 and errors[2] < 1e-10


@pytest.mark.parametrize("method", OTHERS)
def test_every_tableau_sticks_slips_and_hits_stops(method: str) -> None:
    """Dry friction and stops along a reference: one compiled loop and steps from Python agree, and both with rk4."""
    arm = da.load("scara")
    q0, qd0, target = [0.2, 0.1, 0.05, 0.0], [2.0, -3.0, 0.2, -1.0], [0.5, -0.4, 0.1, 0.3]
    law = da.PD([60.0, 60.0, 60.0, 0.6], [4.0, 4.0, 4.0, 0.02], target)  # slow beside the steps of the first order

    def task(name: str, step: float):  # type: ignore[no-untyped-def]
        return make_task(
            arm, SimulationRequest(q0=q0, qd0=qd0, torque=law, duration=0.4, method=name, step=step, stops="contact")
        )

    ours = task(method, 2e-3)
    loop, python = (run(ours, [ours.q0, ours.qd0]) for run in (compiled, stepped))
    assert np.abs(loop[0] - python[0]).max() < 1e-10 and np.abs(loop[1] - python[1]).max() < 1e-8
    judge = task("rk4", 2e-4)
    expected = compiled(judge, [judge.q0, judge.qd0])[0][::10]
    assert np.abs(loop[0] - expected).max() < (2e-2 if METHODS[method].order == 1 else 2e-3)


def test_users_are_offered_every_method_that_is_shipped() -> None:
    shipped = [name for name in METHODS if name not in OTHERS]
    assert (
        list(get_args(eval(da.simulate.__annotations__["method"], {"Literal": Literal})))
        == shipped
        == list(get_args(Scheme))
    )


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].refuses])
def test_what_a_method_refuses_is_said_with_a_method_that_does_not(method: str) -> None:
    planar, friction = da.load("planar-2r"), {"friction": False}
    cases = {
        "parameters": (planar, {**friction, "parameters": np.ones(26)}),
        "dry friction": (da.load("puma560"), {}),
        "contact": (planar, {**friction, "stops": "contact"}),
        "approximation": (planar.approximate("coriolis"), friction),
        "adaptation": (planar, {"torque": da.Adaptive(900.0, 10.0, 30.0, np.zeros(2))}),
    }
    assert set(METHODS[method].refuses) <= {*cases, "Newton"}  # that one is in test_closed_simulation.py
    for need, (arm, options) in cases.items():
        if need in METHODS[method].refuses:
            with pytest.raises(DalembertError, match=r"; use (method )?'rk4'"):
                da.simulate(arm, np.zeros(arm.n), None, **{"torque": None, **options}, duration=0.1, method=method)  # type: ignore[arg-type]
