"""The order of a tape's lines: every order in which a line follows its operands gives the same numbers.

What differs is the number of values that are live at the same time. A machine with fewer registers must spill some of
them to memory and reload them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from dalembert.compiler.graph.passes import live_lines, operands_first, rewritten
from dalembert.compiler.graph.tape import Graph


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
