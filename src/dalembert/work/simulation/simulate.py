"""``da.simulate``: forward dynamics over time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arm import Arm
from dalembert.arm.contacts import TIP, all_wrenches, side_by_side
from dalembert.arm.delegates import delegate
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.progress import Progress, part_of, reporting, silent
from dalembert.compiler.kernel.threads import checked_threads
from dalembert.compiler.quantities.machine import kernel
from dalembert.compiler.quantities.rollouts import ROLLOUTS
from dalembert.errors import DalembertError, ShapeError, SimulationError
from dalembert.mechanics.motion.methods import METHODS
from dalembert.work.simulation.adaptive import ContactDynamics, Stepping, adaptive
from dalembert.work.simulation.closing import placed_along
from dalembert.work.simulation.cluster_batch import in_pieces
from dalembert.work.simulation.controllers import Adaptive, Controller
from dalembert.work.simulation.drive_behaviour import Saturation, sampling_of, saturations
from dalembert.work.simulation.fixed import fixed_steps
from dalembert.work.simulation.foreign_run import by_values, foreign_inputs, foreign_motion
from dalembert.work.simulation.load_stages import stages_of
from dalembert.work.simulation.recorded import RecordedTorque
from dalembert.work.simulation.sampled import sampled
from dalembert.work.simulation.sensitivity import Sensitivity, sensitivity
from dalembert.work.simulation.stiffness import check_damping, check_torque_function
from dalembert.work.simulation.task import SimulationRequest, Task, make_task
from dalembert.work.trajectory.planning.events import LoadTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELEGATES = {
    "plot": "views.report.plots:run_figure",
    "animate": "views.report.animation:animate_run",
    "_repr_html_": "views.report.notebook:run_html",
}
Torque = ArrayLike | Controller | Callable[[float, Array, Array], Any] | None
Wrench = ArrayLike | Callable[[float, Array, Array], Any] | None
Base = ArrayLike | Callable[[float], Any] | None


@dataclass(frozen=True, eq=False)
class Run:
    """A simulated motion: t (N,), and q, qd, tau (…, N, n); the leading axes are the batch."""

    arm: Arm
    t: Array
    q: Array
    qd: Array
    task: Task
    learned: Array | None = None
    loads: LoadTable | None = None

    @cached_property
    def tau(self) -> Array:
        """Torque at every recorded time, (…, N, n); at a jump the value after it, at the final time that before."""
        return self.task.torque_along(self.q, self._placed, self.qd, self.learned)

    @cached_property
    def saturated(self) -> NDArray[np.bool_]:
        """Whether the torque is at its effort limit at each recorded time: (…, N, n), given ``effort_limits``."""
        if self.task.effort is None:
            return np.zeros(self.q.shape, bool)
        return np.abs(self.tau) >= self.task.effort * (1 - 1e-12)

    @property
    def saturations(self) -> list[Saturation]:
        """Intervals in which a joint torque was at its effort limit, per joint, to the resolution of the records."""
        if self.q.ndim != 2:
            raise ShapeError(
                f"saturations requires a single run, but this is a batch of {self.q.shape[:-2]}; use run.saturated for "
                "a batch"
            )
        return saturations(self.arm, self.t, self.saturated)

    @cached_property
    def tracking_error(self) -> Array:
        """q_d − q at each recorded time, if a controller follows a motion or holds a pose: (…, N, n) in rad or m."""
        followed = self.task.followed_along()
        if followed is None:
            raise DalembertError("this run has no tracking error: no joint-space controller followed a motion in it")
        return followed - self.q

    @property
    def notes(self) -> tuple[str, ...]:
        """Why the steps of the run were divided into substeps; empty if they were not."""
        return self.task.notes

    @property
    def follows(self) -> bool:
        """Whether a joint-space controller follows a motion, or moves to a pose with nonzero stiffness."""
        control = self.task.control
        return control is not None and (control.motion is not None or bool(control.kp.any()))

    @property
    def rms_tracking_error(self) -> Array:
        """Root mean square of each joint's tracking error over the run: (…, n) in rad or m."""
        return np.sqrt(np.mean(self.tracking_error**2, axis=-2))

    @property
    def largest_tracking_error(self) -> Array:
        """Largest magnitude of each joint's tracking error: (…, n) in rad or m."""
        return np.abs(self.tracking_error).max(axis=-2)

    @cached_property
    def parameters(self) -> Array:
        """π̂ at each recorded time, for an adaptive controller: (…, N, p), with the names ``parameter_names``."""
        control, learned = self._adapted
        return control.initial(self.arm, self.task.plan.friction) + learned

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the adapted parameters; a base parameter is named after its first member."""
        return self._adapted[0].names(self.arm, self.task.plan.friction)

    @property
    def _adapted(self) -> tuple[Adaptive, Array]:
        control = self.task.control
        if not isinstance(control, Adaptive) or self.learned is None:
            raise DalembertError("this run has no parameters over time: no adaptive controller estimated any in it")
        return control, self.learned

    @cached_property
    def qdd(self) -> Array:
        """Acceleration at each recorded time, 0 for a joint that sticks: (…, N, n); at jumps as for ``tau``."""
        dynamics = ContactDynamics(self.task)
        constants = dynamics.constants()
        given = (self.task.load_along(self.q, self._placed, self.qd, self.tau), *self.task.base_along())
        if dynamics.eventful:
            return dynamics.modes(self.q, self._placed, self.qd, given, constants)[1]
        return dynamics.accelerate(self._placed, self.qd, given, constants, None)

    @cached_property
    def _placed(self) -> Array:
        """Positions for the equations of motion: q, or those of the whole tree if Newton's method closes the loops."""
        return placed_along(self.arm, self.q)

    @cached_property
    def _energies(self) -> tuple[Array, Array]:
        if self.task.plan.parameters:
            parameters = self.task.constants["parameters"][..., None, :]
            return kernel(self.arm.mechanism, ROLLOUTS["energy"])(self._placed, self.qd, parameters)
        T, U = self.arm.kinetic_energy(self.q, self.qd), self.arm.potential_energy(self.q)
        return np.asarray(T, float), np.asarray(U, float)

    @property
    def kinetic(self) -> Array:
        """Kinetic energy (J) of the motion relative to the base: (…, N)."""
        return self._energies[0]

    @property
    def potential(self) -> Array:
        """Potential energy (J): (…, N)."""
        return self._energies[1]

    @property
    def energy(self) -> Array:
        """Sum of kinetic and potential energy (J): (…, N).

        With ``base_motion`` it is the energy of the motion relative to the base, to which the base motion contributes
        the power −q̇ᵀ τ_base, where τ_base is ``.base`` of :meth:`dalembert.Arm.torque_terms`.
        """
        return self.kinetic + self.potential

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write t, q, qd, qdd and tau of a single run as .csv or .parquet, or of any batch as .npz, with the energy."""
        from dalembert.base.files import whole_binary_file
        from dalembert.work.trajectory.planning.motion_tables import KINDS, arrays_of, write

        if Path(path).suffix.lower() != ".npz":
            if self.q.ndim != 2:
                batch = self.q.shape[:-2]
                raise ShapeError(f"{path}: a table holds one run, but this is a batch of {batch}; use .npz")
            write(path, *self.table(), overwrite=overwrite)
            return
        whole = {x: getattr(self, x) for x in ("t", "q", "qd", "qdd", "tau")}
        arrays = (arrays_of(*self.table()) if self.q.ndim == 2 else whole) | {"energy": self.energy}
        arrays |= {} if self.learned is None else {"parameters": self.parameters}
        with whole_binary_file(path, overwrite=overwrite, kinds=KINDS) as file:
            np.savez(file, allow_pickle=False, **arrays)

    def table(self) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """The table for a CSV file of one run: the column names, and the columns, including the load of its motion."""
        from dalembert.work.trajectory.planning.motion_columns import column_names
        from dalembert.work.trajectory.planning.motion_file import carried_columns

        carried = {} if self.loads is None else carried_columns(*self.loads.at(self.t))
        names = column_names(("q", "qd", "qdd", "tau"), self.arm.n)
        return (*names, *carried), (self.t, self.q, self.qd, self.qdd, self.tau, *carried.values())

    def sensitivity(self, by: str | Iterable[str]) -> dict[str, Sensitivity]:
        """∂q/∂x and ∂q̇/∂x at the recorded times for inputs x of the simulation, by name: .q and .qd, (…, N, n, k) each.

        by  as for :func:`dalembert.gradient`, which costs less if x has many entries; a "torque" or "tip_wrench" is
            varied by the same amount in all steps
        The derivatives are those of the discrete steps, also where joints stick, slip, or hit their stops.

        >>> import dalembert as da
        >>> run = da.simulate(da.load("pendulum"), [0.5], [0.0], None, 1.0)
        >>> slopes = run.sensitivity(("q0", "gravity"))
        >>> slopes["q0"].q.shape, slopes["gravity"].qd.shape
        ((1001, 1, 1), (1001, 1, 3))
        """
        return sensitivity(self, by)

    # -- display ---------------------------------------------------------------------------------

    def plot(self, batch: int | tuple[int, ...] | None = None) -> Figure:
        """A matplotlib Figure over time: positions, velocities, torques (accelerations of a free motion), and the
        tracking error if a controller follows a motion, otherwise the energies.

        batch  index of the run in a batch

        >>> import dalembert as da
        >>> run = da.simulate(da.load("planar-2r"), [0.5, 0.2], None, None, 0.1)
        >>> [axes.get_title("left") for axes in run.plot().axes]
        ['Position (rad)', 'Velocity (rad/s)', 'Acceleration (rad/s²)', 'Energy (J)']
        """
        return delegate(DELEGATES, "plot")(self, batch)

    def animate(
        self,
        path: str | os.PathLike[str],
        *,
        batch: int | tuple[int, ...] | None = None,
        speed: float = 1.0,
        fps: float = 25.0,
        overwrite: bool = False,
    ) -> None:
        """Write an animation of the arm as ``.gif``, ``.mp4`` or ``.html`` (an interactive page that needs no network).

        batch  index of the run in a batch
        speed  seconds of the run per second of the animation; 1 is real time
        fps    frames per second, from 1 to 60

        The file is written completely or not at all.

        >>> import dalembert as da, os, tempfile
        >>> run = da.simulate(da.load("planar-2r"), [0.5, 0.2], None, None, 0.1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run.animate(f"{folder}/swing.html")
        ...     os.listdir(folder)
        ['swing.html']
        """
        delegate(DELEGATES, "animate")(self, path, batch, speed, fps, overwrite)

    def _repr_html_(self) -> str:
        return delegate(DELEGATES, "_repr_html_")(self)

    def __repr__(self) -> str:
        batch = f"batch {tuple(self.q.shape[:-2])}, " if self.q.ndim > 2 else ""
        return f"<Run of {self.arm.name!r}: {batch}{self.t[-1] - self.t[0]:.6g} s, {len(self.t)} instants, {self.arm.n} joint{'s' * (self.arm.n != 1)}>"


def _of_stages(name: str) -> Any:
    """A quantity of a run in stages, (…, N, n): that of every stage in sequence."""
    return cached_property(lambda run: run._joined(name))


class StagedRun(Run):
    """A simulated motion in stages, between which the arm picks up or releases a load; ``stages`` has the run of each.

    At the time of an event the values are those after it. The energy jumps there by that of the payload.
    """

    stages: tuple[Run, ...]

    @staticmethod
    def of(arm: Arm, runs: list[Run], starts: list[float], loads: LoadTable) -> StagedRun:
        """The runs in sequence, with the loads carried."""
        t = [run.t + start for run, start in zip(runs, starts, strict=True)]
        learned = (
            None if runs[0].learned is None else _one_after_the_other([np.asarray(run.learned) for run in runs], -2)
        )
        q, qd = (_one_after_the_other([getattr(run, name) for run in runs], -2) for name in ("q", "qd"))
        whole = StagedRun(arm, _one_after_the_other(t, -1), q, qd, runs[0].task, learned, loads)
        object.__setattr__(whole, "stages", tuple(runs))
        return whole

    @property
    def notes(self) -> tuple[str, ...]:
        """Why the steps of stages were divided into substeps."""
        return tuple(dict.fromkeys(note for run in self.stages for note in run.notes))

    def _joined(self, name: str, axis: int = -2) -> Array:
        return _one_after_the_other([getattr(run, name) for run in self.stages], axis)

    tau, qdd, tracking_error = map(_of_stages, ("tau", "qdd", "tracking_error"))

    @cached_property
    def _energies(self) -> tuple[Array, Array]:
        return self._joined("kinetic", -1), self._joined("potential", -1)


def _one_after_the_other(parts: list[Array], axis: int) -> Array:
    """The records of all stages in sequence; where two stages meet, the record of the later one is kept."""
    less = [np.take(part, range(part.shape[axis] - 1), axis) for part in parts[:-1]]
    return np.concatenate([*less, parts[-1]], axis)


def simulate(
    arm: Arm,
    q0: ArrayLike,
    qd0: ArrayLike | None,
    torque: Torque,
    duration: float,
    *,
    method: Literal["rk4", "dop853", "variational"] = "rk4",
    step: float = 1e-3,
    every: int = 1,
    tip_wrench: Wrench = None,
    wrenches: Mapping[str, Wrench] | None = None,
    base_motion: Base = None,
    friction: bool = True,
    stops: Literal["error", "contact"] | None = None,
    restitution: float = 0.0,
    effort_limits: ArrayLike | bool = False,
    rate: float | None = None,
    delay: float = 0.0,
    encoder: ArrayLike | None = None,
    velocity_filter: float | None = None,
    parameters: ArrayLike | None = None,
    rtol: float = 1e-11,
    atol: float = 1e-12,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
    cluster: Any = None,
) -> Run:
    """Forward dynamics, S 7.6: the motion that results from an initial state and the torques.

    q0, qd0     (…, n) the initial state; all leading axes are a batch and are simulated at once
    torque      None; (n,) constant; (…, steps, n) held over each step, where (…, 1, n) is constant: the
                second-last axis is time, those before it are the batch; a Python function
                (t, q, qd) → (…, n), which is slower because the steps are then driven from Python; or a controller:
                :class:`dalembert.PD`, :class:`dalembert.Feedforward`, :class:`dalembert.ComputedTorque` or
                :class:`dalembert.Adaptive`. The motion that it follows may have events with payloads and tip wrenches:
                the steps end at each event and continue with the arm as loaded from then on
    method      "rk4": fourth-order Runge–Kutta with a fixed step, one compiled loop; "dop853": adaptive, order 8,
                one state at a time; "variational": symplectic, with an energy error that does not grow
    step        in s; for "dop853" only the spacing of records and of the torques in an array. Where damping is stiff for it,
                each step is computed in substeps, and ``run.notes`` gives the reason
    every       number of steps from record to record
    tip_wrench  exerted by the end effector on the environment, in base axes, in the same forms: None; (6,);
                (…, steps, 6) or (…, 1, 6); or a Python function (t, q, qd) → (…, 6)
    wrenches    {link: wrench} exerted by any links on the environment, in base axes, at the origins of the link frames,
                each in the same forms
    base_motion [ω, ω̇, p̈] of the base, in base axes, where p̈ is the acceleration of the origin of the base frame,
                in the same forms: None; (9,); (…, steps, 9) or (…, 1, 9); or a Python function of time alone,
                t → (…, 9), with which the loop stays compiled. Controllers do not compensate for it
    friction    False omits the arm's friction; springs, offsets and other terms that depend on position alone remain
    stops       joint limits: None ignores them; "error" ends the simulation at the first joint that
                exceeds its limit; "contact" treats them as hard stops with impact and contact
    restitution coefficient of stops="contact", from 0 (plastic) to 1 (elastic): a joint that hits its stop alone
                rebounds with this fraction of its speed
    effort_limits  True: torques are limited to the arm's effort limits, whatever is commanded; (n,) or one number
                (N m; N): other limits. ``run.saturations`` reports when they were reached. False applies no limits
    rate        Hz: the controller or function is evaluated at this rate and its torque is held between samples;
                continuous by default
    delay       s: each torque acts this much later than the time at which the state was measured; until the first one
                acts, the torque is that of the initial state. Requires ``rate``
    encoder     counts per revolution of the joint (per metre for a prismatic joint), one number or (n,): the controller
                measures positions in whole counts, and velocities as differences of two samples. Requires ``rate``
    velocity_filter  Hz: cut-off frequency of a first-order low-pass on these differences
    parameters  (…, 13 n) dynamic parameters instead of the arm's own, S (7.77): for each joint m, m c,
                I_xx I_xy I_xz I_yy I_yz I_zz, I_m, F_v, F_s; for a closed chain, for each joint of its tree; followed
                by the coefficients of further friction terms, joint by joint
    rtol, atol  tolerances of "dop853"
    threads     number of threads among which the states of a large batch are divided; chosen by its size by default,
                see docs/dynamics.md. "dop853" processes one state at a time in one thread
    progress    called with the completed fraction
    cluster     address of a Dask scheduler, or a ``distributed.Client``, whose workers simulate the states of the
                batch; on identical processors the run is the same, bit by bit. Python functions are then called for
                part of the batch at a time
    The run can be differentiated: :meth:`Run.sensitivity`, :func:`dalembert.gradient`. If PyTorch or JAX tracks one of the
    arrays, gains of a controller included, ``run.q`` and ``run.qd`` are differentiable arrays of that library.

    >>> import dalembert as da
    >>> run = da.simulate(da.load("pendulum"), [0.5], [0.0], None, 1.0, friction=False)
    >>> bool(abs(run.energy - run.energy[0]).max() < 1e-9)
    True
    """
    threads = checked_threads(threads)
    by = Stepping(METHODS[method].solver if method in METHODS else "", rtol, atol, threads)
    request = SimulationRequest(
        q0=q0, qd0=qd0, torque=torque, duration=duration, method=method, step=step, every=every, tip_wrench=tip_wrench,
        base_motion=base_motion, friction=friction, stops=stops, restitution=restitution, parameters=parameters,
        effort_limits=effort_limits, sampling=sampling_of(arm, rate, delay, encoder, velocity_filter),
    )  # fmt: skip

    def run(
        of: Arm, part: SimulationRequest, report: Progress, learned: Array | None = None, start: float | None = None
    ) -> Run:
        touching = of
        if wrenches is not None and (acting := all_wrenches(part.tip_wrench, wrenches)):
            touching, part = of.touching(tuple(acting)), replace(part, tip_wrench=_together(acting, start))
        if inputs := foreign_inputs(part):
            part = by_values(of, part, inputs)
        task = replace(make_task(touching, part), learned=learned, solver=by.solver)
        if inputs:
            beside = {"threads": threads, "cluster": cluster, "events of the motion": start}
            return Run(of, task.t[task.records], *foreign_motion(task, inputs, beside), task)
        steps = partial(_stepped, by=by)
        q, qd, *adapted = (
            steps(task, report) if cluster is None else in_pieces(task, steps, cluster, bool(by.solver), report)
        )
        if not by.solver:
            check_damping(task, q, qd)
            check_torque_function(task, q, qd)
        if task.sampling is not None:
            torques, *adapted = adapted
            task = replace(task.driven(), torques=torques)
        return Run(of, task.t[task.records], q, qd, task, adapted[0] if adapted else None)

    stages = stages_of(arm, request)
    if stages is None:
        return run(arm, request, reporting(progress))
    runs: list[Run] = []
    for stage in stages:
        before = runs[-1] if runs else None
        q, qd = (q0, qd0) if before is None else (before.q[..., -1, :], before.qd[..., -1, :])
        learned = None if before is None or before.learned is None else before.learned[..., -1, :]
        report = part_of(reporting(progress), stage.start / duration, stage.end / duration)
        try:
            runs.append(run(stage.arm, replace(stage.request, q0=q, qd0=qd), report, learned, stage.start))
        except SimulationError as problem:
            if not runs:
                raise
            raise SimulationError(
                f"after the event of the motion at t = {stage.start:g} s, from which t is counted: {problem}"
            ) from None
    carrier: Any = torque if isinstance(torque, RecordedTorque) else getattr(torque, "motion", None)
    return StagedRun.of(arm, runs, [stage.start for stage in stages], carrier.loads)


def _together(wrenches: Mapping[str, Wrench], start: float | None = None) -> Wrench:
    """Wrenches at several frames combined into one, six components each; a function of time if any of them is.

    ``start`` is the start time of a stage, whose own time begins there.
    """
    given: dict[str, Any] = {name: np.zeros(6) if value is None else value for name, value in wrenches.items()}
    if start is not None and (
        over_time := [name for name, value in given.items() if name != TIP and np.ndim(value) > 1]
    ):
        raise DalembertError(
            f"the wrench at '{over_time[0]}' is given over time as an array, but the motion has events, at which the "
            "simulation restarts; give a function (t, q, qd) → (6,), or one constant wrench"
        )
    if not any(map(callable, given.values())):
        return side_by_side(given)
    for name, value in given.items():
        if not callable(value) and np.ndim(value) > 1:
            raise DalembertError(
                f"the wrench at '{name}' is given over time as an array, but another one as a function; give all of "
                "them as functions, or all as arrays"
            )

    def at(t: float, q: Array, qd: Array) -> Any:
        now = {name: t if name == TIP or start is None else t + start for name in given}
        return side_by_side({name: x(now[name], q, qd) if callable(x) else x for name, x in given.items()})

    return at


def _stepped(task: Task, progress: Progress = silent, *, by: Stepping) -> tuple[Array, ...]:
    """(q, qd) at the records, the torques of a sampled controller, and the estimates of an adaptive one."""
    if task.sampling is not None:
        return sampled(task, by, progress)
    return adaptive(task, by, progress) if by.solver else fixed_steps(task, progress, by.threads)
