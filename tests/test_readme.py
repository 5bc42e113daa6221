"""What README.md and examples/ show is run, and what they say is printed is compared."""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert.cli.main import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def run_script(path: Path, *args: str) -> str:
    said = io.StringIO()
    before, sys.argv = sys.argv, [str(path), *args]
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv = before
    return said.getvalue()


@pytest.mark.usefixtures("undrawn")
def test_python_blocks_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    names: dict[str, object] = {}
    said, compared = io.StringIO(), 0
    for kind, text in BLOCKS:
        if kind == "python":
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(compile(text, "README.md", "exec"), names)
        elif kind == "text":
            assert lines(said.getvalue()) == lines(text)
            compared += 1
    assert compared >= 4
    assert da.load("mine.toml") == names["mine"]


# a block holds no line that ends one: others between the two would be taken for code
PAIR = re.compile(r"^```python\n((?:(?!```).*\n)*)```\n+```text\n((?:(?!```).*\n)*)```$", re.MULTILINE)
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if PAIR.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_blocks_of_the_docs_print_what_the_page_says(page: Path) -> None:
    """Those that are followed by what they print, each by itself."""
    for code, printed in PAIR.findall(page.read_text(encoding="utf-8")):
        if not all(map(find_spec, re.findall(r"^import (torch|jax)\b", code, re.MULTILINE))):
            continue  # make test-foreign runs these
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(code, page.name, "exec"), {"da": da})
        assert lines(said.getvalue()) == lines(printed)


@pytest.mark.usefixtures("undrawn")
def test_commands_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    ran = 0
    for kind, text in BLOCKS:
        if kind != "console":
            continue
        for command, _, shown in (part.partition("\n") for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]):
            program, *args = shlex.split(command)
            if program == "dalembert":
                result = CliRunner(env={"COLUMNS": "100"}).invoke(app, args)
                said = result.output
                assert result.exception is None or isinstance(result.exception, SystemExit)
            else:
                assert program == "python"
                said = run_script(Path(args[0]), *args[1:])
            if shown.strip():
                assert lines(said) == lines(shown), command
            ran += 1
    assert ran >= 6


def test_the_table_of_arms_is_complete() -> None:
    table = README.partition("## Shipped arms")[2].partition("\n## ")[0]
    letters = dict.fromkeys(da.arms())
    for names, joints in re.findall(r"^\| (`.*?`) \| (\w+) \|", table, re.MULTILINE):
        for name in re.findall(r"`(.*?)`", names):
            letters[name] = joints
    for name in da.arms():
        moving = da.load(name).robot.moving_joints
        assert letters[name] == "".join("P" if joint.type == "prismatic" else "R" for joint in moving), name


def test_linked_files_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
    for target in re.findall(r"`((?:examples|src|docs)/[\w./-]*)`", README):
        assert (ROOT / target).exists(), target


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
