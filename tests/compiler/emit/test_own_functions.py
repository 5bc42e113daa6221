"""The functions that C without a library gets: within 2 ulp of mpmath everywhere, angles beyond 10⁶ rad included."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from compilers import library
from dalembert.compiler.emit.c99 import FUNCTIONS
from dalembert.compiler.emit.c99_functions import own_functions

# beside random ones: nearest to a multiple of π/2 of all doubles, subnormal numbers, the ends of ranges
HARD = [6381956970095103.0 * 2.0**797, 1e6, 1000000.5, 1e22, 5e-324, 2.3e-308, 1.7976931348623157e308, 0.5, 0.55, 1.0]
RANGES = {
    "sin": (3.0, 1e3, 1e7, 1e300), "cos": (3.0, 1e3, 1e7, 1e300), "sqrt": (1.0, 1e300), "exp": (1.0, 100.0, 740.0),
    "log": (2.0, 1e300), "tanh": (0.6, 25.0), "asin": (1.0,), "acos": (1.0,), "atan2": (1.0, 1e30),
}  # fmt: skip


@pytest.fixture(scope="module", params=["double", "float"])
def functions(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[type, dict[str, object]]:
    import ctypes

    kind, folder = request.param, tmp_path_factory.mktemp("own")
    lines = [own_functions(FUNCTIONS, kind, "own_")]
    for name in FUNCTIONS:
        pairs, values = ("double x, double y", "x, y") if name == "atan2" else ("double x", "x")
        head = f"{kind} all_{name}({pairs.replace('double', kind)})"
        lines.append(f"{head};\n{head}\n{{\n    return own_{name}({values});\n}}")
    (folder / "own.c").write_text("\n\n".join(lines) + "\n")
    loaded = library("gcc", folder, "-O2")
    number = ctypes.c_double if kind == "double" else ctypes.c_float
    table = {}
    for name in FUNCTIONS:
        function = getattr(loaded, f"all_{name}")
        function.restype, function.argtypes = number, [number] * (2 if name == "atan2" else 1)
        table[name] = function
    return (np.float64 if kind == "double" else np.float32), table


@pytest.mark.parametrize("name", FUNCTIONS)
def test_own_functions_are_within_2_ulp(name: str, functions: tuple[type, dict[str, object]]) -> None:
    kind, table = functions
    rng = np.random.default_rng(3)
    exact = getattr(mpmath, name)
    mpmath.mp.prec = 1300
    largest = float(np.finfo(kind).max)
    arguments = [x for x in HARD if x <= largest]
    for reach in RANGES[name]:
        arguments += list(rng.uniform(-1, 1, 60) * min(reach, largest))
    for x in arguments:
        values = (kind(x), kind(rng.uniform(-1, 1) * min(abs(x), 1e30))) if name == "atan2" else (kind(x),)
        if name in ("sqrt", "log"):
            values = (abs(values[0]),)
        if name in ("asin", "acos") and abs(values[0]) > 1:
            continue
        with np.errstate(over="ignore"):
            want = exact(*(mpmath.mpf(float(v)) for v in values))
            nearest = kind(float(want)) if abs(want) < 1e308 else kind(math.copysign(math.inf, want))
        got = table[name](*map(float, values))  # type: ignore[operator]
        if not np.isfinite(nearest):
            assert got == nearest
            continue
        assert abs(mpmath.mpf(got) - want) <= 2 * float(np.spacing(abs(nearest))), (name, values)


def test_own_functions_at_the_ends(functions: tuple[type, dict[str, object]]) -> None:
    """Infinity and NaN, as in C99."""
    _, table = functions
    call = {name: (lambda *x, f=f: f(*x)) for name, f in table.items()}
    inf, nan = math.inf, math.nan
    assert all(math.isnan(call[name](nan)) for name in FUNCTIONS if name != "atan2")
    assert all(math.isnan(call[name](x)) for name in ("sin", "cos") for x in (inf, -inf))
    assert all(math.isnan(call[name](x)) for name in ("asin", "acos") for x in (1.5, -1.5, inf))
    assert (call["exp"](inf), call["exp"](-inf), call["exp"](1000.0)) == (inf, 0.0, inf)
    assert call["log"](0.0) == -inf and call["log"](inf) == inf and math.isnan(call["log"](-1.0))
    assert call["sqrt"](inf) == inf and call["sqrt"](0.0) == 0.0 and math.isnan(call["sqrt"](-1.0))
    assert (call["tanh"](inf), call["tanh"](-inf)) == (1.0, -1.0)
    for y in (0.0, -0.0, 1.0, -1.0, inf, -inf, nan):
        for x in (0.0, -0.0, 1.0, -1.0, inf, -inf, nan):
            got, want = call["atan2"](y, x), math.atan2(y, x)
            assert (math.isnan(got) and math.isnan(want)) or (
                abs(got - want) < 1e-6 and math.copysign(1.0, got) == math.copysign(1.0, want)
            )
