"""The report as a browser lays it out: on a phone and on paper. Where there is no Chromium, these are skipped."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import dalembert as da
from dalembert.views.report import report_html, study

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PHONE = 390  # px

pytestmark = pytest.mark.skipif(CHROMIUM is None and "CI" not in os.environ, reason="there is no Chromium here")


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


@pytest.mark.skipif(shutil.which("pdftotext") is None and "CI" not in os.environ, reason="there is no pdftotext here")
def test_the_first_page_of_paper_is_not_left_empty(page: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page)
    browse(tmp_path / "page.html", "--no-pdf-header-footer", f"--print-to-pdf={tmp_path / 'page.pdf'}")
    command = ["pdftotext", "-layout", str(tmp_path / "page.pdf"), "-"]
    sheets = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.split("\f")
    words = ("At a glance", "The arm", "The motion: Swing", "Start and end")
    assert all(word in sheets[0] for word in words) and 2 < len(sheets) < 10
    alone = set(re.findall(r"<h[234][^>]*>([^<]*)<", page) + re.findall(r"<li><i [^>]*></i>([^<]*)<", page))
    for sheet in sheets:  # headings and legends stay with what they are about
        last = sheet.strip().splitlines()[-1:]
        assert not last or not set(re.split(r"\s{2,}", last[0].strip())) <= alone


def test_the_player_of_a_moving_arm_draws_and_runs(tmp_path: Path) -> None:
    """The slider sets the clock, and a drag turns a spatial arm: other pixels are drawn."""
    path = tmp_path / "swing.html"
    da.polynomial([0.0] * 6, [1.0] * 6, 1.0).animate(path, da.load("stanford"))
    drag = """
    const drawn = () => { draw(); return pen.getImageData(0, 0, canvas.width, canvas.height).data.filter((x, i) => i % 4 == 3 && x).length; };
    canvas.setPointerCapture = () => 0;
    slider.value = 0.5; slider.oninput();
    const at_first = drawn();
    canvas.onpointerdown({clientX: 0, clientY: 0}); canvas.onpointermove({clientX: 200, clientY: 30}); canvas.onpointerup();
    document.title = [clock.textContent, at_first, drawn()].join(";");
    </script>"""
    path.write_text(path.read_text().replace("</script>", drag))
    dom = browse(path, "--dump-dom")
    (title,) = re.findall("<title>(.*?)</title>", dom)
    clock, before, after = title.split(";")
    assert clock == "t = 0.50 s" and int(before) > 2000 and int(after) > 2000 and before != after
