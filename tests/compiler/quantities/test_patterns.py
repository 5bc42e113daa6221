"""Identities of what is kept without its zeros: the compact regressor is the regressor, coupled and closed arms included."""

from __future__ import annotations

import numpy as np
import pytest

import arms


@pytest.mark.parametrize("name", ["stanford", "parallelogram", "five-bar"])
def test_scattered_compact_regressor_is_regressor(name: str) -> None:
    a = arms.arm(name)
    q, qd, qdd = arms.states(a, 9, seed=2)
    rows, columns = a.regressor_pattern
    whole = a.regressor(q, qd, qdd)
    Y = np.zeros_like(whole)
    Y[:, rows, columns] = a.compact_regressor(q, qd, qdd)
    assert np.abs(Y - whole).max() < 1e-13 * np.abs(whole).max()
    assert len({*zip(rows.tolist(), columns.tolist(), strict=True)}) == rows.size < whole[0].size
    tau = np.stack([np.bincount(rows, y * a.parameters[columns], a.n) for y in a.compact_regressor(q, qd, qdd)])
    assert np.allclose(tau, whole @ a.parameters, atol=1e-9 * np.abs(tau).max())
