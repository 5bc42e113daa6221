"""``dalembert approximate``: the terms that can be omitted along a motion, and the approximate model itself."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from typing import Annotated, Any

from typer import Option

from dalembert.cli import options
from dalembert.cli.report import example_motions
from dalembert.cli.terminal import plain, print_table, say, tell
from dalembert.cli.torques import read
from dalembert.environment.progress import Bar
from dalembert.errors import DalembertError
from dalembert.files import check_writable, whole_file


def approximate(
    arm: options.ArmArgument,
    motion: options.MotionArgument = None,
    example: options.ExampleOption = None,
    drop: Annotated[
        str | None,
        Option(
            metavar='"NAME …"',
            help="Terms to omit: coriolis, centrifugal, off-diagonal, rotor-coupling, rotational, translational.",
        ),
    ] = None,
    small: Annotated[
        float | None,
        Option(
            metavar="SHARE",
            help="Also omit the least important parameters, up to this share of every RMS torque: 0.01.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        Option(
            "--output",
            "-o",
            metavar="OUT.csv",
            help="Write the table, one line per omission and joint; '-' is the screen.",
        ),
    ] = None,
    save: Annotated[
        str | None,
        Option(metavar="MODEL.toml", help="Write the approximate model that results from --drop and --small."),
    ] = None,
    plot: Annotated[str | None, Option(metavar="OUT.png", help="Write a figure: .png, .svg or .pdf.")] = None,
    force: options.ForceFlag = False,
    reading: options.Reading = options.AS_WRITTEN,
    tip_wrench: options.WrenchOption = None,
    payload: options.PayloadOption = None,
    payload_com: options.PayloadComOption = None,
    loading: options.Loading = options.AS_IT_IS,
) -> None:
    """Show which terms can be neglected along a motion: the error of each omission, and the operations that it saves.

    The columns of the joints give the RMS of the omitted torque as a share of the RMS torque; the operations are those
    of the compiled inverse and direct dynamics. MOTION.csv is read as by 'dalembert torques'.
    """
    names = tuple(re.split(r"[\s,+]+", drop.strip())) if drop and drop.strip() else ()
    wrench = options.wrench_of(tip_wrench)
    if (motion is None) == (example is None):
        raise DalembertError(
            "errors are computed along a motion: give MOTION.csv, or --example 7.2 for the motions of the book's example"
            if example is None
            else f"--example {example} and {motion} are both given; choose one"
        )
    if save is not None and not names and small is None:
        raise DalembertError(f"--save {save} writes an approximate model; choose what it omits by --drop or --small")
    if small is not None and example is not None:
        raise DalembertError("--small needs one motion: give MOTION.csv")
    loaded = options.load(arm, loading, payload, payload_com)
    less = loaded.approximate(names)  # names are checked before the motion is read
    for path, kinds in ((None if output == "-" else output, (".csv", ".txt")), (save, (".toml", ".urdf"))):
        if path is not None:
            options.not_an_input(path, "the result would overwrite the file it is", motion, arm)
            check_writable(path, overwrite=force, kinds=kinds)
    options.check_plot(plot, force=force)
    motions = [(motion.stem, read(loaded, motion, reading)[0])] if motion is not None else _example(loaded, example)
    from dalembert.analysis.omissions import DROPS, omissions

    if small is not None:
        less = loaded.approximate(names, small=small, motion=motions[0][1])
        say("note", *less.robot.notes[len(loaded.robot.notes) :])
    asked = (*less.omitted, *["small parameters"] * (small is not None))
    further = {asked: less} if asked and asked not in DROPS else {}
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
        _write(output, studies, force)
    if plot is not None:
        from dalembert.report.figures import omission_figure

        options.save_plot(omission_figure(dict(studies)), plot, force=force)
        tell(f"the figure is in {plain(plot)}", stderr=True)


def _example(arm: Any, example: str | None) -> list[tuple[str, Any]]:
    return [(title, trajectory) for title, _, trajectory in example_motions(arm, example)]


def _write(path: str, studies: list[tuple[str, Any]], force: bool) -> None:
    """The tables, one after the other, as CSV."""
    import csv

    rows = [{"motion": title, **row} for title, study in studies for row in study.table()]
    with nullcontext(sys.stdout) if path == "-" else whole_file(path, overwrite=force) as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
