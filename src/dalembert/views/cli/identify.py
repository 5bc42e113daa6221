"""``dalembert identify``: parameters with their errors, a calibrated robot file and a report from a log."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

import dalembert as da
from dalembert.base.environment.progress import Bar
from dalembert.base.files import HTML, check_writable
from dalembert.base.options import option
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.fit_tables import error_cell, show_folds, show_selection, show_trend
from dalembert.views.cli.options import ArmArgument, Loading, LogReading
from dalembert.views.cli.terminal import console, number, print_table, say, saying_warnings, tell
from dalembert.work.identification.fitting.fit_options import (
    GROUPS,
    EstimatorOptions,
    FilterOptions,
    ModelOptions,
    ValidationOptions,
)
from dalembert.work.identification.fitting.progress_stages import Stages

if TYPE_CHECKING:
    from dalembert.work.identification.fitting.result import Identification

SUFFIXES = (".toml", ".urdf")  # of a calibrated arm
ORDER = (
    "validate method physical prior prior_deviation prior_kind bounds cutoff decimate edge dead_zone hold_out folds compare column "
    "unit joints topic episodes gains gears motor_side time_unit rate rotor offset two_sided stribeck sigmoid coupling balance terms "
    "damping damped_to loaded payload payload_com output report author title note date table selection like resume force"
)


@dataclass(frozen=True)
class IdentifyOptions(
    options.ReportHeading, LogReading, EstimatorOptions, FilterOptions, ValidationOptions, ModelOptions
):
    """All options of an identification, the earlier results that are used, and the files that are written."""

    validate: list[str] | None = option("Another run on which to validate the result; may be repeated.", metavar="LOG2")
    compare: list[str] | None = option(
        "Report the changes since an earlier result (--json); may be repeated, in chronological order.",
        metavar="FIT.json",
    )
    payload_com: str | None = options.vector(
        "Its centre of mass in the tip's frame, in m.", needs=("payload", options.NO_PAYLOAD)
    )
    output: str | None = option("Save the calibrated arm: .toml or .urdf.", spelled="--output -o", metavar="OUT.toml")
    report: str | None = option(
        "Write a page with the model selection, torques, residuals, spectra and parameters.", metavar="OUT.html"
    )
    table: str | None = option(
        "Write every number, for --like, --compare and 'excite --after'.", spelled="--json", metavar="OUT.json"
    )
    selection: bool = option(
        "Choose everything that is not given (cut-off, friction, offsets, springs, torque ripple, couplings, estimator) by "
        "cross-validation.",
        True,
    )
    like: str | None = option(
        "Use the model, cut-off and estimator of an earlier result (--json), without a new selection.",
        metavar="FIT.json",
    )
    resume: bool = options.common("resume")
    force: bool = options.overwriting()

    def check_files(self) -> None:
        """Raise an error before the work if a file cannot be written."""
        for path, kinds in ((self.output, ()), (self.report, HTML), (self.table, (".json",))):
            if path is not None:
                check_writable(path, overwrite=self.force, kinds=kinds)
        if self.report is not None:
            options.need_figures(f"{self.report}: a report")
        suffix = None if self.output is None else Path(self.output).suffix.lower()
        if suffix not in (None, *SUFFIXES):
            raise DalembertError(f"{self.output}: a calibrated arm is saved as {' or '.join(SUFFIXES)}")
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
    groups |= settings.keywords(loaded_arm.n) | {"resume": options.resuming(settings.resume)}
    with saying_warnings(), Bar("identifying") as bar:
        groups["progress"] = lambda words, fraction: bar(stages(words, fraction))
        fit = da.identify(loaded_arm, log if len(log) > 1 else log[0], settings.validate or None, **groups)
        if settings.output is not None:
            fit.arm.save(settings.output)
    _show(fit, settings.table)
    compared = da.compare_fits(*former, fit) if former else None
    if compared is not None:
        show_trend(compared)
    if settings.output is not None:
        say("note", f"the calibrated arm is in {settings.output}")
    if settings.table is not None:
        fit.save(settings.table, compared, overwrite=settings.force)
    if settings.report is not None:
        from dalembert.views.report.identification import write_identification

        heading: dict[str, Any] = {**settings.heading, "compared": compared, "overwrite": settings.force}
        with Bar("writing the report") as bar:
            write_identification(settings.report, fit, **heading, progress=bar)
        say("note", f"the report is in {settings.report}")


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
        show_selection(fit.selection, saved)
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
    columns = ["run", "", *(f">{name}" for name in fit.before.joint_names), ">all joints"]
    errors = [
        [Path(run.name).name if instants == "all" else "", instants, *map(error_cell, (*joints, overall))]
        for run in (fit.run, *fit.validation)
        for instants, overall, joints in run.error_table
    ]
    print_table(columns, errors, "Relative torque error (%)")
    tell("")
    console().print(verdict(fit))
    if fit.folds is not None:
        show_folds(fit.folds, fit.before.joint_names)
