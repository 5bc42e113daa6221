"""The long run of ``make soak``: fuzzing of every reader, very many arms, and property tests on new random examples.

``python tests/soak.py 0.02`` takes a minute or two, ``1`` at most an hour on two cores. What is found stays under
``out/soak``: the input, and what was wrong with it. The exit status is 1 where anything was.
"""

from __future__ import annotations

import argparse
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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "out" / "soak"
SECONDS = 3000.0  # that all of it takes at scale 1; what cannot be stopped may take some minutes more
SHARES = {"readers": 0.55, "properties": 0.15}  # the arms, beside the properties, take what they take
ARMS = 30_000
FEWEST_ARMS = 400
STARTING = 3.0  # s before the first input of a target
SHORTEST = 0.5  # s for a target
FEWEST_SECONDS = 20.0  # for the property tests, so that some are done
PATIENCE = 180.0  # s: a target that is still at work so long after its time hangs

Row = dict[str, Any]


def main() -> int:
    """Run all parts, print what was tried, and say whether anything was found."""
    reading = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    reading.add_argument("scale", type=float, help="1 takes at most an hour")
    reading.add_argument("--workers", type=int, default=2, help="processes at a time")
    reading.add_argument("--only", default="", help="fuzz only the targets whose name holds this word, nothing else")
    reading.add_argument("--engine", choices=("atheris", "random"), default=usual_engine())
    given = reading.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    if not 0 < given.scale < 1000:
        reading.error("scale must be a positive number, such as 0.02 or 1")
    seconds = {part: SECONDS * given.scale * share for part, share in SHARES.items()}
    print(f"readers are fuzzed by {told_engine(given.engine)}", flush=True)
    rows = fuzz_readers(seconds["readers"], given.workers, given.only, given.engine)
    if not given.only:
        with ThreadPoolExecutor(given.workers) as pool:
            rows += pool.map(
                lambda part: part(),
                (lambda: arms(given.scale), lambda: properties(max(FEWEST_SECONDS, seconds["properties"]))),
            )
    print_rows(rows)
    findings = [row for row in rows if row["finding"]]
    for row in findings:
        print(f"\n{row['name']}: {row['finding']}\n  kept in {row['kept']}")
    print(f"\n{len(findings)} findings" if findings else "\nnothing was found")
    return 1 if findings else 0


def usual_engine() -> str:
    """Coverage guides where it can."""
    return "atheris" if importlib.util.find_spec("atheris") else "random"


def told_engine(engine: str) -> str:
    """What makes the inputs, in words."""
    if engine == "atheris":
        return "atheris, guided by the coverage of the package"
    return "random mutation of a corpus; pip install atheris to have coverage guide it"


# -- readers ---------------------------------------------------------------------------------------


def fuzz_readers(seconds: float, workers: int, only: str, engine: str) -> list[Row]:
    """Every target in a process of its own, each for the same share of the time."""
    from fuzz.targets import TARGETS

    chosen = [target for target in TARGETS if only in target.name]
    share = max(SHORTEST, seconds * workers / max(1, len(chosen)) - STARTING)
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda target: fuzz_reader(target.name, target.suffix, share, engine), chosen))


def fuzz_reader(name: str, suffix: str, seconds: float, engine: str) -> Row:
    """What came of one target."""
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
    """The exit status of a command whose output goes to a file; None where it had to be ended."""
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    surroundings = {
        "PYTHONPATH": path, "HYPOTHESIS_PROFILE": "soak", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
        "DALEMBERT_CACHE": str(OUT / "cache"), "XDG_STATE_HOME": str(OUT / "state"),
    }  # fmt: skip
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=HERE.parent,
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


# -- the rest --------------------------------------------------------------------------------------


def arms(scale: float) -> Row:
    """Very many arms, one after the other, in bounded memory."""
    count = max(FEWEST_ARMS, round(ARMS * scale))
    log, start = OUT / "arms.txt", time.monotonic()
    code = run(
        [sys.executable, str(HERE / "many_arms.py"), str(count), str(min(1000, count // 2))],
        log,
        3600.0 * max(1.0, scale),
    )
    row = {"name": "many arms", "inputs": count, "seconds": time.monotonic() - start, "kept": log, "finding": None}
    if code != 0:
        row["finding"] = (log.read_text(errors="replace").strip().splitlines() or [f"status {code}"])[-1]
    return row


def properties(seconds: float) -> Row:
    """The property tests on new examples, file after file in random order, until the time is over."""
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "hypothesis"]
    log, start = OUT / "properties.txt", time.monotonic()
    row: Row = {"name": "property tests", "inputs": 0, "kept": log, "finding": None}
    run([*pytest, "--collect-only", "-qq", "tests"], log, PATIENCE)
    files = re.findall(r"^(\S+\.py): \d+$", log.read_text(), re.MULTILINE)
    waiting: list[str] = []
    while (left := seconds - (time.monotonic() - start)) > 0 and row["finding"] is None:
        waiting = waiting or random.sample(files, len(files))
        file = waiting.pop()
        code = run([*pytest, "-x", file], log, left + STARTING)
        passed = re.search(r"(\d+) passed", log.read_text())
        row["inputs"] += int(passed[1]) if passed else 0
        if code:
            row["finding"] = f"a property test of {file} fails (status {code})"
    return row | {"seconds": time.monotonic() - start}


def print_rows(rows: list[Row]) -> None:
    """A table: what, how many, how fast, the slowest, the most memory, and coverage."""
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("what", lambda row: row["name"]),
        ("inputs", lambda row: str(row.get("inputs", "–"))),
        ("per s", lambda row: f"{row['inputs'] / row['seconds']:.0f}" if row.get("seconds") else "–"),
        ("slowest (s)", lambda row: f"{row['slowest']:.3f}" if "slowest" in row else "–"),
        ("peak (MB)", lambda row: f"{row['megabytes']:.0f}" if "megabytes" in row else "–"),
        ("coverage", lambda row: f"{row['coverage']} (+{row['new']})" if "coverage" in row else "–"),
        ("", lambda row: "FOUND" if row["finding"] else ""),
    ]
    cells = [[heading for heading, _ in columns], *([text(row) for _, text in columns] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(columns))]
    print()
    for line in cells:
        print(
            "  ".join(
                cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
        )


if __name__ == "__main__":
    sys.exit(main())
