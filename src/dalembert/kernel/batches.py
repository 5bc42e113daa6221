"""A kernel on a batch: room for its results, and for large batches several threads.

Pieces are slices of one leading axis, written into one array of results. A state's result does not depend on the piece
that it is in, so that all numbers of threads give the same bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.arrays import DOUBLE, SINGLE
from dalembert.kernel.threads import together, usable_threads

Array = NDArray[np.floating[Any]]

SHARE = 1 << 18  # numbers that go in and out below which a further thread does not pay: at least 100 µs
PIECE = 1 << 21  # numbers of the largest piece: a few milliseconds, after which Ctrl-C is heard
PIECES = 4  # for each thread, so that one that is held up leaves some to the others
LANES = 8  # states side by side that a kernel computes at once: no piece has fewer
ALIGNED = 64  # states: longer pieces begin where cache lines do
ONE_BLOCK = 100_000  # numbers in several results together from which they are given one piece of memory

_CORES = re.compile(r"\((.*?)\)")  # the core shapes in a gufunc's signature
_KINDS = {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}

Cores = tuple[tuple[str, ...], ...]


@cache
def _cores(signature: str) -> tuple[Cores, Cores]:
    """The core shapes of what goes in and of what comes out, as they are written."""
    inputs, outputs = (
        tuple(tuple(filter(None, text.split(","))) for text in _CORES.findall(part)) for part in signature.split("->")
    )
    return inputs, outputs


class Most(NamedTuple):
    """Up to how many numbers in one input a batch is small, in two respects; 0 where a signature has no numbers.

    alone  for one thread, unless the caller says otherwise
    loose  for several results to have memory of their own
    """

    alone: int
    loose: int


@cache
def most(signature: str) -> Most:
    """What is a small batch for kernels with this signature.

    >>> most("(7),(7),(7)->(7)").alone // 7  # states
    18724
    """
    cores = _cores(signature)
    if not all(size.isdecimal() for shape in (*cores[0], *cores[1]) for size in shape):
        return Most(0, 0)
    inputs, outputs = ([prod(map(int, shape)) for shape in part] for part in cores)
    states = (2 * SHARE - 1) // sum(inputs + outputs), (ONE_BLOCK - 1) // sum(outputs)
    return Most(*(count * min(inputs) for count in states))


def run(
    ufunc: np.ufunc,
    arrays: Sequence[Any],
    out: Array | tuple[Array, ...] | None = None,
    threads: int | None = None,
    numbers: int | None = None,
) -> Any:
    """``ufunc(*arrays, out=out)``, a large batch on several threads.

    threads  how many at most; None: by the size of the batch, the CPUs that may be used, and OMP_NUM_THREADS
    numbers  that are gone over for one state; without it those that go in and out
    Warnings and errors about floating-point numbers are those of one call, in the caller's thread.

    >>> import numpy as np, dalembert as da
    >>> kernel, q = da.load("planar-2r").kernel("gravity_torque"), np.ones((1000, 2))
    >>> np.array_equal(run(kernel, [q], threads=2), kernel(q))
    True
    """
    small, size = most(str(ufunc.signature)), _size(arrays)
    if threads is None and size <= small.alone:
        threads = 1
    if threads == 1 and (ufunc.nout == 1 or out is not None or size <= small.loose):
        return ufunc(*arrays) if out is None else ufunc(*arrays, out=out)
    given = out if out is None or isinstance(out, tuple) else (out,)
    leading = _leading(ufunc, arrays, given)
    if leading is None:
        return ufunc(*arrays) if out is None else ufunc(*arrays, out=out)
    inputs, outputs = _cores(str(ufunc.signature))
    axes = len(leading)
    inner = [a.shape[a.ndim - len(core) :] for a, core in zip(arrays, inputs, strict=True)]
    inner += [tuple(map(int, core)) for core in outputs] if given is None else [a.shape[axes:] for a in given]
    work = prod(leading) * (sum(map(prod, inner)) if numbers is None else numbers)
    if threads is None:
        threads = min(usable_threads(), work // SHARE) if work >= 2 * SHARE else 1
    axis, pieces = _pieces(leading, threads, work) if threads > 1 else (0, [])
    if given is None and (len(pieces) > 1 or ufunc.nout > 1):
        given = _room([(*leading, *core) for core in inner[ufunc.nin :]], arrays, len(pieces) > 1)
    if given is None:
        return ufunc(*arrays)
    if len(pieces) < 2:
        return ufunc(*arrays, out=given)
    _in_pieces(ufunc, arrays, given, axis - axes, pieces, threads)
    return given[0] if ufunc.nout == 1 else given


def over_threads(ufunc: np.ufunc, threads: int | None = None) -> Callable[..., Any]:
    """The kernel as a function of its arrays, large batches on several threads."""
    return lambda *arrays: run(ufunc, arrays, threads=threads)


def _size(arrays: Sequence[Any]) -> float:
    """No fewer numbers than a broadcast input has, found quickly; infinite where that takes a closer look."""
    size = 0
    for array in arrays:
        if type(array) is not np.ndarray or array.ndim > 2:
            return inf
        size += array.size
    return size


def _leading(ufunc: np.ufunc, arrays: Sequence[Any], out: tuple[Array, ...] | None) -> tuple[int, ...] | None:
    """The leading shape of a batch; None where it is NumPy's, or a lazy array's, to run the gufunc or to refuse it."""
    inputs, outputs = _cores(str(ufunc.signature))
    if len(arrays) != len(inputs) or any(type(a) is not np.ndarray for a in arrays):
        return None
    if np.result_type(SINGLE, *(a.dtype for a in arrays)) not in (SINGLE, DOUBLE):
        return None
    if any(a.ndim < len(core) for a, core in zip(arrays, inputs, strict=True)):
        return None
    shapes = {a.shape[: a.ndim - len(core)] for a, core in zip(arrays, inputs, strict=True)}
    try:
        leading = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
    except ValueError:
        return None
    if out is not None:
        for a, core in zip(out, outputs, strict=True):
            if type(a) is not np.ndarray or a.shape[: a.ndim - len(core)] != leading:
                return None
    return leading


def _room(shapes: Sequence[tuple[int, ...]], arrays: Sequence[Array], needed: bool) -> tuple[Array, ...] | None:
    """Room for results, large ones in one piece; None where NumPy may see to it itself.

    Freed in several pieces, large results go back to the system, and the next call pays for every page
    again: several times the cost of the calculation. One piece stays with the process.
    """
    sizes = [prod(shape) for shape in shapes]
    if not needed and sum(sizes) < ONE_BLOCK:
        return None
    block = np.empty(sum(sizes), np.result_type(SINGLE, *(a.dtype for a in arrays)))
    ends = np.cumsum(sizes)
    return tuple(block[end - size : end].reshape(shape) for size, end, shape in zip(sizes, ends, shapes, strict=True))


def _pieces(leading: tuple[int, ...], threads: int, work: int) -> tuple[int, list[slice]]:
    """Slices of the first axis that is long enough, else of the longest; and which axis that is."""
    count = max(threads, min(PIECES * threads, 2 * work // SHARE), -(-work // PIECE))
    long_enough = (k for k, length in enumerate(leading) if length >= ALIGNED * count)
    axis = next(long_enough, max(range(len(leading)), key=leading.__getitem__, default=0))
    length = leading[axis] if leading else 0
    size = max(1, -(-length // count))
    step = ALIGNED if size > ALIGNED // 2 else LANES
    size = -(-size // step) * step
    return axis, [slice(start, min(start + size, length)) for start in range(0, length, size)]


def _in_pieces(
    ufunc: np.ufunc, arrays: Sequence[Array], out: tuple[Array, ...], axis: int, pieces: list[slice], threads: int
) -> None:
    """Run the gufunc on slices of an axis, on several threads.

    axis  counted from the last leading axis, −1

    NumPy's settings for floating-point errors belong to a thread. Pieces therefore note only what happened, and one of
    those where it did is run again by the caller's thread, under its own settings, for NumPy to report it.
    """
    inputs, outputs = _cores(str(ufunc.signature))
    arrays = [a.copy() if any(np.may_share_memory(a, b) for b in out) else a for a in arrays]  # as NumPy does
    cuts = [
        (array, at, (slice(None),) * at)
        for array, core in zip((*arrays, *out), (*inputs, *outputs), strict=True)
        for at in [array.ndim - len(core) + axis]
    ]
    cut = [at >= 0 and array.shape[at] > 1 for array, at, _ in cuts]  # others are broadcast along this axis
    settings: dict[str, Any] = dict(np.geterr())
    noting: dict[str, Any] = {kind: "ignore" if mode == "ignore" else "call" for kind, mode in settings.items()}
    noted: dict[str, slice] = {}

    def call(piece: slice) -> None:
        given = [array[(*whole, piece)] if here else array for (array, _, whole), here in zip(cuts, cut, strict=True)]
        ufunc(*given)

    def work(some: Iterator[slice]) -> None:
        piece = slice(0)

        def note(kind: str, _: int) -> None:
            noted.setdefault(_KINDS[kind], piece)

        with np.errstate(**noting, call=note):
            for piece in some:
                call(piece)

    together(work, pieces, threads)
    for kind, mode in settings.items():  # in the order in which NumPy reports them
        if kind in noted:
            alone: dict[str, Any] = {**dict.fromkeys(settings, "ignore"), kind: mode}
            with np.errstate(**alone):
                call(noted[kind])
