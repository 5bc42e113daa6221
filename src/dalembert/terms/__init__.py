"""Joint torque terms other than inertia, gravity and contact: friction, springs and losses.

Each term is one file, which defines its law, its coefficients and its shape (:class:`term.Term`), and one line of
``TERMS``. This makes it available everywhere: in dynamics and derivatives, in the regressor and in identification, in
simulation with stiction, in symbolic equations, in reports and in robot files, whose ``friction`` tables use its name
as a key.
"""

from __future__ import annotations

from dalembert.terms.coulomb import Coulomb
from dalembert.terms.drag import Drag
from dalembert.terms.gas_spring import GasSpring
from dalembert.terms.gear_loss import GearLoss
from dalembert.terms.harmonic import Harmonic
from dalembert.terms.load_friction import LoadFriction
from dalembert.terms.offset import Offset
from dalembert.terms.sigmoid import Sigmoid
from dalembert.terms.spring import Spring
from dalembert.terms.stribeck import Stribeck
from dalembert.terms.tanh import Tanh
from dalembert.terms.term import Term
from dalembert.terms.viscous import Viscous

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
