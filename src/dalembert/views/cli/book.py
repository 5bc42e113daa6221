"""``dalembert book``: an entry of the two documents, with the call that computes it and the result."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dalembert.base.environment.extras import extra
from dalembert.base.options import option
from dalembert.views.cli.terminal import plain, print_table, tell

if TYPE_CHECKING:
    from dalembert.views.documents.rows import MapRow

WIDTH = 100


def book(
    place: str = option(
        "Such as 7.32, 'M 4.3', 'Fig. 7.6', 'section 7.8', or a word; default: all sections.", "", argument=True
    ),
    script: bool = option("Print a Python program that computes it.", False),
) -> None:
    """Look up an equation, figure, table or problem of the two documents and compute it.

    Of a section, or of the rows with a word, the contents are listed.
    """
    from dalembert.views.documents import rows as documents
    from dalembert.views.documents.places import look_up

    if not place:
        rows = [(s.document, plain(s.title), str(len(s.rows))) for s in documents.sections()]
        print_table(["document", "section", ">rows"], rows)
        tell(
            "\n'dalembert book 7.32' shows one entry, 'dalembert book \"section 7.8\"' lists a section, 'dalembert book "
            "Christoffel' searches; docs/documents.md lists all rows."
        )
        return
    answer = look_up(place)
    if script:
        tell("\n".join(documents.script(row) for row in answer.rows))
    elif answer.title:
        print_table(["place", "what it says"], [(row.place, row.says) for row in answer.rows], plain(answer.title))
        tell(f"\n{_further(answer.rows)}; 'dalembert book \"{answer.rows[0].place}\"' computes the first of these.")
    else:
        for k, row in enumerate(answer.rows):
            tell("\n" * bool(k) + _computed(row))
        if answer.also:
            tell(f"'dalembert book \"section {answer.also.split()[1]}\"' lists {answer.also}", stderr=True)


def _computed(row: MapRow) -> str:
    """The row with both results."""
    from dalembert.views.documents import rows as documents

    names = documents.setting(row)
    computed, written = documents.computed(row, names), documents.written(row, names)
    lines = [f"{row.place}, section {row.subsection or row.section}", row.says]
    lines += [f"Correction: {row.misprint}"] * bool(row.misprint)
    lines += ["", "call", _indented(row.call), "gives", _indented(_shown(computed))]
    lines += ["formula of the page", _indented(row.formula), "gives", _indented(_shown(written))]
    lines += [f"largest difference {documents.difference(computed, written):.1e}; verified by {row.test}"]
    return "\n".join([*lines, _further([row])])


def _further(rows: Iterable[MapRow]) -> str:
    """Where there is more about these rows."""
    notebooks = dict.fromkeys(notebook for row in rows for notebook in row.notebooks)
    parts = {"notebook": notebooks, "page": dict.fromkeys(row.page for row in rows)}
    return "; ".join(f"{word}{'s' * (len(names) > 1)} {', '.join(names)}" for word, names in parts.items())


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _shown(value: Any) -> str:
    import numpy as np

    if hasattr(value, "free_symbols"):
        return _in_letters(value)
    if isinstance(value, list | tuple):
        if not all((np.ndim(x) == 0 and not hasattr(x, "free_symbols")) or isinstance(x, list) for x in value):
            return "\n".join(_shown(x) for x in value)
        value = np.array(value)
    with np.printoptions(precision=6, suppress=True, threshold=40, linewidth=WIDTH):
        return str(value)


def _in_letters(value: Any) -> str:
    """A SymPy expression, or every entry of a matrix on a line of its own, in the notation of the page."""
    with extra("symbols", "a result in symbols"):
        from sympy import Rational

    from dalembert.mechanics.symbols.names import as_text
    from dalembert.mechanics.symbols.printers import TextOf

    def exact(x: Any) -> Any:
        near = Fraction(float(x)).limit_denominator(1000)
        return Rational(near.numerator, near.denominator) if float(near) == float(x) else x

    value = value.replace(lambda x: x.is_Float, exact)
    text = TextOf({str(x): as_text(str(x)) for x in value.free_symbols}).doprint
    lines = [text(value)] if not hasattr(value, "tolist") else []
    for i, row in enumerate([] if lines else value.tolist(), 1):
        for j, entry in enumerate(row, 1):
            lines.append(f"[{i if value.shape[1] == 1 else f'{i}, {j}'}] {text(entry)}")
    return "\n".join(textwrap.fill(x, WIDTH, subsequent_indent="    ", break_long_words=False) for x in lines)
