"""Derivatives written onto the tape: forward mode along a direction, reverse mode from an output."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dalembert.compiler.graph.tape import Expr, Graph

# for each operation with value f and operands x, y, …: ∂f/∂x, ∂f/∂y, …; zero derivatives are the float 0.0, not a line
SLOPES: dict[str, Callable[..., tuple[Expr | float, ...]]] = {
    "add": lambda f, x, y: (1.0, 1.0),
    "sub": lambda f, x, y: (1.0, -1.0),
    "mul": lambda f, x, y: (y, x),
    "div": lambda f, x, y: (1.0 / y, -(f / y)),
    "neg": lambda f, x: (-1.0,),
    "sqrt": lambda f, x: (0.5 / f,),
    "sin": lambda f, x: (x.cos(),),
    "cos": lambda f, x: (-x.sin(),),
    "exp": lambda f, x: (f,),
    "log": lambda f, x: (1.0 / x,),
    "tanh": lambda f, x: (1.0 - f * f,),
    "atan2": lambda f, y, x: (x / (x * x + y * y), -(y / (x * x + y * y))),
    "asin": lambda f, x: (1.0 / ((1.0 - x) * (1.0 + x)).sqrt(),),
    "acos": lambda f, x: (-1.0 / ((1.0 - x) * (1.0 + x)).sqrt(),),
    "sign": lambda f, x: (0.0,),
    "less": lambda f, x, y: (0.0, 0.0),
}

SINGULAR = {"div", "sqrt", "log", "atan2", "asin", "acos"}  # whose slopes may be infinite


def _slopes(graph: Graph, line: int) -> list[tuple[int, Expr | float]]:
    """(operand, ∂line/∂operand) for each operand of the operation on ``line``."""
    operands = graph.operands(line)
    slopes = SLOPES[graph.op(line)](Expr(graph, line), *(Expr(graph, k) for k in operands))
    return list(zip(operands, slopes, strict=True))


def _along(graph: Graph, line: int, dots: dict[int, Expr | float]) -> Expr | float:
    """The derivative of a line, from those of its operands; a choice takes that of the operand that is chosen, so that
    the other one may be infinite or NaN."""
    if graph.op(line) == "select":
        c, *choices = graph.operands(line)
        x, y = (dots.get(k, 0.0) for k in choices)
        return Expr(graph, c).select(x, y)
    total: Expr | float = 0.0
    for operand, slope in _slopes(graph, line):
        if operand in dots:
            total = total + slope * dots[operand]
    return total


def _shares(graph: Graph, line: int, bar: Expr | float, guarded: bool) -> list[tuple[int, Expr | float]]:
    """(operand, share of the gradient ``bar`` with respect to the line) for each operand of its operation."""
    if not graph.operands(line):
        return []
    if graph.op(line) == "select":
        c, x, y = graph.operands(line)
        chosen = Expr(graph, c)
        return [(x, chosen.select(bar, 0.0)), (y, chosen.select(0.0, bar))]
    if guarded and isinstance(bar, Expr) and graph.op(line) in SINGULAR:
        slopes = _slopes(graph, line)
        return [(operand, bar.select(bar * slope, 0.0)) for operand, slope in slopes if not _is_zero(slope)]
    return [(operand, bar * slope) for operand, slope in _slopes(graph, line) if not _is_zero(slope)]


def _is_zero(x: Expr | float) -> bool:
    return x.graph.value(x.line) == 0.0 if isinstance(x, Expr) else x == 0.0


def forward(graph: Graph, outputs: Sequence[Expr | float], seeds: dict[int, Expr | float]) -> list[Expr | float]:
    """The derivative of each output along the direction given by ``seeds`` for the input lines."""
    dots: dict[int, Expr | float] = dict(seeds)
    lines = [y.line for y in outputs if isinstance(y, Expr)]
    for line in range(max(lines, default=-1) + 1):
        if line in dots:
            continue
        total = _along(graph, line, dots) if any(k in dots for k in graph.operands(line)) else 0.0
        if not _is_zero(total):
            dots[line] = total
    return [dots.get(y.line, 0.0) if isinstance(y, Expr) else 0.0 for y in outputs]


def gradient(graph: Graph, output: Expr | float, inputs: Sequence[Expr], guarded: bool = False) -> list[Expr | float]:
    """∂output/∂input for every input, in one backward sweep over the tape.

    guarded  whether operations that are not chosen may have infinite or NaN slopes, which then count as zero
    """
    if not isinstance(output, Expr):
        return [0.0] * len(inputs)
    wanted = {x.line for x in inputs}
    depends: list[bool] = []
    for line in range(output.line + 1):
        depends.append(line in wanted or any(depends[k] for k in graph.operands(line)))
    bars: dict[int, Expr | float] = {output.line: 1.0}
    for line in range(output.line, -1, -1):
        if line not in bars or not depends[line] or line in wanted:
            continue
        for operand, share in _shares(graph, line, bars.pop(line), guarded):
            if depends[operand]:
                bars[operand] = bars.get(operand, 0.0) + share
    return [bars.get(x.line, 0.0) for x in inputs]


def jacobian(graph: Graph, outputs: Sequence[Expr | float], inputs: Sequence[Expr]) -> list[list[Expr | float]]:
    """[[∂y/∂x for x in inputs] for y in outputs], by reverse mode."""
    return [gradient(graph, y, inputs) for y in outputs]
