"""What `mkdocs build` does besides: it executes the pages, and adds the notebooks, the API reference and the files of the examples.

Set DALEMBERT_DOCS_EXECUTE=no to build without executing the pages, for a quick look: its pictures and live pages are then
empty.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
import mathematics
import notebooks
import reference
import thresholds
from executed import BLOCK, ROOT, missing

LOG = logging.getLogger("mkdocs.hooks.dalembert")
EXECUTE = os.environ.get("DALEMBERT_DOCS_EXECUTE", "yes") != "no"
WORKERS = min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
DRAFT = ROOT / "out" / "site-pages"  # what the pages wrote while they were executed
# files of the repository that pages link to, and where they are in the site
ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "examples/book/README.md": "book/index.md",
    "benchmarks/gpu/RESULTS.md": "benchmarks/gpu.md",
}
# pages that a long run writes, and what stands there until it has been run
WRITTEN = {"trust.md": "# Trust\n\n`make soak` writes this page. It has not been run in this checkout.\n"}
MADE = re.compile(r'(?:\]\(|src=")((?:pictures|live)/[\w.-]+)')
LINK = re.compile(r"(?<=\]\()(?![a-z]+:)(?P<path>[^)#\s]*)(?P<anchor>#[^)\s]*)?(?=\))")
CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
CODE = re.compile(r"<code>([^<]*)</code>")
texts: dict[str, str] = {}  # pages as they are after execution, by their place in the site


def on_config(config: MkDocsConfig) -> None:
    """The pages that the navigation does not name become its last part: what the project promises, and how it is kept."""
    named = set(re.findall(r"'([\w./-]+\.md)'", str(config.nav)))
    pages = {path.name for path in Path(config.docs_dir).glob("*.md")} | WRITTEN.keys()
    others = [place for path, place in ELSEWHERE.items() if place.startswith("project/") and (ROOT / path).exists()]
    config.nav = [*(config.nav or []), {"Project": [*sorted(pages - named), *others]}]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages executed, and the pages that are made."""
    texts.clear()
    docs = Path(config.docs_dir)
    pages = {"index.md": ROOT / "README.md"} | {
        file.src_uri: docs / file.src_uri for file in files.documentation_pages() if "/" not in file.src_uri
    }
    if EXECUTE:
        execute(pages)
        for name in pages:
            for folder in ("pictures", "live"):
                for made in sorted((DRAFT / name / folder).glob("*")):
                    add(files, config, f"{folder}/{made.name}", made.read_bytes())
    else:
        for name in {name for path in pages.values() for name in MADE.findall(path.read_text(encoding="utf-8"))}:
            add(files, config, name, b"<svg xmlns='http://www.w3.org/2000/svg'/>")
    add(files, config, "index.md", texts.get("index.md", pages["index.md"].read_text(encoding="utf-8")))
    for path in sorted((ROOT / "examples" / "book").glob("*.ipynb")):
        text, pictures = notebooks.page(path)
        add(files, config, f"book/{path.stem}.md", text)
        for name, content in pictures.items():
            add(files, config, f"book/{name}", content)
    for path, name in ELSEWHERE.items():
        if name.startswith("project/") and (ROOT / path).exists():
            add(files, config, name, (ROOT / path).read_text(encoding="utf-8"))
    for name, text in WRITTEN.items():
        if files.get_file_from_path(name) is None:
            add(files, config, name, text)
    add(files, config, "book/index.md", (ROOT / "examples" / "book" / "README.md").read_text(encoding="utf-8"))
    for path in sorted((ROOT / "benchmarks").glob("**/*.md")):
        name = ELSEWHERE.get(str(path.relative_to(ROOT)), f"benchmarks/{path.name}")
        add(files, config, name, path.read_text(encoding="utf-8"))
        for picture in sorted(path.parent.glob("*.png")):
            if picture.name in path.read_text(encoding="utf-8"):
                add(files, config, f"{Path(name).parent}/{picture.name}", picture.read_bytes())
    for name, text in {**reference.pages(), "thresholds.md": thresholds.page()}.items():
        add(files, config, name, text)
    linked = {
        target(link["path"], file.src_uri)
        for file in files.documentation_pages()
        for link in LINK.finditer(file.content_string)
        if link["path"]
    }
    for name in sorted(linked):
        if (
            not name.startswith("docs/")
            and Path(name).suffix not in (".md", ".ipynb", ".png")
            and (ROOT / name).exists()
        ):
            add(files, config, f"files/{name}.md", source_page(name))
    return files


def target(path: str, uri: str) -> str:
    """The file of the repository that a link of the page ``uri`` of the site means."""
    return os.path.normpath(os.path.join(os.path.dirname(origin(uri)), path))


def origin(uri: str) -> str:
    """The file of the repository that a page of the site is made from."""
    if source := next((path for path, name in ELSEWHERE.items() if name == uri), None):
        return source
    return uri if uri.startswith("benchmarks/") else f"examples/{uri}" if uri.startswith("book/") else f"docs/{uri}"


def add(files: Files, config: MkDocsConfig, name: str, content: str | bytes) -> None:
    """Add a file to the site; two of one name are an error."""
    if files.get_file_from_path(name) is not None:
        raise PluginError(f"two pages make a file {name!r}")
    files.append(File.generated(config, name, content=content))


def source_page(name: str) -> str:
    """A page that shows a file of the repository, or all files of a folder."""
    kinds = {".py": "python", ".toml": "toml", ".c": "c", ".h": "c", ".mjs": "js"}
    parts = [f"---\nsearch:\n  exclude: true\n---\n# `{name}`"]
    at = ROOT / name
    for path in [at] if at.is_file() else sorted(path for path in at.iterdir() if path.is_file()):
        parts += [] if path == at else [f"## `{path.name}`"]
        parts += [notebooks.fenced(kinds.get(path.suffix, "text"), path.read_text(encoding="utf-8").rstrip())]
    return "\n\n".join(parts) + "\n"


def execute(pages: dict[str, Path]) -> None:
    """Execute the code of the pages, each in a process of its own; what differs from the page is an error."""
    chosen = {
        name: path
        for name, path in pages.items()
        if any(block["kind"] in ("python", "console") for block in BLOCK.finditer(path.read_text(encoding="utf-8")))
    }
    script = str(Path(__file__).with_name("executed.py"))
    package = sha256()
    for path in sorted([*ROOT.glob("src/dalembert/**/*.*"), *ROOT.glob("examples/**/*.*"), Path(script)]):
        if path.is_file() and "__pycache__" not in path.parts:
            package.update(path.read_bytes())

    def run(item: tuple[str, Path]) -> str:
        name, path = item
        key = sha256(path.read_bytes() + package.digest()).hexdigest()
        done_before = DRAFT / name / "key"  # of a page that was executed like this before, nothing is executed again
        if not done_before.exists() or done_before.read_text() != key:
            shutil.rmtree(DRAFT / name, ignore_errors=True)
            command = [sys.executable, "-W", "ignore", script, "--into", str(DRAFT / name), str(path)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                return f"{name}: {done.stderr.strip()}"
            done_before.write_text(key)
        texts[name] = (DRAFT / name / "page.md").read_text(encoding="utf-8")
        return ""

    for name, path in chosen.items():
        if library := missing(path.read_text(encoding="utf-8")):
            LOG.info(f"{name}: not all of it is executed, since {library} is not installed; make test-foreign does it")
    with ThreadPoolExecutor(WORKERS) as workers:
        failed = [message for message in workers.map(run, chosen.items()) if message]
    if failed:
        raise PluginError("\n\n".join(failed))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The text after execution, links to files of the repository as links to pages, lists as Python-Markdown wants them."""
    uri = page.file.src_uri
    made = texts.get(uri, markdown)
    parts, at = [], 0
    for block in BLOCK.finditer(made):
        parts += [prose(made[at : block.start()], uri, files)]
        parts += [re.sub(r"^```text measured", "```text", block[0])]
        at = block.end()
    return "".join([*parts, prose(made[at:], uri, files)])


def prose(text: str, uri: str, files: Files) -> str:
    """Text between blocks of code, with links of the site, and an empty line before each list and table."""
    text = LINK.sub(lambda link: site_link(link, uri, files), text)
    text = re.sub(r"^((?![-*] |\d+\. |[|#>])\S.*\n)(?=(?:[-*]|\d+\.) )", r"\1\n", text, flags=re.MULTILINE)
    return re.sub(r"^((?![|])\S.*\n)(?=\|)", r"\1\n", text, flags=re.MULTILINE)


def site_link(link: re.Match[str], uri: str, files: Files) -> str:
    """A link as it must stand in the page ``uri`` of the site; what is not in the site is left to MkDocs to complain about."""
    if not link["path"]:
        return link[0]
    name = target(link["path"], uri)
    places = (
        ELSEWHERE.get(name, ""),
        name.removeprefix("docs/"),
        f"book/{Path(name).stem}.md" if name.endswith(".ipynb") else name.removeprefix("examples/"),
        f"files/{name}.md",
    )
    place = next((place for place in places if files.get_file_from_path(place) is not None), None)
    return link[0] if place is None else os.path.relpath(place, os.path.dirname(uri)) + (link["anchor"] or "")


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Formulas as MathML, and code in tables that may be broken after its signs."""
    return CELL.sub(lambda cell: CODE.sub(breakable, cell[0]), mathematics.in_mathml(html))


def breakable(code: re.Match[str]) -> str:
    """Code in a table, which may be broken after a sign where it is long."""
    if len(code[1]) < 24:
        return code[0]
    return "<code>" + re.sub(r"(?<=[\w)])(&[a-z]+;|[/_.,:(=]+)", r"\1<wbr>", code[1]) + "</code>"
