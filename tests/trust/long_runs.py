"""Fuzzing of every reader, very many arms in one process, and property tests on new random examples.

Each runs in processes of its own, whose output lies under ``out/soak``, with the inputs at fault.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from trust.check import Outcome, Task

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
OUT = ROOT / "out" / "soak"
PATIENCE = 180.0  # s: a target that is still at work so long after its time hangs
SHORTEST = 0.5  # s for a target

Row = dict[str, Any]


# -- readers ---------------------------------------------------------------------------------------


def usual_engine() -> str:
    """Inputs are sought by coverage where atheris is installed."""
    return "atheris" if importlib.util.find_spec("atheris") else "random"


def targets() -> list[str]:
    """The names of all targets of the fuzzer."""
    from fuzz.targets import TARGETS

    return [target.name for target in TARGETS]


def readers(task: Task, outcome: Outcome) -> None:
    """One target for so many seconds."""
    from fuzz.targets import TARGETS

    target, engine = TARGETS[task.index], usual_engine()
    row = fuzz_reader(target.name, target.suffix, max(SHORTEST, task.amount), engine)
    outcome.count += row.get("inputs", 0)
    line = outcome.line(target.name)
    line.count += row.get("inputs", 0)
    if row["finding"]:
        line.worst += 1
        outcome.found(f"{target.name}: {row['finding']} (the input is kept in {row['kept']})")
    if engine == "atheris":
        outcome.notes.append("Inputs were sought by atheris, guided by the coverage of the package.")
    else:
        outcome.notes.append("Inputs were random mutations of a corpus; atheris was not installed.")


def fuzz_reader(name: str, suffix: str, seconds: float, engine: str) -> Row:
    """The result of fuzzing one target for so many seconds."""
    folder = OUT / name.replace(" ", "-")
    corpus = folder / "corpus"  # what earlier runs found worth keeping
    for path in folder.iterdir() if folder.is_dir() else ():
        if path != corpus:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log.txt"
    code = run([sys.executable, "-m", "fuzz", name, str(seconds), str(folder), engine], log, seconds + PATIENCE)
    told, row = log.read_text(errors="replace"), {"name": name, "finding": None, "kept": log}
    with contextlib.suppress(FileNotFoundError):
        row |= json.loads((folder / "result.json").read_text())
    if covered := re.findall(r"cov: (\d+)", told):
        row["coverage"], row["new"] = int(covered[-1]), int(covered[-1]) - int(covered[0])
    if code != 0 and not row["finding"]:
        last = (told.strip().splitlines() or [""])[-1]
        row["finding"] = (
            f"the process hangs ({last:.200})" if code is None else f"the process ends with status {code} ({last:.200})"
        )
    if row["finding"] and (data := folder / f"input{suffix}").exists():
        row["kept"] = OUT / f"{folder.name}-{hashlib.sha256(data.read_bytes()).hexdigest()[:8]}{suffix}"
        shutil.copyfile(data, row["kept"])
    return row


def run(command: list[str], log: Path, seconds: float) -> int | None:
    """The exit status of a command whose output goes to a file; None if it had to be ended."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    surroundings = {
        "PYTHONPATH": path, "HYPOTHESIS_PROFILE": "soak", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
        "DALEMBERT_CACHE": str(OUT / "cache"), "XDG_STATE_HOME": str(OUT / "state"),
    }  # fmt: skip
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | surroundings,
            start_new_session=True,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


# -- arms and properties ---------------------------------------------------------------------------


def many_arms(task: Task, outcome: Outcome) -> None:
    """Very many arms, one after the other, in bounded memory."""
    count, log = round(task.amount), OUT / "arms.txt"
    different = min(1000, count // 2)
    code = run([sys.executable, str(TESTS / "many_arms.py"), str(count), str(different)], log, 600.0 + 0.5 * count)
    last = (log.read_text(errors="replace").strip().splitlines() or [f"status {code}"])[-1]
    outcome.passed("memory after all arms", None if code == 0 else last, f"the output is in {log}")
    outcome.notes.append(f"The last line of its output: {last}.")
    outcome.count += count


def properties(task: Task, outcome: Outcome) -> None:
    """The property tests on new examples, file after file in random order, until the time is over."""
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "hypothesis"]
    log = OUT / f"properties-{task.index}.txt"
    run([*pytest, "--collect-only", "-qq", "tests"], log, PATIENCE)
    files = re.findall(r"^(\S+\.py): \d+$", log.read_text(), re.MULTILINE)
    start = time.monotonic()
    if not files:
        outcome.found(f"no property tests were collected; the output is in {log}")
    waiting: list[str] = []
    while files and (left := task.amount - (time.monotonic() - start)) > 0 and not outcome.findings:
        waiting = waiting or random.sample(files, len(files))
        file = waiting.pop()
        code = run([*pytest, "-x", file], log, left + PATIENCE / 10)
        passed = re.search(r"(\d+) passed", log.read_text())
        line = outcome.line(file.removeprefix("tests/"))
        line.count += int(passed[1]) if passed else 0
        outcome.count += int(passed[1]) if passed else 0
        if code not in (0, 5, None):  # None: the time was over
            line.worst += 1
            outcome.found(f"a property test of {file} fails (status {code}); the output is in {log}")
