"""The three motions of S Example 7.2 on the two-link arm and their torques; also Problem 7.7."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arm import Arm
from dalembert.arm.terms import TorqueTerms
from dalembert.base.arrays import Array
from dalembert.base.environment.cached_property import cached_property
from dalembert.base.environment.short_repr import record
from dalembert.robot.readers.load import load_robot
from dalembert.work.trajectory.kinematics.inverse_kinematics import configuration_at
from dalembert.work.trajectory.planning.cartesian import line
from dalembert.work.trajectory.planning.motion_checks import check_choice, finite
from dalembert.work.trajectory.planning.profiles import trapezoidal, triangular
from dalembert.work.trajectory.planning.trajectory import Trajectory

Motion = Literal["equal-duration", "different-duration", "straight-line"]

MOTIONS: tuple[Motion, ...] = get_args(Motion)
FIGURES = {"equal-duration": "7.5, 7.6", "different-duration": "7.7, 7.8", "straight-line": "7.9–7.11"}
ABOUT: dict[str, str] = {
    "equal-duration": "Both joints rotate by π/2 in 0.5 s with triangular velocities; the tip starts at (0.2, 0) m.",
    "different-duration": "Both joints, at up to 5 rad/s after 0.15 s of acceleration, take the tip from (0.2, 0) m to "
    "(1.8, 0) m, each in its own time.",
    "straight-line": "The tip moves from (0.2, 0) m to (1.8, 0) m along a straight line, at up to 5 m/s after 0.15 s "
    "of acceleration.",
}

START = (0.2, 0.0)  # m: initial tip position, with a lower elbow
END = (1.8, 0.0)  # m: final tip position of the second and third motions
TURN = np.pi / 2  # rad: rotation of both joints in the first motion
DURATION = 0.5  # s, of the first motion
ACCELERATION_TIME = 0.15  # s
MAX_VELOCITY = 5.0  # rad/s, and m/s on the straight line
PROBLEM_7_7 = (500.0, 500.0)  # N: the tip force of Problem 7.7


@record
class Example:
    """One motion of the example: the arm, the trajectory, and the torques at its sample times."""

    arm: Arm
    trajectory: Trajectory
    tip_wrench: Array  # (6,), exerted by the tip on the environment

    @cached_property
    def tau(self) -> Array:
        """Joint torques in N m, shape (N, 2)."""
        motion = self.trajectory
        return self.arm.inverse_dynamics(motion.q, motion.qd, motion.qdd, self.tip_wrench)

    @cached_property
    def terms(self) -> TorqueTerms:
        """The individual contributions of Figs. 7.6, 7.8 and 7.11; S's inertia torques are ``inertia + rotor``."""
        motion = self.trajectory
        return self.arm.torque_terms(motion.q, motion.qd, motion.qdd, self.tip_wrench)


def example_7_2(motion: Motion, tip_force: ArrayLike = (0.0, 0.0), arm: Arm | None = None) -> Example:
    """One of the three motions of S Example 7.2.

    motion     "equal-duration": both joints rotate by π/2 in 0.5 s, triangular velocities (Figs. 7.5, 7.6);
               "different-duration": to the tip position (1.8, 0) m, trapezoidal velocities of 5 rad/s after 0.15 s
               (Figs. 7.7, 7.8); "straight-line": the tip moves 1.6 m to (1.8, 0) m, trapezoidal velocity
               of 5 m/s after 0.15 s (Figs. 7.9–7.11)
    tip_force  (f_x, f_y) in N, exerted by the tip; PROBLEM_7_7 is S's (500, 500)
    arm        another two-link arm to use instead of S's

    >>> round(example_7_2("different-duration").trajectory.duration, 4)
    0.5578
    >>> example_7_2("equal-duration", tip_force=PROBLEM_7_7).terms.contact[0].round(2)
    array([ 100.  , -447.49])
    """
    check_choice("the motion of Example 7.2", motion, MOTIONS)
    arm = arm or Arm(load_robot("planar-2r"))
    force = finite("tip_force", tip_force, (2,), ": f_x and f_y")
    q0 = configuration_at(arm, START, "lower-elbow")
    speed: dict[str, Any] = {"acceleration_time": ACCELERATION_TIME, "max_velocity": MAX_VELOCITY}
    if motion == "equal-duration":
        trajectory = triangular(q0, q0 + TURN, duration=DURATION)
    elif motion == "different-duration":
        trajectory = trapezoidal(q0, configuration_at(arm, END, "lower-elbow"), **speed)
    else:
        trajectory = line(arm, START, END, q0=q0, **speed)
    return Example(arm, trajectory, np.array([*force, 0.0, 0.0, 0.0, 0.0]))


def titled_motions(arm: Arm | None = None) -> list[tuple[str, str, Trajectory]]:
    """The three motions for ``arm``, each with a title and a one-sentence description.

    >>> [title for title, _, _ in titled_motions()]
    ['Equal duration', 'Different duration', 'Straight line']
    """
    titles = {name: name.replace("-", " ").capitalize() for name in MOTIONS}
    notes = {name: f"{ABOUT[name]} S Figs {FIGURES[name]}." for name in MOTIONS}
    return [(titles[name], notes[name], example_7_2(name, arm=arm).trajectory) for name in MOTIONS]
