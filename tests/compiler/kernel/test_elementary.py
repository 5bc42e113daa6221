"""exp, log, tanh, atan2, asin, acos: to 2 ulp, special values as in C99, no flags, on floats and in every width."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import mpmath
import numpy as np
import pytest

from compilers import ELSEWHERE
from dalembert.base.algebra import scalars
from dalembert.base.algebra.dual import Dual
from dalembert.compiler.emit.elementary import ELEMENTARY, HIGHEST, LOWEST, NEAR
from dalembert.compiler.emit.ir import Form
from dalembert.compiler.emit.llvm import Signature, llvm_ir
from dalembert.compiler.graph.count import Counted, count
from dalembert.compiler.graph.derivative import forward, gradient
from dalembert.compiler.graph.tape import ON_SCALARS, OPERATIONS, Expr, Graph, evaluate
from dalembert.compiler.kernel.compile import MachineCode, object_code, target
from dalembert.compiler.kernel.gufunc import gufunc
from dalembert.mechanics.symbols.laws import Symbolic
from dalembert.work.identification.fitting.term_columns import Samples
from test_kernels import ulps

ROOM = np.random.default_rng(12)
COUNT = 500


def scattered(low: float, high: float) -> np.ndarray:
    """± 10ᵖ, low ≤ p ≤ high"""
    return 10 ** ROOM.uniform(low, high, COUNT) * ROOM.choice([-1.0, 1.0], COUNT)


def around(*points: float) -> np.ndarray:
    """A few doubles on either side of each point, and the points."""
    return np.concatenate([x + np.arange(-3, 4) * np.spacing(abs(x)) for x in points])


# arguments, as columns: at random, and where a function changes its way
ARGUMENTS: dict[str, list[np.ndarray]] = {
    "exp": [
        np.concatenate([
            ROOM.uniform(-708, 709.7, COUNT), ROOM.uniform(-1, 1, COUNT), scattered(-20, 1), ROOM.uniform(LOWEST, -708, 50),
            around(*(np.arange(-9, 10) + 0.5) * math.log(2)), [HIGHEST, LOWEST],
        ])
    ],
    "log": [
        np.concatenate([
            ROOM.uniform(0, 2, COUNT), np.abs(scattered(-323, 308)), 1 + scattered(-15, -1),
            around(1.0, 2.0, math.sqrt(2), math.sqrt(0.5), math.e, 2.0**-1022),
        ])
    ],
    "tanh": [
        np.concatenate([
            ROOM.uniform(-1, 1, COUNT), ROOM.uniform(-25, 25, COUNT), scattered(-320, 1), NEAR + ROOM.uniform(0, 1e-3, COUNT),
            around(NEAR, -NEAR, 19.0615, 22.0),
        ])
    ],
    "atan2": [
        np.concatenate([ROOM.normal(size=COUNT), scattered(-150, 150), ROOM.uniform(0.9, 1.1, COUNT), scattered(-30, 0)]),
        np.concatenate([ROOM.normal(size=COUNT), scattered(-150, 150), np.ones(COUNT), -np.abs(scattered(-30, 0))]),
    ],
    "asin": [np.concatenate([ROOM.uniform(-1, 1, COUNT), scattered(-320, 0), 1 - np.abs(scattered(-15, -1)), around(0.5)])],
    "acos": [np.concatenate([ROOM.uniform(-1, 1, COUNT), scattered(-320, 0), 1 - np.abs(scattered(-15, -1)), around(-0.5)])],
}  # fmt: skip

SPECIAL = [
    *(
        0.0,
        5e-324,
        1e-310,
        2.0**-1022,
        1e-200,
        1e-20,
        0.25,
        0.5,
        1.0,
        2.0,
        30.0,
        1e200,
        1.7976931348623157e308,
        math.inf,
    ),
    *(np.nextafter(HIGHEST, 800), -np.nextafter(LOWEST, -800), 800.0, math.nan),
]
BOTH_SIGNS = [sign * x for x in SPECIAL for sign in (1.0, -1.0)]


def test_every_function_is_tried() -> None:
    assert ARGUMENTS.keys() == ELEMENTARY.keys() < OPERATIONS.keys()


def on_tape(name: str) -> Graph:
    g = Graph()
    g.output([getattr(scalars, name)(*(g.input(f"x{k}") for k in range(len(ARGUMENTS[name]))))])
    return g


def compiled(name: str, width: int | None = None, fused: bool = True) -> Callable[..., np.ndarray]:
    """The function in machine code, of arrays."""
    graph = on_tape(name)
    shapes = Signature((("x", (len(graph.inputs),)),), (("y", (1,)),))
    (text,) = llvm_ir(graph, shapes, Form(width) if width else target().form())
    code = MachineCode(object_code([text if fused else text.replace(" contract", "")]))
    kernel = gufunc(code, shapes.gufunc(), name, "", (compiled, (name,)))
    return lambda *columns: kernel(np.stack(np.broadcast_arrays(*columns), axis=-1))[..., 0]


@pytest.mark.parametrize("name", ELEMENTARY)
def test_function_is_within_two_ulp(name: str) -> None:
    """With and without fused multiplication and addition."""
    columns = ARGUMENTS[name]
    with mpmath.workprec(120):
        exact = [
            getattr(mpmath, name)(*map(mpmath.mpf, row)) for row in zip(*(c.tolist() for c in columns), strict=True)
        ]
        for fused in (True, False):
            values = compiled(name, fused=fused)(*columns)
            assert max(map(ulps, values, exact)) <= 2.0


@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.parametrize("name", ELEMENTARY)
def test_special_values_are_those_of_c(name: str, width: int) -> None:
    """±0, subnormal numbers, ±∞ and NaN, quietly; the tape run in Python agrees, and so does a constant folded."""
    if width > target().width:
        pytest.skip(f"{ELSEWHERE} the processor has narrower vectors")
    rows = list(product(BOTH_SIGNS, repeat=len(ARGUMENTS[name])))
    with np.errstate(all="raise", under="ignore"):
        values = compiled(name, width)(*np.array(rows).T)
    g, plain = Graph(), on_tape(name)
    for row, value in zip(rows, values.tolist(), strict=True):
        (expected,) = evaluate(plain, row)
        folded = g.value(getattr(scalars, name)(*map(g.constant, row)).line)
        assert np.array_equal(folded, expected, equal_nan=True)
        assert math.isnan(value) == math.isnan(expected), row
        if not math.isnan(expected):
            assert math.copysign(1.0, value) == math.copysign(1.0, expected), row
            close = math.isfinite(expected) and abs(value - expected) <= 2 * np.spacing(abs(expected))
            assert close or value == expected, row


@pytest.mark.parametrize("name", ELEMENTARY)
def test_value_does_not_depend_on_neighbours(name: str) -> None:
    f = compiled(name)
    columns = [np.resize(np.array([0.3, math.nan, -2.0, math.inf, 0.7, 1e300, -0.1]), 40)[k:] for k in range(2)]
    columns = [column[:38] for column in columns[: len(ARGUMENTS[name])]]
    together = f(*columns)
    alone = [float(f(*row)) for row in zip(*columns, strict=True)]
    assert np.array_equal(together, alone, equal_nan=True)


@pytest.mark.parametrize("name", ELEMENTARY)
def test_floats_are_rounded_once(name: str) -> None:
    single = [np.clip(c, -80, 80).astype(np.float32) for c in ARGUMENTS[name]]
    f = compiled(name)
    values = f(*single)
    with np.errstate(under="ignore"):
        assert values.dtype == np.float32
        assert np.array_equal(values, f(*(x.astype(float) for x in single)).astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("name", ELEMENTARY)
def test_derivatives_are_differences(name: str) -> None:
    """Forward and reverse mode, on floats."""
    points = [[0.3, 0.7], [0.9, -0.4], [0.2, 1.2]]
    graph = on_tape(name)
    inputs, (y,) = ([Expr(graph, k) for k in lines] for lines in (graph.inputs, graph.outputs))
    slopes = gradient(graph, y, inputs)
    along = forward(graph, [y], {x.line: 1.0 + k for k, x in enumerate(inputs)})
    graph.outputs = []
    graph.output([*slopes, *along])
    for point in points:
        at = point[: len(inputs)]
        *values, total = evaluate(graph, at)
        h = 1e-5
        for k, value in enumerate(values):
            ends = [OPERATIONS[name](*(x + s * h * (j == k) for j, x in enumerate(at))) for s in (1, -1)]
            assert value == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-8)
        assert total == pytest.approx(sum((1.0 + k) * value for k, value in enumerate(values)))


def test_numbers_mix_with_expressions_and_functions_are_counted() -> None:
    g, counted = Graph(), list[str]()

    def values(x: scalars.Scalar) -> list[scalars.Scalar]:
        return [scalars.exp(x) * scalars.tanh(x), scalars.atan(x), scalars.atan2(1.0, x), scalars.atan2(x, 2.0)]

    g.output(values(g.input("x")))
    values(Counted(counted.append))
    assert evaluate(g, [-0.7]) == values(-0.7)
    assert count(g).functions == counted.count("functions") == 5


@pytest.mark.parametrize("name", ELEMENTARY)
def test_laws_of_terms_can_use_it_everywhere(name: str) -> None:
    """In dynamics, in derivatives, in identification, in symbols, and where a tape is run again."""
    assert all(hasattr(scalar, name) for scalar in (Expr, Dual, Samples, Symbolic)) and name in ON_SCALARS
