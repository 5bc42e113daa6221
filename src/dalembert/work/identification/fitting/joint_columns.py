"""Nonzero regressor columns per joint, evaluated in blocks of samples.

Only the links that it moves act on joint i, S (7.80): of the n·p entries of Y per state, less than half are nonzero.
They are computed in small pieces that fit into the cache, and stored as rows (columns, samples), so that each joint's
part, transposed, is the column-major matrix that LAPACK needs, and a low-pass runs along contiguous memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.work.identification.fitting.parameter_set import ParameterSet, regressor_pieces
from dalembert.work.identification.fitting.term_columns import JUMPING, States

BLOCK = 4096  # samples per block of torques


class EquationColumns:
    """Columns of the joints' equations: ``columns`` holds their numbers for each joint."""

    columns: list[NDArray[np.intp]]

    @cached_property
    def parts(self) -> list[slice]:
        """For each joint its rows in the result of :meth:`rows`."""
        ends = np.cumsum([len(places) for places in self.columns]).tolist()
        return [slice(end - len(places), end) for end, places in zip(ends, self.columns, strict=True)]

    def rows(self, q: Array, qd: Array, qdd: Array, temperature: Array | None = None) -> Array:
        """(columns of all joints, samples) for states (samples, n), with temperatures (°C) if columns depend on them."""
        raise NotImplementedError


class JointColumns(EquationColumns):
    """The regressor columns that act on each joint, found at random states.

    columns  for each joint the positions, among those columns, of the ones that act on it; further columns may be zero
             almost everywhere and are included wherever they can act
    averaged whether the states of :meth:`rows` are consecutive samples of a thinned log, see :class:`States`
    """

    def __init__(
        self,
        parameters: ParameterSet,
        columns: Sequence[int],
        states: tuple[Array, Array, Array],
        averaged: bool = False,
    ) -> None:
        self.parameters, self.averaged = parameters, averaged
        seen = np.abs(parameters.regressor(*states)).max(axis=0) > 0.0
        at = States(parameters.arm, *states)
        for k, parameter in enumerate(parameters.members):
            if parameter.further:
                seen[:, k] |= parameter.acts_on(at)
        self.columns = [np.flatnonzero(row) for row in seen[:, list(columns)]]
        counts = [len(places) for places in self.columns]
        indices = np.array(columns, np.intp)[np.concatenate(self.columns)]
        joints, sources = np.repeat(np.arange(len(counts)), counts), parameters.sources[indices]
        if averaged:  # the kernel has the sign of the velocity at the samples
            jumps = np.array([isinstance(parameter.unit, JUMPING) for parameter in parameters.members], bool)
            sources = np.where(jumps[indices], -1, sources)
        self._rows = np.flatnonzero(sources >= 0)  # columns computed by the kernel, and their positions
        self._width = len(parameters.arm.parameters)
        self._flat = (joints * self._width + sources)[self._rows]
        self._others = np.flatnonzero(sources < 0).tolist()
        self._wanted = [(int(indices[row]), int(joints[row])) for row in self._others]

    def rows(self, q: Array, qd: Array, qdd: Array, temperature: Array | None = None) -> Array:
        out = np.empty((self.parts[-1].stop, len(q)))
        for piece, Y in regressor_pieces(self.parameters.arm, q, qd, qdd):
            out[self._rows, piece] = Y.reshape(len(Y), -1).T[self._flat]
        further = self.parameters.columns_at(self._wanted, q, qd, qdd, temperature, self.averaged)
        for row, torques in zip(self._others, further, strict=True):
            out[row] = torques
        return out

    def torque(self, values: Array, q: Array, qd: Array, qdd: Array, temperature: Array | None = None) -> Array:
        """(samples, n) the torques with ``values`` of the columns."""
        out, arm, of_kernel = np.empty(q.shape), self.parameters.arm, np.zeros(self._width)
        places = np.concatenate(self.columns)
        of_kernel[self._flat % self._width] = values[places[self._rows]]  # columns that do not act on a joint are zero
        for piece, Y in regressor_pieces(arm, q, qd, qdd):
            out[piece] = (Y.reshape(-1, self._width) @ of_kernel).reshape(-1, arm.n)
        for start in range(0, len(q) if self._wanted else 0, BLOCK):
            block = slice(start, min(start + BLOCK, len(q)))
            warm = None if temperature is None else temperature[block]
            further = self.parameters.columns_at(self._wanted, q[block], qd[block], qdd[block], warm, self.averaged)
            for row, (_, joint), torques in zip(self._others, self._wanted, further, strict=True):
                out[block, joint] += values[places[row]] * torques
        return out
