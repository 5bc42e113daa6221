"""``dalembert identify``: parameters with their errors, a calibrated robot file and a report from a log."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import dalembert as da
from dalembert.cli import options
from dalembert.cli.fit_tables import show_folds, show_selection, show_trend
from dalembert.cli.terminal import console, number, print_table, say, saying_warnings, tell
from dalembert.environment.progress import Bar
from dalembert.errors import DalembertError
from dalembert.files import HTML, check_writable
from dalembert.identification.stages import Stages

if TYPE_CHECKING:
    from dalembert.identification.result import Identification

OPTIONS = {"physical": "consistent", "bounds": "box", "terms": "term"}  # fields with another name on the command line


def identify(
    arm: options.ArmArgument,
    log: Annotated[
        list[str],
        Argument(
            metavar="LOG…",
            help="One run, or several that are fitted together: .csv, .npz, .mat, .parquet, .mcap, .bag or .db3 files, or "
            "folders of ROS 2 bags or LeRobot datasets.",
            show_default=False,
        ),
    ],
    validate: Annotated[
        list[str] | None, Option(metavar="LOG2", help="Another run on which to validate the result; may be repeated.")
    ] = None,
    method: Annotated[
        str | None,
        Option(
            help="ordinary, weighted, reweighted, robust, energy, damped, sequential or total (S 7.4); default: chosen by selection."
        ),
    ] = None,
    consistent: Annotated[
        bool | None,
        Option(
            "--consistent/--no-consistent",
            help="Only physically consistent parameters (semidefinite program); default: chosen by selection.",
        ),
    ] = None,
    prior: Annotated[
        str | None, Option(metavar="ARM", help="An arm whose inertias serve as prior; implies --consistent.")
    ] = None,
    prior_deviation: Annotated[
        float | None, Option(help="Uncertainty of the prior: 0.3 is thirty percent.", show_default="0.3")
    ] = None,
    prior_kind: Annotated[str | None, Option(help="entropic or euclidean.", show_default="entropic")] = None,
    box: Annotated[
        list[str] | None,
        Option(
            metavar='LINK="x y z X Y Z"', help="A box that contains a link's mass, in its frame; implies --consistent."
        ),
    ] = None,
    cutoff: Annotated[
        float | None,
        Option(metavar="HZ", help="Cut-off frequency of the low-pass filter; default: chosen by selection."),
    ] = None,
    decimate: Annotated[
        int | None, Option(metavar="N", help="Keep one sample in N; default: 2.5 per period of the cut-off.")
    ] = None,
    edge: Annotated[
        float | None, Option(metavar="S", help="Seconds removed at both ends; default: two periods of the cut-off.")
    ] = None,
    dead_zone: Annotated[
        float | None, Option(metavar="SPEED", help="Exclude a joint's samples below this speed (rad/s).")
    ] = None,
    hold_out: Annotated[
        float, Option(metavar="SHARE", help="Hold out the last share of LOG, such as 0.3, and validate on it.")
    ] = 0.0,
    folds: Annotated[
        str | None,
        Option(
            metavar="K|runs",
            help="Repeat the identification without each of K parts of the log, or without each run, and validate it there.",
        ),
    ] = None,
    compare: Annotated[
        list[str] | None,
        Option(
            metavar="FIT.json",
            help="Report the changes since an earlier result (--json); may be repeated, in chronological order.",
        ),
    ] = None,
    column: options.ColumnOption = None,
    unit: options.UnitOption = None,
    joints: options.JointsOption = None,
    topic: options.TopicOption = None,
    episodes: options.EpisodesOption = None,
    gains: options.GainsOption = None,
    gears: options.GearsOption = None,
    motor_side: options.MotorSideOption = None,
    time_unit: options.TimeUnitOption = None,
    rate: options.RateOption = None,
    rotor: Annotated[
        bool | None,
        Option(
            "--rotor/--no-rotor",
            help="Identify rotor inertias; default: if the arm has rotors, or if the torques are those of the motors.",
        ),
    ] = None,
    offset: Annotated[
        bool | None, Option("--offset/--no-offset", help=f"{options.OffsetHelp[:-1]}; default: chosen for each joint.")
    ] = None,
    two_sided: Annotated[
        bool | None, Option("--two-sided/--no-two-sided", help="One Coulomb level per direction, at every joint.")
    ] = None,
    stribeck: Annotated[
        bool | None,
        Option(
            "--stribeck/--no-stribeck",
            help="Stribeck friction at every joint, with speeds found by search; default: chosen per joint unless friction is given.",
        ),
    ] = None,
    sigmoid: Annotated[
        bool | None,
        Option("--sigmoid/--no-sigmoid", help="Smooth Coulomb friction, with widths found by least squares."),
    ] = None,
    coupling: Annotated[
        list[str] | None,
        Option(
            metavar="I:J",
            help="A drive shared by joints I and J, such as 5:6; may be repeated; default: chosen by selection.",
        ),
    ] = None,
    balance: Annotated[
        list[str] | None,
        Option(metavar="JOINT", help="A joint with a counterbalance; may be repeated; default: chosen by selection."),
    ] = None,
    term: Annotated[
        list[str] | None,
        Option(
            metavar="JOINT:NAME[:KEY=VALUE,…]",
            help="A further term with its shape parameters: 2:spring:rest=0.3, all:load or 1:harmonic:order=3; may be repeated.",
        ),
    ] = None,
    damping: Annotated[float | None, Option(help="λ of --method damped.")] = None,
    damped_to: Annotated[
        str | None,
        Option(
            metavar="arm|zero", help="Pull the parameters of --method damped to the arm's own, or to zero as S does."
        ),
    ] = None,
    loaded: Annotated[
        str | None, Option(metavar="LOG3", help="For --method total: a run with a known payload.")
    ] = None,
    payload: Annotated[
        float | None,
        Option(metavar="MASS", help="Mass of that payload (kg); its centre of mass is identified by default."),
    ] = None,
    payload_com: options.PayloadComOption = None,
    output: Annotated[
        str | None, Option("--output", "-o", metavar="OUT.toml", help="Save the calibrated arm: .toml or .urdf.")
    ] = None,
    report: Annotated[
        str | None,
        Option(
            metavar="OUT.html",
            help="Write a page with the model selection, torques, residuals, spectra and parameters.",
        ),
    ] = None,
    author: options.AuthorOption = None,
    title: options.TitleOption = None,
    note: options.NoteOption = None,
    date: options.DateOption = "today",
    table: Annotated[
        str | None,
        Option("--json", metavar="OUT.json", help="Write every number, for --like, --compare and 'excite --after'."),
    ] = None,
    selection: Annotated[
        bool,
        Option(
            "--selection/--no-selection",
            help="Choose everything that is not given (cut-off, friction, offsets, springs, torque ripple, couplings, estimator) by "
            "cross-validation.",
        ),
    ] = True,
    like: Annotated[
        str | None,
        Option(
            metavar="FIT.json",
            help="Use the model, cut-off and estimator of an earlier result (--json), without a new selection.",
        ),
    ] = None,
    resume: options.ResumeOption = True,
    force: options.ForceFlag = False,
    loading: options.Loading = options.AS_IT_IS,
) -> None:
    """Identify the dynamic parameters of an arm from a log of its motion."""
    com = options.payload_com_of(payload_com, payload)
    loaded_arm = options.load(arm, loading)
    settings: dict[str, Any] = {
        "validate": validate or None, "method": method, "physical": consistent,
        "prior": None if prior is None else options.load(prior, replace(loading, tip=None)), "prior_deviation": prior_deviation,
        "prior_kind": prior_kind, "bounds": boxes_of(box), "cutoff": cutoff, "decimate": decimate, "edge": edge,
        "dead_zone": dead_zone, "hold_out": hold_out, "rotor": rotor, "offset": offset, "two_sided": two_sided,
        "stribeck": stribeck, "sigmoid": sigmoid, "coupling": couplings_of(coupling) or None, "balance": balance,
        "terms": terms_of(term, loaded_arm.joint_names) or None, "selection": selection, "folds": folds_of(folds),
        "damping": damping, "damped_to": damped_to, "loaded": loaded, "payload": payload if com is None else {"mass": payload, "com": com},
        "resume": options.resuming(resume),
    }  # fmt: skip
    settings |= reading_of(
        loaded_arm.n, column, gains, gears, motor_side, time_unit, unit, joints, topic, rate, episodes
    )
    if like is not None:
        settings = settings_like(like, settings, loaded_arm)
    former = [da.read_fit(path) for path in compare or []]
    for path, kinds in ((output, ()), (report, HTML), (table, (".json",))):
        if path is not None:
            check_writable(path, overwrite=force, kinds=kinds)
    if report is not None:
        options.need_figures(f"{report}: a report")
    if output is not None and Path(output).suffix.lower() not in (".toml", ".urdf"):
        raise DalembertError(f"{output}: a calibrated arm is saved as .toml or .urdf")
    if coupling and output is not None and Path(output).suffix.lower() == ".urdf":
        raise DalembertError(
            f"{output}: URDF cannot represent a drive shared by two joints (--coupling); save it as .toml"
        )
    stages = Stages(len(log) if folds == "runs" else int(folds_of(folds)))
    with saying_warnings(), Bar("identifying") as bar:

        def show_progress(words: str, fraction: float) -> None:
            bar(stages(words, fraction))

        fit = da.identify(loaded_arm, log if len(log) > 1 else log[0], progress=show_progress, **settings)
        if output is not None:
            fit.arm.save(output)
    from dalembert.report.identification import remarks, write_identification

    say("note", *remarks(fit))
    if fit.selection is not None:
        show_selection(fit.selection, table)
    _show(fit)
    if fit.folds is not None:
        show_folds(fit.folds, fit.before.joint_names)
    compared = da.compare_fits(*former, fit) if former else None
    if compared is not None:
        show_trend(compared)
    if output is not None:
        say("note", f"the calibrated arm is in {output}")
    if table is not None:
        fit.save(table, compared, overwrite=force)
    if report is not None:
        with Bar("writing the report") as bar:
            write_identification(
                report,
                fit,
                title=title,
                author=author,
                note=note,
                date=options.date_of(date),
                compared=compared,
                overwrite=force,
                progress=bar,
            )
        say("note", f"the report is in {report}")


def settings_like(path: str, given: dict[str, Any], arm: da.Arm) -> dict[str, Any]:
    """The settings with the model, cut-off and estimator of an earlier result, which must not be given as well."""
    from dalembert.identification.options import GROUPS

    groups = da.read_fit(path).options(arm)
    for group, kind in GROUPS.items():
        for entry in fields(kind):
            own = getattr(groups[group], entry.name) if group in groups else entry.default
            if own is not None and own != entry.default and given.get(entry.name) is not None:
                raise DalembertError(
                    f"--{OPTIONS.get(entry.name, entry.name).replace('_', '-')} and --like {path}, which also sets it, are both "
                    "given: remove one of them"
                )
    return given | groups


def folds_of(given: str | None) -> int | str:
    """The value of --folds: a number, or "runs"."""
    if given is None or given == "runs":
        return given or 0
    try:
        return int(given)
    except ValueError:
        raise DalembertError(
            f"--folds is '{given}'; it must be a whole number, such as 5, or 'runs' to leave out one run at a time"
        ) from None


def boxes_of(given: list[str] | None) -> dict[str, Any] | None:
    """A list of LINK="x y z X Y Z" as bounds: the lowest and the highest corner of a box that contains the link's mass."""
    out = {}
    for link, text in options.pairs_of("--box", given).items():
        numbers = options.list_of(f"--box {link}", text)
        if len(numbers) != 6:
            raise DalembertError(f'--box {link} needs 6 numbers, "x y z X Y Z" of two corners in m, not {len(numbers)}')
        out[link] = {"box": (numbers[:3], numbers[3:])}
    return out or None


def couplings_of(given: list[str] | None) -> list[tuple[Any, ...]]:
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


def terms_of(given: list[str] | None, joints: tuple[str, ...]) -> dict[str, dict[str, list[dict[str, float]]]]:
    """A list such as 2:spring:rest=0.3 as {joint: {name: shapes}}; "all" stands for every joint."""
    out: dict[str, dict[str, list[dict[str, float]]]] = {}
    for word in given or []:
        joint, _, rest = word.partition(":")
        name, _, numbers = rest.partition(":")
        if not joint or not name:
            raise DalembertError(f"--term needs JOINT:NAME, such as 2:spring or all:load, not '{word}'")
        shape = {}
        for key, text in options.pairs_of("--term", numbers.split(",") if numbers else []).items():
            (shape[key],) = options.numbers_of(f"--term {key}", text, key)
        for each in joints if joint == "all" else (joint,):
            out.setdefault(each, {}).setdefault(name, []).append(shape)
    return out


def reading_of(
    n: int, columns: list[str] | None, gains: str | None, gears: str | None, motor_side: str | None,
    time_unit: str | None, units: list[str] | None = None, joints: str | None = None, topic: str | None = None,
    rate: float | None = None, episodes: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """How the log is to be read: only the options that were given, so that the log's own information holds otherwise."""
    ratios = options.list_of("--gears", gears or "")
    reading = {
        "columns": options.pairs_of("--column", columns) or None, "time_unit": time_unit,
        "gains": None if gains is None else options.list_of("--gains", gains),
        "gears": [ratios[k * n : k * n + n] for k in range(n)] if len(ratios) == n * n else ratios or None,
        "motor_side": tuple(motor_side.replace(",", " ").split()) if motor_side else None,
        "units": options.pairs_of("--unit", units) or None, "topic": topic, "rate": rate, "episodes": episodes,
        "joint_names": joints.replace(",", " ").split() if joints else None,
    }  # fmt: skip
    return {key: value for key, value in reading.items() if value is not None}


def _show(fit: Identification) -> None:
    """The tables on the screen."""
    from dalembert.report.identification import percent, verdict

    rows = []
    for name, value, std, relative in zip(fit.names, fit.parameters, fit.std, fit.relative_std, strict=True):
        mark = "not in the log" if name in fit.unidentified else "" if name in fit.essential else "not essential"
        rows.append(
            [
                name,
                number(float(value)),
                number(float(std), digits=2),
                percent(relative) if math.isfinite(relative) else "∞",
                mark,
            ]
        )
    print_table(["parameter", ">value", ">std", ">relative std", ""], rows, "Base parameters (SI units)")
    if any((row != 0).sum() > 1 for row in fit.base.K):
        tell("Some are sums, named after their first term: --report and --json give the full sums.")
    options.tell_numbers(fit.before)
    tell("")
    columns = ["run", "", *(f">{name}" for name in fit.before.joint_names), ">all joints"]
    errors = [
        [
            Path(run.name).name if instants == "all" else "",
            instants,
            *("–" if e is None else f"{100 * e:.2f}" for e in (*joints, overall)),
        ]
        for run in (fit.run, *fit.validation)
        for instants, overall, joints in run.error_table
    ]
    print_table(columns, errors, "Relative torque error (%)")
    tell("")
    console().print(verdict(fit))
