"""``dalembert book``: an entry of the two documents, with the call that computes it and the result."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from dalembert.cli.terminal import plain, print_table, tell


def book(
    place: Annotated[
        str, Argument(help="Such as 7.32, 'M 4.3', 'Fig. 7.6', 'Problem 7.5'; default: all sections.")
    ] = "",
    script: Annotated[bool, Option("--script", help="Print a Python program that computes it.")] = False,
) -> None:
    """Look up an equation, figure, table or problem of the two documents and compute it."""
    from dalembert.documents import rows as documents

    if not place:
        print_table(
            ["document", "section", ">rows"],
            [(s.document, plain(s.title), str(len(s.rows))) for s in documents.sections()],
        )
        tell("\n'dalembert book 7.32' shows one entry; docs/documents.md lists all of them.")
        return
    for k, row in enumerate(documents.find(place)):
        if script:
            tell(documents.script(row))
            continue
        names = documents.setting(row)
        computed, written = documents.computed(row, names), documents.written(row, names)
        lines = [f"{row.place}, section {row.section}", row.says]
        lines += [f"Correction: {row.misprint}"] * bool(row.misprint)
        lines += ["", "call", _indented(row.call), "gives", _indented(_shown(computed))]
        lines += ["formula of the page", _indented(row.formula), "gives", _indented(_shown(written))]
        lines += [f"largest difference {documents.difference(computed, written):.1e}; verified by {row.test}"]
        tell(("\n" if k else "") + "\n".join(lines))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _shown(value: object) -> str:
    import numpy as np

    if isinstance(value, list | tuple):
        if not all(np.ndim(x) == 0 or isinstance(x, list) for x in value):
            return "\n".join(_shown(x) for x in value)
        value = np.array(value)
    with np.printoptions(precision=6, suppress=True, threshold=40, linewidth=100):
        return str(value)
