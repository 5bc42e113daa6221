"""Selection of motors and gears from catalogues: the smallest that suffice for every joint, with all joints coupled.

The rotor of joint j, with inertia J about its axis, ratio k and mass m, sits on the link that carries the joint. The
torques of the other joints are linear in J, J k and m, and that of its own joint in J k² and J k: S (7.81). One
regressor along the motion gives all the columns, so that a candidate costs a few multiplications and no compilation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.arm.delegates import delegate
from dalembert.base.arrays import Array
from dalembert.base.environment.short_repr import brief
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.regressor import INERTIAL, WIDTH
from dalembert.robot.drives.drive_data import Gear, Motor, of_rotor
from dalembert.robot.model.inertia import point_masses
from dalembert.robot.model.robot import Joint, Robot, Rotor
from dalembert.work.sizing.drive_formulas import curve_at, durations, mean_speed, through_gear
from dalembert.work.sizing.drive_sizing import (
    BRAKE_FACTOR,
    CHUNK,
    DriveRules,
    DriveSizing,
    JointLoad,
    judged,
    rotor_friction,
)
from dalembert.work.sizing.motion_samples import Motion, MotionSamples, samples_of
from dalembert.work.sizing.sizing import Sizing, bearing_parts, loads, size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELEGATES = {"_repr_html_": "views.report.notebook:selection_html"}  # imported on first use

MOST_PASSES = 20  # more than joints, for the joints of closed and coupled arms
TRIAL = 1e-4  # kg m²: the rotor for which the columns are computed


@brief
@dataclass(frozen=True)
class DriveChoice:
    """The drive of one joint: ``motor`` and ``gear``, its cost by the criterion, and why nothing smaller suffices.

    tried, possible   number of combinations, and of those that no check excludes; for combinations more costly than the
                      choice, winding temperature and emergency torque are not checked
    reasons           one sentence per smaller neighbour that fails
    """

    joint: str
    motor: Motor
    gear: Gear | None
    cost: float
    tried: int
    possible: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class DriveSelection:
    """Result of :func:`select_drives`: the arm with its drives, and its sizing.

    criterion  the meaning of "smallest": "price" if every part has one, otherwise "mass"
    passes     number of passes over all joints, the last one without a change
    """

    arm: Arm
    sizing: Sizing
    choices: tuple[DriveChoice, ...]
    criterion: str
    passes: int

    def __repr__(self) -> str:
        total = sum(choice.cost for choice in self.choices)
        unit = " kg" if self.criterion == "mass" else ""
        return f"<DriveSelection for {len(self.choices)} joints of {self.arm.name}: {self.criterion} {total:.4g}{unit}>"

    def plot(self) -> Figure:
        """A matplotlib Figure with the speed–torque diagrams of the selected drives."""
        assert self.sizing.drives is not None
        return self.sizing.drives.plot()

    def _repr_html_(self) -> str:
        return delegate(DELEGATES, "_repr_html_")(self)

    @property
    def reasons(self) -> dict[str, tuple[str, ...]]:
        """{joint: why its next smaller drives fail}."""
        return {choice.joint: choice.reasons for choice in self.choices}

    def table(self) -> list[dict[str, Any]]:
        """One row per joint with a selected drive, {column: value}."""
        drives = self.sizing.drives
        assert drives is not None
        return [
            {
                "joint": choice.joint,
                "motor": choice.motor.name,
                "gear": choice.gear.name if choice.gear is not None else "",
                "ratio": choice.gear.ratio if choice.gear is not None else 1.0,
                self.criterion: choice.cost,
                "light": drives[choice.joint].light,
                "deciding": drives[choice.joint].verdict,
                "tried": choice.tried,
                "possible": choice.possible,
            }
            for choice in self.choices
        ]


def select_drives(
    arm: Arm,
    motion: Motion,
    motors: Sequence[Motor],
    gears: Sequence[Gear] | None = None,
    *,
    joints: Sequence[str] | None = None,
    margin: float = 0.0,
    life: float | None = None,
    brake_factor: float = BRAKE_FACTOR,
    inertia_ratio: float | None = None,
    tip_wrench: ArrayLike | None = None,
) -> DriveSelection:
    """The smallest motor and gear for every joint, from catalogues, that together meet the demands of ``motion``.

    motors, gears   from ``da.read_motors`` and ``da.read_gears``, or lists; without gears, every joint keeps its own
    joints          names of the joints to equip; all by default
    margin          margin that every check must leave, as a share: 0.2 for green lights
    life            required life of the gears (h, L10)
    inertia_ratio   largest allowed load inertia / motor inertia

    The smallest drive is the cheapest if all parts have a price, otherwise the lightest. The joints are solved from the
    tip to the base, each candidate with its own rotor inertia, ratio and mass in all torques, repeatedly until nothing
    changes.

    >>> import dalembert as da
    >>> small = da.Motor("S", rated_torque=5.0, peak_torque=15.0, max_speed=600.0, rotor_inertia=2e-4, mass=4.0)
    >>> large = da.Motor("L", rated_torque=20.0, peak_torque=60.0, max_speed=600.0, rotor_inertia=2e-3, mass=15.0)
    >>> gear = da.Gear("G", ratio=100.0, efficiency=0.8, rated_torque=2000.0, mass=3.0)
    >>> up = da.polynomial([0.0, 0.0], [0.5, 0.5], 1.0)
    >>> selection = da.select_drives(da.load("planar-2r"), up, [small, large], [gear])
    >>> [row["motor"] for row in selection.table()], selection.criterion
    (['L', 'S'], 'mass')
    """
    names = _checked(arm, motors, gears, joints)
    rules = DriveRules(life, brake_factor, margin, inertia_ratio)
    at = samples_of(arm, motion)
    problem = _SelectionProblem(arm, at, names, motors, gears, rules, tip_wrench)
    fitted: Fitted = {}
    before, passes = None, 0
    while fitted != before:  # a joint of a tree depends only on those beyond it, so at most n + 1 passes are needed
        before, passes = dict(fitted), passes + 1
        if passes > arm.n + MOST_PASSES:
            raise DalembertError(
                f"the drives of arm '{arm.name}' depend on each other through its loops or couplings, and no choice from the "
                f"catalogues was consistent after {passes - 1} passes; select some joints with joints= (--joints)"
            )
        for i in sorted(problem.which, reverse=True):
            fitted[i] = problem.best(i, fitted)
        if fitted != before:
            problem.update(fitted)
    choices, final = tuple(problem.explained(i, fitted) for i in problem.which), Arm(problem.robot_with(fitted))
    sizing = size(final, at, tip_wrench, life=life, brake_factor=brake_factor)
    return DriveSelection(final, sizing, choices, problem.criterion, passes)


Fitted = dict[int, tuple[Motor, Gear | None]]  # the drives of some joints


def _checked(
    arm: Arm, motors: Sequence[Motor], gears: Sequence[Gear] | None, joints: Sequence[str] | None
) -> list[str]:
    """Names of the joints to equip; raises an error for cases that cannot be solved here."""
    for word, parts, kind in (("motors", motors, Motor), ("gears", gears, Gear)):
        if parts is not None and (not len(parts) or not all(isinstance(part, kind) for part in parts)):
            raise DalembertError(
                f"{word} must be a list of one or more da.{kind.__name__}, or a result of da.read_{word}"
            )
    names = list(arm.joint_names) if joints is None else [joints] if isinstance(joints, str) else list(joints)
    if unknown := [name for name in names if name not in arm.joint_names]:
        raise DalembertError(f"there is no joint '{unknown[0]}'; the joints are {', '.join(arm.joint_names)}")
    return names


class _MotorArrays:
    """The data of a motor catalogue as arrays (motors,); unknown values are infinite."""

    def __init__(self, motors: Sequence[Motor]) -> None:
        self.motors = motors
        self.inertia = np.array([motor.rotor_inertia for motor in motors])
        self.top_speed = np.array([motor.top_speed or np.inf for motor in motors])
        self.brake_torque = np.array([motor.brake_torque or np.inf for motor in motors])
        currents = [(motor.torque_constant or np.inf) * (motor.max_current or np.inf) for motor in motors]
        self.max_current_torque = np.array(currents)

    def continuous_at(self, speed: float) -> Array:
        """The derated continuous torque at a speed."""
        curves = ((motor.continuous_points, motor.torque_factor) for motor in self.motors)
        return np.array([float(curve_at(points, speed)) * factor if points else np.inf for points, factor in curves])

    def one_over_peak(self, speed: Array) -> Array:
        """1 / peak torque at the given speeds: (motors, N)."""
        out = np.zeros((len(self.motors), len(speed)))
        for row, motor in zip(out, self.motors, strict=True):
            if motor.peak_points:
                peak = curve_at(motor.peak_points, speed)
                row[:] = np.where(peak > 0, 1.0 / np.maximum(peak, 1e-300), 1e300)
        return out


class _SelectionProblem:
    """Torques of an arm whose rotors are still undetermined, and candidates for them."""

    def __init__(
        self, arm: Arm, at: MotionSamples, names: Sequence[str], motors: Sequence[Motor], gears: Sequence[Gear] | None,
        rules: DriveRules, tip_wrench: ArrayLike | None,
    ) -> None:  # fmt: skip
        self.arm, self.at, self.rules, self.tip_wrench = arm, at, rules, tip_wrench
        self.which = [i for i, name in enumerate(arm.joint_names) if name in names]
        self.motors, self.gears = tuple(motors), tuple(gears) if gears is not None else None
        self.candidates = {i: self._gears_for(arm.robot.moving_joints[i]) for i in self.which}
        parts: list[Motor | Gear] = [*self.motors, *(self.gears or ())]
        self.criterion = "price" if all(part.price is not None for part in parts) else "mass"
        self.weights = durations(at.t)
        # trial rotors in place of the joints' own; their friction depends on the ratio and is treated separately
        own = {i: arm.robot.moving_joints[i].rotor or Rotor() for i in self.which}
        still: dict[str, Any] = {"inertia": TRIAL, "gear": 1.0, "mass": 0.0, "viscous": 0.0, "coulomb": (0.0, 0.0)}
        trial = Arm(
            self._with({i: {"rotor": replace(x, **still), "motor": None, "gear": None} for i, x in own.items()})
        )
        self._columns(trial)
        tau = self._loaded(trial, dict.fromkeys(self.which, TRIAL))
        self.rest = tau - sum(self.rotor_torques(i, TRIAL, 1.0, 0.0) for i in self.which)
        self.gravity = at.model(trial).gravity_torque(at.q)
        self.used: dict[int, Array] = {}
        self.known = _MotorArrays(self.motors)
        self.ratings: dict[float, tuple[Array, Array]] = {}  # of every motor, by the ratio of the gear

    def _columns(self, trial: Arm) -> None:
        """Compute the effect of every open rotor on all torques, by J k, J and m, and by m at rest: (4, N, n)."""
        at, n, N = self.at, trial.n, len(self.at.t)
        self.effects = {i: np.zeros((4, N, n)) for i in self.which}
        bodies, place = trial.mechanism.tree.bodies, trial.mechanism.actuated  # passive joints have no drives
        for start in range(0, N, CHUNK):
            part = slice(start, start + CHUNK)
            still = np.zeros_like(at.q[part])
            Y = trial.regressor(at.q[part], at.qd[part], at.qdd[part])
            Y_still = trial.regressor(at.q[part], still, still)
            for i in self.which:
                body, (by_spin, by_inertia, by_mass, gravity_by_mass) = bodies[place[i]], self.effects[i][:, part]
                by_spin[:] = Y[:, :, place[i] * WIDTH + len(INERTIAL)]
                if body.parent >= 0:
                    link = slice(body.parent * WIDTH, body.parent * WIDTH + len(INERTIAL))
                    if not body.reflected:  # of a massless rotor of 1 kg m² about its axis: z zᵀ
                        axis = np.array(body.rotor_axis, float)
                        by_inertia[:] = Y[:, :, link] @ np.append(np.zeros(4), np.outer(axis, axis)[np.triu_indices(3)])
                    kilogram = point_masses(np.ones(()), np.array(body.rotor_position, float))
                    by_mass[:] = Y[:, :, link] @ kilogram
                    gravity_by_mass[:] = Y_still[:, :, link] @ kilogram
        self.carrier = {i: self.effects[i][0, :, i] - at.qdd[:, i] for i in self.which}  # ω̇_{i−1}·z_m

    def rotor_torques(self, i: int, J: float, k: float, m: float) -> Array:
        """Contribution of a rotor at joint i to all torques: (N, n), without friction."""
        by_spin, by_inertia, by_mass, _ = self.effects[i]
        out = J * k * by_spin + J * by_inertia + m * by_mass
        out[:, i] = J * k * (k * self.at.qdd[:, i] + self.carrier[i])
        return out

    def parts_of(self, i: int, choice: tuple[Motor, Gear | None]) -> tuple[float, float, float]:
        """J, k and m of a choice for joint i."""
        rotor = of_rotor(*choice)
        return rotor["inertia"], rotor["gear"] * self._sign(i, choice[1]), rotor["mass"]

    def _sign(self, i: int, gear: Gear | None) -> float:
        """The direction in which the joint's own gear rotates."""
        own = self.arm.robot.moving_joints[i].rotor
        return -1.0 if own is not None and own.gear < 0 and (gear is None or gear.ratio > 0) else 1.0

    def load(self, i: int, fitted: Fitted) -> tuple[Array, Array]:
        """Torque at the output of joint i's gear and its part due to gravity, with all other rotors in place, (N,)."""
        tau, gravity = self.rest[:, i].copy(), self.gravity[:, i].copy()
        for j, choice in fitted.items():
            if j != i:
                J, k, m = self.parts_of(j, choice)
                tau += self.rotor_torques(j, J, k, m)[:, i]
                gravity += m * self.effects[j][3, :, i]
        return tau, gravity

    def _gears_for(self, joint: Joint) -> Sequence[Gear | None]:
        """The candidate gears of a joint: those of the catalogue, or its own."""
        if self.gears is None:
            own = joint.gear is not None or joint.rotor is None
            return (joint.gear if own else Gear("own", ratio=joint.rotor.gear),)  # type: ignore[union-attr]
        gears, remedy = self.gears, "they have a lead, for prismatic joints; add some without"
        if joint.type == "prismatic":
            lead = joint.gear.lead if joint.gear is not None else None
            gears = tuple(replace(gear, lead=lead if gear.lead is None else gear.lead) for gear in gears)
            remedy = (
                "a prismatic joint needs the lead of its screw: give lead = '10 mm' in its [joint.gear] or a column "
                "'lead [mm]' in the catalogue, or omit the joint from 'joints'"
            )
        gears = tuple(gear for gear in gears if (gear.lead is None) == (joint.type != "prismatic"))
        if not gears:
            raise DalembertError(f"no gear of the catalogue fits joint '{joint.name}': {remedy}")
        return gears

    def cost(self, motor: Motor | None, gear: Gear | None) -> float:
        """Cost by the criterion."""
        return sum(float(getattr(part, self.criterion) or 0.0) for part in (motor, gear) if part is not None)

    def best(self, i: int, fitted: Fitted) -> tuple[Motor, Gear | None]:
        """The smallest combination that passes every check at joint i."""
        load, gravity = self.load(i, fitted)
        gears = self.candidates[i]
        self.ratings = {}
        used = np.stack([self._quick(i, gear, load, gravity) for gear in gears])  # (gears, motors)
        allowed = 1.0 - self.rules.margin
        costs = np.add.outer([self.cost(None, x) for x in gears], [self.cost(x, None) for x in self.motors])
        self.used[i] = used
        for place in np.lexsort((used.ravel(), costs.ravel())):
            g, m = divmod(int(place), len(self.motors))
            if used[g, m] > allowed:
                continue
            worst = self._worst(self.judge(i, self.motors[m], gears[g], load, gravity))
            used[g, m] = max(used[g, m], worst)
            if worst <= allowed:
                return self.motors[m], gears[g]
        g, m = divmod(int(np.argmin(used)), len(self.motors))
        drive = self.judge(i, self.motors[m], gears[g], load, gravity)
        remedy = "add larger ones, or slow the motion down"
        if gears == (None,):
            remedy = "the joint has no gear: give a catalogue of gears, or [joint.gear] in its file"
        raise DalembertError(
            f"no motor and gear of the catalogues can drive joint '{self.arm.joint_names[i]}': the nearest of "
            f"{used.size} combinations is {_label(self.motors[m], gears[g])}, which fails because of its "
            f"{self._why(drive)}; {remedy}"
        )

    def _quick(self, i: int, gear: Gear | None, load: Array, gravity: Array) -> Array:
        """Largest utilisation of every motor with this gear, by the cheapest checks: (motors,)."""
        at, w = self.at, self.weights
        qd, qdd = at.qd[:, i], at.qdd[:, i]
        gear = self._signed(i, gear)
        k, own = (gear or Gear()).reduction, (gear or Gear()).inertia
        speed = k * qd
        J = self.known.inertia + own
        friction = rotor_friction(self.arm.robot.moving_joints[i].rotor, speed)
        torque = J[:, None] * (k * qdd + self.carrier[i]) + (through_gear(gear, load, qd) + friction)
        rms, n_av, top = np.sqrt(torque**2 @ w / w.sum()), mean_speed(w, speed), float(np.abs(speed).max())
        np.abs(torque, out=torque)
        if abs(k) not in self.ratings:  # the speeds of gears with the same ratio are the same
            self.ratings[abs(k)] = self.known.one_over_peak(speed), self.known.continuous_at(n_av)
        one_over_peak, continuous = self.ratings[abs(k)]
        hold = self.rules.brake_factor * float(np.abs(gravity).max()) / abs(k)
        shares = [
            (torque * one_over_peak).max(axis=1),
            _shares(rms, continuous),
            top / self.known.top_speed,
            torque.max(axis=1) / self.known.max_current_torque,
            hold / self.known.brake_torque,
        ]
        if self.rules.inertia_ratio is not None:
            most = (max(float(self.inertia[:, i].max()), 0.0) / k**2 + own) / self.rules.inertia_ratio
            shares.append(_shares(np.full(len(J), most * (1.0 - self.rules.margin)), self.known.inertia))
        used = np.max(shares, axis=0)
        if gear is not None:
            trial = self.judge(i, None, gear, load, gravity)
            used = np.maximum(used, max((check.used for check in trial.checks), default=0.0))
        return used

    def _signed(self, i: int, gear: Gear | None) -> Gear | None:
        return gear if gear is None or self._sign(i, gear) > 0 else replace(gear, ratio=-gear.ratio)

    def judge(self, i: int, motor: Motor | None, gear: Gear | None, load: Array, gravity: Array) -> DriveSizing:
        """Every check of one combination, as in ``da.size``."""
        at, signed = self.at, self._signed(i, gear)
        joint, qd = self.arm.robot.moving_joints[i], at.qd[:, i]
        of_joint = JointLoad(
            joint.name, at.t, load, qd, at.qdd[:, i], self.carrier[i],
            load_inertia=np.maximum(self.inertia[:, i], 0.0), gravity=gravity, bearings=tuple(np.abs(x[:, i]) for x in self.bearings), slides=joint.type == "prismatic",
        )  # fmt: skip
        friction = rotor_friction(joint.rotor, (signed or Gear()).reduction * qd)
        return judged(of_joint, motor, signed, friction, self.rules)

    def _worst(self, drive: DriveSizing) -> float:
        """Largest utilisation, including that of the inertia ratio if one is required."""
        shares = [check.used for check in drive.checks]
        if self.rules.inertia_ratio is not None:
            shares.append(drive.inertia_ratio[1] / self.rules.inertia_ratio * (1.0 - self.rules.margin))
        return max(shares, default=0.0)

    def _why(self, drive: DriveSizing) -> str:
        limit, most = self.rules.inertia_ratio, drive.inertia_ratio[1]
        if limit is not None and most > limit and most / limit * (1.0 - self.rules.margin) >= 1.0 - drive.margin:
            return f"inertia ratio {most:.4g} of {limit:.4g}"
        return drive.verdict

    def update(self, fitted: Fitted) -> None:
        """Update bearing loads and inertias for the drives that are now in place; torques need no update."""
        parts = {i: self.parts_of(i, choice) for i, choice in fitted.items()}
        self._loaded(Arm(self.robot_with(fitted)), {i: k * k * J for i, (J, k, _) in parts.items()})

    def _loaded(self, arm: Arm, own: dict[int, float]) -> Array:
        """Torques of an arm; sets bearing loads, and the inertias of the loads, without those of the rotors themselves."""
        tau, f, mu = loads(arm, self.at, self.tip_wrench)
        self.bearings = bearing_parts(arm, f, mu)
        B = self.at.model(arm).inertia_matrix(self.at.q)
        self.inertia = np.diagonal(B, axis1=1, axis2=2) - [own.get(i, 0.0) for i in range(arm.n)]
        return tau

    def robot_with(self, fitted: Fitted) -> Robot:
        """The robot with these drives; its rotors keep their places and their friction."""
        changes: dict[int, dict[str, Any]] = {}
        for i, (motor, gear) in fitted.items():
            rotor, sign = self.arm.robot.moving_joints[i].rotor, self._sign(i, gear)
            ratio = sign if sign > 0 else -abs((gear or Gear()).reduction)
            rotor = replace(rotor, inertia=0.0, gear=ratio, mass=0.0) if rotor else None
            changes[i] = {"rotor": rotor, "motor": motor, "gear": gear}
        return self._with(changes)

    def _with(self, changes: dict[int, dict[str, Any]]) -> Robot:
        """The robot with other parts at some joints."""
        named = {self.arm.joint_names[i]: parts for i, parts in changes.items()}
        joints = tuple(replace(joint, **named.get(joint.name, {})) for joint in self.arm.robot.joints)
        return self.arm.robot.replace(joints=joints)

    def explained(self, i: int, fitted: Fitted) -> DriveChoice:
        """The choice for joint i, and why its smaller neighbours fail."""
        motor, gear = fitted[i]
        load, gravity = self.load(i, fitted)
        gears, cost = self.candidates[i], self.cost(motor, gear)
        used = self.used[i]
        # (cost, −utilisation, motor, gear) of all smaller combinations: of equal ones, the one that fails least
        pairs = [
            (self.cost(m, g), -float(used[y, x]), m, g)
            for y, g in enumerate(gears)
            for x, m in enumerate(self.motors)
            if self.cost(m, g) < cost
        ]
        smaller = {"the closest of all smaller combinations": sorted(pairs, key=lambda pair: -pair[1])}
        for words, place, part in (("motor with the same gear", 3, gear), ("gear with the same motor", 2, motor)):
            same = [pair for pair in pairs if pair[place] is part]
            smaller[f"the next smaller {words}"] = sorted(same, key=lambda pair: (-pair[0], -pair[1]))
        reasons: dict[str, str] = {}
        for words, parts in ((words, some[0][2:]) for words, some in smaller.items() if some):
            if (label := _label(*parts)) not in reasons:
                reasons[label] = f"{words}, {label}, fails: {self._why(self.judge(i, *parts, load, gravity))}"
        if not pairs:
            reasons[""] = "no combination of the catalogues is smaller"
        possible = int((used <= 1.0 - self.rules.margin).sum())
        return DriveChoice(self.arm.joint_names[i], motor, gear, cost, used.size, possible, tuple(reasons.values()))


def _shares(need: Array, have: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(have > 0, need / have, np.inf)


def _label(motor: Motor, gear: Gear | None) -> str:
    return f"{motor.name} with {gear.name}" if gear is not None and gear.name else motor.name
