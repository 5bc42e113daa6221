"""The closed form of any robot that has one."""

from __future__ import annotations

from dalembert.coordinates.chain import AnyMechanism
from dalembert.coordinates.closure import mechanism_of
from dalembert.coordinates.formula import Formula
from dalembert.errors import DalembertError
from dalembert.robot.model import Robot
from dalembert.symbols.closed_form import Progress
from dalembert.symbols.formula_equations import FormulaEquations
from dalembert.symbols.mapped import closed_equations
from dalembert.symbols.present import Equations, equations


def equations_of(
    robot: Robot, mechanism: AnyMechanism, parameters: str = "nonzero", progress: Progress | None = None
) -> Equations | FormulaEquations:
    """B, C, g and τ in closed form, on the tree or pulled back through Γ: S 7.3.3's parallelogram."""
    if mechanism.identity:
        return equations(robot, parameters, progress)
    if mechanism.linear:
        return closed_equations(robot, mechanism, parameters, progress)  # type: ignore[arg-type]
    *_, last = mechanism.closures or [None]
    if isinstance(last, Formula):
        held = robot.without_coordinates()
        e = equations_of(held, mechanism_of(held), parameters, progress)
        if isinstance(e, Equations):
            return FormulaEquations(e, last)
    raise DalembertError(
        f"arm '{robot.name}' has no closed form: its closure is not linear in q (it is for parallelograms); "
        "the equations of the tree are those of arm.tree.equations()"
    )
