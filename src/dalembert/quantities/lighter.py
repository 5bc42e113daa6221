"""The closed form as a rival of the tree's equations, where the joints of the tree follow linearly: q = T y + b.

Then all that is computed of an arm is made of trigonometric polynomials in the coordinates held (S 7.3.3), and these
are often lighter than the tree's equations with Γ: those of the parallelogram arm have 19 operations instead of 47.
Both are traced, and the one that compiles to fewer operations is taken.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from dalembert.algebra.linalg import cos, less, select, sgn, sin, sqrt
from dalembert.coordinates.chain import AnyMechanism

Trace = Callable[[Any, dict[str, list[Any]]], Any]

CLOSED_FORM = "closed-form"
HELD = 4  # coordinates, beyond which closed forms are not tried unless asked for
SCALARS: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "neg")},
    **{"div": operator.truediv, "sqrt": sqrt, "sin": sin, "cos": cos, "sign": sgn, "less": less, "select": select},
}


def has_closed_form(mechanism: AnyMechanism) -> bool:
    """Whether the coordinates held are others than those of the tree, and linear in them."""
    return mechanism.linear and not mechanism.identity


def closed_form(tree: Trace) -> Trace:
    """The same quantity from trigonometric polynomials, grouped by inputs or by angle: by what makes fewer operations."""

    def run(mechanism: AnyMechanism, x: dict[str, list[Any]]) -> list[Any]:
        from dalembert.graph.passes import factored, pruned
        from dalembert.graph.sums import cost
        from dalembert.graph.tape import Graph, evaluate
        from dalembert.symbols.harmonics import Expansion

        graph = Graph()
        inputs = {name: [graph.input(f"{name}{k + 1}") for k in range(len(values))] for name, values in x.items()}
        graph.output(flat(tree(mechanism, inputs)))
        expansion = Expansion(pruned(graph))
        forms = (expansion.written(by_angle) for by_angle in (False, True))
        lightest = min(forms, key=lambda form: cost(factored(pruned(form))))
        return evaluate(lightest, [value for values in x.values() for value in values], SCALARS)

    return run


def flat(values: Any) -> Iterable[Any]:
    """The scalars of nested lists, in order."""
    for value in values if isinstance(values, (list, tuple)) else [values]:
        if isinstance(value, (list, tuple)):
            yield from flat(value)
        else:
            yield value
