"""``dalembert size``: check the drives of an arm against a motion, or choose them."""

from __future__ import annotations

import json
import math
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

import dalembert as da
from dalembert.cli import options
from dalembert.cli.terminal import number, plain, print_table, say, tell
from dalembert.cli.torques import read
from dalembert.environment.progress import Bar
from dalembert.errors import DalembertError
from dalembert.files import check_writable

if TYPE_CHECKING:
    from dalembert.analysis.drives import Drives
    from dalembert.analysis.selection import DriveSelection
    from dalembert.analysis.sizing import Sizing

Margins = dict[str, dict[str, float]]  # of the checks of each joint

CRITICAL = 10.0  # ratio of load inertia to motor inertia above which a warning is usual


def size(
    arm: options.ArmArgument,
    motion: Annotated[Path, Argument(metavar="MOTION.csv", help=options.MotionHelp, show_default=False)],
    motors: Annotated[
        Path | None, Option(metavar="MOTORS.csv", help="A catalogue: choose the smallest motor for each joint.")
    ] = None,
    gears: Annotated[
        Path | None, Option(metavar="GEARS.csv", help="A catalogue of gears; by default joints keep their own.")
    ] = None,
    joints: Annotated[
        str | None, Option(metavar='"j1 j2 …"', help="The joints to equip from the catalogues; default: all.")
    ] = None,
    margin: Annotated[float, Option(metavar="SHARE", help="Margin that every check must keep: 0.2 for green.")] = 0.0,
    life: Annotated[float | None, Option(metavar="HOURS", help="Life L10 that the gears must reach.")] = None,
    brake_factor: Annotated[
        float, Option(metavar="FACTOR", help="Safety factor of a brake on the worst gravity torque.")
    ] = 1.5,
    inertia_ratio: Annotated[
        float | None, Option(metavar="RATIO", help="The largest ratio of load inertia to motor inertia to choose.")
    ] = None,
    tolerance: options.ToleranceOption = None,
    quantile: Annotated[
        float, Option(metavar="SHARE", help="Share of the robots within --tolerance that must keep their rating.")
    ] = 0.95,
    samples: Annotated[int, Option(metavar="N", help="How many robots within --tolerance are drawn.")] = 10_000,
    resume: options.ResumeOption = True,
    sweep: Annotated[
        str | None,
        Option(metavar="JOINT", help="Plot this joint's motor torque and speed against the gear ratio (--plot)."),
    ] = None,
    plot: Annotated[
        str | None,
        Option("--plot", metavar="OUT.png", help="Write the speed–torque diagrams, or the sweep: .png, .svg or .pdf."),
    ] = None,
    out: Annotated[
        Path | None, Option("--out", "-o", metavar="FITTED.toml", help="Write the robot with the chosen drives.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print the numbers as JSON, for programs.")] = False,
    force: options.ForceFlag = False,
    reading: options.Reading = options.AS_WRITTEN,
    tip_wrench: options.WrenchOption = None,
    payload: options.PayloadOption = None,
    payload_com: options.PayloadComOption = None,
    loading: options.Loading = options.AS_IT_IS,
) -> None:
    """Check the drives of an arm against a motion, or choose drives from catalogues.

    Without --motors the motors and gears of the robot file are checked: utilisation, heat, life, brakes. With --motors
    the smallest motor and gear of the catalogues are chosen for every joint, with all joints coupled, and the checks
    that the next smaller ones fail are shown.

    Exit status 3 means that a check is exceeded.
    """
    wrench, within = options.wrench_of(tip_wrench), options.tolerances_of(tolerance)
    _fit_together(motors, gears, joints, out, sweep, plot)
    options.check_plot(plot, force=force)
    if out is not None:
        options.not_an_input(out, "the robot would overwrite the file it is", motion, arm, motors, gears)
        check_writable(out, overwrite=force, kinds=(".toml",))
    loaded = options.load(arm, loading, payload, payload_com)
    if sweep is not None and sweep not in loaded.joint_names:
        near = get_close_matches(sweep, loaded.joint_names, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"the joints are {', '.join(loaded.joint_names)}"
        raise DalembertError(f"--sweep is '{sweep}', but there is no such joint; {hint}")
    table, _ = read(loaded, motion, reading)
    selection = None
    if motors is not None:
        some_motors, some_gears = da.read_motors(motors), da.read_gears(gears) if gears is not None else None
        say("note", *some_motors.notes, *(some_gears.notes if some_gears is not None else ()))
        without = [part.name for part in (*some_motors, *(some_gears or ())) if part.price is None]
        if without and len(without) < len(some_motors) + len(some_gears or ()):
            count = (
                f"'{without[0]}' has" if len(without) == 1 else f"{len(without)} parts, such as '{without[0]}', have"
            )
            say("note", f"{count} no price, so the lightest drives are chosen instead of the cheapest")
        selection = da.select_drives(
            loaded, table, some_motors, some_gears, joints=joints.split() if joints is not None else None,
            margin=margin, life=life, brake_factor=brake_factor, inertia_ratio=inertia_ratio, tip_wrench=wrench,
        )  # fmt: skip
    sizing = selection.sizing if selection else da.size(loaded, table, wrench, life=life, brake_factor=brake_factor)
    fitted = selection.arm if selection else loaded
    drives = _drives(sizing)
    margins: Margins = {}
    if within is not None:
        margins = _under_tolerances(fitted, table, drives, within, quantile, wrench, samples, resume)
    if as_json:
        json.dump(as_data(sizing, selection, margins), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        if selection is not None:
            _print_selection(selection)
        _print(sizing, margins, quantile)
    if selection is not None and out is not None:
        from dalembert.robot.toml_writer import save_toml

        save_toml(selection.arm.robot, out)
        tell(f"the robot with its drives is in {plain(str(out))}", stderr=True)
    if plot is not None:
        from dalembert.report.drives import drives_figure, sweep_figure

        figure = sweep_figure(sizing.sweep(sweep)) if sweep is not None else drives_figure(_drives(sizing))
        options.save_plot(figure, plot, force=force)
        tell(f"the picture is in {plain(plot)}", stderr=True)
    from dalembert.analysis.drives import light_of

    failed = [
        f"joint '{joint}' fails its check '{check}' under tolerances: {1.0 - margin:.1%} of the rating is used at the "
        f"{100 * quantile:g} % quantile of the robots"
        for joint, own in margins.items()
        for check, margin in own.items()
        if light_of(margin) == "red"
    ]
    say("error", *failed)
    if failed or "red" in drives.lights.values():
        raise typer.Exit(options.LIMIT_EXCEEDED)


def _fit_together(motors: Any, gears: Any, joints: Any, out: Any, sweep: Any, plot: Any) -> None:
    """Refuse options that need another one."""
    for value, option in ((gears, "--gears"), (joints, "--joints"), (out, "--out")):
        if value is not None and motors is None:
            raise DalembertError(f"{option} applies to choosing drives, but --motors MOTORS.csv is missing")
    if sweep is not None and plot is None:
        raise DalembertError("--sweep draws a picture, but --plot OUT.png is missing")


def _under_tolerances(
    arm: da.Arm,
    motion: Any,
    drives: Drives,
    tolerances: da.Tolerances,
    share: float,
    wrench: Any,
    samples: int,
    resume: bool,
) -> Margins:
    """{joint: {check: margin}} with the torques that ``share`` of the robots within their tolerances do not exceed."""
    if not 0 < share < 1:
        raise DalembertError(f"--quantile is {share:g}; it must lie between 0 and 1")
    with Bar(f"drawing robots like {arm.name}") as bar:
        drawn = da.monte_carlo(
            arm, motion, tolerances, samples, tip_wrench=wrench, progress=bar, resume=options.resuming(resume)
        )
    return drives.margins(drawn.quantiles(share))


def _drives(sizing: Sizing) -> Drives:
    if sizing.drives is None:
        raise DalembertError(
            f"robot '{sizing.arm}' has no motors and gears; give [joint.motor] and [joint.gear] in its file, or choose them with "
            "--motors MOTORS.csv"
        )
    return sizing.drives


def as_data(sizing: Sizing, selection: DriveSelection | None, margins: Margins) -> dict[str, Any]:
    """The result as data for programs; unknown values are null."""
    rows = _drives(sizing).table()
    known = [
        {key: None if isinstance(x, float) and not math.isfinite(x) else x for key, x in row.items()} for row in rows
    ]
    data: dict[str, Any] = {"arm": sizing.arm, "drives": known}
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
    rows = [
        [
            choice.joint, choice.motor.name, choice.gear.name if choice.gear is not None else "–",
            number(choice.gear.ratio) if choice.gear is not None else "1", number(choice.cost, unit), f"{choice.possible} of {choice.tried}",
        ]
        for choice in selection.choices
    ]  # fmt: skip
    print_table(["joint", "motor", "gear", ">ratio", f">{selection.criterion}", ">possible"], rows)
    tell("\nWhy nothing smaller is sufficient", "bold")
    for choice in selection.choices:
        for reason in choice.reasons:
            tell(f"{plain(choice.joint)}: {plain(reason)}")
    tell("")


def _print(sizing: Sizing, margins: Margins, quantile: float) -> None:
    from dalembert.analysis.drive_formulas import RPM

    drives = _drives(sizing)
    tell(f"Drives of {plain(sizing.arm)} for this motion ({number(sizing.duration)} s, repeated indefinitely)", "bold")
    rows = []
    for drive in drives.joints:
        peak = float(abs(drive.motor_torque).max())
        rows.append(
            [
                drive.joint, drive.light, " ".join(_light(margins.get(drive.joint))).strip(), number(peak), number(drive.torque_rms), number(drive.mean_speed / RPM, digits=4),
                _known(drive.inertia_ratio[1]), _known(drive.current_rms), _known(drive.temperature), _known(drive.life_10),
                drive.verdict,
            ]
        )  # fmt: skip
    headings = [
        "joint",
        "light",
        f"at {100 * quantile:g} %",
        ">peak (N m)",
        ">RMS (N m)",
        ">mean rpm",
        ">inertia ratio",
        ">A RMS",
        ">°C",
    ]
    headings += [">L10 (h)", "deciding"]
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
    from dalembert.analysis.drives import light_of

    check = min(margins, key=lambda name: margins[name])
    return light_of(margins[check]), f"({check}, {margins[check]:+.0%})"


def _known(value: float) -> str:
    return "–" if math.isnan(value) else "> 1e6" if value > 1e6 else f"{value:.3g}" if value < 1000 else f"{value:.0f}"
