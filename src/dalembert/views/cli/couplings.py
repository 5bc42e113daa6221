"""``dalembert couplings``: which coefficients of the equations of motion vanish, why, and which design makes them vanish."""

from __future__ import annotations

import re
from typing import Any

from dalembert.base.options import option
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, Loading
from dalembert.views.cli.terminal import print_json, print_lines


def couplings(
    arm: ArmArgument,
    *,
    q: str | None = options.joint_row("Also name the coefficients that are zero in this configuration only."),
    condition: str | None = option(
        "The design that makes one coefficient zero: b12, h112 or g1 (with commas from joint 10 on: b1,10).",
        metavar="b12",
    ),
    as_json: bool = option("Print the table as JSON, for programs.", False, spelled="--json"),
    loading: Loading,
) -> None:
    """Show which inertias, velocity terms and gravity torques are zero: always, by structure, or for these numbers."""
    loaded = options.load(arm, loading)
    at = None if q is None else options.row_of("--q", q, "q", loaded.n)
    reasons = loaded.couplings()
    if condition is not None:
        print_lines(reasons.condition(*_named(condition)).text())
        return
    here = None if at is None else reasons.at(at)
    if as_json:
        data: dict[str, Any] = {"arm": loaded.name, "joints": list(loaded.joint_names)}
        data |= {part: getattr(reasons, part).tolist() for part in ("inertia", "velocity", "gravity")}
        data |= {} if here is None else {"q": list(at or ()), "zero_at_q": list(here)}
        print_json(data, ascii_only=False)
        return
    print_lines(reasons.text())
    if here is not None:
        print_lines(f"\nzero in this configuration, not in others: {', '.join(here) or 'none'}")


def _named(text: str) -> tuple[Any, ...]:
    """b12 or h_1,10,2 as ("b", 1, 2), ("h", 1, 10, 2)."""
    match = re.fullmatch(r"\s*([bhg])_?(\d+(?:,\d+)*)\s*", text)
    if match is None:
        raise DalembertError(f"--condition is '{text}'; it must be a coefficient, as in b12, h112 or g1")
    letter, digits = match[1], match[2]
    split = digits.split(",") if "," in digits or letter == "g" else digits
    return (letter, *map(int, split))
