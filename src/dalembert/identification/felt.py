"""The columns that each joint feels, for a block of samples at a time: the least that a log's equations need.

Joint i feels only the links it moves, S (7.80): of n·p entries of Y a state has, less than half are not zero. They are
made in small pieces that stay near the core, and laid out as rows (columns, samples), so that each joint's part,
transposed, is the matrix in column order that LAPACK wants, and a low-pass runs along memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.identification.parameters import WIDTH, ParameterSet

Array = NDArray[np.float64]

PIECE = 128  # samples whose regressor is made at once: two thirds of a megabyte, which stays near the core
PROBES = 16  # random states that show which columns a joint feels


class Felt:
    """Of some columns of a parameter set, those that each joint feels.

    columns  for each joint the columns (of the parameter set) that it feels
    parts    for each joint its rows in what :meth:`rows` returns, with ``spare`` more at the end of each
    """

    def __init__(self, parameters: ParameterSet, columns: Sequence[int], spare: int = 0) -> None:
        self.parameters = parameters
        self.columns = felt_columns(parameters, columns)
        ends = np.cumsum([len(felt) + spare for felt in self.columns])
        self.parts = [slice(int(e) - len(f) - spare, int(e)) for f, e in zip(self.columns, ends, strict=True)]
        wide = WIDTH * parameters.links
        self._wide = np.zeros((PIECE, parameters.arm.n, wide))
        source = [c for _, c, _ in parameters._plan]
        places: list[int] = []  # in the rows, of what the kernel makes
        flat: list[int] = []  # in _wide
        self._more: list[tuple[int, int, int]] = []  # (place, joint, column) of what it does not
        for i, (felt, part) in enumerate(zip(self.columns, self.parts, strict=True)):
            for k, c in enumerate(felt):
                if source[c] < wide:
                    places.append(part.start + k)
                    flat.append(i * wide + source[c])
                else:
                    self._more.append((part.start + k, i, source[c]))
        self._places, self._flat = np.array(places, np.intp), np.array(flat, np.intp)

    def rows(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, out: Array | None = None) -> Array:
        """(columns of all joints, samples) for states (samples, n)."""
        q, qd, qdd = (np.asarray(x, float) for x in (q, qd, qdd))
        m, n, parameters = len(q), self.parameters.arm.n, self.parameters
        made = np.empty((self.parts[-1].stop, m)) if out is None else out
        kernel = parameters.arm.kernel("regressor")
        for start in range(0, m, PIECE):
            piece = slice(start, min(start + PIECE, m))
            Y = self._wide[: piece.stop - start]
            kernel(parameters.arm.placed(q[piece]), qd[piece], qdd[piece], out=Y)
            made[self._places, piece] = Y.reshape(len(Y), -1).T[self._flat]
        filled: dict[int, Array] = {}
        Gamma = parameters._followed(q)
        for place, joint, column in self._more:
            if column not in filled:
                filled[column] = np.zeros((m, n))
                parameters._fill(filled[column], column, q, qd, qdd, Gamma)
            made[place, :m] = filled[column][:, joint]
        return made

    def torque(self, values: Array, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """(samples, n) with ``values`` of the columns, by their numbers in the parameter set."""
        rows = self.rows(q, qd, qdd)
        return np.stack(
            [values[list(felt)] @ rows[part] for felt, part in zip(self.columns, self.parts, strict=True)], axis=-1
        )


def felt_columns(parameters: ParameterSet, columns: Sequence[int]) -> list[tuple[int, ...]]:
    """Of these columns, those that are not zero for each joint: seen at random states, since they are analytic.

    Extra columns may be zero almost everywhere and always count.
    """
    from dalembert.identification.base import random_states

    seen = np.abs(parameters.regressor(*random_states(parameters.arm, PROBES))).max(axis=0) > 0.0
    seen[:, [joint < 0 for joint in parameters.joints]] = True
    return [tuple(c for c in columns if row[c]) for row in seen]


__all__ = ["Felt", "felt_columns"]
