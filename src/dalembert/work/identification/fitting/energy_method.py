"""Identification from energy balances, which need no accelerations.

The power of the torques equals the rate of change of the arm's energy plus the power absorbed by friction, springs and
offsets:

    τᵀq̇ = dE/dt + Σ_k π_k y_kᵀ q̇,    E = β(q, q̇)ᵀ π of links and rotors, S (7.76)

Each equation is that balance over a window of time w(t), which is zero at both ends, together with its first three
derivatives. Integration by parts moves the derivative to the window:

    ∫ w τᵀq̇ dt = −∫ ẇ β dt π_inertial + Σ_k π_k ∫ w y_kᵀ q̇ dt

so the energy is averaged rather than evaluated at two instants. w = cos⁴ has its first zero in frequency at the cut-off
and is about one period of the cut-off wide. All joints share one equation per window: parameters that are distinguished
by the joint on which they act need more motion than with the joint torque equations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.regressor import INERTIAL
from dalembert.work.identification.fitting.base_parameters import BaseParameters
from dalembert.work.logs.conditioning import SHIFTS, Conditioned, Stretch, shifted

HALF = 1.5  # half the width of a window, in periods of the cut-off
BLOCK = 4096  # samples per block of columns, or four windows if that is more
STORED = (*INERTIAL, "Im")  # parameters of a joint, in the order of Arm.energy_regressors


def window(ready: Conditioned) -> tuple[Array, Array]:
    """w and dw/dt (1/s) at the samples of one window, both multiplied by the sampling interval; Σ w = 1."""
    half = max(2, round(HALF * ready.rate / ready.cutoff))
    x = 0.5 * np.pi * np.arange(-half, half + 1) / half
    w, slope = np.cos(x) ** 4, -4 * np.cos(x) ** 3 * np.sin(x) * 0.5 * np.pi / half * ready.rate
    return w / w.sum(), slope / w.sum()


def energy_equations(base: BaseParameters, ready: Conditioned) -> tuple[Array, Array, Array]:
    """(E (K, b), e (K,), t (K,)): mean power balances E π_b ≈ e (W) of windows around the kept samples t.

    Only positions, velocities and torques are used. The windows overlap, so neighbouring errors are correlated.

    >>> import numpy as np, dalembert as da
    >>> from dalembert.work.logs.conditioning import condition
    >>> from dalembert.work.logs.log import read_log
    >>> arm = da.load("planar-2r")
    >>> t = np.arange(0, 20, 0.01)
    >>> q, qd, qdd = da.fourier([[[0.5, 0.3], [0.2, 0.6]], [[0.2, 0.4], [0.5, 0.1]]], 0.2, duration=20.0)(t)
    >>> log = read_log({"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}, arm)
    >>> base = arm.base_parameters()
    >>> E, e, t = energy_equations(base, condition(log, cutoff=8.0))
    >>> bool(np.abs(E @ base.values - e).max() < 1e-3 * np.abs(e).max())
    True
    """
    members = [base.parameters.members[k] for k in base.independent]
    for x in members:
        if x.loaded or x.torque is not None:
            why = "depends on the load of its joint" if x.loaded else "is a user-defined column"
            raise DalembertError(
                f"the parameter {x.name} {why}, which needs accelerations, but method='energy' does not compute them; "
                "remove the term, or use method='weighted'"
            )
    stored = np.array([x.unit is None and x.slope is None for x in members], bool)  # inertias of links and rotors
    (w, slope), parts = window(ready), [(np.zeros((0, base.rank)), np.zeros(0), np.zeros(0))]
    half, every = len(w) // 2, ready.every
    size = max(1, max(BLOCK, 8 * half) // every)
    for piece, indices in zip(ready.pieces, ready.kept, strict=True):
        inside = indices[(indices >= half) & (indices < len(piece.t) - half)]
        for start in range(0, len(inside), size):  # a bounded number of windows at a time
            some = inside[start : start + size]
            first = int(some[0]) - half
            part = piece.part(slice(first, int(some[-1]) + half + 1))
            energy, power = _columns(base, stored, part)
            E = _integrals(power, w, some - first, every)
            E[:, stored] = -_integrals(energy, slope, some - first, every)
            drive = np.sum(part.tau * part.qd, axis=1, keepdims=True)
            parts.append((E, _integrals(drive, w, some - first, every)[:, 0], piece.t[some]))
    E, e, t = (np.concatenate(x) for x in zip(*parts, strict=True))
    return E, e, t


def _integrals(x: Array, w: Array, at: NDArray[np.intp], every: int) -> Array:
    """Σ w x of samples x (N, C) around some samples, ``every`` apart: (len(at), C)."""
    half, out = len(w) // 2, np.empty((len(at), x.shape[1]))
    weights = np.ascontiguousarray(shifted(w, every).T)
    for start in range(0, len(at), SHIFTS):
        some = at[start : start + SHIFTS]
        span = x[some[0] - half : some[-1] + half + 1]
        out[start : start + len(some)] = weights[: len(some), : len(span)] @ span
    return out


def _columns(base: BaseParameters, stored: NDArray[np.bool_], piece: Stretch) -> tuple[Array, Array]:
    """Per unit of each base parameter: (N, stored) energies (J), and (N, b) powers (W), which are 0 for the stored ones."""
    parameters, q, qd = base.parameters, piece.q, piece.qd
    beta_T, beta_U = parameters.arm.energy_regressors(q, qd)
    beta, energies = np.asarray(beta_T, np.float64) + beta_U, [np.zeros((len(q), 0))]
    for k in np.array(base.independent, int)[stored].tolist():
        x = parameters.members[k]
        row = None if x.drive is None else x.drive.row(parameters.arm.n)
        energies.append((beta[:, x.joint, STORED.index(x.kind)] if row is None else 0.5 * (qd @ row) ** 2)[:, None])
    power, others = np.zeros((len(q), base.rank)), np.array(base.independent, int)[~stored].tolist()
    if others:
        torques = parameters.columns(others, q, qd, np.zeros(q.shape), piece.temperature)
        power[:, ~stored] = np.stack([np.sum(torques[k] * qd, axis=1) for k in others], axis=1)
    return np.hstack(energies), power
