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
    "select": lambda f, c, x, y: (0.0, c.select(1.0, 0.0), c.select(0.0, 1.0)),
}


def partials(graph: Graph, line: int) -> list[tuple[int, Expr | float]]:
    """(operand, ∂line/∂operand) for each operand of the operation on ``line``."""
    operands = graph.operands(line)
    if not operands:
        return []
    slopes = SLOPES[graph.op(line)](Expr(graph, line), *(Expr(graph, k) for k in operands))
    return list(zip(operands, slopes, strict=True))


def _is_zero(x: Expr | float) -> bool:
    return x.graph.value(x.line) == 0.0 if isinstance(x, Expr) else x == 0.0


def forward(graph: Graph, outputs: Sequence[Expr | float], seeds: dict[int, Expr | float]) -> list[Expr | float]:
    """The derivative of each output along the direction given by ``seeds`` for the input lines."""
    dots: dict[int, Expr | float] = dict(seeds)
    lines = [y.line for y in outputs if isinstance(y, Expr)]
    for line in range(max(lines, default=-1) + 1):
        if line in dots:
            continue
        total: Expr | float = 0.0
        for operand, slope in partials(graph, line) if any(k in dots for k in graph.operands(line)) else ():
            if operand in dots:
                total = total + slope * dots[operand]
        if not _is_zero(total):
            dots[line] = total
    return [dots.get(y.line, 0.0) if isinstance(y, Expr) else 0.0 for y in outputs]


def gradient(graph: Graph, output: Expr | float, inputs: Sequence[Expr]) -> list[Expr | float]:
    """∂output/∂input for every input, in one backward sweep over the tape."""
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
        bar = bars.pop(line)
        for operand, slope in partials(graph, line):
            if depends[operand] and not _is_zero(slope):
                bars[operand] = bars.get(operand, 0.0) + bar * slope
    return [bars.get(x.line, 0.0) for x in inputs]


def jacobian(graph: Graph, outputs: Sequence[Expr | float], inputs: Sequence[Expr]) -> list[list[Expr | float]]:
    """[[∂y/∂x for x in inputs] for y in outputs], by reverse mode."""
    return [gradient(graph, y, inputs) for y in outputs]
