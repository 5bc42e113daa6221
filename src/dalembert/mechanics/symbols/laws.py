"""The symbolic laws of further friction terms: evaluated on SymPy expressions, and written like the others.

A law need not be a polynomial. The factor of a coefficient is therefore one letter of the ring, of the kind
"function", with a SymPy expression of the joint's variables, the shape parameters of the term and the load τ̄_i; in
the equations it is written as that expression.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dalembert.base.algebra.scalars import Scalar
from dalembert.mechanics.symbols.names import GREEK, RESERVED, Letter, braced, joint_variable, letter
from dalembert.mechanics.symbols.ring import Polynomial, Ring, occurring
from dalembert.mechanics.symbols.sympy_package import sympy
from dalembert.robot.terms import Term

if TYPE_CHECKING:
    from dalembert.mechanics.symbols.symbolic_mechanism import Lettering


@dataclass
class Function(Letter):
    """A letter that stands for an expression; ``uses`` are the letters that occur in it."""

    expression: Any = None
    uses: tuple[Letter, ...] = ()

    def at(self, motion: Mapping[str, Any], numbers: Mapping[str, float]) -> Any:
        """Its value: ``motion`` has arrays (…, n), whose columns are the letters of each kind."""
        symbols = [sympy.Symbol(used.name) for used in self.uses]
        columns = (
            numbers[used.name] if used.value is not None else motion[used.kind][..., used.index - 1]
            for used in self.uses
        )
        return sympy.lambdify(symbols, self.expression, "numpy")(*columns)


def torque_of(term: Term, index: int, revolute: bool, lettering: Lettering) -> Polynomial:
    """The torque of a term at joint ``index``, counted from 1."""
    ring, label = lettering.ring, lettering.label(index)
    numbers = _numbers(term, index, lettering)
    shapes = {name: numbers[name] for name in numbers if name not in term.linear()}
    load = Letter(f"taubar_{label}", rf"\bar{{\tau}}_{braced(label)}", f"τ̄_{label}", "load", index)
    motion = [*(joint_variable(index, revolute, dots, label) for dots in (0, 1)), load]
    known = [*motion, *(x.ring.letters[k] for x in shapes.values() for k in occurring([x]))]
    columns = replace(term, **{name: _scalar(x) for name, x in shapes.items()}).columns(*map(symbol, motion))
    torque = ring.number(0)
    for name, column in zip(term.linear(), columns, strict=True):
        if numbers[name]:
            torque = torque + numbers[name] * function(ring, expression_of(column), known, index)
    return torque


def function(ring: Ring, expression: sympy.Expr, known: Sequence[Letter], index: int) -> Polynomial:
    """An expression as a polynomial: a number times a letter."""
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
    images = {
        sympy.Symbol(old.name): sympy.Add(*(_exact(f) * (sympy.Symbol(x.name) if x else 1) for f, x in parts if f))
        for old, parts in zip(law.uses, sums, strict=True)
    }
    known = {x.name: x for parts in sums for f, x in parts if f and x}
    return function(ring, law.expression.xreplace(images), list(known.values()), law.index)


# -- letters -----------------------------------------------------------------------------------------


def _numbers(term: Term, index: int, lettering: Lettering) -> dict[str, Polynomial]:
    """The letters of a term's numbers: F_st1 for "Fst"; with the term's initial if S or another term uses the letter."""
    known, label = {x.name for x in lettering.ring.letters}, lettering.label(index)
    initial = term.name[0]
    for tag in ("", initial, *(f"{initial}{k}" for k in range(2, len(known) + 3))):
        words = {x.name: _base_and_subscript(x.metadata["symbol"], tag, label) for x in term.numbers()}
        ours = {letter(*word, "friction", index, 0.0, "").name for word in words.values()}
        if not ours & known and not any(base in RESERVED and sub == label for base, sub in words.values()):
            break
    title = f"{term.title.removeprefix('the ')} of joint {label}"
    meaning = {name: f"{title}: {name}" if len(words) > 1 else title for name in words}
    return {
        name: lettering(getattr(term, name), *word, "friction", index, meaning[name]) for name, word in words.items()
    }


def _base_and_subscript(symbol: str, tag: str, joint: str) -> tuple[str, str]:
    """F and st1 for "Fst" at joint 1; eta and 1,2 for "eta1" at joint 2."""
    base = next((word for word in GREEK if symbol.startswith(word)), symbol[:1])
    rest = symbol.removeprefix(base) + tag
    return base, f"{rest}{',' if rest[-1:].isdigit() else ''}{joint}"


def _scalar(x: Polynomial) -> Scalar:
    """A letter as a symbol, a number unchanged."""
    return symbol(x.letter) if occurring([x]) else float(x.value(()))


# -- scalars -----------------------------------------------------------------------------------------


def symbol(letter: Letter) -> Symbolic:
    """The letter as a symbolic scalar."""
    return Symbolic(sympy.Symbol(letter.name))


def expression_of(x: Scalar) -> sympy.Expr:
    """A scalar as a SymPy expression; |x| for x sgn x."""
    value = x.value if isinstance(x, Symbolic) else _exact(x)
    return value.replace(lambda part: part.is_Mul and part.has(sympy.sign), _with_sizes)


def _with_sizes(product: sympy.Expr) -> sympy.Expr:
    for sign in (factor for factor in product.args if isinstance(factor, sympy.sign)):
        (x,) = sign.args
        if any(factor.as_base_exp()[0] == x for factor in product.args):
            product = product / sign / x * sympy.Abs(x)
    return product


def _exact(x: float) -> sympy.Expr:
    return sympy.Integer(int(x)) if float(x).is_integer() else sympy.Float(x)


class Symbolic:
    """A scalar of :mod:`dalembert.base.algebra.scalars` that is a SymPy expression, or a condition; its methods are set below."""

    __slots__ = ("expression",)

    def __init__(self, expression: Any) -> None:
        self.expression = expression

    @property
    def value(self) -> sympy.Expr:
        """The expression; for a condition 1 if it holds and 0 otherwise."""
        if isinstance(self.expression, sympy.Expr):
            return self.expression
        return sympy.Piecewise((1, self.expression), (0, True))

    def select(self, x: Scalar, y: Scalar) -> Symbolic:
        """x if the condition holds, else y."""
        condition = sympy.Ne(self.expression, 0) if isinstance(self.expression, sympy.Expr) else self.expression
        return Symbolic(sympy.Piecewise((expression_of(x), condition), (expression_of(y), True)))


def _method(operation: Callable[..., Any], step: int = 1) -> Callable[..., Symbolic]:
    """The operation on a scalar and others, with step −1 in reverse order."""
    return lambda *scalars: Symbolic(operation(*map(expression_of, scalars[::step])))


def _function(name: str) -> Callable[..., Any]:
    return lambda *x: getattr(sympy, name)(*x)  # SymPy is imported when it is used


for _name in ("sin", "cos", "sqrt", "exp", "log", "tanh", "asin", "acos", "sign", "atan2"):
    setattr(Symbolic, _name, _method(_function(_name)))
for _name in ("add", "sub", "mul", "truediv"):
    setattr(Symbolic, f"__{_name}__", _method(getattr(operator, _name)))
    setattr(Symbolic, f"__r{_name}__", _method(getattr(operator, _name), -1))
for _name, _made in (
    ("__neg__", _method(operator.neg)),
    ("less", _method(operator.lt)),
    ("ratan2", _method(_function("atan2"), -1)),
):
    setattr(Symbolic, _name, _made)


# -- writing -----------------------------------------------------------------------------------------


def written(expression: sympy.Expr, letters: Sequence[Letter]) -> tuple[str, str]:
    """The expression in LaTeX and in plain text, in our letters, without spaces about + and −."""
    from dalembert.mechanics.symbols.printers import LatexOf, TextOf

    latex = LatexOf({x.name: x.latex for x in letters}).doprint(expression)
    text = TextOf({x.name: x.text for x in letters}).doprint(expression)
    return re.sub(r" ([-+]) ", r"\1", latex), re.sub(r" ([−+]) ", r"\1", text)
