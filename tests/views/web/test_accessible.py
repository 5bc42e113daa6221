"""The page by keyboard, by screen reader, on a phone, in the light and in the dark."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compilers import compiler
from dalembert.views.web.bundle import FOLDER

ROOT = Path(__file__).parents[3]
AXE = ROOT / "out" / "node" / "node_modules" / "axe-core" / "axe.min.js"
ARMS = ["planar-2r", "panda"]
SCHEMES = ["light", "dark"]
PHONE = {"width": 360, "height": 740}
TABS = '[role="tab"]'
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
OPEN_ALL = "() => document.querySelectorAll('details').forEach((each) => (each.open = true))"

PageOf = Callable[..., Any]


def each_tab(page: Any) -> list[str]:
    """The titles of its tabs; all that can be unfolded is."""
    page.evaluate(OPEN_ALL)
    return list(page.locator(TABS).all_inner_texts())


def show(page: Any, title: str) -> None:
    page.get_by_role("tab", name=title, exact=True).click()
    page.evaluate(FRAMES)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ARMS)
def test_axe_finds_nothing_wrong_on_any_tab(name: str, scheme: str, page_of: PageOf) -> None:
    """Rules of WCAG 2.2, level AA, and good practice, as axe-core checks them: names, roles, contrast, targets, structure.

    In the dark, colours; heads of tables may be formulas, in which axe sees no text.
    """
    if not AXE.exists():
        compiler("out/node/node_modules/axe-core/axe.min.js")  # skips, or fails in CI: make lint-page installs it
    page = page_of(name, color_scheme=scheme, reduced_motion="reduce")
    page.evaluate(AXE.read_text())
    options: dict[str, Any] = {"rules": {"empty-table-header": {"enabled": False}}}
    if scheme == "dark":
        options = {"runOnly": ["color-contrast"]}
    found = []
    for title in each_tab(page):
        show(page, title)
        result = page.evaluate("(options) => axe.run(document, { resultTypes: ['violations'], ...options })", options)
        for violation in result["violations"]:
            for node in violation["nodes"]:
                found.append(f"{title}: {violation['id']}: {node['target']}: {node['failureSummary']}")
    assert found == []


@pytest.mark.parametrize("name", ARMS)
def test_no_tab_is_wider_than_a_phone(name: str, page_of: PageOf) -> None:
    page = page_of(name, viewport=PHONE, has_touch=True)
    wide = {}
    for title in each_tab(page):
        show(page, title)
        wide[title] = page.evaluate("() => document.documentElement.scrollWidth")
    assert max(wide.values()) <= PHONE["width"], wide


@pytest.mark.parametrize("name", ARMS)
def test_targets_on_a_phone_can_be_hit_by_a_finger(name: str, page_of: PageOf) -> None:
    """24 px each way at least (WCAG 2.5.8); a label counts with its control."""
    page = page_of(name, viewport=PHONE, has_touch=True)
    small = {}
    for title in each_tab(page):
        show(page, title)
        small[title] = page.evaluate("""() => [...document.querySelectorAll("button, select, input, summary, a[href]")]
          .filter((each) => each.checkVisibility({ visibilityProperty: true }))
          .map((each) => (each.type === "checkbox" || each.type === "radio" ? each.closest("label") ?? each : each))
          .map((each) => [each.ariaLabel ?? each.textContent, each.getBoundingClientRect()])
          .filter(([, box]) => box.width < 24 || box.height < 24)
          .map(([label, box]) => `${label}: ${box.width} × ${box.height}`)""")
    assert not any(small.values()), small


def test_tabs_are_chosen_by_arrow_keys(page_of: PageOf) -> None:
    page = page_of("planar-2r")
    titles = each_tab(page)
    page.locator(TABS).first.focus()
    for title in titles[1:] + titles[:1]:
        page.keyboard.press("ArrowRight")
        chosen = page.locator(f'{TABS}[aria-selected="true"]')
        assert chosen.inner_text() == title and page.evaluate("() => document.activeElement.textContent") == title
        panel = page.locator(f"#{chosen.get_attribute('aria-controls')}")
        assert panel.is_visible() and page.locator('[role="tabpanel"]:visible').count() == 1
    page.keyboard.press("End")
    assert page.locator(f'{TABS}[aria-selected="true"]').inner_text() == titles[-1]
    page.keyboard.press("ArrowLeft")
    assert page.locator(f'{TABS}[aria-selected="true"]').inner_text() == titles[-2]


FOCUSED = """() => {
  const each = document.activeElement;
  const box = each.getBoundingClientRect();
  return {
    seen: each.checkVisibility({ visibilityProperty: true }) && box.width > 0 && box.height > 0,
    outline: getComputedStyle(each).outlineStyle, name: each.ariaLabel ?? each.labels?.[0]?.textContent ?? each.textContent,
    place: [...document.querySelectorAll("*")].indexOf(each), body: each === document.body };
}"""


@pytest.mark.parametrize("name", ARMS)
def test_the_tab_key_goes_through_what_is_seen_in_the_order_of_the_page(name: str, page_of: PageOf) -> None:
    page = page_of(name)
    for title in each_tab(page):
        show(page, title)
        page.evaluate("() => document.activeElement.blur()")
        page.locator("h1").click()
        stops = []
        for _ in range(300):
            page.keyboard.press("Tab")
            stop = page.evaluate(FOCUSED)
            if stop["body"]:
                break
            assert stop["seen"] and stop["name"].strip() and stop["outline"] != "none", stop
            stops.append(stop["place"])
        assert len(stops) > 5 and stops == sorted(stops) and len(set(stops)) == len(stops)


def test_the_view_turns_and_zooms_by_key(page_of: PageOf) -> None:
    page = page_of("panda")
    view = page.locator(".stage-view")
    view.focus()
    before = view.screenshot()
    for key in ("ArrowRight", "+"):
        page.keyboard.press(key)
        page.wait_for_timeout(400)
        after = view.screenshot()
        assert after != before
        before = after


def luminance(colour: tuple[int, ...]) -> float:
    """Relative, of sRGB (WCAG 2)."""
    share = np.array(colour) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_colours_of_text_stand_out_on_those_behind_it(scheme: str) -> None:
    """4.5 for text (WCAG 1.4.3) and 3 for what marks a control or a limit (1.4.11), whatever panel uses them."""
    texts = re.split(r"@media screen and \(prefers-color-scheme: dark\)", (FOLDER / "colours.css").read_text())
    colours = {
        name: tuple(int(digits * (2 if len(digits) == 1 else 1), 16) for digits in re.findall(size, value))
        for text in texts[: 1 + (scheme == "dark")]
        for name, value in re.findall(r"--([\w-]+): #(\w+);", text)
        for size in [r"\w{2}" if len(value) == 6 else r"\w"]
    }
    behind = ["paper", "wash"]
    for name, back in itertools.product(["ink", "soft", "blue", "red", "amber", "green", "accent"], behind):
        assert contrast(colours[name], colours[back]) >= 4.5, (name, back)
    assert contrast(colours["paper"], colours["accent"]) >= 4.5  # words on a button that is pressed


def test_nothing_moves_by_itself_where_motion_is_unwanted(page_of: PageOf) -> None:
    page = page_of("panda", reduced_motion="reduce")
    running = """() => [...document.querySelectorAll("*")].filter((each) => {
      const style = getComputedStyle(each);
      return [style.transitionDuration, style.animationDuration].some((time) => time.split(", ").some((x) => parseFloat(x) > 0));
    }).map((each) => each.className)"""
    for title in each_tab(page):
        show(page, title)
        assert page.evaluate(running) == [] and page.evaluate("() => document.getAnimations().length") == 0
    before = page.locator(".stage-view").screenshot()
    page.wait_for_timeout(300)
    assert page.locator(".stage-view").screenshot() == before


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_page_takes_the_colours_that_its_reader_prefers(scheme: str, page_of: PageOf) -> None:
    page = page_of("planar-2r", color_scheme=scheme)
    paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert (luminance(tuple(map(int, re.findall(r"\d+", paper)))) > 0.5) == (scheme == "light")
