"""The samples of a closed loop, cut into segments that are simulated side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import record
from dalembert.errors import DalembertError
from dalembert.work.logs.conditioning import automatic_cutoff, low_pass, runs_of, usual_step
from dalembert.work.logs.log import Log
from dalembert.work.simulation.controllers import Controller
from dalembert.work.simulation.servo import Servo

LENGTH = 0.05  # s: of a segment, over which rough values hardly leave the measured motion
FEWEST = 5  # samples per segment
TOGETHER = 0.5  # s: of some consecutive segments that are fitted apart from the others
SHORTEST = 50  # samples of a stretch: shorter ones hold hardly more than their own initial state
STATES = 2.0  # times the automatic cut-off: cut-off of the positions from which initial states are taken


@record
class LoopStretch:
    """Consecutive samples: t (L,), the measured positions q, commands (None for a motion of the controller's own), and the
    smoothed positions, velocities and accelerations x, xd and xdd (L, n)."""

    t: Array
    q: Array
    command: Array | None
    x: Array
    xd: Array
    xdd: Array


def stretches_of(log: Log) -> list[LoopStretch]:
    """The stretches of a log without gaps."""
    stretches = []
    for part in log.separate:
        step = usual_step(part)
        cutoff, rate = STATES * automatic_cutoff(part), 1.0 / step
        for rows in runs_of(part, step):
            if len(rows) < SHORTEST:
                continue
            t, q = part.t[rows], part.q[rows]
            x = q[0] + low_pass(q - q[0], rate, cutoff)
            xd = np.gradient(x, t, axis=0)
            command = None if part.command is None else part.command[rows]
            stretches.append(LoopStretch(t, q, command, x, xd, np.gradient(xd, t, axis=0)))
    if not stretches:
        raise DalembertError(
            f"{log.source}: no stretch of the log has {SHORTEST} samples without a gap, which a fit of positions needs"
        )
    return stretches


class Timing(NamedTuple):
    """How late a controller acts (s).

    delay     with which commands act, after the times at which they are logged
    lateness  of its velocities behind its positions, from which they are computed by differences and filters
    """

    delay: float = 0.0
    lateness: float = 0.0


class References(NamedTuple):
    """The references of a law, and their slopes by the delay of the commands and by the lateness of the velocities."""

    value: Array
    by_delay: Array
    by_lateness: Array


@record
class LoopSegments:
    """The stretches of a log in segments of K samples each; the last of a stretch may have fewer.

    rows    (S, K + 1) the samples of every segment, with its first one, among all samples of the stretches
    used    (S, K) which samples after the first belong to the log
    begins  (S,) whether a segment is the first of its stretch
    held    whether commands are held between two samples; they are interpolated otherwise
    period  of the controller, which holds its torque (s)
    parts   of every interval between two samples, a step of the simulation each
    """

    arm: Arm
    controller: Controller
    stretches: Sequence[LoopStretch]
    held: bool
    period: float
    parts: int
    rows: NDArray[np.intp]
    used: NDArray[np.bool_]
    begins: NDArray[np.bool_]

    @classmethod
    def of(
        cls, arm: Arm, controller: Controller, stretches: Sequence[LoopStretch], held: bool, period: float, parts: int,
        count: int = 0,
    ) -> LoopSegments:  # fmt: skip
        """The segments of some stretches, by default of ``LENGTH``."""
        step = float(np.median(np.concatenate([np.diff(stretch.t) for stretch in stretches])))
        count = count or max(FEWEST, round(LENGTH / step))
        rows, used, begins, first = list[Array](), list[Array](), list[bool](), 0
        for stretch in stretches:
            last = first + len(stretch.t) - 1
            for start in range(first, last, count):
                wanted = np.arange(start, start + count + 1)
                rows.append(np.minimum(wanted, last))
                used.append(wanted[1:] <= last)
                begins.append(start == first)
            first = last + 1
        return cls(arm, controller, stretches, held, period, parts, np.array(rows), np.array(used), np.array(begins))

    def some(self, samples: int) -> LoopSegments:
        """Pieces of the stretches with this many samples together, if these are few; each piece is a stretch of its own."""
        step = float(np.median(np.diff(self.t)))
        length = self.used.shape[1]
        together = max(1, round(TOGETHER / (step * length)))
        pieces = len(self.rows) // together
        count = int(np.ceil(samples / (length * together)))
        if pieces <= 2 * count:
            return self
        first = together * np.unique(np.linspace(0, pieces - 1, count).round().astype(np.intp))
        chosen = (first[:, None] + np.arange(together)).ravel()
        begins = self.begins[chosen] | np.isin(chosen, first)
        return replace(self, rows=self.rows[chosen], used=self.used[chosen], begins=begins)

    @property
    def whole(self) -> LoopSegments:
        """Each stretch as one segment."""
        longest = max(len(stretch.t) for stretch in self.stretches)
        return self.of(self.arm, self.controller, self.stretches, self.held, self.period, self.parts, longest - 1)

    def first(self, seconds: float) -> LoopSegments:
        """The first samples of every segment."""
        count = max(FEWEST, round(seconds / float(np.median(np.diff(self.t)))))
        return replace(self, rows=self.rows[:, : count + 1], used=self.used[:, :count])

    def together(self, name: str) -> Array:
        """A quantity at all samples of the stretches."""
        return np.concatenate([getattr(stretch, name) for stretch in self.stretches])

    @cached_property
    def t(self) -> Array:
        """The times of all samples of the stretches (s)."""
        return self.together("t")

    @cached_property
    def q(self) -> Array:
        """(S, K + 1, n) the measured positions."""
        return self.together("q")[self.rows]

    @cached_property
    def commands(self) -> Array:
        """(M, n) the commanded positions at all samples of the stretches."""
        return np.concatenate([
            self.controller.followed(stretch.t - stretch.t[0], self.arm.n)[0] if stretch.command is None else stretch.command
            for stretch in self.stretches
        ])  # fmt: skip

    @cached_property
    def states(self) -> Array:
        """(S, 2n) smoothed positions and velocities at the beginning of every segment."""
        return np.concatenate([self.together("x"), self.together("xd")], axis=1)[self.rows[:, 0]]

    @cached_property
    def steps(self) -> Array:
        """(S, K parts, 1) the lengths of the steps (s); those beyond the end of a stretch are not zero either."""
        h = np.diff(self.t[self.rows], axis=1)
        h = np.where(self.used, h, float(np.median(h[self.used])))
        return np.repeat(h / self.parts, self.parts, axis=1)[..., None]

    def references(self, fraction: float, timing: Timing) -> References:
        """(S, K parts, 3n) the references of the law at a fraction of every step."""
        if any(known != timing for _, known in self._references):
            self._references.clear()
        if (fraction, timing) not in self._references:
            parts = zip(*(self.sampled(stretch, fraction, timing) for stretch in self.stretches), strict=True)
            shape = (len(self.rows), -1, 3 * self.arm.n)
            cut = (np.concatenate(part)[self.rows[:, :-1]].reshape(shape) for part in parts)
            self._references[fraction, timing] = References(*cut)
        return self._references[fraction, timing]

    @cached_property
    def _references(self) -> dict[tuple[float, Timing], References]:
        """The references of the latest timing."""
        return {}

    def sampled(self, stretch: LoopStretch, fraction: float, timing: Timing) -> References:
        """(L, parts, 3n) the references after every sample of a stretch; its last sample repeats.

        A torque that is held for a period acts half of it late, with q − q̇ h and q̇ − q̈ h in place of q and q̇; velocities
        that are late by T beside that enter as q̇ − q̈ (h + T). This is the same as references that are larger by q̇ h and
        q̈ (h + T), with the measured q̇ and q̈.
        """
        t, arm, hold = stretch.t, self.arm, 0.5 * self.period
        h = np.append(np.diff(t), t[-1] - t[-2])
        within = (np.arange(self.parts) + fraction) / self.parts
        at = t[:, None] + h[:, None] * (0.0 * within if self.held else within) - timing.delay - hold
        speed, change = (_between(x, within) for x in (stretch.xd, stretch.xdd))
        rest = np.zeros_like(speed)
        if stretch.command is None:
            _, qd, qdd = (x.reshape(speed.shape) for x in self.controller.followed(at.ravel() - t[0], arm.n))
            value = self.controller.reference(at.ravel() - t[0], arm).reshape(*at.shape, 3 * arm.n)
            by_delay = -np.concatenate([qd, qdd, rest], axis=-1)
        else:
            q, rate = _interpolated(t, stretch.command, at)
            fed = isinstance(self.controller, Servo) and self.controller.velocity
            value = np.concatenate([q, rate if fed else rest, rest], axis=-1)
            by_delay = -np.concatenate([rate, rest, rest], axis=-1)
        late = np.concatenate([hold * speed, (hold + timing.lateness) * change, rest], axis=-1)
        return References(value + late, by_delay, np.concatenate([rest, change, rest], axis=-1))


def _between(values: Array, within: Array) -> Array:
    """Values (L, n) at these parts of every interval between two samples: (L, parts, n)."""
    following = np.concatenate([values[1:], values[-1:]])
    return np.asarray(values[:, None] + within[:, None] * (following - values)[:, None])


def _interpolated(t: Array, values: Array, at: Array) -> tuple[Array, Array]:
    """Values (L, n) at other times, and their rates; the first and the last value continue."""
    k = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(t) - 2)
    rate = np.diff(values, axis=0)[k] / np.diff(t)[k][..., None]
    inside = np.clip(at, t[0], t[-1])
    return values[k] + rate * (inside - t[k])[..., None], np.where((inside == at)[..., None], rate, 0.0)
