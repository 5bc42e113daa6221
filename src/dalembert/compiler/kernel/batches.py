"""A kernel on a batch: memory for its results, and several threads for large batches.

Pieces are slices of one leading axis, written into one array of results. The result of a state does not depend on its
piece, so results are bitwise equal for any number of threads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np

from dalembert.base.arrays import DOUBLE, SINGLE, Array
from dalembert.compiler.kernel.threads import together, usable_threads

# the cost of a state is measured in output numbers, about 0.2 ns each; an input number costs as much as
GOES_IN = 4  # of them, because of sines, cosines and the terms that depend on them
SHARE = 3 << 18  # cost below which another thread does not pay off: about 160 µs
PIECE = 1 << 23  # cost of the largest piece: about 2 ms, after which Ctrl-C is handled
PIECES = 4  # pieces per thread, so that the others can take over from a thread that is delayed
LANES = 8  # states that a kernel computes at once; no piece has fewer
ALIGNED = 64  # states: longer pieces begin at cache-line boundaries
ONE_BLOCK = 100_000  # total size of several results from which they share one block of memory

_CORES = re.compile(r"\((.*?)\)")  # the core shapes in a gufunc's signature
_KINDS = {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}


class Layout(NamedTuple):
    """Properties of batches that follow from a gufunc's signature.

    inputs   number of core axes of each input
    outputs  number of core axes of each output
    shapes   core shapes of the outputs; empty if a size is symbolic and determined by the arrays
    cost     cost of one state; 0 if a size is symbolic
    alone    size of one input up to which a single thread processes a batch, unless the caller specifies threads
    loose    size of one input up to which several results have separate memory
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    cost: int
    alone: int
    loose: int


@cache
def layout_of(signature: str) -> Layout:
    """The layout of a signature.

    >>> layout_of("(7),(7),(7)->(7)").alone // 7  # states
    17284
    """
    inputs, outputs = ([tuple(filter(None, text.split(","))) for text in _CORES.findall(part)]
                       for part in signature.split("->"))  # fmt: skip
    axes = tuple(map(len, inputs)), tuple(map(len, outputs))
    if not all(size.isdecimal() for core in inputs + outputs for size in core):
        return Layout(*axes, (), 0, 0, 0)
    shapes = tuple(tuple(map(int, core)) for core in outputs)
    go_in = [prod(map(int, core)) for core in inputs]
    come_out = sum(map(prod, shapes))
    cost = GOES_IN * sum(go_in) + come_out
    alone, loose = (2 * SHARE - 1) // cost, (ONE_BLOCK - 1) // come_out
    return Layout(*axes, shapes, cost, alone * min(go_in), loose * min(go_in))


def run(
    ufunc: np.ufunc,
    arrays: Sequence[Any],
    out: Array | tuple[Array, ...] | None = None,
    threads: int | None = None,
    cost: int | None = None,
) -> Any:
    """``ufunc(*arrays, out=out)``, with several threads for a large batch.

    threads  maximum number of threads; None: from the batch size, the available CPUs and OMP_NUM_THREADS
    cost     cost of one state relative to one output number; by default estimated from the numbers of inputs and
             outputs
    Floating-point warnings and errors are those of a single call in the caller's thread.

    >>> import numpy as np, dalembert as da
    >>> kernel, q = da.load("planar-2r").kernel("gravity_torque"), np.ones((1000, 2))
    >>> np.array_equal(run(kernel, [q], threads=2), kernel(q))
    True
    """
    layout, size = layout_of(str(ufunc.signature)), _size(arrays)
    if threads is None and size <= layout.alone:
        threads = 1
    if threads == 1 and (ufunc.nout == 1 or out is not None or size <= layout.loose):
        return ufunc(*arrays) if out is None else ufunc(*arrays, out=out)
    given = out if out is None or isinstance(out, tuple) else (out,)
    leading = _leading(layout, arrays, given)
    if leading is None:
        return ufunc(*arrays) if out is None else ufunc(*arrays, out=out)
    work = prod(leading) * (layout.cost if cost is None else cost)
    if threads is None:
        threads = min(usable_threads(), work // SHARE) if work >= 2 * SHARE else 1
    axis, pieces = _pieces(leading, threads, work) if threads > 1 and leading else (0, [])
    if given is None and (len(pieces) > 1 or ufunc.nout > 1):
        given = _room([(*leading, *core) for core in layout.shapes], arrays, len(pieces) > 1)
    if given is None:
        return ufunc(*arrays)
    if len(pieces) < 2:
        return ufunc(*arrays, out=given)
    if out is not None:  # as NumPy does
        arrays = [a.copy() if any(np.may_share_memory(a, b) for b in given) else a for a in arrays]
    _in_pieces(ufunc, layout, (*arrays, *given), axis - len(leading), pieces, threads)
    return given[0] if ufunc.nout == 1 else given


def over_threads(ufunc: np.ufunc, threads: int | None = None) -> Callable[..., Any]:
    """The kernel as a function of its arrays, with several threads for large batches."""
    return lambda *arrays: run(ufunc, arrays, threads=threads)


def _size(arrays: Sequence[Any]) -> float:
    """A quick upper bound for the size of a broadcast input; infinite if a closer look is needed."""
    size = 0
    for array in arrays:
        if type(array) is not np.ndarray or array.ndim > 2:
            return inf
        size += array.size
    return size


def _leading(layout: Layout, arrays: Sequence[Any], out: tuple[Array, ...] | None) -> tuple[int, ...] | None:
    """The leading shape of a batch; None if NumPy or a lazy array must run or refuse the gufunc itself."""
    if len(arrays) != len(layout.inputs) or (out is None and not layout.shapes):
        return None
    shapes: set[tuple[int, ...]] = set()
    for array, axes in zip(arrays, layout.inputs, strict=True):
        if type(array) is not np.ndarray or array.ndim < axes or array.dtype not in (DOUBLE, SINGLE):
            return None
        shapes.add(array.shape[: array.ndim - axes])
    try:
        leading = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
    except ValueError:
        return None
    if out is not None:
        for array, axes in zip(out, layout.outputs, strict=True):
            if array.shape[: array.ndim - axes] != leading:
                return None
    return leading


def _room(shapes: Sequence[tuple[int, ...]], arrays: Sequence[Array], needed: bool) -> tuple[Array, ...] | None:
    """Memory for the results, in one block if they are large; None if NumPy may allocate them.

    Large results that are freed in several blocks are returned to the system, and the next call pays for every page
    again, several times the cost of the computation. A single block stays with the process.
    """
    sizes = [prod(shape) for shape in shapes]
    if not needed and sum(sizes) < ONE_BLOCK:
        return None
    block = np.empty(sum(sizes), np.result_type(SINGLE, *(a.dtype for a in arrays)))
    ends = np.cumsum(sizes)
    return tuple(block[end - size : end].reshape(shape) for size, end, shape in zip(sizes, ends, shapes, strict=True))


def _pieces(leading: tuple[int, ...], threads: int, work: int) -> tuple[int, list[slice]]:
    """Slices of the first axis that is long enough, otherwise of the longest; and the index of that axis."""
    count = max(threads, min(PIECES * threads, 2 * work // SHARE), -(-work // PIECE))
    axis = next((k for k, length in enumerate(leading) if length >= ALIGNED * count), leading.index(max(leading)))
    length = leading[axis]
    size = max(1, -(-length // count))
    step = ALIGNED if size > ALIGNED // 2 else LANES
    size = -(-size // step) * step
    return axis, [slice(start, min(start + size, length)) for start in range(0, length, size)]


def _in_pieces(
    ufunc: np.ufunc, layout: Layout, arrays: Sequence[Array], axis: int, pieces: list[slice], threads: int
) -> None:
    """Run the gufunc on slices of an axis, on several threads.

    arrays  inputs and outputs
    axis    counted from the last leading axis, −1

    NumPy's floating-point error settings are per thread. Pieces therefore only record what happened, and the caller's
    thread repeats one piece in which it did, under its own settings, so that NumPy reports it.
    """
    cuts: list[tuple[Array, Any]] = []  # with the preceding axes, None if it is broadcast along this one
    for array, axes in zip(arrays, layout.inputs + layout.outputs, strict=True):
        at = array.ndim - axes + axis
        cuts.append((array, (slice(None),) * at if at >= 0 and array.shape[at] > 1 else None))
    settings: dict[str, Any] = dict(np.geterr())
    noting: dict[str, Any] = {kind: "ignore" if mode == "ignore" else "call" for kind, mode in settings.items()}
    noted: dict[str, slice] = {}

    def call(piece: slice) -> None:
        ufunc(*[array if before is None else array[(*before, piece)] for array, before in cuts])

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
