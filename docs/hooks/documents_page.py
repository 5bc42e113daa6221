"""``docs/documents.md``: the map as a page, written from its rows.

``python docs/hooks/documents_page.py`` regenerates it; ``tests/views/documents`` compares the two.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from dalembert.base.bibliography import SOURCES, introduction
from dalembert.views.documents.rows import MapRow, meanings, sections

HEAD = """# The two documents, line by line

This page is for readers who have the book or the paper at hand. It lists every numbered equation, figure, example,
table and problem of both, and the remarks that can be tested, with the call that computes it, the test that verifies it
(for every arm if the statement is about every arm), and a correction where the print is wrong. We worked from scans
that were converted to text: some of these errors may come from the scan and not be in your copy.

{introduction}

`dalembert book 7.32` shows one row of this page with its numbers: the result of the call, the result of the printed
formula, and the difference between them; `dalembert book "section 7.8"` lists a section, `dalembert book Christoffel`
searches. `dalembert book 7.32 --script` prints the row as a Python program. The names in the calls are defined at the
beginning of each section, or before the call that uses them; `da` is dalembert and `np` NumPy. The tests run every row.
They also change every symbol and every sign of each formula, and every quantity that a call takes from the library, one
at a time, and each change must make the row fail.

The page is generated from `src/dalembert/views/documents/*.toml` by `python docs/hooks/documents_page.py`.
"""


def page() -> str:
    """The whole page, in Markdown."""
    parts = [HEAD.format(introduction="\n".join(introduction(letter, "*") for letter in SOURCES))]
    for section in sections():
        parts.append(f"\n## {section.document} {section.title}\n\n")
        links = [f"[{Path(notebook).stem}](../{notebook})" for notebook in section.notebooks]
        parts.append(f"Notebook{'s' * (len(links) > 1)}: {', '.join(links)}\n\n")
        parts += [*_names(section.rows), "| where | what it says | call | test |\n|---|---|---|---|\n"]
        parts += [_line(row) for row in section.rows]
    return "".join(parts)


def _names(rows: Sequence[MapRow]) -> Iterator[str]:
    """The names that the calls of a section use, as a list."""
    used = {name for row in rows for text in (row.call, *definitions(row)) for name in _words(text)}
    for names, words in meanings(rows[0]).items():
        if not used.isdisjoint(names.split(", ")):
            yield f"* {', '.join(f'`{name}`' for name in names.split(', '))}: {words}\n"
    yield "\n"


def definitions(row: MapRow) -> list[str]:
    """The row's own lines that define the names of its call; of a function, its first line and docstring."""
    wanted, lines = used_names(row.call), list[str]()
    for statement in reversed(ast.parse(row.given).body):
        if isinstance(statement, ast.FunctionDef) and statement.name in wanted:
            lines.append(f"{statement.name}({ast.unparse(statement.args)}): {ast.get_docstring(statement)}")
        elif isinstance(statement, ast.Assign | ast.ImportFrom) and _defined(statement) & wanted:
            wanted |= used_names(ast.unparse(statement)) if isinstance(statement, ast.Assign) else set()
            lines.append(ast.get_source_segment(row.given, statement) or "")
    return lines[::-1]


def used_names(source: str) -> set[str]:
    """The names that a piece of Python uses and does not bind itself."""
    nodes = list(ast.walk(ast.parse(source)))
    bound = {x.arg for x in nodes if isinstance(x, ast.arg)}
    bound |= {x.id for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    known = {"da", "np", *dir(builtins)}
    return {x.id for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)} - bound - known


def _defined(statement: ast.Assign | ast.ImportFrom) -> set[str]:
    if isinstance(statement, ast.ImportFrom):
        return {alias.name for alias in statement.names}
    targets = (x for target in statement.targets for x in ast.walk(target))
    return {x.id for x in targets if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}


def _words(text: str) -> list[str]:
    return re.findall(r"\b[A-Za-z_]\w*", text)


def _line(row: MapRow) -> str:
    says = row.says + (f"<br>**Correction:** {row.misprint}" if row.misprint else "")
    call = "<br>".join(f"`{' '.join(line.split())}`" for line in (*definitions(row), row.call))
    cells = [row.at, says, call, f"`{row.test}`"]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


if __name__ == "__main__":
    Path(__file__).parents[1].joinpath("documents.md").write_text(page(), encoding="utf-8")
