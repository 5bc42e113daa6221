"""The closed form of any robot that has one."""

from __future__ import annotations

from dalembert.coordinates.chain import AnyMechanism
from dalembert.errors import DalembertError
from dalembert.robot.model import Robot
from dalembert.symbols.closed_form import Progress
from dalembert.symbols.mapped import closed_equations
from dalembert.symbols.present import Equations, equations


def equations_of(
    robot: Robot, mechanism: AnyMechanism, parameters: str = "nonzero", progress: Progress | None = None
) -> Equations:
    """B, C, g and τ in closed form, on the tree or pulled back through a constant Γ: S 7.3.3's parallelogram."""
    if mechanism.identity:
        return equations(robot, parameters, progress)
    if not mechanism.linear:
        raise DalembertError(
            f"arm '{robot.name}' has no closed form: its closure is not linear in q (it is for parallelograms); "
            "the equations of the tree are those of arm.tree.equations()"
        )
    return closed_equations(robot, mechanism, parameters, progress)  # type: ignore[arg-type]
