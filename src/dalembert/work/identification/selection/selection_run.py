"""The whole selection: the options that the user left open are chosen from the log and pinned in the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dalembert.arm import Arm
from dalembert.base.environment.progress import Progress
from dalembert.work.identification.fitting.fit_options import AskedSettings
from dalembert.work.identification.fitting.model_parameters import parameter_set
from dalembert.work.identification.selection.estimator_choice import EstimatorStudy
from dalembert.work.identification.selection.model_search import Selector
from dalembert.work.identification.selection.selection_result import Selection
from dalembert.work.identification.selection.time_blocks import time_blocks
from dalembert.work.logs.conditioning import Conditioned


def choose(
    arm: Arm, ready: Conditioned, settings: AskedSettings, rotor: bool, first: Mapping[str, float], step: Progress
) -> tuple[AskedSettings, Selection, list[str]]:
    """The settings with all open choices made, the trials, and notes.

    first  values of base parameters from a first fit, by name
    """
    assert settings.selection is not None
    open_, selection = settings.open, settings.selection
    blocks = time_blocks(ready, selection.blocks)
    selector = Selector(arm, ready, blocks, settings, rotor, first, step)
    laws, trials, plain = selector.run()
    model, estimator = selector.options(laws), settings.estimator
    filtering = replace(settings.filtering, cutoff=ready.cutoff)
    fixed = replace(model, sigmoid=None, stribeck=None)  # ideal Coulomb friction in place of shapes to be fitted
    parameters, _ = parameter_set(arm, fixed, rotor, ready.log.mean_temperature)
    study = EstimatorStudy(parameters, ready, blocks, selection.standard_errors)
    if "estimator" in open_:
        estimator, more = study.choose(study.estimators(arm), step)
        trials += more
    pinned = replace(settings, model=model, filtering=filtering, estimator=estimator, selection=None)
    drives = tuple((v.drive.i + 1, v.drive.j + 1, v.drive.ratio) for v in laws.values() if v.drive is not None)
    structure = {
        name: tuple(family for (k, family), variant in laws.items() if k == j and variant.drive is None)
        for j, name in enumerate(arm.joint_names)
    }
    outcome = Selection(
        open_, structure, drives, tuple(trials), blocks.parts, ready.cutoff, plain, study.error, model, filtering,
        estimator, selection.standard_errors,
    )  # fmt: skip
    return pinned, outcome, blocks.extrapolated(arm, ready)
