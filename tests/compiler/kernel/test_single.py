"""The function for one state: what the gufunc gives, or None."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
import time
from functools import cache

import numpy as np
import pytest

import dalembert as da
from arms import arm, states
from dalembert.compiler.kernel import single_call as single_module
from dalembert.compiler.kernel.single_call import single_of

QUANTITIES = {
    "inverse_dynamics": 3, "forward_dynamics": 3, "gravity_torque": 1, "inertia_matrix": 1, "coriolis_matrix": 2,
    "christoffel": 1, "jacobian": 1, "pose": 1, "regressor": 3, "friction_torque": 1,
}  # fmt: skip


@pytest.mark.parametrize("name", ["pendulum", "planar-2r", "panda", "gripper"])
def test_it_gives_what_the_gufunc_gives(name: str) -> None:
    a = arm(name)
    x = [row[0].copy() for row in states(a, 1)]
    for quantity, count in QUANTITIES.items():
        kernel = a.kernel(quantity)
        result = single_of(kernel)(*x[:count])
        assert type(result) is np.ndarray and (result == kernel(*x[:count])).all(), quantity
        assert result.flags.owndata and result.flags.c_contiguous and result.flags.writeable


def test_whatever_else_is_refused() -> None:
    a = arm("planar-2r")
    single, z = single_of(a.kernel("inverse_dynamics")), np.zeros(2)
    others = [
        np.zeros(3), np.zeros((1, 2)), np.zeros(2, np.float32), np.zeros(2, int), np.zeros(2, ">f8"), np.zeros(4)[::2],
        np.zeros((2, 2)).T[0], np.ma.zeros(2), [0.0, 0.0], 0.0, None, "ab", np.zeros(()),
        np.frombuffer(bytes(17), np.uint8)[1:].view(float),
    ]  # fmt: skip
    for other in others:
        for at in range(3):
            assert single(*(other if k == at else z for k in range(3))) is None
    assert single() is None and single(z) is None and single(z, z, z, z) is None
    assert single_of(a.kernel("potential_energy")) is None and single_of(a.kernel("torque_derivatives")) is None


def test_methods_take_it_and_name_mistakes_as_ever() -> None:
    a, z = da.load("planar-2r"), np.zeros(2)
    for _ in range(3):
        assert (a.inverse_dynamics(z, z, z) == a.kernel("inverse_dynamics")(z, z, z)).all()
    assert a.singles["inverse_dynamics"] is not None
    with pytest.raises(da.ShapeError, match="q"):
        a.inverse_dynamics(np.zeros(3), z, z)
    assert a.inverse_dynamics(*[np.zeros(2, np.float32)] * 3).dtype == np.float32
    assert a.inverse_dynamics(*[np.zeros((5, 2))] * 3).shape == (5, 2)
    with pytest.raises(TypeError):
        a.inverse_dynamics(z)
    for again in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a)):
        assert (again.inverse_dynamics(z, z, z) == a.inverse_dynamics(z, z, z)).all()


def test_floating_point_flags_are_told_as_numpy_tells_them() -> None:
    """An overflow in the call is told, and one that happened before it is not."""
    a, z, huge = da.load("planar-2r"), np.zeros(2), np.full(2, 1.7e308)
    for _ in range(3):
        a.inverse_dynamics(z, z, z)
    with np.errstate(all="raise"):
        assert float(huge[0]) * 10.0 == np.inf  # which leaves the processor's flag up
        a.inverse_dynamics(z, z, z)
        with pytest.raises(FloatingPointError, match="overflow"):
            a.inverse_dynamics(z, z, huge)
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert np.isinf(a.inverse_dynamics(z, z, huge)).any()


def test_it_keeps_no_references_and_loses_none() -> None:
    a, z = arm("planar-2r"), np.zeros(2)
    single, double = single_of(a.kernel("inverse_dynamics")), np.dtype(np.float64)
    for _ in range(10):
        single(z, z, z)
    before = sys.getrefcount(double), sys.getrefcount(z), sys.getrefcount(None)
    kept = [single(z, z, z) for _ in range(1000)]
    assert sys.getrefcount(double) >= before[0] + (1000 if before[0] < 2**30 else 0)  # it may be immortal
    del kept
    refused = [single(z, z) for _ in range(1000)]
    assert sys.getrefcount(None) >= before[2]
    del refused
    after = sys.getrefcount(double), sys.getrefcount(z), sys.getrefcount(None)
    assert max(abs(x - y) for x, y in zip(before, after, strict=True)) < 50


def test_it_keeps_its_kernel() -> None:
    kernel = arm("planar-2r").kernel("inverse_dynamics")
    before = sys.getrefcount(kernel)
    single = single_of(kernel)
    assert sys.getrefcount(kernel) == before + 1
    del single
    assert sys.getrefcount(kernel) == before


def test_threads_use_it_at_once() -> None:
    a, wrong = da.load("panda"), list[int]()
    x = [row.copy() for row in np.random.default_rng(0).uniform(-1, 1, (3, 7))]
    expected = a.kernel("inverse_dynamics")(*x)

    def work() -> None:
        for _ in range(2000):
            if not (a.inverse_dynamics(*x) == expected).all():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_threads_that_ask_at_once_get_the_same_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions refer to its address alone: one that is made for a thread and dropped would be called after its end."""
    code_of, definitions, made = single_module.code_of, [], []

    def slowly(*arguments: object) -> object:
        made.append(arguments)
        time.sleep(0.05)
        return code_of(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(single_module, "code_of", slowly)
    monkeypatch.setattr(single_module, "_defined", cache(single_module._defined.__wrapped__))
    threads = [threading.Thread(target=lambda: definitions.append(single_module._method())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and len({id(definition) for definition in definitions}) == 1
