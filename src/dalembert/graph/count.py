"""What a tape costs: its operations, counted."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.graph.passes import live_lines
from dalembert.graph.tape import Graph


@dataclass(frozen=True)
class Operations:
    """Counted operations. Negations cost nothing on real machines and are not counted."""

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    square_roots: int = 0
    sines: int = 0
    cosines: int = 0

    @property
    def total(self) -> int:
        """Multiplications plus additions, as the literature compares models."""
        return self.multiplications + self.additions


FIELD = {
    "mul": "multiplications",
    "add": "additions",
    "sub": "additions",
    "div": "divisions",
    "sqrt": "square_roots",
    "sin": "sines",
    "cos": "cosines",
}


def count(graph: Graph) -> Operations:
    """The operations that the outputs need."""
    totals = dict.fromkeys(FIELD.values(), 0)
    for (op, _), live in zip(graph.nodes, live_lines(graph), strict=True):
        if live and op in FIELD:
            totals[FIELD[op]] += 1
    return Operations(**totals)
