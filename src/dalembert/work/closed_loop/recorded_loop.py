"""The controller that acted in a log: how it was timed, and the torques that it commanded for the measured positions."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import record
from dalembert.compiler.quantities.machine import kernel
from dalembert.compiler.quantities.rollouts import ROLLOUTS
from dalembert.compiler.quantities.step_program import gains_of
from dalembert.errors import DalembertError
from dalembert.robot.model.friction_data import Friction
from dalembert.work.closed_loop.loop_motion import TimeBelief
from dalembert.work.closed_loop.loop_segments import LoopSegments, LoopStretch, Timing, stretches_of
from dalembert.work.identification.fitting import least_squares as lsq
from dalembert.work.identification.fitting.base_parameters import base_parameters
from dalembert.work.identification.fitting.evidence import LogEquations, RestWeights
from dalembert.work.identification.fitting.fit_options import LoopOptions
from dalembert.work.identification.fitting.parameter_set import ParameterSet
from dalembert.work.logs.checks.plausible_units import ODD
from dalembert.work.logs.conditioning import condition, usual_step
from dalembert.work.logs.log import Log, joined
from dalembert.work.simulation.controllers import Controller
from dalembert.work.simulation.servo import FIT, LIMITLESS, Servo

SERVO_RATE = 1000.0  # Hz: drives control their motors at least this often, however slowly they are logged
HELD = 0.005  # s: commands that are logged less often are held by the controller
STAIRS = 0.3  # share of equal neighbours among changing commands above which they are held
NEAR = 5  # samples on either side within which commands change
LATE, UNSURE = 1.0, 0.5  # controller periods: lateness of velocities that are differences of positions, and its error
DELAYED = 0.5  # sampling steps: error of the delay of commands that are logged less often than the controller runs
SLOWER = 1.5  # controller periods: sampling steps above which they are
HEAVY = 0.05  # of the largest torque of a joint: joints with less do not tell the unit of the gains
LAWS = ("servo", "pd", "feedforward", "computed")  # whose gains and model do not change on the way
DAMPERS = ("servo", "pd", "feedforward")  # laws with K_d in N m s/rad
ALIKE = 0.5  # least correlation of torques and errors of positions for a gain to follow from them
LIMITS = ("effort", "speed")
# candidates for limits and gains of drives that may be limited
LEVELS = np.geomspace(3.0, 0.3, 24)  # limits of a drive, relative to the largest torque of the masses
SPEEDS = (1e6, 3.0, 2.0, 1.5, 1.2, 1.05)  # speeds without torque, relative to the largest speed
STIFFER = np.geomspace(1.0, 64.0, 13)  # gains, relative to those that would explain the motion without limits
SEARCHED = 4000  # samples on which the candidates are compared, evenly spread over the log
WORTH = 0.01  # relative reduction of the residual by a tighter limit that counts
TIMES, VAGUE = 3.0, 0.2  # factor on errors, which repeat themselves; relative error of a gain that is not used


class LoopTorques(NamedTuple):
    """Everything at the samples of a run from which the law's torques follow: smoothed q, q̇, q̈, and the reference."""

    q: Array
    qd: Array
    qdd: Array
    reference: Array


class LoopStart(NamedTuple):
    """The constants of a law (n,) from which a fit starts, and the arm that belongs to them, if they follow from its masses."""

    gains: dict[str, Array]
    arm: Arm | None = None


@record
class RecordedLoop:
    """The controller that acted in a log.

    start  values from which unknown constants start; by default they follow from the arm's own masses
    """

    arm: Arm
    options: LoopOptions
    start: LoopStart | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.controller, Controller) or self.controller.law not in LAWS:
            raise DalembertError(
                f"controller is {self.controller!r:.60}; with measured='position' it must be the controller that moved the arm: "
                "da.Servo, da.PD, da.Feedforward or da.ComputedTorque"
            )
        if self.arm.mechanism.by_newton:
            raise DalembertError(
                f"the loops of arm '{self.arm.name}' are closed by Newton's method, so its simulation has no derivatives, which "
                "measured='position' needs; identify it from torques"
            )

    @property
    def controller(self) -> Controller:
        """The law with what is known of its gains."""
        assert self.options.controller is not None
        return self.options.controller

    @property
    def commanded(self) -> bool:
        """Whether the commands are those of the log."""
        return isinstance(self.controller, Servo) and self.controller.commanded

    @property
    def unknown(self) -> tuple[str, ...]:
        """The constants of the law that are not given."""
        return self.controller.unknown if isinstance(self.controller, Servo) else ()

    def period(self, log: Log) -> float:
        """The period of the controller (s)."""
        return 1.0 / (self.options.control_rate or max(SERVO_RATE, 1.0 / usual_step(log)))

    def times(self, log: Log) -> dict[str, TimeBelief]:
        """What is known of the delay of the commands and of the lateness of the velocities, by name of :class:`Timing`."""
        step, period, given = usual_step(log), self.period(log), self.options.command_delay
        late = period if self.controller.law in DAMPERS else 0.0
        unsure = TimeBelief(0.0, DELAYED * step if step > SLOWER * period else 0.0, given == FIT)
        delay = unsure if given is None or given == FIT else TimeBelief(float(given))
        return {"delay": delay, "lateness": TimeBelief(LATE * late, UNSURE * late)}

    def segments(self, log: Log, parts: int = 1) -> LoopSegments:
        """The log in segments."""
        held = self.commanded and (usual_step(log) > HELD or _is_staircase(log))
        return LoopSegments.of(self.arm, self.controller, stretches_of(log), held, self.period(log), parts)

    # -- torques -----------------------------------------------------------------------------------

    def with_torques(self, log: Log) -> Log:
        """The log with the torques that the controller commanded for the measured positions."""
        if log.parts:
            return joined([self.with_torques(part) for part in log.parts])
        at = self.samples(log)
        return replace(log, tau=self.torques(at, self.start_of(log, at).gains))

    def samples(self, log: Log) -> LoopTorques:
        """The states and references at every row of a run; rows in too short stretches keep the measured positions."""
        q, qd, qdd = log.q.copy(), np.zeros_like(log.q), np.zeros_like(log.q)
        for stretch in stretches_of(log):
            rows = np.searchsorted(log.t, stretch.t)
            q[rows], qd[rows], qdd[rows] = stretch.x, stretch.xd, stretch.xdd
        timing = Timing(**{name: belief.mean for name, belief in self.times(log).items()})
        whole = LoopStretch(log.t, log.q, log.command, q, qd, qdd)
        reference = replace(self.segments(log), held=False).sampled(whole, 0.0, timing).value[:, 0]
        return LoopTorques(q, qd, qdd, reference)

    def torques(self, at: LoopTorques, gains: dict[str, Array]) -> Array:
        """(N, n) the torques of the law."""
        law = kernel((self.controller.model or self.arm).mechanism, ROLLOUTS[self.controller.law])
        given = (gains[name] for name in gains_of(self.controller.law))
        return np.asarray(law(self.arm.placed(at.q), at.qd, at.reference, *given), float)

    def suspicions(self, log: Log) -> list[str]:
        """A sentence if the torques of the controller do not fit the masses of the arm."""
        at = self.samples(log)
        given, own = (np.sqrt(np.mean(x**2, axis=0)) for x in (log.tau, OwnTorques(self.arm, log, at).tau))
        heavy = own > HEAVY * own.max()
        factor = float(np.median(given[heavy] / own[heavy])) if own.any() else 1.0
        if "kp" in self.unknown or 1 / ODD < factor < ODD:
            return []
        return [
            f"{log.source}: the torques of the controller are {factor:.2g} times those of the masses of arm '{self.arm.name}'; are "
            "its gains in N m/rad and N m s/rad at the joint?"
        ]

    def start_of(self, log: Log, at: LoopTorques) -> LoopStart:
        """The constants of the law; unknown ones are those with which the arm's own masses explain the motion best."""
        if self.start is not None:
            return self.start
        gains = {name: np.array(value, float) for name, value in self.controller.gains(self.arm).items()}
        if any(value.ndim != 1 for value in gains.values()):
            raise DalembertError("the gains of the controller are a batch; with measured='position' give one per joint")
        if not self.unknown:
            return LoopStart(gains)
        own, arm = OwnTorques(self.arm, log, at), None
        if "kp" in self.unknown:
            gains["kp"] = own.stiffness()
        if any(name in self.unknown or np.any(gains.get(name, LIMITLESS) < LIMITLESS) for name in LIMITS):
            gains |= own.limited(self, gains)
        if "kp" in self.unknown:
            arm = own.with_friction(self.torques(own.at, gains))
        return LoopStart(gains, arm)


@record
class OwnTorques:
    """The torques of an arm's own masses along a measured motion, which give unknown gains a start."""

    arm: Arm
    log: Log
    at: LoopTorques

    @cached_property
    def frictionless(self) -> Arm:
        """The arm without friction."""
        joints = (replace(joint, friction=joint.friction.of(())) for joint in self.arm.robot.joints)
        return Arm(replace(self.arm.robot, joints=tuple(joints)))

    @cached_property
    def tau(self) -> Array:
        """(N, n) the torques of the masses."""
        return np.asarray(self.frictionless.inverse_dynamics(self.at.q, self.at.qd, self.at.qdd))

    def _regressed(self, j: int, right: Array) -> tuple[Array, Array]:
        """(F_v, F_s, offset) of joint j that explain some torques best, and what they leave."""
        qd = self.at.qd[:, j]
        A = np.column_stack([qd, np.sign(qd), np.ones(len(qd))])
        size = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        x = np.linalg.lstsq(A / size, right, rcond=None)[0] / size
        return x, right - A @ x

    def stiffness(self) -> Array:
        """(n,) k_p, which is relative to the masses of the arm.

        The equations Y π = K_p e, e = q_d − q, are linear in all unknowns but one of the gains. Gains that they do not
        determine are those with which the arm's own masses explain the motion at their joints, and where friction
        dominates they belong to the natural frequency of the others.
        """
        own, alike = self._each_stiffness()
        best = int(np.argmax(alike))
        ratios = _relative_gains(self.arm, self.log, self.error, own / own[best], best)
        return own[best] * ratios

    @property
    def error(self) -> Array:
        """(N, n) the errors of the positions."""
        return np.asarray(self.at.reference[:, : self.arm.n] - self.at.q)

    def _each_stiffness(self) -> tuple[Array, Array]:
        """(n,) k_p: the torques of the masses relative to the errors, both without what friction explains; and their
        correlation."""
        pairs = [[self._regressed(j, x[:, j])[1] for x in (self.tau, self.error)] for j in range(self.arm.n)]
        lengths = np.maximum(np.linalg.norm(pairs, axis=-1), 1e-300)
        alike = np.array([tau @ error for tau, error in pairs]) / lengths.prod(axis=1)
        clear = alike > ALIKE
        if not clear.any():
            raise DalembertError(
                f"{self.log.source}: no gains kp explain the motion with the masses of arm '{self.arm.name}'; give kp, or a robot "
                "file with masses and rotor inertias of about the right size"
            )
        kp = lengths[:, 0] / lengths[:, 1]
        inertia = np.diagonal(self.arm.inertia_matrix(self.at.q), axis1=1, axis2=2).mean(axis=0)
        return np.where(clear, kp, inertia * np.median((kp / inertia)[clear])), alike

    def limited(self, loop: RecordedLoop, gains: dict[str, Array]) -> dict[str, Array]:
        """The unknown limits of the drives, and gains k_p with them, with which the torques of the law are explained best,
        joint by joint."""
        n, some = self.arm.n, slice(None, None, max(1, len(self.at.q) // SEARCHED))
        part = OwnTorques(self.arm, self.log, LoopTorques(*(x[some] for x in self.at)))
        largest, fastest = (np.abs(x).max(axis=0) for x in (part.tau, part.at.qd))
        candidates = {
            "kp": np.outer(STIFFER, gains["kp"]),
            "effort": np.outer(LEVELS, largest),
            "speed": np.outer(SPEEDS, fastest),
        }
        grids = [[*values] if name in loop.unknown else [gains[name]] for name, values in candidates.items()]
        best, least = {name: grid[0].copy() for name, grid in zip(candidates, grids, strict=True)}, np.full(n, np.inf)
        for values in product(*grids):
            tried = dict(zip(candidates, values, strict=True))
            tau = loop.torques(part.at, gains | tried)
            left = np.array([np.linalg.norm(part._regressed(j, tau[:, j] - part.tau[:, j])[1]) for j in range(n)])
            share = left / np.maximum(np.linalg.norm(tau, axis=0), 1e-300)
            better = share < (1.0 - WORTH) * least
            least = np.where(better, share, least)
            for name, value in tried.items():
                best[name] = np.where(better, value, best[name])
        return best

    def with_friction(self, torques: Array) -> Arm:
        """The arm with the friction and offsets that are left of some torques."""
        friction = {}
        for j, name in enumerate(self.arm.joint_names):
            viscous, coulomb, offset = self._regressed(j, torques[:, j] - self.tau[:, j])[0].tolist()
            friction[name] = Friction(viscous=max(viscous, 0.0), coulomb=max(coulomb, 0.0), offset=offset)
        robot = self.frictionless.robot
        joints = (replace(joint, friction=friction.get(joint.name, joint.friction)) for joint in robot.joints)
        return Arm(replace(robot, joints=tuple(joints)))


def _relative_gains(arm: Arm, log: Log, error: Array, start: Array, fixed: int) -> Array:
    """(n,) k_p relative to that of joint ``fixed``, from the equations Y π = K_p e of a run; gains that these determine
    poorly keep their ``start``."""
    ready = condition(replace(log, tau=error))
    base = base_parameters(ParameterSet(arm, offset=True))
    equations = LogEquations(base.columns_for(ready.sparse), ready, RestWeights.of(arm, ready))
    joints, b, n, kp = equations.gathered(base.rank).joints, base.rank, arm.n, start.copy()
    rows = []
    for j, joint in enumerate(joints):
        own = np.zeros((len(joint.z) + 1, b + n))
        own[:-1, joint.columns], own[:-1, b + j], own[-1, b + j] = joint.R, -joint.z, -np.sqrt(joint.rss)
        rows.append(own / (start[j] * np.sqrt(joint.z @ joint.z + joint.rss)))
    A, free = np.vstack(rows), [j for j in range(n) if j != fixed]
    while free:
        unknown, known = [*range(b), *(b + j for j in free)], [b + j for j in range(n) if j not in free]
        size = np.maximum(np.linalg.norm(A[:, unknown], axis=0), 1e-300)
        right = -A[:, known] @ kp[[k - b for k in known]]
        solution = np.linalg.lstsq(A[:, unknown] / size, right, rcond=1e-9)[0] / size
        left = float(np.sum((A[:, unknown] @ solution - right) ** 2))
        spread = np.sqrt(np.diag(lsq.inverse_of(A[:, unknown].T @ A[:, unknown])) * left / max(ready.count, 1))[b:]
        vague = np.where(solution[b:] > 0, TIMES * spread / np.maximum(solution[b:], 1e-300), np.inf)
        if vague.max() <= VAGUE:
            kp[free] = solution[b:]
            break
        free.pop(int(np.argmax(vague)))
    return kp


def _is_staircase(log: Log) -> bool:
    """Whether the commands of a log repeat while they change, as those of a slower planner do."""
    assert log.command is not None
    changes = np.any(np.diff(log.command, axis=0) != 0, axis=1)
    near = np.convolve(changes, np.ones(2 * NEAR + 1), mode="same") > 0.5
    return bool(near.any()) and float(np.mean(~changes[near])) > STAIRS
