"""The order of a tape's lines: any order in which a line stands after those that it reads gives the same numbers.

What differs is how many values wait at once to be read again. A machine with fewer registers than that writes some of them
to memory and reads them back.
"""

from __future__ import annotations

from functools import partial

from dalembert.graph.passes import live_lines, rewritten
from dalembert.graph.tape import Graph


def eased(graph: Graph) -> Graph:
    """The tape in an order in which few values wait: its own, or that in which its outputs come to be, each with just what
    it needs that is not there yet."""
    live = live_lines(graph)
    own = [line for line in range(len(graph.nodes)) if live[line]]
    orders = (own, _by_need(graph, sorted(set(graph.outputs))))
    return rewritten(graph, min(orders, key=partial(most_waiting, graph)))


def by_outputs(graph: Graph) -> Graph:
    """The tape in an order in which its outputs come to be one after the other."""
    return rewritten(graph, _by_need(graph, graph.outputs))


def most_waiting(graph: Graph, order: list[int]) -> int:
    """The largest number of values that wait at once to be read; inputs and constants can be had at any time."""
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


def _by_need(graph: Graph, wanted: list[int]) -> list[int]:
    """All lines that are wanted or needed for it, what is needed first before it."""
    order: list[int] = []
    seen: set[int] = set()
    stack = [(line, False) for line in reversed(wanted)]
    while stack:
        line, ready = stack.pop()
        if ready:
            order.append(line)
        elif line not in seen:
            seen.add(line)
            stack.append((line, True))
            stack += [(operand, False) for operand in reversed(graph.operands(line))]
    return order
