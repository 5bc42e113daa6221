"""Vec and Mat: the operators of the page, on every kind of scalar, with no compiler and no NumPy."""

from __future__ import annotations

import pickle
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy

from dalembert.base.algebra.vectors import IDENTITY, ZERO, Mat, RotZ, Vec, Z, rotation_about, skew, vec_sum
from dalembert.compiler.graph.count import Counted
from dalembert.compiler.graph.tape import Graph
from dalembert.mechanics.symbols.ring import Ring

a, b = Vec((1.0, -2.0, 3.0)), Vec((0.5, 4.0, -1.0))
A, B = Mat.of(((1.0, 2.0, 3.0), (-4.0, 5.0, 6.0), (7.0, 8.0, -9.0))), rotation_about(Z, 0.3)


def test_operators_are_those_of_numpy() -> None:
    x, y, M, N = np.array(a), np.array(b), np.array(A), np.array(B)
    cases = [
        (a + b, x + y), (a - b, x - y), (-a, -x), (2.0 * a, 2 * x), (a * 2, 2 * x), (a.dot(b), x @ y),
        (a.cross(b), np.cross(x, y)), (a.outer(b), np.outer(x, y)), (a.norm, np.linalg.norm(x)),
        (A @ a, M @ x), (A.T @ a, M.T @ x), (A @ B, M @ N), (A + B, M + N), (A - B, M - N), (-A, -M), (3.0 * A, 3 * M),
        (A.trace, np.trace(M)), (skew(a) @ b, np.cross(x, y)), (vec_sum([a, b, a]), 2 * x + y),
    ]  # fmt: skip
    for ours, theirs in cases:
        assert np.allclose(np.array(ours), theirs, rtol=0, atol=1e-14)
    assert vec_sum([]) == ZERO and IDENTITY @ a == a


def test_rotation_about_z_is_the_matrix_with_fewer_products() -> None:
    turn = RotZ(np.cos(0.3), np.sin(0.3))
    for ours, by_matrix in (
        (turn @ a, B @ a),
        (turn.back(a), B.T @ a),
        (turn.both(A), B @ A @ B.T),
        (turn.matrix, B),
    ):
        assert np.allclose(np.array(ours), np.array(by_matrix), rtol=0, atol=1e-14)


def scalars() -> list[Any]:
    ring = Ring()
    return [
        2,
        2.0,
        np.float64(2.0),
        Fraction(2),
        sympy.Symbol("k"),
        Graph().input("k"),
        Counted(lambda field: None),
        ring.letter("k"),
    ]


@pytest.mark.parametrize("s", scalars(), ids=lambda s: type(s).__name__)
def test_every_scalar_scales_from_either_side(s: Any) -> None:
    for scaled in (s * a, a * s, s * A, A * s):
        assert type(scaled) in (Vec, Mat) and len(scaled) == 3
    assert [repr(x) for x in s * a] == [repr(s * x) for x in a]


def test_arrays_take_vectors_as_rows_of_numbers() -> None:
    x = np.arange(3.0)
    for got in (x + a, a + x, x - a, a - x, np.array(A) @ a):
        assert isinstance(got, np.ndarray) and got.shape == (3,)


def test_vectors_stay_tuples() -> None:
    """They are compared, hashed, printed and pickled like those."""
    assert a == (1.0, -2.0, 3.0) and hash(a) == hash((1.0, -2.0, 3.0)) and repr(a) == "(1.0, -2.0, 3.0)"
    again = pickle.loads(pickle.dumps(A))
    assert again == A and type(again) is Mat and type(again[0]) is Vec
    with pytest.raises(TypeError):
        a + 1.0


def test_other_sizes() -> None:
    """M's 4×4 matrices, and Jacobians."""
    M = np.random.default_rng(0).uniform(-1, 1, (4, 6))
    ours = Mat.of(M.tolist())
    assert np.allclose(np.array(ours @ ours.T), M @ M.T) and np.allclose(np.array(ours.T @ Vec(M[:, 0])), M.T @ M[:, 0])


def test_a_traced_formula_writes_nothing_else() -> None:
    """The tape of (7.109) has the operations that the page has: no zero is added, nothing is written twice."""
    graph = Graph(simplify=False)

    def vector(name: str) -> Vec:
        return Vec(graph.input(f"{name}{k}") for k in range(3))

    R, pdd, omega, omega_dot, r = Mat(map(vector, "uvw")), vector("p"), vector("o"), vector("d"), vector("r")
    graph.output(R.T @ pdd + omega_dot.cross(r) + omega.cross(omega.cross(r)))
    done = [op for op, _ in graph.nodes if op != "input"]
    assert (done.count("mul"), done.count("add"), done.count("sub")) == (9 + 3 * 6, 6 + 6, 3 * 3)
    assert len(done) == 48


def test_the_equations_run_on_floats_without_numpy_or_a_compiler() -> None:
    code = (
        "import sys; from dalembert.base.algebra.vectors import Vec; import dalembert.mechanics.equations.kinematics;"
        "print([m for m in ('numpy', 'llvmlite', 'sympy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
