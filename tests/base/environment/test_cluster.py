"""A real Dask cluster of two worker processes: the same bits as on one machine, also where a worker is killed at work."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import dask.array as dk
import numpy as np
import pytest
from distributed import Client, LocalCluster
from typer.testing import CliRunner

import dalembert as da
from dalembert.base.environment import cluster as the_cluster
from dalembert.base.environment.cluster import connected, shares, spread
from dalembert.views.cli.main import app
from dalembert.work.analysis.workspace import workspace_map

RNG = np.random.default_rng(4)
PATIENCE = 120.0  # s, on a machine that has much else to do; nothing takes as long


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as local,
        Client(local, set_as_default=False) as client,
    ):
        yield client


def until(true: Callable[[], bool]) -> None:
    """Wait for something that comes about in another process."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def held(place: str) -> None:
    """The first process that comes here leaves its number and stays until it is killed; all others pass."""
    mine = Path(f"{place}.{os.getpid()}")
    mine.write_text(str(os.getpid()))
    try:
        os.link(mine, place)
    except FileExistsError:
        return
    time.sleep(10 * PATIENCE)


def kill_holder(place: Path) -> int:
    """SIGKILL for the process that is held, which has a piece of the work under way."""
    until(place.exists)
    process = int(place.read_text())
    os.kill(process, signal.SIGKILL)
    return process


def processes(client: Client) -> set[int]:
    return set(client.run(os.getpid).values())


def test_a_worker_killed_while_it_holds_chunks_changes_no_bit(client: Client, tmp_path: Path) -> None:
    arm, x, place = da.load("planar-2r"), RNG.uniform(-2, 2, (3, 2000, 2)), tmp_path / "held"

    def passed(block: Any, place: str = str(place)) -> Any:
        held(place)
        return block

    q, qd, qdd = (dk.from_array(a, chunks=(100, 2)) for a in x)
    q = q.map_blocks(passed, meta=np.empty((0, 0)))
    workers = processes(client)
    later = client.compute(arm.inverse_dynamics(q, qd, qdd))
    assert kill_holder(place) in workers
    np.testing.assert_array_equal(later.result(PATIENCE), arm.inverse_dynamics(*x))


def test_a_batch_of_simulations_survives_a_worker_with_the_same_bits(client: Client, tmp_path: Path) -> None:
    """Gains and wrenches are those of each state, and go with it."""
    arm, q0, place, here = da.load("planar-2r"), RNG.uniform(-1, 1, (3, 150, 2)), tmp_path / "held", os.getpid()
    gains, wrenches = RNG.uniform(50, 90, (150, 2)), RNG.uniform(-9, 9, (150, 3, 6))

    def motion(t: Any, place: str = str(place)) -> Any:
        if os.getpid() != here:
            held(place)
        return np.sin(t[:, None] * [1, 2]), np.cos(t[:, None] * [1, 2]), np.zeros((len(t), 2))

    def run(cluster: Any) -> Any:
        control = da.PD(gains, gains / 9, motion)
        return da.simulate(arm, q0, None, control, 0.03, step=1e-2, tip_wrench=wrenches, cluster=cluster)

    killer = threading.Thread(target=kill_holder, args=(place,))
    killer.start()
    far, near = run(client), run(None)
    killer.join()
    for x in ("q", "qd", "tau"):
        np.testing.assert_array_equal(getattr(far, x), getattr(near, x))


def test_maps_are_the_same_bits(client: Client) -> None:
    told: list[float] = []
    near, far = (
        workspace_map(da.load("planar-2r"), poses=200_000, cells=20, take="mean", cluster=c, progress=told.append)
        for c in (None, client)
    )
    for x in ("values", "q", "count"):
        np.testing.assert_array_equal(getattr(near, x), getattr(far, x))
    assert told == 2 * [0.25, 0.5, 0.75, 1.0]


def test_exciting_motions_are_the_same_bits(client: Client) -> None:
    near, far = (
        da.excite(da.load("pendulum"), duration=10.0, harmonics=2, clearance=None, starts=2, cluster=c)
        for c in (None, client)
    )
    np.testing.assert_array_equal(near.coefficients, far.coefficients)
    assert near.history == far.history and near.condition == far.condition


def test_a_kernel_is_made_once_for_each_worker(client: Client) -> None:
    """Whether compiled or read from the cache: blocks that come later find it."""

    def count() -> None:
        from dalembert.compiler.kernel import make

        make.calls, make.uncounted = [], make.code_of  # type: ignore[attr-defined]
        make.code_of = lambda key, *rest, **more: (make.calls.append(key), make.uncounted(key, *rest, **more))[1]  # type: ignore

    def counted() -> list[str]:
        from dalembert.compiler.kernel import make

        make.code_of = make.uncounted  # type: ignore[attr-defined]
        return make.calls  # type: ignore[attr-defined]

    client.run(count)
    arm, q = da.load("planar-2r").with_payload(3.25), RNG.uniform(-1, 1, (400, 2))
    got = client.compute(arm.gravity_torque(dk.from_array(q, chunks=(10, 2)))).result(PATIENCE)
    made = list(client.run(counted).values())
    np.testing.assert_array_equal(got, arm.gravity_torque(q))
    assert sum(map(len, made)) >= 1 and all(len(keys) == len(set(keys)) <= 1 for keys in made)


def test_whatever_ends_the_work_early_cancels_what_is_under_way(client: Client) -> None:
    def wait(shared: float, piece: int) -> int:
        time.sleep(shared)
        return piece

    def tasks(dask_scheduler: Any) -> int:
        return len(dask_scheduler.tasks)

    with pytest.raises(KeyboardInterrupt), closing(spread(client, wait, 0.05, range(1000))) as results:
        next(results)
        raise KeyboardInterrupt
    until(lambda: client.run_on_scheduler(tasks) == 0)


def test_what_goes_wrong_on_a_worker_is_the_same_sentence(client: Client) -> None:
    arm, q0 = da.load("planar-2r"), np.zeros((200, 2))
    q0[170, 1] = 20.0

    def wild(t: float, q: Any, qd: Any) -> Any:
        return np.where(q > 10, 1e300, 0.0)

    with pytest.raises(da.SimulationError, match=r"\(state 170 of the batch\)") as near:
        da.simulate(arm, q0, None, wild, 0.05, step=1e-2)
    with pytest.raises(da.SimulationError, match=r"\(state 36 of .*counted from 134, where a part") as far:
        da.simulate(arm, q0, None, wild, 0.05, step=1e-2, cluster=client)
    assert str(near.value).partition(" (state")[0] == str(far.value).partition(" (state")[0]
    with pytest.raises(da.DalembertError, match="cannot be sent to the workers"):
        da.simulate(arm, q0, None, Unsendable(), 0.05, cluster=client)
    with pytest.raises(da.DalembertError, match="this is a single simulation"):
        da.simulate(arm, q0[0], None, None, 0.05, cluster=client)


class Unsendable:
    """A torque that holds what stays in its process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __call__(self, t: float, q: Any, qd: Any) -> Any:
        return 0.0 * q


def test_an_address_without_a_scheduler_is_one_sentence(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(the_cluster, "PATIENCE", 0.3)
    worker = next(iter(client.nthreads()))
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        for address, words in (
            (f"tcp://127.0.0.1:{deaf.getsockname()[1]}", "no Dask scheduler answers at 'tcp://127.0.0.1:"),
            ("nowhere", "no Dask scheduler answers at 'nowhere' .*missing port"),
            (worker, "is a Dask worker; use the address of the scheduler"),
            (7, "cluster is a int; it must be the address"),
        ):
            with pytest.raises(da.DalembertError, match=words), connected(address):
                pass


def test_commands_work_on_a_cluster(client: Client, tmp_path: Path) -> None:
    states, address = tmp_path / "states.csv", client.scheduler.address
    q = RNG.uniform(-1, 1, (130, 2))
    states.write_text("q1,q2\n" + "".join(f"{a!r},{b!r}\n" for a, b in q.tolist()))

    def run(*words: str) -> Any:
        return CliRunner().invoke(app, list(map(str, words)))

    batch = ("simulate", "planar-2r", "--states", str(states), "--duration", "0.02", "-o")
    for name, more in (("near.npz", ()), ("far.npz", ("--cluster", address))):
        done = run(*batch, str(tmp_path / name), *more)
        assert done.exit_code == 0, done.output
    assert (tmp_path / "near.npz").read_bytes() == (tmp_path / "far.npz").read_bytes()
    assert np.load(tmp_path / "far.npz")["q"][:, 0].tolist() == q.tolist()
    for words, sentence in (
        (("simulate", "planar-2r", "--cluster", address), "give their initial states with --states"),
        ((*batch, str(tmp_path / "run.csv")), "a batch of simulations is written as .npz"),
        ((*batch, str(tmp_path / "run.npz"), "--q", "0 0"), "--q applies to a single simulation"),
        (
            ("map", "planar-2r", "-o", str(tmp_path / "map.png"), "--cluster", "nowhere"),
            "no Dask scheduler answers at 'nowhere'",
        ),
        (("excite", "pendulum", "-o", str(tmp_path / "e.csv"), "--cluster", "nowhere"), "no Dask scheduler answers"),
    ):
        done = run(*words)
        assert done.exit_code == 2 and sentence in " ".join(done.output.split()), done.output


def test_pieces_cover_everything_once() -> None:
    for count in (1, 7, 256, 1000):
        ends = shares(count, 256)
        assert [k for first, last in ends for k in range(first, last)] == list(range(count)) and len(ends) <= 256


def test_the_workers_draw_the_same_robots(client: Client) -> None:
    arm, motion = da.load("planar-2r"), da.triangular([0.1, 0.2], [0.6, -0.3], duration=1.0)
    within: dict[str, Any] = {"mass": 0.1, "com": 0.01, "payload": (0.0, 5.0)}
    here, there = (da.monte_carlo(arm, motion, within, samples=700, cluster=on) for on in (None, client))
    assert np.array_equal(here.peak, there.peak) and np.array_equal(here.rms, there.rms)


def test_wrenches_at_links_are_lazy_too() -> None:
    arm, x = da.load("planar-2r"), RNG.uniform(-2, 2, (3, 40, 2))
    push = RNG.uniform(-9, 9, (40, 6))
    later = arm.inverse_dynamics(
        *(dk.from_array(a, chunks=(10, 2)) for a in x), wrenches={"link1": dk.from_array(push, chunks=(20, 6))}
    )
    assert np.array_equal(later.compute(), arm.inverse_dynamics(*x, wrenches={"link1": push}))


def test_a_cluster_that_loses_its_last_worker_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed as by a system without memory, and never restarted: no hang."""
    monkeypatch.setattr(the_cluster, "DESERTED", 0.5)
    monkeypatch.setattr(the_cluster, "AGAIN", 0.05)

    def out_of_memory(shared: None, piece: int) -> None:
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)

    with LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50) as local:
        command = ["-m", "distributed.cli.dask_worker", local.scheduler_address, "--no-nanny", "--no-dashboard"]
        worker = subprocess.Popen([sys.executable, *command], stderr=subprocess.DEVNULL)
        try:
            with Client(local, set_as_default=False) as alone:
                alone.wait_for_workers(1, timeout=PATIENCE)
                sentence = "lost all of its workers, and none came back within 0.5 s; start some with 'dask worker tcp:"
                with pytest.raises(da.DalembertError, match=sentence):
                    list(spread(alone, out_of_memory, None, range(3)))
            assert worker.wait(PATIENCE) == -signal.SIGKILL
        finally:
            worker.kill()
            worker.wait()


def test_a_piece_that_ends_just_as_the_wait_does_is_taken(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits that are shorter than a piece, and a piece whose own error is a timeout."""
    monkeypatch.setattr(the_cluster, "AGAIN", 1e-4)

    def late(shared: None, piece: int) -> int:
        if piece == 40:
            raise TimeoutError("its own")
        return piece

    taken = spread(client, late, None, range(41))
    assert [next(taken) for _ in range(40)] == list(range(40))
    with pytest.raises(da.DalembertError, match="its own"):
        next(taken)
