"""``python docs/hooks/picture.py`` draws docs/page.png, the picture of the README: the live page of the Panda in Chromium."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import dalembert as da

PICTURE = Path(__file__).parents[1] / "page.png"
POSTURE = (15, 35, -10, -75, 10, 110, 45)  # degrees
SIZE = {"width": 1280, "height": 760}


def main() -> None:
    """Write the page, open it, choose the ellipsoids, and keep what it looks like."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        da.write_page(path, da.load("panda"))
        flags = ["--no-sandbox", "--enable-unsafe-swiftshader"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        tab = browser.new_page(viewport=SIZE)
        tab.goto(path.as_uri())
        tab.wait_for_load_state("networkidle")
        for number, degrees in enumerate(POSTURE, start=1):
            tab.get_by_label(f"Position of joint{number}, exact").fill(f"{degrees:g}")
            tab.get_by_label(f"Velocity of joint{number}, exact").fill("40")
            tab.get_by_label(f"Acceleration of joint{number}, exact").fill("120")
        tab.get_by_role("tab", name="Ellipsoids").click()
        tab.get_by_label("Dynamic manipulability").check()
        tab.wait_for_timeout(1000)
        tab.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
