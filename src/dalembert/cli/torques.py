"""``dalembert torques``: a motion file in, a torque file and a short summary out."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import dalembert as da
from dalembert.cli.options import (
    LIMIT_EXCEEDED,
    ArmArgument,
    MotionHelp,
    PayloadComOption,
    PayloadOption,
    Physical,
    PhysicalOption,
    TipOption,
    WrenchOption,
    load,
    overwriting,
    payload_com_of,
    wrench_of,
)
from dalembert.cli.terminal import Bar, console, number, plain, print_table, say
from dalembert.errors import DalembertError
from dalembert.files import check_writable, whole_file

if TYPE_CHECKING:
    from rich.text import Text

    from dalembert.trajectory.csv_file import Array, MotionTable

CHUNK = 1 << 15  # instants computed at a time, so that Ctrl-C and the bar work


def torques(
    arm: ArmArgument,
    motion: Annotated[Path, typer.Argument(metavar="MOTION.csv", help=MotionHelp, show_default=False)],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT.csv", help="Where to write the torques; '-' is the screen.")
    ] = "-",
    force: Annotated[bool, overwriting("OUT.csv")] = False,
    check_limits: Annotated[
        bool, typer.Option("--check-limits", help="Exit with status 3 when a joint needs more than its effort limit.")
    ] = False,
    tip_wrench: WrenchOption = None,
    payload: PayloadOption = None,
    payload_com: PayloadComOption = None,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Compute the joint torques of a motion (inverse dynamics).

    MOTION.csv has a header and the columns t (s), q1 … qn (rad; m for sliding joints), qd1 … qdn (rad/s; m/s)
    and qdd1 … qddn (rad/s²; m/s²), in any order; other separators and units in the header, such as q1 [deg], are heeded.

    OUT.csv gets t (s) and tau1 … taun (N m; N for sliding joints). A summary goes to stderr.
    """
    from dalembert.trajectory.csv_file import read_motion, write_table

    wrench = wrench_of(tip_wrench)
    loaded = load(arm, physical, tip, payload, payload_com_of(payload_com, payload))
    if check_limits:
        need_effort_limits(loaded)
    if output != "-":
        for read in (motion, Path(arm)):
            if read.exists() and Path(output).exists() and read.samefile(output):
                raise DalembertError(f"{output}: the torques would overwrite the file they are made from; name another")
        check_writable(output, overwrite=force)
    with Bar(f"reading {motion.name}") as bar:
        table = read_motion(motion, loaded, bar)
    for note in table.notes:
        say("note", note)
    if table.ignored:
        say("note", f"{motion}: the columns {', '.join(table.ignored)} are not needed and were ignored")
    if table.reconstructed:
        source = "qd" if table.reconstructed == ("qdd",) else "q"
        say(
            "note",
            f"{motion}: {' and '.join(table.reconstructed)} are not in the file and were made from {source}, "
            "by a quintic spline without phase shift",
        )
    tau = _torques(loaded, table, wrench)
    names = ("t", *(f"tau{k + 1}" for k in range(loaded.n)))
    if output == "-":
        write_table(sys.stdout, names, (table.t, tau))
        sys.stdout.flush()
    else:
        with whole_file(output, overwrite=force) as file, Bar(f"writing {Path(output).name}") as bar:
            write_table(file, names, (table.t, tau), bar)
    _summary(loaded, table.t, tau, output)
    if check_limits and _exceeded(loaded, table.t, tau):
        raise typer.Exit(LIMIT_EXCEEDED)


def _torques(arm: da.Arm, motion: MotionTable, tip_wrench: tuple[float, ...] | None) -> Array:
    """τ for the whole motion."""
    import numpy as np

    from dalembert.analysis.sizing import check_finite

    tau = np.empty(motion.q.shape)
    with Bar("computing") as bar, np.errstate(all="ignore"):
        for start in range(0, len(tau), CHUNK):
            part = slice(start, start + CHUNK)
            arm.inverse_dynamics(motion.q[part], motion.qd[part], motion.qdd[part], tip_wrench, out=tau[part])
            bar(min(1.0, (start + CHUNK) / len(tau)))
    check_finite(arm, motion.t, tau)
    return tau


def need_effort_limits(arm: da.Arm, remedy: str = "") -> None:
    """Every joint must have an effort limit, or a sentence says which have none."""
    without = [joint.name for joint in arm.robot.moving_joints if joint.limits.effort is None]
    if without:
        raise DalembertError(
            f"--check-limits needs effort limits, and robot '{arm.name}' has limits missing at "
            f"{'joint' if len(without) == 1 else 'joints'} {', '.join(without)}{remedy}"
        )


def _peaks(t: Array, tau: Array) -> list[tuple[float, float, float]]:
    """For each joint the largest |τ|, when it is first reached, and the root mean square over time."""
    from dalembert.analysis.sizing import rms

    at, mean = abs(tau).argmax(axis=0), rms(t, tau)
    return [(abs(float(tau[k, i])), float(t[k]), float(mean[i])) for i, k in enumerate(at)]


def unit_of(joint: da.Joint) -> str:
    """The unit of a joint's effort."""
    return "N" if joint.type == "prismatic" else "N m"


def _summary(arm: da.Arm, t: Array, tau: Array, output: str) -> None:
    """A table on stderr: what each joint needs, and how much of its limit is left."""
    from rich.text import Text

    rows: list[list[str] | list[Text]] = []
    for joint, (peak, when, mean) in zip(arm.robot.moving_joints, _peaks(t, tau), strict=True):
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


def _exceeded(arm: da.Arm, t: Array, tau: Array) -> bool:
    """Whether a joint needs more than its effort limit; a sentence for each that does."""
    found = False
    for joint, (peak, when, _) in zip(arm.robot.moving_joints, _peaks(t, tau), strict=True):
        limit = joint.limits.effort
        if limit is not None and peak > limit:
            unit = unit_of(joint)
            say(
                "error",
                f"joint '{joint.name}' needs {number(peak, unit)} at t = {when:g} s, above its limit of {limit:g} {unit}",
            )
            found = True
    return found
