"""Cross-validation: the whole identification is repeated without one part of the log at a time, and evaluated on that
part.

Parts are contiguous blocks of time of equal length, or whole runs. All choices of an identification (cut-off, model,
estimator) are made again in every fold, from the other parts alone; the edges of the filter are cut off on both sides
of every boundary. The estimates of k folds are those of a delete-one-part jackknife, and their spread is an estimate of
the standard deviation that makes no assumption about the residuals: √((k−1)/k Σ(π_i − π̄)²).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.progress import Progress
from dalembert.base.environment.short_repr import record
from dalembert.base.wording import some
from dalembert.errors import DalembertError
from dalembert.work.fits.fit_record import FitRecord, kind_of_parameter, own_fields, plain, same_parameter
from dalembert.work.identification.fitting.evidence import runs_of_equal
from dalembert.work.identification.fitting.progress_stages import Stages
from dalembert.work.identification.fitting.result import Identification
from dalembert.work.logs.conditioning import usual_step
from dalembert.work.logs.log import Log, joined

FitOf = Callable[..., Identification]  # (log, step=progress): a whole identification from a log

FAR = 1.5  # ratio between the spread over folds and the standard deviation, or its inverse, that is reported
FEWEST = 3  # smallest number of folds for a meaningful spread
NAMED = 4  # largest number of parameters that a sentence names
WRITTEN = (
    *("relative_error", "relative_error_std", "pooled_error"),
    *("parameter_mean", "parameter_std", "jackknife_std", "ratio", "sentences"),
)


@record
class Fold:
    """One part that was left out, and the fit to all others.

    name            of the part: "part 2 of 5", or the run
    span            from the first to the last sample (s)
    size            ‖τ_measured‖ over the part and all joints
    relative_error  ‖τ_measured − τ_predicted‖ / ‖τ_measured‖ on the part; joint_errors (n,) of each joint, rms (n,)
    moving_error, resting_error
                    the relative error while joints move and while they rest; None if they never do
    names           of the base parameters, values ``parameters``; cutoff (Hz) of the low-pass
    """

    name: str
    span: tuple[float, float]
    size: float
    relative_error: float
    joint_errors: Array
    rms: Array
    moving_error: float | None
    resting_error: float | None
    names: tuple[str, ...]
    parameters: Array
    cutoff: float


@dataclass(frozen=True, eq=False)
class Folds:
    """The folds of a cross-validation in order, as a sequence of :class:`Fold`.

    parts       the folds
    names       of the base parameters of the fit to the whole log
    parameters  (k, b) their values in every fold; NaN if a fold chose a model without the parameter
    std         (b,) their standard deviations by formula, from the fit to the whole log
    groups      (b,) the joint and the kind that each belongs to
    """

    parts: tuple[Fold, ...]
    names: tuple[str, ...]
    parameters: Array
    std: Array
    groups: tuple[tuple[int, str], ...]
    own_error: float

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Fold]:
        return iter(self.parts)

    def __getitem__(self, k: int) -> Fold:
        return self.parts[k]

    @cached_property
    def errors(self) -> Array:
        """The relative error of every fold, and those of each joint: (k, 1 + n)."""
        return np.array([[fold.relative_error, *fold.joint_errors] for fold in self.parts])

    @property
    def relative_error(self) -> float:
        """The mean of the relative errors of the folds."""
        return float(self.errors[:, 0].mean())

    @property
    def relative_error_std(self) -> float:
        """The standard deviation of the relative errors of the folds."""
        return float(self.errors[:, 0].std(ddof=1))

    @property
    def pooled_error(self) -> float:
        """The relative error over all parts together, as if the whole log had been predicted."""
        sizes = np.array([fold.size for fold in self.parts])
        return float(np.linalg.norm(self.errors[:, 0] * sizes) / max(float(np.linalg.norm(sizes)), 1e-300))

    @cached_property
    def shared(self) -> NDArray[np.bool_]:
        """(b,) the parameters that occur in every fold."""
        return np.asarray(np.isfinite(self.parameters).all(axis=0))

    @cached_property
    def parameter_mean(self) -> Array:
        """(b,) the mean of each parameter over the folds; NaN if a fold does not have it."""
        return self.parameters.mean(axis=0)

    @cached_property
    def parameter_std(self) -> Array:
        """(b,) the standard deviation of each parameter between folds."""
        return self.parameters.std(axis=0, ddof=1)

    @cached_property
    def jackknife_std(self) -> Array:
        """(b,) √((k−1)/k Σ(π_i − π̄)²): the standard deviation of the whole fit, estimated from the folds."""
        k = len(self.parts)
        return self.parameter_std * (k - 1) / math.sqrt(k)

    @cached_property
    def ratio(self) -> Array:
        """(b,) the ratio of that to the standard deviation by formula; NaN if either is unknown. It should be about 1."""
        known = self.shared & np.isfinite(self.std) & (self.std > 0)
        return np.where(known, self.jackknife_std / np.where(known, self.std, 1.0), np.nan)

    @cached_property
    def error_scale(self) -> Array | None:
        """(b,) at least 1: the root mean square of the ratios of each joint and kind, by which a comparison of two fits
        multiplies the standard deviations; None for fewer than three folds."""
        if len(self.parts) < FEWEST:
            return None
        out = np.ones(len(self.names))
        for group in set(self.groups):
            mine = np.array([x == group for x in self.groups])
            ratios = self.ratio[mine][np.isfinite(self.ratio[mine])]
            if len(ratios):
                out[mine] = max(1.0, float(np.sqrt(np.mean(ratios**2))))
        return out

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The result of the cross-validation, in words."""
        worst = max(self.parts, key=lambda fold: fold.relative_error)
        out = [
            f"with each of {len(self.parts)} parts left out once, they are predicted with {100 * self.relative_error:.3g} ± "
            f"{100 * self.relative_error_std:.2g} % relative torque error (worst: {worst.name}, {100 * worst.relative_error:.3g} %), "
            f"{100 * self.pooled_error:.3g} % over all of them; the fit to the whole log has {100 * self.own_error:.3g} %"
        ]
        if absent := [name for name, is_shared in zip(self.names, self.shared, strict=True) if not is_shared]:
            out.append(f"some folds chose a model without {some(absent, NAMED)}")
        ratios = self.ratio[np.isfinite(self.ratio)]
        if len(self.parts) < FEWEST or not len(ratios):
            return tuple(out)
        median = float(np.median(ratios))
        if not 1.0 / FAR <= median <= FAR:
            order = np.argsort(-np.nan_to_num(self.ratio))[:NAMED]
            words = (
                f"the log or the model changes from part to part, most for {some([self.names[k] for k in order], NAMED)}"
                if median > 1
                else "the standard deviations are conservative"
            )
            out.append(
                f"between folds the parameters vary {median:.2g} times as much as their standard deviations suggest (median of "
                f"{len(ratios)}): {words}"
            )
        return tuple(out)

    def written(self) -> dict[str, Any]:
        """The cross-validation as plain data for JSON; unknown values are None."""
        return {
            "parts": [plain(own_fields(Fold, fold)) for fold in self.parts],
            **{name: plain(getattr(self, name)) for name in WRITTEN},
        }

    def __repr__(self) -> str:
        words = f"relative error {100 * self.relative_error:.3g} ± {100 * self.relative_error_std:.2g} %"
        return f"<Folds: {len(self.parts)}, {words}>"


def cross_validated(result: Identification, whole: Log, fit_of: FitOf, folds: int | str, step: Progress) -> Folds:
    """The folds of an identification.

    result  the fit to the whole log
    fit_of  the whole procedure, for any log
    folds   the number of blocks of time, or "runs"
    step    called with "fold 2 of 5" and the fraction of that fold that is done
    """
    parts = run_parts(whole) if folds == "runs" else time_parts(whole, int(folds))
    record, out = result.record, []
    for k, (name, left_out, others) in enumerate(parts):
        word, stages = f"fold {k + 1} of {len(parts)}", Stages()

        def inside(words: str, fraction: float, word: str = word, stages: Stages = stages) -> None:
            step(word, stages(words, fraction))

        step(word, 0.0)
        out.append(_judged(record, fit_of, name, left_out, others, inside))
        step(word, 1.0)
    values = np.array([values for _, values in out])
    groups = tuple((record.joints[k], kind_of_parameter(record, k)) for k in range(len(record.names)))
    return Folds(tuple(fold for fold, _ in out), record.names, values, record.std, groups, result.relative_error)


def _judged(
    record: FitRecord, fit_of: FitOf, name: str, left_out: Log, others: Log, step: Progress
) -> tuple[Fold, Array]:
    """A fold, and the values (b,) that it has for the parameters of a record."""
    try:
        fit = fit_of(others, step=step)
        run = fit.judged(left_out)
    except DalembertError as problem:
        raise DalembertError(f"{name} cannot be left out and predicted: {problem}; or use fewer folds") from None
    known = dict(zip(fit.names, fit.parameters, strict=True))
    values = [known[key] if same_parameter(record, fit.record, key) else np.nan for key in record.names]
    fold = Fold(
        name, (float(left_out.t.min()), float(left_out.t.max())), float(np.linalg.norm(run.measured)),
        run.relative_error, run.joint_errors, run.rms, run.moving_error, run.resting_error,
        fit.names, fit.parameters, run.conditioned.cutoff,
    )  # fmt: skip
    return fold, np.array(values)


def time_parts(whole: Log, count: int) -> list[tuple[str, Log, Log]]:
    """(name, block, all others) for contiguous blocks of equal duration; a block may extend over two runs."""
    runs = separate_runs(whole)
    steps = np.concatenate([np.full(len(run), usual_step(run)) for run in runs])
    block = np.minimum((count * (np.cumsum(steps) - 0.5 * steps) / steps.sum()).astype(int), count - 1)
    blocks = np.split(block, np.cumsum([len(run) for run in runs])[:-1])
    return _left_out(whole, runs, blocks, [f"part {k + 1} of {count}" for k in range(count)])


def run_parts(whole: Log) -> list[tuple[str, Log, Log]]:
    """(name, run, all others) for every run."""
    runs = separate_runs(whole)
    if len(runs) < 2:
        raise DalembertError(
            f"{whole.source}: folds='runs' leaves out one run at a time, and there is only one run; give several logs, or "
            "folds=5 for blocks of time"
        )
    names = [Path(run.source).name for run in runs]
    if len(set(names)) < len(names):
        names = [f"run {k + 1} of {len(runs)}" for k in range(len(runs))]
    return _left_out(whole, runs, [np.full(len(run), i) for i, run in enumerate(runs)], names)


def _left_out(
    whole: Log, runs: Sequence[Log], blocks: Sequence[NDArray[np.intp]], names: Sequence[str]
) -> list[tuple[str, Log, Log]]:
    """(name, samples of a block, all others), each a log of stretches of two samples or more, for every block of the runs."""
    parts = []
    for k, name in enumerate(names):
        logs = []
        for wanted, source in ((True, name), (False, f"{whole.source} without {name}")):
            stretches = list[Log]()
            for run, block in zip(runs, blocks, strict=True):
                spans = (span for label, span in runs_of_equal((block == k).astype(int)) if bool(label) == wanted)
                stretches += [run.rows(span) for span in spans if span.stop - span.start > 1]
            if not stretches:
                raise DalembertError(f"{source} has no samples; use fewer folds")
            logs.append(replace(joined(stretches), source=source, notes=()))
        parts.append((name, logs[0], logs[1]))
    return parts


def separate_runs(whole: Log) -> list[Log]:
    """The runs of a log: those that were joined, and those between which time goes back."""
    out = []
    for log in whole.separate:
        ends = [0, *(np.flatnonzero(np.diff(log.t) < 0) + 1).tolist(), len(log)]
        out += [log.rows(slice(a, b)) for a, b in pairwise(ends) if b - a > 1]
    return out
