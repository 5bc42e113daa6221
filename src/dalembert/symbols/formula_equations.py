"""The closed form in coordinates that a user's formulas give: q = f(y)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.coordinates.formula import Formula
from dalembert.symbols.present import Equations

if TYPE_CHECKING:
    import sympy


class FormulaEquations:
    """B, C, g, tau as SymPy matrices in y_i, ydot_i, yddot_i; ``parameters`` as in Equations.

    B_y = Jᵀ B J, C_y = Jᵀ (C J + B J̇), g_y = Jᵀ g with J = ∂f/∂y, in SymPy's own way of writing.
    """

    def __init__(self, e: Equations, closure: Formula) -> None:
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
        import sympy

        rows = [rf"\tau_{{{i}}} &= {sympy.latex(x)}" for i, x in enumerate(self.tau, 1)]
        return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}"
