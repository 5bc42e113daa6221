"""The closed form as an alternative to the equations of the tree, if its joints follow linearly: q = T y + b.

In that case every quantity of an arm is a trigonometric polynomial in the actuated coordinates (S 7.3.3), which is
often cheaper than the equations of the tree with Γ: for the parallelogram arm it has 19 operations instead of 47. Both
are traced, and the one that compiles to fewer operations is used.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from dalembert.algebra.scalars import acos, asin, atan2, cos, exp, less, log, select, sgn, sin, sqrt, tanh
from dalembert.coordinates.chain import AnyMechanism

Arrays = dict[str, Any]

CLOSED_FORM = "closed-form"
HELD = 4  # number of coordinates above which closed forms are tried only on request
SCALARS: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "neg")},
    **{f.__name__: f for f in (sqrt, sin, cos, exp, log, tanh, atan2, asin, acos, less, select)},
    **{"div": operator.truediv, "sign": sgn},
}


def has_closed_form(mechanism: AnyMechanism) -> bool:
    """Whether the actuated coordinates differ from those of the tree, which are linear in them."""
    return mechanism.linear and not mechanism.identity


def closed_form(arrays: Arrays, values: Callable[[Arrays], Any]) -> list[Any]:
    """A quantity from trigonometric polynomials, grouped by inputs or by angle, whichever takes fewer operations."""
    from dalembert.graph.passes import factored, pruned
    from dalembert.graph.sums import cost
    from dalembert.graph.tape import Graph, evaluate
    from dalembert.symbols.harmonics import Expansion

    graph = Graph()
    graph.output(flat(values({x: [graph.input(f"{x}{k + 1}") for k in range(len(row))] for x, row in arrays.items()})))
    expansion = Expansion(pruned(graph))
    forms = (expansion.written(by_angle) for by_angle in (False, True))
    lightest = min(forms, key=lambda form: cost(factored(pruned(form))))
    return evaluate(lightest, [x for row in arrays.values() for x in row], SCALARS)


def flat(values: Any) -> Iterable[Any]:
    """The scalars of nested lists, in order."""
    for value in values if isinstance(values, (list, tuple)) else [values]:
        if isinstance(value, (list, tuple)):
            yield from flat(value)
        else:
            yield value
