"""``dalembert torques``: a motion file in, a torque file and a short summary out."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
from rich.text import Text

from dalembert import Arm
from dalembert.analysis.sizing import check_finite, rms
from dalembert.cli.terminal import Bar, console, number, plain, print_table, say
from dalembert.errors import DalembertError
from dalembert.files import check_writable, whole_file
from dalembert.robot import Joint
from dalembert.trajectory.csv_file import CHUNK, Array, MotionTable, read_motion, write_table


def compute(
    arm: Arm,
    robot_file: str,
    motion_file: Path,
    output: str,
    *,
    force: bool,
    check_limits: bool,
    tip_wrench: tuple[float, ...] | None,
) -> bool:
    """Read, compute, write and sum up; False when limits were to be checked and one is exceeded."""
    if check_limits:
        need_effort_limits(arm)
    if output != "-":
        for read in (motion_file, Path(robot_file)):
            if read.exists() and Path(output).exists() and read.samefile(output):
                raise DalembertError(f"{output}: the torques would overwrite the file they are made from; name another")
        check_writable(output, overwrite=force)
    with Bar(f"reading {motion_file.name}") as bar:
        motion = read_motion(motion_file, arm, bar)
    for note in motion.notes:
        say("note", note)
    if motion.ignored:
        say("note", f"{motion_file}: the columns {', '.join(motion.ignored)} are not needed and were ignored")
    if motion.reconstructed:
        source = "qd" if motion.reconstructed == ("qdd",) else "q"
        say(
            "note",
            f"{motion_file}: {' and '.join(motion.reconstructed)} are not in the file and were made from {source}, "
            "by a quintic spline without phase shift",
        )
    tau = torques(arm, motion, tip_wrench)
    names = ("t", *(f"tau{k + 1}" for k in range(arm.n)))
    if output == "-":
        write_table(sys.stdout, names, (motion.t, tau))
        sys.stdout.flush()
    else:
        with whole_file(output, overwrite=force) as file, Bar(f"writing {Path(output).name}") as bar:
            write_table(file, names, (motion.t, tau), bar)
    summary(arm, motion.t, tau, output)
    return not check_limits or not exceeded(arm, motion.t, tau)


def torques(arm: Arm, motion: MotionTable, tip_wrench: tuple[float, ...] | None) -> Array:
    """τ for the whole motion, a chunk at a time so that Ctrl-C and the bar work."""
    tau = np.empty(motion.q.shape)
    with Bar("computing") as bar, np.errstate(all="ignore"):
        for start in range(0, len(tau), CHUNK):
            part = slice(start, start + CHUNK)
            arm.inverse_dynamics(motion.q[part], motion.qd[part], motion.qdd[part], tip_wrench, out=tau[part])
            bar(min(1.0, (start + CHUNK) / len(tau)))
    check_finite(arm, motion.t, tau)
    return tau


def need_effort_limits(arm: Arm, remedy: str = "") -> None:
    """Every joint must have an effort limit, or a sentence says which have none."""
    without = [joint.name for joint in arm.robot.moving_joints if joint.limits.effort is None]
    if without:
        raise DalembertError(
            f"--check-limits needs effort limits, and robot '{arm.name}' has limits missing at "
            f"{'joint' if len(without) == 1 else 'joints'} {', '.join(without)}{remedy}"
        )


def peaks(t: Array, tau: Array) -> list[tuple[float, float, float]]:
    """For each joint the largest |τ|, when it is first reached, and the root mean square over time."""
    at, mean = np.argmax(np.abs(tau), axis=0), rms(t, tau)
    return [(abs(float(tau[k, i])), float(t[k]), float(mean[i])) for i, k in enumerate(at)]


def unit_of(joint: Joint) -> str:
    """The unit of a joint's effort."""
    return "N" if joint.type == "prismatic" else "N m"


def summary(arm: Arm, t: Array, tau: Array, output: str) -> None:
    """A table on stderr: what each joint needs, and how much of its limit is left."""
    rows: list[list[str] | list[Text]] = []
    for joint, (peak, when, mean) in zip(arm.robot.moving_joints, peaks(t, tau), strict=True):
        unit, limit = unit_of(joint), joint.limits.effort
        row = [plain(joint.name), number(peak, unit), number(when, "s"), number(mean, unit), number(limit, unit)]
        if limit is not None and peak > limit:
            rows.append([Text(cell, "red") for cell in (*row, "exceeded")])
        else:
            rows.append([*row, "–" if limit is None or math.isinf(limit) else f"{100 * (1 - peak / limit):.0f} %"])
    where = "" if output == "-" else f" → {plain(output)}"
    print_table(
        console(stderr=True),
        f"{plain(arm.name)}: torques at {len(t):,} {'instants' if len(t) > 1 else 'instant'}, t = {t[0]:g} … {t[-1]:g} s{where}",
        ["joint", ">peak |τ|", ">at t", ">RMS", ">limit", ">left"],
        rows,
    )


def exceeded(arm: Arm, t: Array, tau: Array) -> bool:
    """Whether a joint needs more than its effort limit; a sentence for each that does."""
    found = False
    for joint, (peak, when, _) in zip(arm.robot.moving_joints, peaks(t, tau), strict=True):
        limit = joint.limits.effort
        if limit is not None and peak > limit:
            unit = unit_of(joint)
            say(
                "error",
                f"joint '{joint.name}' needs {number(peak, unit)} at t = {when:g} s, above its limit of {limit:g} {unit}",
            )
            found = True
    return found
