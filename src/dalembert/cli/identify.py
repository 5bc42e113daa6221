"""``dalembert identify``: a log in; parameters with their errors, a calibrated robot file and a report out."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from dalembert import Arm
from dalembert.cli.terminal import Bar, console, number, print_table, say
from dalembert.errors import DalembertError
from dalembert.files import check_writable, whole_file

if TYPE_CHECKING:
    from dalembert.identification.result import Identification, Run


@dataclass
class Wanted:
    """What to do with the log, and where the results go."""

    options: dict[str, Any]
    output: str | None = None
    report: str | None = None
    table: str | None = None
    force: bool = False
    files: list[str] = field(default_factory=list)


def pairs_of(option: str, given: list[str] | None) -> dict[str, str]:
    """KEY=VALUE words as a dict, each key once."""
    out: dict[str, str] = {}
    for word in given or []:
        key, equals, value = word.partition("=")
        if not equals or not key or not value:
            raise DalembertError(f"{option} needs KEY=VALUE, such as q=q_mot, not '{word}'")
        if key in out:
            raise DalembertError(f"{option} says twice what {key} is: {out[key]} and {value}")
        out[key] = value
    return out


def list_of(option: str, text: str | None) -> list[float] | None:
    """Numbers separated by blanks or commas."""
    if text is None:
        return None
    try:
        return [float(word) for word in text.replace(",", " ").split()]
    except ValueError as error:
        raise DalembertError(f'{option} "{text}": {str(error).partition(": ")[2]} is not a number') from None


def boxes_of(given: list[str] | None) -> dict[str, Any] | None:
    """LINK="x y z X Y Z" words as bounds: the lowest and the highest corner of a box that holds the link's mass."""
    out = {}
    for link, text in pairs_of("--box", given).items():
        numbers = list_of(f"--box {link}", text) or []
        if len(numbers) != 6:
            raise DalembertError(f'--box {link} needs 6 numbers, "x y z X Y Z" of two corners in m, not {len(numbers)}')
        out[link] = {"box": (numbers[:3], numbers[3:])}
    return out or None


def couplings_of(given: list[str] | None) -> list[tuple[Any, ...]]:
    """Words like 5:6 or joint_5:joint_6:1.0."""
    out: list[tuple[Any, ...]] = []
    for word in given or []:
        parts = word.split(":")
        if len(parts) not in (2, 3):
            raise DalembertError(f"--coupling needs two joints, such as 5:6, and perhaps a ratio, not '{word}'")
        try:
            out.append((*parts[:2], *(float(x) for x in parts[2:])))
        except ValueError:
            raise DalembertError(f"--coupling '{word}': {parts[2]} is not a number") from None
    return out


def reading_of(
    n: int,
    columns: list[str] | None,
    gains: str | None,
    gears: str | None,
    motor_side: str | None,
    time_unit: str | None,
    units: list[str] | None = None,
    joints: str | None = None,
    topic: str | None = None,
) -> dict[str, Any]:
    """How the log is to be read: only what was given, so that what the log says itself holds otherwise."""
    ratios = list_of("--gears", gears)
    reading = {
        "columns": pairs_of("--column", columns) or None, "gains": list_of("--gains", gains), "time_unit": time_unit,
        "gears": ratios if ratios is None or len(ratios) != n * n else [ratios[k * n : k * n + n] for k in range(n)],
        "motor_side": tuple(motor_side.replace(",", " ").split()) if motor_side else None,
        "units": pairs_of("--unit", units) or None, "topic": topic,
        "joint_names": joints.replace(",", " ").split() if joints else None,
    }  # fmt: skip
    return {key: value for key, value in reading.items() if value is not None}


SHARES = {"reading": (0.0, 0.3), "filtering": (0.3, 0.1), "regressor": (0.4, 0.5), "residuals": (0.9, 0.1)}


def run_identify(arm: Arm, log: str | list[str], wanted: Wanted) -> None:
    """Identify, and write what was asked for; nothing is written when anything is wrong."""
    from dalembert.identification.fit import identify

    for path in (wanted.output, wanted.report, wanted.table):
        if path is not None:
            check_writable(path, overwrite=wanted.force)
    if wanted.output is not None and Path(wanted.output).suffix.lower() not in (".toml", ".urdf"):
        raise DalembertError(f"{wanted.output}: a calibrated arm is saved as .toml or .urdf")
    with Bar("identifying") as bar, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        def told(words: str, fraction: float) -> None:
            begin, share = SHARES.get(words, (0.95, 0.05))
            bar(begin + share * fraction)

        fit = identify(arm, log, progress=told, **wanted.options)
        if wanted.output is not None:
            fit.arm.save(wanted.output)
    for warning in dict.fromkeys(str(one.message) for one in caught):
        say("warning", warning)
    for note in fit.notes:
        say("note", note)
    show(fit)
    if wanted.output is not None:
        for note in fit.arm_notes:
            say("note", note)
        say("note", f"the calibrated arm is in {wanted.output}")
    if wanted.table is not None:
        with whole_file(wanted.table, overwrite=wanted.force) as file:
            json.dump(as_json(fit), file, indent=1, ensure_ascii=False)
            file.write("\n")
    if wanted.report is not None:
        from dalembert.report.identification import write_identification

        with Bar("writing the report") as bar:
            write_identification(wanted.report, fit, overwrite=wanted.force, progress=bar)
        say("note", f"the report is in {wanted.report}")


def show(fit: Identification) -> None:
    """The tables on the screen."""
    screen = console()
    rows = []
    for name, value, std, relative in zip(fit.names, fit.parameters, fit.std, fit.relative_std, strict=True):
        mark = "not in the log" if name in fit.unidentified else "" if name in fit.essential else "not essential"
        rows.append([name, number(float(value)), number(float(std), digits=2), _percent(float(relative)), mark])
    print_table(screen, "Base parameters (SI units)", ["parameter", ">value", ">std", ">relative std", ""], rows)
    if any(np.count_nonzero(row) > 1 for row in fit.base.K):
        screen.print("Some are sums, named after their first term: --report and --json spell them out.")
    screen.print()
    columns = ["run", *(f">{name}" for name in fit.before.joint_names), ">all"]
    errors: list[list[str] | list[Text]] = [_errors(fit.run), *(_errors(run) for run in fit.validation)]
    print_table(screen, "Relative torque error (%)", columns, errors)
    screen.print()
    definite = "positive definite" if fit.positive_definite else "not positive definite"
    screen.print(
        f"{len(fit.parameters)} base parameters, {len(fit.essential)} essential; condition number {fit.condition:.4g}, "
        f"{fit.scaled_condition:.3g} with columns of length one; "
        f"B(q) is {definite} at 10,000 random poses (smallest eigenvalue {fit.smallest_inertia:.3g})"
    )


def _errors(run: Run) -> list[str]:
    return [Path(run.name).name, *(f"{100 * e:.2f}" for e in run.joint_errors), f"{100 * run.relative_error:.2f}"]


def _percent(share: float) -> str:
    if not np.isfinite(share):
        return "∞"
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %" if share < 10 else "> 1000 %"


def as_json(fit: Identification) -> dict[str, Any]:
    """Everything of an identification that is a number, for programs."""

    def plain(values: Any) -> list[float | None]:
        return [float(v) if np.isfinite(v) else None for v in values]

    runs = [fit.run, *fit.validation]
    return {
        "arm": fit.before.name,
        "method": fit.method,
        "physical": fit.physical,
        "names": list(fit.names),
        "formulas": list(fit.formulas),
        "parameters": plain(fit.parameters),
        "std": plain(fit.std),
        "condition": fit.condition,
        "scaled_condition": fit.scaled_condition,
        "noise": plain(fit.noise),
        "essential": list(fit.essential),
        "unidentified": list(fit.unidentified),
        "positive_definite": fit.positive_definite,
        "smallest_inertia": fit.smallest_inertia,
        "runs": [
            {
                "name": r.name,
                "relative_error": r.relative_error,
                "joint_errors": plain(r.joint_errors),
                "rms": plain(r.rms),
            }
            for r in runs
        ],
        "notes": list(fit.notes),
        "warnings": list(fit.warnings),
    }
