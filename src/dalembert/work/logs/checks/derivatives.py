"""Whether one measured quantity is the derivative of another, and by which factor it is not."""

from __future__ import annotations

import numpy as np

from dalembert.base.arrays import Array

MOVES = 0.05  # of the largest norm: joints that change less are not judged
AGREE = (0.8, 1.25)  # factors that are taken for noise
ALIKE = 0.1  # spread of the logarithms of equal factors


def off_by(change: Array, measured: Array) -> tuple[list[int], float, bool] | None:
    """Joints whose ``measured`` (N, n) is not ``change``, the one that moves most first; its factor; whether all have it.

    None if all agree, or nothing changes.
    """
    size = np.linalg.norm(change, axis=0)
    if not size.max(initial=0.0) > 0.0:
        return None
    ratio = np.sum(change * measured, axis=0) / np.maximum(np.square(size), 1e-300)
    moving = np.flatnonzero(size > MOVES * size.max())
    off = [int(j) for j in moving if not AGREE[0] < ratio[j] < AGREE[1]]
    if not off:
        return None
    off.sort(key=lambda j: -float(size[j]))
    everywhere = np.ptp(np.log(np.maximum(np.abs(ratio[moving]), 1e-12))) < ALIKE
    return off, float(ratio[off[0]]), bool(everywhere)
