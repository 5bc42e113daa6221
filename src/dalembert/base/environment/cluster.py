"""A Dask cluster: the connection to its scheduler, and independent tasks distributed over its workers.

Tasks do not depend on the number of workers, and their results are collected in order, so the combined result is
bitwise equal to that of one machine. If a worker dies, its unfinished tasks are repeated by another.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import lru_cache, partial
from itertools import islice, pairwise
from pickle import PicklingError, loads
from typing import TYPE_CHECKING, Any

from dalembert.base.environment.extras import extra
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 5.0  # seconds within which a scheduler must answer and a worker must be available
AGAIN = 1.0  # seconds between two queries of the number of threads
DESERTED = 60.0  # seconds without any worker after which the run ends
AHEAD = 4  # tasks in progress per thread of the cluster


@contextmanager
def connected(cluster: Any) -> Iterator[Client]:
    """A client of the cluster: ``cluster`` itself if it is one, or a new one for an address or a ``LocalCluster``."""
    with extra("cluster", "a cluster"):
        from distributed import Client
        from distributed.deploy import Cluster

    if isinstance(cluster, Client):
        yield _with_workers(cluster)
        return
    if not isinstance(cluster, (str, Cluster)):
        raise DalembertError(
            f"cluster is a {type(cluster).__name__}; it must be the address of a Dask scheduler, such as "
            "'tcp://127.0.0.1:8786', or a distributed.Client"
        )
    if isinstance(cluster, str):
        _check_address(cluster)
    with Client(cluster, set_as_default=False) as client:
        yield _with_workers(client)


def _check_address(address: str) -> None:
    """Raise an error unless a scheduler answers: a Client without one takes long to fail and longer to close."""
    with extra("cluster", "a cluster"):
        from distributed.core import rpc
        from distributed.security import Security

    async def kind() -> str:
        async with rpc(address, timeout=PATIENCE, connection_args=Security().get_connection_args("client")) as there:
            return str((await asyncio.wait_for(there.identity(), PATIENCE))["type"])

    try:
        with ThreadPoolExecutor(1) as thread:  # the calling thread may already run an event loop, as in a notebook
            answering = thread.submit(asyncio.run, kind()).result()
    except (OSError, ValueError) as problem:  # no answer, or not an address
        why = str(problem).partition("\n")[0] or f"no answer within {PATIENCE:g} s"
        raise DalembertError(
            f"no Dask scheduler answers at '{address}' ({why}); start one with 'dask scheduler' and use the address "
            "that it prints, such as tcp://127.0.0.1:8786"
        ) from None
    if answering != "Scheduler":
        raise DalembertError(
            f"the process at '{address}' is a Dask {answering.lower()}; use the address of the scheduler, which "
            "'dask scheduler' prints"
        )


def _with_workers(client: Client) -> Client:
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        address = client.scheduler.address if client.scheduler else "its scheduler"
        raise DalembertError(
            f"the Dask cluster at '{address}' has no workers; start some with 'dask worker {address}'"
        ) from None
    return client


def computed(
    cluster: Any, function: Callable[..., Any], shared: Any, pieces: Iterable[Any]
) -> Generator[Any, None, None]:
    """``function(shared, piece)`` for every piece, in order: here if ``cluster`` is None, otherwise on its workers.

    An empty list of pieces needs no workers.
    """
    if cluster is None or pieces == []:
        yield from map(partial(function, shared), pieces)
    else:
        with connected(cluster) as client, closing(spread(client, function, shared, pieces)) as results:
            yield from results


def spread(
    client: Client, function: Callable[..., Any], shared: Any, pieces: Iterable[Any]
) -> Generator[Any, None, None]:
    """``function(shared, piece)`` for every piece, in order; if the iteration ends early, the tasks in progress are
    cancelled.

    ``shared`` is sent to each worker once and must not be modified there; a piece is sent to the worker that computes
    it, and is generated shortly before.
    """
    with extra("cluster", "a cluster"):
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

    source = client.submit(bytes, _packed((function, shared)), pure=False)  # a task is not lost with its worker
    waiting, under_way = map(_packed, pieces), deque[Any]()
    threads, counted_at = 0, float("-inf")
    try:
        while True:
            if time.monotonic() - counted_at > AGAIN:  # workers come and go
                threads, counted_at = max(1, sum(client.nthreads().values())), time.monotonic()
            for piece in islice(waiting, max(0, AHEAD * threads - len(under_way))):
                under_way.append(client.submit(_done, source, piece, pure=False))
            if not under_way:
                return
            yield _result(client, under_way[0])
            under_way.popleft().release()
    except KilledWorker as problem:
        raise DalembertError(
            f"a task ended every worker of the cluster that tried it ({problem.allowed_failures + 1} workers): give "
            "workers more memory, or check their logs"
        ) from None
    except (FutureCancelledError, OSError) as problem:
        raise DalembertError(
            f"the connection to the Dask cluster was lost during the computation ({problem})"
        ) from None
    finally:
        if under_way:
            client.cancel(list(under_way), force=True)
        source.release()


def _result(client: Client, future: Any) -> Any:
    """The result of a piece when it is complete, or an error if all workers are lost and none returns.

    A result with a timeout would cancel the piece, so an event is waited for instead.
    """
    last_seen, complete = time.monotonic(), threading.Event()
    future.add_done_callback(lambda _: complete.set())
    while not complete.wait(AGAIN):
        if client.nthreads():
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > DESERTED:
            address = client.scheduler.address if client.scheduler else "its scheduler"
            raise DalembertError(
                f"the Dask cluster at '{address}' lost all of its workers, and none came back within {DESERTED:g} s; start some "
                f"with 'dask worker {address}'"
            )
    return future.result()


def _packed(value: Any) -> bytes:
    with extra("cluster", "a cluster"):
        import cloudpickle

    try:
        return bytes(cloudpickle.dumps(value))
    except (TypeError, AttributeError, ValueError, PicklingError) as problem:
        raise DalembertError(
            f"an argument cannot be sent to the workers of a cluster: {problem}; use functions and objects that can "
            "be pickled"
        ) from None


def _done(sent: bytes, piece: bytes) -> Any:
    function, shared = _received(sent)
    return function(shared, loads(piece))


_received = lru_cache(maxsize=4)(loads)  # the transferred object, unpacked once for all tasks of this worker


def shares(count: int, most: int) -> list[tuple[int, int]]:
    """(first, last + 1) of at most ``most`` pieces of nearly equal size.

    >>> shares(7, 3)
    [(0, 3), (3, 5), (5, 7)]
    """
    pieces = max(1, min(count, most))
    size, more = divmod(count, pieces)
    ends = [k * size + min(k, more) for k in range(pieces + 1)]
    return list(pairwise(ends))
