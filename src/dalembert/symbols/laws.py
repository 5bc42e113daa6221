"""The laws of further friction terms in letters: evaluated on SymPy expressions, and written like the others.

A law need not be a polynomial. The factor of a coefficient is therefore one letter of the ring, of the kind
"function", with a SymPy expression of the joint's variables, the shape parameters of the term and the load τ̄_i; in
the equations it is written as that expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dalembert.algebra.scalars import Scalar
from dalembert.environment.extras import extra
from dalembert.symbols.names import GREEK, RESERVED, Letter, braced, joint_variable, letter
from dalembert.symbols.ring import Polynomial, Ring
from dalembert.terms import Term

if TYPE_CHECKING:
    import sympy

    from dalembert.symbols.model import Lettering


def _sympy() -> Any:
    with extra("symbols", "friction beyond viscous and Coulomb in equations"):
        import sympy

    return sympy


@dataclass
class Function(Letter):
    """A letter that stands for an expression; ``uses`` are the letters that occur in it."""

    expression: Any = None
    uses: tuple[Letter, ...] = ()

    @property
    def needs_load(self) -> bool:
        """Whether the expression contains the load of its joint."""
        return any(used.kind == "load" for used in self.uses)

    def at(self, motion: Mapping[str, Any], numbers: Mapping[str, float]) -> Any:
        """Its value: ``motion`` has arrays (…, n), whose columns are the letters of each kind."""
        sympy = _sympy()
        symbols = [sympy.Symbol(used.name) for used in self.uses]
        columns = (
            numbers[used.name] if used.value is not None else motion[used.kind][..., used.index - 1]
            for used in self.uses
        )
        return sympy.lambdify(symbols, self.expression, "numpy")(*columns)


def load_letter(index: int) -> Letter:
    """τ̄_i, the torque that joint i transmits."""
    return Letter(f"taubar_{index}", rf"\bar{{\tau}}_{braced(str(index))}", f"τ̄_{index}", "load", index)


def torque_of(term: Term, index: int, revolute: bool, lettering: Lettering) -> Polynomial:
    """The torque of a term at joint ``index``, counted from 1."""
    ring = lettering.ring
    numbers = _numbers(term, index, lettering)
    shapes = {name: numbers[name] for name in numbers if name not in term.linear()}
    motion = [joint_variable(index, revolute), joint_variable(index, revolute, 1), load_letter(index)]
    known = [*motion, *(letter for x in shapes.values() for letter in _letters(x))]
    columns = replace(term, **{name: _scalar(x) for name, x in shapes.items()}).columns(*map(symbol, motion))
    torque = ring.number(0)
    for name, column in zip(term.linear(), columns, strict=True):
        if numbers[name]:
            torque = torque + numbers[name] * function(ring, expression_of(column), known, index)
    return torque


def function(ring: Ring, expression: sympy.Expr, known: Sequence[Letter], index: int) -> Polynomial:
    """An expression as a polynomial: a number times a letter."""
    sympy = _sympy()
    if expression.is_number:
        return ring.number(float(expression))
    factor, expression = expression.as_coeff_Mul()
    occurring = {x.name for x in expression.free_symbols}
    uses = tuple(x for x in known if x.name in occurring)
    latex, text = written(expression, uses)
    if isinstance(expression, sympy.Add):
        latex, text = f"({latex})", f"({text})"
    name = f"f_{index}_{len(ring.letters)}"
    law = ring.letter(Function(name, latex, text, "function", index, expression=expression, uses=uses))
    return law * float(factor)


def moved(ring: Ring, law: Function, sums: Sequence[Sequence[tuple[float, Letter | None]]]) -> Polynomial:
    """The function with a sum (factor, letter) … substituted for each letter that it uses."""
    sympy = _sympy()
    images = {
        sympy.Symbol(old.name): sympy.Add(*(_exact(f) * (sympy.Symbol(x.name) if x else 1) for f, x in parts if f))
        for old, parts in zip(law.uses, sums, strict=True)
    }
    known = {x.name: x for parts in sums for f, x in parts if f and x}
    return function(ring, law.expression.xreplace(images), list(known.values()), law.index)


# -- letters -----------------------------------------------------------------------------------------


def _numbers(term: Term, index: int, lettering: Lettering) -> dict[str, Polynomial]:
    """The letters of a term's numbers: F_st1 for "Fst"; with the term's initial if S or another term uses the letter."""
    taken = {x.name for x in lettering.ring.letters}
    initial = term.name[0]
    for tag in ("", initial, *(f"{initial}{k}" for k in range(2, len(taken) + 3))):
        words = {x.name: _base_and_subscript(x.metadata["symbol"], tag, index) for x in term.numbers()}
        ours = {letter(*word, "friction", index, 0.0, "").name for word in words.values()}
        if not ours & taken and not any(base in RESERVED and sub == str(index) for base, sub in words.values()):
            break
    title = f"{term.title.removeprefix('the ')} of joint {index}"
    meaning = {name: f"{title}: {name}" if len(words) > 1 else title for name in words}
    return {
        name: lettering(getattr(term, name), *word, "friction", index, meaning[name]) for name, word in words.items()
    }


def _base_and_subscript(symbol: str, tag: str, index: int) -> tuple[str, str]:
    """F and st1 for "Fst" at joint 1; eta and 1,2 for "eta1" at joint 2."""
    base = next((word for word in GREEK if symbol.startswith(word)), symbol[:1])
    rest = symbol.removeprefix(base) + tag
    return base, f"{rest}{',' if rest[-1:].isdigit() else ''}{index}"


def _letters(x: Polynomial) -> list[Letter]:
    return [x.ring.letters[k] for monomial in x.terms for k, _ in x.ring.exponents(monomial)]


def _scalar(x: Polynomial) -> Scalar:
    """A letter as a symbol, a number unchanged."""
    letters = _letters(x)
    return symbol(letters[0]) if letters else float(x.value(()))


# -- scalars -----------------------------------------------------------------------------------------


def symbol(letter: Letter) -> Symbolic:
    """The letter as a symbolic scalar."""
    sympy = _sympy()
    return Symbolic(sympy.Symbol(letter.name))


def expression_of(x: Scalar) -> sympy.Expr:
    """A scalar as a SymPy expression; |x| for x sgn x."""
    sympy = _sympy()
    value = x.value if isinstance(x, Symbolic) else _exact(x)
    return value.replace(lambda part: part.is_Mul and part.has(sympy.sign), _with_sizes)


def _with_sizes(product: sympy.Expr) -> sympy.Expr:
    sympy = _sympy()
    for sign in (factor for factor in product.args if isinstance(factor, sympy.sign)):
        (x,) = sign.args
        if any(factor.as_base_exp()[0] == x for factor in product.args):
            product = product / sign / x * sympy.Abs(x)
    return product


def _exact(x: float) -> sympy.Expr:
    sympy = _sympy()
    return sympy.Integer(int(x)) if float(x).is_integer() else sympy.Float(x)


class Symbolic:
    """A scalar of :mod:`dalembert.algebra.scalars` that is a SymPy expression, or a condition."""

    __slots__ = ("expression",)

    def __init__(self, expression: Any) -> None:
        self.expression = expression

    @property
    def value(self) -> sympy.Expr:
        """The expression; for a condition 1 if it holds and 0 otherwise."""
        sympy = _sympy()
        if isinstance(self.expression, sympy.Expr):
            return self.expression
        return sympy.Piecewise((1, self.expression), (0, True))

    def _with(self, other: Scalar, operation: Callable[[Any, Any], Any]) -> Symbolic:
        return Symbolic(operation(self.value, expression_of(other)))

    def __add__(self, other: Scalar) -> Symbolic:
        return self._with(other, lambda x, y: x + y)

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Symbolic:
        return self._with(other, lambda x, y: x - y)

    def __rsub__(self, other: Scalar) -> Symbolic:
        return self._with(other, lambda x, y: y - x)

    def __mul__(self, other: Scalar) -> Symbolic:
        return self._with(other, lambda x, y: x * y)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Symbolic:
        return self._with(other, lambda x, y: x / y)

    def __rtruediv__(self, other: Scalar) -> Symbolic:
        return self._with(other, lambda x, y: y / x)

    def __neg__(self) -> Symbolic:
        return Symbolic(-self.value)

    def _of(self, name: str, *others: Scalar) -> Symbolic:
        sympy = _sympy()
        return Symbolic(getattr(sympy, name)(self.value, *map(expression_of, others)))

    def sin(self) -> Symbolic:
        """sin x"""
        return self._of("sin")

    def cos(self) -> Symbolic:
        """cos x"""
        return self._of("cos")

    def sqrt(self) -> Symbolic:
        """√x"""
        return self._of("sqrt")

    def exp(self) -> Symbolic:
        """eˣ"""
        return self._of("exp")

    def log(self) -> Symbolic:
        """ln x"""
        return self._of("log")

    def tanh(self) -> Symbolic:
        """tanh x"""
        return self._of("tanh")

    def asin(self) -> Symbolic:
        """arcsin x"""
        return self._of("asin")

    def acos(self) -> Symbolic:
        """arccos x"""
        return self._of("acos")

    def sign(self) -> Symbolic:
        """sgn x"""
        return self._of("sign")

    def atan2(self, x: Scalar) -> Symbolic:
        """The angle of the point (x, self)."""
        return self._of("atan2", x)

    def ratan2(self, y: Scalar) -> Symbolic:
        """The angle of the point (self, y)."""
        return Symbolic(expression_of(y)).atan2(self)

    def less(self, other: Scalar) -> Symbolic:
        """The condition self < other."""
        return Symbolic(self.value < expression_of(other))

    def select(self, x: Scalar, y: Scalar) -> Symbolic:
        """x if the condition holds, else y."""
        sympy = _sympy()
        condition = sympy.Ne(self.expression, 0) if isinstance(self.expression, sympy.Expr) else self.expression
        return Symbolic(sympy.Piecewise((expression_of(x), condition), (expression_of(y), True)))


# -- writing -----------------------------------------------------------------------------------------


def written(expression: sympy.Expr, letters: Sequence[Letter]) -> tuple[str, str]:
    """The expression in LaTeX and in plain text, in our letters, without spaces about + and −."""
    from dalembert.symbols.printers import LatexOf, TextOf

    latex = LatexOf({x.name: x.latex for x in letters}).doprint(expression)
    text = TextOf({x.name: x.text for x in letters}).doprint(expression)
    return re.sub(r" ([-+]) ", r"\1", latex), re.sub(r" ([−+]) ", r"\1", text)
