"""A Dask cluster: the connection to its scheduler, and independent pieces of work spread over its workers.

Pieces do not depend on how many workers there are, and their results are taken in the order of the pieces: what is made
of them is the same, bit by bit, as on one machine. What a worker held when it died is done again by another.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice, pairwise
from pickle import PicklingError, loads
from typing import TYPE_CHECKING, Any

from dalembert.environment.extras import extra
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 5.0  # seconds within which a scheduler must answer and a worker must be there
AGAIN = 1.0  # seconds after which it is asked again how many threads there are
DESERTED = 60.0  # seconds without any worker after which nobody is waited for
AHEAD = 4  # pieces under way for each thread of the cluster


@contextmanager
def connected(cluster: Any) -> Iterator[Client]:
    """A client of the cluster: ``cluster`` itself if it is one, else a new one for an address or a ``LocalCluster``."""
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
    """A sentence unless a scheduler answers there: a Client that finds none takes long, and longer to let go."""
    with extra("cluster", "a cluster"):
        from distributed.core import rpc
        from distributed.security import Security

    async def kind() -> str:
        async with rpc(address, timeout=PATIENCE, connection_args=Security().get_connection_args("client")) as there:
            return str((await asyncio.wait_for(there.identity(), PATIENCE))["type"])

    try:
        with ThreadPoolExecutor(1) as thread:  # the caller's own may have a loop that runs, as in a notebook
            answering = thread.submit(asyncio.run, kind()).result()
    except (OSError, ValueError) as problem:  # nobody there, or no address
        why = str(problem).partition("\n")[0] or f"nothing within {PATIENCE:g} s"
        raise DalembertError(
            f"no Dask scheduler answers at '{address}' ({why}); start one with 'dask scheduler' and give the address that it "
            "prints, such as tcp://127.0.0.1:8786"
        ) from None
    if answering != "Scheduler":
        raise DalembertError(
            f"what answers at '{address}' is a Dask {answering.lower()}; give the address of the scheduler, which 'dask scheduler' "
            "prints"
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


def spread(
    client: Client,
    function: Callable[..., Any],
    shared: Any,
    pieces: Iterable[Any],
    done: Callable[[int], None] | None = None,
) -> Generator[Any, None, None]:
    """``function(shared, piece)`` for every piece, in their order; whatever ends this early cancels what is under way.

    ``shared`` travels to each worker once, and must not be changed there; a piece travels to the one that takes it, and is
    not asked for long before. ``done`` is called with the number of results that have been taken.
    """
    with extra("cluster", "a cluster"):
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

    source = client.submit(_kept, _packed((function, shared)), pure=False)  # a task: it is not lost with its worker
    waiting, under_way = map(_packed, pieces), deque[Any]()
    threads, asked, taken = 0, float("-inf"), 0
    try:
        while True:
            if time.monotonic() - asked > AGAIN:  # workers come and go
                threads, asked = max(1, sum(client.nthreads().values())), time.monotonic()
            for piece in islice(waiting, AHEAD * threads - len(under_way)):
                under_way.append(client.submit(_done, source, piece, pure=False))
            if not under_way:
                return
            yield _result(client, under_way[0])
            under_way.popleft().release()
            taken += 1
            if done is not None:
                done(taken)
    except KilledWorker as problem:
        raise DalembertError(
            f"a piece of the work ended every worker of the cluster that took it ({problem.allowed_failures + 1} of them): give "
            "workers more memory, or see what their logs say"
        ) from None
    except (FutureCancelledError, OSError) as problem:
        raise DalembertError(f"the connection to the Dask cluster was lost while it worked ({problem})") from None
    finally:
        if under_way:
            client.cancel(list(under_way), force=True)
        source.release()


def _result(client: Client, future: Any) -> Any:
    """The result of a piece, once it is there; one sentence where all workers are gone and none comes back."""
    last_seen = time.monotonic()
    while True:
        try:
            return future.result(timeout=AGAIN)
        except TimeoutError:
            if future.done():  # the piece itself raised it
                raise
        if client.nthreads():
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > DESERTED:
            address = client.scheduler.address if client.scheduler else "its scheduler"
            raise DalembertError(
                f"the Dask cluster at '{address}' lost all of its workers, and none came back within {DESERTED:g} s; start some "
                f"with 'dask worker {address}'"
            )


def _packed(value: Any) -> bytes:
    with extra("cluster", "a cluster"):
        import cloudpickle

    try:
        return bytes(cloudpickle.dumps(value))
    except (TypeError, AttributeError, ValueError, PicklingError) as problem:
        raise DalembertError(
            f"this cannot be sent to the workers of a cluster: {problem}; give functions and objects that can be pickled"
        ) from None


def _kept(sent: bytes) -> bytes:
    return sent


def _done(sent: bytes, piece: bytes) -> Any:
    function, shared = _received(sent)
    return function(shared, loads(piece))


@lru_cache(maxsize=4)
def _received(sent: bytes) -> Any:
    """What was sent, unpacked once for all pieces that this worker does."""
    return loads(sent)


def shares(count: int, most: int) -> list[tuple[int, int]]:
    """(first, last + 1) of at most ``most`` pieces of nearly equal size.

    >>> shares(7, 3)
    [(0, 3), (3, 5), (5, 7)]
    """
    pieces = max(1, min(count, most))
    size, more = divmod(count, pieces)
    ends = [k * size + min(k, more) for k in range(pieces + 1)]
    return list(pairwise(ends))
