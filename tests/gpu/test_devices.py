"""Arrays on a GPU: every quantity is the CPU's, whatever the library, the layout, the stream and the numbers.

Where there is no CUDA device everything is skipped. Where there is no pytest, ``python tests/gpu/test_devices.py [NAME…]``
runs all tests, or those whose names contain one of the words, and prints a table.
"""

from __future__ import annotations

import ctypes
import inspect
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

if find_spec("dalembert") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import dalembert as da
from dalembert.compiler.quantities.joints import JOINTS, known

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
TOLERANCES = {"float64": 1e-12, "float32": 2e-5}
BY_B = ("forward_derivatives",)  # quantities whose errors grow with the condition of B, twice
LIBRARIES = ("cupy", "torch", "jax")
SIZES = {"tip_wrench": 6, "base_motion": 9}


@cache
def devices() -> int:
    """How many GPUs the driver sees; none where there is no driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    return count.value if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 else 0


if find_spec("pytest"):
    import pytest

    pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not devices(), reason="there is no CUDA device here")]


def each(*libraries: str) -> Callable[[Any], Any]:
    """A test of each of these libraries, as far as they are installed."""

    def marked(test: Any) -> Any:
        test.libraries = libraries
        if find_spec("pytest"):
            missing = [
                pytest.param(x, marks=pytest.mark.skipif(find_spec(x) is None, reason=f"no {x}")) for x in libraries
            ]
            return pytest.mark.parametrize("library", missing)(test)
        return test

    return marked


@contextmanager
def refused(*words: str) -> Iterator[None]:
    """An error of ours whose sentence has these words."""
    try:
        yield
    except da.DalembertError as error:
        assert all(word in str(error) for word in words), str(error)
        return
    raise AssertionError(f"nothing was refused; expected {' … '.join(words)}")


def put(library: str, x: Any, dtype: str = "float64") -> Any:
    """An array on the GPU."""
    x = np.asarray(x, dtype)
    if library == "cupy":
        import cupy

        return cupy.asarray(x)
    if library == "torch":
        import torch

        return torch.tensor(x, device="cuda")
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax.device_put(x, jax.devices("cuda")[0])


def back(x: Any) -> np.ndarray:
    """An array of any library for NumPy."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
    return x.get() if hasattr(x, "get") and not isinstance(x, dict) else np.asarray(x)


def parts(value: Any) -> list[Any]:
    """The arrays of a result, whatever it comes in."""
    if is_dataclass(value):
        value = [getattr(value, f.name) for f in fields(value)]
    return list(value) if isinstance(value, (tuple, list)) else [value]


def same(
    result: Any, wanted: Any, dtype: str, library: str | None = None, tolerance: float | None = None, what: str = "it"
) -> None:
    """On the GPU what NumPy has in doubles, relative to the largest number of all arrays of a result."""
    assert len(parts(result)) == len(parts(wanted))
    largest = max((np.abs(y).max() for y in parts(wanted) if y.size), default=1.0)
    for x, y in zip(parts(result), parts(wanted), strict=True):
        if library is not None:
            assert type(x).__module__.split(".")[0].startswith(library[:3]), type(x)
        got = back(x)
        assert got.dtype == dtype and got.shape == y.shape, (got.dtype, got.shape, y.shape)
        if y.size:
            error = np.abs(got - y).max() / max(largest, 1e-300)
            assert error <= (tolerance or TOLERANCES[dtype]), f"{what} differs by {error:.1e}"


@cache
def arm(name: str) -> da.Arm:
    """One arm for all tests."""
    return da.load(name)


def rounded(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, reach: float = 2.0) -> np.ndarray:
    """Numbers that the dtype has, in doubles."""
    return rng.uniform(-reach, reach, shape).astype(dtype).astype(float)


def state(name: str, quantity: str, dtype: str, options: bool = False) -> dict[str, np.ndarray]:
    """37 states near a pose of the arm."""
    rng, method = np.random.default_rng(0), getattr(arm(name), quantity)
    names = [*JOINTS[quantity].inputs, *(JOINTS[quantity].options if options else ())]
    sizes = {x: SIZES.get(x, arm(name).n) for x in names if x in inspect.signature(method).parameters}
    if quantity == "friction_torque":  # whose further inputs some arms need
        sizes |= dict.fromkeys(("q", "load"), arm(name).n)
    return {
        x: (rounded(rng, (37, size), dtype, 0.3) + (arm(name).home + 0.3 if x == "q" else 0))
        .astype(dtype)
        .astype(float)
        for x, size in sizes.items()
    }


# -- all quantities ----------------------------------------------------------------------------------


@each(*LIBRARIES)
def test_every_quantity_of_a_small_arm_is_that_of_the_cpu(library: str) -> None:
    for dtype in TOLERANCES:
        asked = [x for x in known(arm("planar-2r").mechanism) if hasattr(arm("planar-2r"), x) and x != "tree_motion"]
        assert len(asked) >= 28
        for quantity in asked:
            method = getattr(arm("planar-2r"), quantity)
            for options in (False, True) if quantity == "inverse_dynamics" else (False,):
                given = state("planar-2r", quantity, dtype, options)
                on_gpu = {x: put(library, a, dtype) for x, a in given.items()}
                tolerance = 2e-4 if quantity in BY_B and dtype == "float32" else None
                same(method(**on_gpu), method(**given), dtype, None, tolerance, quantity)


@each(*LIBRARIES)
def test_panda_is_that_of_the_cpu_for_any_number_of_states_and_far_angles(library: str) -> None:
    rng = np.random.default_rng(1)
    for dtype in TOLERANCES:
        for quantity, inputs in (("inverse_dynamics", 3), ("inertia_matrix", 1), ("torque_derivatives", 3)):
            method = getattr(arm("panda"), quantity)
            for states, reach in ((1, 2.0), (31, 2.0), (64, 2.0), (65, 2.0), (1000, 2.0), (1000, 1e9)):
                given = [rounded(rng, (states, 7), dtype, reach if k == 0 else 2.0) for k in range(inputs)]
                same(method(*(put(library, x, dtype) for x in given)), method(*given), dtype, library)
            alone = [x[0] for x in given]
            same(method(*(put(library, x, dtype) for x in alone)), method(*alone), dtype)


@each(*LIBRARIES)
def test_wide_rows_and_closed_chains_and_friction_with_functions(library: str) -> None:
    rng = np.random.default_rng(2)
    for dtype in TOLERANCES:
        q, qd, qdd = (rounded(rng, (77, 7), dtype) for _ in range(3))
        for quantity in ("regressor", "forward_derivatives"):
            tolerance = {"float64": 1e-11, "float32": 2e-4}[dtype] if quantity == "forward_derivatives" else None
            method = getattr(arm("panda"), quantity)
            same(method(*(put(library, x, dtype) for x in (q, qd, qdd))), method(q, qd, qdd), dtype, None, tolerance)
        for name in ("parallelogram", "five-bar"):
            given = state(name, "inverse_dynamics", dtype)
            on_gpu = {x: put(library, a, dtype) for x, a in given.items()}
            same(arm(name).inverse_dynamics(**on_gpu), arm(name).inverse_dynamics(**given), dtype)


@each(*LIBRARIES)
def test_infinite_angles_and_nan_stay_with_their_state(library: str) -> None:
    q = np.zeros((64, 7))
    q[3, 2], q[40, 5] = np.inf, np.nan
    tau = back(arm("panda").gravity_torque(put(library, q)))
    assert np.isnan(tau[3]).any() and np.isnan(tau[40]).any()
    assert np.isfinite(np.delete(tau, [3, 40], axis=0)).all()


# -- layouts -----------------------------------------------------------------------------------------


@each("cupy", "torch")
def test_strides_broadcasting_transposed_cores_and_many_axes(library: str) -> None:
    rng, method = np.random.default_rng(3), arm("panda").inverse_dynamics
    for dtype in TOLERANCES:
        q, qd, qdd = (rounded(rng, (6, 4, 3, 2, 5, 7), dtype) for _ in range(3))
        x = [put(library, a, dtype) for a in (q, qd, qdd)]
        same(method(*x), method(q, qd, qdd), dtype)  # five leading axes that continue each other
        same(method(*(a[::2, :, ::2] for a in x)), method(*(a[::2, :, ::2] for a in (q, qd, qdd))), dtype)
        swap = (4, 2, 0, 3, 1, 5)
        turned = [a.permute(*swap) if library == "torch" else a.transpose(*swap) for a in x]
        same(method(*turned), method(*(a.transpose(swap) for a in (q, qd, qdd))), dtype)  # five that do not
        same(method(turned[0], x[1][0, :, 0, 0, 0], x[2][0, 0, 0, 0, 0]), method(
            q.transpose(swap), qd[0, :, 0, 0, 0], qdd[0, 0, 0, 0, 0]), dtype)  # fmt: skip
        few = [a.reshape(-1, 7)[:90] for a in (q, qd, qdd)]
        flat = [put(library, a, dtype) for a in few]
        columns = [put(library, np.ascontiguousarray(a.T), dtype).T for a in few]  # cores that are not contiguous
        same(method(*columns), method(*few), dtype)
        same(method(flat[0], columns[1], flat[2]), method(*few), dtype)
        same(method(flat[0], flat[1][0], flat[2]), method(few[0], few[1][0], few[2]), dtype)  # a row for all
        same(method(flat[0][::-1] if library == "cupy" else flat[0].flip(0), *flat[1:]), method(
            few[0][::-1], *few[1:]), dtype)  # fmt: skip
        same(method(*(a[::3] for a in flat)), method(*(a[::3] for a in few)), dtype)
        same(method(flat[0][:, None], flat[1][None, :9], flat[2][:1]), method(
            few[0][:, None], few[1][None, :9], few[2][:1]), dtype)  # fmt: skip


@each("torch")
def test_expanded_arrays_have_stride_zero(library: str) -> None:
    x = put(library, np.linspace(-1, 1, 7))
    assert x.expand(100, 7).stride() == (0, 1)
    same(
        arm("panda").inertia_matrix(x.expand(100, 7)),
        arm("panda").inertia_matrix(np.tile(back(x), (100, 1))),
        "float64",
    )
    one = put(library, [0.5]).expand(64, 7)
    assert one.stride() == (0, 0)
    same(arm("panda").gravity_torque(one), arm("panda").gravity_torque(np.full((64, 7), 0.5)), "float64")


@each(*LIBRARIES)
def test_no_states_give_no_results(library: str) -> None:
    for shape in ((0, 7), (3, 0, 7)):
        none = np.zeros(shape)
        same(arm("panda").inertia_matrix(put(library, none)), arm("panda").inertia_matrix(none), "float64")


@each(*LIBRARIES)
def test_lists_and_numpy_arrays_go_with_arrays_on_the_gpu(library: str) -> None:
    q, qd = np.linspace(-1, 1, 14).reshape(2, 7), [0.1] * 7
    same(
        arm("panda").inverse_dynamics(put(library, q), qd, q),
        arm("panda").inverse_dynamics(q, qd, q),
        "float64",
        library,
    )


@each("torch")
def test_nothing_is_written_beside_the_results(library: str) -> None:
    import torch

    from dalembert.compiler.foreign import on_torch
    from dalembert.compiler.foreign.call import registered
    from dalembert.compiler.foreign.device import run_on_device

    for dtype in TOLERANCES:
        for quantity, shape in (("gravity_torque", (7,)), ("inertia_matrix", (7, 7))):
            key, _ = arm("panda").foreign_call(quantity, None, ())
            for states in (1, 31, 33, 100):
                q = put(library, np.linspace(-2, 2, 7 * states).reshape(states, 7), dtype)
                room = torch.full((states + 2, *shape), -77.0, dtype=q.dtype, device="cuda")
                arrays = [[on_torch.described(x)] for x in (q, room[1:-1])]
                run_on_device(registered(key), *arrays, on_torch.stream_of(q))
                same(room[1:-1], getattr(arm("panda"), quantity)(back(q).astype(float)), dtype)
                assert (room[[0, -1]] == -77.0).all()


# -- streams, threads and graphs ---------------------------------------------------------------------


@each("cupy", "torch")
def test_work_is_queued_on_the_stream_of_the_caller(library: str) -> None:
    """The inputs are made by slow work on the same stream; nothing waits for it but the stream."""
    x = np.linspace(-1, 1, 7 * 64).reshape(64, 7)
    wanted = arm("panda").gravity_torque(x + 1.0)
    if library == "torch":
        import torch

        arm("panda").gravity_torque(put(library, x))  # loaded
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            big, q = torch.rand(4096, 4096, device="cuda"), put(library, x)
            for _ in range(20):
                big = big @ big / 4096
            q += 1.0
            tau = arm("panda").gravity_torque(q)
        stream.synchronize()
    else:
        import cupy

        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            big, q = cupy.random.rand(2048, 2048), put(library, x)
            for _ in range(20):
                big = big @ big / 2048
            q += 1.0
            tau = arm("panda").gravity_torque(q)
        stream.synchronize()
    same(tau, wanted, "float64")


@each("torch")
def test_threads_may_call_at_once(library: str) -> None:
    rng, results = np.random.default_rng(4), {}
    given = {k: rng.uniform(-1, 1, (500 + k, 7)) for k in range(4)}

    def work(k: int) -> None:
        results[k] = [back(arm("panda").inertia_matrix(put(library, given[k]))) for _ in range(5)][-1]

    threads = [threading.Thread(target=work, args=(k,)) for k in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, x in given.items():
        same(results[k], arm("panda").inertia_matrix(x), "float64")


@each("torch")
def test_a_cuda_graph_is_captured_and_replayed_with_new_numbers(library: str) -> None:
    import torch

    rng = np.random.default_rng(5)
    for dtype in TOLERANCES:
        q, qd, qdd = (put(library, rounded(rng, (1024, 7), dtype), dtype) for _ in range(3))
        arm("panda").inverse_dynamics(q, qd, qdd)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            tau = arm("panda").inverse_dynamics(q, qd, qdd)
        for _ in range(2):
            for x in (q, qd, qdd):
                x.copy_(put(library, rounded(rng, (1024, 7), dtype), dtype))
            graph.replay()
            torch.cuda.synchronize()
            same(tau, arm("panda").inverse_dynamics(*(back(x).astype(float) for x in (q, qd, qdd))), dtype)


# -- PyTorch -----------------------------------------------------------------------------------------


@each("torch")
def test_autograd_on_the_gpu_is_that_of_the_cpu(library: str) -> None:
    import torch

    q, qd, qdd = np.random.default_rng(6).uniform(-1, 1, (3, 40, 7))
    slopes = []
    for device in ("cpu", "cuda"):
        x = [torch.tensor(a, device=device, requires_grad=True) for a in (q, qd, qdd[0])]
        (arm("panda").inverse_dynamics(*x) ** 2).sum().backward()
        slopes.append([a.grad for a in x])
    same(slopes[1], [a.numpy() for a in slopes[0]], "float64", tolerance=1e-11)
    small = [put(library, x[:3, :2]).requires_grad_() for x in (q, qd, qdd)]
    assert torch.autograd.gradcheck(arm("planar-2r").inverse_dynamics, small)


@each("torch")
def test_compiled_without_a_break_in_the_graph(library: str) -> None:
    import torch

    small = arm("planar-2r")

    @partial(torch.compile, fullgraph=True)
    def energy(q: Any, qd: Any) -> Any:
        return (qd * (small.inertia_matrix(torch.sin(q)) @ qd[..., None])[..., 0]).sum()

    q, qd = np.random.default_rng(7).uniform(-1, 1, (2, 50, 2))
    x = [put(library, a).requires_grad_() for a in (q, qd)]
    energy(*x).backward()
    y = [torch.tensor(a, requires_grad=True) for a in (q, qd)]
    B = small.inertia_matrix(torch.sin(y[0]))
    (y[1] * (B @ y[1][..., None])[..., 0]).sum().backward()
    same([a.grad for a in x], [a.grad.numpy() for a in y], "float64", tolerance=1e-11)


@each("torch")
def test_pytorchs_check_of_operators(library: str) -> None:
    import torch

    key, _ = arm("planar-2r").foreign_call("inverse_dynamics", None, ())
    x = [put(library, a).requires_grad_() for a in np.random.default_rng(8).uniform(-1, 1, (3, 4, 2))]
    torch.library.opcheck(torch.ops.dalembert.call, (key, x), test_utils=("test_schema", "test_faketensor"))


# -- JAX ---------------------------------------------------------------------------------------------


@each("jax")
def test_jit_vmap_and_grad_on_the_gpu(library: str) -> None:
    q, qd, qdd = np.random.default_rng(9).uniform(-1, 1, (3, 40, 7))
    x = [put(library, a) for a in (q, qd, qdd)]
    import jax

    method = arm("panda").inverse_dynamics
    same(jax.jit(method)(*x), method(q, qd, qdd), "float64", library)
    same(jax.jit(jax.vmap(method))(*x), method(q, qd, qdd), "float64")
    same(jax.jit(lambda *a: 2.0 * method(*a) + 1.0)(*x), 2.0 * method(q, qd, qdd) + 1.0, "float64")
    cpu = [jax.device_put(a, jax.devices("cpu")[0]) for a in (q, qd, qdd)]
    slope = jax.grad(lambda a, b, c: (method(a, b, c) ** 2).sum())
    same(jax.jit(slope)(*x), np.asarray(slope(*cpu)), "float64", tolerance=1e-11)


# -- rollouts ----------------------------------------------------------------------------------------


@each("cupy", "torch")
def test_rollouts_are_those_of_the_cpu(library: str) -> None:
    rng = np.random.default_rng(10)
    for dtype, tolerance in (("float64", 1e-10), ("float32", 1e-4)):
        for name, method in (("planar-2r", "rk4"), ("panda", "rk4")):
            n = arm(name).n
            q, qd, tau = (rounded(rng, (33, n), dtype, 0.5) for _ in range(3))
            every = {"step": 1e-3, "steps": 20, "every": 5, "method": method}
            x = [put(library, a, dtype) for a in (q, qd, tau)]
            same(arm(name).rollout(*x, **every), arm(name).rollout(q, qd, tau, **every), dtype, library, tolerance)
            stepwise = rounded(rng, (33, 20, n), dtype, 0.5)
            same(
                arm(name).rollout(*x[:2], put(library, stepwise, dtype), **every),
                arm(name).rollout(q, qd, stepwise, **every), dtype, library, tolerance,
            )  # fmt: skip
    same(arm("pendulum").rollout(put(library, [[0.5]]), put(library, [[0.0]]), step=1e-3, steps=10), arm(
        "pendulum").rollout([[0.5]], [[0.0]], step=1e-3, steps=10), "float64", library, 1e-12)  # fmt: skip


# -- what is refused ---------------------------------------------------------------------------------


@each(*LIBRARIES)
def test_wrong_inputs_are_refused_in_a_sentence(library: str) -> None:
    a, q = arm("panda"), put(library, np.zeros((3, 7)))
    with refused("q has shape (3, 6)", "7"):
        a.gravity_torque(q[:, :6])
    with refused("float32", "float64"):
        a.inverse_dynamics(q, put(library, np.zeros((3, 7)), "float32"), q)
    with refused("out", "leave"):
        a.inverse_dynamics(q, q, q, out=np.zeros((3, 7)))
    with refused("threads"):
        a.inertia_matrix(q, threads=2)


@each("cupy", "torch")
def test_shapes_and_numbers_that_do_not_fit_are_refused(library: str) -> None:
    a, q = arm("panda"), put(library, np.zeros((3, 7)))
    with refused("int"):
        a.gravity_torque(put(library, np.zeros((3, 7)), "int64"))
    with refused("every is 3 and steps is 10"):
        a.rollout(q, q, step=1e-3, steps=10, every=3)
    try:
        a.inverse_dynamics(q, put(library, np.zeros((4, 7))), q)
    except (da.DalembertError, RuntimeError) as error:
        assert "broadcast" in str(error) or "shape" in str(error).lower(), str(error)
    else:
        raise AssertionError("shapes that do not broadcast were taken")


@each("torch")
def test_arrays_of_the_cpu_and_the_gpu_are_not_mixed(library: str) -> None:
    import torch

    with refused("cpu", "cuda"):
        arm("panda").inverse_dynamics(put(library, np.zeros((3, 7))), torch.zeros(3, 7).double(), [0.0] * 7)


@each("jax")
def test_a_rollout_takes_no_jax_arrays(library: str) -> None:
    q = put(library, np.zeros((3, 7)))
    with refused("JAX"):
        arm("panda").rollout(q, q, step=1e-3, steps=10)


# -- without pytest ----------------------------------------------------------------------------------


def main(words: list[str]) -> int:
    """All tests whose names contain one of the words, and a table; how many failed."""
    if not devices():
        print("there is no CUDA device here")
        return 0
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    chosen = {name: test for name, test in tests.items() if not words or any(word in name for word in words)}
    failed = 0
    for name, test in chosen.items():
        for library in test.libraries:
            if find_spec(library) is None:
                print(f"skipped          {library:6} {name}", flush=True)
                continue
            began = time.perf_counter()
            try:
                test(library)
                outcome = "passed"
            except Exception:  # noqa: BLE001 - a table of all tests, whatever happens in one
                outcome, failed = "FAILED", failed + 1
                traceback.print_exc()
            print(f"{outcome} {time.perf_counter() - began:7.1f} s {library:6} {name}", flush=True)
    print(f"{failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
