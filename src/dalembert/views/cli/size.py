"""``dalembert size``: check the drives of an arm against a motion, or choose them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import dalembert as da
from dalembert.base.environment.progress import Bar
from dalembert.base.options import Allowed, option
from dalembert.base.wording import nearest
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, AtTip, Loading, MotionFile, Reading
from dalembert.views.cli.terminal import finite, number, plain, print_json, print_table, say, tell
from dalembert.views.cli.torques import read

if TYPE_CHECKING:
    from dalembert.work.sizing.drive_selection import DriveSelection
    from dalembert.work.sizing.drive_sizing import Drives
    from dalembert.work.sizing.sizing import Sizing

Margins = dict[str, dict[str, float]]  # of the checks of each joint

CRITICAL = 10.0  # ratio of load inertia to motor inertia above which a warning is usual


DRAWING = ("plot", "draws a picture, but --plot OUT.png is missing")
CHOOSING = ("motors", "applies to choosing drives, but --motors MOTORS.csv is missing")


@dataclass(frozen=True)
class SizeOptions:
    """The catalogues, what the drives must keep, and the files that are written."""

    motors: Path | None = option("A catalogue: choose the smallest motor for each joint.", metavar="MOTORS.csv")
    gears: Path | None = option("A catalogue of gears; default: the joints' own.", metavar="GEARS.csv", needs=CHOOSING)
    joints: str | None = option(
        "The joints to equip from the catalogues; default: all.", metavar='"j1 j2 …"', needs=CHOOSING
    )
    margin: float = option("Margin that every check must keep: 0.2 for green.", 0.0, metavar="SHARE")
    life: float | None = option("Life L10 that the gears must reach.", metavar="HOURS")
    brake_factor: float = option("Safety factor of a brake on the worst gravity torque.", 1.5, metavar="FACTOR")
    inertia_ratio: float | None = option("The largest ratio of load to motor inertia to choose.", metavar="RATIO")
    tolerance: list[str] | None = options.common("tolerance")
    quantile: float = option(
        "Share of the robots within --tolerance that must pass.", 0.95, metavar="SHARE",
        check=Allowed(lambda x: 0 < x < 1, "between 0 and 1"),
    )  # fmt: skip
    samples: int = option("How many robots within --tolerance are drawn.", 10_000, metavar="N")
    resume: bool | None = options.common("resume")
    sweep: str | None = option(
        "Plot this joint's motor torque and speed against the gear ratio (--plot).", metavar="JOINT", needs=DRAWING
    )
    plot: str | None = options.plotting("Write the speed–torque diagrams, or the sweep")
    out: Path | None = option(
        "Write the robot with the chosen drives.",
        spelled="--out -o",
        metavar="FITTED.toml",
        needs=CHOOSING,
        writes=(".toml",),
    )
    as_json: bool = options.common("as_json")
    force: bool = options.overwriting()


def size(
    arm: ArmArgument, motion: MotionFile, settings: SizeOptions, reading: Reading, load: AtTip, loading: Loading
) -> None:
    """Check the drives of an arm against a motion, or choose drives from catalogues.

    Without --motors the motors and gears of the robot file are checked: utilisation, heat, life, brakes. With --motors
    the smallest motor and gear of the catalogues are chosen for every joint, with all joints coupled, and the checks
    that the next smaller ones fail are shown.

    Exit status 3 means that a check is exceeded.
    """
    wrench, within = load.wrench, options.tolerances_of(settings.tolerance)
    loaded = options.load(arm, loading, load)
    if settings.sweep is not None and settings.sweep not in loaded.joint_names:
        hint = nearest(settings.sweep, loaded.joint_names) or f"; the joints are {', '.join(loaded.joint_names)}"
        raise DalembertError(f"--sweep is '{settings.sweep}', but there is no such joint{hint}")
    table, _ = read(loaded, motion, reading)
    selection = None if settings.motors is None else _selection(loaded, table, settings, wrench)
    if selection is not None:
        sizing, fitted = selection.sizing, selection.arm
    else:
        sizing, fitted = da.size(loaded, table, wrench, **options.keywords(settings, "life brake_factor")), loaded
    drives = _drives(sizing)
    margins = {} if within is None else _under_tolerances(fitted, table, drives, within, settings, wrench)
    if settings.as_json:
        print_json(as_data(sizing, selection, margins))
    else:
        if selection is not None:
            _print_selection(selection)
        _print(sizing, margins, settings.quantile)
    if selection is not None and settings.out is not None:
        selection.arm.save(settings.out)
        tell(f"the robot with its drives is in {plain(str(settings.out))}", stderr=True)
    if settings.plot is not None:
        from dalembert.views.report.drive_figures import drives_figure, sweep_figure

        figure = drives_figure(drives) if settings.sweep is None else sweep_figure(sizing.sweep(settings.sweep))
        options.save_plot(figure, settings.plot, force=settings.force)
    from dalembert.work.sizing.drive_sizing import light_of

    failed = [
        f"joint '{joint}' fails its check '{check}' under tolerances: {1.0 - margin:.1%} of the rating is used at the "
        f"{100 * settings.quantile:g} % quantile of the robots"
        for joint, own in margins.items()
        for check, margin in own.items()
        if light_of(margin) == "red"
    ]
    say("error", *failed)
    if failed or "red" in drives.lights.values():
        raise typer.Exit(options.LIMIT_EXCEEDED)


def _selection(arm: da.Arm, motion: Any, settings: SizeOptions, wrench: Any) -> DriveSelection:
    """The drives from the catalogues."""
    assert settings.motors is not None
    motors, gears = da.read_motors(settings.motors), None if settings.gears is None else da.read_gears(settings.gears)
    say("note", *motors.notes, *(gears.notes if gears is not None else ()))
    parts = (*motors, *(gears or ()))
    without = [part.name for part in parts if part.price is None]
    if 0 < len(without) < len(parts):
        count = f"'{without[0]}' has" if len(without) == 1 else f"{len(without)} parts, such as '{without[0]}', have"
        say("note", f"{count} no price, so the lightest drives are chosen instead of the cheapest")
    joints = None if settings.joints is None else settings.joints.split()
    rules = options.keywords(settings, "margin life brake_factor inertia_ratio")
    return da.select_drives(arm, motion, motors, gears, joints=joints, tip_wrench=wrench, **rules)


def _under_tolerances(
    arm: da.Arm, motion: Any, drives: Drives, tolerances: da.Tolerances, settings: SizeOptions, wrench: Any
) -> Margins:
    """{joint: {check: margin}} with the torques that a share of the robots within their tolerances do not exceed."""
    options.check_resume(settings.resume)
    with Bar(f"drawing robots like {arm.name}") as bar:
        load: Any = {"tip_wrench": wrench, "progress": bar}
        drawn = da.monte_carlo(arm, motion, tolerances, settings.samples, **load)
    return drives.margins(drawn.quantiles(settings.quantile))


def _drives(sizing: Sizing) -> Drives:
    if sizing.drives is None:
        raise DalembertError(
            f"robot '{sizing.arm}' has no motors and gears; give [joint.motor] and [joint.gear] in its file, or choose them with "
            "--motors MOTORS.csv"
        )
    return sizing.drives


def as_data(sizing: Sizing, selection: DriveSelection | None, margins: Margins) -> dict[str, Any]:
    """The result as data for programs; unknown values are null."""
    data: dict[str, Any] = {"arm": sizing.arm, "drives": finite(_drives(sizing).table())}
    if margins:
        data["lights_under_tolerances"] = {joint: _light(own)[0] for joint, own in margins.items()}
        data["margins_under_tolerances"] = margins
    if selection is not None:
        data |= {"criterion": selection.criterion, "selection": selection.table(), "reasons": selection.reasons}
    return data


def _print_selection(selection: DriveSelection) -> None:
    unit = "kg" if selection.criterion == "mass" else ""
    words = {"mass": "lightest", "price": "cheapest"}[selection.criterion]
    tell(f"The {words} motor and gear for each joint of {plain(selection.arm.name)}", "bold")
    rows = []
    for choice in selection.choices:
        gear, ratio = ("–", "1") if choice.gear is None else (choice.gear.name, number(choice.gear.ratio))
        cost, possible = number(choice.cost, unit), f"{choice.possible} of {choice.tried}"
        rows.append([choice.joint, choice.motor.name, gear, ratio, cost, possible])
    print_table(["joint", "motor", "gear", ">ratio", f">{selection.criterion}", ">possible"], rows)
    tell("\nWhy nothing smaller is sufficient", "bold")
    for choice in selection.choices:
        for reason in choice.reasons:
            tell(f"{plain(choice.joint)}: {plain(reason)}")
    tell("")


def _print(sizing: Sizing, margins: Margins, quantile: float) -> None:
    from dalembert.work.sizing.drive_formulas import RPM

    drives = _drives(sizing)
    tell(f"Drives of {plain(sizing.arm)} for this motion ({number(sizing.duration)} s, repeated indefinitely)", "bold")
    rows = []
    for drive in drives.joints:
        lights = [drive.light, " ".join(_light(margins.get(drive.joint))).strip()]
        mechanical = (float(abs(drive.motor_torque).max()), drive.torque_rms, drive.mean_speed / RPM)
        others = (drive.inertia_ratio[1], drive.current_rms, drive.temperature, drive.life_10)
        rows.append([drive.joint, *lights, *map(number, mechanical), *map(_known, others), drive.verdict])
    headings = ["joint", "light", f"at {100 * quantile:g} %", ">peak (N m)", ">RMS (N m)", ">mean rpm"]
    headings += [">inertia ratio", ">A RMS", ">°C", ">L10 (h)", "deciding"]
    print_table(headings, rows)
    heavy = {drive.joint: drive.inertia_ratio[1] for drive in drives.joints if drive.inertia_ratio[1] > CRITICAL}
    if heavy:
        ratios = ", ".join(f"{most:.3g} at '{joint}'" for joint, most in heavy.items())
        say(
            "note",
            f"the ratio of load inertia to motor inertia is above {CRITICAL:g}, which is hard to control without a stiff gear: "
            f"{ratios}; with --motors, --inertia-ratio {CRITICAL:g} chooses larger motors or ratios",
        )


def _light(margins: dict[str, float] | None) -> tuple[str, str]:
    """The traffic light of a joint under tolerances, and its deciding check with the margin."""
    if not margins:
        return ("" if margins is None else "unknown"), ""
    from dalembert.work.sizing.drive_sizing import light_of

    check = min(margins, key=lambda name: margins[name])
    return light_of(margins[check]), f"({check}, {margins[check]:+.0%})"


def _known(value: float) -> str:
    return "–" if math.isnan(value) else "> 1e6" if value > 1e6 else f"{value:.3g}" if value < 1000 else f"{value:.0f}"
