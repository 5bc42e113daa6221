"""From a robot to its symbolic equations: of its tree, in linear coordinates, or in coordinates given by formulas."""

from __future__ import annotations

from typing import Any

from dalembert.base.environment.cached_property import cached_property
from dalembert.errors import DalembertError
from dalembert.mechanics.coordinates.chain import AnyMechanism
from dalembert.mechanics.coordinates.closure import CoupledMechanism, mechanism_of
from dalembert.mechanics.coordinates.formula import Formula
from dalembert.mechanics.symbols.closed_form import ClosedForm, Progress, closed_form
from dalembert.mechanics.symbols.mapped import affine, in_linear_coordinates, labels_of
from dalembert.mechanics.symbols.present import Equations
from dalembert.mechanics.symbols.symbolic_mechanism import model, twelfths
from dalembert.mechanics.symbols.sympy_package import sympy
from dalembert.robot.model.robot import Robot


def equations_of(
    robot: Robot, mechanism: AnyMechanism, parameters: str = "nonzero", progress: Progress | None = None
) -> Equations | FormulaEquations:
    """B, C, g and τ in closed form, on the tree or pulled back through Γ: S 7.3.3's parallelogram."""
    if robot.omitted:
        raise DalembertError(
            f"arm '{robot.name}' is an approximate model without {', '.join(robot.omitted)}, but closed forms exist only for the "
            "complete model: arm.replace(omitted=()).equations()"
        )
    *_, last = mechanism.closures or [None]
    if isinstance(last, Formula):
        bare = robot.without_coordinates()
        on_joints = equations_of(bare, mechanism_of(bare), parameters, progress)
        if isinstance(on_joints, Equations):
            return FormulaEquations(on_joints, last)
    if not mechanism.linear:
        raise DalembertError(
            f"arm '{robot.name}' has no closed form: its joints do not follow q linearly (they do in parallelograms, with mimic "
            "joints and coupling matrices, and formulas may be applied once); arm.tree.equations() gives the equations of the tree"
        )
    form = closed_form(model(robot, parameters, labels_of(robot)), progress)
    if isinstance(mechanism, CoupledMechanism):
        return ChainEquations(robot, mechanism, parameters, form)
    return Equations(robot, parameters, form)


class ChainEquations(Equations):
    """The equations of a closed chain or of coupled joints, in their own coordinates; ``on_tree`` are those of the tree."""

    def __init__(self, robot: Robot, mechanism: CoupledMechanism, parameters: str, on_tree: ClosedForm) -> None:
        super().__init__(robot, parameters, in_linear_coordinates(on_tree, robot, mechanism))
        self.mechanism, self.on_tree = mechanism, on_tree
        self.labels = [str(k) for k in range(1, self.n + 1)]
        bare = robot.without_coordinates() if robot.in_coordinates else None
        # the ordinary arm of which y are the joints under another name; they come first in its tree
        self.bare = None if bare is None or bare.ties else bare

    def _augmented(self) -> ClosedForm:
        form = closed_form(model(self.robot, "all", labels_of(self.robot)))
        return in_linear_coordinates(form, self.robot, self.mechanism)

    @cached_property
    def tree(self) -> Equations:
        """The equations of the tree whose joints follow q, numbered as in the equations of the chain."""
        if self.bare is None:
            return Equations(self.robot, self.lettering, self.on_tree, ", its tree")
        on_joints = equations_of(self.bare, mechanism_of(self.bare), self.lettering)
        assert isinstance(on_joints, Equations)  # no formula is applied
        return on_joints

    @cached_property
    def gamma(self) -> sympy.ImmutableMatrix:
        """γ(q), the joint variables of the tree as functions of q."""
        n = len((self.bare or self.robot).tree_joints)
        T, b = (sympy.Matrix(x[:n]) for x in affine(self.mechanism))
        return sympy.ImmutableMatrix(T.applyfunc(sympy.nsimplify) * self.q + b.applyfunc(_turns))


def _turns(angle: float) -> Any:
    """A constant angle: a multiple of π/12 as one."""
    number = twelfths(angle)
    return sympy.Float(angle) if number is None else sympy.pi * sympy.Rational(number, 12)


class FormulaEquations:
    """B, C, g, tau, T, U, L in SymPy, in y_i, ydot_i, yddot_i, with q = f(y); ``parameters`` as in Equations.

    ``joints`` are the equations in q itself, with the derivation and the regressor. B_y = Jᵀ B J,
    C_y = Jᵀ (C J + B J̇), g_y = Jᵀ g with J = ∂f/∂y, in SymPy's own notation.
    """

    def __init__(self, e: Equations, closure: Formula) -> None:
        n = len(closure.names)
        self.joints = e
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
        self.T: sympy.Expr = (self.qd.T * self.B * self.qd)[0] / 2
        self.U: sympy.Expr = e.with_angles(e.U).subs(put, simultaneous=True)
        self.L: sympy.Expr = self.T - self.U
        self.tau: sympy.Matrix = self.B * self.qdd + self.C * self.qd + self.g + J.T * changed(e.friction)

    def __getattr__(self, name: str) -> Any:
        """Raise an error for attributes that only equations in the joint variables have."""
        where = f"; equations().joints.{name} has it in the joint variables" if hasattr(Equations, name) else ""
        raise AttributeError(f"equations in coordinates given by a formula have no '{name}'{where}")

    def latex(self) -> str:
        """The equations as a LaTeX ``align*``."""
        rows = [rf"\tau_{{{i}}} &= {sympy.latex(x)}" for i, x in enumerate(self.tau, 1)]
        return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}"
