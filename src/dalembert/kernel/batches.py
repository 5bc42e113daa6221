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

# what a state costs is measured by the numbers that come out for it, about 0.2 ns each; one that goes in costs as much as
GOES_IN = 4  # of them: sines, cosines and what is made of them
SHARE = 3 << 18  # cost below which a further thread does not pay: about 160 µs
PIECE = 1 << 23  # cost of the largest piece: about 2 ms, after which Ctrl-C is heard
PIECES = 4  # for each thread, so that one that is held up leaves some to the others
LANES = 8  # states side by side that a kernel computes at once: no piece has fewer
ALIGNED = 64  # states: longer pieces begin where cache lines do
ONE_BLOCK = 100_000  # numbers in several results together from which they are given one piece of memory

_CORES = re.compile(r"\((.*?)\)")  # the core shapes in a gufunc's signature
_KINDS = {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}


class Layout(NamedTuple):
    """What a gufunc's signature says of its batches.

    inputs   how many core axes each has
    outputs  likewise
    shapes   the core shapes of the outputs; none where a size is a letter, which the arrays tell
    cost     of one state; 0 where a size is a letter
    alone    up to how many numbers in one input one thread does a batch, unless the caller says otherwise
    loose    up to how many numbers in one input several results have memory of their own
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    cost: int
    alone: int
    loose: int


@cache
def layout_of(signature: str) -> Layout:
    """What a signature says.

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
    """``ufunc(*arrays, out=out)``, a large batch on several threads.

    threads  how many at most; None: by the size of the batch, the CPUs that may be used, and OMP_NUM_THREADS
    cost     of one state, beside that of a number that comes out; without it, by the numbers that go in and out
    Warnings and errors about floating-point numbers are those of one call, in the caller's thread.

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


def _leading(layout: Layout, arrays: Sequence[Any], out: tuple[Array, ...] | None) -> tuple[int, ...] | None:
    """The leading shape of a batch; None where it is NumPy's, or a lazy array's, to run the gufunc or to refuse it."""
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

    NumPy's settings for floating-point errors belong to a thread. Pieces therefore note only what happened, and one of
    those where it did is run again by the caller's thread, under its own settings, for NumPy to report it.
    """
    cuts: list[
        tuple[Array, tuple[slice, ...] | None]
    ] = []  # with the axes before, where it is not broadcast along this
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
