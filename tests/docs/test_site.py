"""The documentation site: built in strict mode, whole without a network, every link and every name in its place."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import dalembert as da

pytest.importorskip("mkdocs")
pytest.importorskip("material")
pytest.importorskip("latex2mathml")

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "hooks"))

import mathematics  # noqa: E402
import reference  # noqa: E402

from compilers import compiler  # noqa: E402

LOCAL = ("file:", "data:", "blob:")

# what a browser fetches by itself, by the element and its attribute
FETCHED = {
    ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("link", "href"),
    ("image", "href"), ("use", "href"), ("object", "data"), ("embed", "src"),
}  # fmt: skip


class Read(HTMLParser):
    """What a page links to, fetches, and has as anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if (tag, name) in FETCHED and value:
                self.fetched.append(value)
            if (tag, name) == ("a", "href") and value:
                self.links.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built without executing its pages: tests/test_readme.py executes them."""
    folder = tmp_path_factory.mktemp("site")
    env = {**os.environ, "DALEMBERT_DOCS_EXECUTE": "no", "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Read]:
    """Every page of the site but the one that servers show for a wrong address."""
    found = [path for path in site.rglob("*.html") if path.name != "404.html" and path.parent.name != "live"]
    return {path: Read(path.read_text(encoding="utf-8")) for path in found}


def test_no_page_needs_another_host(pages: dict[Path, Read]) -> None:
    """Scripts, styles, fonts, images and frames are files of the site, found by relative addresses."""
    for path, read in pages.items():
        for address in read.fetched:
            parts = urlsplit(address)
            if parts.scheme != "data":
                assert not parts.scheme and not parts.netloc and not address.startswith("/"), f"{path.name}: {address}"
                assert (path.parent / unquote(parts.path)).exists(), f"{path.name}: {address}"


def test_no_style_needs_another_host(site: Path) -> None:
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert "url(http" not in text and "url(//" not in text and "@import" not in text, path.name


def test_internal_links_and_anchors_resolve(pages: dict[Path, Read]) -> None:
    checked = 0
    for path, read in pages.items():
        for link in read.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.name}: {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{path.name}: {link}"
                checked += 1
    assert checked > 1000


def test_every_page_is_in_the_navigation(pages: dict[Path, Read], site: Path) -> None:
    links = {link.partition("#")[0] for link in pages[site / "index.html"].links}
    for path in (ROOT / "docs").glob("*.md"):
        assert f"{path.stem}.html" in links, path.name
    for path in (ROOT / "examples" / "book").glob("*.ipynb"):
        assert f"book/{path.stem}.html" in links, path.name
    for path in ROOT.glob("*.md"):
        assert path.stem == "README" or f"project/{path.stem.lower()}.html" in links, path.name


def test_every_public_name_has_an_entry(pages: dict[Path, Read], site: Path) -> None:
    anchors = {path.stem: read.anchors for path, read in pages.items() if path.parent.name == "reference"}
    places = reference.anchors()
    for name in (*da.__all__, *(f"Arm.{name}" for names in reference.ARM.values() for name in names.split())):
        page, _, anchor = places[name].partition("#")
        assert not anchor or anchor in anchors[page.removesuffix(".md")], name
    listed = {name for names in reference.ARM.values() for name in names.split()}
    assert {name for name in dir(da.Arm) if not name.startswith("_")} == listed | {"mechanism"}


def test_arguments_in_docstrings_become_tables() -> None:
    text = reference.docstring(da.Arm.inverse_dynamics)
    rows = reference.arguments(
        next(part for part in inspect.getdoc(da.Arm.inverse_dynamics).split("\n\n") if "wrenches  " in part)
    )
    assert {"tip_wrench", "wrenches", "threads"} <= {name for name, _ in rows}
    assert "| `tip_wrench` |" in text and "```pycon" in text
    assert reference.arguments("Two words  and a gap\nare no list") == []


def test_formulas_become_mathml() -> None:
    made = mathematics.in_mathml('<p><span class="arithmatex">\\(b_{ij} &lt; 1\\)</span></p>')
    assert made.startswith("<p><math") and "arithmatex" not in made
    assert "<span>(F 1)</span>" in mathematics.mathml(r"\tau = \Big( a \Big) \tag{F 1}", True)
    with pytest.raises(ValueError, match="MathML does not get"):
        mathematics.mathml(r"\nosuchthing{x}", False)


def test_search_works_in_a_page_that_is_opened_from_a_folder(site: Path) -> None:
    """Browsers start no worker there: assets/iframe-worker.js stands in for it."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=compiler("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        trouble: list[str] = []
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda request: trouble.append(request.url) if not request.url.startswith(LOCAL) else None)
        page.goto((site / "index.html").as_uri())
        page.focus("input[name=query]")  # the index is read when the field is first used
        page.wait_for_selector(".md-search-result__meta:has-text('Type to start searching')", state="attached")
        page.locator("input[name=query]").press_sequentially("payload")
        page.wait_for_selector(".md-search-result__item:has-text('Payload')", state="attached")
        browser.close()
    assert not trouble


def test_no_formula_is_left_in_tex(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert "arithmatex" not in path.read_text(encoding="utf-8"), path.name
