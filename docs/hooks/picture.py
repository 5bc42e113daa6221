"""``python docs/hooks/picture.py`` draws docs/page.png, the picture of the README: the live page of the Panda in Chromium."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import dalembert as da

PICTURE = Path(__file__).parents[1] / "page.png"
POSTURE = (15, 35, -10, -75, 10, 110, 45)  # degrees
SIZE = {"width": 1280, "height": 725}


def main() -> None:
    """Write the page, open it, choose the ellipsoids, and keep what it looks like."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        arm = da.load("panda")
        da.write_page(path, arm)
        flags = ["--no-sandbox", "--enable-unsafe-swiftshader", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        tab = browser.new_page(viewport=SIZE)
        tab.goto(path.as_uri())
        tab.wait_for_load_state("networkidle")
        tab.evaluate("() => document.querySelectorAll('details').forEach((each) => (each.open = true))")
        for name, degrees in zip(arm.joint_names, POSTURE, strict=True):
            tab.get_by_label(f"Position of {name}, exact").fill(f"{degrees:g}")
            tab.get_by_label(f"Velocity of {name}, exact").fill("40")
            tab.get_by_label(f"Acceleration of {name}, exact").fill("120")
        tab.evaluate("() => document.querySelectorAll('details').forEach((each) => (each.open = false))")
        tab.get_by_role("tab", name="Ellipsoids").click()
        tab.get_by_label("Dynamic manipulability").check()
        tab.get_by_role("button", name="Zoom out").click()
        tab.mouse.wheel(0, -1000)
        tab.wait_for_timeout(1000)
        tab.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
