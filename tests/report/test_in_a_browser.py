"""The report as a browser lays it out: on a phone and on paper. Where there is no Chromium, these are skipped."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import dalembert as da
from dalembert.report import report_html, study

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PHONE = 390  # px

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")


@pytest.fixture(scope="module")
def page() -> str:
    arm = da.load("pendulum")
    return report_html(study(arm, da.polynomial([0.0], [1.0], 1.0), title="Swing"))


def browse(path: Path, *options: str) -> str:
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", *options, path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_no_page_is_wider_than_a_phone(page: str, tmp_path: Path) -> None:
    frame = f'<iframe style="width:{PHONE}px;height:800px;border:0" srcdoc="{html.escape(page)}"></iframe>'
    asked = "document.title = document.querySelector('iframe').contentDocument.documentElement.scrollWidth"
    path = tmp_path / "phone.html"
    path.write_text(f"<!DOCTYPE html><title></title>{frame}<script>onload = () => {{ {asked} }}</script>")
    (width,) = re.findall("<title>(.*?)</title>", browse(path, "--dump-dom").partition("<iframe")[0])
    assert int(width) <= PHONE  # less where a scroll bar takes its share


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="there is no pdftotext here")
def test_the_first_page_of_paper_is_not_left_empty(page: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page)
    browse(tmp_path / "page.html", "--no-pdf-header-footer", f"--print-to-pdf={tmp_path / 'page.pdf'}")
    command = ["pdftotext", "-layout", str(tmp_path / "page.pdf"), "-"]
    sheets = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.split("\f")
    words = ("At a glance", "The arm", "The motion: Swing", "Start and end")
    assert all(word in sheets[0] for word in words) and 2 < len(sheets) < 10
