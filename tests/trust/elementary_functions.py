"""sin, cos and the other elementary functions of kernels in units of the last place, against mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import mpmath
import numpy as np

from dalembert.base.algebra import scalars
from dalembert.compiler.emit.llvm import Signature, llvm_ir
from dalembert.compiler.graph.tape import Graph
from dalembert.compiler.kernel.compile import MachineCode, object_code, target
from dalembert.compiler.kernel.gufunc import gufunc
from trust.check import Outcome, Task

Rng = np.random.Generator
DIGITS = 1200  # bits that a sine of 1e308 needs
BITS = 120


def work(task: Task, outcome: Outcome) -> None:
    """So many arguments, of all ranges of all functions in equal shares."""
    rng, share = task.rng, max(1, round(task.amount / len(RANGES)))
    for label, (name, draw) in RANGES.items():
        columns = draw(rng, share)
        values = compiled(name, len(columns))(*columns)
        with mpmath.workprec(DIGITS if name in ("sin", "cos") else BITS):
            for row, value in zip(
                zip(*(column.tolist() for column in columns), strict=True), values.tolist(), strict=True
            ):
                exact = getattr(mpmath, name)(*map(mpmath.mpf, row))
                where = f"{name}{row}, seed {task.seed}, piece {task.index}"
                outcome.measure(label, ulps(value, exact), where, bound=BOUNDS.get(name))
        outcome.count += share


# the remainder of an angle is rounded twice, which is up to 2 ulp of a sine in the next lower binade
BOUNDS = {"sin": 3.0, "cos": 3.0}


def ulps(value: float, exact: mpmath.mpf) -> float:
    """The error in units of the last place of the exact value, which is a subnormal number where that is one."""
    unit = mpmath.mpf(float(np.spacing(abs(float(exact)))))
    return float(abs(mpmath.mpf(value) - exact) / unit)


@cache
def compiled(name: str, arguments: int) -> Callable[..., np.ndarray]:
    """The function in machine code, of arrays."""
    graph = Graph()
    graph.output([getattr(scalars, name)(*(graph.input(f"x{k}") for k in range(arguments)))])
    shapes = Signature((("x", (arguments,)),), (("y", (1,)),))
    code = MachineCode(object_code(llvm_ir(graph, shapes, target().form())))
    kernel = gufunc(code, shapes.gufunc(), name, "", (compiled, (name, arguments)))
    return lambda *columns: kernel(np.stack(np.broadcast_arrays(*columns), axis=-1))[..., 0]


# -- arguments -------------------------------------------------------------------------------------


def _uniform(low: float, high: float) -> Callable[[Rng, int], list[np.ndarray]]:
    return lambda rng, count: [rng.uniform(low, high, count)]


def _powers(low: float, high: float, signs: tuple[float, ...] = (-1.0, 1.0)) -> Callable[[Rng, int], list[np.ndarray]]:
    """± 10ᵖ with p between these."""
    return lambda rng, count: [10.0 ** rng.uniform(low, high, count) * rng.choice(signs, count)]


def _near_quarters(rng: Rng, count: int) -> list[np.ndarray]:
    """Multiples of π/2 up to 1e6 as doubles, and numbers near them."""
    return [rng.integers(-636_000, 636_000, count) * (math.pi / 2) + rng.choice([0.0, 1e-12, -1e-9, 1e-6], count)]


def _points(rng: Rng, count: int) -> list[np.ndarray]:
    """Points of all directions and distances, some of them near the axes."""
    y, x = (rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(-9, 9, count) for _ in range(2))
    return [y, x]


def _extreme_points(rng: Rng, count: int) -> list[np.ndarray]:
    y, x = (rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(-150, 150, count) for _ in range(2))
    return [y, x]


def _near_one(rng: Rng, count: int) -> list[np.ndarray]:
    return [rng.choice([-1.0, 1.0], count) * (1.0 - 10.0 ** rng.uniform(-15, -1, count))]


RANGES: dict[str, tuple[str, Callable[[Rng, int], list[np.ndarray]]]] = {
    **{f"{name} x, |x| ≤ 4": (name, _uniform(-4, 4)) for name in ("sin", "cos")},
    **{f"{name} x, |x| ≤ 1e6": (name, _uniform(-1e6, 1e6)) for name in ("sin", "cos")},
    **{f"{name} x, near multiples of π/2": (name, _near_quarters) for name in ("sin", "cos")},
    **{f"{name} x, 1e6 ≤ |x| ≤ 1e308": (name, _powers(6, 308)) for name in ("sin", "cos")},
    "sin x, |x| down to 1e-320": ("sin", _powers(-320, 0)),
    "exp x, −708 ≤ x ≤ 709": ("exp", _uniform(-708, 709)),
    "exp x, |x| ≤ 1": ("exp", _powers(-20, 0)),
    "ln x, 1e-323 ≤ x ≤ 1e308": ("log", _powers(-323, 308, (1.0,))),
    "ln x, 0.5 ≤ x ≤ 2": ("log", _uniform(0.5, 2)),
    "tanh x, |x| ≤ 25": ("tanh", _uniform(-25, 25)),
    "tanh x, |x| down to 1e-320": ("tanh", _powers(-320, 0)),
    "atan2(y, x), 1e-9 to 1e9": ("atan2", _points),
    "atan2(y, x), 1e-150 to 1e150": ("atan2", _extreme_points),
    "arcsin x, |x| ≤ 1": ("asin", _uniform(-1, 1)),
    "arcsin x, |x| near 1": ("asin", _near_one),
    "arccos x, |x| ≤ 1": ("acos", _uniform(-1, 1)),
    "arccos x, |x| near 1": ("acos", _near_one),
}
