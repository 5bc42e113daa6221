"""``dalembert excite``: find a motion that excites the parameters of an arm."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import dalembert as da
from dalembert.base.environment.progress import Bar
from dalembert.base.options import Allowed, option
from dalembert.base.wording import counted
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, Loading
from dalembert.views.cli.plan import summary
from dalembert.views.cli.terminal import number, print_table, say, tell
from dalembert.work.excitation.exciting_options import ExcitationOptions

if TYPE_CHECKING:
    from dalembert.work.excitation.excitation import Excitation
    from dalembert.work.excitation.exciting_goals import Forecast

WORDS = {
    "condition": "condition number", "scaled-condition": "scaled condition number", "d-optimal": "log det",
    "l-optimal": "rms std of the goal",
}  # fmt: skip


ORDER = (
    "output duration shape points harmonics base_frequency criterion after goal until clearance floor planes share limits start "
    "starts seed cluster resume rate force"
)
NO_FIT = "applies to a motion after a fit; give the fit with --after"


@dataclass(frozen=True, eq=False)
class ExciteOptions(ExcitationOptions, options.Load):
    """The options of the search, and the file of the motion."""

    output: Path = option(
        "Where to write the motion.",
        Path("excite.csv"),
        spelled="--output -o",
        metavar="OUT.csv",
        writes=options.TABLES,
    )
    until: list[str] | None = option(
        "With --after: report how many seconds reduce the standard deviation of NAME to STD, a number or a percentage; "
        "may be repeated.",
        metavar="NAME=STD",
        needs=("after", NO_FIT),
    )
    limits: str | None = option("Limits instead of the robot's: a file or text.", metavar="LIMITS")
    resume: bool | None = options.common("resume")  # type: ignore[assignment]
    rate: float = option(
        "Samples per second in OUT.csv.", 100.0, metavar="HZ", check=Allowed(lambda x: x > 0, "above 0, in Hz")
    )
    force: bool = options.overwriting("OUT.csv")


def excite(arm: ArmArgument, settings: Annotated[ExciteOptions, ORDER], loading: Loading) -> None:
    """Find a motion for identification: the one that best excites the arm's base parameters, within its limits.

    With --after, find the motion that most reduces the uncertainty of the parameters named by --goal.

    The motion is a Fourier series or a spline from rest to rest. Ctrl-C ends the search with the best motion so far.
    OUT.csv gets t, q, qd, qdd and the torques of the arm's model. With --cluster the starts are improved on the workers
    of a Dask cluster.
    """
    loaded = options.load(arm, loading, settings)
    output, start = settings.output, settings.start
    search = options.keywords(settings, " ".join(field.name for field in fields(ExcitationOptions)))
    search["start"] = None if start is None else options.row_of("--start", str(start), "x", loaded.n)
    planes = [options.numbers_of("--plane", text, "nx ny nz d") for text in settings.planes or []]
    search["planes"] = [(normal, offset) for *normal, offset in planes]
    search["criterion"] = settings.criterion or ("condition" if settings.after is None else "l-optimal")
    options.check_resume(search.pop("resume"))
    wanted = list(map(_until, settings.until or []))
    if wanted:
        check_until(loaded, settings, wanted)
    with Bar(f"exciting {loaded.name}") as bar:

        def show_progress(fraction: float, best: float) -> None:
            bar.what = f"exciting {loaded.name}, best {WORDS[search['criterion']]} so far {best:.4g}"
            bar(fraction)

        excitation = da.excite(loaded, progress=show_progress, **search)
    say("note", *excitation.notes)
    if excitation.interrupted:
        say("note", "stopped by Ctrl-C: this is the best motion so far")
    excitation.save(output, rate=settings.rate, overwrite=settings.force)
    _show(excitation, output, wanted)


def _show(excitation: Excitation, output: Path, wanted: list[tuple[str, float, bool]]) -> None:
    """The motion of each joint, the forecast, and how well the parameters are excited."""
    motion = excitation.trajectory
    summary(motion, excitation.arm, str(output))
    if excitation.forecast is not None:
        _show_forecast(excitation.forecast, wanted)
    tell(
        f"{excitation.base.rank} base parameters; condition number {excitation.condition:.4g} (SI units), "
        f"{excitation.condition_scaled:.4g} with columns of length one; log det {excitation.log_det:.4g}"
    )
    form = f"a spline of {excitation.coefficients.shape[-1]} control points"
    if (base := excitation.base_frequency) is not None:
        periods = counted(round(motion.duration * base), "period")
        form = f"{periods} of {base:.4g} Hz, {excitation.coefficients.shape[2]} harmonics"
    tell(f"{motion.duration:g} s: {form}, found in {excitation.seconds:.1f} s; the motion is in {output.resolve()}")


def check_until(arm: da.Arm, settings: ExciteOptions, wanted: list[tuple[str, float, bool]]) -> None:
    """Raise an error before the search if --until names what the goal does not, or what cannot be given in percent."""
    from dalembert.work.excitation.exciting_goals import aim_of, check_wanted

    record = da.read_fit(settings.after)  # type: ignore[arg-type]
    aimed = aim_of(settings.goal or "parameters", arm, record.base(arm), record, settings.duration)
    values = {row.name: row.value for row in aimed.rows}
    for name, value, share in wanted:
        check_wanted(aimed.text, tuple(values), name, value)
        if share and math.isnan(values[name]):
            raise DalembertError(f"--until {name}: its value is not known, so give its std as a number, not in percent")


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
    for name, value, before, after in zip(
        forecast.names, forecast.values, forecast.before, forecast.after, strict=True
    ):
        times = number(before / after, digits=2) if math.isfinite(before) and after > 0 else ""
        std = [number(x, digits=2) if math.isfinite(x) else "∞" for x in (before, after)]
        rows.append([name, "" if math.isnan(value) else number(value), *std, times])
    columns = ["", ">value", ">std before", ">std after", ">reduced by factor"]
    print_table(columns, rows, f"Goal {forecast.goal} (SI units)")
    for name, value, share in wanted:
        size = value / 100 * abs(float(forecast.values[forecast.names.index(name)])) if share else value
        seconds = forecast.seconds_until(name, size)
        known = math.isfinite(seconds)
        takes = f"takes about {seconds:.3g} s of" if known else "cannot be reached with"
        tell(f"{name} to ± {size:.3g} {takes} this motion")
    before = f"{forecast.value_before:.3g}" if math.isfinite(forecast.value_before) else "∞"
    tell(f"{forecast.measure}: {before} before, {forecast.value_after:.3g} predicted after this motion")
