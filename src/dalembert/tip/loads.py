"""Friction that depends on the load, where a contact is taken off the motors' torques."""

from __future__ import annotations

from dalembert.arm import Arm
from dalembert.equations.friction import loaded
from dalembert.errors import DalembertError


def refuse_loads(arm: Arm, what: str) -> None:
    """An error for the first joint whose friction depends on its load: τ − Jᵀ h_e does not say what that is."""
    for i in loaded(arm.mechanism):
        term = next(term for term in arm.mechanism.bodies[i].further if "load" in term.of)
        raise DalembertError(
            f"joint '{arm.joint_names[i]}' has {term.title} ('{term.name}'), which depends on the load, and {what} knows of "
            f"a contact only Jᵀ h_e at the joints; leave out the contact, or the term with friction.without('{term.name}')"
        )
