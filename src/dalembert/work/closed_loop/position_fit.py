"""Identification from positions and commands: the loop of controller and arm is fitted to the measured positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.progress import Progress
from dalembert.base.environment.short_repr import record
from dalembert.errors import DalembertError
from dalembert.work.closed_loop.loop_fit import ClosedLoopDivergesError, LoopFit, LoopSolution, start_error
from dalembert.work.closed_loop.loop_motion import LoopSimulation, LoopUnknowns, TimeBelief
from dalembert.work.closed_loop.loop_segments import LoopSegments
from dalembert.work.closed_loop.recorded_loop import DAMPERS, LoopStart, RecordedLoop
from dalembert.work.identification.fitting import least_squares as lsq
from dalembert.work.identification.fitting.base_parameters import base_parameters
from dalembert.work.identification.fitting.fit import OF_TORQUES, fitted
from dalembert.work.identification.fitting.fit_options import AskedSettings, EstimatorOptions
from dalembert.work.identification.fitting.methods import typical_sizes
from dalembert.work.identification.fitting.parameter_set import ParameterSet, shape_of
from dalembert.work.identification.fitting.result import Identification, relative
from dalembert.work.logs.conditioning import usual_step
from dalembert.work.logs.log import Log
from dalembert.work.simulation.servo import Servo
from dalembert.work.simulation.stiffness import closed_loop_pole, friction_pole, poses_of

DECAY, SWING = 1.5, 0.5  # largest products of a step with the poles and natural frequencies of the loop
MOST_PARTS = 32  # more would be needed by friction that is wrong by far, with which the simulation shows an error
# errors of a start relative to the motion within a segment: another is tried, or none converges
ROUGH, HOPELESS = 0.5, 5.0
WRONG_LOOP = 0.3  # unexplained share of the tracking error above which the loop was probably another one
REACHED = 0.01  # share of the samples at the limit of a drive above which its torque fixes the scale


@record
class LoopRun:
    """Measured, predicted and commanded positions (M, n) of a run at the times t (M,); a motion that the controller follows
    counts as its commands."""

    name: str
    t: Array
    measured: Array
    predicted: Array
    commanded: Array

    @property
    def rms(self) -> Array:
        """The root mean square error of each joint's position (rad; m): (n,)."""
        return np.asarray(np.sqrt(np.mean((self.measured - self.predicted) ** 2, axis=0)))

    @property
    def relative_error(self) -> float:
        """The error of the predicted positions relative to the tracking error, ‖q − q̂‖ / ‖q_d − q‖."""
        return relative(self.measured - self.predicted, self.measured - self.commanded)


@record
class ClosedLoopFit:
    """How the loop of controller and arm explains the recorded positions.

    run           from which it was identified, simulated as a whole; ``validation`` holds the others
    gains         (n,) by name, such as "kp" and "kd", with gains_std: 0 where they were given or fix the scale
    delay         of the commands (s), with delay_std
    lateness      of the velocities in the controller (s), with lateness_std
    undetermined  (name, joint) of gains that the log does not determine
    scale         "" if a gain or a torque is known, and otherwise the joint whose kp all values are stated for
    """

    run: LoopRun
    gains: dict[str, Array]
    gains_std: dict[str, Array]
    delay: float
    delay_std: float
    lateness: float
    lateness_std: float
    undetermined: tuple[tuple[str, str], ...]
    scale: str
    validation: tuple[LoopRun, ...] = ()

    @property
    def relative_error(self) -> float:
        """The error of the predicted positions relative to the tracking error, ‖q − q̂‖ / ‖q_d − q‖."""
        return self.run.relative_error

    def as_json(self) -> dict[str, Any]:
        """Everything but the positions, as plain data."""
        runs = [
            {"name": x.name, "relative_error": x.relative_error, "rms": x.rms} for x in (self.run, *self.validation)
        ]
        names = [entry.name for entry in fields(self) if entry.name not in ("run", "validation")]
        return {**{name: getattr(self, name) for name in names}, "runs": runs}


def fitted_to_positions(
    loop: RecordedLoop, log: Log, settings: AskedSettings, reading: Mapping[str, Any], step: Progress
) -> Identification:
    """The identification from positions: the torques of the controller give the model and a start."""
    other = replace(settings.estimator, method=None, physical=None)
    if other.given or settings.estimator.method not in (None, "weighted") or settings.estimator.physical:
        raise DalembertError(
            "measured='position' fits the simulated motion by weighted least squares; leave out the other options of the estimator"
        )

    # the torques are those of the motors, and velocities that are late act like inertias of rotors
    model = replace(settings.model, rotor=settings.model.rotor is None or settings.model.rotor)
    settings = replace(settings, model=model, filtering=replace(settings.filtering, lag=0.0))
    if settings.selection is not None:  # a drive shared by two joints is not simulated
        chosen = tuple(choice for choice in settings.selection.choose if choice != "coupling")
        settings = replace(settings, selection=replace(settings.selection, choose=chosen))

    def fit(loop: RecordedLoop, log: Log, settings: AskedSettings) -> Identification:
        def first(physical: bool) -> Identification:
            own = replace(settings, estimator=EstimatorOptions(method="weighted", physical=physical))
            return fitted(loop.arm, log, own, reading, step, OF_TORQUES)

        start, by_torques = loop.start_of(log, loop.samples(log)), first(False)
        begun = PositionFit(loop, log, by_torques, start.gains)
        arms = [by_torques.arm] if start.arm is None else [start.arm, by_torques.arm]
        simulation = min(map(begun.simulation, arms), key=start_error)
        if start_error(simulation) > ROUGH:  # the masses that explain the torques may not be physical
            simulation = min(simulation, begun.simulation(first(True).arm), key=start_error)
        if start_error(simulation) > HOPELESS:
            raise ClosedLoopDivergesError()
        return begun.result(simulation, step)

    if loop.unknown and settings.selection is not None:  # laws are chosen with torques of about the right size
        plain = fit(loop, log, replace(settings, selection=None))
        assert plain.closed_loop is not None
        loop = replace(loop, start=LoopStart(plain.closed_loop.gains, plain.arm))
        log = loop.with_torques(log)
    return fit(loop, log, settings)


def judged_by_positions(loop: RecordedLoop, fit: Identification, others: list[Log]) -> tuple[Identification, list[Log]]:
    """The identification with the positions that it predicts for other runs, and these with the torques of the controller."""
    assert fit.closed_loop is not None
    known = replace(loop, start=LoopStart(fit.closed_loop.gains))
    with_torques = list(map(known.with_torques, others))
    runs = tuple(PositionFit(known, log, fit, fit.closed_loop.gains).predicted() for log in with_torques)
    return replace(fit, closed_loop=replace(fit.closed_loop, validation=runs)), with_torques


def _with_laws(arm: Arm, other: Arm) -> Arm:
    """The arm with the terms of another at its joints; those that it has keep its coefficients."""
    laws, joints = {joint.name: joint.friction for joint in other.robot.joints}, []
    for joint in arm.robot.joints:
        known = {shape_of(term): term for term in joint.friction}
        friction = joint.friction.of(known.get(shape_of(term), term) for term in laws[joint.name])
        joints.append(replace(joint, friction=friction))
    return arm.replace(joints=tuple(joints))


@record
class PositionFit:
    """The fit of a closed loop.

    first  the identification with the torques of the controller, which has the laws of friction
    gains  the constants of the law from which the fit starts
    """

    loop: RecordedLoop
    log: Log
    first: Identification
    gains: dict[str, Array]

    def simulation(self, arm: Arm) -> LoopSimulation:
        """The closed loop with the parameters of an arm."""
        unknowns = self._unknowns(_with_laws(arm, self.first.arm))
        return LoopSimulation(self.loop.segments(self.log, self._parts(unknowns)), unknowns)

    def result(self, simulation: LoopSimulation, step: Progress) -> Identification:
        """The identification from positions, from the values with which the loop is simulated."""
        solution, unknowns = self._solved(simulation, step), simulation.unknowns
        delay = unknowns.times["delay"]
        if delay.fitted and unknowns.timing(solution.state.x).delay < 0:  # which no controller has
            times = {**unknowns.times, "delay": delay._replace(fitted=False)}
            simulation = replace(simulation, unknowns=replace(unknowns, times=times))
            solution = self._solved(simulation, step)
        return self._identification(simulation, solution)

    def predicted(self) -> LoopRun:
        """The run with the positions that ``first`` and its closed loop predict."""
        fit, segments = self.first.closed_loop, self.loop.segments(self.log)
        assert fit is not None
        times = {"delay": TimeBelief(fit.delay), "lateness": TimeBelief(fit.lateness)}
        unknowns = LoopUnknowns(self.first.base, (), times, self.gains)
        return self._run(
            LoopSimulation(replace(segments, parts=self._parts(unknowns)), unknowns), self.first.parameters
        )

    def _run(self, simulation: LoopSimulation, x: Array) -> LoopRun:
        """The positions that are simulated from the beginning of every stretch on."""
        segments = simulation.segments.whole
        whole = replace(simulation, segments=segments)
        predicted = whole.motion(x, whole.begun(x)).q[segments.used]
        rows = segments.rows[:, 1:][segments.used]
        return LoopRun(
            self.log.source, segments.t[rows], segments.q[:, 1:][segments.used], predicted, segments.commands[rows]
        )

    def _solved(self, simulation: LoopSimulation, step: Progress) -> LoopSolution:
        unknowns, torque = simulation.unknowns, float(np.sqrt(np.mean(self.first.run.measured**2)))
        typical = np.concatenate([typical_sizes(unknowns.base), self._sizes(unknowns, simulation.segments)])
        return LoopFit(simulation, typical, torque, step).solved()

    def _unknowns(self, arm: Arm) -> LoopUnknowns:
        first, loop = self.first, self.loop
        rotor = first.base.parameters.rotor
        own = first.base.parameters
        if own.two_sided or own.drives or own.heated or own.extra:
            raise DalembertError(
                "measured='position' simulates the arm, which has one Coulomb level for both directions, no drives that are shared "
                "by two joints and no temperature; leave out two_sided, coupling, and terms of the temperature"
            )
        base = base_parameters(ParameterSet(arm, own.friction, False, False, rotor))
        # without a known gain or torque, one of the gains sets the scale
        fixed = -1 if self._limited else int(np.argmax(np.abs(first.run.measured).max(axis=0)))
        inseparable = not (isinstance(loop.controller, Servo) and loop.controller.velocity)  # K_d from viscous friction
        gains = [
            (name, j)
            for name in loop.unknown
            for j in range(loop.arm.n)
            if not (name == "kp" and j == fixed) and not (name == "kd" and inseparable)
        ]
        return LoopUnknowns(base, tuple(gains), loop.times(self.log), self.gains)

    @property
    def _limited(self) -> bool:
        """Whether a drive reached its given limit, which fixes the scale."""
        if "effort" in self.loop.unknown:
            return False
        effort = self.loop.controller.gains(self.loop.arm).get("effort", np.full(self.loop.arm.n, np.inf))
        return bool((np.mean(np.abs(self.first.run.measured) >= 0.99 * effort, axis=0) > REACHED).any())

    def _parts(self, unknowns: LoopUnknowns) -> int:
        """Steps of the simulation per sample, for the poles and natural frequencies of the loop."""
        arm, kp, kd = unknowns.arm, unknowns.known["kp"], unknowns.known["kd"]
        q = self.log.q[:: max(1, len(self.log.q) // 8)]
        poses, decay, swing = poses_of(arm, q), friction_pole(arm, q[:1], np.zeros((1, arm.n)), None).rate, 0.0
        if self.loop.controller.law in DAMPERS:
            decay = float(np.abs(np.linalg.eigvals(np.linalg.solve(poses.B, np.diag(kd) + poses.D))).max())
            swing = float(np.sqrt(np.abs(np.linalg.eigvals(np.linalg.solve(poses.B, np.diag(kp)))).max()))
        else:
            gains = list(self.loop.controller.gains(arm).values())
            decay = max(decay, closed_loop_pole(arm, self.loop.controller, poses, gains, True).rate)
        parts = usual_step(self.log) * max(decay / DECAY, swing / SWING)
        return int(np.clip(np.ceil(parts), 1, MOST_PARTS))

    def _sizes(self, unknowns: LoopUnknowns, segments: LoopSegments) -> Array:
        """The usual torque per unit of every unknown that is no base parameter."""
        error, speed, acceleration = (
            np.sqrt(np.mean(x**2, axis=0))
            for x in (segments.commands - segments.together("q"), segments.together("xd"), segments.together("xdd"))
        )
        usual = {
            "kp": error, "kd": speed, "effort": np.ones(len(speed)),
            "speed": unknowns.known.get("effort", speed) / unknowns.known.get("speed", speed),
        }  # fmt: skip
        times = {
            "delay": float(np.max(unknowns.known["kp"] * speed)),
            "lateness": float(np.max(unknowns.known["kd"] * acceleration)),
        }
        sizes = [*(usual[name][j] for name, j in unknowns.gains), *(times[name] for name in unknowns.unknown_times)]
        return np.maximum(np.array(sizes, float), 1e-12)

    def _identification(self, simulation: LoopSimulation, solution: LoopSolution) -> Identification:
        first, base, b = self.first, simulation.unknowns.base, simulation.unknowns.base.rank
        covariance, values = solution.covariance(simulation.unknowns.assumed), solution.state.x[:b]
        fixed = tuple(k for k in solution.fixed if k < b)
        loop = self._closed_loop(simulation, solution, np.sqrt(np.maximum(np.diag(covariance), 0.0)))
        known = replace(self.loop, start=LoopStart(loop.gains))
        with_torques = known.with_torques(self.log)
        free, doubts = [k for k in range(b) if k not in fixed], [*first.warnings, *known.suspicions(with_torques)]
        if loop.relative_error > WRONG_LOOP:
            doubts.append(
                f"{self.log.source}: the closed loop leaves {100 * loop.relative_error:.0f} % of the tracking error unexplained; did "
                "this controller move the arm, with these gains, limits and commands?"
            )
        result = replace(
            first, base=base, parameters=values, covariance=covariance[:b, :b], found_full=None, physical=False,
            condition=float(np.linalg.cond(solution.system.R[:, free])) if free else np.inf,
            essential=tuple(base.names[k] for k in lsq.essential(values, covariance[:b, :b], fixed)),
            unidentified=tuple(base.names[k] for k in fixed), blocks=None, formula_covariance=None, closed_loop=loop,
            warnings=tuple(doubts), notes=(*first.notes, *self._notes(loop, simulation.unknowns)),
        )  # fmt: skip
        run = result.judged(with_torques)
        return replace(result, run=replace(run, notes=first.run.notes), noise=run.rms)

    def _closed_loop(self, simulation: LoopSimulation, solution: LoopSolution, std: Array) -> ClosedLoopFit:
        unknowns, x = simulation.unknowns, solution.state.x
        b, n, joints = unknowns.base.rank, self.loop.arm.n, self.loop.arm.joint_names
        gains = {name: value.copy() for name, value in unknowns.known.items()}
        errors = {name: np.zeros(n) for name in gains}
        for k, (name, j) in enumerate(unknowns.gains, b):
            gains[name][j], errors[name][j] = x[k], np.inf if k in solution.fixed else std[k]
        fixed = [j for j in range(n) if ("kp", j) not in unknowns.gains] if "kp" in self.loop.unknown else []
        times = dict(zip(unknowns.unknown_times, std[b + len(unknowns.gains) :].tolist(), strict=True))
        timing = unknowns.timing(x)
        return ClosedLoopFit(
            self._run(simulation, x), gains, errors, timing.delay, times.get("delay", 0.0), timing.lateness,
            times.get("lateness", 0.0),
            tuple((name, joints[j]) for k, (name, j) in enumerate(unknowns.gains, b) if k in solution.fixed),
            joints[fixed[0]] if fixed else "",
        )  # fmt: skip

    def _notes(self, fit: ClosedLoopFit, unknowns: LoopUnknowns) -> list[str]:
        joints, notes = self.loop.arm.joint_names, list[str]()
        notes.append(
            "fitted to the positions of the closed loop: the torques are those that its controller commanded, and "
            f"{100 * fit.relative_error:.2g} % of the tracking error is not explained"
        )
        for name in dict.fromkeys(name for name, _ in unknowns.gains):
            pairs = zip(fit.gains[name], fit.gains_std[name], strict=True)
            words = ", ".join(f"{x:.4g} ± {e:.2g}" if np.isfinite(e) else f"{x:.4g} (not determined)" for x, e in pairs)
            notes.append(f"{name} identified: {words}")
        if unknowns.times["delay"].deviation:
            notes.append(
                f"the commands act {1e3 * fit.delay:.3g} ± {1e3 * fit.delay_std:.2g} ms after their times; the delay acts like "
                "viscous friction, so give command_delay if it is known"
            )
        if fit.scale:
            j = joints.index(fit.scale)
            notes.append(
                "no torque is known, so only the ratios of masses, friction and gains are determined; they are stated for "
                f"kp = {fit.gains['kp'][j]:.4g} at joint '{fit.scale}', with which the arm's own masses explain the motion: give kp, "
                "or effort of a drive that reaches it, for absolute values"
            )
        for name, joint in fit.undetermined:
            notes.append(
                f"{name} of joint '{joint}' cannot be told apart from its friction and inertia; these are stated for "
                f"{name} = {fit.gains[name][joints.index(joint)]:.4g}"
            )
        if "kd" in self.loop.unknown and not any(name == "kd" for name, _ in unknowns.gains):
            notes.append(
                "kd is not known and cannot be told apart from viscous friction: Fv is the sum of the two at each joint"
            )
        if fit.lateness_std and fit.gains["kd"].any():
            kd = fit.gains["kd"]
            j = int(np.argmax(kd))
            notes.append(
                f"the velocities in the controller are {1e3 * fit.lateness:.3g} ± {1e3 * fit.lateness_std:.2g} ms late, as "
                f"differences of positions are; kd times this counts as inertia, {kd[j] * fit.lateness:.3g} ± "
                f"{kd[j] * fit.lateness_std:.2g} at joint '{joints[j]}': give control_rate if it is known"
            )
        return notes
