"""Pages in real browsers: Debian's chromium, driven by Playwright, and Debian's firefox-esr, driven over WebDriver BiDi."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dalembert as da
from compilers import compiler
from firefox import Firefox, Tab

FLAGS = ["--no-sandbox", "--enable-unsafe-swiftshader", "--disable-background-networking"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=compiler("chromium"), args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The file of an arm's page; pages without motions of their own are written once."""
    folder = tmp_path_factory.mktemp("pages")
    files: dict[str, Path] = {}

    def write(arm: str | da.Arm, motions: Any = None) -> Path:
        if motions is None and isinstance(arm, str) and arm in files:
            return files[arm]
        path = folder / f"{len(list(folder.iterdir()))}.html"
        da.write_page(path, da.load(arm) if isinstance(arm, str) else arm, motions)
        if motions is None and isinstance(arm, str):
            files[arm] = path
        return path

    return write


@pytest.fixture
def page_of(browser: Any, written: Callable[..., Path]) -> Iterator[Callable[..., Any]]:
    """``page_of(arm, motions=None, **context)``: a page that is ready. Errors and requests in it fail the test."""
    contexts, trouble = [], []

    def open_page(arm: str | da.Arm, motions: Any = None, hash: str = "", **context: Any) -> Any:
        contexts.append(browser.new_context(**context))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
        page.on(
            "request", lambda r: trouble.append(r.url) if not r.url.startswith(("file:", "blob:", "data:")) else None
        )
        page.goto(written(arm, motions).as_uri() + hash)
        page.wait_for_selector("#page[aria-busy=false]", timeout=15_000)
        return page

    yield open_page
    for each in contexts:
        each.close()
    assert not trouble


@pytest.fixture(scope="session")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    running = Firefox(compiler("firefox-esr"), compiler("Xvfb"), tmp_path_factory.mktemp("firefox"))
    yield running
    running.close()


@pytest.fixture
def firefox_page_of(firefox: Firefox, written: Callable[..., Path]) -> Iterator[Callable[..., Tab]]:
    """The same in Firefox: ``firefox_page_of(arm, motions=None)``."""
    tabs: list[Tab] = []
    firefox.log.clear()
    firefox.requests.clear()

    def open_page(arm: str | da.Arm, motions: Any = None, hash: str = "", **size: int) -> Tab:
        tabs.append(firefox.open(written(arm, motions).as_uri() + hash, **size))
        tabs[-1].wait_for("() => document.querySelector('#page')?.ariaBusy === 'false'")
        return tabs[-1]

    yield open_page
    for tab in tabs:
        tab.close()
    assert [entry["text"] for entry in firefox.log if entry["level"] == "error"] == []
    assert [url for url in firefox.requests if not url.startswith(("file:", "blob:", "data:"))] == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A robot's folder, with something beside it that is nobody's business."""
    (tmp_path / "secret.toml").write_text("secret")
    (tmp_path / "robot").mkdir()
    da.load("pendulum").save(tmp_path / "robot" / "mine.toml")
    return tmp_path / "robot"
