"""A kernel on a batch: room for its results, and for large batches several threads.

Pieces are slices of one leading axis, written into one array of results. A state's result does not depend on the piece
that it is in, so that all numbers of threads give the same bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arrays import DOUBLE, SINGLE
from dalembert.kernel.threads import together, usable_threads

Array = NDArray[np.floating[Any]]

SHARE = 1 << 17  # numbers that go in and out below which a further thread does not pay: at least 50 µs
PIECE = 1 << 21  # numbers of the largest piece: a few milliseconds, after which Ctrl-C is heard
PIECES = 4  # for each thread, so that one that is held up leaves some to the others
ALIGNED = 64  # states: pieces begin where blocks of lanes and cache lines do
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


def most_alone(ufunc: np.ufunc) -> int:
    """Up to how many numbers in one input a batch is left to one thread, unless the caller says otherwise."""
    inputs, outputs = ([prod(map(int, core)) for core in cores] for cores in _cores(str(ufunc.signature)))
    return (2 * SHARE - 1) // sum(inputs + outputs) * min(inputs)


def run(
    ufunc: np.ufunc,
    arrays: Sequence[Any],
    out: Array | tuple[Array, ...] | None = None,
    threads: int | None = None,
    rounds: int = 1,
) -> Any:
    """``ufunc(*arrays, out=out)``, a large batch on several threads.

    threads  how many at most; None: by the size of the batch, the CPUs that may be used, and OMP_NUM_THREADS
    rounds   how many times the numbers are gone over, such as the steps of a simulation
    Warnings and errors about floating-point numbers are those of one call, in the caller's thread.

    >>> import numpy as np, dalembert as da
    >>> kernel, q = da.load("planar-2r").kernel("gravity_torque"), np.ones((1000, 2))
    >>> np.array_equal(run(kernel, [q], threads=2), kernel(q))
    True
    """
    given = out if out is None or isinstance(out, tuple) else (out,)
    leading = _leading(ufunc, arrays, given)
    if leading is None:
        return ufunc(*arrays) if out is None else ufunc(*arrays, out=out)
    inputs, outputs = _cores(str(ufunc.signature))
    axes = len(leading)
    inner = [a.shape[a.ndim - len(core) :] for a, core in zip(arrays, inputs, strict=True)]
    inner += [tuple(map(int, core)) for core in outputs] if given is None else [a.shape[axes:] for a in given]
    numbers = prod(leading) * sum(map(prod, inner)) * rounds
    if threads is None:
        threads = min(usable_threads(), numbers // SHARE) if numbers >= 2 * SHARE else 1
    pieces = _pieces(leading, threads, numbers) if threads > 1 else []
    if given is None and (len(pieces) > 1 or ufunc.nout > 1):
        given = _room([(*leading, *core) for core in inner[ufunc.nin :]], arrays, len(pieces) > 1)
    if given is None:
        return ufunc(*arrays)
    if len(pieces) < 2:
        return ufunc(*arrays, out=given)
    _in_pieces(ufunc, arrays, given, axes, pieces, threads)
    return given[0] if ufunc.nout == 1 else given


def over_threads(ufunc: np.ufunc) -> Callable[..., Any]:
    """The kernel as a function of its arrays, large batches on several threads."""
    return lambda *arrays: run(ufunc, arrays)


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


def _pieces(leading: tuple[int, ...], threads: int, numbers: int) -> list[tuple[int, slice]]:
    """(axis, slice) of every piece, on the first axis that is long enough, else on the longest."""
    count = max(PIECES * threads, -(-numbers // PIECE))
    long_enough = (k for k, length in enumerate(leading) if length >= ALIGNED * PIECES * threads)
    axis = next(long_enough, max(range(len(leading)), key=leading.__getitem__, default=0))
    length = leading[axis] if leading else 0
    size = max(1, -(-length // count))
    if size > ALIGNED // 2:
        size = -(-size // ALIGNED) * ALIGNED
    return [(axis, slice(start, min(start + size, length))) for start in range(0, length, size)]


def _in_pieces(
    ufunc: np.ufunc,
    arrays: Sequence[Array],
    out: tuple[Array, ...],
    axes: int,
    pieces: list[tuple[int, slice]],
    threads: int,
) -> None:
    """Run the gufunc piece by piece on several threads.

    NumPy's settings for floating-point errors belong to a thread. Pieces therefore note only what happened, and one of
    those where it did is run again by the caller's thread, under its own settings, for NumPy to report it.
    """
    inputs, outputs = _cores(str(ufunc.signature))
    arrays = [a.copy() if any(np.may_share_memory(a, b) for b in out) else a for a in arrays]  # as NumPy does
    settings = np.geterr()
    noting = {kind: "ignore" if mode == "ignore" else "call" for kind, mode in settings.items()}
    noted: dict[str, tuple[int, slice]] = {}

    def call(piece: tuple[int, slice]) -> None:
        given = [_cut(a, a.ndim - len(core), axes, piece) for a, core in zip(arrays, inputs, strict=True)]
        ufunc(*given, out=tuple(_cut(a, a.ndim - len(core), axes, piece) for a, core in zip(out, outputs, strict=True)))

    def note(piece: tuple[int, slice], kind: str, _: int) -> None:
        noted.setdefault(_KINDS[kind], piece)

    def work(piece: tuple[int, slice]) -> None:
        with np.errstate(**noting, call=partial(note, piece)):
            call(piece)

    together(work, pieces, threads)
    for kind, mode in settings.items():  # in the order in which NumPy reports them
        if kind in noted:
            with np.errstate(**{**dict.fromkeys(settings, "ignore"), kind: mode}):
                call(noted[kind])


def _cut(array: Array, own: int, axes: int, piece: tuple[int, slice]) -> Array:
    """The piece of an array that has ``own`` leading axes of the batch's ``axes``; all of it where it is broadcast."""
    axis = piece[0] - axes + own
    if axis < 0 or array.shape[axis] == 1:
        return array
    return array[(slice(None),) * axis + (piece[1],)]
