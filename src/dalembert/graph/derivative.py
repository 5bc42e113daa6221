"""Derivatives written onto the tape: forward mode along a direction, reverse mode from an output."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.graph.tape import Expr, Graph

Zero = float  # a derivative that vanishes is the float 0.0, not a line on the tape


def partials(graph: Graph, line: int) -> list[tuple[int, Expr | float]]:
    """(operand, ∂line/∂operand) for each operand of the operation on ``line``."""
    op, args = graph.nodes[line]
    here = Expr(graph, line)
    operands = [Expr(graph, a) for a in args] if op not in ("const", "input") else []
    match op, operands:
        case (("const" | "input"), _):
            return []
        case "add", _:
            return [(args[0], 1.0), (args[1], 1.0)]
        case "sub", _:
            return [(args[0], 1.0), (args[1], -1.0)]
        case "mul", [x, y]:
            return [(args[0], y), (args[1], x)]
        case "div", [_, y]:
            return [(args[0], 1.0 / y), (args[1], -(here / y))]
        case "neg", _:
            return [(args[0], -1.0)]
        case "sqrt", _:
            return [(args[0], 0.5 / here)]
        case "sin", [x]:
            return [(args[0], x.cos())]
        case "cos", [x]:
            return [(args[0], -x.sin())]
        case "sign", _:
            return [(args[0], 0.0)]
        case "less", _:
            return [(args[0], 0.0), (args[1], 0.0)]
        case "select", [c, _, _]:
            return [(args[0], 0.0), (args[1], c.select(1.0, 0.0)), (args[2], c.select(0.0, 1.0))]
    raise KeyError(f"no derivative is known for '{op}'")


def _is_zero(x: Expr | float) -> bool:
    return x.graph.value(x.line) == 0.0 if isinstance(x, Expr) else x == 0.0


def forward(graph: Graph, outputs: Sequence[Expr | float], seeds: dict[int, Expr | float]) -> list[Expr | float]:
    """The derivative of each output along the direction that ``seeds`` gives for input lines."""
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
    """∂output/∂input for every input, in one sweep back over the tape."""
    if not isinstance(output, Expr):
        return [0.0] * len(inputs)
    depends = _depends_on(graph, {x.line for x in inputs}, output.line)
    bars: dict[int, Expr | float] = {output.line: 1.0}
    wanted = {x.line for x in inputs}
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


def _depends_on(graph: Graph, sources: set[int], last: int) -> list[bool]:
    depends = [False] * (last + 1)
    for line in range(last + 1):
        depends[line] = line in sources or any(depends[k] for k in graph.operands(line))
    return depends
