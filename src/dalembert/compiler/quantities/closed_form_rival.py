"""The closed form as an alternative to the equations of the tree, if its joints follow linearly: q = T y + b.

In that case every quantity of an arm is a trigonometric polynomial in the actuated coordinates (S 7.3.3), which is
often cheaper than the equations of the tree with Γ: for the parallelogram arm it has 19 operations instead of 47. Both
are traced, and the one that compiles to fewer operations is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.base.algebra.scalars import flat
from dalembert.mechanics.coordinates.chain import AnyMechanism

Arrays = dict[str, Any]

CLOSED_FORM = "closed-form"
MOST_COORDINATES = 4  # number of coordinates above which closed forms are tried only on request


def has_closed_form(mechanism: AnyMechanism) -> bool:
    """Whether the actuated coordinates differ from those of the tree, which are linear in them."""
    return mechanism.linear and not mechanism.identity


def closed_form(arrays: Arrays, values: Callable[[Arrays], Any]) -> list[Any]:
    """A quantity from trigonometric polynomials, grouped by inputs or by angle, whichever takes fewer operations."""
    from dalembert.compiler.graph.passes import factored, pruned
    from dalembert.compiler.graph.sums import cost
    from dalembert.compiler.graph.tape import ON_SCALARS, Graph, evaluate
    from dalembert.compiler.quantities.harmonics import Expansion

    graph = Graph()
    graph.output(flat(values({x: [graph.input(f"{x}{k + 1}") for k in range(len(row))] for x, row in arrays.items()})))
    expansion = Expansion(pruned(graph))
    forms = (expansion.written(by_angle) for by_angle in (False, True))
    lightest = min(forms, key=lambda form: cost(factored(pruned(form))))
    return evaluate(lightest, [x for row in arrays.values() for x in row], ON_SCALARS)
