"""JavaScript modules as one inline script, and the policy that prevents a page from running anything else.

The modules are written so that they can be concatenated: they import names with ``import { a } from "./b.js"``, export
declarations, and no two of them declare the same name. A page therefore needs neither a build tool nor a server.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("js")
LOADER = Path(__file__).parents[2] / "compiler" / "kernel" / "loader.mjs"
IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"\./([\w.]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)
STRAY = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function\*?|class|const|let) +([\w$]+)", re.MULTILINE)
JSDOC = re.compile(r"^[ \t]*/\*\*(?:(?!\*/).)*\*/[ \t]*\n", re.MULTILINE | re.DOTALL)


@cache
def script(*modules: str) -> str:
    """The modules and all their imports, each after its dependencies, without type comments."""
    texts: dict[str, str] = {}
    for module in modules:
        _gather(module, texts, ())
    names: dict[str, str] = {}
    for file, text in texts.items():
        for name in DECLARED.findall(text):
            if name in names:
                raise ValueError(f"{file} and {names[name]} both declare '{name}'; rename one of them")
            names[name] = file
    pieces = []
    for file, text in texts.items():
        plain = EXPORT.sub("", JSDOC.sub("", IMPORT.sub("", text)))
        if stray := STRAY.search(plain):
            raise ValueError(f"{file}: '{stray.group()}' cannot be bundled; import names and export declarations")
        pieces.append(f"// {file}\n{plain.strip()}\n")
    return "\n".join(pieces)


def _gather(file: str, texts: dict[str, str], above: tuple[str, ...]) -> None:
    if file in above:
        raise ValueError(f"{' imports '.join((*above, file))}: circular imports are not supported")
    if file in texts:
        return
    text = (FOLDER / file).read_text(encoding="utf-8") if file != "loader.js" else loader()
    for other in IMPORT.findall(text):
        _gather(other, texts, (*above, file))
    texts[file] = text


def loader() -> str:
    """The kernel loader as a module of the page."""
    text = LOADER.read_text(encoding="utf-8")
    return text.replace('"use strict";\n', "").replace("\nexport { load };\n", "")


def style(*files: str) -> str:
    """The concatenated style sheets."""
    return "\n".join((FOLDER / file).read_text(encoding="utf-8").strip() for file in files) + "\n"


def packed(data: Mapping[str, Any]) -> str:
    """Compressed data for a page, as text that cannot close its element; ``unpacked`` of js/data.js reads it."""
    return compressed(json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def compressed(text: str) -> str:
    """Text as base64 of its gzip file; the output depends only on the text."""
    return encoded(gzip.compress(text.encode(), 9, mtime=0))


def encoded(content: bytes) -> str:
    """Bytes as base64 text."""
    return base64.b64encode(content).decode()


def digest(text: str) -> str:
    """The Content-Security-Policy source that allows exactly this text."""
    return f"'sha256-{encoded(hashlib.sha256(text.encode()).digest())}'"


def policy(scripts: Iterable[str], styles: Iterable[str], connect: str = "'none'") -> str:
    """The Content-Security-Policy of a page that has these scripts and styles and loads nothing else.

    Every kind of source is listed separately, because ``script-src`` and ``default-src`` would also block scripts
    evaluated by browser automation; no other script can be added to the page, as an element or as an attribute.
    """
    nothing = ["img", "font", "media", "object", "frame", "worker", "manifest"]
    rules = {
        "script-src-elem": " ".join(map(digest, scripts)),
        "script-src-attr": "'none'",
        "style-src": " ".join(map(digest, styles)),
        "connect-src": connect,
        **{f"{kind}-src": "'none'" for kind in nothing},
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {sources}" for name, sources in rules.items())
