"""One rule for numbers: float32 in gives float32 out, every other real type float64; anything else is one sentence."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.compiler.quantities.joints import known
from dalembert.compiler.quantities.machine import INPUTS
from test_closed_simulation import by_newton

ARMS = ["planar-2r", "five-bar", "five-bar by Newton"]


@cache
def arm(name: str) -> da.Arm:
    plain = da.load(name.removesuffix(" by Newton"))
    return by_newton(plain) if name.endswith("Newton") else plain


def methods(name: str) -> dict[str, tuple[str, ...]]:
    """Every public method of the arm that takes arrays of its joints, with the names of these arrays."""
    found = {}
    for method in (*dir(type(arm(name))), "placed"):
        if method.startswith("_") or method == "plot" or isinstance(getattr(type(arm(name)), method), property):
            continue
        if method == "rollout" and arm(name).mechanism.by_newton:  # of which there is none
            continue
        parameters = getattr(inspect.signature(getattr(arm(name), method, None)), "parameters", {}) if callable(
            getattr(type(arm(name)), method)
        ) else {}  # fmt: skip
        arrays = tuple(x for x, p in parameters.items() if x in INPUTS and (p.default is p.empty or x == "q"))
        if arrays:
            found[method] = arrays
    return found


def results(value: Any) -> list[Any]:
    """The arrays of a result, whatever it comes in."""
    if is_dataclass(value):
        value = [getattr(value, f.name) for f in fields(value)]
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in results(part)]
    return [value] if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fc" else []


# a polytope belongs to one state, and needs limits that these arms do not have
MORE: dict[str, dict[str, Any]] = {
    "acceleration_polytope": {"torque_limits": [1.0, 1.0]},
    "rollout": {"step": 1e-3, "steps": 2},
}


def state(name: str, arrays: tuple[str, ...], method: str = "") -> list[np.ndarray]:
    """A batch of two states in whole numbers at which the loops close, so that every type holds them exactly."""
    if method == "acceleration_polytope":
        return [x[0] for x in state(name, arrays)]
    q = np.array([[0.0, 1.0], [1.0, 2.0]]) if name == "planar-2r" else np.array([[1.0, 2.0], [1.0, 2.0]])
    return [q if x == "q" else np.array([[1.0, 0.0], [0.0, 1.0]]) for x in arrays]


TYPES = [
    np.float16, np.float64, np.longdouble, np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64,
    np.dtype(">f8"), np.dtype(">i2"),
]  # fmt: skip


def asked(name: str, method: str, arrays: list[Any]) -> list[Any]:
    first, *others = arrays
    given = dict(zip(methods(name)[method][1:], others, strict=False)) if method == "friction_torque" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return results(getattr(arm(name), method)(first, *([] if given else others), **given, **MORE.get(method, {})))


@pytest.mark.parametrize("name", ["planar-2r", "five-bar by Newton"])
def test_float32_in_float32_out_otherwise_float64(name: str) -> None:
    """Every method, every type, alone and mixed."""
    found = methods(name)
    quantities = known(arm(name).mechanism)
    assert set(found) >= {x for x in quantities if hasattr(arm(name), x)} and len(found) >= 25
    chosen = list(found.items())[
        :: 1 if name == "planar-2r" else 3
    ]  # the rule is the same for all arms, and kernels take long
    for method, arrays in chosen:
        exact = state(name, arrays, method)
        expected = asked(name, method, exact)
        if method == "closes":
            continue
        assert expected, method
        assert {x.dtype for x in expected} == {np.dtype(np.float64)}, method
        for dtype in TYPES if name == "planar-2r" else TYPES[::4]:
            values = asked(name, method, [x.astype(dtype) for x in exact])
            assert [x.dtype for x in values] == [x.dtype for x in expected], (method, dtype)
            assert all(np.array_equal(x, y) for x, y in zip(values, expected, strict=True)), (method, dtype)
        shape = "manipulability" in method or "polytope" in method  # ellipsoids are float64 always
        for dtype in () if shape else (np.float32, np.dtype(">f4")):
            values = asked(name, method, [x.astype(dtype) for x in exact])
            assert {x.dtype for x in values} == {np.dtype(np.float32)}, (method, dtype)
            assert all(
                np.allclose(x, y, rtol=1e-4, atol=1e-4 * np.abs(y).max(initial=0.0) + 1e-6)
                for x, y in zip(values, expected, strict=True)
            ), method
        mixed = [x.astype(t) for x, t in zip(exact, (np.float32, np.int8, np.float16, np.int16), strict=False)]
        if len(mixed) > 1:
            assert {x.dtype for x in asked(name, method, mixed)} == {np.dtype(np.float64)}, method


def test_bool_with_a_small_integer_is_float64() -> None:
    a = arm("planar-2r")
    tau = a.inverse_dynamics(np.array([True, False]), np.array([1, 0], np.int16), np.array([0, 1], np.int8))
    assert tau.dtype == np.float64 and np.array_equal(tau, a.inverse_dynamics([1, 0], [1, 0], [0, 1]))


class Table:
    """What tables of other libraries have in common."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.values, dtype)

    def to_numpy(self) -> np.ndarray:
        return self.values

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("gufuncs are not supported")


class Frame(Table):
    """A table with named columns, as of pandas and Polars."""

    def __init__(self, columns: dict[str, Any]) -> None:
        super().__init__(np.array(list(columns.values())).T)
        self.columns = list(columns)

    def __getitem__(self, names: list[str]) -> Frame:
        return Frame({name: self.values[..., self.columns.index(name)] for name in names})


class Tracer:
    """What a function traced by JAX receives."""

    __module__ = "jax._src.interpreters"

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError("the numpy.ndarray conversion method __array__() was called on traced array")


def test_columns_with_the_names_of_joints_are_taken_by_name() -> None:
    a = arm("planar-2r")
    expected = a.gravity_torque([[0.0, 1.0], [0.5, 2.0]])
    swapped = {"joint2": [1.0, 2.0], "joint1": [0.0, 0.5]}
    assert np.array_equal(a.gravity_torque(Frame(swapped)), expected)
    assert np.array_equal(a.gravity_torque(Frame({"b": [0.0, 0.5], "a": [1.0, 2.0]})), expected)  # by position
    with pytest.raises(da.ShapeError, match=r"q has the columns joint2, t, but the joints are joint1, joint2"):
        a.gravity_torque(Frame({"joint2": [1.0], "t": [0.0]}))


def test_arrays_that_jax_traces_are_named() -> None:
    with pytest.raises(da.ShapeError, match=r"q is traced by JAX .* but this call computes with NumPy"):
        arm("planar-2r").operational_space().inertia(Tracer())


def test_whatever_holds_numbers_is_taken() -> None:
    a = arm("planar-2r")
    expected = a.gravity_torque([[0.0, 1.0]])
    for value in (
        np.matrix([[0.0, 1.0]]), np.ma.array([[0.0, 1.0]]), Table([[0.0, 1.0]]), [[Fraction(0), Decimal(1)]],
        ((0, True),), [np.float16([0, 1])], np.array([[0, 1]], object),
    ):  # fmt: skip
        found = a.gravity_torque(value)
        assert type(found) is np.ndarray and found.dtype == np.float64
        assert np.array_equal(found, expected)
    assert a.gravity_torque(Table(np.float32([0, 1]))).dtype == np.float32
    assert a.inertia_matrix(np.empty((0, 2))).shape == (0, 2, 2)
    assert a.inertia_matrix(np.empty((3, 0, 2), np.int8)).dtype == np.float64
    assert np.isnan(a.gravity_torque([np.nan, 0.0])).any()


WRONG: list[tuple[Any, str]] = [
    (np.array([1j, 0]), "holds complex128, not real numbers"),
    ([1j, 0], "is not an array of numbers"),
    (np.array(["1", "2"]), "holds <U1, not real numbers"),
    (["1", "2"], "is not an array of numbers"),
    ([b"1", b"2"], "is not an array of numbers"),
    (np.array(["2024-01-01", "2024-01-02"], "M8[D]"), r"holds datetime64\[D\], not real numbers"),
    (np.zeros(2, "m8[s]"), r"holds timedelta64\[s\], not real numbers"),
    (np.zeros(2, "f8,f8"), "not real numbers"),
    (np.array([None, 1.0]), "is not an array of numbers"),
    ([None, 1.0], "is not an array of numbers"),
    ([[0.0, 1.0], [0.0]], "is not an array of numbers"),
    ({"q": 1}, "is not an array of numbers"),
    ([10**400, 0], "holds a number beyond ±1.8e.308, the largest that float64 has"),
    ([10**5000, 0], "holds a number beyond"),
    ([10**5000, None], "holds a number beyond|a list with an integer of more than 4300 digits"),
    (np.array([10**400, 0], object), "holds a number beyond"),
    (np.ma.array([1.0, 2.0], mask=[True, False]), "is a masked array with 1 values masked"),
    (1.0, r"has shape \(\), but"),
    ([], r"has shape \(0,\), but"),
    (np.zeros((2, 3)), r"has shape \(2, 3\), but"),
]  # fmt: skip


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize(("value", "sentence"), WRONG)
def test_what_is_not_numbers_is_one_sentence(name: str, value: Any, sentence: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method, arrays in methods(name).items():
            for k, which in enumerate(arrays):
                given: list[Any] = state(name, arrays, method)
                given[k] = value
                with pytest.raises(da.ShapeError, match=sentence) as error:
                    asked(name, method, given)
                assert str(error.value).startswith(f"{which} "), (method, str(error.value))
                assert "\n" not in str(error.value)


def test_longdouble_beyond_float64_is_one_sentence() -> None:
    if np.finfo(np.longdouble).max > np.finfo(float).max:
        with pytest.raises(da.ShapeError, match=r"q holds a number beyond ±1.8e"):
            arm("planar-2r").gravity_torque(np.array([1, 0], np.longdouble) * np.longdouble("1e400"))


@pytest.mark.parametrize("name", ARMS)
def test_out_must_hold_the_result(name: str) -> None:
    a, x = arm(name), state(name, ("q", "qd", "qdd"))
    expected = a.inverse_dynamics(*x)
    for dtype in (np.float64, np.float32, np.dtype(">f8"), np.longdouble):
        out = np.empty((2, 2), dtype)
        assert a.inverse_dynamics(*x, out=out) is out
        assert np.allclose(out, expected, rtol=1e-6)
    frozen = np.empty((2, 2))
    frozen.setflags(write=False)
    for out, sentence in (
        (np.empty((2, 2), int), "out holds int64, which cannot store the result; it must hold float64"),
        (np.empty((2, 2), bool), "out holds bool, which"),
        (np.empty((2, 2), object), "out holds object, which"),
        ([[0.0, 0.0]] * 2, "out is a list; it must be a NumPy array"),
        (3.0, "out is a float; it must be a NumPy array"),
        ("out", "out is a str; it must be a NumPy array"),
        (frozen, "out is read-only"),
        (np.empty((2, 3)), r"do not broadcast: .* and out \(2, 3\)"),
        (np.empty(2), r"do not broadcast: .* and out \(2,\)"),
        (np.empty((3, 2)), r"do not broadcast: .* and out \(3, 2\)"),
    ):
        with pytest.raises(da.ShapeError, match=sentence):
            a.inverse_dynamics(*x, out=out)  # type: ignore[arg-type]


def test_operational_space_keeps_the_rule() -> None:
    for damping in (None, 0.1):
        op = da.load("planar-3r").operational_space(task="xy", damping=damping)
        q, qd, xdd = np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0]), np.array([1.0, 2.0])
        asks = {
            "inertia": (q,), "jacobian": (q,), "transform": (q,), "pose": (q,), "gravity": (q,), "coriolis": (q, qd),
            "velocity": (q, qd), "null_projector": (q,), "torque": (q, qd, xdd), "resolved_acceleration": (q, qd, xdd),
            "kinematic_torque": (q, qd, xdd), "difference": (xdd, xdd),
        }  # fmt: skip
        for method, given in asks.items():
            expected = getattr(op, method)(*given)
            assert expected.dtype == np.float64, method
            for dtype in (np.float16, np.int8, np.longdouble):
                assert np.array_equal(getattr(op, method)(*(x.astype(dtype) for x in given)), expected), method
                assert getattr(op, method)(*(x.astype(dtype) for x in given)).dtype == np.float64, method
            single = getattr(op, method)(*(x.astype(np.float32) for x in given))
            assert single.dtype == np.float32 and np.allclose(single, expected, rtol=1e-4, atol=1e-4), method
        for bad in ([10**400] * 2, [1j, 0], ["1", "2"]):
            with pytest.raises(da.ShapeError, match=r"^xdd "):
                op.torque(q, qd, bad)


BUILDERS: dict[str, Any] = {
    "q0": lambda bad: da.polynomial(bad, [1.0, 1.0], 1.0),
    "q1": lambda bad: da.trapezoidal([0.0, 0.0], bad, acceleration_time=0.1, max_velocity=5.0),
    "t": lambda bad: da.polynomial([0.0, 0.0], [1.0, 1.0], 1.0)(bad),
    "t of a spline": lambda bad: da.spline(bad, [[0.0, 0.0], [1.0, 1.0]]),
    "q of a spline": lambda bad: da.spline([0.0, 1.0], bad),
    "offset": lambda bad: da.fourier([[[1.0], [1.0]], [[1.0], [1.0]]], 1.0, bad),
    "simulate q0": lambda bad: da.simulate(arm("planar-2r"), bad, None, None, 0.1),
    "simulate qd0": lambda bad: da.simulate(arm("planar-2r"), [0.0, 0.0], bad, None, 0.1),
    "simulate torque": lambda bad: da.simulate(arm("planar-2r"), [0.0, 0.0], None, bad, 0.1),
    "simulate function": lambda bad: da.simulate(arm("planar-2r"), [0.0, 0.0], None, lambda t, q, qd: bad, 0.1),
    "simulate parameters": lambda bad: da.simulate(arm("planar-2r"), [0.0, 0.0], None, None, 0.1, parameters=bad),
    "simulate tip_wrench": lambda bad: da.simulate(arm("planar-2r"), [0.0, 0.0], None, None, 0.1, tip_wrench=bad),
    "kp": lambda bad: da.PD(bad, 1.0, [0.0, 0.0]),
    "reference": lambda bad: da.ComputedTorque(1.0, 1.0, bad),
    "limits": lambda bad: da.polynomial([0.0, 0.0], [1.0, 1.0], 1.0).scaled(arm("planar-2r"), {"effort": bad}),
    "payload com": lambda bad: arm("planar-2r").with_payload(1.0, bad),
    "payload inertia": lambda bad: arm("planar-2r").with_payload(1.0, inertia=bad),
    "payload mass": lambda bad: arm("planar-2r").with_payload(bad),
    "torque limits": lambda bad: arm("planar-2r").dynamic_manipulability([0.0, 1.0], bad),
    "T": lambda bad: arm("planar-2r").in_coordinates(bad),
    "T offset": lambda bad: arm("planar-2r").in_coordinates(np.eye(2), bad),
    "y": lambda bad: arm("planar-2r").in_coordinates(np.eye(2)).inertia_matrix(bad),
    "near": lambda bad: arm("five-bar by Newton").tree_positions([1.0, 2.0], near=bad),  # type: ignore[attr-defined]
    "regressor": lambda bad: da.ParameterSet(arm("planar-2r")).regressor(bad, bad, bad),
    "link": lambda bad: da.Inertia(bad[0], (0, 0, 0)),
    "dh": lambda bad: da.from_dh([{"a": bad[0], "mass": 1.0}]),
}  # fmt: skip


BAD = [[10**400, 0], [10**5000, 0], ["1", "2"], [1j, 0.0], [None, 0.0], [[0.0, 1.0], [0.0]]]
SYMBOLIC = ("link", "dh")  # a robot's numbers may be symbols, so only numbers that are too large are wrong there


@pytest.mark.parametrize(
    ("builder", "bad"),
    [(builder, bad) for builder in BUILDERS for bad in BAD if builder not in SYMBOLIC or isinstance(bad[0], int)],
)
def test_builders_and_simulations_refuse_with_one_sentence(builder: str, bad: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(da.DalembertError) as error:
            BUILDERS[builder](bad)
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


# -- calls that are made at once -------------------------------------------------------------------


def test_quick_calls_keep_the_rules() -> None:
    """Once a kernel is there, arrays of float64 go to it directly; types, mistakes and options are treated as before."""
    a = da.load("planar-3r")
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 4, 3))
    first = a.inverse_dynamics(q, qd, qdd)
    assert a.quick_kernels.keys() == {"inverse_dynamics"}
    assert (a.inverse_dynamics(q, qd, qdd) == first).all() and (a.inverse_dynamics(q, qd=qd, qdd=qdd) == first).all()
    assert (a.inverse_dynamics(np.asfortranarray(q), qd, qdd) == first).all()
    assert a.inverse_dynamics(*(x.astype(np.float32) for x in (q, qd, qdd))).dtype == np.float32
    assert a.inverse_dynamics(*(np.ones(3, np.int8),) * 3).dtype == np.float64  # NumPy itself would take float32
    assert np.allclose(a.inverse_dynamics(q.astype(">f8"), qd, qdd), first)
    out = np.empty((4, 3))
    assert a.inverse_dynamics(q, qd, qdd, out=out) is out and (out == first).all()
    assert not np.allclose(a.inverse_dynamics(q, qd, qdd, np.ones(6)), first)
    for wrong, sentence in (
        ((q[:, :2], qd, qdd), r"q has shape \(4, 2\), but arm 'planar-3r' has 3 joints"),
        ((q[:2], qd[:3], qdd), "these shapes do not broadcast"),
        ((np.array(1.0), qd, qdd), r"q has shape \(\)"),
    ):
        with pytest.raises(da.ShapeError, match=sentence):
            a.inverse_dynamics(*wrong)
    five_bar = arm("five-bar")
    five_bar.inertia_matrix([1.0, 2.0])
    with pytest.raises(da.ClosureError):  # closed chains are always looked at
        five_bar.inertia_matrix(np.array([np.pi, 0.0]))


def test_names_of_methods_are_found_where_they_are():
    for name, owner in (("inverse_dynamics", "an arm"), ("hold", "a motion")):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; it is a method of {owner}: "):
            getattr(da, name)
    assert not hasattr(da, "no_such_thing") and not hasattr(da, "__wrapped__")
