"""Load-dependent friction where a contact is subtracted from the motor torques."""

from __future__ import annotations

from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.friction import loaded


def refuse_loads(arm: Arm, what: str) -> None:
    """Raise an error for the first joint with load-dependent friction, which τ − Jᵀ h_e does not determine."""
    for i in loaded(arm.mechanism):
        term = next(term for term in arm.mechanism.bodies[i].further if "load" in term.of)
        raise DalembertError(
            f"joint '{arm.joint_names[i]}' has {term.title} ('{term.name}'), which depends on the load, but {what} "
            f"knows the contact only as Jᵀ h_e at the joints; omit the contact, or remove the term with "
            f"friction.without('{term.name}')"
        )
