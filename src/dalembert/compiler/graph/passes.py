"""Passes over a finished tape: each takes a graph and returns a new one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product

from dalembert.compiler.graph.tape import Graph

Lines = tuple[int, ...]


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


def rewritten(graph: Graph, order: Iterable[int], write: Callable[[Graph, int, Lines], int] | None = None) -> Graph:
    """A new graph with these lines, which include all that the outputs need, in this order.

    write  writes an operation, given by its old line, for operands on these lines of the new graph; by default a copy
    """
    new, moved = Graph(), [-1] * len(graph.nodes)
    for line in graph.inputs:
        moved[line] = new.input(graph.nodes[line][1][0]).line
    for line in order:
        op, args = graph.nodes[line]
        if op == "const":
            moved[line] = new.constant(args[0]).line
        elif op != "input":
            operands = tuple([moved[k] for k in args])
            moved[line] = new.copy_of(op, operands) if write is None else write(new, line, operands)
    new.outputs = [moved[k] for k in graph.outputs]
    return new


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
    changed = [False] * len(graph.nodes)

    def write(new: Graph, line: int, operands: Lines) -> int:
        op, args = graph.nodes[line]
        factors = _factors(new, *operands) if lone[line] else None
        changed[line] = factors is not None or any(changed[k] for k in args)
        if factors is not None:
            x, y, z = factors
            return new.line_of("mul", (x, new.line_of(op, (y, z))))
        return new.line_of(op, operands) if changed[line] else new.copy_of(op, operands)

    return rewritten(graph, range(len(graph.nodes)), write)


def _factors(graph: Graph, a: int, b: int) -> tuple[int, int, int] | None:
    """(x, y, z) where lines a and b hold x y and x z."""
    (op, first), (other, second) = graph.nodes[a], graph.nodes[b]
    if op == other == "mul":
        for (x, y), (common, z) in product((first, first[::-1]), (second, second[::-1])):
            if x == common:
                return x, y, z
    return None


# -- the order of the lines ------------------------------------------------------------------------

# Every order in which a line follows its operands gives the same numbers. What differs is the number of values that are
# live at the same time: a machine with fewer registers must spill some of them to memory and reload them.


def eased(graph: Graph) -> Graph:
    """The tape in an order with few live values: its own, or output by output, each after its missing operands."""
    live = live_lines(graph)
    own = [line for line in range(len(graph.nodes)) if live[line]]
    orders = (own, operands_first(sorted(set(graph.outputs)), graph.operands))
    return rewritten(graph, min(orders, key=partial(most_waiting, graph)))


def by_outputs(graph: Graph) -> Graph:
    """The tape in an order in which its outputs are computed one after the other."""
    return rewritten(graph, operands_first(graph.outputs, graph.operands))


def most_waiting(graph: Graph, order: list[int]) -> int:
    """The largest number of simultaneously live values; inputs and constants are always available and do not count."""
    last = {operand: place for place, line in enumerate(order) for operand in graph.operands(line)}
    read: dict[int, list[int]] = {}
    for line, place in last.items():
        read.setdefault(place, []).append(line)
    waiting = most = 0
    for place, line in enumerate(order):
        waiting += line in last and _computed(graph, line)
        most = max(most, waiting)
        waiting -= sum(_computed(graph, k) for k in read.get(place, ()))
    return most


def _computed(graph: Graph, line: int) -> bool:
    return graph.op(line) not in ("const", "input")


def workspace_slots(parts: Sequence[Sequence[tuple[int, Iterable[int]]]]) -> tuple[dict[int, int], int]:
    """A slot for every line that a later part reads, reused when it is free, and the number of slots.

    parts  of a tape, in order: (line, the lines that it reads)
    """
    part_of = {line: k for k, part in enumerate(parts) for line, _ in part}
    last: dict[int, int] = {}  # line → the last part that reads it
    for k, part in enumerate(parts):
        for _, reads in part:
            last |= {line: k for line in reads if part_of.get(line, k) < k}
    slots: dict[int, int] = {}
    free: list[int] = []
    count = 0
    for k, part in enumerate(parts):
        for line, _ in part:
            if line in last:
                if not free:
                    free.append(count)
                    count += 1
                slots[line] = free.pop()
        free += sorted((slots[line] for line, end in last.items() if end == k), reverse=True)
    return slots, count
