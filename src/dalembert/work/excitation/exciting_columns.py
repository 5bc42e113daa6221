"""Columns of the regressor that belong to terms at joints or to shared drives, and their gradients.

Such a parameter contributes Γ_jᵀ f(q_j, q̇_j), where f is the term's own law evaluated on arrays. Its derivatives are
computed by a complex step, f(q + ih)/h, which is free of cancellation. The optimiser uses tanh(q̇/v) instead of sgn q̇;
the column itself has sgn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.environment.cached_property import cached_property
from dalembert.compiler.quantities.derived import gradient
from dalembert.compiler.quantities.gradients import GRADIENTS
from dalembert.compiler.quantities.machine import kernel
from dalembert.errors import DalembertError
from dalembert.mechanics.equations.regressor import INERTIAL, WIDTH
from dalembert.robot.terms import Term
from dalembert.work.identification.fitting.base_parameters import observable_columns, random_states
from dalembert.work.identification.fitting.known_load import TipLoad
from dalembert.work.identification.fitting.parameter_set import Parameter, ParameterSet
from dalembert.work.identification.fitting.term_columns import Samples, States

Array = NDArray[Any]

STATES = 100  # random states that determine which parameters of a load have an effect
STEP = 1e-40  # of the complex step: its square vanishes in double precision


class SmoothSamples(Samples):
    """An array of samples whose sign function is tanh(x/slow)."""

    slow: float

    def __array_finalize__(self, before: Any) -> None:
        self.slow = getattr(before, "slow", 1.0)

    def sign(self) -> Any:
        """tanh(x/slow)."""
        return np.tanh(self / self.slow)


def traced(parameter: Parameter) -> bool:
    """Whether the kernel of the regressor computes a parameter's column: inertias, and columns linear in q̇ or in the load."""
    plain = parameter.unit is None or parameter.kind == "Fv" or parameter.loaded
    return parameter.source >= 0 and parameter.drive is None and plain


class ColumnLaw(NamedTuple):
    """A column at N states: Γ_jᵀ f, ``row`` being Γ_j (N, n) or (1, n), and f with its derivatives (N,) each."""

    column: int
    parameter: Parameter
    row: Array
    f: Array
    by_position: Array
    by_speed: Array


class TermColumns:
    """Parameters of a set that belong to terms or shared drives: their columns, smooth or not, and their gradients.

    members  (column of the regressor, parameter)
    slow     the speeds below which sgn is smoothed: (links,)
    """

    def __init__(self, parameters: ParameterSet, members: Sequence[tuple[int, Parameter]], slow: Array) -> None:
        self.arm, self.parameters, self.members, self.slow = parameters.arm, parameters, tuple(members), slow
        if extra := [parameter.name for _, parameter in members if parameter.torque is not None]:
            raise DalembertError(
                f"'{extra[0]}' is a user-defined column, whose gradient is unknown; motions can be planned for terms and drives only"
            )
        if warm := [parameter.name for _, parameter in members if parameter.slope is not None]:
            raise DalembertError(
                f"'{warm[0]}' depends on the temperature, which a motion does not control; plan after a fit without 'temperature' "
                "among its terms"
            )

    def laws(self, q: Array, qd: Array, qdd: Array, smooth: bool) -> list[ColumnLaw]:
        """The contribution of each at some states; gradients are those of the smooth columns, with the load held constant."""
        states, rest = States(self.arm, q, qd, qdd), np.zeros(len(q))
        loads = self.parameters.loads(q, qd, qdd) if any(x.loaded for _, x in self.members) else {}
        laws = []
        for k, parameter in self.members:
            row = parameter.row(states)
            if parameter.drive is None:
                position, speed = states.position(parameter.joint), (row * states.qd).sum(axis=1)
            else:
                position, speed = rest, states.qd @ row[0]
            by_position = by_speed = rest
            load = loads[parameter.joint] if parameter.loaded else rest
            if parameter.unit is None:  # the inertia of a shared drive
                f = (qdd * row).sum(axis=1)
            elif smooth:
                f, by_position, by_speed = self._smooth(parameter, position, speed, load)
            else:
                f = States.law(parameter.unit, position, speed, load)[:, 0]
            laws.append(ColumnLaw(k, parameter, row, f, by_position, by_speed))
        return laws

    def slopes(self, q: Array, qd: Array, laws: Sequence[ColumnLaw], G: Array) -> tuple[Array, Array, Array]:
        """∂(Σ G∘Y)/∂(q, q̇, q̈) over their smooth columns, (N, n) each."""
        dq, dqd, dqdd = (np.zeros_like(q) for _ in range(3))
        for law in laws:
            g, row = G[:, :, law.column], law.row
            along = (row * g).sum(axis=1)
            if law.parameter.unit is None:
                dqdd += along[:, None] * row
                continue
            dqd += (along * law.by_speed)[:, None] * row
            dq += (along * law.by_position)[:, None] * row
            if law.parameter.drive is None and not self.arm.mechanism.identity:
                # since Γ_j = ∂γ_j/∂q, ∂(Γ_j x)/∂q is row j of Γ̇ along x
                turned, j = self.arm.closure_derivative, law.parameter.joint
                dq += law.f[:, None] * turned(q, g)[:, j] + (along * law.by_speed)[:, None] * turned(q, qd)[:, j]
        return dq, dqd, dqdd

    def _smooth(self, parameter: Parameter, position: Array, speed: Array, load: Array) -> tuple[Array, Array, Array]:
        """f, ∂f/∂q and ∂f/∂q̇ (N,) of a term's law with smoothed sgn."""
        term = parameter.unit
        assert term is not None
        slow, drive = self.slow[parameter.joint], parameter.drive
        if drive is not None:
            slow = np.abs(drive.row(self.arm.n)) @ self.slow[list(self.parameters.actuated)]
        by_position = np.zeros(len(position))
        if not term.of:
            return States.law(term, position, speed, load)[:, 0], by_position, by_position
        value, by_speed = _law(term, position + 0j, speed + 1j * STEP, load, float(slow))
        if "q" in term.of:
            _, by_position = _law(term, position + 1j * STEP, speed + 0j, load, float(slow))
        return value, by_position, by_speed


def _law(term: Term, position: Array, speed: Array, load: Array, slow: float) -> tuple[Array, Array]:
    """(value, derivative along the complex step) of a term's torque."""
    v = np.asarray(speed).view(SmoothSamples)
    v.slow = slow
    with np.errstate(over="ignore", under="ignore"):
        torque = term.torque(np.asarray(position).view(Samples), v, np.asarray(load).view(Samples))
    out = np.broadcast_to(np.asarray(torque, complex), len(position))
    return out.real.copy(), out.imag / STEP


class LoadColumns:
    """The columns of a load at the tip: of its ten parameters in the tip's frame, those that the torques can
    distinguish.

    names  of those that have a column
    """

    def __init__(self, arm: Arm) -> None:
        if arm.mechanism.tip_body < 0:
            raise DalembertError(
                f"the tip of arm '{arm.name}' does not move; a load there has no effect on the torques"
            )
        held = TipLoad(arm)
        self.arm = arm = held.weighing
        at = WIDTH * arm.mechanism.tip_body
        entry = GRADIENTS["regressor"].of(tuple(range(at, at + len(INERTIAL))))
        self._entry, self._columns = entry, kernel(arm.mechanism, entry)
        self._carry = held.carry
        Y = self.columns(*random_states(arm, STATES)).reshape(-1, len(INERTIAL))
        seen = observable_columns(Y, zero=1e-6)
        if not seen:
            raise DalembertError(f"a load at the tip of arm '{arm.name}' has no effect on any joint torque")
        self._carry = self._carry[:, seen]
        self.names = tuple(INERTIAL[k] for k in seen)

    @cached_property
    def _slope(self) -> Any:
        return kernel(self.arm.mechanism, gradient(self._entry))

    def columns(self, q: Array, qd: Array, qdd: Array) -> Array:
        """(N, n, columns)."""
        return np.asarray(self._columns(self.arm.placed(q), qd, qdd) @ self._carry)

    def slopes(self, q: Array, qd: Array, qdd: Array, G: Array) -> tuple[Array, Array, Array]:
        """∂(Σ G∘Y)/∂(q, q̇, q̈), (N, n) each."""
        dq, dqd, dqdd = self._slope(self.arm.placed(q), qd, qdd, np.ascontiguousarray(G @ self._carry.T))
        return dq, dqd, dqdd
