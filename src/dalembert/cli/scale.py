"""``dalembert scale``: scale a motion in time so that it keeps the limits, or find its shortest duration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from dalembert.cli import options
from dalembert.cli.plan import save, summary
from dalembert.cli.terminal import plain, tell
from dalembert.cli.torques import show_scaling, trajectory
from dalembert.errors import DalembertError


def scale(
    arm: options.ArmArgument,
    motion: Annotated[Path, Argument(metavar="MOTION.csv", help=options.MotionHelp, show_default=False)],
    time_optimal: Annotated[
        bool,
        Option(
            "--time-optimal", help="The shortest duration along the same path, instead of one factor for all of it."
        ),
    ] = False,
    faster: Annotated[
        bool,
        Option("--faster", help="Also speed the motion up if the limits permit; --time-optimal always does."),
    ] = False,
    duration: Annotated[
        float | None, Option(metavar="SECONDS", help="For --time-optimal: a duration above the shortest one.")
    ] = None,
    limits: options.LimitsSourceOption = None,
    rate: options.RowRateOption = None,
    torques: Annotated[
        bool, Option("--torques", help="Also write tau1 …, as input for 'dalembert simulate --torque'.")
    ] = False,
    reading: options.Reading = options.AS_WRITTEN,
    payload: options.PayloadOption = None,
    payload_com: options.PayloadComOption = None,
    output: Annotated[str, options.written_to("OUT.csv")] = "-",
    force: Annotated[bool, options.overwriting("OUT.csv")] = False,
    loading: options.Loading = options.AS_IT_IS,
) -> None:
    """Scale a motion in time so that it keeps the arm's limits, S 7.7; or find its shortest duration.

    Time is stretched by one factor, r = ct, until no effort, velocity or acceleration limit is exceeded. With --time-optimal
    the motion keeps its path and takes the shortest time that the limits allow.

    OUT.csv gets t (s), q, qd and qdd of every joint, in the format of MOTION.csv. A summary goes to stderr.
    """
    loaded = options.load(arm, loading, payload, payload_com, limits)
    if duration is not None and not time_optimal:
        raise DalembertError(
            "--duration needs --time-optimal; otherwise the limits determine the duration of the motion"
        )
    if faster and time_optimal:
        raise DalembertError("--time-optimal finds the shortest duration anyway; leave out --faster")
    options.check_table(output, "the motion would overwrite the file it is", motion, arm, limits, force=force)
    given = trajectory(loaded, motion, reading)
    if time_optimal:
        scaled = given.time_optimal(loaded, duration=duration)
    else:
        scaled = given.scaled(loaded, allow_faster=faster)
        table = given.scaling_table(loaded)
    save(scaled, loaded, output, rate=rate, torques=torques, force=force)
    summary(scaled, loaded, output)
    if not time_optimal:
        show_scaling(table)
    tell(plain(str(scaled.scaling)), stderr=True)
