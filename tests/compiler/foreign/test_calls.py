"""Calls of other libraries without any of them: keys, derivatives and shapes, against NumPy's own way."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import dalembert as da
from dalembert.compiler.foreign.call import registered
from dalembert.compiler.foreign.device import DeviceArray, run_on_device
from dalembert.compiler.foreign.libraries import common_library
from given import ARMS, arm, state


@pytest.mark.parametrize("name", ARMS)
def test_a_call_and_its_derivatives_are_those_of_the_arm(name: str) -> None:
    a, given = arm(name), state(name, "inverse_dynamics")
    key, sizes = a.foreign_call("inverse_dynamics", None, ())
    assert [x for x, _ in sizes] == list(given) and dict(sizes)["q"] == (a.n,)
    call = registered(key)
    (tau,) = call.run(list(given.values()))
    np.testing.assert_array_equal(tau, a.inverse_dynamics(**given))
    weights = np.ones_like(tau)
    expected = a.gradient("inverse_dynamics", given, weights)
    slopes = call.derivative("gradient", ("q", "qdd")).run([*given.values(), weights])
    for slope, x in zip(slopes, ("q", "qdd"), strict=True):
        np.testing.assert_allclose(slope, expected[x], rtol=1e-9, atol=1e-9)
    (along,) = call.derivative("tangent", ("qdd",)).run([*given.values(), given["qd"]])
    B = a.inertia_matrix(given["q"])
    np.testing.assert_allclose(along, (B @ given["qd"][..., None])[..., 0], rtol=1e-9, atol=1e-9)
    out = np.empty_like(tau)
    call.run(list(given.values()), (out,))
    np.testing.assert_array_equal(out, tau)
    assert (
        call.derivative("gradient", ("q",)) is call.derivative("gradient", ("q",))
        and call.derivative("gradient", ("q",)).derivative("gradient", ("q",)).quantity == call.quantity
    )


def test_keys_are_the_same_in_every_process_and_differ_with_all_that_matters() -> None:
    code = "import dalembert as da; print(da.load('planar-2r').foreign_call('gravity_torque', None, ())[0])"
    key, _ = da.load("planar-2r").foreign_call("gravity_torque", None, ())
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == key
    a = arm("planar-2r")
    other = a.replace(gravity=(0.0, 0.0, -9.0))
    keys = {
        key, a.foreign_call("gravity_torque", None, ("base_motion",))[0], other.foreign_call("gravity_torque", None, ())[0],
        a.foreign_call("inertia_matrix", "lagrange", ())[0], a.foreign_call("inertia_matrix", None, ())[0],
    }  # fmt: skip
    assert len(keys) == 5
    assert pickle.loads(pickle.dumps(a)).foreign_call("gravity_torque", None, ())[0] == key
    with pytest.raises(da.DalembertError, match=r"the operator 'pose-0' is not known in this process; load its arm"):
        registered("pose-0")


def test_numpy_arrays_numbers_and_lists_belong_to_no_other_library() -> None:
    assert common_library([np.zeros(2), [1.0], (1, 2), 3.0, None, np.float32(1)]) is None


def test_loops_that_newton_closes_do_not_run_on_a_gpu() -> None:
    call = registered(arm("five-bar by Newton").foreign_call("gravity_torque", None, ())[0])
    array = DeviceArray(0, (2,), (8,), "float64", 0)
    with pytest.raises(da.DalembertError, match="closed by Newton's method, which does not run on the GPU"):
        run_on_device(call, [array], [array], 0)


def test_a_rollout_of_no_states_asks_nothing_of_a_gpu() -> None:
    from dalembert.compiler.quantities.rollouts import device_rollout
    from dalembert.compiler.quantities.step_program import Plan

    def empty(*shape: int) -> DeviceArray:
        return DeviceArray(0, shape, (0,) * len(shape), "float64", 0)

    kernel = device_rollout(arm("planar-2r").mechanism, Plan(method="rk4", law="given"), "double")
    arrays = [empty(0, 2), empty(0, 2), empty(1, 1), empty(1, 2), empty(0, 1, 2), empty(0, 1, 2)]
    kernel.launch(arrays, 10, 1, 0)
