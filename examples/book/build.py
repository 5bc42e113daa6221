"""The notebooks of the guided tour, made from source/*.py and executed.

A source is Python in the percent format: a line ``# %%`` begins a cell of code, ``# %% [markdown]`` a cell of text, whose
lines are comments. The last cell of every notebook waits for a student's answer; answers.toml has the right ones, and each
of them is tried.

    python examples/book/build.py                executes every notebook into out/book; a cell that fails, or that says
                                                 something else than the committed notebook, is an error
    python examples/book/build.py --update       writes what was executed to examples/book as well
    python examples/book/build.py S7.1 M5        only the notebooks whose names begin so
"""

from __future__ import annotations

import argparse
import base64
import difflib
import io
import json
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

BOOK = Path(__file__).parent
OUT = BOOK.parents[1] / "out" / "book"
ANSWERS = tomllib.loads((BOOK / "answers.toml").read_text(encoding="utf-8"))
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
COLOURS = 48  # of a picture: lines and letters need no more
SECONDS = 180  # for one cell


def sources() -> list[Path]:
    """Every source, in the order of the documents."""
    return sorted((BOOK / "source").glob("*.py"), key=lambda path: (path.stem[0] == "M", path.stem))


def cells(source: str) -> Iterator[tuple[str, str]]:
    """The cells of a source: (kind, text), kind being "code" or "markdown"."""
    for part in f"\n{source}".split("\n# %%")[1:]:
        kind, _, text = part.partition("\n")
        if kind.strip() == "[markdown]":
            yield "markdown", "\n".join(line.removeprefix("#").removeprefix(" ") for line in text.strip().splitlines())
        else:
            yield "code", text.strip()


def notebook(source: str) -> dict[str, Any]:
    """The notebook of a source, not executed, as what its JSON holds."""
    parts = [
        code_cell(text, f"cell-{number}") if kind == "code" else any_cell(kind, text, f"cell-{number}")
        for number, (kind, text) in enumerate(cells(source), 1)
    ]
    return {"cells": parts, "metadata": {"kernelspec": KERNEL}, "nbformat": 4, "nbformat_minor": 5}


def any_cell(kind: str, text: str, name: str) -> dict[str, Any]:
    return {"cell_type": kind, "id": name, "metadata": {}, "source": text}


def code_cell(text: str, name: str) -> dict[str, Any]:
    return any_cell("code", text, name) | {"execution_count": None, "outputs": []}


def executed(path: Path) -> dict[str, Any]:
    """The notebook of the source at ``path``, executed; a cell that fails is an error."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.from_dict(notebook(path.read_text(encoding="utf-8")))
    task = book.cells[-1].source
    book.cells.append(nbformat.from_dict(code_cell(task.replace(" = None", f" = {ANSWERS[path.stem]}", 1), "answered")))
    client = NotebookClient(
        book,
        timeout=SECONDS,
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        resources={"metadata": {"path": str(OUT)}},
    )
    client.execute()
    told = "".join(output.get("text", "") for output in book.cells.pop().outputs)
    if "correct" not in told:
        raise ValueError(f"{path.stem}: the answer {ANSWERS[path.stem]} to the task is not taken for correct: {told}")
    for cell in book.cells:
        for output in cell.get("outputs", ()):
            output.pop("metadata", None)
            if output["output_type"] != "stream":
                output["metadata"] = {}
            if "image/png" in output.get("data", {}):
                output["data"]["image/png"] = fewer_colours(output["data"]["image/png"])
    book.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    nbformat.validate(book)
    return book


def fewer_colours(png: str) -> str:
    """The picture with a palette in place of 32 bits for each pixel: a third of the size. Both in base64."""
    from PIL import Image

    picture = (
        Image.open(io.BytesIO(base64.b64decode(png)))
        .convert("RGB")
        .quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    file = io.BytesIO()
    picture.save(file, "png", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def said(book: dict[str, Any]) -> list[str]:
    """What the cells of a notebook hold and print, line by line, pictures aside."""
    lines = []
    for number, cell in enumerate(book["cells"], 1):
        lines += [f"# cell {number}", *"".join(cell["source"]).splitlines()]
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            texts = [output.get("text", ""), *(data[kind] for kind in sorted(data) if kind.startswith("text/"))]
            lines += [line for text in texts for line in "".join(text).splitlines()]
            lines += ["(a picture)"] if "image/png" in data else []
    return lines


def as_json(book: dict[str, Any]) -> str:
    return json.dumps(book, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> int:
    from nbclient.exceptions import CellControlSignal, DeadKernelError

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[""], help="how the names of the notebooks begin; without any, all")
    parser.add_argument("--update", action="store_true", help="write the notebooks to examples/book")
    parser.add_argument("--workers", type=int, default=2, help="how many are executed at a time")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    chosen = [path for path in sources() if path.stem.startswith(tuple(options.names))]
    failed = []
    with ThreadPoolExecutor(options.workers) as pool:
        for path, result in [(path, pool.submit(executed, path)) for path in chosen]:
            try:
                book = result.result()
            except (CellControlSignal, DeadKernelError, ValueError) as problem:
                print(f"{path.stem}: {problem}", file=sys.stderr)
                failed.append(path.stem)
                continue
            committed = BOOK / f"{path.stem}.ipynb"
            (OUT / committed.name).write_text(as_json(book), encoding="utf-8")
            if options.update:
                committed.write_text(as_json(book), encoding="utf-8")
            before = said(json.loads(committed.read_text(encoding="utf-8"))) if committed.exists() else []
            changes = list(difflib.unified_diff(before, said(book), "committed", "executed", lineterm="", n=1))
            if changes:
                print(f"{path.stem}: not what is committed; --update writes it", *changes, sep="\n", file=sys.stderr)
                failed.append(path.stem)
            else:
                print(f"{path.stem}: executed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
