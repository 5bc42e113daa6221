"""The result of an identification: parameters with their errors, prediction errors, and the calibrated arm."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arm.delegates import delegate
from dalembert.base.arrays import Array, double
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import record
from dalembert.base.tables.signal_columns import SIGNALS
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting.base_parameters import BaseParameters, smallest_inertia
from dalembert.work.identification.fitting.covariance import BlockFit, standard_deviations
from dalembert.work.identification.fitting.least_squares import correlation_time
from dalembert.work.identification.fitting.parameter_set import temperature_parameters
from dalembert.work.logs.alignment import aligned
from dalembert.work.logs.checks.extrapolation import leaves_range
from dalembert.work.logs.conditioning import Conditioned, Stretch, condition, smoothed, usual_step
from dalembert.work.logs.log import Log, Source, read_log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.work.closed_loop.position_fit import ClosedLoopFit
    from dalembert.work.fits.fit_comparison import FitComparison, FitTrend
    from dalembert.work.fits.fit_record import FitRecord
    from dalembert.work.fits.leave_one_out import Folds
    from dalembert.work.identification.selection.selection_result import Selection

# the modules that implement methods of an identification, imported when one of them is first called
DELEGATES = {
    "plot": "views.report.identification:identification_figure",
    "_repr_html_": "views.report.notebook:fit_html",
    "compare": "work.fits.fit_comparison:comparison",
    "record": "work.fits.fit_record:record_of",
    "save": "work.fits.fit_record:save_fit",
}

POSES = 10_000  # random poses at which B(q) is checked
RESTS = 3  # minimum number of rests from which the held friction is estimated
SLIGHT = 1e-6  # of the residual at rest: smaller dry friction, as of gradual Coulomb friction, counts as none


def relative(part: Array, whole: Array) -> float:
    """The size of some torques relative to others: ‖part‖ / ‖whole‖."""
    return float(np.linalg.norm(part) / max(float(np.linalg.norm(whole)), 1e-300))


class IdentificationWarning(UserWarning):
    """A property of a log or a fit that the user should know before trusting the result."""


@record
class PredictedRun:
    """Measured and predicted torques of one run at the kept samples: t (M,), measured and predicted (M, n).

    held   the fraction of the dry friction that a joint at rest is predicted to hold in the direction of its last motion
    notes  where the run leaves the range of the motion from which the parameters were identified
    """

    name: str
    t: Array
    measured: Array
    predicted: Array
    conditioned: Conditioned
    held: float = 0.0
    notes: tuple[str, ...] = ()

    @cached_property
    def residual(self) -> Array:
        """Measured minus predicted torques (N m): (M, n)."""
        return self.measured - self.predicted

    @cached_property
    def motion(self) -> dict[str, Array]:
        """(M, n) q, qd, qdd and the measured torques "tau" at the kept samples."""
        return {name: self.conditioned.at_kept(name) for name in ("q", "qd", "qdd")} | {"tau": self.measured}

    @property
    def resting(self) -> NDArray[np.bool_]:
        """Which joints are at rest at the kept samples: (M, n); see :mod:`dalembert.work.logs.rest`."""
        return self.conditioned.resting

    @property
    def relative_error(self) -> float:
        """‖τ_measured − τ_predicted‖ / ‖τ_measured‖ over the run and all joints, moving and at rest."""
        return relative(self.residual, self.measured)

    @property
    def joint_errors(self) -> Array:
        """The relative error of each joint over the run: (n,)."""
        return np.linalg.norm(self.residual, axis=0) / np.maximum(np.linalg.norm(self.measured, axis=0), 1e-300)

    @property
    def moving_error(self) -> float | None:
        """The relative error of all joints over the samples at which they move; None if no joint ever moves."""
        return self._error_where(~self.resting)

    @property
    def resting_error(self) -> float | None:
        """The relative error of all joints over the samples at which they are at rest; None if no joint ever rests."""
        return self._error_where(self.resting)

    @property
    def moving_joint_errors(self) -> tuple[float | None, ...]:
        """:attr:`moving_error` of each joint: (n,)."""
        return tuple(self._error_where(~self.resting, j) for j in range(self.measured.shape[1]))

    @property
    def resting_joint_errors(self) -> tuple[float | None, ...]:
        """:attr:`resting_error` of each joint: (n,)."""
        return tuple(self._error_where(self.resting, j) for j in range(self.measured.shape[1]))

    @property
    def error_table(self) -> tuple[tuple[str, float | None, tuple[float | None, ...]], ...]:
        """(samples, relative error of all joints, of each joint) for all samples and, if a joint rests, for moving and
        at rest."""
        whole = ("all", self.relative_error, tuple(map(float, self.joint_errors)))
        if not self.resting.any():
            return (whole,)
        moving = ("moving", self.moving_error, self.moving_joint_errors)
        return whole, moving, ("at rest", self.resting_error, self.resting_joint_errors)

    def _error_where(self, use: NDArray[np.bool_], joint: int | None = None) -> float | None:
        column = ... if joint is None else (slice(None), joint)
        use = use[column]
        return relative(self.residual[column][use], self.measured[column][use]) if use.any() else None

    @property
    def rms(self) -> Array:
        """The root mean square of each joint's residual (N m): (n,)."""
        return np.sqrt(np.mean(self.residual**2, axis=0))


@dataclass(frozen=True, eq=False)
class Identification:
    """The identified parameters of an arm, with their errors.

    parameters     π_base (b,); ``names`` and ``formulas`` say what each is
    std            their standard deviations, from fits that leave out one block of time each: they account for
                   autocorrelated residuals of changing size, correlation between joints, and the unknown lag
    condition      condition number of Ȳ in the base columns, unweighted
    noise          σ_j, the standard deviation of the kept residuals of each joint (N m)
    correlation    number of kept samples of each joint that count as one independent sample
    essential      the base parameters that the log needs, by name
    unidentified   base parameters that the log does not determine; they keep the arm's own value
    run            the run used for the identification; ``validation`` holds the others
    selection      what was chosen by cross-validation, what was tried and why the winner won; None if nothing was chosen
    folds          the cross-validation, if requested (``folds=5``)
    gains          factors of the measured torques identified by total least squares, with ``gains_std``
    lag            delay of the measured torques behind the positions (s); in ``run`` it is compensated
    band           frequency (Hz) up to which the motion extends, several harmonics included, whatever the cut-off
    blocks         the equations by blocks of time, for :meth:`bootstrap`
    closed_loop    the fit of the positions, if these were ``measured="position"``
    payload_com    (3,) m, the centre of mass of a payload of which only the mass is known, with ``payload_com_std``; NaN
                   where the motion does not determine it
    """

    before: Arm
    base: BaseParameters
    method: str
    physical: bool
    parameters: Array
    covariance: Array
    found_full: Array | None
    condition: float
    scaled_condition: float
    noise: Array
    correlation: Array
    essential: tuple[str, ...]
    unidentified: tuple[str, ...]
    run: PredictedRun
    validation: tuple[PredictedRun, ...] = ()
    gains: Array | None = None
    folds: Folds | None = None
    gains_std: Array | None = None
    payload_com: Array | None = None
    payload_com_std: Array | None = None
    lag: float = 0.0
    band: float = 0.0
    blocks: BlockFit | None = field(default=None, repr=False)
    selection: Selection | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    conditioning: Mapping[str, Any] = field(default_factory=dict)
    closed_loop: ClosedLoopFit | None = None
    # from the formula for stationary residuals, which has full rank; a jackknife estimate may not have it
    formula_covariance: Array | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The first standard parameter of each base parameter."""
        return self.base.names

    @property
    def formulas(self) -> tuple[str, ...]:
        """Each base parameter as a sum of standard parameters."""
        return self.base.formulas

    @cached_property
    def std(self) -> Array:
        """Standard deviations (b,); infinite for parameters that the log does not determine."""
        return standard_deviations(self.covariance, self.names, self.unidentified)

    @property
    def relative_std(self) -> Array:
        """|std / parameter|: (b,)."""
        return self.std / np.maximum(np.abs(self.parameters), 1e-300)

    @property
    def relative_error(self) -> float:
        """‖τ_measured − τ_predicted‖ / ‖τ_measured‖ on the identification run."""
        return self.run.relative_error

    @cached_property
    def band_error(self) -> float:
        """:attr:`relative_error` in the ``band`` of the motion: fits with different cut-offs can be compared by it."""
        ready = self.run.conditioned
        if ready.cutoff == self.band:
            return self.relative_error
        ready = condition(ready.log, cutoff=self.band).earlier_torques(self.lag)
        return make_run(self.base, self.parameters, ready, self.gains, self.held_friction).relative_error

    @cached_property
    def unfiltered_error(self) -> float:
        """‖τ_measured − τ_predicted‖ / ‖τ_measured‖ at every sample of the identification run, torques not filtered."""
        parts = self.run.conditioned.log.separate
        predicted = np.concatenate([self._at_samples(replace(log, instants=None, kept=None))[0] for log in parts])
        tau = np.concatenate([log.tau for log in parts])
        use = np.isfinite(predicted).all(axis=1)
        return relative((tau - predicted)[use], tau[use])

    @property
    def validation_error(self) -> float | None:
        """‖τ_measured − τ_predicted‖ / ‖τ_measured‖ on the first validation run."""
        return self.validation[0].relative_error if self.validation else None

    # -- using it --------------------------------------------------------------------------------

    def torque(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, temperature: ArrayLike | None = None) -> Array:
        """τ (N, n) at given states, with everything that was identified, including further terms and shared drives.

        temperature  of the joints (°C), (N, n), (n,) or one number; by default the mean of the log. It is used if friction was
                     identified with it (``terms=["temperature"]``)
        """
        q, qd, qdd = map(double, ("q", "qd", "qdd"), (q, qd, qdd))
        if temperature is not None:
            temperature = np.broadcast_to(double("temperature", temperature), q.shape)
        return self.base.joint_columns.torque(self.parameters, q, qd, qdd, temperature)

    @property
    def temperature_slopes(self) -> dict[str, tuple[float, float, float]]:
        """Per joint: T̄ (°C), and the change per K of viscous friction (N m s/rad) and Coulomb friction (N m)."""
        parameters, values = self.base.parameters, dict(zip(self.names, self.parameters.tolist(), strict=True))
        slopes = {}
        for j in parameters.heated:
            viscous, coulomb = (values.get(x.name, 0.0) for x in temperature_parameters(self.before, j))
            slopes[self.before.joint_names[j]] = (float(parameters.usual_temperature[j]), viscous, coulomb)
        return slopes

    def torque_of(self, piece: Stretch) -> Array:
        """τ (N, n) along a section of a conditioned log; a joint at rest holds :attr:`held_friction` of its dry friction."""
        tau = self.base.joint_columns.torque(self.parameters, *piece.states, piece.temperature)
        return tau - (1.0 - self.held_friction) * _kept_at_rest(self.base, self.parameters, piece)

    @property
    def held_friction(self) -> float:
        """The fraction, 0 to 1, of its dry friction that a joint at rest holds in the direction of its last motion.

        At rest, friction takes any value between its two levels, depending on the controller. The rests of the
        identification run determine the fraction as far as they agree, see :func:`held_share`; without rests it is 0,
        the middle of both levels.
        """
        return self.run.held

    def predict(self, log: Source, **reading: Any) -> Array:
        """The torques (N, n) of any run, at every row of the log; the log need not have torques.

        Positions and velocities are low-passed at twice the ``band`` of the motion of the fit, torques are not filtered. A joint at rest holds :attr:`held_friction` of its dry friction, whatever the sign of its velocity noise.
        Rows with invalid values are interpolated from their neighbours in time; a section of fewer than ten samples between
        two gaps is too short and yields NaN. A warning is issued if the run leaves the range of the motion of the fit.

        >>> import numpy as np, dalembert as da
        >>> arm, t = da.load("pendulum"), np.arange(0, 20, 0.01)
        >>> q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=20.0)(t)
        >>> log = {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}
        >>> fit = da.identify(arm, log, cutoff=5.0, selection=False)
        >>> fit.predict({"t": t, "q": q}).shape
        (2000, 1)
        """
        whole = self._read(log, torque_needed=False, **reading)
        for sentence in self._without_temperature(whole):
            warnings.warn(sentence, stacklevel=2)
        predicted = []
        for part in whole.separate:
            tau, moved = self._at_samples(part)
            motion = dict(zip(("q", "qd", "qdd"), map(np.concatenate, zip(*moved, strict=True)), strict=False))
            for sentence in leaves_range(self.before, part.source, motion, self.run.motion):
                warnings.warn(sentence, IdentificationWarning, stacklevel=2)
            predicted.append(tau)
        return np.concatenate(predicted)

    def _without_temperature(self, log: Log) -> list[str]:
        """One sentence for each run that lacks the temperature on which the friction depends."""
        if not self.base.parameters.heated:
            return []
        mean = ", ".join(f"{x:.3g}" for x in self.base.parameters.usual_temperature)
        return [
            f"{part.source}: it has no temperature; the mean of the training log, {mean} °C, is used"
            for part in log.separate
            if part.temperature is None
        ]

    def _at_samples(self, whole: Log) -> tuple[Array, list[tuple[Array, Array, Array]]]:
        """The torques at every row of one run, or of several runs in one file, and the states of its stretches."""
        t = whole.t if whole.instants is None else whole.instants
        positions = np.arange(len(whole)) if whole.kept is None else whole.kept
        out = np.full((len(t), self.before.n), np.nan)
        runs = np.split(np.arange(len(whole)), np.flatnonzero(np.diff(whole.t) < 0) + 1)
        ends = [*(int(positions[run[0]]) for run in runs[1:]), len(t)]
        begin, moved = 0, list[tuple[Array, Array, Array]]()
        for run, end in zip(runs, ends, strict=True):
            rows = slice(begin, end)
            for piece in smoothed(whole.rows(run), self.band)[0] if len(run) > 1 else ():
                tau = self.torque_of(piece)
                moved.append(piece.states)
                inside = (t[rows] >= piece.t[0] - 1e-9) & (t[rows] <= piece.t[-1] + usual_step(whole))
                for j in range(self.before.n):
                    out[rows][inside, j] = np.interp(t[rows][inside], piece.t, tau[:, j])
            begin = end
        return (out if self.gains is None else out / self.gains), moved

    def evaluate(self, log: Source, **reading: Any) -> PredictedRun:
        """Measured and predicted torques of another run, conditioned as for the fit.

        >>> import numpy as np, dalembert as da
        >>> arm, t = da.load("pendulum"), np.arange(0, 20, 0.01)
        >>> q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=20.0)(t)
        >>> log = {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}
        >>> fit = da.identify(arm, log, cutoff=5.0, selection=False)
        >>> run = fit.evaluate(log)
        >>> run.relative_error < 0.01, run.joint_errors.shape
        (True, (1,))
        """
        return self.judged(self._read(log, **reading))

    def judged(self, log: Log) -> PredictedRun:
        """Measured and predicted torques of a log that has been read."""
        ready = condition(log, **{**self.conditioning, "cutoff": self.run.conditioned.cutoff})
        ready = replace(ready, repairs=(*ready.repairs, *self._without_temperature(log)))
        ready = ready.earlier_torques(self.lag)
        run = make_run(self.base, self.parameters, ready, self.gains, self.held_friction)
        return replace(run, notes=tuple(leaves_range(self.before, log.source, run.motion, self.run.motion)))

    def bootstrap(self, count: int = 200, seed: int = 0) -> Array:
        """The covariance (b, b) of the parameters from a block bootstrap, as a check of ``covariance``.

        The log is resampled ``count`` times from moving blocks that are longer than the memory of the residuals. No
        equation is set up again: a fit only needs sums over segments of time.

        >>> import numpy as np, dalembert as da
        >>> arm, t = da.load("pendulum"), np.arange(0, 40, 0.01)
        >>> q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=40.0)(t)
        >>> tau = arm.inverse_dynamics(q, qd, qdd) + np.random.default_rng(0).normal(size=q.shape)
        >>> fit = da.identify(arm, {"t": t, "q": q, "qd": qd, "tau": tau}, selection=False)
        >>> ratio = np.sqrt(np.diag(fit.bootstrap())) / fit.std
        >>> bool(0.5 < ratio.min() and ratio.max() < 2)
        True
        """
        if self.blocks is None:
            kind = "physically consistent" if self.physical else f"'{self.method}'"
            raise DalembertError(
                f"the bootstrap resamples the equations of least squares, and this fit is {kind}; identify with "
                "method='ordinary', 'weighted' or 'reweighted' and physical=False"
            )
        return self.blocks.bootstrap(count, seed)

    def _read(self, log: Any, torque_needed: bool = True, **reading: Any) -> Log:
        own = {key: value for key, value in self.reading.items() if key != "episodes"}  # they belong to another log
        options = {**own, **reading}
        if isinstance(log, Mapping):
            if "current" not in log:
                options.pop("gains", None)
            if "rate" not in reading and any(str(name).lower() in SIGNALS["t"].spellings for name in log):
                options.pop("rate", None)
            wanted = options.get("columns")
            if wanted:
                options["columns"] = {k: v for k, v in wanted.items() if isinstance(v, str) and v in log}
        return aligned(read_log(log, self.before, torque_needed=torque_needed, **options))

    @cached_property
    def _full(self) -> tuple[Array, list[str]]:
        from dalembert.work.identification.fitting.calibrated_robot import spread_out

        return (self.found_full, []) if self.found_full is not None else spread_out(self.base, self.parameters)

    @property
    def full(self) -> Array:
        """φ (p,): the full parameter set with these base parameters that is nearest to the arm's own."""
        return self._full[0]

    @cached_property
    def _calibrated(self) -> tuple[Arm, list[str]]:
        from dalembert.work.identification.fitting.calibrated_robot import calibrated_arm

        note = (
            f"parameters identified from {os.path.basename(self.run.name)} by dalembert ({self.method} least squares)"
        )
        arm, notes = calibrated_arm(self.base.parameters, self.full, note)
        return arm, [*self._full[1], *notes]

    @property
    def arm(self) -> Arm:
        """The calibrated arm, whose inverse dynamics are :meth:`torque`; ``arm_notes`` says what to know about it."""
        return self._calibrated[0]

    @property
    def arm_notes(self) -> tuple[str, ...]:
        """What cannot be realised by a mechanism or stored in a robot file, one sentence each."""
        return tuple(self._calibrated[1])

    @cached_property
    def smallest_inertia(self) -> float:
        """The smallest eigenvalue of B(q) with the identified parameters over 10,000 random poses."""
        return smallest_inertia(self.base, self.parameters, POSES)

    @property
    def positive_definite(self) -> bool:
        """Whether B(q) is positive definite over 10,000 random poses."""
        return self.smallest_inertia > 0

    def plot(self, run: PredictedRun | None = None) -> Figure:
        """A matplotlib Figure: measured and predicted torques of every joint and their difference, over time.

        run  the identification run by default; otherwise one of ``.validation``, or a result of :meth:`evaluate`
        """
        return delegate(DELEGATES, "plot")(self, run)

    @cached_property
    def record(self) -> FitRecord:
        """The content of its file: parameters, covariance, model, errors; see :class:`dalembert.FitRecord`."""
        return delegate(DELEGATES, "record")(self)

    def save(self, path: str | os.PathLike[str], compared: FitTrend | None = None, *, overwrite: bool = False) -> None:
        """Write all numbers as JSON, as ``dalembert identify --json`` does; :func:`dalembert.read_fit` reads the file.

        compared  a result of :func:`dalembert.compare_fits`, which is written too

        >>> import numpy as np, dalembert as da
        >>> arm, t = da.load("pendulum"), np.arange(0, 20, 0.01)
        >>> q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=20.0)(t)
        >>> log = {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)}
        >>> fit = da.identify(arm, log, cutoff=5.0, selection=False)
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     fit.save(f"{folder}/fit.json")
        ...     da.read_fit(f"{folder}/fit.json").names == fit.names
        True
        """
        delegate(DELEGATES, "save")(self, path, compared, overwrite=overwrite)

    def compare(
        self, before: Identification | FitRecord | str | os.PathLike[str], *, level: float = 0.01
    ) -> FitComparison:
        """What has changed since an earlier identification of the arm: a :class:`FitComparison` with its sentences and
        tests.

        before  an identification, a result of :func:`dalembert.read_fit`, or a file of :meth:`save`
        level   probability of reporting any change although nothing has changed, over all tests together

        >>> import numpy as np, dalembert as da
        >>> arm, t, rng = da.load("pendulum"), np.arange(0, 20, 0.01), np.random.default_rng(0)
        >>> q, qd, qdd = da.fourier([[[0.5, 0.3]], [[0.2, 0.4]]], 0.2, duration=20.0)(t)
        >>> tau = arm.inverse_dynamics(q, qd, qdd)
        >>> def fit(loss):
        ...     log = {"t": t, "q": q, "qd": qd, "tau": tau + loss * np.sign(qd) + rng.normal(size=q.shape)}
        ...     return da.identify(arm, log, cutoff=5.0, selection=False)
        >>> earlier = fit(0.0)
        >>> fit(0.0).compare(earlier).changed, fit(2.0).compare(earlier).changed
        (False, True)
        """
        return delegate(DELEGATES, "compare")(self, before, level=level)

    def _repr_html_(self) -> str:
        return delegate(DELEGATES, "_repr_html_")(self)

    def __repr__(self) -> str:
        words = f"{len(self.parameters)} base parameters, relative error {100 * self.relative_error:.3g} %"
        if self.validation:
            words += f", on validation {100 * self.validation[0].relative_error:.3g} %"
        return f"<Identification of {self.before.name!r}: {words}>"


def make_run(
    base: BaseParameters, values: Array, ready: Conditioned, gains: Array | None = None, held: float | None = None,
    predicted: Array | None = None,
) -> PredictedRun:  # fmt: skip
    """Measured and predicted torques of a run, both through the same low-pass.

    held       the fraction of its dry friction that a joint at rest holds; by default the one that explains this run
    best
    predicted  (M, n) the low-passed torques of ``values``, if they are already known
    """
    if predicted is None:
        predicted = ready.thinned(lambda piece: base.joint_columns.torque(values, *piece.states, piece.temperature))
    measured = ready.tau if gains is None else ready.tau * gains
    if not ready.resting.any():
        return PredictedRun(ready.log.source, ready.t, measured, predicted, ready, held or 0.0)
    friction = ready.thinned(lambda piece: _kept_at_rest(base, values, piece))
    if held is None:
        held = held_share(measured - predicted, friction, ready.resting)
    return PredictedRun(ready.log.source, ready.t, measured, predicted - (1.0 - held) * friction, ready, held)


def _kept_at_rest(base: BaseParameters, values: Array, piece: Stretch) -> Array:
    """The dry friction torque (N, n) of joints at rest if all of it stays in the direction of the last motion."""
    out = np.zeros(piece.q.shape)
    rows = np.flatnonzero(piece.resting.any(axis=1))
    if piece.rest is not None and len(rows):
        part = piece.part(rows)
        q, qd, qdd = part.states
        speeds = (qd, np.where(part.resting, 0.0, qd))
        moved, still = (base.joint_columns.torque(values, q, v, qdd, part.temperature) for v in speeds)
        out[rows] = moved - still
    return out


def held_share(residual: Array, friction: Array, resting: NDArray[np.bool_]) -> float:
    """The fraction, 0 to 1, of ``friction`` (M, n) that joints at rest hold, from the residuals with all of it held.

    Every rest of every joint gives a fraction by least squares. Their mean, weighted by the square of the friction over
    the residual of the moving joint, is shrunk towards 0, the middle between both levels, as far as the rests disagree:
    by m²/(m² + e²) with the mean m and its standard error e. With fewer than ``RESTS`` rests the fraction is 0.

    >>> friction, resting = np.full((9, 1), 2.0), np.array([[True], [True], [False]] * 3)
    >>> held_share(np.where(resting, -0.75 * friction, 0.1), friction, resting)
    0.25
    """
    moving = np.maximum((~resting).sum(axis=0), 1)
    noise = np.sqrt(np.sum(np.where(resting, 0.0, residual) ** 2, axis=0) / moving)
    d, left = (np.where(resting, x / np.where(noise > 0, noise, 1.0), 0.0) for x in (friction, residual))
    if np.linalg.norm(d) <= SLIGHT * np.linalg.norm(left):
        return 0.0
    squares, products = [], []
    for j in range(resting.shape[1]):
        begins = np.flatnonzero(np.diff(resting[:, j].astype(np.int8), prepend=0) == 1)
        if len(begins):
            squares.append(np.add.reduceat(d[:, j] ** 2, begins))
            products.append(np.add.reduceat(d[:, j] * left[:, j], begins))
    weights, sums = np.concatenate(squares), np.concatenate(products)
    weights, sums = (x[weights > 0] for x in (weights, sums))
    if len(weights) < RESTS:
        return 0.0
    shares = 1.0 + sums / weights
    weights = weights / weights.sum()
    mean = float(weights @ shares)
    error = float(np.sqrt(np.sum((weights * (shares - mean)) ** 2) * len(shares) / (len(shares) - 1)))
    return float(np.clip(mean * mean**2 / (mean**2 + error**2), 0.0, 1.0)) if mean else 0.0


def runs_of_pieces(ready: Conditioned) -> NDArray[np.intp]:
    """The run of a log, from 0, that each of its pieces belongs to."""
    ends = [log.t.max() for log in ready.log.separate]
    return np.minimum(np.searchsorted(ends, [piece.t[0] for piece in ready.pieces]), len(ends) - 1)


def correlation_times(run: PredictedRun, moving: NDArray[np.bool_]) -> Array:
    """Each joint's correlation time in kept samples, over all runs, at least that of the low-pass itself."""
    ready = run.conditioned
    least = max(1.0, ready.rate / ready.every / (2.0 * ready.cutoff)) if ready.reach else 1.0
    runs, cuts = runs_of_pieces(ready), np.cumsum([len(indices) for indices in ready.kept])[:-1]
    times = []
    for j in range(run.residual.shape[1]):
        use = np.split(moving[:, j], cuts)
        stretches = [r[m] for r, m in zip(np.split(run.residual[:, j], cuts), use, strict=True)]
        for k in set(runs.tolist()):
            mine = np.flatnonzero(runs == k)
            together = np.concatenate([stretches[i] for i in mine])
            for i in mine if len(together) else ():
                stretches[i] = stretches[i] - together.mean()
        times.append(correlation_time(stretches, least))
    return np.array(times)
