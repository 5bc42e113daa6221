"""SymPy expressions in our letters: LaTeX that Matplotlib can also render, and plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.base.environment.extras import extra

with extra("symbols", "the SymPy form of the equations"):
    import sympy
    from sympy.printing.latex import LatexPrinter
    from sympy.printing.str import StrPrinter

POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
PRODUCT, POWER = (sympy.printing.precedence.PRECEDENCE[kind] for kind in ("Mul", "Pow"))


class Ours:
    """Common parts: sums begin with a positive term, and [x < y] is 1 if the condition holds and 0 otherwise."""

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        terms = super()._as_ordered_terms(expr, order)  # type: ignore[misc]
        return sorted(terms, key=lambda term: term.could_extract_minus_sign())

    def _print_Piecewise(self: Any, expr: Any) -> str:
        parts, before = [], sympy.true
        for value, condition in expr.args:
            here, before = sympy.And(before, condition), sympy.And(before, sympy.Not(condition))
            if value != 0:
                shown = "" if value == 1 else self.parenthesize(value, PRODUCT, strict=True)
                parts.append(f"[{self._print(here)}] {shown}".rstrip())
        return parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"


class LatexOf(Ours, LatexPrinter):
    """LaTeX."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__({"symbol_names": {sympy.Symbol(name): latex for name, latex in names.items()}})

    def _print_sign(self, expr: Any, exp: str | None = None) -> str:
        return rf"\operatorname{{sgn}}({self._print(expr.args[0])})" + (f"^{{{exp}}}" if exp else "")

    def _print_exp(self, expr: Any, exp: str | None = None) -> str:
        return rf"\exp\left({self._print(expr.args[0])}\right)" + (f"^{{{exp}}}" if exp else "")

    def _print_Abs(self, expr: Any, exp: str | None = None) -> str:
        return rf"|{self._print(expr.args[0])}|" + (f"^{{{exp}}}" if exp else "")

    def _print_Float(self, expr: Any) -> str:
        digits, _, power = f"{float(expr):.6g}".partition("e")
        return digits + (rf" \cdot 10^{{{int(power)}}}" if power else "")


class TextOf(Ours, StrPrinter):
    """Plain text: v_s1² for a square, a space for a product."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self.names = names

    def _print_Symbol(self, expr: Any) -> str:
        return self.names.get(expr.name, expr.name)

    def _print_Pi(self, expr: Any) -> str:
        return "π"

    def _print_sign(self, expr: Any) -> str:
        return f"sgn({self._print(expr.args[0])})"

    def _print_Abs(self, expr: Any) -> str:
        return f"|{self._print(expr.args[0])}|"

    def _print_Float(self, expr: Any) -> str:
        return f"{float(expr):.6g}"

    def _print_Mul(self, expr: Any) -> str:
        return super()._print_Mul(expr).replace("*", " ")

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        base, power = expr.as_base_exp()
        if isinstance(power, sympy.Integer) and power > 1:
            return self.parenthesize(base, POWER) + str(power).translate(POWERS)
        return super()._print_Pow(expr, rational)

    def doprint(self, expr: Any) -> str:
        """The expression in one line."""
        text = super().doprint(expr)
        for plain, typeset in (("-", "−"), ("sqrt(", "√("), ("<=", "≤"), (">=", "≥")):
            text = text.replace(plain, typeset)
        return text
