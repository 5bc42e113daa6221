"""The bar of what takes long: on a terminal only, after a while only, and gone when the work is done."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import redirect_stderr
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from arms import states
from dalembert.base.environment import progress
from dalembert.base.environment.progress import Bar
from dalembert.compiler.emit import llvm
from dalembert.compiler.kernel import compile as compile_
from dalembert.compiler.kernel import make


class Terminal(io.StringIO):
    """What a person looks at."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def able(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


def waited(bar: Bar, seconds: float = 10.0) -> bool:
    """Whether the bar is shown in time."""
    end = time.monotonic() + seconds
    while bar.task is None and time.monotonic() < end:
        time.sleep(0.01)
    return bar.task is not None


def test_the_bar_comes_when_patience_is_over() -> None:
    with redirect_stderr(Terminal()) as terminal:
        with Bar("counting", patience=0.0) as bar:
            bar(0.1)
            assert waited(bar) and progress._screen.display is not None
            assert progress._screen.display.tasks[0].percentage == pytest.approx(10.0)
        assert "counting" in terminal.getvalue()
        with Bar("adding") as bar:
            bar(0.1)
            assert bar.task is None
        assert "adding" not in terminal.getvalue()
        with Bar("one long step", patience=0.02) as bar:  # which says nothing while it goes on
            assert waited(bar)
    assert progress._screen.display is None


def test_no_bar_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a thread nor a word."""
    for stream in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        threads = threading.active_count()
        with Bar("counting", patience=0.0) as bar:
            bar(0.5)
            assert bar.task is None and threading.active_count() == threads
        assert stream is None or stream.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", object())  # as programs that log put something there that can only be written to
    with Bar("counting", patience=0.0) as bar:
        bar(0.5)
        assert bar.task is None


def test_bars_within_bars_share_the_screen() -> None:
    with redirect_stderr(Terminal()) as terminal, Bar("simulating", patience=0.0) as outer:
        with Bar("compiling [red]\x1b[2J", patience=0.0) as inner:  # a name is no markup and moves no cursor
            inner(0.5)
            outer(0.1)
            assert waited(inner) and waited(outer)
            display = progress._screen.display
            assert display is not None and len(display.tasks) == 2
        assert progress._screen.display is display and len(display.tasks) == 1
    assert progress._screen.display is None
    assert "compiling [red] [2J" in terminal.getvalue()


def cut(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Small kernels are compiled as large ones are, and new."""
    monkeypatch.setattr(llvm, "PART_LENGTH", 60)
    monkeypatch.setattr(llvm, "MODULE_PARTS", 3)
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    monkeypatch.setattr(make, "_kernels", type(make._kernels)())


def test_compiling_says_what_and_how_far(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cut(monkeypatch, tmp_path)
    monkeypatch.setattr(make, "PATIENCE", 0.0)
    fractions: list[float] = []
    object_code = compile_.object_code

    def slowly(modules: Sequence[str], bar: Bar, optimise: bool, machine: object) -> bytes:
        assert waited(bar)
        return object_code(modules, lambda fraction: (fractions.append(fraction), bar(fraction)))  # type: ignore[func-returns-value]

    monkeypatch.setattr(make, "object_code", slowly)
    a = da.load("puma560")
    x = states(a, 5)
    with redirect_stderr(Terminal()) as terminal:
        tau = a.inverse_dynamics(*x)
    assert "compiling inverse_dynamics of puma560" in terminal.getvalue()
    assert len(fractions) > 2 and fractions == [(k + 1) / len(fractions) for k in range(len(fractions))]
    monkeypatch.undo()
    assert np.abs(tau - da.load("puma560").inverse_dynamics(*x)).max() < 1e-12


def test_short_compiles_show_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cut(monkeypatch, tmp_path)
    with redirect_stderr(Terminal()) as terminal:
        da.load("planar-2r").gravity_torque([0.1, 0.2])
    assert make.PATIENCE == 2.0 and terminal.getvalue() == ""


INTERRUPTED = """
import os, sys, dalembert as da
from dalembert.compiler.emit import llvm
from dalembert.compiler.kernel import compile, make
llvm.PART_LENGTH, llvm.MODULE_PARTS = 60, 1
write = compile._object
def slowly(*how):
    print("compiling", flush=True)
    return write(*how)
compile._object = slowly
try:
    for payload in range(10_000):
        da.load("puma560").with_payload(1.0 + payload).inverse_dynamics(*[[0.0] * 6] * 3)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_is_heard_between_modules(tmp_path: Path) -> None:
    environment = {**os.environ, "DALEMBERT_CACHE": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True, env=environment
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == "compiling\n"
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=60)[0].splitlines()[-1] == "interrupted"
        assert child.returncode == 0
