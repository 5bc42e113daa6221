"""Derivatives of programs: along a direction as differences say, backwards as the transpose of that, whatever a step does with
its slots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from arms import NUMPY
from dalembert.base.algebra.scalars import flat, less, select, sqrt
from dalembert.compiler.graph.program import Program, Recorder, perform
from dalembert.compiler.graph.program_derivative import Differentiated, adjoint, pass_by_pass, tangent
from dalembert.compiler.graph.tape import Graph, evaluate

STEPS, BY = 3, ("c", "u")


def recorded() -> tuple[Program, dict[str, Any]]:
    """A step that writes a slot twice, repeats a call, makes one under a condition, and takes several passes."""
    r = Recorder()
    x, y, z, c, u = r.slot("x", 2), r.slot("y", 2), r.slot("z", 2), r.slot("c"), r.slot("u")
    turn, turn1, more, big = r.flag("turn"), r.flag("turn1"), r.flag("more"), r.flag("big")
    part, part1, again, x1, t = r.slot("part"), r.slot("part1"), r.flag("again"), r.slot("x1", 2), r.slot("t", 2)
    r.record(lambda x, c: [x[0] * x[1], c * x[0]], x, c, to=y, name="twist")
    r.record(lambda y, u, t: ([y[0] + u, y[1] - t * u], t + 1.0, less(t, 2.0)), y, u, turn, to=(z, turn1, more),
             name="repeat", again=more, carry=((turn1, turn),))  # fmt: skip
    r.record(lambda z, c: [z[0] * z[1], c * z[0]], z, c, to=y, name="twist")  # y for the second time
    r.record(lambda y: less(0.0, y[0]), y, to=big, name="look")
    r.record(lambda y, b: [select(b, v * v, v) for v in y], y, big, to=z, name="bend", when=big)
    r.record(lambda z, b, y: [select(b, v, w) for v, w in zip(z, y, strict=True)], z, big, y, to=t, name="take")
    r.record(
        lambda x, y, p: ([a + 0.1 * (b + p) for a, b in zip(x, y, strict=True)], p + 0.01 * x[0], less(p, 0.005)),
        x, t, part, to=(x1, part1, again), name="end",
    )  # fmt: skip
    program = Program(
        r.sizes, tuple(r.calls), (("x1", "x"), ("part1", "part")), ("x",), ("turn", "part"), ("u",), ("c",), "again",
        frozenset(r.discrete),
    )  # fmt: skip
    return program, r.pieces


def functions(program: Program, pieces: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """The pieces as compiled code sees them: traced once, then evaluated."""

    def traced(name: str, sizes: Sequence[int], results: Sequence[int]) -> Callable[..., Any]:
        graph = Graph()
        rows = [[graph.input(f"x{k}_{i}") for i in range(size)] for k, size in enumerate(sizes)]
        graph.output(flat(pieces[name](*rows)))

        def run(*values: Any) -> Any:
            with np.errstate(all="ignore"):
                found = evaluate(graph, [np.array([v]) for v in flat(values)], NUMPY)
            flattened = iter(float(np.ravel(v)[0]) for v in found)
            return [[next(flattened) for _ in range(size)] for size in results]

        return run

    return {
        call.function: traced(
            call.function, *([program.sizes[x] for x in side] for side in (call.inputs, call.outputs))
        )
        for call in program.calls
    }


def steps(program: Program, pieces: dict[str, Any], inputs: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The state after each step; stepwise inputs have a row per step."""
    made, memory, states = functions(program, pieces), {x: [0.0] * size for x, size in program.sizes.items()}, []
    memory |= {x: list(inputs[x]) for x in (*program.state, *program.constant) if x in inputs}
    for k in range(count):
        memory |= {x: list(inputs[x][k]) for x in program.stepwise if x in inputs}
        perform(program, made, memory, lambda size: [0.0] * size, any)
        states.append({x: list(memory[x]) for x in program.state})
    return states


@pytest.fixture(scope="module")
def given() -> dict[str, Any]:
    return {"x": [0.7, -0.4], "c": [0.8], "u": [[0.3], [-0.6], [0.5]]}


def test_a_direction_is_that_of_differences(given: dict[str, Any]) -> None:
    program, pieces = recorded()
    along: Differentiated = tangent(program, pieces, {}, BY)
    directions = {"d_x": [1.0, 0.5], "d_c": [-0.3], "d_u": [[0.2], [0.1], [-0.7]]}
    (*_, end) = steps(along.program, along.pieces, given | directions, STEPS)
    h = 1e-6

    def moved(h: float) -> np.ndarray:
        inputs = {x: np.array(v) + h * np.array(directions[f"d_{x}"]) for x, v in given.items()}
        return np.array(steps(program, pieces, inputs, STEPS)[-1]["x"])

    assert np.allclose(end["d_x"], (moved(h) - moved(-h)) / (2 * h), rtol=1e-8)


def test_passes_backwards_are_the_transpose_of_a_direction(given: dict[str, Any]) -> None:
    program, pieces = recorded()
    along = tangent(program, pieces, {}, BY)
    passes = pass_by_pass(program)
    back = adjoint(passes, pieces, {}, BY, guarded=True)
    w = np.array([0.4, -1.1])
    slopes: dict[str, Any] = {"g_x": list(w), "g_c": [0.0]}
    x, u_slopes = [given["x"], *(s["x"] for s in steps(program, pieces, given, STEPS))], np.zeros((STEPS, 1))
    for k in reversed(range(STEPS)):
        most = 4  # passes, of which those after the end of the step change nothing but would count: end with the step
        rows = [given["u"][k]] * most
        after = steps(passes, pieces, {"x": x[k], "c": given["c"], "u": rows}, most)
        last = next(i for i, s in enumerate(after) if np.allclose(s["x"], x[k + 1], rtol=1e-14)) + 1
        before = [{"x": x[k], "part": [0.0], "turn": [0.0]}, *after[: last - 1]][::-1]
        inputs = {name: [s[name] for s in before] for name in passes.state} | {"u": rows[:last], "c": given["c"]}
        inputs |= {f"w_{name}": [[0.0] * passes.sizes[name]] * last for name in ("x", "part")} | slopes
        done = steps(back.program, back.pieces, inputs, last)
        slopes = {name: done[-1][name] for name in ("g_x", "g_c")}
        u_slopes[k] = sum(s["g_u"][0] for s in done)
    for name, found in {"x": slopes["g_x"], "c": slopes["g_c"], "u": u_slopes.ravel()}.items():
        for i, slope in enumerate(found):
            zero = {f"d_{x}": np.zeros_like(v) for x, v in given.items()}
            np.ravel(zero[f"d_{name}"])[i] = 1.0
            (*_, end) = steps(along.program, along.pieces, given | zero, STEPS)
            assert w @ end["d_x"] == pytest.approx(slope, rel=1e-12, abs=1e-14), (name, i)


def test_a_choice_that_is_not_taken_may_have_an_infinite_slope() -> None:
    program = Recorder()
    x, y = program.slot("x"), program.slot("y")
    program.record(lambda x: select(less(0.0, x), sqrt(x), 2.0 * x), x, to=y, name="root")
    whole = Program(program.sizes, tuple(program.calls), (("y", "x"),), ("x",))
    for guarded, expected in ((True, 2.0), (False, np.nan)):
        back = adjoint(whole, program.pieces, {}, (), guarded=guarded)
        (found,) = steps(back.program, back.pieces, {"x": [[0.0]], "w_x": [[0.0]], "g_x": [1.0]}, 1)
        assert np.array_equal(found["g_x"], [expected], equal_nan=True)
