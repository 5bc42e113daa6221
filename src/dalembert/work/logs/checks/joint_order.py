"""Joints that are exchanged, reversed, or measured from another zero: changes after which a log matches this arm.

A change is suggested if two conditions hold. The arm's own torques then explain far more of the measured torques, with
a gain within ``GAINS`` at every joint that they explain better. And a least-squares fit of all parameters of an arm of
this geometry, friction included, explains far more as well; or equally much, if the fit without the change gives a
joint negative inertia or friction. No other change may give a far better fit. Joints whose torque is negligible and
hardly more than friction and noise count neither for nor against a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.tables.wording import some
from dalembert.mechanics.equations.regressor import PARAMETERS, WIDTH
from dalembert.work.logs.conditioning import Conditioned
from dalembert.work.logs.log import Log
from dalembert.work.logs.log_units import sliding_joints

States = tuple[Array, Array, Array, Array]  # q, qd, qdd, tau

LOOKED = 600  # instants at which changes are tried
POOR = 0.6  # changes are tried if the arm leaves more than this share of a joint's squares beyond friction unexplained
GAINED = 0.5  # a change must explain this share of them, over all joints
LESS = 0.2  # or this share, if less than half of them remains
VOTE = 0.1  # of a joint's squares: a joint explained by this much more or less counts for or against a change
GAINS = (0.3, 3.0)  # plausible gains between the arm's own torques and the measured ones
SMALL = 0.02  # of the largest torque: a joint below it counts only if its torque exceeds friction and noise
TOLD = 0.5  # of its squares: the share that the joint's own equations must then explain
UNDECIDED = 0.02  # of a joint's squares: if two changes differ by less, both are reported
RIVAL = 0.2  # of the residual with a change: another change with a smaller residual makes it doubtful
THINNED = 4  # decimation factor of the instants for that comparison
TRIED = 12  # number of changes, those favoured by the arm's own torques, for which the arm is fitted again
FITTED = 5e-3  # of a joint's squares beyond friction: with a smaller residual no joint is mixed up
BETTER = 0.25  # of the residual of the fit: a change must leave less
ALIKE = 1.2  # times the residual: equally good, for a change after which no inertia or friction is negative
NEGATIVE, LOSS = 0.1, 0.02  # of the arm's own inertia, and of a joint's torque: noise can cause such negative values
UNDESCRIBED, DESCRIBED = 0.5, 0.1  # of a joint's squares: residual of the arm's own torques, at least and at most
POSES = 50  # configurations in which a joint's inertia is evaluated
RANK = 1e-12  # squared singular values, relative to the largest, of linearly dependent columns
RIDGE = 1e-9  # added to the squares of normalised columns, so that what the log does not excite keeps the arm's values


class Change(NamedTuple):
    """A change to a log: its description, its remedy, the changed states and the joints concerned.

    torques  for each joint, whose torques it has; ``motions``, whose positions and velocities, if exchanged
    """

    words: str
    remedy: Callable[[Arm, Mapping[str, Any]], str]
    states: States
    joints: tuple[int, ...]
    torques: tuple[int, ...] = ()
    motions: tuple[int, ...] = ()


class Explained:
    """How well the torques of a log match those of an arm in the states of the log, changed or unchanged.

    before, change  the unchanged log, and the change: friction and the joints that count are taken from there
    friction        bases (N, ≤ 3) of each joint's viscous and Coulomb friction and offset
    left, total     the torques beyond friction (N, n), and their sums of squares (n,)
    """

    def __init__(self, arm: Arm, states: States, before: Explained | None = None, change: Change | None = None) -> None:
        self.arm, self.states, every = arm, states, range(arm.n)
        self._counts: NDArray[np.bool_] | None = None
        if before is None:
            self.friction = [_basis(np.column_stack([v, np.sign(v), np.ones(len(v))])) for v in states[1].T]
        else:  # a reversed velocity has the same friction basis
            self.friction = [before.friction[k] for k in (change and change.motions) or every]
            self._counts = before.counts[list((change and change.torques) or every)]
        self.left = np.column_stack([x - Q @ (Q.T @ x) for x, Q in zip(states[3].T, self.friction, strict=True)])
        self.total = np.sum(self.left**2, axis=0)

    @cached_property
    def counts(self) -> NDArray[np.bool_]:
        """(n,) the joints with an informative torque, that is, not both negligible and only friction and noise."""
        if self._counts is not None:
            return self._counts
        tau = np.sum(self.states[3] ** 2, axis=0)
        moves = self.total > 1e-6 * tau
        small = self.total < SMALL**2 * tau.max(initial=0.0)
        for j in np.flatnonzero(moves & small):
            own = np.column_stack([self.friction[j], self.regressor[:, j, self.regressor[:, j].any(axis=0)]])
            Q = _basis(own)
            x = self.states[3][:, j]
            moves[j] = np.sum((x - Q @ (Q.T @ x)) ** 2) < (1 - TOLD) * self.total[j]
        return moves

    def thinned(self) -> Explained:
        """A copy with some of the instants."""
        q, qd, qdd, tau = (x[::THINNED] for x in self.states)
        some = Explained(self.arm, (q, qd, qdd, tau))
        some._counts = self.counts
        return some

    @cached_property
    def regressor(self) -> Array:
        """Y (N, n, p) for all parameters."""
        return np.asarray(self.arm.regressor(*self.states[:3]), float)

    @cached_property
    def _own(self) -> tuple[Array, Array]:
        """(shares, gains) of the arm's own torques, per joint: (n,) each."""
        model = np.asarray(self.arm.inverse_dynamics(*self.states[:3]), float)
        shares, gains = np.zeros(self.arm.n), np.ones(self.arm.n)
        for j in np.flatnonzero(self.counts):
            left, Q = self.left[:, j], self.friction[j]
            beyond = model[:, j] - Q @ (Q.T @ model[:, j])
            along = float(beyond @ beyond)
            gains[j] = float(left @ beyond) / along if along > 1e-12 * float(model[:, j] @ model[:, j]) else 0.0
            plausible = np.clip(gains[j], *GAINS)
            shares[j] = min(float(np.sum((left - plausible * beyond) ** 2)) / self.total[j], 1.0)
        return shares, gains

    @property
    def shares(self) -> Array:
        """Residual of the arm's own torques, with a gain per joint, as a share of the squares beyond friction: (n,)."""
        return self._own[0]

    @property
    def gains(self) -> Array:
        """The gains of the arm's own torques: (n,)."""
        return self._own[1]

    @cached_property
    def _fit(self) -> tuple[Array, Array]:
        """(shares, π): residual of the best parameters as a share of the squares, and those nearest to the arm's."""
        joints, own = np.flatnonzero(self.counts), np.asarray(self.arm.parameters, float)
        size = np.sqrt(self.total[joints])
        Y = self.regressor[:, joints] / size[:, None]
        offsets = np.broadcast_to(np.diag(1.0 / size), (len(Y), len(joints), len(joints)))
        A = np.concatenate([Y, offsets], axis=2).reshape(len(Y) * len(joints), -1)
        y = (self.states[3][:, joints] / size).reshape(-1) - A[:, : len(own)] @ own
        length = np.linalg.norm(A, axis=0)
        nonzero = np.flatnonzero(length > 0)
        unit = A[:, nonzero] / length[nonzero]
        best = np.linalg.solve(unit.T @ unit + RIDGE * np.eye(len(nonzero)), unit.T @ y)
        shares = np.zeros(self.arm.n)
        shares[joints] = np.sum((y - unit @ best).reshape(-1, len(joints)) ** 2, axis=0)
        change = np.zeros(A.shape[1])
        change[nonzero] = best / length[nonzero]
        return shares, own + change[: len(own)]

    @property
    def fitted(self) -> Array:
        """Residual of the best parameters of an arm of this geometry, as a share: (n,), 0 if a joint does not count."""
        return self._fit[0]

    def possible(self, j: int) -> bool:
        """Whether the best parameters of a joint are physical: positive inertia, and dissipative friction."""
        q, qd, _, tau = self.states
        pi, own = self._fit[1], np.asarray(self.arm.parameters, float)
        some = q[:: max(1, len(q) // POSES)]
        still, unit = np.zeros_like(some), np.broadcast_to(np.eye(self.arm.n)[j], some.shape)
        inertia = (self.arm.regressor(some, still, unit) - self.arm.regressor(some, still, still))[:, j]
        body = WIDTH * self.arm.mechanism.actuated[j]
        viscous, coulomb = (pi[body + PARAMETERS.index(kind)] for kind in ("Fv", "Fs"))
        power = np.mean(viscous * qd[:, j] ** 2 + coulomb * np.abs(qd[:, j]))
        usual = np.sqrt(np.mean(qd[:, j] ** 2) * np.mean(tau[:, j] ** 2))
        return bool(np.mean(inertia @ pi) > -NEGATIVE * abs(np.mean(inertia @ own)) and power > -LOSS * usual)

    def better_than(self, other: Explained, joints: Sequence[int]) -> bool:
        """Whether the best parameters leave clearly less (BETTER of a joint's squares), or as much but are physical."""
        if self.clearly_below(other):
            return True
        mine = [j for j in joints if self.counts[j]]
        alike = self.ratio(other) < ALIKE
        return alike and not all(map(other.possible, mine)) and all(map(self.possible, mine))

    def described_over(self, other: Explained) -> bool:
        """Whether the arm's own torques describe at least two joints not described before, and a fit is no worse."""
        fits = (
            (other.shares > UNDESCRIBED) & (self.shares < DESCRIBED) & (np.abs(np.log(np.abs(self.gains))) < np.log(2))
        )
        return bool(fits.sum() > 1 and self.ratio(other) < ALIKE)

    def clearly_below(self, other: Explained) -> bool:
        """Whether the residual of the best parameters is at most BETTER for some joint, and not larger in total."""
        return bool(self.ratio(other) < BETTER and self.fitted.sum() < other.fitted.sum())

    def ratio(self, other: Explained) -> float:
        """The product over the joints of the residuals, relative to that of another."""
        mine, others = (np.log(np.maximum(x.fitted, FITTED)).sum() for x in (self, other))
        return float(np.exp(mine - others))


def _basis(A: Array) -> Array:
    """Orthonormal columns that span those of A."""
    length = np.linalg.norm(A, axis=0)
    if not length.any():
        return np.zeros((len(A), 0))
    U, singular, _ = np.linalg.svd(A[:, length > 0] / length[length > 0], full_matrices=False)
    return np.asarray(U[:, singular**2 > RANK * singular[0] ** 2])


def explained(arm: Arm, ready: Conditioned) -> Explained:
    """The torques of the log at some of its instants."""
    every = max(1, ready.count // LOOKED)
    return Explained(
        arm, (ready.at_kept("q")[::every], ready.qd[::every], ready.at_kept("qdd")[::every], ready.tau[::every])
    )


def mixed_up(arm: Arm, log: Log, ready: Conditioned, reading: Mapping[str, Any]) -> list[str]:
    """A suggestion to change the log's joints so that it matches this arm, if there is one."""
    if arm.passive_names:
        return []
    now = explained(arm, ready)
    own = now.shares
    if not now.counts.any() or (own.max() < POOR and own.sum() < LESS) or now.fitted.max() < FITTED:
        return []
    tried = []
    for change in _changes(arm, now.states):
        new = Explained(arm, change.states, now, change)
        gained = float(own.sum() - new.shares.sum())
        much = (gained >= GAINED and own.max() >= POOR) or (gained >= LESS and new.shares.sum() < gained)
        if much and plausible(new, now, change.joints):
            tried.append((float(new.shares.sum()), change, new))
    tried.sort(key=lambda entry: entry[0])
    passed = [
        entry
        for entry in tried[:TRIED]
        if entry[2].better_than(now, entry[1].joints) or (entry[1].remedy is _zero and entry[2].described_over(now))
    ]
    if not passed:
        return []
    least = min(new.ratio(now) for _, _, new in passed)
    passed = [entry for entry in passed if entry[2].ratio(now) < 2 * least]
    share, change, new = passed[0]
    if _rivalled(new, now):
        return []
    alike = [f" (or {other.words})" for further, other, _ in passed[1:2] if further < share + UNDECIDED]
    if new.clearly_below(now):
        reason = (
            f"the best fit would leave {_percent(new)} of the torques beyond friction unexplained, averaged over the joints, "
            f"instead of {_percent(now)} without this change"
        )
    elif change.remedy is _zero:
        who = some([arm.joint_names[j] for j in np.flatnonzero((now.shares > UNDESCRIBED) & (new.shares < DESCRIBED))])
        reason = f"the arm's own model would explain more than {100 * (1 - DESCRIBED):.0f} % of the torques of {who}"
    else:
        who = some([arm.joint_names[j] for j in change.joints if not now.possible(j)])
        reason = f"the best fit would be physical; without this change it gives {who} negative inertia or friction"
    return [f"{log.source}: {change.words}{''.join(alike)}, {reason}; {change.remedy(arm, reading)}"]


def _rivalled(new: Explained, now: Explained) -> bool:
    """Whether another change gives a far better fit: then the arm's own torques favour this one by coincidence."""
    before, chosen = now.thinned(), new.thinned()
    least = chosen.ratio(before)
    others = (Explained(now.arm, change.states, before, change) for change in _changes(now.arm, before.states))
    return any(other.ratio(before) < RIVAL * least for other in others)


def plausible(new: Explained, now: Explained, joints: Sequence[int]) -> bool:
    """Whether the gains of the arm's own torques are plausible wherever the change makes them explain more.

    At least one joint must be explained better, and none of those concerned by the change worse.
    """
    gained = now.shares - new.shares
    gains = new.gains[new.counts & (gained > VOTE)]
    within = (gains > GAINS[0]) & (gains < GAINS[1])
    return bool(len(gains) and within.all() and (gained[list(joints)] > -VOTE).all())


def point_against(arm: Arm, ready: Conditioned, joints: Sequence[int]) -> bool:
    """Whether the torques of these joints are those of the arm with opposite sign, with plausible gains and a better
    fit; the reversed torques of all joints, however, are fitted equally well by negative masses."""
    now = explained(arm, ready)
    q, qd, qdd, tau = now.states
    sign = np.where(np.isin(np.arange(arm.n), joints), -1.0, 1.0)
    new = Explained(arm, (q, qd, qdd, tau * sign), now)
    everywhere = all(j in joints for j in np.flatnonzero(now.counts))
    return plausible(new, now, joints) and (everywhere or new.better_than(now, joints))


def _percent(states: Explained) -> str:
    return f"{100 * np.sqrt(states.fitted[states.counts].mean()):.2g} %"


def turned(arm: Arm, reading: Mapping[str, Any], joints: Sequence[int], quantities: Sequence[str]) -> str:
    """How to reverse the sign of the named quantities of some joints."""
    if "gains" in reading and list(quantities) == ["tau"]:
        return "reverse the sign of their drive gains (gains, --gains)"
    if reading.get("motor_side"):
        return "reverse the sign of their gear ratios (gears, --gears) for quantities on the motor side"
    signs = [-1 if j in joints else 1 for j in range(arm.n)]
    sides = ",".join(quantities)
    words = " ".join(map(str, signs))
    return f"use gears={signs} with motor_side='{sides}' (--gears '{words}' --motor-side {sides})"


def _turned(j: int, *quantities: str) -> Callable[[Arm, Mapping[str, Any]], str]:
    return lambda arm, reading: turned(arm, reading, [j], quantities)


def _named(i: int, j: int) -> Callable[[Arm, Mapping[str, Any]], str]:
    def remedy(arm: Arm, reading: Mapping[str, Any]) -> str:
        swap = {arm.joint_names[i]: arm.joint_names[j], arm.joint_names[j]: arm.joint_names[i]}
        names = " ".join(swap.get(name, name) for name in reading.get("joint_names") or arm.joint_names)
        return f"give joint_names in the order of the log's columns (--joints '{names}')"

    return remedy


def _columns(arm: Arm, reading: Mapping[str, Any]) -> str:
    return "name the columns of tau in the order of the joints with columns (--column tau=…)"


def _zero(arm: Arm, reading: Mapping[str, Any]) -> str:
    return "add it to that column, or change the joint's zero position in the robot file"


def _changes(arm: Arm, states: States) -> Iterator[Change]:
    """Two joints exchanged, one reversed, or one measured from another zero."""
    q, qd, qdd, tau = states
    names = arm.joint_names
    for i, j in combinations(range(arm.n), 2):
        order = list(range(arm.n))
        order[i], order[j] = j, i
        pair, both = f"'{names[i]}' and '{names[j]}'", (i, j)
        swapped = (q[:, order], qd[:, order], qdd[:, order], tau[:, order])
        yield Change(f"with joints {pair} exchanged", _named(i, j), swapped, both, tuple(order), tuple(order))
        exchanged = (q, qd, qdd, tau[:, order])
        yield Change(f"with the torques of {pair} exchanged", _columns, exchanged, both, tuple(order))
    for j, (name, unit, slides) in enumerate(zip(names, np.eye(arm.n), sliding_joints(arm), strict=True)):
        sign = 1.0 - 2.0 * unit
        moved = (q * sign, qd * sign, qdd * sign)
        way = f"with the direction of joint '{name}' reversed"
        yield Change(way, _turned(j, "q", "qd", "tau"), (*moved, tau * sign), (j,))
        yield Change(f"with the sign of q of '{name}' reversed", _turned(j, "q", "qd"), (*moved, tau), (j,))
        other = (q, qd, qdd, tau * sign)
        yield Change(f"with the sign of the torque of '{name}' reversed", _turned(j, "tau"), other, (j,))
        for turn, words in () if slides else ((0.5, "90°"), (-0.5, "−90°"), (1.0, "180°")):
            shifted = (q + turn * np.pi * unit, qd, qdd, tau)
            yield Change(f"with {words} added to q of '{name}'", _zero, shifted, (j,))
