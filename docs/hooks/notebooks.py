"""The notebooks of examples/book as pages: their cells and their outputs as they are, nothing executed again."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any


def page(path: Path) -> tuple[str, dict[str, bytes]]:
    """The page of a notebook in Markdown, and its pictures by their names."""
    pictures: dict[str, bytes] = {}
    parts: list[str] = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        if source:
            parts.append(fenced("python", source))
        for output in cell.get("outputs", []):
            parts.append(shown(output, path.stem, pictures))
    first, _, rest = "\n\n".join(parts).partition("\n")
    note = f"*The notebook `examples/book/{path.name}`, which `make book` executes and compares.*"
    return f"{first}\n\n{note}\n{rest}\n", pictures


def shown(output: dict[str, Any], name: str, pictures: dict[str, bytes]) -> str:
    """An output of a cell in Markdown; a picture is added to ``pictures``."""
    if output["output_type"] == "stream":
        return fenced("text", "".join(output["text"]).rstrip())
    data = output["data"]
    if "image/png" in data:
        file = f"{name}-{len(pictures) + 1}.png"
        pictures[file] = base64.b64decode("".join(data["image/png"]))
        return f"![A figure of this notebook]({file})"
    if "text/latex" in data:
        formula = "".join(data["text/latex"]).strip().strip("$").strip().removeprefix(r"\displaystyle").strip()
        return f"$$\n{formula}\n$$"
    if "text/markdown" in data:
        return "".join(data["text/markdown"])
    return fenced("text", "".join(data["text/plain"]))


def fenced(kind: str, text: str) -> str:
    """A block of code, with a fence that the text does not contain."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return f"{fence}{kind}\n{text}\n{fence}"
