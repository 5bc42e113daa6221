"""The arrays of a kernel: their names and core shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.errors import ShapeError


@dataclass(frozen=True)
class Signature:
    """Names and core shapes of a kernel's inputs and outputs: ``(("q", (7,)), …)``."""

    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    outputs: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def arrays(self) -> tuple[tuple[int, ...], ...]:
        """All core shapes, inputs first."""
        return tuple(shape for _, shape in (*self.inputs, *self.outputs))

    def leading(self, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """The shape to which the leading axes of inputs of these shapes broadcast."""
        given = list(zip(self.inputs, shapes, strict=True))
        try:
            return np.broadcast_shapes(*(shape[: len(shape) - len(core)] for (_, core), shape in given))
        except ValueError:
            named = ", ".join(f"{name} {shape}" for (name, _), shape in given)
            raise ShapeError(f"these shapes do not broadcast: {named}") from None

    def gufunc(self) -> str:
        """NumPy's notation: ``(7),(7),(7)->(7)``."""

        def words(arrays: Sequence[tuple[str, tuple[int, ...]]]) -> str:
            return ",".join("(" + ",".join(str(k) for k in shape) + ")" for _, shape in arrays)

        return words(self.inputs) + "->" + words(self.outputs)
