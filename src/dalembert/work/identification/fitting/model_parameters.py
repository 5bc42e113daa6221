"""From options to their meaning: the parameters of a model, and the assumptions about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.errors import DalembertError
from dalembert.work.identification.fitting.columns import (
    balance_terms,
    drives_of,
    friction_of,
    heated_joints,
    joints_of,
    terms_of,
)
from dalembert.work.identification.fitting.fit_options import EstimatorOptions, ModelOptions
from dalembert.work.identification.fitting.parameter_set import JointTerm, ParameterSet, kind_of
from dalembert.work.identification.fitting.physical_consistency import Belief


def parameter_set(
    arm: Arm, model: ModelOptions, rotor: bool, temperature: Array | None = None
) -> tuple[ParameterSet, list[str]]:
    """The parameters of a model, except for shapes of friction that are determined from the log, and notes.

    temperature  (n,) the mean temperature of each joint in the log (°C), if it has them
    """
    friction = friction_of(arm, model.friction)
    if model.sigmoid not in (None, False):
        if isinstance(friction, Mapping) or model.two_sided or "coulomb" not in friction:
            raise DalembertError(
                "sigmoid describes Coulomb friction: friction must include 'coulomb' at every joint, without two_sided"
            )
        friction = tuple(kind for kind in friction if kind != "coulomb")
    offset = True if model.offset is None else joints_of(arm, "offset", model.offset)
    two_sided = joints_of(arm, "two_sided", model.two_sided or False)
    drives = drives_of(arm, () if model.coupling is None else model.coupling)
    terms, heated = heated_joints(arm, () if model.terms is None else model.terms)
    if heated and temperature is None:
        raise DalembertError(
            f"the friction of joint '{arm.joint_names[heated[0]]}' is to depend on the temperature, but the log has none; log "
            "temperature1, temperature2, … or one temperature for all joints (°C), or remove 'temperature' from terms"
        )
    chosen = ParameterSet(
        arm, friction, two_sided, offset, rotor, drives=drives, heated=heated,
        mean_temperature=temperature if heated else None,
    )  # fmt: skip
    balanced = balance_terms(arm, () if model.balance is None else model.balance)
    wanted = (*balanced, *terms_of(arm, terms))
    notes = _replaced(chosen, wanted)
    chosen = chosen.with_terms(wanted)
    _check_losses(chosen)
    return chosen, notes


def _replaced(chosen: ParameterSet, requests: Sequence[JointTerm]) -> list[str]:
    """Notes on terms of the arm that are replaced by requested ones, such as load-dependent friction by gear losses."""
    names = [joint.name for joint in chosen.arm.robot.tree_joints]
    return [
        f"'{own.name}' of joint '{names[j]}' is replaced by the requested '{term.name}': a joint has one of the two"
        for j, own in chosen.further
        for k, term in requests
        if j == k and kind_of(own) == kind_of(term) and own.name != term.name
    ]


def _check_losses(chosen: ParameterSet) -> None:
    """Raise an error for two load-dependent losses at one joint: 'load' equals 'gear' with two equal coefficients."""
    losses = [(j, term.name) for j, term in chosen.further if "load" in term.of]
    for j, joint in enumerate(chosen.arm.robot.tree_joints):
        names = [name for k, name in losses if k == j]
        if len(names) > 1:
            raise DalembertError(
                f"joint '{joint.name}' has {' and '.join(map(repr, names))}, which a log cannot distinguish; use one of them, as in "
                f"terms={{'{joint.name}': ['{names[-1]}']}}"
            )


def belief_of(estimator: EstimatorOptions) -> Belief | None:
    """The assumptions of a physically consistent fit, if one is requested."""
    if not (estimator.physical or estimator.prior is not None or estimator.bounds):
        return None
    deviation = 0.3 if estimator.prior_deviation is None else estimator.prior_deviation
    return Belief(estimator.prior, deviation, estimator.prior_kind or "entropic", estimator.bounds)
