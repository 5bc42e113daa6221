"""Dask arrays stay lazy: every method gives Dask arrays whose numbers are those of NumPy, bit by bit, or says why not."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import dask
import dask.array as dk
import numpy as np
import pytest

import dalembert as da
from dalembert.base.arrays import is_lazy
from dalembert.compiler.kernel import make
from test_arrays import MORE, arm, methods

RNG = np.random.default_rng(14)
SIZES = {"tip_wrench": 6, "wrench": 6, "base_motion": 9}
AT_ONCE = ("acceleration_polytope",)  # what belongs to one state


@pytest.fixture
def nothing_computed() -> Iterator[None]:
    """Any computation within the test that is not asked for ends it."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("computed at once, not lazily")

    with dask.config.set(scheduler=refuse):
        yield


def parts(value: Any) -> list[Any]:
    """The arrays of a result, whatever it comes in."""
    if is_dataclass(value):
        value = [getattr(value, f.name) for f in fields(value)]
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in parts(part)]
    return [] if isinstance(value, (str, da.Arm)) else [value]


def inputs(name: str, arrays: tuple[str, ...], count: int = 40) -> dict[str, np.ndarray]:
    """States at which the loops close: near the pose of the branches."""
    n = arm(name).n
    return {
        x: RNG.uniform(-0.1, 0.1, (count, SIZES.get(x, n))) + (arm(name).home + 0.3 if x == "q" else 0) for x in arrays
    }


def lazily(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """As Dask arrays, chunked along the last axis too."""
    return {x: dk.from_array(a, chunks=(16, max(1, a.shape[-1] - 1))) for x, a in arrays.items()}


def same(lazy: Any, numbers: Any) -> None:
    """The same arrays, types and bits."""
    lazy, numbers = parts(lazy), parts(numbers)
    assert len(lazy) == len(numbers) and all(map(is_lazy, lazy))
    for one, other in zip(dask.compute(*lazy, scheduler="sync"), numbers, strict=True):
        np.testing.assert_array_equal(one, other)
    assert [x.dtype for x in lazy] == [np.asarray(x).dtype for x in numbers]
    assert [x.shape for x in lazy] == [np.shape(x) for x in numbers]


@pytest.mark.parametrize("name", ["planar-2r", "five-bar by Newton"])
@pytest.mark.usefixtures("nothing_computed")
def test_every_method_of_an_arm_stays_lazy_with_the_same_bits(name: str) -> None:
    for method, arrays in methods(name).items():
        call, given = getattr(arm(name), method), inputs(name, arrays)
        if method in AT_ONCE:
            with pytest.raises(da.ShapeError, match=r"q is a Dask array.*q\.compute\(\)"):
                call(**lazily(given), **MORE[method])
            continue
        lazy = call(**lazily(given), **MORE.get(method, {}))
        same(lazy, call(**given, **MORE.get(method, {})))


@pytest.mark.usefixtures("nothing_computed")
@pytest.mark.parametrize("damping", [None, 0.3])
def test_every_method_of_operational_space_stays_lazy_with_the_same_bits(damping: float | None) -> None:
    op = da.load("planar-3r").operational_space(task="xy", damping=damping)
    n, m = op.arm.n, op.m
    size = {"x": m, "y": m, "xdd": m, "wrench": 6}
    for method in (x for x in dir(op) if not x.startswith("_") and callable(getattr(type(op), x, None))):
        arrays = [
            x
            for x in inspect.signature(getattr(op, method)).parameters
            if x in ("q", "qd", "qdd", "tau0", "qdd0", *size)
        ]
        if not arrays or method == "follow":
            continue
        given = {x: RNG.uniform(0.2, 1.2, (40, size.get(x, n))) for x in arrays}
        same(getattr(op, method)(**lazily(given)), getattr(op, method)(**given))


@pytest.mark.usefixtures("nothing_computed")
def test_numpy_and_dask_arrays_broadcast_together_and_float32_stays() -> None:
    a = arm("planar-2r")
    q, qd, qdd = RNG.uniform(-1, 1, (3, 2, 30, 2))
    wrench = RNG.uniform(-1, 1, 6)
    lazy = a.inverse_dynamics(
        dk.from_array(q[:1], chunks=7), qd[0, 0], dk.from_array(qdd, chunks=(1, 11, 1)), tip_wrench=wrench
    )
    same(lazy, a.inverse_dynamics(q[:1], qd[0, 0], qdd, tip_wrench=wrench))
    few = q.astype(np.float32)
    same(a.gravity_torque(dk.from_array(few, chunks=13)), a.gravity_torque(few))
    same(a.gravity_torque(dk.from_array(q[0, 0])), a.gravity_torque(q[0, 0]))
    terms = a.torque_terms(*(dk.from_array(x, chunks=9) for x in (q, qd, qdd)))
    same([terms.total, terms.friction, terms.by_joint["coriolis"]], [
        (at := a.torque_terms(q, qd, qdd)).total, at.friction, at.by_joint["coriolis"],
    ])  # fmt: skip
    ellipsoid, way = a.velocity_manipulability(dk.from_array(q, chunks=9)), [1.0, 0.0]
    known = a.velocity_manipulability(q)
    same([ellipsoid.volume, ellipsoid.matrix], [known.volume, known.matrix])
    np.testing.assert_allclose(
        ellipsoid.max_acceleration(way).compute(scheduler="sync"), known.max_acceleration(way), rtol=1e-12
    )
    parameters = da.ParameterSet(a, offset=True)
    same(parameters.regressor(dk.from_array(q, chunks=9), qd, qdd), parameters.regressor(q, qd, qdd))
    chosen = dk.from_array(q[0], chunks=9)
    chosen = chosen[chosen[:, 0] > 0]  # how many is not known yet
    np.testing.assert_array_equal(
        a.gravity_torque(chosen).compute(scheduler="sync"), a.gravity_torque(q[0][q[0][:, 0] > 0])
    )


@pytest.mark.usefixtures("nothing_computed")
def test_derivatives_and_many_robots_stay_lazy_with_the_same_bits() -> None:
    a = arm("planar-2r")
    given = inputs("planar-2r", ("q", "qd"), 20)
    lazy = {x: dk.from_array(v, chunks=(7, 1)) for x, v in given.items()}
    weights = RNG.uniform(-1, 1, (20, 2, 2))
    for w in (1.0, weights, dk.from_array(weights, chunks=(6, 1, 2))):
        numbers = w if is_lazy(w) is False else weights
        same(
            list(a.gradient("coriolis_matrix", lazy, w).values()),
            list(a.gradient("coriolis_matrix", given, numbers).values()),
        )
    by = ("q", "gravity")
    same(
        list(a.derivatives("gravity_torque", by=by, q=lazy["q"]).values()),
        list(a.derivatives("gravity_torque", by=by, q=given["q"]).values()),
    )
    robots = a.variants(gravity=RNG.uniform(-9, 9, (20, 3)))
    same(robots.gravity_torque(lazy["q"]), robots.gravity_torque(given["q"]))
    with pytest.raises(da.ShapeError, match="does not take Dask arrays"):
        robots.closes(lazy["q"])


@pytest.mark.usefixtures("nothing_computed")
def test_what_needs_numbers_at_once_is_refused_in_a_sentence() -> None:
    a, q = arm("planar-2r"), dk.zeros((4, 2), chunks=2)
    for call in (
        lambda: da.simulate(a, q, None, None, 0.1),
        lambda: a.couplings().at(q[0]),
        lambda: da.polynomial(q[0], q[1], 1.0),
        lambda: a.velocity_manipulability(q).contains(q),
        lambda: a.operational_space().follow([0, 1], q[:2], q[:2], q[:2], q[0]),
        lambda: a.inverse_dynamics(q, q, q, out=np.empty((4, 2))),
    ):
        with pytest.raises(da.ShapeError, match="Dask array"):
            call()
    for call, words in (
        (lambda: a.gravity_torque(q[:, :1]), "the last axis must be 2"),
        (lambda: a.inertia_matrix(q, formulation="none"), "has no formulation 'none'"),
        (lambda: a.inverse_dynamics(q, q[:3], q), "do not broadcast"),
        (lambda: a.gravity_torque(q.astype(complex)), "not real numbers"),
        (
            lambda: a.inverse_dynamics(q[q[:, 0] > 1], q, q),
            r"unknown lengths: .*lengths=True\) or array.compute_chunk_sizes",
        ),
    ):
        with pytest.raises(da.DalembertError, match=words):
            call()


def test_threads_share_one_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel is made once for a process, however many blocks and threads ask for it at once; none to build the graph."""
    made: list[str] = []
    ready, code_of = threading.Barrier(4), make.code_of
    monkeypatch.setattr(make, "code_of", lambda key, *rest, **more: (made.append(key), code_of(key, *rest, **more))[1])
    heavy = da.load("planar-2r").with_payload(float(RNG.uniform(1, 9)))

    def together(block: np.ndarray) -> np.ndarray:
        ready.wait(60)
        return block

    q = dk.from_array(RNG.uniform(-1, 1, (4, 2)), chunks=(1, 2))
    lazy = heavy.gravity_torque(q.map_blocks(together, meta=np.empty((0, 0))))
    assert made == []
    got = lazy.compute(scheduler="threads", num_workers=4)
    assert len(made) == 1
    np.testing.assert_array_equal(got, heavy.gravity_torque(q.compute()))


@pytest.mark.usefixtures("nothing_computed")
def test_rollouts_stay_lazy_with_torques_of_every_kind() -> None:
    a, given = arm("planar-2r"), inputs("planar-2r", ("q", "qd"))
    for tau in (RNG.normal(size=2), RNG.normal(size=(40, 2)), RNG.normal(size=(40, 4, 2))):
        for torques in (tau, dk.from_array(tau, chunks=-1)):
            same(
                a.rollout(**lazily(given), tau=torques, step=1e-3, steps=4, every=2),
                a.rollout(**given, tau=tau, step=1e-3, steps=4, every=2),
            )
