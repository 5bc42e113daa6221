"""Hints from the residuals of a fit: a drive shared by two joints, a counterbalance, friction of another shape.

Every candidate has its own columns (:mod:`model_parameters`) at the joints that are moved by motors: all joints of an open
chain, the actuated joints of a closed chain, the leading joints of coupled ones. After projecting everything that a
joint's equations already contain out of the residual and of those columns, the explained fraction of the squares shows
how much the candidate would improve the fit. It is reported only if it is large and the joint is not yet explained
well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.robot.terms import Spring
from dalembert.work.identification.fitting.joint_columns import JointColumns
from dalembert.work.identification.fitting.model_parameters import (
    balance_terms,
    drives_of,
    gradual_terms,
    held_terms,
    stribeck_terms,
)
from dalembert.work.identification.fitting.parameter_set import Parameter, ParameterSet
from dalembert.work.identification.fitting.result import Identification, PredictedRun
from dalembert.work.identification.fitting.term_columns import States
from dalembert.work.identification.fitting.triangular_systems import column_lengths

# explained fraction of a joint's squares that is worth a sentence
LARGE = {"coupling": 0.6, "balance": 0.6, "friction": 0.4}
ELSEWHERE = 0.1  # minimum explained fraction on a validation run, with the coefficients of the identification run
SIMPLER = 0.02  # how much more a candidate must explain than a simpler one of the same kind
POOR = 0.05  # relative error of a joint above which a hint is given
MOST = 100_000  # largest number of samples that are used
WIDTHS = (0.03, 0.1)  # of the largest speed, for gradual Coulomb friction
SPEEDS = (0.05, 0.15)  # of the largest speed, for Stribeck friction

Candidate = tuple[str, str, tuple[Parameter, ...]]  # kind, the option to give, its columns


def hints(fit: Identification, present: Sequence[str]) -> list[str]:
    """A sentence for each option, other than those ``present``, that would explain much of the residual."""
    arm, poor = fit.before, fit.run.joint_errors > POOR
    if not poor.any():
        return []
    candidates = _candidates(arm, np.abs(fit.run.conditioned.qd).max(axis=0), present)
    if not candidates:
        return []
    shares = np.array(_shares(fit, [columns for _, _, columns in candidates]))  # (candidates, n)
    kinds = np.array([about for about, _, _ in candidates])
    least = np.array([LARGE[about] for about in kinds])
    shares = np.where(poor & (shares > least[:, None]), shares, 0.0)
    # each joint is mentioned with its best candidate only, since similar candidates explain much of the same residual
    shares *= kinds[:, None] == kinds[np.argmax(shares, axis=0)]
    best: dict[str, tuple[str, Array]] = {}
    for (about, option, _), large in zip(candidates, shares, strict=True):
        if large.max() > (best[about][1].max() + SIMPLER if about in best else 0.0):
            best[about] = (option, large)
    return [f"{option} would explain {_listed(arm, shares)} of the residual there" for option, shares in best.values()]


def _columns(arm: Arm, **present: Any) -> tuple[Parameter, ...]:
    """The parameters of terms or drives alone."""
    whole = ParameterSet(arm, friction=(), rotor=False, **{"terms": (), **present})
    return tuple(parameter for parameter in whole.members if parameter.further)


def _candidates(arm: Arm, fastest: Array, present: Sequence[str]) -> list[Candidate]:
    candidates: list[Candidate] = []
    fastest = np.maximum(fastest, 1e-9)
    if "coupling" not in present:
        for i in range(1, arm.n):
            option = f"a drive shared by both joints, coupling=[({i}, {i + 1})] (--coupling {i}:{i + 1}),"
            candidates.append(("coupling", option, _columns(arm, drives=drives_of(arm, [(i, i + 1)]))))
    if not {"balance", "spring"} & set(present):
        for j, name in enumerate(arm.joint_names):
            option = f"a spring, terms={{{name!r}: ['spring']}} (--term {name}:spring),"
            candidates.append(("balance", option, _columns(arm, terms=held_terms(arm, {j: Spring(0.0)}))))
        for j, joint in enumerate(arm.robot.moving_joints, 1):
            if joint.type != "prismatic":
                option = f"a counterbalance, balance=[{j}] (--balance {j}),"
                candidates.append(("balance", option, _columns(arm, terms=balance_terms(arm, [j]))))
    if not {"sigmoid", "stribeck"} & set(present):
        gradual = "Coulomb friction that changes sign gradually, sigmoid=True (--sigmoid),"
        falling = "friction that decreases with speed, stribeck=True (--stribeck),"
        for share in WIDTHS:
            turning = gradual_terms(arm, share * fastest, np.zeros(arm.n))
            candidates.append(("friction", gradual, _columns(arm, terms=turning)))
        for share in SPEEDS:
            candidates.append(("friction", falling, _columns(arm, terms=stribeck_terms(arm, share * fastest))))
    return candidates


def _shares(fit: Identification, candidates: Sequence[tuple[Parameter, ...]]) -> list[Array]:
    """For each candidate, the fraction (n,) of each joint's squared residual that its columns explain.

    If there are validation runs, the fitted coefficients must also explain part of the residual of the first; otherwise
    the fraction is 0.
    """
    flat = [column for columns in candidates for column in columns]
    by_joint = fit.base.joint_columns
    runs = [(run.residual, *_seen(run, by_joint, flat)) for run in (fit.run, *fit.validation[:1])]
    explained = [np.zeros(fit.before.n) for _ in candidates]
    for j, part in enumerate(by_joint.parts):
        equations = [(Y[part].T, C[:, j].T, r[: Y.shape[1], j]) for r, Y, C in runs]
        Y, C, r = equations[0]
        scale = column_lengths(Y)
        to_r, to_C = (np.linalg.lstsq(Y / scale, x, rcond=1e-10)[0] for x in (r, C))
        # the parts of the residual and of the candidates that those columns leave, on the first run and on the other
        (left, new), *others = [(r - Y / scale @ to_r, C - Y / scale @ to_C) for Y, C, r in equations]
        at = 0
        for columns, shares in zip(candidates, explained, strict=True):
            mine = slice(at, at + len(columns))
            at += len(columns)
            acts = np.linalg.norm(new[:, mine], axis=0) > 1e-9 * np.sqrt(len(new))
            if acts.any() and len(new) > 10 * (equations[0][0].shape[1] + len(columns)) ** 0.5:
                x = np.linalg.lstsq(new[:, mine], left, rcond=1e-6)[0]
                elsewhere = [_explained(r, C[:, mine] @ x) for r, C in others]
                if all(share > ELSEWHERE for share in elsewhere):
                    shares[j] = _explained(left, new[:, mine] @ x)
    return explained


def _seen(run: PredictedRun, by_joint: JointColumns, columns: Sequence[Parameter]) -> tuple[Array, Array]:
    """(Y, C): the columns of every joint's equations, and those of the candidates, low-passed: (rows, M), (k, n, M)."""
    ready, held, unit_torques, seen = run.conditioned, list[Array](), list[Array](), 0
    for piece, indices in ready.blocks():
        held.append(ready.low_passed(by_joint.rows(*piece.states, piece.temperature), indices))
        states = States(by_joint.parameters.arm, *piece.states)
        unit_torques.append(ready.low_passed(np.concatenate([column.column(states).T for column in columns]), indices))
        seen += len(piece.t)
        if seen > MOST:
            break
    return np.concatenate(held, axis=1), np.concatenate(unit_torques, axis=1).reshape(
        len(columns), run.residual.shape[1], -1
    )


def _explained(r: Array, by: Array) -> float:
    return 1.0 - float(np.sum((r - by) ** 2) / max(float(r @ r), 1e-300))


def _listed(arm: Arm, shares: Array) -> str:
    largest = [j for j in np.argsort(-shares)[:3] if shares[j] > 0]
    return ", ".join(f"{100 * shares[j]:.0f} % at {arm.joint_names[j]}" for j in largest)
