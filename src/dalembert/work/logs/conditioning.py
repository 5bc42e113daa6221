"""Conditioning of a log for identification: uniform sampling, accelerations, and a common bandwidth.

S 7.4: "The reconstructing filter does not work in real time and thus it can also be anti-causal". Positions
and velocities are filtered forwards and backwards by a Butterworth low-pass, and accelerations are derivatives
of splines through the result. Torques and the regressor's columns are then filtered by one and the same
symmetric low-pass and decimated to the rate at which their noise is independent from sample to sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array, number
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import record
from dalembert.base.wording import counted
from dalembert.errors import DalembertError
from dalembert.work.logs.formats.raw import check_size
from dalembert.work.logs.log import Log
from dalembert.work.logs.rest import Rests, rest_speeds, rests
from dalembert.work.logs.scipy_package import scipy

ENERGY = 0.99  # the share of the motion's power that defines its bandwidth
USUAL = 2.0  # times the median bandwidth of the joints: the most that a single joint may require
ABOVE = 10.0  # the cut-off frequency, in multiples of the bandwidth
STATES = 2.0  # cut-off frequency for positions and velocities, in multiples of that for torques
SPACING = 2.5  # samples kept per second, in multiples of the cut-off: just above the pass band
REACH = 2.0  # half the length of the symmetric low-pass, in periods of the cut-off
OVERSAMPLED = 12.0  # samples per period of the cut-off that are left by thinning
EVEN = 0.02  # steps that differ by less than this share are uniform
GAP = 0.5  # a gap longer than this many periods of the cut-off splits the log in two
BREAK = 100.0  # usual steps: samples further apart belong to different runs
BLOCK = 2048  # samples processed at a time, so that memory does not grow with the log
WIDE = 16  # block size is at least this many half lengths of the low-pass, so that few samples are computed twice
SLOW = 10.0  # s: faster changes of a temperature are rounding and noise
BRIEF = 0.05  # of a stretch: temperatures are smoothed over at most this share
AT_ONCE, FAR = 50_000, 100  # samples per spline, and the overlap on either side
SHIFTS = 8  # low-passed samples computed at a time


@record
class Stretch:
    """A stretch of uniformly sampled data: t (N,), filtered q, qd, qdd and measured tau, all (N, n).

    rest         when each joint is at rest; by default all joints move throughout
    temperature  of the joints (°C), (N, n), if logged
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    rest: Rests | None = None
    temperature: Array | None = None

    @property
    def resting(self) -> NDArray[np.bool_]:
        """Which joints are at rest at which samples: (N, n)."""
        return np.zeros(self.qd.shape, bool) if self.rest is None else self.rest.resting

    @property
    def states(self) -> tuple[Array, Array, Array]:
        """(q, qd, qdd) for the equations: a joint at rest has zero acceleration, and a velocity that has only a sign.

        Dry friction thus keeps the direction of the last motion, and the noise of a joint at rest causes no torque.
        """
        if self.rest is None:
            return self.q, self.qd, self.qdd
        return self.q, self.rest.held(self.qd), self.rest.stopped(self.qdd)

    def part(self, rows: slice | NDArray[np.intp]) -> Stretch:
        """Some of its samples."""
        return replace(self, **{name: x[rows] for name, x in vars(self).items() if x is not None})


@record
class Conditioned:
    """A log ready for the equations.

    rate     sampling rate (Hz)
    cutoff   cut-off frequency of the low-pass for torques and regressor (Hz)
    every    decimation factor: one sample in ``every`` is kept
    edge     samples lost at each end of a piece
    repairs  sentences on resampling and on what was left out; low_pass: one on the low-pass itself
    sparse   whether samples that the cut-off does not need were left out before
    """

    pieces: tuple[Stretch, ...]
    rate: float
    cutoff: float
    every: int
    edge: int
    log: Log
    repairs: tuple[str, ...] = field(default=())
    low_pass: str = ""
    sparse: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """All sentences."""
        return (*self.repairs, self.low_pass)

    @cached_property
    def kernel(self) -> Array:
        """The symmetric low-pass: a windowed sinc whose coefficients sum to one."""
        k = np.arange(-self.reach, self.reach + 1)
        h = np.sinc(2 * self.cutoff / self.rate * k) * np.kaiser(len(k), 6.0)
        return h / h.sum()

    @cached_property
    def reach(self) -> int:
        """Half the length of the low-pass, in samples; 0 if it would pass the whole band."""
        return 0 if 2 * self.cutoff >= 0.95 * self.rate else round(REACH * self.rate / self.cutoff)

    @cached_property
    def kept(self) -> tuple[NDArray[np.intp], ...]:
        """The indices of the kept samples, for each piece."""
        return tuple(np.arange(self.edge, len(piece.t) - self.edge, self.every) for piece in self.pieces)

    @property
    def count(self) -> int:
        """Number of kept samples."""
        return sum(len(k) for k in self.kept)

    def thinned(self, quantity: Callable[[Stretch], Array]) -> Array:
        """A ``quantity`` (N, …) of the samples of a stretch, low-passed, at all kept samples: (count, …)."""
        blocks = self.blocks() if self.count else zip(self.pieces, self.kept, strict=True)
        return np.concatenate([self.filtered(quantity(some), indices) for some, indices in blocks])

    def filtered(self, x: Array, at: NDArray[np.intp]) -> Array:
        """``x`` (N, …) low-passed, at the given samples only: (len(at), …)."""
        return self.low_passed(x.reshape(len(x), -1).T, at).T.reshape(len(at), *x.shape[1:])

    def low_passed(self, rows: Array, at: NDArray[np.intp]) -> Array:
        """Rows (C, N) low-passed at samples ``every`` apart and at least ``reach`` from the ends: (C, len(at)).

        A few outputs at a time are computed as one product with a matrix of shifted copies of the low-pass.
        """
        if not self.reach and len(at):
            return rows[:, at[0] : at[-1] + 1 : self.every]
        weights, passed = shifted(self.kernel, self.every), np.empty((len(rows), len(at)))
        for start in range(0, len(at), SHIFTS):
            some = at[start : start + SHIFTS]
            span = rows[:, some[0] - self.reach : some[-1] + self.reach + 1]
            np.matmul(span, weights[: span.shape[1], : len(some)], out=passed[:, start : start + len(some)])
        return passed

    def blocks(self) -> Iterator[tuple[Stretch, NDArray[np.intp]]]:
        """(samples to compute, indices of the kept ones among them), one bounded block at a time."""
        for piece, indices in zip(self.pieces, self.kept, strict=True):
            size = max(1, max(BLOCK, WIDE * self.reach) // self.every)
            for start in range(0, len(indices), size):
                some = indices[start : start + size]
                first = int(some[0]) - self.reach
                yield piece.part(slice(first, int(some[-1]) + self.reach + 1)), some - first

    def at_kept(self, name: str) -> Array:
        """An array of the pieces, such as "qdd", at the kept instants."""
        return np.concatenate([getattr(p, name)[k] for p, k in zip(self.pieces, self.kept, strict=True)])

    @cached_property
    def t(self) -> Array:
        """The kept instants (s)."""
        return self.at_kept("t")

    @cached_property
    def qd(self) -> Array:
        """Velocities at the kept instants."""
        return self.at_kept("qd")

    @cached_property
    def resting(self) -> NDArray[np.bool_]:
        """Which joints are at rest at the kept instants: (count, n)."""
        return np.concatenate([p.resting[k] for p, k in zip(self.pieces, self.kept, strict=True)])

    def earlier_torques(self, lag: float) -> Conditioned:
        """A copy with torques shifted earlier by ``lag`` (s): τ + lag τ̇."""
        if lag == 0.0:
            return self
        steps = lag * self.rate
        moved = (replace(piece, tau=piece.tau + steps * np.gradient(piece.tau, axis=0)) for piece in self.pieces)
        return replace(self, pieces=tuple(moved))

    @cached_property
    def tau(self) -> Array:
        """Measured torques at the kept instants, low-passed."""
        return self.thinned(lambda piece: piece.tau)


def shifted(window: Array, every: int) -> Array:
    """A window in each of ``SHIFTS`` columns, each shifted down by ``every`` samples."""
    columns = np.zeros((len(window) + (SHIFTS - 1) * every, SHIFTS))
    for k in range(SHIFTS):
        columns[k * every : k * every + len(window), k] = window
    return columns


def condition(
    log: Log, *, cutoff: float | None = None, decimate: int | None = None, edge: float | None = None,
    origin: str = "as requested", thin: bool = False,
) -> Conditioned:  # fmt: skip
    """The log after resampling (if the time stamps are uneven), zero-phase filtering, differentiation and decimation.

    cutoff    in Hz; by default ten times the frequency below which 99 % of the motion's power lies
    decimate  keep one sample in ``decimate``; by default 2.5 samples per period of the cut-off
    edge      seconds cut at both ends; by default two periods of the cut-off
    origin    where a given cut-off comes from, in words
    thin      whether samples that the cut-off does not need are left out first: faster, and hardly less accurate
    """
    rate = 1.0 / usual_step(log)
    origin = "chosen from the spectrum of the motion" if cutoff is None else origin
    cutoff = automatic_cutoff(log) if cutoff is None else number("cutoff", cutoff)
    slowest = min(1.0 / usual_step(part) for part in log.separate)
    lowest = 0.01 / max(float(part.t[-1] - part.t[0]) for part in log.separate)  # whose period is a hundred logs long
    if not lowest < cutoff < 0.5 * slowest:
        raise DalembertError(
            f"the cut-off is {cutoff:g} Hz; for this log it must be between {lowest:.2g} Hz and half the sampling rate, "
            f"{0.5 * slowest:g} Hz"
        )
    fewer = max(1, int(rate / (OVERSAMPLED * cutoff))) if thin else 1
    rate /= fewer
    every = max(1, decimate // fewer if decimate else int(rate / (SPACING * cutoff)))
    pieces, notes = smoothed(log, cutoff, fewer)
    ready = Conditioned((), rate, cutoff, every, 0, log, sparse=fewer > 1)
    longest = max(len(piece.t) for piece in pieces)
    edge_samples = max(ready.reach, round(min((REACH / cutoff if edge is None else edge) * rate, longest)))
    long = [piece for piece in pieces if len(piece.t) > 2 * edge_samples + every]
    if long and len(long) < len(pieces):
        lost = sum(len(piece.t) for piece in pieces if piece not in long) / rate
        notes.append(
            f"{log.source}: {len(pieces) - len(long)} of {len(pieces)} stretches, {lost:.3g} s in total, are too short for this "
            "cut-off and were left out"
        )
    if not long:
        span = float(log.t[-1] - log.t[0])
        raise DalembertError(
            f"{log.source}: {span:.3g} s of motion are too short for a cut-off of {cutoff:.3g} Hz, which removes "
            f"{edge_samples / rate:.3g} s at each end; record more, or raise the cut-off"
        )
    cut = f"{edge_samples / rate:.2g} s cut at each end"
    about = f"low-pass at {cutoff:.3g} Hz ({origin}), one sample in {every} kept, {cut}"
    return replace(ready, pieces=tuple(long), edge=edge_samples, repairs=tuple(notes), low_pass=about)


def usual_step(log: Log) -> float:
    """The median sampling interval (s); for joined logs, the shortest."""
    if log.parts:
        return min(usual_step(part) for part in log.parts)
    steps = np.diff(log.t)
    if not (steps > 0).any():
        raise DalembertError(f"{log.source}: the time stamps never increase")
    return float(np.median(steps[steps > 0]))


def smoothed(log: Log, cutoff: float, fewer: int = 1) -> tuple[list[Stretch], list[str]]:
    """The log as uniformly sampled stretches with their rests, q, qd and qdd filtered at all samples; and notes.

    fewer  one sample in this many is used
    """
    step = usual_step(log)
    stretches, notes = even_stretches(log, step, GAP / cutoff)
    rate = 1.0 / step / fewer
    moving = [filtered_states(thinned(samples, 1.0 / step, fewer), rate, cutoff) for samples in stretches]
    if not moving:
        return [], notes
    period = max(2, round(rate / cutoff))
    speeds = rest_speeds([stretch.qd for stretch in moving], period)  # from the noise and speeds of all stretches
    return [replace(stretch, rest=rests(stretch.qd, speeds, period)) for stretch in moving], notes


def thinned(log: Log, rate: float, every: int) -> Log:
    """One sample in ``every`` of an evenly sampled log, after low-pass filtering of all but the temperatures."""
    if every == 1:
        return log
    smooth = log.mapped(lambda x: low_pass(x, rate, 0.4 * rate / every), "q", "qd", "tau")
    return smooth.rows(slice(None, None, every))


def automatic_cutoff(log: Log) -> float:
    """Ten times the frequency below which 99 % of the velocities' power lies, less noise; at most 0.2 of the rate.

    For joined logs, as required by the fastest motion and allowed by the lowest rate.
    """
    if log.parts:
        slowest = min(1.0 / usual_step(part) for part in log.parts)
        return min(max(automatic_cutoff(part) for part in log.parts), 0.2 * slowest)
    rate = 1.0 / usual_step(log)
    motion = bandwidth(*spectrum(log, rate), ENERGY, USUAL)
    span = float(np.sum(np.clip(np.diff(log.t), 0, None)))
    return float(min(max(ABOVE * (1.0 if motion is None else motion), 10.0 / span), 0.2 * rate))


def bandwidth(f: Array, power: Array, share: float, most: float) -> float | None:
    """The frequency (Hz) below which this share of every joint's power (K, n) lies, at most ``most`` times that of the
    median joint; None without power."""
    strong = power.sum(axis=0)
    at = [
        f[int(np.searchsorted(np.cumsum(power[:, j]) / strong[j], share))]
        for j in np.flatnonzero(strong > 1e-3 * strong.max())
    ]
    return float(min(max(at), most * float(np.median(at)))) if at else None


def runs_of(log: Log, step: float) -> list[NDArray[np.intp]]:
    """The rows of each run: between two, time goes back or many samples are missing; ``step`` is the usual one (s)."""
    steps = np.diff(log.t)
    return np.split(np.arange(len(log)), np.flatnonzero((steps <= 0) | (steps > BREAK * step)) + 1)


def spectrum(log: Log, rate: float) -> tuple[Array, Array]:
    """Frequencies (K,) and the power of the velocities at them (K, n), with the noise floor subtracted.

    For joined logs, that of the longest.
    """
    if log.parts:
        longest = max(log.parts, key=len)
        return spectrum(longest, 1.0 / usual_step(longest))
    rows = max(runs_of(log, 1.0 / rate), key=len)
    t = np.arange(log.t[rows[0]], log.t[rows[-1]], 1.0 / rate)
    x = log.q if log.qd is None else log.qd
    columns = []
    for j in range(log.n):  # one joint at a time, which needs a seventh of the memory for seven joints
        even = np.interp(t, log.t[rows], x[rows, j])
        f, column = scipy.signal.periodogram(even, rate, "hann", detrend="linear")
        columns.append(column)
    power = np.column_stack(columns)
    # the highest quarter of the frequencies shows the noise floor
    power = np.clip(power - 3 * (np.median(power[3 * len(power) // 4 :], axis=0) / np.log(2)), 0, None)
    return f, power if log.qd is not None else power * (2 * np.pi * f[:, None]) ** 2


def even_stretches(log: Log, step: float, longest: float) -> tuple[list[Log], list[str]]:
    """The log, split where time goes back or too much is missing, each stretch resampled uniformly at ``step``; and notes."""
    if log.parts:
        of_parts, remarks = zip(*(even_stretches(part, step, longest) for part in log.parts), strict=True)
        return list(chain(*of_parts)), list(chain(*remarks))
    own, notes = usual_step(log), list[str]()
    if abs(own - step) > EVEN * step:
        notes.append(f"{log.source}: resampled from {1 / own:.6g} Hz to {1 / step:.6g} Hz, the rate of the other logs")
    longest = max(longest, 3 * own)
    steps = np.diff(log.t)
    cuts = np.flatnonzero((steps <= 0) | (steps > longest)) + 1
    count = round(float(np.sum(steps[(steps > 0) & (steps <= longest)])) / step)
    check_size(f"{log.source}: resampled at {1 / step:.6g} Hz it", count * log.n)
    missing = int(np.sum(np.round(steps[(steps > 1.5 * own) & (steps <= longest)] / own) - 1))
    uneven = int(np.sum(np.abs(steps - own) > EVEN * own))
    if missing:
        what = counted(missing, "missing sample was", "missing samples were")
        notes.append(f"{log.source}: {what} interpolated")
    if uneven > len(cuts):
        notes.append(f"{log.source}: the time stamps are uneven, so the log was resampled at {1 / step:.6g} Hz")
    if len(cuts):
        notes.append(f"{log.source}: split into {len(cuts) + 1} stretches, where time goes back or samples are missing")
    stretches = []
    for start, end in zip([0, *cuts], [*cuts, len(log.t)], strict=True):
        if end - start < 10:
            continue
        part = log.rows(slice(int(start), int(end)))  # a view, without copying
        if np.abs(np.diff(part.t) - step).max() > EVEN * step:
            part = _resampled(part, step)
        stretches.append(part)
    return stretches, notes


def _resampled(log: Log, step: float) -> Log:
    """The log at uniform instants: cubic splines of the motion, everything else interpolated linearly."""
    t = log.t
    even = t[0] + step * np.arange(int((t[-1] - t[0]) / step * (1 + 1e-12)) + 1)
    smooth = log.mapped(lambda x: scipy.interpolate.CubicSpline(t, x)(even), "q", "qd")
    whole = smooth.mapped(
        lambda x: np.column_stack([np.interp(even, t, y) for y in x.T]), "tau", "temperature", "command"
    )
    return replace(whole, t=even)


def filtered_states(log: Log, rate: float, cutoff: float) -> Stretch:
    """q, qd and qdd of a uniformly sampled log without phase shift; qdd is the derivative of qd if it is logged."""
    warm = log.temperature
    if warm is not None:
        warm = slow_part(warm, round(min(SLOW * rate, BRIEF * len(log))))
    q = low_pass(log.q, rate, STATES * cutoff)
    if log.qd is None:
        qd, qdd = derivatives(q - q[0], rate, 2)
    else:
        qd = low_pass(log.qd, rate, STATES * cutoff)
        (qdd,) = derivatives(qd, rate, 1)
    return Stretch(log.t, q, qd, qdd, log.tau, None, warm)


def derivatives(x: Array, rate: float, order: int) -> list[Array]:
    """The first to ``order``-th derivatives of the quintic spline through uniform samples (N, k): (N, k) each.

    A bounded number of samples is processed at a time: the influence of a sample decays by a factor 2.3 per sample and
    is below rounding after FAR samples.

    >>> t = np.arange(0, 1, 0.01)
    >>> speed, acceleration = derivatives(np.sin(3 * t)[:, None], 100.0, 2)
    >>> bool(np.abs(speed[:, 0] - 3 * np.cos(3 * t)).max() < 1e-7)
    True
    """
    out = [np.empty(x.shape) for _ in range(order)]
    for start in range(0, len(x), AT_ONCE):
        first, end = max(start - FAR, 0), min(start + AT_ONCE, len(x))
        at = np.arange(first, min(end + FAR, len(x))) / rate
        curve = scipy.interpolate.make_interp_spline(at, x[first : first + len(at)], k=5)
        for k, filled in enumerate(out):
            filled[start:end] = curve.derivative(k + 1)(at[start - first : end - first])
    return out


def slow_part(x: Array, window: int) -> Array:
    """x (N, k) without fast changes: at each sample the straight line fitted to ``window`` samples around it.

    >>> ramp = np.arange(6.0)[:, None]
    >>> np.allclose(slow_part(ramp, 3), ramp), slow_part(np.array([[0.0], [3.0], [0.0]]), 3)[:, 0].round(3).tolist()
    (True, [0.0, 1.0, 0.0])
    """
    at = np.arange(len(x))
    first, end = np.maximum(at - window // 2, 0), np.minimum(at + window // 2 + 1, len(x))
    count, middle = (end - first)[:, None], 0.5 * (first + end - 1)[:, None]
    zero = np.zeros((1, x.shape[1]))
    sums, moments = (np.concatenate([zero, np.cumsum(y, axis=0)]) for y in (x - x[0], at[:, None] * (x - x[0])))
    total = sums[end] - sums[first]
    spread = count * (count**2 - 1.0) / 12.0  # sum of squares of the sample numbers about their mean
    slope = (moments[end] - moments[first] - middle * total) / np.where(spread > 0, spread, 1.0)
    return np.asarray(x[0] + total / count + slope * (at[:, None] - middle))


def low_pass(x: Array, rate: float, cutoff: float) -> Array:
    """x filtered forwards and backwards by a fourth-order Butterworth low-pass: no phase shift."""
    if cutoff >= 0.45 * rate:
        return x
    length = min(len(x) - 1, int(3 * rate / cutoff))
    sos, out = scipy.signal.butter(4, cutoff, fs=rate, output="sos"), np.empty(x.shape)
    for j, column in enumerate(x.T):
        out[:, j] = scipy.signal.sosfiltfilt(sos, column, padtype="odd", padlen=length)
    return out
