"""``dalembert excite``: find a motion that excites the parameters of an arm."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

import dalembert as da
from dalembert.cli import options
from dalembert.cli.terminal import number, print_table, say, tell
from dalembert.environment.progress import Bar
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.identification.exciting_goals import Forecast

Criterion = Literal["condition", "scaled-condition", "d-optimal", "l-optimal"]
WORDS = {
    "condition": "condition number", "scaled-condition": "scaled condition number", "d-optimal": "log det",
    "l-optimal": "rms std of the goal",
}  # fmt: skip


def excite(
    arm: options.ArmArgument,
    output: Annotated[Path, Option("--output", "-o", metavar="OUT.csv", help="Where to write the motion.")] = Path(
        "excite.csv"
    ),
    duration: Annotated[
        float, Option(metavar="S", help="Duration (s); a whole number of periods for a series.")
    ] = 30.0,
    shape: Annotated[Literal["fourier", "spline"], Option(help="A Fourier series or a spline.")] = "fourier",
    points: Annotated[
        int | None, Option(metavar="N", help="Control points of the spline per joint; default: one per second.")
    ] = None,
    harmonics: Annotated[int, Option(metavar="L", help="Harmonics of the Fourier series.")] = 5,
    frequency: Annotated[
        float | None, Option(metavar="HZ", help="Base frequency; by default a period takes about 10 s.")
    ] = None,
    criterion: Annotated[
        Criterion | None,
        Option(
            help="Condition number of the base regressor (plain or scaled), or its determinant; after a fit, the variance "
            "of the goal, or the determinant."
        ),
    ] = None,
    after: Annotated[
        Path | None,
        Option(metavar="FIT.json", help="An earlier fit ('identify --json'): reduce its remaining uncertainty."),
    ] = None,
    goal: Annotated[
        str | None,
        Option(
            metavar="GOAL",
            help="With --after: parameters, friction, friction:JOINT, payload, payload:mass-com or task:MOTION.csv.",
        ),
    ] = None,
    until: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=STD",
            help="With --after: report how many seconds reduce the standard deviation of NAME to STD, a number or a percentage; "
            "may be repeated.",
        ),
    ] = None,
    clearance: Annotated[
        float, Option(metavar="M", help="Clearance of joints, links and tip from the floor and all planes.")
    ] = 0.1,
    floor: Annotated[
        bool, Option("--floor/--no-floor", help="Whether there is a floor, at the height of the base.")
    ] = True,
    plane: Annotated[
        list[str] | None,
        Option(metavar='"NX NY NZ D"', help="Stay where n·p ≥ D (m, base axes), by the clearance; may be repeated."),
    ] = None,
    share: Annotated[float, Option(metavar="0…1", help="The share of every limit to use.")] = 1.0,
    limits: Annotated[
        str | None, Option(metavar="LIMITS", help="Limits instead of the robot's: a file or text.")
    ] = None,
    start: Annotated[str | None, Option(metavar='"q1 … qn"', help="The configuration to start and end at.")] = None,
    starts: Annotated[int, Option(metavar="N", help="Number of random motions from which the search starts.")] = 4,
    seed: Annotated[int, Option(metavar="N", help="The same seed gives the same motion.")] = 0,
    cluster: options.ClusterOption = None,
    resume: options.ResumeOption = True,
    rate: Annotated[float, Option(metavar="HZ", help="Samples per second in OUT.csv.")] = 100.0,
    force: Annotated[bool, options.overwriting("OUT.csv")] = False,
    loading: options.Loading = options.AS_IT_IS,
) -> None:
    """Find a motion for identification: the one that best excites the arm's base parameters, within its limits.

    With --after, find the motion that most reduces the uncertainty of the parameters named by --goal.

    The motion is a Fourier series or a spline from rest to rest. Ctrl-C ends the search with the best motion so far.
    OUT.csv gets t, q, qd, qdd and the torques of the arm's model. With --cluster the starts are improved on the workers
    of a Dask cluster.
    """
    loaded = options.load(arm, loading, limits=limits)
    if not rate > 0:
        raise DalembertError(f"--rate is {rate:g}; it is in samples per second and must be above zero")
    task = Path(goal.removeprefix("task:")) if goal is not None and goal.startswith("task:") else None
    options.check_table(output, "the motion would overwrite the file it is", arm, after, task, force=force)
    posture = None if start is None else options.row_of("--start", start, "x", loaded.n)
    planes = [_plane(text) for text in plane or []]
    wanted = list(map(_until, until or []))
    if wanted and after is None:
        raise DalembertError("--until applies to a motion after a fit; give the fit with --after")
    if wanted and after is not None:
        check_until(loaded, after, goal, wanted, duration)
    criterion = criterion or ("condition" if after is None else "l-optimal")
    with Bar(f"exciting {loaded.name}") as bar:

        def show_progress(fraction: float, best: float) -> None:
            bar.what = f"exciting {loaded.name}, best {WORDS[criterion]} so far {best:.4g}"
            bar(fraction)

        excitation = da.excite(
            loaded, criterion=criterion, start=posture, progress=show_progress, duration=duration, shape=shape,
            points=points, harmonics=harmonics, base_frequency=frequency, clearance=clearance, floor=floor, planes=planes,
            after=after, goal=goal, share=share, starts=starts, seed=seed, cluster=cluster,
            resume=options.resuming(resume),
        )  # fmt: skip
    say("note", *excitation.notes)
    if excitation.interrupted:
        again = "; the same command with --force goes on with the search" if resume else ""
        say("note", f"stopped by Ctrl-C: this is the best motion so far{again}")
    excitation.save(output, rate=rate, overwrite=force)
    motion = excitation.trajectory
    q, qd, qdd = motion.q, motion.qd, motion.qdd
    tau = loaded.inverse_dynamics(q, qd, qdd)
    rows = []
    for j, joint in enumerate(loaded.robot.moving_joints):
        given = joint.limits
        rows.append([
            joint.name, f"{number(float(q[:, j].min()))} … {number(float(q[:, j].max()))}",
            _with_limit(qd[:, j], given.velocity), _with_limit(qdd[:, j], given.acceleration), _with_limit(tau[:, j], given.effort),
        ])  # fmt: skip
    print_table(["joint", ">q", ">max |qd| / limit", ">max |qdd| / limit", ">max |tau| / limit"], rows, "Joints")
    if excitation.forecast is not None:
        _show_forecast(excitation.forecast, wanted)
    tell(
        f"{excitation.base.rank} base parameters; condition number {excitation.condition:.4g} (SI units), "
        f"{excitation.condition_scaled:.4g} with columns of length one; log det {excitation.log_det:.4g}"
    )
    form = f"a spline of {excitation.coefficients.shape[-1]} control points"
    if excitation.base_frequency is not None:
        periods = round(motion.duration * excitation.base_frequency)
        form = f"{periods} period{'s' if periods != 1 else ''} of {excitation.base_frequency:.4g} Hz, {excitation.coefficients.shape[2]} harmonics"
    tell(f"{motion.duration:g} s: {form}, found in {excitation.seconds:.1f} s; the motion is in {output.resolve()}")


def check_until(
    arm: da.Arm, after: Path, goal: str | None, wanted: list[tuple[str, float, bool]], duration: float
) -> None:
    """Raise an error before the search if --until names what the goal does not, or what cannot be given in percent."""
    from dalembert.identification.exciting_goals import aim_of, check_wanted

    record = da.read_fit(after)
    aimed = aim_of(goal or "parameters", arm, record.base(arm), record, duration).goal
    values = {row.name: row.value for row in aimed.rows}
    for name, value, share in wanted:
        check_wanted(aimed.text, tuple(values), name, value)
        if share and math.isnan(values[name]):
            raise DalembertError(f"--until {name}: its value is not known, so give its std as a number, not in percent")


def _plane(text: str) -> tuple[tuple[float, ...], float]:
    """A plane given as text: its normal and its offset."""
    *normal, offset = options.numbers_of("--plane", text, "nx ny nz d")
    return tuple(normal), offset


def _until(text: str) -> tuple[str, float, bool]:
    """NAME=STD given as text: the name, the number, and whether it is a percentage."""
    name, _, size = text.rpartition("=")
    share = size.strip().endswith("%")
    if not name:
        raise DalembertError(f"--until is '{text}'; it must be NAME=STD, such as Fv_3=0.05 or Fv_3=1%")
    (value,) = options.numbers_of(f"--until {name}", size.strip().rstrip("%"), "std")
    return name.strip(), value, share


def _show_forecast(forecast: Forecast, wanted: list[tuple[str, float, bool]]) -> None:
    """The standard deviations before and after, and the time needed to reach the requested ones."""
    rows = []
    for name, value, *both in zip(forecast.names, forecast.values, forecast.before, forecast.after, strict=True):
        before, after = both
        times = number(before / after, digits=2) if math.isfinite(before) and after > 0 else ""
        shown = "" if math.isnan(value) else number(float(value))
        rows.append([name, shown, *(number(float(x), digits=2) if math.isfinite(x) else "∞" for x in both), times])
    print_table(
        ["", ">value", ">std before", ">std after", ">reduced by factor"], rows, f"Goal {forecast.goal} (SI units)"
    )
    for name, value, share in wanted:
        size = value
        if share:
            size = value / 100 * abs(float(forecast.values[forecast.names.index(name)]))
        seconds = forecast.seconds_until(name, size)
        takes = (
            f"takes about {seconds:.3g} s of this motion"
            if math.isfinite(seconds)
            else "cannot be reached with this motion"
        )
        tell(f"{name} to ± {size:.3g} {takes}")
    before = f"{forecast.value_before:.3g}" if math.isfinite(forecast.value_before) else "∞"
    tell(f"{forecast.measure}: {before} before, {forecast.value_after:.3g} predicted after this motion")


def _with_limit(values: Any, limit: float | None) -> str:
    most = float(abs(values).max())
    return f"{number(most)} / {number(limit)}" if limit is not None else number(most)
