"""Passes over a finished tape: each takes a graph and gives a new one."""

from __future__ import annotations

from collections.abc import Callable

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


def rebuilt(graph: Graph, rewrite: Rewriter | None = None) -> Graph:
    """The live part of the tape written anew; ``rewrite`` may write an operation differently.

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


def pruned(graph: Graph) -> Graph:
    """Without the lines that no output needs."""
    return rebuilt(graph)


def factored(graph: Graph) -> Graph:
    """x y ± x z → x (y ± z) where neither product is used for anything else: one multiplication less.

    Repeated until nothing changes, since a factored sum may be a factor again.
    """
    while True:
        uses = use_counts(graph)

        def rewrite(
            new: Graph, op: str, operands: tuple[Expr, ...], line: int, graph: Graph = graph, uses: list[int] = uses
        ) -> Expr:
            if op in ("add", "sub"):
                a, b = graph.operands(line)
                if graph.op(a) == "mul" and graph.op(b) == "mul" and uses[a] == 1 and uses[b] == 1:
                    left, right = operands
                    if new.op(left.line) == "mul" and new.op(right.line) == "mul":
                        (p, q), (r, s) = new.operands(left.line), new.operands(right.line)
                        for common, y, z in ((p, q, s), (p, q, r), (q, p, s), (q, p, r)):
                            other = r if z == s else s
                            if common == other:
                                inner = new.apply(op, Expr(new, y), Expr(new, z))
                                return new.apply("mul", Expr(new, common), inner)
            return new.apply(op, *operands)

        after = rebuilt(rebuilt(graph, rewrite))
        if len(after.nodes) >= len(graph.nodes):
            return graph
        graph = after
