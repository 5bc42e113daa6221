"""Robust least squares: spikes are removed from the torques, and large residuals are down-weighted.

A spike in one torque sample is spread by the low-pass over every equation near it, where it cannot be distinguished
from noise any more. It is therefore detected beforehand, in the residual at the log's own rate: a sample that is SPIKE
robust standard deviations away from the median of its neighbours (Hampel's identifier) is replaced by that median.
Longer disturbances (a contact, a drive in saturation) remain, and are bounded by Huber's weights of the low-passed
equations, w = min(1, c σ_j / |r|), with the scale σ_j of each joint from the median of |r|. Huber's loss is convex, so
there is a single minimum, wherever the iteration starts; c = 1.345 retains 95 % of the efficiency of least squares
under normal noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.work.identification.fitting import least_squares as lsq
from dalembert.work.identification.fitting.base_parameters import BaseParameters
from dalembert.work.identification.fitting.evidence import LogEquations
from dalembert.work.identification.fitting.methods import FitProblem, MethodFit
from dalembert.work.logs.conditioning import Conditioned, Stretch
from dalembert.work.logs.scipy_package import scipy

CORNER = 1.345  # c of Huber's weights, in standard deviations
SPIKE = 6.0  # robust standard deviations from the median of its neighbours, beyond which a sample is a spike
NEIGHBOURS = 0.25  # of a period of the cut-off: the window of that median
WIDEST = 31  # largest number of samples in that window
ROUNDS = 30  # of reweighting, maximum
SETTLED = 0.01  # of a standard deviation: change at which the iteration has converged
NORMAL = 1.4826  # ratio of the standard deviation of normal noise to the median of its absolute value


def row_weights(residual: Array, noise: Array) -> Array:
    """Huber's weights (M, n) of residuals (M, n) with the scale ``noise`` (n,): 1 up to 1.345 σ_j, and 1.345 σ_j / |r| beyond.

    A weighted Gram matrix is Yᵀ diag(w) Y; rows are multiplied by √w.

    >>> row_weights(np.array([[0.5], [-2.69], [13.45]]), np.array([1.0])).ravel().tolist()
    [1.0, 0.5, 0.1]
    """
    bound = CORNER * np.broadcast_to(noise, residual.shape)
    size = np.abs(residual)
    return np.divide(bound, size, out=np.ones(residual.shape), where=size > bound)


def robust_scale(residual: Array, use: NDArray[np.bool_]) -> Array:
    """σ_j (n,) from the medians of |r| over the samples selected by ``use`` (M, n), or over all if none is selected."""
    columns = (np.abs(r[m] if m.any() else r) for r, m in zip(residual.T, use.T, strict=True))
    return np.array([NORMAL * float(np.median(column)) for column in columns])


def robust(problem: FitProblem) -> MethodFit:
    """Huber's estimate, by iteratively reweighted least squares starting from that of ``weighted``."""
    base, equations, evidence = problem.base, problem.equations, problem.evidence
    first = lsq.determined(evidence, base.values, problem.fixed, 1)
    cleaned, spikes = without_spikes(equations, base, first.values)
    if spikes.any():
        equations = equations.of(cleaned)
        evidence = equations.gathered(base.rank)
        first = lsq.least_squares(evidence, base.values, problem.fixed(evidence, first.noise), 1)
    values, moving = first.values, equations.moving
    for _ in range(ROUNDS):
        residual = equations.ready.tau - equations.predicted(values)
        noise = lsq.above_zero(robust_scale(residual, moving))
        evidence = equations.gathered(base.rank, weights=row_weights(residual, noise))
        lost = problem.fixed(evidence, noise)
        before, values = values, lsq.solve(evidence, 1.0 / noise, base.values, lost)
        plain, covariance = lsq.spread(evidence, values, 1.0 / noise, lost)
        change = np.abs(values - before) / np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        if np.delete(change, list(lost)).max(initial=0.0) < SETTLED:
            break
    notes = _notes(equations, base.parameters.arm.joint_names, row_weights(residual, noise), spikes)
    inflation = _inflation(residual, noise, moving) * (noise / lsq.above_zero(plain)) ** 2
    estimate = lsq.Estimate(values, noise, 1.0 / noise, covariance, lost, notes)
    return MethodFit(estimate, replace(problem, equations=equations, evidence=evidence), inflation)


def _inflation(residual: Array, noise: Array, moving: NDArray[np.bool_]) -> Array:
    """E[ψ²] E[w] / E[ψ′]² (n,): the factor on the covariance σ² (Yᵀ diag(w) Y)⁻¹ (sandwich formula).

    ψ = w r/σ; its slope ψ′ is 1 up to the corner and 0 beyond.
    """
    w, u = row_weights(residual, noise), residual / noise
    counts = np.maximum(moving.sum(axis=0), 1)
    square, weight, slope = (np.sum(np.where(moving, x, 0.0), axis=0) / counts for x in ((w * u) ** 2, w, w >= 1.0))
    return np.where(slope > 0, square * weight / np.maximum(slope, 1e-3) ** 2, 1.0)


def _notes(equations: LogEquations, names: Sequence[str], weights: Array, spikes: NDArray[np.intp]) -> tuple[str, ...]:
    moving = equations.moving
    far = np.sum((weights < CORNER / SPIKE) & moving, axis=0)
    shares = 100 * far / np.maximum(moving.sum(axis=0), 1)
    replaced = ", ".join(f"{count} at '{name}'" for name, count in zip(names, spikes, strict=True) if count)
    lighter = ", ".join(f"{share:.2g} % at '{name}'" for name, share in zip(names, shares, strict=True) if share)
    notes = {
        f"robust: isolated torque spikes were replaced by the median of their neighbours: {replaced}": replaced,
        f"robust: equations with residuals beyond {SPIKE:g} standard deviations were down-weighted: {lighter}": lighter,
    }
    return tuple(sentence for sentence, words in notes.items() if words)


def without_spikes(
    equations: LogEquations, base: BaseParameters, values: Array
) -> tuple[Conditioned, NDArray[np.intp]]:
    """The log with torque spikes replaced, and the number of spikes of each joint: (n,).

    A sample is a spike if its residual with the torques of ``values`` is far from the median of its neighbours; a joint
    at rest has none, since its friction jumps there.
    """
    ready, still = equations.ready, equations.rests.still
    width = 2 * (min(WIDEST, max(5, round(NEIGHBOURS * ready.rate / ready.cutoff))) // 2) + 1
    apart, medians, predicted = list[Array](), list[Array](), list[Array]()
    for piece in ready.pieces:
        q, qd, qdd = piece.states
        predicted.append(base.joint_columns.torque(values, q, np.where(still, 0.0, qd), qdd, piece.temperature))
        residual = piece.tau - predicted[-1]
        medians.append(scipy.ndimage.median_filter(residual, size=(width, 1), mode="nearest"))
        apart.append(residual - medians[-1])
    every = np.concatenate(apart)
    scale = robust_scale(every, every != 0.0)  # a sample that equals the median carries no information
    counts = np.zeros(len(scale), np.intp)
    pieces = list[Stretch]()
    for piece, away, median, smooth in zip(ready.pieces, apart, medians, predicted, strict=True):
        spikes = (np.abs(away) > SPIKE * scale) & (scale > 0) & (np.abs(piece.qd) >= equations.rests.zone)
        counts += spikes.sum(axis=0)
        pieces.append(replace(piece, tau=np.where(spikes, smooth + median, piece.tau)))
    return (replace(ready, pieces=tuple(pieces)) if counts.any() else ready), counts
