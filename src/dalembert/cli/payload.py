"""``dalembert payload``: two runs, or one with a wrist sensor, in; the load at the flange out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from dalembert import Arm, Placement
from dalembert.cli.excite import _numbers
from dalembert.cli.terminal import Bar, console, number, print_table, say
from dalembert.files import check_writable


def show(
    arm: Arm, log: Path, loaded: Path | None, *, sensor: str | None, save: Path | None, force: bool, **how: Any
) -> None:
    """Identify the load and show it with its standard deviations."""
    from dalembert.identification.payload import identify_payload

    if save is not None:
        check_writable(save, overwrite=force)
    if sensor is not None:
        x, y, z, roll, pitch, yaw = _numbers("--sensor", sensor, 6)
        how["sensor"] = Placement.rpy(roll, pitch, yaw, xyz=(x, y, z))
    with Bar(f"the load of {arm.name}"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = identify_payload(arm, log, loaded, **how)
    for warning in dict.fromkeys(str(one.message) for one in caught):
        say("warning", warning)
    for note in found.notes:
        say("note", note)
    screen = console()
    rows = [["mass", number(found.mass), number(found.mass_std), "kg"]]
    rows += [
        [f"centre of mass {axis}", number(float(c)), number(float(s)), "m"]
        for axis, c, s in zip("xyz", found.com, found.com_std, strict=True)
    ]
    for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        value = float(found.inertia[i, j])
        if value == value:
            rows.append(
                [f"inertia {'xyz'[i]}{'xyz'[j]}", number(value), number(float(found.inertia_std[i, j])), "kg m²"]
            )
    if found.bias is not None and found.bias_std is not None:
        for k, word in enumerate(("fx", "fy", "fz", "mx", "my", "mz")):
            unit = "N" if k < 3 else "N m"
            rows.append([f"bias {word}", number(float(found.bias[k])), number(float(found.bias_std[k])), unit])
    print_table(screen, f"Load, in the frame '{found.frame}'", ["", ">value", ">std", "unit"], rows)
    screen.print(
        f"relative error {100 * found.relative_error:.2f} % with the load, {found.samples:,} equations; the inertia is "
        "about the centre of mass",
        soft_wrap=True,
    )
    if save is not None:
        found.attached_to(arm).save(save)
        screen.print(f"the arm with its load is in {save.resolve()}", soft_wrap=True)
