"""An identification as data for its page: its terms, its equations, and its runs, small enough to be sent by mail.

Every error on the page is ‖x₀ − R Δπ‖ / ‖τ‖ of a joint in a run, where Δπ is the change of the parameters: R is the
exact triangle of the joint's columns over the whole run, and x₀ the residual of the fit. Curves over time are shown at
some samples, where the columns are stored as Q diag(d), Q = Ŷ R⁻¹, in the order of a QR decomposition with pivoting, so
that insignificant directions take hardly any space.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.analysis.sizing import joint_units
from dalembert.environment.extras import extra
from dalembert.equations.regressor import INERTIAL
from dalembert.identification.parameters import Parameter
from dalembert.identification.result import Identification, PredictedRun, SolvedEquations
from dalembert.identification.run_columns import RunColumns, run_columns
from dalembert.terms import Harmonic

Array = NDArray[np.float64]

RUNS = 4  # the identification run and the first validation runs
MOST = 2000  # largest number of samples of a run that are shown
NUMBERS = 250_000  # largest number of column entries at them, over all runs
FEWEST = 250  # smallest number of samples of a run, for any number of columns
FINEST, COARSEST = 2047, 24  # quantisation steps of a direction, by its significance
SIGNAL = 32767  # quantisation steps of measured torques and residuals
KEPT_BYTES = 6  # of a double, in triangles: 36 bits of the mantissa
MOMENTS = "Masses and first moments (gravity)"
TENSORS = "Inertia tensors"
KINDS = {"Im": "Rotor inertia", "Fv": "Viscous friction", "Fs": "Coulomb friction"}
LINKS = (KINDS["Im"], MOMENTS, TENSORS)  # listed after friction, springs and other joint terms
KINDS |= {
    "Fs+": KINDS["Fs"],
    "Fs-": KINDS["Fs"],
    "FvT": "Temperature-dependent friction",
    "FsT": "Temperature-dependent friction",
}


def fit_data(fit: Identification) -> tuple[dict[str, Any], bytes]:
    """The data of the page and its arrays, in the order in which js/fit_data.js reads them."""
    assert fit.solved is not None
    runs = [fit.run, *fit.validation][:RUNS]
    kinds = [kind_name(fit.base.parameters.members[k]) for k in fit.base.independent]
    names = sorted(dict.fromkeys(kinds), key=lambda kind: LINKS.index(kind) if kind in LINKS else -1)
    joints = [fit.base.parameters.joints[k] for k in fit.base.independent]
    each = sum(len(columns) for columns in fit.base.felt.columns) * len(runs)
    shown = int(np.clip(NUMBERS // max(each, 1), FEWEST, MOST))
    arrays = [_doubles(fit.parameters, 8), *_refit_arrays(fit.solved, fit.parameters)]
    told = []
    for run in runs:
        columns = run_columns(fit.base, run, shown)
        arrays += [_doubles(run.t[columns.instants].astype(float), 8), *_run_arrays(fit, run, columns)]
        told.append({"name": run.name, "instants": len(columns.instants)})
    data = {
        "joints": list(fit.before.joint_names),
        "units": list(joint_units(fit.before)["torque"]),
        "owners": [joint.name for joint in fit.before.robot.tree_joints],
        "kinds": names,
        "columns": [
            {"name": name, "kind": names.index(kind), "owner": joint, "fixed": k in fit.solved.fixed}
            for k, (name, kind, joint) in enumerate(zip(fit.names, kinds, joints, strict=True))
        ],
        "felt": [columns.tolist() for columns in fit.base.felt.columns],
        "runs": told,
    }
    return data, gzip.compress(b"".join(arrays), 9, mtime=0)


def kind_name(parameter: Parameter) -> str:
    """The name of the switch of a parameter: all of a kind at a joint share one switch."""
    if parameter.drive is not None:
        joints = f"{parameter.drive.i + 1} and {parameter.drive.j + 1}"
        return f"{KINDS[parameter.kind]} of the drive shared by joints {joints}"
    if parameter.joint < 0:
        return parameter.name
    if parameter.kind in INERTIAL:
        return TENSORS if parameter.kind.startswith("I") else MOMENTS
    if parameter.kind in KINDS or parameter.unit is None:
        return KINDS.get(parameter.kind, parameter.kind)
    title = parameter.unit.title.removeprefix("the ")
    order = f" of order {parameter.unit.order:g}" if isinstance(parameter.unit, Harmonic) else ""
    return f"{title[0].upper()}{title[1:]}{order}"


def _refit_arrays(solved: SolvedEquations, values: Array) -> Iterable[bytes]:
    """The weighted triangle of all joints, row by row, and the residual of its right-hand side."""
    whole = solved.joints.together(solved.weights)
    yield _doubles(whole.R[np.triu_indices(len(values))], KEPT_BYTES)
    yield _doubles(whole.z - whole.R @ values, 8)


def _run_arrays(fit: Identification, run: PredictedRun, columns: RunColumns) -> Iterable[bytes]:
    with extra("identify", "the report on an identification"):
        from scipy.linalg import qr, solve_triangular

    for j, (felt, R, values) in enumerate(zip(columns.columns, columns.triangles, columns.values, strict=True)):
        p = len(felt)
        size = np.abs(fit.parameters[felt]) + np.nan_to_num(fit.std[felt], nan=0.0, posinf=0.0)
        Q, scaled, order = qr(R[:, :p] * size, pivoting=True)
        upper = np.triu(Q.T @ R[:, order])[:p]  # of the unscaled columns, in the new order
        left = Q.T @ (R[:, -1] - R[:, :p] @ fit.parameters[felt])
        yield _whole_numbers(order)
        yield _doubles(upper[np.triu_indices(p)], KEPT_BYTES)
        yield _doubles(np.append(left, np.linalg.norm(run.measured[:, j])), 8)
        for signal in (run.measured, run.residual):
            yield from _stepped(signal[columns.instants, j], SIGNAL)
        alone = np.abs(np.diag(upper)) > 1e-12 * np.linalg.norm(upper)
        directions = np.zeros_like(values)
        directions[alone] = solve_triangular(upper[np.ix_(alone, alone)], values[order][alone], trans="T")
        counts = np.abs(np.diag(scaled)) / max(float(np.linalg.norm(run.measured[:, j])), 1e-300)
        for direction, count in zip(directions, counts.tolist(), strict=True):
            yield from _stepped(direction, int(np.clip(4 * FINEST * count, COARSEST, FINEST)))


def _doubles(x: Array, kept: int) -> bytes:
    """Doubles rounded to a number of bytes: the first bytes of all, then the second bytes of all, and so on."""
    bits = np.ascontiguousarray(x, "<f8").view("<u8")
    lost = 8 * (8 - kept)
    if lost:
        bits = (bits + np.uint64(1 << (lost - 1))) >> np.uint64(lost) << np.uint64(lost)
    return bits.view(np.uint8).reshape(-1, 8)[:, ::-1][:, :kept].T.tobytes()


def _whole_numbers(x: NDArray[np.integer[Any]]) -> bytes:
    """Integers from −32768 to 32767 as 0, −1, 1, −2, …: their high bytes, then their low bytes."""
    wide = x.astype(np.int32)
    folded = np.where(wide < 0, -2 * wide - 1, 2 * wide).astype(">u2")
    return folded.view(np.uint8).reshape(-1, 2).T.tobytes()


def _stepped(x: Array, steps: int) -> Iterable[bytes]:
    """The step size, and the values as integer multiples of it, at most ``steps``."""
    step = max(float(np.abs(x).max(initial=0.0)) / steps, 1e-300)
    yield _doubles(np.array([step]), 8)
    yield _whole_numbers(np.round(x / step).astype(np.int32))
