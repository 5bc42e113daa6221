"""The arrays of a kernel: their names and core shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Signature:
    """Names and core shapes of a kernel's inputs and outputs: ``(("q", (7,)), …)``."""

    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    outputs: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def arrays(self) -> tuple[tuple[int, ...], ...]:
        """All core shapes, inputs first."""
        return tuple(shape for _, shape in (*self.inputs, *self.outputs))

    def gufunc(self) -> str:
        """NumPy's notation: ``(7),(7),(7)->(7)``."""

        def words(arrays: Sequence[tuple[str, tuple[int, ...]]]) -> str:
            return ",".join("(" + ",".join(str(k) for k in shape) + ")" for _, shape in arrays)

        return words(self.inputs) + "->" + words(self.outputs)
