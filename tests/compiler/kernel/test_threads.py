"""Large batches over threads: the same bits, the same shapes, the same errors as in one thread."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import dalembert as da
from dalembert.arm.coordinates import Coordinates, Kinematics
from dalembert.arm.derivatives import ArmDerivatives
from dalembert.arm.dynamics import ArmDynamics
from dalembert.compiler.kernel import batches, threads
from dalembert.compiler.kernel.batches import layout_of, run
from dalembert.compiler.kernel.threads import together, usable_threads

RNG = np.random.default_rng(5)
N = 1003  # not a multiple of any piece


@pytest.fixture(scope="module")
def arm() -> da.Arm:
    return da.load("planar-3r")


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> Iterator[da.Arm]:
    """An arm for which a few hundred numbers are a large batch, on a machine with four CPUs."""
    monkeypatch.setattr(batches, "SHARE", 64)
    monkeypatch.setattr(batches, "usable_threads", lambda: 4)
    layout_of.cache_clear()
    yield da.load("planar-3r")
    layout_of.cache_clear()


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads that batches were split over, one number for each."""
    counts: list[int] = []

    def counted(work: object, parts: list[slice], count: int) -> None:
        counts.append(count)
        together(work, parts, count)  # type: ignore[arg-type]

    monkeypatch.setattr(batches, "together", counted)
    return counts


def states(*shape: int, dtype: type = np.float64) -> np.ndarray:
    return RNG.uniform(-2, 2, (*shape, 3)).astype(dtype)


BATCHES = {
    "one axis": (states(N), states(N), states(N)),
    "two axes": (states(2, N), states(2, N), states(2, N)),
    "float32": tuple(states(N, dtype=np.float32) for _ in range(3)),
    "mixed types": (states(N), states(N, dtype=np.float32), states(N)),
    "one state beside many": (states(), states(N), states(1)),
    "axes against each other": (states(40, 1), states(1, 50), states()),
    "broadcast with strides of 0": (np.broadcast_to(states(), (N, 3)), states(N), states(N)),
    "every other state backwards": (states(2 * N)[::-2], states(N), states(N)),
    "columns first": (np.asfortranarray(states(N)), states(N), states(N)),
    "fewer states than threads": (states(2), states(2), states(2)),
    "no state": (states(0), states(0), states(0)),
    "one state": (states(), states(), states()),
}


@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
def test_all_numbers_of_threads_give_the_same_bits(arm: da.Arm, batch: tuple[np.ndarray, ...]) -> None:
    methods = (arm.inverse_dynamics, arm.regressor, arm.torque_derivatives)
    for method in methods:
        alone = method(*batch, threads=1)
        for count in (2, 3, 8):
            several = method(*batch, threads=count)
            for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (alone, several)), strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(a, b, strict=True)


def test_every_method_with_threads_gives_the_same_bits(always: da.Arm, pieces: list[int]) -> None:
    """In a large batch without any option, too, which goes past the checks once the kernel is there."""
    x = [states(400) for _ in range(4)]
    for name, count in {"inverse_dynamics": 3, "forward_dynamics": 3, "gravity_torque": 1, "kinetic_energy": 2,
                        "jacobian": 1, "pose": 1, "reference_torque": 4}.items():  # fmt: skip
        method = getattr(always, name)
        alone = method(*x[:count], threads=1)
        assert not pieces
        for _ in range(2):
            np.testing.assert_array_equal(method(*x[:count]), alone, strict=True)
        np.testing.assert_array_equal(always.placing.positions(x[0]), x[0])
        assert len(pieces) == 2 and min(pieces) > 1, name
        pieces.clear()
    terms = always.torque_terms(*x[:3])
    assert len(pieces) == 1
    np.testing.assert_array_equal(terms.coriolis, always.torque_terms(*x[:3], threads=1).coriolis)


def test_small_batches_stay_in_one_thread(arm: da.Arm, pieces: list[int]) -> None:
    x = [states(N) for _ in range(3)]
    arm.inverse_dynamics(*x)
    arm.inverse_dynamics(*x, out=np.empty_like(x[0]))
    arm.torque_terms(*x)
    assert not pieces


def test_axes_against_each_other_are_counted_together(always: da.Arm, pieces: list[int]) -> None:
    q, qd = states(30, 1), states(1, 30)
    always.inverse_dynamics(q, qd, q)
    for _ in range(2):
        always.inverse_dynamics(q, qd, q)
    assert len(pieces) == 3


def test_out_is_written_also_where_an_input_lies_in_the_same_memory(arm: da.Arm) -> None:
    q, qd, qdd = states(N), states(N), states(N)
    alone = arm.inverse_dynamics(q, qd, qdd, threads=1)
    for out in (np.empty((N, 3)), np.empty((3, N)).T, np.empty((N, 3), np.float32)):
        assert arm.inverse_dynamics(q, qd, qdd, out=out, threads=3) is out
        np.testing.assert_array_equal(out, alone.astype(out.dtype))
    memory = np.empty((N + 1, 3))
    memory[:-1] = qdd
    arm.inverse_dynamics(q, qd, memory[:-1], out=memory[1:], threads=3)
    np.testing.assert_array_equal(memory[1:], alone)


def test_shapes_that_do_not_fit_are_refused_in_the_same_words(arm: da.Arm) -> None:
    for arrays, out in (((states(4), states(5), states(4)), None), ((states(9),) * 3, np.empty((9, 4)))):
        words = set()
        for count in (1, 2):
            with pytest.raises(da.ShapeError) as refused:
                arm.inverse_dynamics(*arrays, out=out, threads=count)
            words.add(str(refused.value))
        assert len(words) == 1


@pytest.mark.parametrize("bad", [0, -1, 1.5, "two", True, 10**6, np.array([1, 2])])
def test_a_bad_number_of_threads_is_refused_in_one_sentence(arm: da.Arm, bad: object) -> None:
    calls = (
        lambda: arm.gravity_torque(states(), threads=bad),
        lambda: arm.operational_space(threads=bad),
        lambda: arm.closure_jacobian(states(), threads=bad),
        lambda: da.simulate(arm, states(), None, None, 0.01, threads=bad),
    )
    for call in calls:
        with pytest.raises(
            da.DalembertError, match=r"^threads is .*; it must be a whole number from 1 to 1024, or None"
        ):
            call()
    arm.gravity_torque(states(), threads=np.int64(2))


def test_every_method_that_runs_a_kernel_takes_threads() -> None:
    """Keyword only, with None for the automatic choice."""
    for cls in (ArmDynamics, Kinematics, Coordinates, ArmDerivatives):
        for name, method in vars(cls).items():
            if name[0] != "_" and callable(method) and re.search(r"self._run(_\w+)?\(", inspect.getsource(method)):
                parameter = inspect.signature(method).parameters["threads"]
                assert (parameter.kind, parameter.default) == (parameter.KEYWORD_ONLY, None), name


# -- how many ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variable", "most_threads"), [("1", 1), ("2,1", 2), ("", 99), ("0", 99), ("many", 99)])
def test_omp_num_threads_is_honoured(monkeypatch: pytest.MonkeyPatch, variable: str, most_threads: int) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cpus = usable_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", variable)
    assert usable_threads() == min(cpus, most_threads)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no CPU affinity")
def test_cpu_affinity_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert usable_threads() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert usable_threads() == len(before)


# -- what floating-point numbers report --------------------------------------------------------------

X = np.linspace(0.0, 1.0, N)[:, None] * np.ones(3)
X[100:900:100, 0] = np.inf  # sin ∞ is an invalid value


def test_a_warning_is_given_once_and_in_the_callers_thread(arm: da.Arm) -> None:
    for count in (1, 4):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            arm.gravity_torque(X, threads=count)
        assert [str(w.message) for w in caught] == ["invalid value encountered in gravity_torque"]
        assert caught[0].category is RuntimeWarning


def test_errstate_of_the_caller_holds(arm: da.Arm) -> None:
    kernel = arm.kernel("gravity_torque")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        alone, several = (run(kernel, [X], threads=count) for count in (1, 4))
        np.testing.assert_array_equal(alone, several)
    with (
        np.errstate(all="raise"),
        pytest.raises(FloatingPointError, match="invalid value encountered in gravity_torque"),
    ):
        run(kernel, [X], threads=4)
    heard: list[tuple[str, int]] = []
    with np.errstate(all="call", call=lambda kind, flag: heard.append((kind, threading.get_ident()))):
        run(kernel, [X], threads=4)
    assert heard == [("invalid value", threading.get_ident())]
    np.testing.assert_array_equal(run(kernel, [X[:50]], threads=4), kernel(X[:50]))


# -- what can go wrong ------------------------------------------------------------------------------


def test_an_error_in_a_helper_is_raised_in_the_caller() -> None:
    caller, entered = threading.get_ident(), threading.Event()

    def work(some: Iterator[int]) -> None:
        if threading.get_ident() == caller:
            entered.wait(10)
        else:
            entered.set()
            raise ZeroDivisionError("in a helper")
        list(some)

    with pytest.raises(ZeroDivisionError, match="in a helper"):
        together(work, range(10), 2)
    done: list[int] = []
    together(done.extend, range(10), 3)
    assert sorted(done) == list(range(10))


def test_after_an_error_of_the_caller_helpers_begin_nothing_more() -> None:
    caller, helped, started = threading.get_ident(), [], threading.Event()

    def work(some: Iterator[int]) -> None:
        if threading.get_ident() == caller:
            started.wait(10)
            raise KeyboardInterrupt
        for piece in some:
            started.set()
            time.sleep(0.05)
            helped.append(piece)

    with pytest.raises(KeyboardInterrupt):
        together(work, range(1000), 2)
    count = len(helped)
    assert 1 <= count < 100
    time.sleep(0.1)
    assert len(helped) == count


def test_many_threads_of_the_user_call_at_once(arm: da.Arm) -> None:
    """None waits for another, and helpers are not multiplied."""
    x = [states(N) for _ in range(3)]
    alone, wrong = arm.inverse_dynamics(*x, threads=1), []

    def user() -> None:
        for _ in range(20):
            wrong.append(not np.array_equal(arm.inverse_dynamics(*x, threads=3), alone))

    users = [threading.Thread(target=user) for _ in range(8)]
    for thread in users:
        thread.start()
    for thread in users:
        thread.join(60)
    assert len(wrong) == 160 and not any(wrong)
    assert len(threads._helpers.threads) < 16  # the most that a test has asked for before


def test_work_within_work_does_not_wait_for_itself() -> None:
    inner: list[int] = []

    def work(some: Iterator[int]) -> None:
        for _ in some:
            together(inner.extend, range(10), 3)

    together(work, range(20), 3)
    assert len(inner) == 200


def _torques(x: np.ndarray) -> np.ndarray:
    return da.load("planar-3r").inverse_dynamics(*x, threads=2)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
def test_a_forked_child_has_helpers_of_its_own(arm: da.Arm) -> None:
    """Those of the parent end before, so that Python has no other threads to warn of, and begin again."""
    x = np.stack([states(N) for _ in range(3)])
    alone = arm.inverse_dynamics(*x, threads=2)
    assert threads._helpers.threads
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with multiprocessing.get_context("fork").Pool(1) as pool:
            np.testing.assert_array_equal(pool.apply_async(_torques, (x,)).get(60), alone)
    np.testing.assert_array_equal(arm.inverse_dynamics(*x, threads=2), alone)


ENDING = """
import atexit, threading, numpy as np, dalembert as da
arm, q = da.load("planar-3r"), np.ones((100_000, 3))
arm.gravity_torque(q, threads=2)
atexit.register(lambda: print(arm.gravity_torque(q, threads=3).shape))
threading.Thread(target=lambda: [arm.gravity_torque(q, threads=2) for _ in range(20)]).start()
"""


def test_a_process_ends_with_helpers_waiting_and_may_use_them_until_then() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "(100000, 3)\n", "")


INTERRUPTED = """
import signal, threading, time, numpy as np, dalembert as da
arm, q = da.load("planar-3r"), np.ones((200_000, 3))
arm.christoffel(q, threads=2)
print("ready", flush=True)
try:
    while True:
        arm.christoffel(q, threads=2)
except KeyboardInterrupt:
    print(np.isfinite(arm.christoffel(q, threads=2)).all())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_ctrl_c_is_heard() -> None:
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "True\n")


# -- what else runs on batches -------------------------------------------------------------------------


@pytest.mark.parametrize("torque", [None, lambda t, q, qd: -qd])
def test_a_simulated_batch_has_the_same_bits(arm: da.Arm, pieces: list[int], torque: object) -> None:
    q = states(50)
    runs = [da.simulate(arm, q, None, torque, 0.02, threads=count) for count in (1, 3)]
    assert pieces
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    np.testing.assert_array_equal(runs[0].qd, runs[1].qd)


def test_a_large_simulation_chooses_threads_by_itself(always: da.Arm, pieces: list[int]) -> None:
    da.simulate(always, states(50), None, None, 0.002)
    assert pieces == [4, 4] or pieces == [4]
    pieces.clear()
    da.simulate(always, states(), None, None, 0.002)
    assert not pieces


def test_operational_space_has_the_same_bits(arm: da.Arm, pieces: list[int]) -> None:
    q, qd = 0.3 + 0.1 * states(N), states(N)
    several, alone = (arm.operational_space(threads=count) for count in (3, 1))
    for name in ("inertia", "coriolis_force", "pose", "torque"):
        arrays = (q, qd, states(N)) if name == "torque" else (q, qd) if name == "coriolis_force" else (q,)
        np.testing.assert_array_equal(getattr(several, name)(*arrays), getattr(alone, name)(*arrays))
        assert pieces
        pieces.clear()


def test_closed_chains_have_the_same_bits(always: da.Arm, pieces: list[int]) -> None:
    """Where loops must be closed first, and errors name the state of the whole batch."""
    chain = da.load("five-bar")
    q = chain.home + 0.05 * RNG.uniform(-1, 1, (300, chain.n))
    np.testing.assert_array_equal(chain.gravity_torque(q, threads=3), chain.gravity_torque(q, threads=1))
    assert chain.closes(q).all() and pieces
    pieces.clear()
    chain.tree_positions(q)
    assert pieces
