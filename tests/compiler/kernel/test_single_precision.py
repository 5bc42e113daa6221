"""float32 in, float32 arithmetic, float32 out: accurate to 2e-5 of the largest number, in every layout and position."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest

import dalembert as da
from arms import arm as of_registry

SINGLE = np.dtype(np.float32)
ACCURACY = 2e-5
QUANTITIES = {
    "inverse_dynamics": 3, "forward_dynamics": 3, "inertia_matrix": 1, "coriolis_matrix": 2, "jacobian": 1,
    "torque_derivatives": 3,
}  # fmt: skip
# "terms" has tanh and every other law of friction that needs no load; the parallelogram is a closed chain; of the larger
# arms a few quantities each, to be quick
ARMS = {
    "planar-2r": tuple(QUANTITIES),
    "parallelogram": ("inverse_dynamics", "forward_dynamics", "inertia_matrix", "coriolis_matrix"),
    "terms": ("inverse_dynamics", "forward_dynamics"),
    "puma560": ("inverse_dynamics", "torque_derivatives"),
    "scara": ("jacobian", "coriolis_matrix"),
    "panda": ("inverse_dynamics", "forward_dynamics"),
}
COUNTS = (*range(1, 18), 31, 33)  # every tail of vectors of up to 16 lanes


@cache
def arm(name: str) -> da.Arm:
    return of_registry(name)


@cache
def states(name: str, count: int = 33) -> tuple[np.ndarray, ...]:
    """q near a pose, q̇ and q̈ or τ, in float32."""
    rng, n = np.random.default_rng(3), arm(name).n
    reach = 2.0 if arm(name).mechanism.linear else 0.3
    q = arm(name).home + rng.uniform(-reach, reach, (count, n))
    return tuple(x.astype(np.float32) for x in (q, rng.uniform(-2, 2, (count, n)), rng.uniform(-2, 2, (count, n))))


def parts(value: Any) -> tuple[np.ndarray, ...]:
    return value if isinstance(value, tuple) else (value,)


def bits(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).view(np.uint32)


CASES = [(name, quantity) for name, quantities in ARMS.items() for quantity in quantities]


@pytest.mark.parametrize(("name", "quantity"), CASES, ids=lambda x: str(x))
def test_results_are_right_to_two_in_a_hundred_thousand(name: str, quantity: str) -> None:
    """Of the largest number of the array, over all states; forward dynamics times the condition of B, over 100."""
    method, given = getattr(arm(name), quantity), states(name)[: QUANTITIES[quantity]]
    wide = [x.astype(float) for x in given]
    allowed = ACCURACY
    if quantity == "forward_dynamics":
        allowed *= max(1.0, float(np.linalg.cond(arm(name).inertia_matrix(wide[0])).max()) / 100.0)
    for result, wanted in zip(parts(method(*given)), parts(method(*wide)), strict=True):
        assert result.dtype == SINGLE and wanted.dtype == np.float64 and result.shape == wanted.shape
        assert np.abs(result - wanted).max() <= allowed * np.abs(wanted).max()


@pytest.mark.parametrize("name", ["planar-2r", "parallelogram"])
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "inertia_matrix"])
def test_a_state_has_the_same_bits_at_every_place_of_every_batch(name: str, quantity: str) -> None:
    method, given = getattr(arm(name), quantity), states(name)[: QUANTITIES[quantity]]
    wanted = method(*given)
    for count in COUNTS:
        np.testing.assert_array_equal(bits(method(*(x[:count] for x in given))), bits(wanted[:count]))
        np.testing.assert_array_equal(bits(method(*(x[-count:] for x in given))), bits(wanted[-count:]))
    alone = np.stack([method(*(x[k] for x in given)) for k in range(7)])
    np.testing.assert_array_equal(bits(alone), bits(wanted[:7]))
    assert method(*(x[:0] for x in given)).shape == (0, *wanted.shape[1:])


def test_layouts_do_not_change_a_bit() -> None:
    method, (q, qd, qdd) = arm("planar-2r").inverse_dynamics, states("planar-2r")
    wanted = method(q, qd, qdd)
    transposed = [np.asfortranarray(x) for x in (q, qd, qdd)]
    assert not transposed[0].flags.c_contiguous
    np.testing.assert_array_equal(method(*transposed), wanted)
    np.testing.assert_array_equal(method(q[::-2], qd[::-2], qdd[::-2]), wanted[::-2])
    spread = [np.repeat(x, 3, axis=1)[:, ::3] for x in (q, qd, qdd)]
    np.testing.assert_array_equal(method(*spread), wanted)
    odd = [np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape) for x in (q, qd, qdd)]
    assert not odd[0].flags.aligned
    np.testing.assert_array_equal(method(*odd), wanted)
    grid = method(q[:, None], qd[None, :5], qdd[0])
    assert grid.shape == (33, 5, 2) and grid.dtype == SINGLE
    np.testing.assert_array_equal(grid[4, 3], method(q[4], qd[3], qdd[0]))
    np.testing.assert_array_equal(method(np.broadcast_to(q[0], q.shape), qd, qdd), method(q[0], qd, qdd))


def test_out_holds_floats_or_doubles() -> None:
    method, given = arm("planar-2r").inverse_dynamics, states("planar-2r")
    wanted = method(*given)
    for kind in (np.float32, np.float64):
        out = np.full((35, 2), -7, kind)
        assert method(*given, out=out[1:-1]) is not None
        np.testing.assert_array_equal(out[1:-1], wanted)
        assert (out[[0, -1]] == -7).all()
    columns = np.empty((2, 33), np.float32)
    method(*given, out=columns.T)
    np.testing.assert_array_equal(columns.T, wanted)


def test_one_double_among_floats_makes_doubles() -> None:
    method, (q, qd, qdd) = arm("planar-2r").inverse_dynamics, states("planar-2r")
    mixed = method(q, qd.astype(float), qdd)
    assert mixed.dtype == np.float64
    np.testing.assert_array_equal(mixed, method(q.astype(float), qd.astype(float), qdd.astype(float)))


def test_kernels_in_doubles_widen_floats_inside() -> None:
    q, qd, qdd = states("planar-2r")
    kernel = arm("planar-2r").kernel("inverse_dynamics", precision="double")
    assert kernel is arm("planar-2r").kernel("inverse_dynamics")
    widened = kernel(q, qd, qdd)
    assert widened.dtype == SINGLE
    np.testing.assert_array_equal(widened, kernel(*(x.astype(float) for x in (q, qd, qdd))).astype(np.float32))
    single = arm("planar-2r").kernel("inverse_dynamics", precision="single")
    assert single.types == ["fff->f"]
    np.testing.assert_array_equal(single(q, qd, qdd), arm("planar-2r").inverse_dynamics(q, qd, qdd))
    assert np.abs(single(q, qd, qdd) - widened).max() > 0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(single))(q, qd, qdd), single(q, qd, qdd))


def test_far_angles_are_those_of_the_same_floats_in_doubles() -> None:
    _, qd, qdd = states("planar-2r")
    q = np.geomspace(1e3, 1e30, 66).reshape(33, 2).astype(np.float32)
    result = arm("planar-2r").inverse_dynamics(q, qd, qdd)
    wanted = arm("planar-2r").inverse_dynamics(*(x.astype(float) for x in (q, qd, qdd)))
    assert np.abs(result - wanted).max() <= ACCURACY * np.abs(wanted).max()


def test_threads_give_the_same_bits() -> None:
    q, qd, qdd = (np.tile(x, (100, 1)) for x in states("planar-2r"))
    method = arm("planar-2r").inverse_dynamics
    np.testing.assert_array_equal(method(q, qd, qdd, threads=2), method(q, qd, qdd, threads=1))


@pytest.mark.parametrize("precision", ["float32", "half", None, 4])
def test_a_precision_that_does_not_exist_is_refused(precision: Any) -> None:
    for kernel in (arm("planar-2r").kernel, arm("planar-2r").gradient_kernel, arm("planar-2r").tangent_kernel):
        with pytest.raises(da.DalembertError, match=r"precision is .*; it must be 'double' or 'single'"):
            kernel("inverse_dynamics", precision=precision)


def test_the_old_word_of_emit_works_with_a_warning() -> None:
    a = arm("planar-2r")
    with pytest.warns(DeprecationWarning, match="now called 'single'") as caught:
        old = a.emit("gravity_torque", precision="float")  # type: ignore[arg-type]
    assert old == a.emit("gravity_torque", precision="single") and caught[0].filename == __file__
