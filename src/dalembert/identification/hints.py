"""What a fit's residuals look like: a drive that two joints share, a counterbalance, friction of another shape.

Every candidate has columns of its own (:mod:`columns`). With all that a joint's equations hold already projected out
of the residual and of those columns, the share of squares that they explain says what asking for them would bring.
A share is said only where it is large and the joint is not explained well as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.identification.columns import (
    balance_columns,
    coupling_columns,
    sigmoid_columns,
    stribeck_columns,
)
from dalembert.identification.felt import Felt
from dalembert.identification.parameters import Column
from dalembert.identification.result import Identification

Array = NDArray[np.float64]

LARGE = {"coupling": 0.6, "balance": 0.6, "friction": 0.4}  # of a joint's squares: what is worth a sentence
POOR = 0.05  # a joint's relative error above which one is said
MOST = 100_000  # samples looked at
WIDTHS = (0.03, 0.1)  # of the largest speed, for friction that turns over gradually
SPEEDS = (0.05, 0.15)  # the same, for friction that falls with speed

Candidate = tuple[str, str, tuple[Column, ...]]  # what it is about, what to ask for, its columns


def hints(fit: Identification, asked: Sequence[str]) -> list[str]:
    """A sentence for each option, other than those ``asked``, that would explain much of what is left."""
    arm, poor = fit.before, fit.run.joint_errors > POOR
    if not poor.any() or arm.robot.loops:
        return []
    candidates = _candidates(arm, np.abs(fit.run.conditioned.qd).max(axis=0), asked)
    best: dict[str, tuple[str, Array]] = {}
    for (about, option, _), shares in zip(candidates, _shares(fit, [c for _, _, c in candidates]), strict=True):
        found = np.where(poor & (shares > LARGE[about]), shares, 0.0)
        if found.max() > (best[about][1].max() if about in best else 0.0):
            best[about] = (option, found)
    return [f"{option} would explain {_listed(arm, shares)} of what is left there" for option, shares in best.values()]


def _candidates(arm: Arm, fastest: Array, asked: Sequence[str]) -> list[Candidate]:
    made: list[Candidate] = []
    fastest = np.maximum(fastest, 1e-9)
    if "coupling" not in asked:
        for i in range(1, arm.n):
            option = f"a drive that both joints turn, coupling=[({i}, {i + 1})] (--coupling {i}:{i + 1}),"
            made.append(("coupling", option, coupling_columns(arm, [(i, i + 1)])))
    if "balance" not in asked:
        for j, joint in enumerate(arm.robot.moving_joints, 1):
            if joint.type != "prismatic":
                option = f"a counterbalance, balance=[{j}] (--balance {j}),"
                made.append(("balance", option, balance_columns(arm, [j])))
    if not {"sigmoid", "stribeck"} & set(asked):
        gradual = "friction that turns over gradually, sigmoid=True (--sigmoid),"
        falling = "friction that falls with speed, stribeck=True (--stribeck),"
        made += [("friction", gradual, sigmoid_columns(arm, share * fastest, np.zeros(arm.n))) for share in WIDTHS]
        made += [("friction", falling, stribeck_columns(arm, (share * fastest).tolist())) for share in SPEEDS]
    return made


def _shares(fit: Identification, candidates: Sequence[tuple[Column, ...]]) -> list[Array]:
    """For each candidate, the share (n,) of each joint's own squares that its columns explain."""
    ready, base, n = fit.run.conditioned, fit.base, fit.before.n
    flat = [column for columns in candidates for column in columns]
    felt = Felt(base.parameters, base.independent)
    held, brought, seen = list[Array](), list[Array](), 0
    for number, part, kept in ready.blocks():
        piece = ready.pieces[number]
        state = piece.q[part], piece.qd[part], piece.qdd[part]
        held.append(ready.low_passed(felt.rows(*state), kept))
        brought.append(ready.low_passed(np.concatenate([column.torque(*state).T for column in flat]), kept))
        seen += len(state[0])
        if seen > MOST:
            break
    Y, C = np.concatenate(held, axis=1), np.concatenate(brought, axis=1).reshape(len(flat), n, -1)
    made = [np.zeros(n) for _ in candidates]
    for j, part in enumerate(felt.parts):
        length = np.linalg.norm(Y[part], axis=1)
        U, s, _ = np.linalg.svd((Y[part][length > 0] / length[length > 0, None]).T, full_matrices=False)
        Q = U[:, s > 1e-10 * s[0]]
        left = fit.run.residual[: Y.shape[1], j]
        left = left - Q @ (Q.T @ left)
        new = C[:, j].T - Q @ (Q.T @ C[:, j].T)
        at = 0
        for columns, shares in zip(candidates, made, strict=True):
            mine = new[:, at : at + len(columns)]
            at += len(columns)
            mine = mine[:, np.linalg.norm(mine, axis=0) > 1e-9 * np.sqrt(len(mine))]
            if mine.shape[1] and len(mine) > 10 * (Q.shape[1] + mine.shape[1]) ** 0.5:
                x = np.linalg.lstsq(mine, left, rcond=1e-6)[0]
                shares[j] = 1.0 - float(np.sum((left - mine @ x) ** 2) / max(float(left @ left), 1e-300))
    return made


def _listed(arm: Arm, shares: Array) -> str:
    found = [j for j in np.argsort(-shares) if shares[j] > 0]
    return ", ".join(f"{100 * shares[j]:.0f} % at {arm.joint_names[j]}" for j in found[:3])
