"""From a robot to its equations in letters: those of its tree, those in linear coordinates, or those in formulas."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dalembert.coordinates.chain import AnyMechanism
from dalembert.coordinates.closure import CoupledMechanism, mechanism_of
from dalembert.coordinates.formula import Formula
from dalembert.environment.extras import extra
from dalembert.errors import DalembertError
from dalembert.robot.model import Robot
from dalembert.symbols.closed_form import Progress, closed_form
from dalembert.symbols.mapped import in_linear_coordinates
from dalembert.symbols.model import model
from dalembert.symbols.present import Equations
from dalembert.symbols.recursion import SymbolicRecursion

if TYPE_CHECKING:
    import sympy


def equations_of(
    robot: Robot, mechanism: AnyMechanism, parameters: str = "nonzero", progress: Progress | None = None
) -> Equations | FormulaEquations:
    """B, C, g and τ in closed form, on the tree or pulled back through Γ: S 7.3.3's parallelogram."""
    if robot.omitted:
        raise DalembertError(
            f"arm '{robot.name}' is an approximate model without {', '.join(robot.omitted)}, and closed forms are those of the "
            "whole: arm.replace(omitted=()).equations()"
        )
    *_, last = mechanism.closures or [None]
    if isinstance(last, Formula):
        bare = robot.without_coordinates()
        on_joints = equations_of(bare, mechanism_of(bare), parameters, progress)
        if isinstance(on_joints, Equations):
            return FormulaEquations(on_joints, last)
    if not mechanism.linear:
        raise DalembertError(
            f"arm '{robot.name}' has no closed form: its joints do not follow q linearly (they do in parallelograms, with "
            "mimic joints and coupling matrices, and formulas may be put in once); the equations of the tree are those of arm.tree.equations()"
        )
    form = closed_form(model(robot, parameters), progress)
    if isinstance(mechanism, CoupledMechanism):
        return Equations(robot.name, in_linear_coordinates(form, robot, mechanism))
    return Equations(robot.name, form, partial(SymbolicRecursion, robot, parameters))


class FormulaEquations:
    """B, C, g, tau as SymPy matrices in y_i, ydot_i, yddot_i, with q = f(y); ``parameters`` as in Equations.

    B_y = Jᵀ B J, C_y = Jᵀ (C J + B J̇), g_y = Jᵀ g with J = ∂f/∂y, in SymPy's own way of writing.
    """

    def __init__(self, e: Equations, closure: Formula) -> None:
        with extra("symbols", "the SymPy form of the equations"):
            import sympy

        n = len(closure.names)
        self.q, self.parameters = sympy.Matrix(closure.symbols), e.parameters
        self.qd, self.qdd = (sympy.Matrix(sympy.symbols(f"y{dots}_1:{n + 1}")) for dots in ("dot", "ddot"))
        f = sympy.Matrix(closure.formulas)
        J = f.jacobian(self.q)
        Jd = sum((J.diff(y) * v for y, v in zip(self.q, self.qd, strict=True)), sympy.zeros(n, n))
        put = {**dict(zip(e.q, f, strict=True)), **dict(zip(e.qd, J * self.qd, strict=True))}

        def changed(M: Any) -> Any:
            return sympy.Matrix(e.with_angles(M)).subs(put, simultaneous=True)

        B, C = changed(e.B), changed(e.C)
        self.B: sympy.Matrix = J.T * B * J
        self.C: sympy.Matrix = J.T * (C * J + B * Jd)
        self.g: sympy.Matrix = J.T * changed(e.g)
        self.tau: sympy.Matrix = self.B * self.qdd + self.C * self.qd + self.g + J.T * changed(e.friction)

    def latex(self) -> str:
        """The equations as a LaTeX ``align*``."""
        with extra("symbols", "the SymPy form of the equations"):
            import sympy

        rows = [rf"\tau_{{{i}}} &= {sympy.latex(x)}" for i, x in enumerate(self.tau, 1)]
        return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}"
