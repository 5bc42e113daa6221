"""Tasks of worker processes: identifications."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalembert.arm import Arm
from dalembert.errors import MissingExtraError
from dalembert.views.report.identification import identification_html, remarks, verdict
from dalembert.views.studio.worker import Tell, noting
from dalembert.work.identification.fitting.fit import identify
from dalembert.work.identification.fitting.progress_stages import Stages

FITTED = 0.8  # share of the progress before the report is written


@dataclass(frozen=True)
class Fitted:
    """The result of an identification: the calibrated arm, the report as a page, and the data for the studio's page."""

    arm: Arm
    report: str | None
    data: dict[str, Any]


def identify_log(tell: Tell, arm: Arm, logs: list[str], settings: dict[str, Any]) -> Fitted:
    """The identification of the arm's parameters from logs of its motion."""
    notes: list[str] = []
    stages = Stages()
    with noting(notes):
        fit = identify(
            arm, logs if len(logs) > 1 else logs[0],
            progress=lambda words, fraction: tell(words, FITTED * stages(words, fraction)), **settings,
        )  # fmt: skip
        calibrated = fit.arm
    try:
        report = identification_html(fit, lambda fraction: tell("report", FITTED + (1 - FITTED) * fraction))
    except MissingExtraError as error:
        report = None
        notes.append(str(error))
    runs = [
        {"run": Path(run.name).name, "instants": instants, "joints": list(joints), "all": overall}
        for run in (fit.run, *fit.validation)
        for instants, overall, joints in run.error_table
    ]
    data = {
        "joints": list(arm.joint_names),
        "errors": runs,
        "selection": [] if fit.selection is None else list(fit.selection.sentences),
        "verdict": verdict(fit),
        "notes": [*notes, *remarks(fit)],
    }
    return Fitted(calibrated, report, data)
