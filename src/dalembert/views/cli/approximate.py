"""``dalembert approximate``: the terms that can be omitted along a motion, and the approximate model itself."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext

from dalembert.base.environment.progress import Bar
from dalembert.base.files import whole_file
from dalembert.base.options import option
from dalembert.base.text_tables import csv_text
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, AtTip, Loading, MotionArgument, Reading
from dalembert.views.cli.terminal import plain, print_table, say, tell
from dalembert.views.cli.torques import motions_of


def approximate(
    arm: ArmArgument,
    *,
    motion: MotionArgument = None,
    example: str | None = options.common("example"),
    drop: str = option(
        "Terms to omit: coriolis, centrifugal, off-diagonal, rotor-coupling, rotational, translational.",
        "",
        metavar='"NAME …"',
    ),
    small: float | None = option(
        "Also omit the least important parameters, up to this share of every RMS torque: 0.01.", metavar="SHARE"
    ),
    output: str | None = option(
        "Write the table, one line per omission and joint; '-' is the screen.",
        spelled="--output -o",
        metavar="OUT.csv",
        writes=(".csv", ".txt"),
    ),
    save: str | None = option(
        "Write the approximate model that results from --drop and --small.", metavar="MODEL.toml", writes=options.ROBOTS
    ),
    plot: str | None = options.plotting("Write a figure"),
    force: bool = options.overwriting(),
    reading: Reading,
    load: AtTip,
    loading: Loading,
) -> None:
    """Show which terms can be neglected along a motion: the error of each omission, and the operations that it saves.

    The columns of the joints give the RMS of the omitted torque as a share of the RMS torque; the operations are those
    of the compiled inverse and direct dynamics. MOTION.csv is read as by 'dalembert torques'.
    """
    names = tuple(filter(None, re.split(r"[\s,+]+", drop)))
    paths = None if motion is None else [motion]
    if save is not None and not names and small is None:
        raise DalembertError(f"--save {save} writes an approximate model; choose what it omits by --drop or --small")
    if small is not None and example is not None:
        raise DalembertError("--small needs one motion: give MOTION.csv")
    wrench, loaded = load.wrench, options.load(arm, loading, load)
    less = loaded.approximate(names)  # names are checked before the motion is read
    titled = motions_of(loaded, paths, example, reading, needed="errors are computed along a motion")
    motions = [(title, moving) for title, _, moving in titled]
    from dalembert.work.analysis.negligible_terms import DROPS, omissions

    if small is not None:
        less = loaded.approximate(names, small=small, motion=motions[0][1])
        say("note", *less.robot.notes[len(loaded.robot.notes) :])
    omitted = (*less.omitted, *["small parameters"] * (small is not None))
    further = {omitted: less} if omitted and omitted not in DROPS else {}
    with Bar(f"approximations of {loaded.name}") as bar:
        studies = [(title, omissions(loaded, moving, wrench, further, bar)) for title, moving in motions]
    for title, study in studies:
        for k, ((first, *headings), rows) in enumerate(study.tables()):
            name = "" if k else f"{plain(loaded.name)}, {plain(title)}: terms that can be neglected"
            print_table([first, *(f">{x}" for x in headings)], rows, name, stderr=output == "-")
            tell("", stderr=output == "-")
    if save is not None:
        less.save(save)
        tell(f"the approximate model is in {plain(save)}", stderr=True)
    if output is not None:
        lines = [{"motion": title, **row} for title, study in studies for row in study.table()]
        with nullcontext(sys.stdout) if output == "-" else whole_file(output, overwrite=force) as file:
            file.write(csv_text(lines))
    if plot is not None:
        from dalembert.views.report.figures import omission_figure

        options.save_plot(omission_figure(dict(studies)), plot, force=force)
