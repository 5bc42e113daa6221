"""``dalembert compare``."""

from __future__ import annotations

from typing import Annotated

import typer

from dalembert.cli.options import Physical, PhysicalOption, TipOption, overwriting
from dalembert.errors import DalembertError


def compare(
    arm: Annotated[
        str | None,
        typer.Argument(metavar="[ARM]", help="A shipped arm or a robot file; without it, arms of n general joints."),
    ] = None,
    joints: Annotated[
        str | None,
        typer.Option(metavar="2..12", help="Growth with the number of joints; 2..12 where no arm is given."),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Compile, and time each formulation; otherwise only count.")
    ] = True,
    everything: Annotated[
        bool, typer.Option("--all", help="Also formulations of degree 4 for more than 7 joints, which take long.")
    ] = False,
    plot: Annotated[
        str | None, typer.Option(metavar="OUT.png", help="Write growth as a figure: .png, .svg or .pdf.")
    ] = None,
    force: Annotated[bool, overwriting("OUT.png")] = False,
    physical: PhysicalOption = Physical.error,
    tip: TipOption = None,
) -> None:
    """Compare the formulations of inverse dynamics: M's Table 3, operations as written and compiled, ns per state."""
    from dalembert.cli.compare import check_plot, joints_of, show_arm, show_growth
    from dalembert.cli.given import load

    wanted = joints_of(joints) if joints is not None else range(2, 13) if arm is None else None
    if plot is not None:
        if wanted is None or len(wanted) < 2:
            raise DalembertError("--plot draws growth with the number of joints; give a range, like --joints 2..12")
        check_plot(plot, force=force)
    if arm is not None:
        show_arm(load(arm, physical.value, tip), measure=measure, everything=everything)
    if wanted is not None:
        show_growth(wanted, measure=measure, everything=everything, plot=plot, force=force)
