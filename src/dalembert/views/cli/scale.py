"""``dalembert scale``: scale a motion in time so that it keeps the limits, or find its shortest duration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from dalembert.base.options import option
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, Loading, MotionFile, Reading
from dalembert.views.cli.plan import RowOptions, summary
from dalembert.views.cli.terminal import plain, tell
from dalembert.views.cli.torques import show_scaling, trajectory

ORDER = "time_optimal faster duration limits rate torques payload payload_com output force"
DURATION = "needs --time-optimal; otherwise the limits determine the duration of the motion"


@dataclass(frozen=True)
class ScaleOptions(RowOptions, options.Load):
    """How a motion is scaled, and where it is written."""

    time_optimal: bool = option("The shortest duration along the same path, not one factor for all of it.", False)
    faster: bool = option("Also speed the motion up if the limits permit; --time-optimal always does.", False)
    duration: float | None = option(
        "For --time-optimal: a duration above the shortest one.", metavar="SECONDS", needs=("time_optimal", DURATION)
    )
    output: str = options.written_to("OUT.csv")
    force: bool = options.overwriting("OUT.csv")


def scale(
    arm: ArmArgument, motion: MotionFile, scaling: Annotated[ScaleOptions, ORDER], reading: Reading, loading: Loading
) -> None:
    """Scale a motion in time so that it keeps the arm's limits, S 7.7; or find its shortest duration.

    Time is stretched by one factor, r = ct, until no effort, velocity or acceleration limit is exceeded. With --time-optimal
    the motion keeps its path and takes the shortest time that the limits allow.

    OUT.csv gets t (s), q, qd and qdd of every joint, in the format of MOTION.csv. A summary goes to stderr.
    """
    loaded = options.load(arm, loading, scaling)
    if scaling.faster and scaling.time_optimal:
        raise DalembertError("--time-optimal finds the shortest duration anyway; leave out --faster")
    given = trajectory(loaded, motion, reading)
    if scaling.time_optimal:
        scaled = given.time_optimal(loaded, duration=scaling.duration)
    else:
        scaled = given.scaled(loaded, allow_faster=scaling.faster)
        table = given.scaling_table(loaded)
    scaling.save(scaled, loaded)
    summary(scaled, loaded, scaling.output)
    if not scaling.time_optimal:
        show_scaling(table)
    tell(plain(str(scaled.scaling)), stderr=True)
