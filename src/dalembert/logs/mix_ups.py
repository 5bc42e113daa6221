"""Joints mixed up, turned, or counted from another zero: which change of a log makes it the log of this arm.

A change is suggested on two grounds. The arm's own torques then explain far more of those measured, with a gain between
``GAINS`` at every joint that they explain better. And the parameters of an arm of this geometry, whatever they are,
explain far more as well: a least-squares fit of all of them, friction included, before and after; or as much, where a joint
has negative inertia or friction before. No other change may be fitted far better. Joints whose torque is negligible and
hardly more than friction and noise neither accuse others nor are accused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.equations.regressor import PARAMETERS, WIDTH
from dalembert.logs.conditioning import Conditioned
from dalembert.logs.formats.raw import Array, listed
from dalembert.logs.log import Log
from dalembert.logs.units import sliding_joints

States = tuple[Array, Array, Array, Array]  # q, qd, qdd, tau

LOOKED = 600  # instants at which changes are tried
POOR = 0.6  # the share of a joint's squares beyond friction that the arm leaves, above which changes are tried
GAINED = 0.5  # a change must take so much of them away, all joints together
LESS = 0.2  # or so much, if less than half of them is left
VOTE = 0.1  # of a joint's squares: who is explained by so much more or less counts for or against a change
GAINS = (0.3, 3.0)  # what the arm's own torques may be multiplied with to explain those measured
SMALL = 0.02  # of the largest torque: a joint below it counts only where its torque tells more than friction and noise
TOLD = 0.5  # of its squares: what the joint's own equations must explain of it then
UNDECIDED = 0.02  # of a joint's squares: two changes that differ by less are both said
RIVAL = 0.2  # of what the fit leaves with a change: another that leaves less makes it doubtful
THINNED = 4  # one of so many instants is looked at for that
TRIED = 12  # changes, those that the arm's own torques like best, for which the arm is fitted again
FITTED = 5e-3  # of a joint's squares beyond friction: a fit that leaves less has no joint mixed up
BETTER = 0.25  # of what the fit leaves: a change must leave less
ALIKE = 1.2  # times what it leaves: as much, for a change after which no inertia or friction is negative
NEGATIVE, LOSS = 0.1, 0.02  # of the arm's own inertia, and of a joint's torque: what noise can make negative
UNDESCRIBED, DESCRIBED = 0.5, 0.1  # of a joint's squares: what the arm's own torques leave, at least and at most
POSES = 50  # in which a joint's inertia is looked at
RANK = 1e-12  # squares of singular values, beside the largest, of columns that are dependent
RIDGE = (
    1e-9  # added to the squares of columns of length one, so that what the log does not show stays as the arm has it
)


class Change(NamedTuple):
    """A change to a log: in words, what makes it, the states so changed and the joints it concerns.

    torques  whose torques and ``motions``, whose positions and velocities the joints have, where they are others'
    """

    words: str
    remedy: Callable[[Arm, Mapping[str, Any]], str]
    states: States
    joints: tuple[int, ...]
    torques: tuple[int, ...] = ()
    motions: tuple[int, ...] = ()


class Explained:
    """How well the torques of a log are those of an arm in the states of the log, changed or not.

    before, change  the log as it was, and what was changed: friction and the joints that count are taken from there
    friction        bases (N, ≤ 3) of each joint's viscous and Coulomb friction and offset
    left, total     the torques beyond friction (N, n), and their squares (n,)
    """

    def __init__(self, arm: Arm, states: States, before: Explained | None = None, change: Change | None = None) -> None:
        self.arm, self.states, every = arm, states, range(arm.n)
        self._counts: NDArray[np.bool_] | None = None
        if before is None:
            self.friction = [_basis(np.column_stack([v, np.sign(v), np.ones(len(v))])) for v in states[1].T]
        else:  # of a velocity turned it is the same
            self.friction = [before.friction[k] for k in (change and change.motions) or every]
            self._counts = before.counts[list((change and change.torques) or every)]
        self.left = np.column_stack([x - Q @ (Q.T @ x) for x, Q in zip(states[3].T, self.friction, strict=True)])
        self.total = np.sum(self.left**2, axis=0)

    @cached_property
    def counts(self) -> NDArray[np.bool_]:
        """(n,) the joints whose torque tells something: not those that are negligible, and friction and noise besides."""
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
        """The same at some of the instants."""
        q, qd, qdd, tau = (x[::THINNED] for x in self.states)
        some = Explained(self.arm, (q, qd, qdd, tau))
        some._counts = self.counts
        return some

    @cached_property
    def regressor(self) -> Array:
        """Y (N, n, p) of all parameters."""
        return np.asarray(self.arm.regressor(*self.states[:3]), float)

    @cached_property
    def _own(self) -> tuple[Array, Array]:
        """(shares, gains) of the arm's own torques, joint by joint: (n,) each."""
        model = np.asarray(self.arm.inverse_dynamics(*self.states[:3]), float)
        shares, gains = np.zeros(self.arm.n), np.ones(self.arm.n)
        for j in np.flatnonzero(self.counts):
            left, Q = self.left[:, j], self.friction[j]
            brought = model[:, j] - Q @ (Q.T @ model[:, j])
            along = float(brought @ brought)
            gains[j] = float(left @ brought) / along if along > 1e-12 * float(model[:, j] @ model[:, j]) else 0.0
            plausible = np.clip(gains[j], *GAINS)
            shares[j] = min(float(np.sum((left - plausible * brought) ** 2)) / self.total[j], 1.0)
        return shares, gains

    @property
    def shares(self) -> Array:
        """What the arm's own torques leave, with a gain of their own, of the squares that friction leaves: (n,)."""
        return self._own[0]

    @property
    def gains(self) -> Array:
        """The gains of the arm's own torques: (n,)."""
        return self._own[1]

    @cached_property
    def _fit(self) -> tuple[Array, Array]:
        """(shares, π): what the best parameters leave of the same squares, and those nearest to the arm's own."""
        joints, own = np.flatnonzero(self.counts), np.asarray(self.arm.parameters, float)
        size = np.sqrt(self.total[joints])
        Y = self.regressor[:, joints] / size[:, None]
        offsets = np.broadcast_to(np.diag(1.0 / size), (len(Y), len(joints), len(joints)))
        A = np.concatenate([Y, offsets], axis=2).reshape(len(Y) * len(joints), -1)
        y = (self.states[3][:, joints] / size).reshape(-1) - A[:, : len(own)] @ own
        length = np.linalg.norm(A, axis=0)
        felt = np.flatnonzero(length > 0)
        unit = A[:, felt] / length[felt]
        best = np.linalg.solve(unit.T @ unit + RIDGE * np.eye(len(felt)), unit.T @ y)
        shares = np.zeros(self.arm.n)
        shares[joints] = np.sum((y - unit @ best).reshape(-1, len(joints)) ** 2, axis=0)
        change = np.zeros(A.shape[1])
        change[felt] = best / length[felt]
        return shares, own + change[: len(own)]

    @property
    def fitted(self) -> Array:
        """What the best parameters of an arm of this geometry leave of the same squares: (n,), 0 where nothing counts."""
        return self._fit[0]

    def possible(self, j: int) -> bool:
        """Whether a joint of the best parameters is one that can be: with inertia, and friction that takes energy out."""
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
        """Whether the best parameters leave clearly less, BETTER of a joint's squares, or as much and can be."""
        if self.clearly_below(other):
            return True
        mine = [j for j in joints if self.counts[j]]
        alike = self.ratio(other) < ALIKE
        return alike and not all(map(other.possible, mine)) and all(map(self.possible, mine))

    def described_over(self, other: Explained) -> bool:
        """Whether the arm's own torques describe two joints or more, that are not so before, and a fit is no worse."""
        fits = (
            (other.shares > UNDESCRIBED) & (self.shares < DESCRIBED) & (np.abs(np.log(np.abs(self.gains))) < np.log(2))
        )
        return bool(fits.sum() > 1 and self.ratio(other) < ALIKE)

    def clearly_below(self, other: Explained) -> bool:
        """Whether the best parameters leave BETTER of a joint's squares, or less, and not more in all."""
        return bool(self.ratio(other) < BETTER and self.fitted.sum() < other.fitted.sum())

    def ratio(self, other: Explained) -> float:
        """The product over the joints of what is left, beside that of another."""
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
    """The log at some of its instants."""
    every = max(1, ready.count // LOOKED)
    return Explained(
        arm, (ready.at_kept("q")[::every], ready.qd[::every], ready.at_kept("qdd")[::every], ready.tau[::every])
    )


def mixed_up(arm: Arm, log: Log, ready: Conditioned, reading: Mapping[str, Any]) -> list[str]:
    """A sentence about the change to the log's joints with which it looks like a log of this arm, if there is one."""
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
            f"the best fit would leave {_percent(new)} of the torques beyond friction unexplained, as a mean of its joints, "
            f"and leaves {_percent(now)} as it is"
        )
    elif change.remedy is _zero:
        who = listed(
            [arm.joint_names[j] for j in np.flatnonzero((now.shares > UNDESCRIBED) & (new.shares < DESCRIBED))]
        )
        reason = f"the arm's own model would explain more than {100 * (1 - DESCRIBED):.0f} % of the torques of {who}"
    else:
        who = listed([arm.joint_names[j] for j in change.joints if not now.possible(j)])
        reason = f"the best fit would be possible, and gives {who} negative inertia or friction as it is"
    return [f"{log.source}: {change.words}{''.join(alike)} {reason}; {change.remedy(arm, reading)}"]


def _rivalled(new: Explained, now: Explained) -> bool:
    """Whether some other change is fitted far better: then the arm's own torques like this one by chance."""
    before, chosen = now.thinned(), new.thinned()
    least = chosen.ratio(before)
    others = (Explained(now.arm, change.states, before, change) for change in _changes(now.arm, before.states))
    return any(other.ratio(before) < RIVAL * least for other in others)


def plausible(new: Explained, now: Explained, joints: Sequence[int]) -> bool:
    """Whether the arm's own torques need gains that a real arm can need, wherever the change makes them explain more.

    Some joint must be explained so, and none of those that the change concerns be explained less.
    """
    gained = now.shares - new.shares
    gains = new.gains[new.counts & (gained > VOTE)]
    within = (gains > GAINS[0]) & (gains < GAINS[1])
    return bool(len(gains) and within.all() and (gained[list(joints)] > -VOTE).all())


def point_against(arm: Arm, ready: Conditioned, joints: Sequence[int]) -> bool:
    """Whether the torques of these joints are those of the arm with the other sign: if it takes plausible gains, and the
    arm's parameters fit them better so; the same torques of all joints are fitted as well by negative masses, though."""
    now = explained(arm, ready)
    q, qd, qdd, tau = now.states
    sign = np.where(np.isin(np.arange(arm.n), joints), -1.0, 1.0)
    new = Explained(arm, (q, qd, qdd, tau * sign), now)
    everywhere = all(j in joints for j in np.flatnonzero(now.counts))
    return plausible(new, now, joints) and (everywhere or new.better_than(now, joints))


def _percent(states: Explained) -> str:
    return f"{100 * np.sqrt(states.fitted[states.counts].mean()):.2g} %"


def turned(arm: Arm, reading: Mapping[str, Any], joints: Sequence[int], quantities: Sequence[str]) -> str:
    """What to ask for so that some joints have the other sign in the named quantities."""
    if "gains" in reading and list(quantities) == ["tau"]:
        return "the other sign of their drive gains (gains, --gains) does that"
    if reading.get("motor_side"):
        return "the other sign of their gear ratios (gears, --gears) does that for what is at the motor side"
    signs = [-1 if j in joints else 1 for j in range(arm.n)]
    sides = ",".join(quantities)
    words = " ".join(map(str, signs))
    return f"gears={signs} with motor_side='{sides}' (--gears '{words}' --motor-side {sides}) does that"


def _turned(j: int, *quantities: str) -> Callable[[Arm, Mapping[str, Any]], str]:
    return lambda arm, reading: turned(arm, reading, [j], quantities)


def _named(i: int, j: int) -> Callable[[Arm, Mapping[str, Any]], str]:
    def remedy(arm: Arm, reading: Mapping[str, Any]) -> str:
        swap = {arm.joint_names[i]: arm.joint_names[j], arm.joint_names[j]: arm.joint_names[i]}
        names = " ".join(swap.get(name, name) for name in reading.get("joint_names") or arm.joint_names)
        return f"joint_names, in the order of the log's columns (--joints '{names}'), does that"

    return remedy


def _columns(arm: Arm, reading: Mapping[str, Any]) -> str:
    return "columns (--column tau=…) names the columns of tau in the order of the joints"


def _zero(arm: Arm, reading: Mapping[str, Any]) -> str:
    return "add it to that column, or move the joint's zero in the robot's file"


def _changes(arm: Arm, states: States) -> Iterator[Change]:
    """Two joints exchanged, one turned, one counted from another zero."""
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
        way = f"with joint '{name}' {'sliding' if slides else 'turning'} the other way"
        yield Change(way, _turned(j, "q", "qd", "tau"), (*moved, tau * sign), (j,))
        yield Change(f"with q of '{name}' of the other sign", _turned(j, "q", "qd"), (*moved, tau), (j,))
        other = (q, qd, qdd, tau * sign)
        yield Change(f"with the torque of '{name}' of the other sign", _turned(j, "tau"), other, (j,))
        for turn, words in () if slides else ((0.5, "90°"), (-0.5, "−90°"), (1.0, "180°")):
            shifted = (q + turn * np.pi * unit, qd, qdd, tau)
            yield Change(f"with {words} added to q of '{name}'", _zero, shifted, (j,))
