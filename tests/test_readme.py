"""What README.md, the pages of docs/ and examples/ show is run, and what they say is printed is compared."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert as da
from compilers import ELSEWHERE

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs" / "hooks"))

from executed import BLOCK, DiffersError, executed, missing, run_script, working_folder  # noqa: E402

README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def runs(page: Path) -> bool:
    """Whether a page has a block that is executed."""
    return any(block["kind"] in ("python", "console") for block in BLOCK.finditer(page.read_text(encoding="utf-8")))


PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if runs(page)]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    with working_folder(tmp_path):
        executed(text, page.name)
    if library := missing(text):
        pytest.skip(f"{ELSEWHERE} not all of the page was executed, as {library} is not installed")


def test_a_page_that_differs_is_an_error_and_can_be_updated(tmp_path: Path) -> None:
    page = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n\n```console\n$ dalembert --version\nolder\n```\n"
    with working_folder(tmp_path):
        with pytest.raises(DiffersError, match=r"page.md, line 5, says something else .*\n.*\n.*\n.*\n-3\n\+2"):
            executed(page, "page.md")
        updated = executed(page, "page.md", update=True)
        assert "```text\n2\n```" in updated and f"$ dalembert --version\ndalembert {da.__version__}\n" in updated
        assert executed(updated, "page.md") == updated
        measured = executed(page.partition("\n```console")[0].replace("text\n3", "text measured\n3"), "page.md")
        assert "measured\n2\n" in measured
        with pytest.raises(ZeroDivisionError):
            executed("```python\n1 / 0\n```\n", "page.md")
        assert executed("```py\n1 / 0\n```\n", "page.md")


def test_an_ellipsis_stands_for_any_lines(tmp_path: Path) -> None:
    page = "```python\nprint('a', 'b', 'c', sep='\\n')\n```\n\n```text\n{}\n```\n"
    with working_folder(tmp_path):
        for shown in ("a\n…", "…\nc", "a\n…\nc", "…"):
            executed(page.format(shown), "page.md")
        for shown in ("a\n…\nb", "…\nb"):
            with pytest.raises(DiffersError):
                executed(page.format(shown), "page.md")


def test_the_table_of_arms_is_complete() -> None:
    table = (ROOT / "docs" / "arms.md").read_text(encoding="utf-8")
    letters = dict.fromkeys(da.arms())
    for names, joints in re.findall(r"^\| (`.*?`) \| (\w+) \|", table, re.MULTILINE):
        for name in re.findall(r"`(.*?)`", names):
            letters[name] = joints
    for name in da.arms():
        moving = da.load(name).robot.moving_joints
        assert letters[name] == "".join("P" if joint.type == "prismatic" else "R" for joint in moving), name


def test_linked_files_exist() -> None:
    """Those of the README; those between pages are checked where the site is built."""
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
    for page in PAGES:
        for target in re.findall(r"`((?:examples|src|docs)/[\w./-]*\w)`", page.read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_script(path).strip()


def test_the_example_of_rotors_shows_the_coupling() -> None:
    assert "[ 0.1 10. ] N m" in run_script(ROOT / "examples" / "rotor_coupling.py")


def test_made_motions_stay_inside_the_limits() -> None:
    swing = runpy.run_path(str(ROOT / "examples" / "make_motion.py"))["swing"]
    for name in da.arms():
        arm = da.load(name)
        q = swing(arm)[:, 1 : arm.n + 1]
        for k, joint in enumerate(arm.robot.moving_joints):
            if joint.limits.lower is not None and joint.limits.upper is not None:
                assert joint.limits.lower <= q[:, k].min() and q[:, k].max() <= joint.limits.upper


def test_make_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    (tmp_path / "pyproject.toml").touch()

    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # this may be make test

    def make(python: str) -> str:
        command = ["make", "demo", f"PYTHON={python}"]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and not (tmp_path / ".venv").exists()
        return done.stdout

    assert make("no-such-python").startswith("error: there is no 'no-such-python'")
    fake = tmp_path / "python"
    for failing, sentence in (("sys.version_info", "3.11 or newer"), ("ensurepip", "apt-get install python3-venv")):
        fake.write_text(f'#!/bin/sh\ncase "$2" in *{failing}*) exit 1;; esac\nexit 0\n')
        fake.chmod(0o755)
        assert sentence in make(str(fake))
