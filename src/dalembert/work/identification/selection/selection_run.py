"""The whole selection: the options that the user left open are chosen from the log and pinned in the settings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.arm import Arm
from dalembert.base.files.journal import Journal
from dalembert.work.identification.fitting.fit_options import AskedSettings
from dalembert.work.identification.fitting.model_parameters import parameter_set
from dalembert.work.identification.selection.blocks import Material
from dalembert.work.identification.selection.estimator_choice import EstimatorStudy
from dalembert.work.identification.selection.model_search import Progress, Selector
from dalembert.work.identification.selection.selection_result import Selection
from dalembert.work.logs.log import Log


def choose(
    arm: Arm, log: Log, settings: AskedSettings, rotor: bool, step: Progress, journal: Journal
) -> tuple[AskedSettings, Selection]:
    """The settings with all open choices made, and the trials."""
    assert settings.selection is not None
    open_, selection = settings.open, settings.selection
    material = Material(log, selection.blocks, settings.filtering.cutoff)
    selector = Selector(arm, material, settings, rotor, step, journal)
    cutoff, laws, trials, plain = selector.run()
    model = selector.model(laws)
    filtering = replace(settings.filtering, cutoff=float(cutoff))
    estimator = settings.estimator
    fixed = replace(model, sigmoid=None, stribeck=None)  # ideal Coulomb friction in place of shapes to be fitted
    parameters, _ = parameter_set(arm, fixed, rotor, material.log.mean_temperature)
    study = EstimatorStudy(parameters, material, cutoff, selection.standard_errors)
    if "estimator" in open_:
        estimator, more = study.choose(study.estimators(arm), step, journal)
        trials += more
    pinned = replace(settings, model=model, filtering=filtering, estimator=estimator, selection=None)
    drives = tuple((v.drive.i + 1, v.drive.j + 1, v.drive.ratio) for v in laws.values() if v.drive is not None)
    structure = {
        name: tuple(family for (k, family), variant in laws.items() if k == j and variant.drive is None)
        for j, name in enumerate(arm.joint_names)
    }
    outcome = Selection(
        open_, structure, drives, tuple(trials), int(np.max(material.part_count)), material.band, plain,
        study.error, model, filtering, estimator, selection.standard_errors,
    )  # fmt: skip
    return pinned, outcome
