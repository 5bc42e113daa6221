"""Passes over a finished tape: each takes a graph and gives a new one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from dalembert.graph.tape import Expr, Graph


def live_lines(graph: Graph) -> list[bool]:
    """Which lines the outputs need."""
    live = [False] * len(graph.nodes)
    for k in graph.outputs:
        live[k] = True
    for line in range(len(graph.nodes) - 1, -1, -1):
        if live[line]:
            for k in graph.operands(line):
                live[k] = True
    return live


def use_counts(graph: Graph) -> list[int]:
    """How often each line is read by live lines and outputs."""
    live, uses = live_lines(graph), [0] * len(graph.nodes)
    for line in range(len(graph.nodes)):
        if live[line]:
            for k in graph.operands(line):
                uses[k] += 1
    for k in graph.outputs:
        uses[k] += 1
    return uses


Rewriter = Callable[[Graph, str, "tuple[Expr, ...]", int], Expr]


def pruned(graph: Graph, rewrite: Rewriter | None = None) -> Graph:
    """The lines that the outputs need, written anew; ``rewrite`` may write an operation differently.

    All inputs stay, needed or not: they are the signature.
    """
    new, moved = Graph(), {}
    for line in graph.inputs:
        moved[line] = new.input(graph.nodes[line][1][0])
    live = live_lines(graph)
    for line, (op, args) in enumerate(graph.nodes):
        if not live[line] or line in moved:
            continue
        if op == "const":
            moved[line] = new.constant(args[0])
        else:
            operands = tuple(moved[a] for a in args)
            moved[line] = rewrite(new, op, operands, line) if rewrite else new.apply(op, *operands)
    new.outputs = [moved[k].line for k in graph.outputs]
    return new


def factored(graph: Graph) -> Graph:
    """x y ± x z → x (y ± z) where neither product is used for anything else: one multiplication less.

    Repeated until nothing changes, since a factored sum may be a factor again.
    """
    while True:
        after = pruned(pruned(graph, _factoring(graph)))
        if len(after.nodes) >= len(graph.nodes):
            return graph
        graph = after


def _factoring(graph: Graph) -> Rewriter:
    """One round of :func:`factored`."""
    uses = use_counts(graph)

    def rewrite(new: Graph, op: str, operands: tuple[Expr, ...], line: int) -> Expr:
        alone = op in ("add", "sub") and all(graph.op(k) == "mul" and uses[k] == 1 for k in graph.operands(line))
        if alone and all(new.op(x.line) == "mul" for x in operands):
            first, second = (new.operands(x.line) for x in operands)
            for (common, y), (other, z) in product((first, first[::-1]), (second, second[::-1])):
                if common == other:
                    return new.apply("mul", new.on(common), new.apply(op, new.on(y), new.on(z)))
        return new.apply(op, *operands)

    return rewrite
