"""``dalembert identify``: parameters with their errors, a calibrated robot file and a report from a log."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

import dalembert as da
from dalembert.base.environment.progress import Bar
from dalembert.base.files import HTML, whole_file
from dalembert.base.options import option
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.controllers import ControllerOptions, gain, numbers_of
from dalembert.views.cli.options import ArmArgument, Loading, LogReading, Reading
from dalembert.views.cli.terminal import console, number, print_table, say, saying_warnings, tell
from dalembert.views.cli.torques import trajectory
from dalembert.work.identification.fitting.fit_options import (
    GROUPS,
    EstimatorOptions,
    FilterOptions,
    LoopOptions,
    ModelOptions,
    ValidationOptions,
)
from dalembert.work.identification.fitting.progress_stages import Stages

if TYPE_CHECKING:
    from dalembert.work.fits.fit_comparison import FitTrend
    from dalembert.work.fits.leave_one_out import Folds
    from dalembert.work.identification.fitting.result import Identification
    from dalembert.work.identification.selection.selection_result import Selection

ROWS = 12  # parameters in a table of changes; the report and the JSON file have all of them
ORDER = (
    "validate method physical prior prior_deviation prior_kind bounds cutoff decimate edge dead_zone hold_out folds compare column "
    "unit joints topic episodes gains gears motor_side time_unit rate rotor offset two_sided stribeck sigmoid coupling balance terms "
    "damping damped_to loaded payload payload_com measured control kp kd effort speed feed_velocity follow model control_rate "
    "command_delay output report author title note date table selection like resume force"
)


@dataclass(frozen=True)
class IdentifyOptions(
    ControllerOptions,
    options.ReportHeading,
    LogReading,
    EstimatorOptions,
    FilterOptions,
    ValidationOptions,
    ModelOptions,
    LoopOptions,
):
    """All options of an identification, the earlier results that are used, and the files that are written."""

    validate: list[str] | None = option("Another run on which to validate the result; may be repeated.", metavar="LOG2")
    compare: list[str] | None = option(
        "Report the changes since an earlier result (--json); may be repeated, in chronological order.",
        metavar="FIT.json",
    )
    payload_com: str | None = options.common("payload_com")
    output: str | None = option(
        "Save the calibrated arm: .toml or .urdf.", spelled="--output -o", metavar="OUT.toml", writes=()
    )
    report: str | None = option(
        "Write a page with the model selection, torques, residuals, spectra and parameters.",
        metavar="OUT.html",
        writes=HTML,
    )
    table: str | None = option(
        "Write every number, for --like, --compare and 'excite --after'.", spelled="--json", metavar="OUT.json",
        writes=(".json",),
    )  # fmt: skip
    selection: bool = option(
        "Choose everything that is not given (cut-off, friction, offsets, springs, torque ripple, couplings, estimator) by "
        "cross-validation.",
        True,
    )
    like: str | None = option(
        "Use the model, cut-off and estimator of an earlier result (--json), without a new selection.",
        metavar="FIT.json",
    )
    effort: str | None = gain(
        "For --control servo: the largest torques of its drives (N m), or 'fit' to identify them."
    )
    speed: str | None = gain(
        "For --control servo: the speeds at which its drives have no torque left (rad/s), or 'fit'."
    )
    feed_velocity: bool = option(
        "For --control servo: K_d acts on the error of the velocity, not on the velocity.", False
    )
    resume: bool | None = options.common("resume")
    force: bool = options.overwriting()

    def check_files(self) -> None:
        """Raise an error before the work if a file cannot hold what is written to it."""
        if self.report is not None:
            options.need_figures(f"{self.report}: a report")
        suffix = None if self.output is None else Path(self.output).suffix.lower()
        if suffix not in (None, *options.ROBOTS):
            raise DalembertError(f"{self.output}: a calibrated arm is saved as {' or '.join(options.ROBOTS)}")
        if self.coupling and suffix == ".urdf":
            raise DalembertError(
                f"{self.output}: URDF cannot represent a drive shared by two joints (--coupling); save it as .toml"
            )


def identify(
    arm: ArmArgument,
    log: Annotated[
        list[str],
        Argument(
            metavar="LOG…",
            help="One run, or several that are fitted together: .csv, .npz, .mat, .parquet, .mcap, .bag or .db3 files, or "
            "folders of ROS 2 bags or LeRobot datasets.",
            show_default=False,
        ),
    ],
    settings: Annotated[IdentifyOptions, ORDER],
    loading: Loading,
) -> None:
    """Identify the dynamic parameters of an arm from a log of its motion."""
    loaded_arm = options.load(arm, loading)
    com = options.vector_of("--payload-com", settings.payload_com)
    changed: dict[str, Any] = {
        "prior": None if settings.prior is None else options.load(str(settings.prior), replace(loading, tip=None)),
        "bounds": boxes_of(settings.bounds),
        "payload": settings.payload if com is None else {"mass": settings.payload, "com": com},
        "coupling": couplings_of(settings.coupling) or None,
        "terms": terms_of(settings.terms, loaded_arm.joint_names) or None,
        "folds": folds_of(settings.folds),
        "controller": _controller(loaded_arm, settings, loading),
        "command_delay": None if settings.command_delay is None else delay_of(str(settings.command_delay)),
    }
    read = replace(settings, **changed)
    groups: dict[str, Any] = {
        name: kind(**{x.name: getattr(read, x.name) for x in fields(kind)}) for name, kind in GROUPS.items()
    } | {"selection": settings.selection}
    if settings.like is not None:
        groups |= _like(settings.like, groups, loaded_arm)
    former = [da.read_fit(path) for path in settings.compare or []]
    settings.check_files()
    stages = Stages(len(log) if read.folds == "runs" else int(read.folds))
    groups |= settings.keywords(loaded_arm.n)
    options.check_resume(settings.resume)
    with saying_warnings(), Bar("identifying") as bar:
        groups["progress"] = lambda words, fraction: bar(stages(words, fraction))
        fit = da.identify(loaded_arm, log if len(log) > 1 else log[0], settings.validate or None, **groups)
        if settings.output is not None:
            fit.arm.save(settings.output)
    _show(fit, settings.table)
    compared = da.compare_fits(*former, fit) if former else None
    if compared is not None:
        _show_trend(compared)
    if settings.output is not None:
        say("note", f"the calibrated arm is in {settings.output}")
    if settings.table is not None:
        fit.save(settings.table, compared, overwrite=settings.force)
    if settings.report is not None:
        from dalembert.views.report.identification import identification_html

        with Bar("writing the report") as bar, whole_file(settings.report, overwrite=settings.force) as file:
            file.write(identification_html(fit, bar, compared=compared, **settings.heading))
        say("note", f"the report is in {settings.report}")


def _controller(arm: da.Arm, settings: IdentifyOptions, loading: Loading) -> Any:
    """The controller that the options describe, if any."""
    if settings.control is None:
        if settings.given_gains or settings.follow or settings.effort or settings.speed:
            raise DalembertError("the options of a controller need --control, such as --control servo")
        return None
    motion = None if settings.follow is None else trajectory(arm, settings.follow, Reading())
    if motion is None and settings.control != "servo":
        raise DalembertError(f"--control {settings.control} needs the motion that it follows: add --follow MOTION.csv")
    limits = {"effort": settings.effort, "speed": settings.speed}
    if settings.control != "servo" and (wrong := [name for name, text in limits.items() if text is not None]):
        raise DalembertError(f"--{wrong[0]} applies to --control servo only")
    servo = {name: text if text in (None, "fit") else numbers_of(f"--{name}", text) for name, text in limits.items()}
    known = None if settings.model is None else options.load(settings.model, loading)
    return settings.law_of(motion, known, open_gains=True, velocity=settings.feed_velocity, **servo)


def delay_of(text: str) -> float | str:
    """The value of --command-delay: a number, or "fit"."""
    return text if text == "fit" else options.numbers_of("--command-delay", text, "0.005")[0]


def _like(path: str, groups: dict[str, Any], arm: da.Arm) -> dict[str, Any]:
    """The groups of an earlier result, with the options beside them that it does not set; an option of both is refused."""
    earlier = da.read_fit(path).options(arm)
    for name, group in earlier.items():
        if name == "selection":
            continue
        beside = {x.name: getattr(groups[name], x.name) for x in fields(group)}
        beside = {key: value for key, value in beside.items() if value is not None}
        for field in fields(group):
            own = getattr(group, field.name)
            if own is not None and own != field.default and field.name in beside:
                option = options.spelling(field)
                raise DalembertError(
                    f"{option} and --like {path}, which also sets it, are both given: remove one of them"
                )
        earlier[name] = replace(group, **beside)
    return earlier


def folds_of(text: int | str) -> int | str:
    """The value of --folds: a number, or "runs"."""
    try:
        return text if text == "runs" else int(text)
    except ValueError:
        raise DalembertError(
            f"--folds is '{text}'; it must be a whole number, such as 5, or 'runs' to leave out one run at a time"
        ) from None


def boxes_of(given: Any) -> dict[str, Any] | None:
    """A list of LINK="x y z X Y Z" as bounds: the lowest and the highest corner of a box that contains the link's mass."""
    out = {}
    for link, text in options.pairs_of("--box", given, 'LINK="x y z X Y Z"').items():
        numbers = options.list_of(f"--box {link}", text)
        if len(numbers) != 6:
            raise DalembertError(f'--box {link} needs 6 numbers, "x y z X Y Z" of two corners in m, not {len(numbers)}')
        out[link] = {"box": (numbers[:3], numbers[3:])}
    return out or None


def couplings_of(given: Any) -> list[tuple[Any, ...]]:
    """A list such as 5:6 or joint_5:joint_6:1.0."""
    out: list[tuple[Any, ...]] = []
    for word in given or []:
        parts = word.split(":")
        if len(parts) not in (2, 3):
            raise DalembertError(f"--coupling needs two joints, such as 5:6, and optionally a ratio, not '{word}'")
        try:
            out.append((*parts[:2], *(float(x) for x in parts[2:])))
        except ValueError:
            raise DalembertError(f"--coupling '{word}': {parts[2]} is not a number") from None
    return out


def terms_of(given: Any, joints: tuple[str, ...]) -> dict[str, dict[str, list[dict[str, float]]]]:
    """A list such as 2:spring:rest=0.3 as {joint: {name: shapes}}; "all" stands for every joint."""
    out: dict[str, dict[str, list[dict[str, float]]]] = {}
    for word in given or []:
        joint, _, rest = word.partition(":")
        name, _, numbers = rest.partition(":")
        if not joint or not name:
            raise DalembertError(f"--term needs JOINT:NAME, such as 2:spring or all:load, not '{word}'")
        shape = {}
        written = numbers.split(",") if numbers else []
        for key, text in options.pairs_of("--term", written, "KEY=VALUE, such as rest=0.3").items():
            (shape[key],) = options.numbers_of(f"--term {key}", text, key)
        for each in joints if joint == "all" else (joint,):
            out.setdefault(each, {}).setdefault(name, []).append(shape)
    return out


def _show(fit: Identification, saved: str | None) -> None:
    """The tables on the screen."""
    from dalembert.views.report.identification import percent, remarks, verdict

    say("note", *remarks(fit))
    if fit.selection is not None:
        _show_selection(fit.selection, saved)
    rows = []
    for name, value, std, relative in zip(fit.names, fit.parameters, fit.std, fit.relative_std, strict=True):
        mark = "not in the log" if name in fit.unidentified else "" if name in fit.essential else "not essential"
        share = percent(relative) if math.isfinite(relative) else "∞"
        rows.append([name, number(value), number(std, digits=2), share, mark])
    print_table(["parameter", ">value", ">std", ">relative std", ""], rows, "Base parameters (SI units)")
    if any((row != 0).sum() > 1 for row in fit.base.K):
        tell("Some are sums, named after their first term: --report and --json give the full sums.")
    options.tell_numbers(fit.before)
    tell("")
    if fit.closed_loop is not None:
        from dalembert.views.report.identification import gain_rows

        print_table(
            ["", *(f">{name}" for name in fit.before.joint_names)],
            gain_rows(fit, fit.closed_loop),
            "Closed loop (SI units)",
        )
        tell("")
    columns = ["run", "", *(f">{name}" for name in fit.before.joint_names), ">all joints"]
    errors = [
        [Path(run.name).name if instants == "all" else "", instants, *map(_error_cell, (*joints, overall))]
        for run in (fit.run, *fit.validation)
        for instants, overall, joints in run.error_table
    ]
    print_table(columns, errors, "Relative torque error (%)")
    tell("")
    console().print(verdict(fit))
    if fit.folds is not None:
        _show_folds(fit.folds, fit.before.joint_names)


def _show_selection(selection: Selection, saved: str | None) -> None:
    """What was chosen and why, in at most five sentences, and how a later fit reuses the choices if they are saved."""
    console().print("Model selection", style="bold")
    for sentence in selection.sentences:
        console().print(f"- {sentence}")
    if saved is not None:
        tell(f"To reuse these choices for another log without a search: --like {saved}")
    tell("")


def _show_folds(folds: Folds, joints: tuple[str, ...]) -> None:
    """The errors on every part that was left out."""
    rests = any(fold.resting_error is not None for fold in folds)
    rows = []
    for fold in folds:
        at_rest = (fold.moving_error, fold.resting_error) if rests else (None, None)
        rows.append([fold.name, *map(_error_cell, (*fold.joint_errors, fold.relative_error, *at_rest))])
    middle, spread = folds.errors.mean(axis=0), folds.errors.std(axis=0, ddof=1)
    means = [f"{100 * m:.2f} ± {100 * s:.2f}" for m, s in zip(middle, spread, strict=True)]
    rows.append(["mean ± std", *means[1:], means[0], "", ""])
    tell("")
    columns = ["left out", *(f">{name}" for name in joints), ">all joints", ">moving", ">at rest"]
    print_table(columns, rows, "Cross-validation: relative torque error (%)")
    for sentence in folds.sentences:
        tell(sentence)


def _show_trend(trend: FitTrend) -> None:
    """The changes since earlier fits, as a table of the most significant ones and in sentences."""
    changed, rows = {x.name for x in trend.changed}, []
    for x in sorted(trend.parameters, key=lambda x: x.p)[:ROWS]:
        change = [f"{x.values[-1] - x.values[0]:+.3g}", "changed" if x.name in changed else ""]
        rows.append([x.name, *map(_with_error, x.values, x.std), *change, x.unit])
    former = ", ".join(trend.labels[:-1])
    title = f"Comparison with {former}: the {len(rows)} most significant of {len(trend.parameters)} parameters"
    tell("")
    print_table(["parameter", *(f">{label}" for label in trend.labels), ">change", "", "unit"], rows, title)
    for sentence in trend.sentences:
        tell(sentence)


def _error_cell(error: float | None) -> str:
    """A relative error in percent; a dash if there is none."""
    return "–" if error is None else f"{100 * error:.2f}"


def _with_error(value: float, std: float) -> str:
    """``4.12 ± 0.03``: the value to the second significant digit of its error."""
    if not (std > 0 and math.isfinite(std)):
        return number(value)
    decimals = 1 - math.floor(math.log10(std))
    if 0 <= decimals <= 6:
        return f"{value:.{decimals}f} ± {std:.{decimals}f}"
    return f"{number(value)} ± {number(std, digits=2)}"
