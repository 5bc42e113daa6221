"""``dalembert torques``: the torques of a motion file, as a file and a short summary."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import dalembert as da
from dalembert.base.environment.progress import Bar
from dalembert.base.options import option
from dalembert.base.wording import some
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, AtTip, Loading, MotionFile, Reading
from dalembert.views.cli.terminal import number, plain, print_table, say, tell

if TYPE_CHECKING:
    from dalembert.work.trajectory.planning.motion_file import Array, MotionTable
    from dalembert.work.trajectory.timing.scaling import ScalingTable

EXAMPLES = ("7.2",)
CHUNK = 1 << 15  # instants computed at a time, so that Ctrl-C and the progress bar work


def torques(
    arm: ArmArgument,
    motion: MotionFile,
    *,
    output: str = options.written_to("OUT.csv", "torques"),
    force: bool = options.overwriting("OUT.csv"),
    check_limits: bool = options.common("check_limits"),
    scaling: str | None = option(
        "Show the peak torques with time stretched by these factors, and the factor that just keeps the limits.",
        metavar='"c1 c2 …"',
    ),
    reading: Reading,
    load: AtTip,
    loading: Loading,
) -> None:
    """Compute the joint torques of a motion (inverse dynamics).

    MOTION.csv has a header and the columns t (s), q1 … qn (rad; m for prismatic joints), qd1 … qdn (rad/s; m/s) and
    qdd1 … qddn (rad/s²; m/s²), in any order; other separators, and units in the header such as q1 [deg], are
    recognised.

    A payload (columns payload in kg, payload_x … payload_z in m) and a wrench at the tip (fx … fz, mx … mz) may change
    along the motion: each value applies from its own row on.

    OUT.csv gets t (s), tau1 … taun (N m; N for prismatic joints), and the payload and wrench columns of MOTION.csv. A
    summary goes to stderr.
    """
    wrench = load.wrench
    if scaling is not None and wrench is not None:
        raise DalembertError("--scaling does not support a force at the tip: leave out --tip-wrench, or --scaling")
    loaded = options.load(arm, loading, load)
    if check_limits:
        need_effort_limits(loaded)
    from dalembert.work.trajectory.planning.limits import excesses
    from dalembert.work.trajectory.planning.motion_file import carried_columns, trajectory_of

    table, _ = read(loaded, motion, reading, strict=scaling is not None)
    stretched = None
    if scaling is not None:
        factors = options.list_of("--scaling", scaling)
        stretched = trajectory_of(motion, table).scaling_table(loaded, factors)
    tau = _torques(loaded, table, wrench)
    carried = carried_columns(table.payload, table.wrench)
    names = ["t", *(f"tau{k + 1}" for k in range(loaded.n)), *carried]
    write(output, names, (table.t, tau, *carried.values()), force=force)
    _summary(loaded, table.t, tau, output)
    if stretched is not None:
        show_scaling(stretched)
    quantities = {"position": table.q, "velocity": table.qd, "acceleration": table.qdd, "torque": tau}
    beyond = [str(excess) for excess in excesses(loaded, table.t, quantities)]
    say("error" if check_limits else "warning", *beyond)
    if check_limits and beyond:
        raise typer.Exit(options.LIMIT_EXCEEDED)


def trajectory(arm: da.Arm, path: Path, reading: Reading) -> da.Trajectory:
    """The motion in a file; notes and warnings go to stderr."""
    from dalembert.work.trajectory.planning.motion_file import trajectory_of

    return trajectory_of(path, read(arm, path, reading, strict=True)[0])


def motion_rows(arm: da.Arm, q: Array, peaks: Mapping[str, Array]) -> list[list[str]]:
    """A row for each joint: its first, lowest, highest and last position, and the peaks of other quantities (N, n)."""
    from dalembert.work.sizing.sizing import joint_units

    units, rows = joint_units(arm), []
    for i, name in enumerate(arm.joint_names):
        values = [("position", x) for x in (q[0, i], q[:, i].min(), q[:, i].max(), q[-1, i])]
        values += [(kind, abs(x[:, i]).max()) for kind, x in peaks.items()]
        rows.append([plain(name), *(number(float(x), units[kind][i]) for kind, x in values)])
    return rows


def show_scaling(table: ScalingTable) -> None:
    """The effect of stretching the time of the motion on its torques, S 7.7, on stderr."""
    first, *others = table.columns
    rows = [[plain(cell) for cell in row] for row in table.rows]
    print_table([first, *(f">{heading}" for heading in others)], rows, "time stretched by a factor c", stderr=True)
    tell(plain(table.note), stderr=True)


def read(arm: da.Arm, path: Path, reading: Reading, *, strict: bool = False) -> tuple[MotionTable, list[str]]:
    """The motion in a file, and how it was read; notes and warnings go to stderr. ``strict`` as for ``read_motion``."""
    from dalembert.work.trajectory.planning.events import events_of
    from dalembert.work.trajectory.planning.motion_file import read_motion

    with Bar(f"reading {path.name}") as bar:
        table = read_motion(path, arm, bar, strict=strict, **reading.choices)
    how = list(table.notes)
    if table.reconstructed:
        source = "qd" if table.reconstructed == ("qdd",) else "q"
        how.append(
            f"{path}: {' and '.join(table.reconstructed)} are not in the file and were computed from {source}, "
            f"by a {'quintic spline' if table.spline else 'monotone curve'} without phase shift"
        )
    say("note", *how)
    say("warning", *table.doubts, *table.findings)
    if not arm.robot.mass:
        say("warning", f"arm '{arm.name}' has no masses, so its links cause no torque: give them masses or shapes")
    if carried := events_of(table.t, table.payload, table.wrench):
        say("note", f"{path}: the motion carries a {some(list(map(str, carried)), 3, '; a ')}")
    if table.ignored:
        say("note", f"{path}: the columns {', '.join(table.ignored)} are not needed and were ignored")
    return table, [sentence.removeprefix(f"{path}: ") for sentence in how]


def motions_of(
    arm: da.Arm, paths: Sequence[Path] | None, example: str | None, reading: Reading, *, needed: str = ""
) -> list[tuple[str, str, Any]]:
    """The motions of files, or those of an example: the name, a note on how it was read, and the motion.

    needed  why there must be a motion; those of files are then their instants, which the note counts
    """
    from dalembert.work.trajectory.planning.motion_file import trajectory_of

    if example is not None and paths:
        raise options.exclude(f"--example {example}", str(paths[0]))
    if needed and not paths and example is None:
        raise DalembertError(f"{needed}: give MOTION.csv, or --example 7.2 for the motions of the book's example")
    if example is not None:
        return example_motions(arm, example)
    titled = []
    for path in paths or ():
        table, how = read(arm, path, reading, strict=not needed)
        counted = f": {len(table.t):,} instants, t = {table.t[0]:g} … {table.t[-1]:g} s" if needed else ""
        note = ". ".join([f"Read from {path.name}{counted}", *how, ""]).strip()
        titled.append((path.stem, note, table if needed else trajectory_of(path, table)))
    return titled


def example_motions(arm: da.Arm, example: str | None) -> list[tuple[str, str, Any]]:
    """The motions of an example: title, a sentence about it, the motion."""
    if example not in EXAMPLES:
        raise DalembertError(f"there is no example '{example}'; the examples are {', '.join(EXAMPLES)}")
    if arm.n != 2:
        raise DalembertError(f"Example 7.2 needs a two-link arm like planar-2r, but '{arm.name}' has {arm.n} joints")
    from dalembert.work.trajectory.planning.example_7_2 import titled_motions

    return titled_motions(arm)


def write(output: str, names: Sequence[str], columns: Sequence[Array], *, force: bool) -> None:
    """Write named columns to a file, in the format of its suffix, or to the screen ("-")."""
    from dalembert.work.trajectory.planning import motion_tables as tables

    if output == "-":
        tables.to_screen(names, columns)
    else:
        with Bar(f"writing {Path(output).name}") as bar:
            tables.write(output, names, columns, overwrite=force, progress=bar)


def _torques(arm: da.Arm, motion: MotionTable, tip_wrench: tuple[float, ...] | None) -> Array:
    """τ of the whole motion."""
    import numpy as np

    from dalembert.work.sizing.motion_samples import MotionSamples
    from dalembert.work.trajectory.planning.motion_checks import check_finite

    tau = np.empty(motion.q.shape)
    whole = MotionSamples(motion.t, motion.q, motion.qd, motion.qdd, None, motion.payload, motion.wrench)
    with Bar("computing") as bar, np.errstate(all="ignore"):
        for start in range(0, len(tau), CHUNK):
            part = slice(start, start + CHUNK)
            at = whole.rows(part)
            at.model(arm).inverse_dynamics(at.q, at.qd, at.qdd, at.push(tip_wrench), out=tau[part])
            bar(min(1.0, (start + CHUNK) / len(tau)))
    check_finite(arm, motion.t, tau)
    return tau


def need_effort_limits(arm: da.Arm, remedy: str = "") -> None:
    """Raise an error that lists the joints without an effort limit, if there are any."""
    from dalembert.work.sizing.sizing import without_effort_limit

    if without := without_effort_limit(arm):
        raise DalembertError(
            f"--check-limits needs effort limits, but robot '{arm.name}' has no limits at "
            f"{'joint' if len(without) == 1 else 'joints'} {', '.join(without)}{remedy}"
        )


def _summary(arm: da.Arm, t: Array, tau: Array, output: str) -> None:
    """A table on stderr: peak torque and margin of each joint, in red where a limit is exceeded."""
    from rich.text import Text

    from dalembert.work.sizing.sizing import demand, joint_units
    from dalembert.work.trajectory.planning.limits import ROUNDING, limits_of

    torque = demand(t, "torque", joint_units(arm)["torque"], tau, limits_of(arm, "effort"))
    rows = []
    for i, joint in enumerate(arm.robot.moving_joints):
        unit, exceeded = torque.units[i], torque.used[i] > 1 + ROUNDING
        sizes = ((torque.peak[i], unit), (torque.at[i], "s"), (torque.rms[i], unit), (joint.limits.effort, unit))
        left = "exceeded" if exceeded else "–" if math.isnan(torque.margin[i]) else f"{100 * torque.margin[i]:.0f} %"
        cells = [plain(joint.name), *(number(*size) for size in sizes), left]
        rows.append([Text(cell, "red" if exceeded else "") for cell in cells])
    where = "" if output == "-" else f" → {plain(output)}"
    instants = f"{len(t):,} {'instants' if len(t) > 1 else 'instant'}, t = {t[0]:g} … {t[-1]:g} s"
    columns = ["joint", ">peak |τ|", ">at t", ">RMS", ">limit", ">left"]
    print_table(columns, rows, f"{plain(arm.name)}: torques at {instants}{where}", stderr=True)
