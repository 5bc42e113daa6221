"""Kernels as NumPy gufuncs: layouts, types, threads, pickles, accuracy of sin and cos."""

from __future__ import annotations

import copyreg
import gc
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
import warnings
import weakref
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from arms import DISTINCT, arm, random_robot, relative, states
from dalembert.compiler.emit.ir import Form
from dalembert.compiler.emit.llvm import Signature, llvm_ir
from dalembert.compiler.graph.tape import Graph, evaluate
from dalembert.compiler.kernel import compile as compile_
from dalembert.compiler.kernel import make as make_
from dalembert.compiler.kernel.compile import MachineCode, object_code, target
from dalembert.compiler.kernel.gufunc import gufunc
from dalembert.compiler.quantities.joints import JOINTS
from dalembert.compiler.quantities.machine import signature, trace
from test_graph import random_graph


def compiled(graph: Graph, inputs: int, outputs: int, width: int | None = None) -> np.ufunc:
    signature = Signature((("x", (inputs,)),), (("y", (outputs,)),))
    code = MachineCode(object_code(llvm_ir(graph, signature, Form(width) if width else target().form())))
    return gufunc(code, signature.gufunc(), "test", "", (compiled, ()))


@pytest.fixture(scope="module")
def panda() -> np.ufunc:
    return da.load("panda").kernel("inverse_dynamics")


@pytest.fixture(scope="module")
def batch() -> tuple[np.ndarray, ...]:
    return states(da.load("panda"), 101)


def maps() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


linux = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not tell its memory maps")


class TestLifetime:
    """The machine code of a kernel lives as long as the kernel."""

    def kernels(self, count: int, *arguments: object) -> list[np.ufunc]:
        code = object_code(llvm_ir(random_graph(3), self.signature(), target().form()))
        return [
            gufunc(MachineCode(code), self.signature().gufunc(), "test", "", (compiled, arguments))
            for _ in range(count)
        ]

    def signature(self) -> Signature:
        return Signature((("x", (3,)),), (("y", (len(random_graph(3).outputs),)),))

    @linux
    def test_code_is_unmapped_with_the_last_reference(self) -> None:
        self.kernels(3)
        gc.collect()
        before = maps()
        kernels = self.kernels(50)
        expected = kernels[0](np.ones(3))
        assert maps() - before >= 50
        kept = kernels[7]
        del kernels
        assert maps() - before < 10
        assert np.array_equal(kept(np.ones(3)), expected, equal_nan=True)
        del kept
        assert maps() - before < 5

    def test_recipe_dies_with_the_kernel(self) -> None:
        class Robot:
            pass

        robot = Robot()
        alive = weakref.ref(robot)
        (kernel,) = self.kernels(1, robot)
        del robot
        assert copyreg.dispatch_table[np.ufunc](kernel) == (compiled, (alive(),))
        assert alive() is not None
        del kernel
        assert alive() is None

    @linux
    def test_arms_that_are_dropped_take_their_kernels_along(self) -> None:
        """600 arms one after the other, in a process of their own; ``make soak`` takes 30,000."""
        script = Path(__file__).parents[2] / "many_arms.py"
        run = subprocess.run([sys.executable, script, "600", "32"], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        assert run.stdout.startswith("600 arms: ")

    @linux
    def test_kernels_die_in_other_threads_while_one_compiles(self) -> None:
        before = maps()
        errors: list[BaseException] = []

        def work() -> None:
            try:
                for _ in range(10):
                    for kernel in self.kernels(3):
                        kernel(np.ones(3))
            except BaseException as error:
                errors.append(error)
                raise

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.kernels(1)  # whoever comes next unmaps what is left
        assert not errors
        assert maps() - before < 60  # stacks of the threads among them

    def test_no_room_for_more_maps_is_one_sentence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """LLVM would end the process."""
        monkeypatch.setattr(compile_, "_maps", lambda: 65_000)
        monkeypatch.setattr(compile_, "most_maps", lambda: 65_530)
        monkeypatch.setattr(compile_, "_room", 0)
        with pytest.raises(da.DalembertError, match=r"has 65000 memory maps and the system allows 65530.*drop arms"):
            self.kernels(1)

    def test_threads_that_ask_at_once_share_one_kernel(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = []
        monkeypatch.setattr(make_, "object_code", lambda *modules: calls.append(1) or object_code(*modules))
        a = da.load("planar-2r").with_payload(0.123456)
        barrier, kernels = threading.Barrier(6), []

        def work() -> None:
            barrier.wait()
            kernels.append(da.Arm(a.robot).kernel("gravity_torque"))

        threads = [threading.Thread(target=work) for _ in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(kernels) == 6 and len({id(k) for k in kernels}) == 1
        assert len(calls) == 1


FORKS = """
import faulthandler, multiprocessing, os, signal, threading, time
import dalembert as da
faulthandler.dump_traceback_later(100, exit=True)
arm, stop = da.load("planar-2r"), threading.Event()
arm.gravity_torque([0.0, 0.0])

def compiles(start):
    k = start
    while not stop.is_set():
        k += 1
        arm.with_payload(1 + k / 1e6).gravity_torque([0.1, 0.2])

def child(k):
    return float(arm.with_payload(3 + k / 1e6).gravity_torque([0.1, 0.2])[0])

threads = [threading.Thread(target=compiles, args=(100_000 * i,)) for i in range(2)]
for t in threads: t.start()
children = []
for k in range(6):
    time.sleep(0.07)
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)  # a child that hangs does not stay behind
        child(k)
        os._exit(7)
    children.append(pid)
    time.sleep(0.01)
with multiprocessing.get_context("fork").Pool(2, signal.alarm, (60,)) as pool:
    found = pool.map(child, range(4))
stop.set()
for t in threads: t.join()
print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children], found == [child(k) for k in range(4)])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_children_forked_while_threads_compile_can_compile() -> None:
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "[7, 7, 7, 7, 7, 7] True"


def test_is_a_real_gufunc(panda: np.ufunc) -> None:
    assert isinstance(panda, np.ufunc)
    assert panda.signature == "(7),(7),(7)->(7)"
    assert panda.types == ["fff->f", "ddd->d"]
    assert panda.__name__ == "inverse_dynamics"
    assert "joint torques" in panda.__doc__


@pytest.mark.parametrize("count", range(0, 26))
def test_every_remainder(panda: np.ufunc, batch: tuple[np.ndarray, ...], count: int) -> None:
    """Any batch length gives the same rows as the whole batch, bit for bit."""
    assert np.array_equal(panda(*(x[:count] for x in batch)), panda(*batch)[:count])


def test_every_remainder_of_floats(panda: np.ufunc, batch: tuple[np.ndarray, ...]) -> None:
    """Floats are converted in one go where rows lie one behind the other, and row by row elsewhere."""
    single = [x.astype(np.float32) for x in batch]
    expected = panda(*single)
    for count in range(26):
        assert np.array_equal(panda(*(x[:count] for x in single)), expected[:count])
    assert np.array_equal(panda(*(x[::3] for x in single)), expected[::3])
    assert np.array_equal(panda(np.asfortranarray(single[0]), *single[1:]), expected)
    out = np.full((15, 7), 7.0, np.float32)
    panda(*(x[:13] for x in single), out=out[1:-1])
    assert np.all(out[[0, -1]] == 7.0)
    assert np.array_equal(out[1:-1], expected[:13])


def test_nothing_beyond_the_arrays_is_touched(panda: np.ufunc, batch: tuple[np.ndarray, ...]) -> None:
    """Guards of NaN around inputs and of a mark around outputs stay as they are."""
    for count in (1, 3, 7, 8, 9, 13):
        guarded = []
        for x in batch:
            room = np.full((count + 2, 7), np.nan)
            room[1:-1] = x[:count]
            guarded.append(room)
        out = np.full((count + 2, 7), 12345.0)
        with np.errstate(all="raise"):
            panda(*(g[1:-1] for g in guarded), out=out[1:-1])
        assert np.all(out[0] == 12345.0)
        assert np.all(out[-1] == 12345.0)
        assert np.array_equal(out[1:-1], panda(*batch)[:count])


def test_layouts(panda: np.ufunc, batch: tuple[np.ndarray, ...]) -> None:
    q, qd, qdd = batch
    expected = panda(q, qd, qdd)
    assert np.array_equal(panda(np.asfortranarray(q), qd, qdd), expected)
    assert np.array_equal(panda(q[::-2], qd[::-2], qdd[::-2]), expected[::-2])
    assert np.array_equal(panda(q[:, ::-1][:, ::-1], qd, qdd), expected)
    wide = np.zeros((101, 14))
    wide[:, ::2] = q
    assert np.array_equal(panda(wide[:, ::2], qd, qdd), expected)
    raw = np.zeros(101 * 7 * 8 + 3, np.uint8)[3:].view(np.uint8)
    unaligned = np.ndarray((101, 7), float, buffer=raw.data)
    unaligned[:] = q
    assert not unaligned.flags.aligned
    assert np.array_equal(panda(unaligned, qd, qdd), expected)
    out = np.empty((7, 101)).T
    panda(q, qd, qdd, out=out)
    assert np.array_equal(out, expected)
    swapped = q.astype(q.dtype.newbyteorder())
    assert np.array_equal(panda(swapped, qd, qdd), expected)


def test_broadcasting(panda: np.ufunc, batch: tuple[np.ndarray, ...]) -> None:
    q, qd, qdd = (x[:12] for x in batch)
    everything = panda(q[:, None, :], qd[None, :5, :], qdd[0])
    assert everything.shape == (12, 5, 7)
    assert np.array_equal(everything[3, 4], panda(q[3], qd[4], qdd[0]))
    assert panda(q[:0], qd[:0], qdd[:0]).shape == (0, 7)
    assert panda(np.zeros((3, 0, 7)), qd[0], qdd[0]).shape == (3, 0, 7)


def test_output_may_be_an_input(panda: np.ufunc, batch: tuple[np.ndarray, ...]) -> None:
    q, qd, qdd = (x.copy() for x in batch)
    expected = panda(q, qd, qdd)
    panda(q, qd, qdd, out=q)
    assert np.array_equal(q, expected)


def test_types(panda: np.ufunc, batch: tuple[np.ndarray, ...]) -> None:
    single = panda(*(x.astype(np.float32) for x in batch))
    assert single.dtype == np.float32
    assert relative(single, panda(*(x.astype(np.float32).astype(float) for x in batch))) < 1e-7
    assert panda(*(x.astype(np.float32) for x in batch[:2]), batch[2]).dtype == np.float64
    whole = np.arange(7)
    assert np.array_equal(panda(whole, whole, whole), panda(*(3 * [whole.astype(float)])))


def test_nan_and_infinity_propagate(panda: np.ufunc, batch: tuple[np.ndarray, ...]) -> None:
    q, qd, qdd = (x[:20].copy() for x in batch)
    good = panda(q, qd, qdd)
    q[3, 5], qd[4, 6], q[5, 5] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        bad = panda(q, qd, qdd)
    for row in (3, 4, 5):
        assert not np.isfinite(bad[row, :5]).any()
    rest = [k for k in range(20) if k not in (3, 4, 5)]
    assert np.array_equal(bad[rest], good[rest])


def test_friction_keeps_nan_and_zero() -> None:
    a = da.load("puma560")
    assert np.isnan(a.friction_torque([np.nan] * 6)).all()
    assert np.all(a.friction_torque(np.zeros(6)) == 0.0)


def test_threads(panda: np.ufunc) -> None:
    many = states(da.load("panda"), 4000, seed=3)
    expected = panda(*many)
    wrong = []

    def work() -> None:
        for _ in range(20):
            if not np.array_equal(panda(*many), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_pickles(panda: np.ufunc, batch: tuple[np.ndarray, ...]) -> None:
    again = pickle.loads(pickle.dumps(panda))
    assert np.array_equal(again(*batch), panda(*batch))
    assert pickle.loads(pickle.dumps(np.add)) is np.add
    a = pickle.loads(pickle.dumps(da.load("panda")))
    assert a == da.load("panda")


def test_pickles_into_another_process(panda: np.ufunc, batch: tuple[np.ndarray, ...]) -> None:
    code = "import pickle, sys; k, x = pickle.load(sys.stdin.buffer); sys.stdout.buffer.write(pickle.dumps(k(*x)))"
    run = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps((panda, batch)), capture_output=True, check=True
    )
    assert np.array_equal(pickle.loads(run.stdout), panda(*batch))


def test_memory_beyond_inputs_and_outputs(panda: np.ufunc) -> None:
    q, qd, qdd = states(da.load("panda"), 200_000)
    out = np.empty_like(q)
    panda(q[:9], qd[:9], qdd[:9])
    tracemalloc.start()
    panda(q, qd, qdd, out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("name", DISTINCT)
def test_compiled_equals_float_run(name: str) -> None:
    """The kernel gives what the equations give on plain floats, without the compiler."""
    from dalembert.mechanics.coordinates import pulled
    from dalembert.mechanics.equations.newton_euler import inverse_dynamics

    a = arm(name)
    q, qd, qdd = states(a, 5)
    plain = [
        pulled.inverse_dynamics(a.mechanism, *(x.tolist() for x in row), tree=inverse_dynamics)
        for row in zip(q, qd, qdd, strict=True)
    ]
    assert relative(a.inverse_dynamics(q, qd, qdd), np.array(plain)) < 1e-12
    assert relative(a.inverse_dynamics(q, qd, qdd, formulation="newton-euler"), np.array(plain)) < 1e-12


def trig_kernel() -> np.ufunc:
    g = Graph()
    x = g.input("x")
    g.output([x.sin(), x.cos()])
    return compiled(g, 1, 2)


def ulps(value: float, exact: mpmath.mpf) -> float:
    return float(abs(mpmath.mpf(float(value)) - exact) / mpmath.mpf(float(np.spacing(abs(float(exact))))))


def test_sine_and_cosine_to_two_ulp() -> None:
    """|x| ≤ 1e6, the hard cases near multiples of π/2 among them."""
    mpmath.mp.prec = 200
    rng = np.random.default_rng(0)
    near = np.concatenate(
        [k * np.pi / 2 + d for k in (rng.integers(-636_000, 636_000, 300),) for d in (0.0, 1e-12, -1e-9)]
    )
    x = np.concatenate([
        rng.uniform(-4, 4, 1500), rng.uniform(-1e6, 1e6, 1500), 10 ** rng.uniform(-320, 6, 300),
        near[np.abs(near) <= 1e6], [0.0, -0.0, 1e6, -1e6, np.pi / 4, np.nextafter(np.pi / 4, 1), 5e-324],
    ])  # fmt: skip
    y = trig_kernel()(x[:, None])
    worst = max(
        max(ulps(s, mpmath.sin(mpmath.mpf(float(v)))), ulps(c, mpmath.cos(mpmath.mpf(float(v)))))
        for v, (s, c) in zip(x, y, strict=True)
    )
    assert worst <= 2.0


def test_sine_and_cosine_beyond() -> None:
    mpmath.mp.prec = 1200
    x = np.array([1.0000001e6, -3e7, 1e15, 1e22, 1.7e308, -9.87654321e200, 2.5, 1e6])
    y = trig_kernel()(x[:, None])
    for v, (s, c) in zip(x, y, strict=True):
        assert ulps(s, mpmath.sin(mpmath.mpf(float(v)))) <= 2
        assert ulps(c, mpmath.cos(mpmath.mpf(float(v)))) <= 2
    with np.errstate(invalid="ignore"):
        assert np.isnan(trig_kernel()(np.array([[np.inf], [-np.inf], [np.nan]]))).all()


def test_tiny_angles() -> None:
    y = trig_kernel()(np.array([[0.0], [1e-310], [-3e-200]]))
    assert y[:, 0].tolist() == [0.0, 1e-310, -3e-200]
    assert np.all(y[:, 1] == 1.0)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2, 4, 8]))
def test_all_widths_agree_with_the_tape(seed: int, width: int) -> None:
    """Code for narrower machines gives the same values as the tape run in Python."""
    if width > target().width:
        return
    g = random_graph(seed)
    kernel = compiled(g, 3, len(g.outputs), width)
    x = np.random.default_rng(seed).uniform(-1, 1, (11, 3))
    expected = np.array([evaluate(g, row.tolist()) for row in x])
    assert np.allclose(kernel(x), expected, rtol=1e-10, atol=1e-10)


def test_long_tapes_are_cut_and_still_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same kernel in many small parts, in one module or in several, gives the same torques."""
    import dalembert.compiler.emit.llvm as emit

    a = arm("panda")
    entry = JOINTS["inverse_dynamics"]
    arrays, graph = signature(a.mechanism, entry), trace(a.mechanism, entry, "lean")
    monkeypatch.setattr(emit, "PART_LENGTH", 60)
    x = states(a, 37)
    for parts, linkage in ((20, "internal"), (2, "hidden")):
        monkeypatch.setattr(emit, "MODULE_PARTS", parts)
        texts = emit.llvm_ir(graph, arrays, target().form())
        assert "".join(texts).count(f"define {linkage} void @part") > 5
        assert (len(texts) == 1) == (linkage == "internal")
        kernel = gufunc(MachineCode(object_code(texts)), arrays.gufunc(), "cut", "", (compiled, ()))
        assert relative(kernel(*x), a.inverse_dynamics(*x)) < 1e-14


def test_long_tapes_have_shorter_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    import dalembert.compiler.emit.llvm as emit

    a = arm("panda")
    entry = JOINTS["inverse_dynamics"]
    arrays, graph = signature(a.mechanism, entry), trace(a.mechanism, entry, "lean")
    monkeypatch.setattr(emit, "SHORT_PART_LENGTH", 60)
    assert len(emit.function_parts(graph, arrays, Form(4))[0]) == 1
    monkeypatch.setattr(emit, "LONG_TAPE", len(graph.nodes) - 1)
    assert len(emit.function_parts(graph, arrays, Form(4))[0]) > 5


def test_output_is_reproducible() -> None:
    """The same robot gives the same text and the same object code, byte for byte, in another process too."""
    code = (
        "import dalembert as da, hashlib; from dalembert.compiler.quantities.joints import JOINTS;"
        "from dalembert.compiler.quantities.machine import signature, trace; from dalembert.compiler.emit.llvm import llvm_ir; from dalembert.compiler.emit.ir import Form;"
        "from dalembert.compiler.kernel.compile import object_code;"
        "m = da.load('stanford').mechanism; entry = JOINTS['inverse_dynamics'];"
        "t = llvm_ir(trace(m, entry, 'lean'), signature(m, entry), Form(4));"
        "print(hashlib.sha256(t[0].encode()).hexdigest(), hashlib.sha256(object_code(t)).hexdigest())"
    )
    seen = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "HOME": "/nonexistent"}
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
        seen.add(run.stdout)
    assert len(seen) == 1


def test_a_long_chain_compiles() -> None:
    from dalembert.mechanics.equations.newton_euler import inverse_dynamics

    a = da.Arm(random_robot(np.random.default_rng(5), 40, tree=False))
    q, qd, qdd = states(a, 9)
    plain = np.array(
        [inverse_dynamics(a.mechanism, *(x.tolist() for x in row)) for row in zip(q, qd, qdd, strict=True)]
    )
    assert relative(a.inverse_dynamics(q, qd, qdd), plain) < 1e-10


def test_no_spurious_warnings(panda: np.ufunc) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        panda(*states(da.load("panda"), 3))


class TestMessages:
    """Wrong input to an arm: one sentence that names both shapes."""

    def test_wrong_last_axis(self) -> None:
        with pytest.raises(da.ShapeError, match=r"q has shape \(3, 6\), but arm 'panda' has 7 joints"):
            da.load("panda").inverse_dynamics(np.zeros((3, 6)), np.zeros(7), np.zeros(7))

    def test_scalar(self) -> None:
        with pytest.raises(da.ShapeError, match=r"qd has shape \(\)"):
            da.load("panda").inverse_dynamics(np.zeros(7), 0.0, np.zeros(7))

    def test_no_broadcast(self) -> None:
        with pytest.raises(da.ShapeError, match=r"q \(3, 7\), qd \(4, 7\)"):
            da.load("panda").inverse_dynamics(np.zeros((3, 7)), np.zeros((4, 7)), np.zeros(7))

    def test_wrong_out(self) -> None:
        with pytest.raises(da.ShapeError, match=r"out \(3, 6\)"):
            da.load("panda").inverse_dynamics(np.zeros((3, 7)), np.zeros(7), np.zeros(7), out=np.zeros((3, 6)))

    def test_not_numbers(self) -> None:
        with pytest.raises(da.ShapeError, match="q is not an array of numbers"):
            da.load("panda").inverse_dynamics(["a"] * 7, np.zeros(7), np.zeros(7))
        with pytest.raises(da.ShapeError, match="complex128"):
            da.load("panda").inverse_dynamics(np.zeros(7, complex), np.zeros(7), np.zeros(7))

    def test_unknown_names(self) -> None:
        with pytest.raises(da.DalembertError, match="no quantity 'torque'; the quantities are inverse_dynamics"):
            da.load("panda").kernel("torque")
        with pytest.raises(da.DalembertError, match="no formulation 'magic'"):
            da.load("panda").inverse_dynamics(*np.zeros((3, 7)), formulation="magic")
        with pytest.raises(da.DalembertError, match="does not take 'tip_wrench'"):
            da.load("panda").kernel("pose", options=("tip_wrench",))

    def test_wrench(self) -> None:
        with pytest.raises(da.ShapeError, match="tip_wrench has shape"):
            da.load("panda").inverse_dynamics(*np.zeros((3, 7)), tip_wrench=np.zeros(3))


FORK = """
import dalembert as da, os, sys, threading, time
begun = threading.Event()
def work():
    begun.set()
    da.load("planar-2r").kernel("inertia_matrix")
thread = threading.Thread(target=work)
thread.start(); begun.wait(); time.sleep(float(sys.argv[1]))
child = os.fork()
if not child:
    da.load("planar-2r").gravity_torque([0.0, 0.0])
    os._exit(0)
thread.join()
for _ in range(300):
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        break
    time.sleep(0.1)
else:
    os.kill(child, 9)
print("ended" if done and not status else "hung")
"""


@pytest.mark.parametrize("moment", [0.0, 0.03, 0.08, 0.15])
def test_a_fork_while_a_thread_imports_or_compiles(moment: float) -> None:
    """Modules are imported when they are needed: a child that was made in the middle of it waited for ever."""
    done = subprocess.run([sys.executable, "-c", FORK, str(moment)], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "ended", done.stderr
