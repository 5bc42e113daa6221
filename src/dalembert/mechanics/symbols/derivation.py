"""The derivation of S, from the Jacobians of every body to the equations of motion, as a page: LaTeX or plain text.

Everything on the page is computed: Jacobians, energies, B, Christoffel symbols and g by
:mod:`dalembert.mechanics.symbols.body_symbols`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product, zip_longest
from typing import TYPE_CHECKING

from dalembert.base.bibliography import cited, introduction
from dalembert.mechanics.symbols.body_symbols import BodyStep, Table
from dalembert.mechanics.symbols.differences import Difference
from dalembert.mechanics.symbols.grouped_sums import Sum, by_angle, by_inertia, shortest
from dalembert.mechanics.symbols.names import Letter, braced
from dalembert.mechanics.symbols.ring import mapped
from dalembert.mechanics.symbols.write import Latex, Text, aligned, broken, padded, seen_length, text_width

if TYPE_CHECKING:
    from dalembert.mechanics.symbols.present import Equations

WIDEST = 120  # columns of text that a matrix may take
LATEX_WIDEST = 96  # characters of a row of a matrix, most of which are indices


@dataclass(frozen=True)
class Matrix:
    """A matrix of finished entries; ``entry`` names an entry by row and column from 1, for a matrix that is too wide."""

    name: str
    rows: list[list[str]]
    entry: Callable[[int, int], str]


@dataclass(frozen=True)
class Line:
    """One formula: its terms, each with its sign; ``parted`` if each of them begins a line."""

    name: str
    terms: list[str]
    parted: bool = False


Rows = list["Line | list[Matrix]"]  # matrices of a row stand side by side


@dataclass(frozen=True)
class Section:
    """A heading with S's equation numbers, and rows of formulas and matrices."""

    title: str
    equations: str
    rows: Rows
    remark: str = ""


def derivation(e: Equations, style: Text) -> str:
    """The page."""
    sections, own = _Writer(e.tree, style).on_the_tree(), _Writer(e, style)
    sections += own.torques() if e.tree is e else own.closed()
    sections = [section for section in sections if section.rows or section.remark]
    if isinstance(style, Latex):
        return "\\allowdisplaybreaks\n" + "\n\n".join(map(_latex_section, sections)) + "\n"
    return "\n".join(line for section in sections for line in _text_section(section))


def document(body: str, title: str) -> str:
    """A complete LaTeX document with that body, and with the full title of S if the body cites it."""
    words = re.sub(r"([_&%#$])", r"\\\1", re.sub(r"[\\{}~^]", " ", title))
    head = "\\documentclass{article}\n\\usepackage{amsmath}\n\\usepackage[margin=25mm]{geometry}\n\\begin{document}\n"
    letters = cited(body.replace("~", " "))
    sources = f"\\noindent {introduction(letters)}\n\n" if letters else ""
    return f"{head}\\section*{{{words}}}\n{sources}{body}\\end{{document}}\n"


class _Writer:
    """The sections for one set of equations."""

    def __init__(self, e: Equations, style: Text) -> None:
        self.e, self.style, self.ring = e, style, e.shown.ring
        self.mark = "'" if e.tree is e and any("'" in x for x in e.labels) else ""

    def matrix(self, name: str, rows: Sequence[Sequence[Sum]], entry: Callable[[int, int], str]) -> Matrix:
        return Matrix(name, [[self.style.line(self.ring, x) for x in row] for row in rows], entry)

    def formula(self, name: str, x: Sum) -> Line:
        return Line(name, self.style.terms(self.ring, x))

    def entries(self, letter: str) -> Rows:
        """The entries of b or g one by one: b_12 = b_21 = …"""
        e, style = self.e, self.style
        places = e.places(letter)
        return [self.formula(e.left_side(style, letter, *at), e.entry(letter, *at)[2]) for at in places]

    def indexed(self, name: str) -> Callable[[int, int], str]:
        """(A)_12: names of the entries of a matrix."""
        return lambda i, j: self.style.of(f"({name})_{i}{j}", f"({name})_{{{i}{j}}}")

    def on_the_tree(self) -> list[Section]:
        """From the Jacobians to B, C and g of the tree."""
        e, of = self.e, self.style.of
        links, rotors = ([x for x in e.steps if (x.label.kind == "tensor") == spins] for spins in (False, True))

        def jacobians(bodies: list[BodyStep]) -> Rows:
            return [[self._jacobian("P", x.label, x.J_P), self._jacobian("O", x.label, x.J_O)] for x in bodies]

        def energy(letter: str, k: int) -> Rows:
            every = ((x.label, e.energies(x)[k]) for x in e.steps)
            names = ((of(f"{letter}_{x.text}", rf"\mathcal{{{letter}}}_{braced(x.latex)}"), sum) for x, sum in every)
            return [self.formula(name, sum) for name, sum in names if sum]

        assert e.form.tree is not None
        gravity = [[by_angle(x)] for x in e.form.tree.model.tree.gravity]
        g_0 = self.matrix(of("g_0", r"\boldsymbol{g}_0"), gravity, self.indexed("g_0"))
        christoffel: Rows = list(self._christoffel())
        energies: Rows = [self.formula(of(text, latex), sum) for text, latex, sum in map(e.named, "TUL")]
        return [
            Section("Jacobians of the links", "(7.16)–(7.19)", jacobians(links)),
            Section("Jacobians of the rotors", "(7.25)–(7.29)", jacobians(rotors)),
            Section("Kinetic energy of every link and rotor", "(7.20), (7.30)", energy("T", 0)),
            Section("Potential energy of every link and rotor", "(7.34), (7.35)", [[g_0], *energy("U", 1)]),
            Section("Energies and Lagrangian", "(7.31), (7.36), (7.37)", energies),
            Section("Inertia matrix", "(7.32)", self.entries("b")),
            Section("Christoffel symbols", "(7.45)", christoffel, "all others vanish" if christoffel else "all vanish"),
            Section("Coriolis and centrifugal matrix", "(7.44)", [[self._whole("C")]]),
            Section("Ḃ − 2C, which is skew-symmetric", "(7.47), (7.48)", [[self._Bdot()], [self._whole("N")]]),
            Section("Gravity torques", "(7.39)", self.entries("g")),
        ]  # fmt: skip

    def torques(self) -> list[Section]:
        """The equations of motion, and the regressor."""
        e, style = self.e, self.style
        torques: Rows = []
        for i in range(e.n):
            parts = [
                f"{style.minus} {part[1:]}" if part.startswith(style.minus) else part
                for part in e.written_torque(i, style)
            ]
            torques.append(Line(e.left_side(style, "tau", i), parts, parted=True))
        for x in self.ring.letters:
            if isinstance(x, Difference):
                torques.append(Line(style.name(x, 1), [style.of(x.meaning, x.latex_of_parts)]))
        regressor: Rows = [Line(x, terms) for x, terms in e.regressor.rows(style)]
        return [
            Section("Equations of motion", "(7.42)", torques),
            Section("Dynamic parameters and regressor", "(7.77), (7.81)", regressor, "all other entries of Y vanish"),
        ]

    def closed(self) -> list[Section]:
        """The passive joints, and B, C and g pulled back through Γ: S 7.3.3."""
        from dalembert.mechanics.symbols.printers import LatexOf, TextOf

        e, style = self.e, self.style
        names, follows = {x.name: style.name(x, 1) for x in e.form.q}, Rows()
        printer = (LatexOf if isinstance(style, Latex) else TextOf)(names)
        for x, value in zip(e.tree.form.q, e.gamma, strict=True):
            mark = "'" if x.name in names else ""  # coordinates that have the same name as a joint of the tree
            if x.name != str(value):
                follows.append(Line(style.name(x, 1) + mark, [printer.doprint(value)]))
        rows = [[printer.doprint(x) for x in e.Gamma.row(i)] for i in range(e.Gamma.rows)]
        name = style.of("Γ = ∂γ/∂q", r"\boldsymbol{\Gamma}")
        Gamma = Matrix(name, rows, self.indexed(style.of("Γ", r"\Gamma")))
        return [
            Section("Joint variables of the tree, q' = γ(q)", "7.3.3", [*follows, [Gamma]]),
            Section("Inertia matrix, B = Γᵀ B' Γ", "7.3.3", self.entries("b")),
            Section("Coriolis and centrifugal matrix", "(7.44)", [[self._whole("C")]]),
            Section("Gravity torques, g = Γᵀ g'", "7.3.3", self.entries("g")),
            *self.torques(),
        ]

    def _jacobian(self, kind: str, label: Letter, rows: Table) -> Matrix:
        name = self.style.of(f"J_{kind}^({label.text})", rf"\boldsymbol{{J}}_{kind}^{{({label.latex})}}")
        return self.matrix(name, mapped(rows, by_inertia), self.indexed(name))

    def _christoffel(self) -> Iterator[Line]:
        """The symbols that do not vanish: c_112 = c_121 = …"""
        for i, j, k in product(range(self.e.n), repeat=3):
            c = self.e.form.christoffel[i][j][k]
            if k >= j and c:
                alike = dict.fromkeys(((i, j, k), (i, k, j)))
                name = " = ".join(self.e.left_side(self.style, "c", *at) for at in alike)
                yield self.formula(name, shortest(c))

    def _whole(self, letter: str) -> Matrix:
        """C or N"""
        e, n = self.e, range(self.e.n)
        key = "n" if letter == "N" else letter
        rows = [[e.entry(key, i, j)[2] for j in n] for i in n]
        name = self.style.of(letter, rf"\boldsymbol{{{letter}}}") + self.mark
        return self.matrix(name, rows, lambda i, j: e.left_side(self.style, key, i - 1, j - 1))

    def _Bdot(self) -> Matrix:
        """Ḃ, with ∂b_ij/∂q_k = c_ijk + c_jik"""
        n, labels, c = range(self.e.n), self.e.labels, self.e.form.christoffel
        rows = [[self.e.rate([c[i][j][k] + c[j][i][k] for k in n]) for j in n] for i in n]

        def entry(i: int, j: int) -> str:
            below = labels[i - 1] + labels[j - 1]
            return self.style.of(f"ḃ_{below}", rf"\dot{{b}}_{{{below}}}")

        return self.matrix(self.style.of("Ḃ", r"\dot{\boldsymbol{B}}") + self.mark, rows, entry)


# -- pages -------------------------------------------------------------------------------------------


def _fitting(rows: Rows, width: Callable[[Matrix], int], widest: int) -> Iterator[Line | list[Matrix]]:
    """The rows with matrices side by side if they fit, else one below the other; one that is too wide by its nonzero entries."""
    for row in rows:
        if isinstance(row, Line) or sum(map(width, row)) <= widest:
            yield row
            continue
        for matrix in row:
            if width(matrix) <= widest:
                yield [matrix]
                continue
            for i, entries in enumerate(matrix.rows, 1):
                yield from (Line(matrix.entry(i, j), [x]) for j, x in enumerate(entries, 1) if x != "0")


def _text_section(section: Section) -> Iterator[str]:
    yield f"{section.title}, S {section.equations}"
    for row in _fitting(section.rows, lambda x: max(map(text_width, _text_matrix(x))), WIDEST):
        if isinstance(row, Line):
            yield broken(f"  {row.name} = ", row.terms)
        else:
            yield from _side_by_side(list(map(_text_matrix, row)))
    if section.remark:
        yield f"  {section.remark}"
    yield ""


def _text_matrix(x: Matrix) -> list[str]:
    columns = [[*column] for column in zip(*x.rows, strict=True)]
    widths = [max(map(text_width, column)) for column in columns]
    cells = ["   ".join(padded(cell, w) for cell, w in zip(row, widths, strict=True)) for row in x.rows]
    last, start = len(cells) - 1, f"  {x.name} = "
    if last == 0:
        return [f"{start}[ {cells[0]} ]"]
    lines = []
    for k, cell in enumerate(cells):
        left, right = ("⎡", "⎤") if k == 0 else ("⎣", "⎦") if k == last else ("⎢", "⎥")
        lines.append((start if k == 0 else " " * text_width(start)) + f"{left} {cell} {right}")
    return lines


def _side_by_side(blocks: list[list[str]]) -> Iterator[str]:
    widths = [max(map(text_width, block)) for block in blocks]
    for row in zip_longest(*blocks, fillvalue=""):
        yield " ".join(map(padded, row, widths)).rstrip()


def _latex_section(section: Section) -> str:
    lines: list[str] = []
    for row in _fitting(section.rows, _latex_width, LATEX_WIDEST):
        lines += _latex_formula(row) if isinstance(row, Line) else [" & ".join(map(_latex_matrix, row))]
    title = section.title
    for symbol, latex in LATEX_WORDS.items():
        title = title.replace(symbol, latex)
    numbers = section.equations.replace("–", "--")
    parts = [f"\\paragraph{{{title}, S~{numbers}}}"]
    parts += ["\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"] if lines else []
    return "\n".join([*parts, f"{section.remark[0].upper()}{section.remark[1:]}." if section.remark else ""]).rstrip()


LATEX_WORDS = {
    "Ḃ − 2C": r"$\dot{\boldsymbol{B}} - 2\boldsymbol{C}$", "q' = γ(q)": r"$\boldsymbol{q}' = \gamma(\boldsymbol{q})$",
    "B = Γᵀ B' Γ": r"$\boldsymbol{B} = \boldsymbol{\Gamma}^T \boldsymbol{B}' \boldsymbol{\Gamma}$",
    "g = Γᵀ g'": r"$\boldsymbol{g} = \boldsymbol{\Gamma}^T \boldsymbol{g}'$",
}  # fmt: skip


def _latex_formula(x: Line) -> list[str]:
    parts = [[term] for term in x.terms] if x.parted else [x.terms]
    return aligned(x.name, [" ".join(Latex().signed(part)) for part in parts])


def _latex_matrix(x: Matrix) -> str:
    rows = r" \\ ".join(" & ".join(row) for row in x.rows)
    return rf"{x.name} &= \begin{{bmatrix}} {rows} \end{{bmatrix}}"


def _latex_width(x: Matrix) -> int:
    return seen_length(x.name) + sum(2 + max(map(seen_length, column)) for column in zip(*x.rows, strict=True))
