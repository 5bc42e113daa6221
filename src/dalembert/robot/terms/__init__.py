"""Joint torque terms other than inertia, gravity and contact: friction, springs and losses.

Each term is one class, which defines its law, its coefficients and its shape (:class:`term.Term`), and one line of
``TERMS``. This makes it available everywhere: in dynamics and derivatives, in the regressor and in identification, in
simulation with stiction, in symbolic equations, in reports and in robot files, whose ``friction`` tables use its name
as a key.
"""

from __future__ import annotations

from dalembert.robot.terms.joint_laws import (
    Coulomb,
    Drag,
    GasSpring,
    GearLoss,
    Harmonic,
    LoadFriction,
    Offset,
    Sigmoid,
    Spring,
    Stribeck,
    Tanh,
    Viscous,
)
from dalembert.robot.terms.term import Term

TERMS: dict[str, type[Term]] = {
    term.name: term
    for term in (
        Viscous,
        Coulomb,
        Offset,
        Stribeck,
        Tanh,
        Sigmoid,
        Drag,
        LoadFriction,
        GearLoss,
        Harmonic,
        Spring,
        GasSpring,
    )
}
