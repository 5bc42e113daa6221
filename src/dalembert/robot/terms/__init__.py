"""Joint torque terms other than inertia, gravity and contact: friction, springs and losses.

Each term is one file, which defines its law, its coefficients and its shape (:class:`term.Term`), and one line of
``TERMS``. This makes it available everywhere: in dynamics and derivatives, in the regressor and in identification, in
simulation with stiction, in symbolic equations, in reports and in robot files, whose ``friction`` tables use its name
as a key.
"""

from __future__ import annotations

from dalembert.robot.terms.coulomb import Coulomb
from dalembert.robot.terms.drag import Drag
from dalembert.robot.terms.gas_spring import GasSpring
from dalembert.robot.terms.gear_loss import GearLoss
from dalembert.robot.terms.harmonic import Harmonic
from dalembert.robot.terms.load_friction import LoadFriction
from dalembert.robot.terms.offset import Offset
from dalembert.robot.terms.sigmoid import Sigmoid
from dalembert.robot.terms.spring import Spring
from dalembert.robot.terms.stribeck import Stribeck
from dalembert.robot.terms.tanh import Tanh
from dalembert.robot.terms.term import Term
from dalembert.robot.terms.viscous import Viscous

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
