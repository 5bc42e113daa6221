"""``dalembert torques``: a motion file in, a torque file and a short summary out."""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import Literal, cast

import numpy as np
from rich.text import Text

from dalembert import Arm
from dalembert import load as load_arm
from dalembert.cli.terminal import Bar, console, number, plain, print_table, say
from dalembert.errors import DalembertError
from dalembert.files import check_writable, whole_file
from dalembert.robot import Joint
from dalembert.trajectory.csv_file import CHUNK, Array, MotionTable, read_motion, write_table


def load(arm: str, physical: str, tip: str | None) -> Arm:
    """The arm, with its warnings as sentences on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = load_arm(arm, physical=cast(Literal["error", "warn"], physical), tip=tip)
    for warning in caught:
        say("warning", str(warning.message))
    return loaded


def numbers_of(option: str, text: str | None, names: str) -> tuple[float, ...] | None:
    """The numbers in an option's value, as many as there are ``names``."""
    if text is None:
        return None
    words = text.replace(",", " ").split()
    wanted = len(names.split())
    if len(words) != wanted:
        raise DalembertError(f'{option} needs {wanted} numbers, "{names}", and has {len(words)}: "{text}"')
    try:
        values = tuple(map(float, words))
    except ValueError as error:
        raise DalembertError(f'{option} "{text}": {str(error).partition(": ")[2]} is not a number') from None
    if not all(map(math.isfinite, values)):
        raise DalembertError(f'{option} "{text}": every number must be finite')
    return values


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
        motion = read_motion(motion_file, arm.n, arm.name, bar)
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
    bad = np.argwhere(~np.isfinite(tau))
    if len(bad):
        row, joint = bad[0]
        raise DalembertError(
            f"the torque of joint '{arm.joint_names[joint]}' at t = {motion.t[row]:g} s is not a finite number; "
            "the motion has values far too large there"
        )
    return tau


def need_effort_limits(arm: Arm) -> None:
    """Every joint must have an effort limit, or a sentence says which have none."""
    without = [joint.name for joint in arm.robot.moving_joints if joint.limits.effort is None]
    if without:
        raise DalembertError(
            f"--check-limits needs effort limits, and robot '{arm.name}' has limits missing at "
            f"{'joint' if len(without) == 1 else 'joints'} {', '.join(without)}"
        )


def peaks(t: Array, tau: Array) -> list[tuple[float, float, float]]:
    """For each joint the largest |τ|, when it is first reached, and the root mean square over time."""
    at = np.argmax(np.abs(tau), axis=0)
    duration = t[-1] - t[0]
    # each instant stands for the half steps beside it (one share each where no time passes)
    share = np.diff(t, prepend=t[0]) + np.diff(t, append=t[-1])
    square = share @ tau**2 / (2 * duration) if duration > 0 else np.mean(tau**2, axis=0)
    return [(abs(float(tau[k, i])), float(t[k]), float(np.sqrt(square[i]))) for i, k in enumerate(at)]


def unit_of(joint: Joint) -> str:
    """The unit of a joint's effort."""
    return "N" if joint.type == "prismatic" else "N m"


def summary(arm: Arm, t: Array, tau: Array, output: str) -> None:
    """A table on stderr: what each joint needs, and how much of its limit is left."""
    rows: list[list[str] | list[Text]] = []
    for joint, (peak, when, rms) in zip(arm.robot.moving_joints, peaks(t, tau), strict=True):
        unit, limit = unit_of(joint), joint.limits.effort
        row = [plain(joint.name), number(peak, unit), number(when, "s"), number(rms, unit), number(limit, unit)]
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
