"""Sparsity patterns of the matrices of a mechanism: entries that are 0 in every state are known in advance."""

from __future__ import annotations

from functools import lru_cache

from dalembert.base.algebra.scalars import Scalar, Values, flat
from dalembert.mechanics.coordinates import pulled
from dalembert.mechanics.coordinates.chain import AnyMechanism

KEPT = 16  # mechanisms whose patterns are cached


def compact_regressor(mechanism: AnyMechanism, q: Values, qd: Values, qdd: Values) -> list[Scalar]:
    """The entries of Y(q, q̇, q̈), S (7.81), that :func:`regressor_pattern` lists, in its order."""
    Y = pulled.regressor(mechanism, q, qd, qdd)
    return [Y[i][k] for i, k in regressor_pattern(mechanism)]


@lru_cache(KEPT)
def regressor_pattern(mechanism: AnyMechanism) -> tuple[tuple[int, int], ...]:
    """(row, column) of every entry of Y that is not 0 on the tape, row by row."""
    from dalembert.compiler.graph.tape import Graph
    from dalembert.compiler.quantities.machine import sizes_of

    graph, sizes = Graph(), sizes_of(mechanism)
    q, qd, qdd = (
        [graph.input(f"{x}{k}") for k in range(sizes[size])] for x, size in (("q", "Q"), ("qd", "n"), ("qdd", "n"))
    )
    Y = pulled.regressor(mechanism, q, qd, qdd)
    graph.output(flat(Y))
    there = [graph.value(line) != 0.0 for line in graph.outputs]
    return tuple(divmod(k, sizes["K"]) for k, nonzero in enumerate(there) if nonzero)
