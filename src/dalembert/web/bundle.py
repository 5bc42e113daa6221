"""Modules of JavaScript as one inline script, and the policy that lets a page run nothing else.

The modules are written so that they can be put one behind the other: they import names with ``import { a } from "./b.js"``,
export declarations, and no two of them have a name in common. So a page needs no tool to be made and no address to be shown.
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
LOADER = Path(__file__).parent.with_name("kernel") / "loader.mjs"
IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"\./([\w.]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)
STRAY = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function\*?|class|const|let) +([\w$]+)", re.MULTILINE)
JSDOC = re.compile(r"^[ \t]*/\*\*(?:(?!\*/).)*\*/[ \t]*\n", re.MULTILINE | re.DOTALL)


@cache
def script(*modules: str) -> str:
    """The modules and all that they import, each behind those that it needs, without comments on types."""
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
        raise ValueError(f"{' imports '.join((*above, file))}: modules must not go in circles")
    if file in texts:
        return
    text = (FOLDER / file).read_text(encoding="utf-8") if file != "loader.js" else loader()
    for other in IMPORT.findall(text):
        _gather(other, texts, (*above, file))
    texts[file] = text


def loader() -> str:
    """The loader of kernels as a module of the page."""
    text = LOADER.read_text(encoding="utf-8")
    return text.replace('"use strict";\n', "").replace("\nexport { load };\n", "")


def style(*files: str) -> str:
    """Style sheets, one behind the other."""
    return "\n".join((FOLDER / file).read_text(encoding="utf-8").strip() for file in files) + "\n"


def packed(data: Mapping[str, Any]) -> str:
    """Data for a page, compressed, as text that cannot end the element that holds it; ``unpacked`` of js/data.js reads it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return compressed(text)


def compressed(text: str) -> str:
    """Text as base64 of its gzip file; the same text gives the same letters on any day."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def encoded(content: bytes) -> str:
    """Bytes as text."""
    return base64.b64encode(content).decode()


def digest(text: str) -> str:
    """A source of a Content-Security-Policy that is this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(scripts: Iterable[str], styles: Iterable[str], connect: str = "'none'") -> str:
    """The Content-Security-Policy of a page that has these scripts and styles, and loads nothing.

    Every kind of source is named by itself, since ``script-src`` and ``default-src`` would also keep out what browser automation
    evaluates in the page; no other script can be brought into it, as an element or as an attribute.
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
