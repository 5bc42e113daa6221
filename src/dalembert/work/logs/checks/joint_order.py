"""Joints that are exchanged or reversed: changes after which a log matches this arm.

A change is suggested if two conditions hold. The arm's own torques then explain far more of the measured torques beyond
friction, with a gain within ``GAINS`` at every joint that they explain better. And a least-squares fit of all
parameters of an arm of this geometry leaves far less unexplained as well; or no more, if the arm's own torques describe
all joints concerned, and none of them without the change. Joints with negligible torque are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.wording import some
from dalembert.work.logs.conditioning import Conditioned
from dalembert.work.logs.log import Log

States = tuple[Array, ...]  # q, qd, qdd, tau

LOOKED = 600  # instants at which changes are tried
POOR = 0.6  # changes are tried if the arm leaves more than this share of a joint's squares beyond friction unexplained
GAINED = 0.5  # a change must explain this share of them, over all joints
LESS = 0.2  # or this share, if less than half of them remains
VOTE = 0.1  # of a joint's squares: a joint explained by this much more or less counts for or against a change
GAINS = (0.3, 3.0)  # plausible gains between the arm's own torques and the measured ones
SMALL = 0.02  # of the largest torque beyond friction: joints below it are ignored
FITTED = 5e-3  # of a joint's squares beyond friction: with a smaller residual no joint is mixed up
BETTER, ALIKE = 0.25, 1.2  # times the residual of the fit, over all joints: far better, and no worse
UNDECIDED = 0.02  # of a joint's squares: if two changes differ by less, both are reported
DESCRIBED = 0.3  # of a joint's squares: largest residual of the arm's own torques that describe it
RIDGE = 1e-9  # added to the squares of normalised columns, so that what the log does not excite keeps the arm's values


class Explained:
    """How well the torques of a log match those of an arm: shares of the squares beyond friction, (n,) each.

    counts         the joints with an informative torque
    shares, gains  the residual of the arm's own torques with a gain per joint, and these gains
    """

    def __init__(self, arm: Arm, states: States) -> None:
        q, qd, qdd, tau = states
        self.arm, self.states = arm, states
        model = np.asarray(arm.inverse_dynamics(q, qd, qdd), float)
        self.left, beyond = np.empty_like(tau), np.empty_like(tau)
        for j, v in enumerate(qd.T):
            friction, *_ = np.linalg.qr(np.column_stack([v, np.sign(v), np.ones(len(v))]))
            for x, out in ((tau, self.left), (model, beyond)):
                out[:, j] = x[:, j] - friction @ (friction.T @ x[:, j])
        self.total, along = np.sum(self.left**2, axis=0), np.sum(beyond**2, axis=0)
        self.counts = self.total > SMALL**2 * self.total.max(initial=1e-300)
        self.gains = np.sum(self.left * beyond, axis=0) / np.maximum(along, 1e-300)
        residual = np.sum((self.left - np.clip(self.gains, *GAINS) * beyond) ** 2, axis=0)
        self.shares = np.where(self.counts, np.minimum(residual / np.maximum(self.total, 1e-300), 1.0), 0.0)

    @cached_property
    def fitted(self) -> Array:
        """Residual of the best parameters of an arm of this geometry, friction and offsets included."""
        joints, own = np.flatnonzero(self.counts), np.asarray(self.arm.parameters, float)
        size = np.sqrt(self.total[joints])
        Y = np.asarray(self.arm.regressor(*self.states[:3]), float)[:, joints] / size[:, None]
        offsets = np.broadcast_to(np.diag(1.0 / size), (len(Y), len(joints), len(joints)))
        A = np.concatenate([Y, offsets], axis=2).reshape(len(Y) * len(joints), -1)
        y = (self.states[3][:, joints] / size).reshape(-1) - A[:, : len(own)] @ own
        length = np.linalg.norm(A, axis=0)
        unit = A[:, length > 0] / length[length > 0]
        best = np.linalg.solve(unit.T @ unit + RIDGE * np.eye(unit.shape[1]), unit.T @ y)
        shares = np.zeros(self.arm.n)
        shares[joints] = np.sum((y - unit @ best).reshape(-1, len(joints)) ** 2, axis=0)
        return shares

    def ratio(self, other: Explained) -> float:
        """The product over the joints of the residuals of the fit, relative to that of another."""
        mine, others = (np.log(np.maximum(x.fitted, FITTED)).sum() for x in (self, other))
        return float(np.exp(mine - others))

    def better_than(self, other: Explained, joints: Sequence[int]) -> bool:
        """Whether the fit leaves clearly less, or no more and the arm's own torques describe these joints only here."""
        at = list(joints)
        described = bool((self.shares[at] < DESCRIBED).all() and (other.shares[at] > POOR).all())
        return self.ratio(other) < (ALIKE if described else BETTER)

    def plausible_after(self, other: Explained, joints: Sequence[int]) -> bool:
        """Whether some joint is explained better, with a plausible gain, and none of ``joints`` worse."""
        gained = other.shares - self.shares
        gains = self.gains[self.counts & (gained > VOTE)]
        within = (gains > GAINS[0]) & (gains < GAINS[1])
        return bool(len(gains) and within.all() and (gained[list(joints)] > -VOTE).all())


class Change(NamedTuple):
    """A change to a log: its description, its remedy, the changed states and the joints concerned."""

    words: str
    remedy: str
    states: States
    joints: tuple[int, ...]


def explained(arm: Arm, ready: Conditioned) -> Explained:
    """The torques of the log at some of its instants."""
    every = max(1, ready.count // LOOKED)
    return Explained(arm, tuple(x[::every] for x in (ready.at_kept("q"), ready.qd, ready.at_kept("qdd"), ready.tau)))


def mixed_up(arm: Arm, log: Log, ready: Conditioned, reading: Mapping[str, Any]) -> list[str]:
    """A suggestion to change the log's joints so that it matches this arm, if there is one."""
    now, tried = explained(arm, ready), []
    opposite = np.flatnonzero(now.counts & (now.gains < 0) & (now.shares > POOR)).tolist()
    everywhere = len(opposite) == now.counts.sum()  # negative masses fit the reversed torques of all joints
    if now.shares.sum() < LESS or (now.fitted.max() < FITTED and not everywhere):
        return []
    for change in _changes(arm, now.states, reading, opposite):
        new = Explained(arm, change.states)
        gained, poor = now.shares.sum() - new.shares.sum(), now.shares.max() >= POOR
        much = (poor and gained >= GAINED) or (gained >= LESS and new.shares.sum() < gained)
        if much and new.plausible_after(now, change.joints):
            tried.append((float(new.shares.sum()), change, new))
    passed = [
        (share, change, new)
        for share, change, new in sorted(tried, key=lambda entry: entry[0])
        if (everywhere and list(change.joints) == opposite) or new.better_than(now, change.joints)
    ]
    if not passed:
        return []
    best = min(new.ratio(now) for _, _, new in passed)
    passed = [entry for entry in passed if entry[2].ratio(now) < 2 * best]
    least, change, new = passed[0]
    alike = [f" (or {other.words})" for share, other, _ in passed[1:2] if share < least + UNDECIDED]
    left = [f"{100 * np.sqrt(x.shares[x.counts].mean()):.2g} %" for x in (new, now)]
    return [
        f"{log.source}: {change.words}{''.join(alike)}, the arm's own model would leave {left[0]} of the torques beyond friction "
        f"unexplained, averaged over the joints, instead of {left[1]} without this change; {change.remedy}"
    ]


def _turned(arm: Arm, reading: Mapping[str, Any], joints: Sequence[int], quantities: Sequence[str]) -> str:
    """How to reverse the sign of the named quantities of some joints."""
    if "gains" in reading and list(quantities) == ["tau"]:
        return "reverse the sign of their drive gains (gains, --gains)"
    if reading.get("motor_side"):
        return "reverse the sign of their gear ratios (gears, --gears) for quantities on the motor side"
    signs = [-1 if j in joints else 1 for j in range(arm.n)]
    sides = ",".join(quantities)
    words = " ".join(map(str, signs))
    return f"use gears={signs} with motor_side='{sides}' (--gears '{words}' --motor-side {sides})"


def _changes(arm: Arm, states: States, reading: Mapping[str, Any], opposite: Sequence[int]) -> Iterator[Change]:
    """Two joints or their torques exchanged, the sign of a joint, its position or its torque reversed, or the signs of all
    torques ``opposite`` to the arm's."""
    *motion, tau = states
    names, logged = arm.joint_names, list(reading.get("joint_names") or arm.joint_names)
    if len(opposite) > 1 or (opposite and arm.passive_names):
        words = f"with the signs of the torques of {some([names[j] for j in opposite], 8)} reversed"
        signs = np.where(np.isin(np.arange(arm.n), opposite), -1.0, 1.0)
        yield Change(words, _turned(arm, reading, opposite, ["tau"]), (*motion, tau * signs), tuple(opposite))
    if arm.passive_names:  # whose joints cannot be exchanged or reversed one by one
        return
    for i, j in combinations(range(arm.n), 2):
        order = list(range(arm.n))
        order[i], order[j] = j, i
        swap = {names[i]: names[j], names[j]: names[i]}
        joints = " ".join(swap.get(name, name) for name in logged)
        remedy = f"give joint_names in the order of the log's columns (--joints '{joints}')"
        pair, swapped = f"'{names[i]}' and '{names[j]}'", tuple(x[:, order] for x in states)
        yield Change(f"with joints {pair} exchanged", remedy, swapped, (i, j))
        remedy = "name the columns of tau in the order of the joints with columns (--column tau=…)"
        yield Change(f"with the torques of {pair} exchanged", remedy, (*motion, tau[:, order]), (i, j))
    for j, name in enumerate(names):
        sign = np.where(np.arange(arm.n) == j, -1.0, 1.0)
        for words, sides in (
            (f"the direction of joint '{name}'", ["q", "qd", "tau"]),
            (f"the sign of q of '{name}'", ["q", "qd"]),
            (f"the sign of the torque of '{name}'", ["tau"]),
        ):
            changed = [
                x * sign if side in sides else x for x, side in zip(states, ("q", "qd", "qd", "tau"), strict=True)
            ]
            yield Change(f"with {words} reversed", _turned(arm, reading, [j], sides), tuple(changed), (j,))
