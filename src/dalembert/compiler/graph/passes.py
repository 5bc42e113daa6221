"""Passes over a finished tape: each takes a graph and returns a new one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product

from dalembert.compiler.graph.tape import Graph


def live_lines(graph: Graph) -> list[bool]:
    """The lines that the outputs need."""
    nodes = graph.nodes
    live = [False] * len(nodes)
    for k in graph.outputs:
        live[k] = True
    for line in range(len(nodes) - 1, -1, -1):
        op, args = nodes[line]
        if live[line] and op not in ("const", "input"):
            for k in args:
                live[k] = True
    return live


def use_counts(graph: Graph) -> list[int]:
    """How often each line is read by live lines and outputs."""
    uses = [0] * len(graph.nodes)
    for (op, args), live in zip(graph.nodes, live_lines(graph), strict=True):
        if live and op not in ("const", "input"):
            for k in args:
                uses[k] += 1
    for k in graph.outputs:
        uses[k] += 1
    return uses


def operands_first(wanted: Iterable[int], operands: Callable[[int], Sequence[int]]) -> list[int]:
    """The requested lines and everything that they need, each after its operands."""
    order: list[int] = []
    seen: set[int] = set()
    stack = [(line, False) for line in reversed([*wanted])]
    while stack:
        line, ready = stack.pop()
        if ready:
            order.append(line)
        elif line not in seen:
            seen.add(line)
            stack.append((line, True))
            stack += [(operand, False) for operand in reversed(operands(line))]
    return order


def pruned(graph: Graph) -> Graph:
    """A new graph with only the lines that the outputs need; no rules are tried again.

    All inputs are kept, needed or not, because they form the signature.
    """
    return rewritten(graph, [line for line, live in enumerate(live_lines(graph)) if live])


def rewritten(graph: Graph, order: Iterable[int]) -> Graph:
    """A new graph with these lines, which include all that the outputs need, in this order."""
    new, moved = _begun(graph)
    for line in order:
        op, args = graph.nodes[line]
        if op == "input":
            continue
        if op == "const":
            moved[line] = new.constant(args[0]).line
        else:
            moved[line] = new.copy_of(op, tuple([moved[k] for k in args]))
    new.outputs = [moved[k] for k in graph.outputs]
    return new


def _begun(graph: Graph) -> tuple[Graph, list[int]]:
    """A new tape with the inputs of another, and a map from lines of the old tape to lines of the new one."""
    new, moved = Graph(), [-1] * len(graph.nodes)
    for line in graph.inputs:
        moved[line] = new.input(graph.nodes[line][1][0]).line
    return new, moved


def factored(graph: Graph) -> Graph:
    """x y ± x z → x (y ± z) if neither product is used elsewhere: one multiplication fewer.

    Repeated until nothing changes, because a factored sum may itself be a factor.
    """
    while True:
        uses = use_counts(graph)
        lone = [
            op in ("add", "sub") and all(graph.nodes[k][0] == "mul" and uses[k] == 1 for k in args)
            for op, args in graph.nodes
        ]
        if not any(_factors(graph, *args) for (_, args), alone in zip(graph.nodes, lone, strict=True) if alone):
            return graph
        after = pruned(_factored_once(graph, lone))
        if len(after.nodes) >= len(graph.nodes):
            return graph
        graph = after


def _factored_once(graph: Graph, lone: list[bool]) -> Graph:
    """One round over the sums of two products that are used nowhere else, which ``lone`` marks.

    Rules are tried only where an operand has changed, because nothing else can have become simpler.
    """
    new, moved = _begun(graph)
    changed = [False] * len(moved)
    for line, (op, args) in enumerate(graph.nodes):
        if op == "input":
            continue
        if op == "const":
            moved[line] = new.constant(args[0]).line
            continue
        lines = tuple([moved[k] for k in args])
        factors = _factors(new, *lines) if lone[line] else None
        changed[line] = factors is not None or any(changed[k] for k in args)
        if factors is not None:
            x, y, z = factors
            moved[line] = new.line_of("mul", (x, new.line_of(op, (y, z))))
        else:
            moved[line] = new.line_of(op, lines) if changed[line] else new.copy_of(op, lines)
    new.outputs = [moved[k] for k in graph.outputs]
    return new


def _factors(graph: Graph, a: int, b: int) -> tuple[int, int, int] | None:
    """(x, y, z) where lines a and b hold x y and x z."""
    (op, first), (other, second) = graph.nodes[a], graph.nodes[b]
    if op == other == "mul":
        for (x, y), (common, z) in product((first, first[::-1]), (second, second[::-1])):
            if x == common:
                return x, y, z
    return None
