"""The run of ``make soak-thresholds``: for every threshold, a test that fails when it is ten times larger or smaller.

First the tests of ``make test`` run once and record which thresholds they read; then each threshold is changed and tests that
read it and few others are repeated. ``docs/thresholds.json`` has the result, and the page of thresholds shows it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "docs" / "hooks"))

import thresholds  # noqa: E402

OUT = ROOT / "out" / "thresholds"
ROOMS = ("arm", "robot", "mechanics", "work")  # of the tests that read them
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:warnings"]


def pytest_with(plugin: str, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
    path = os.pathsep.join((str(HERE), os.environ.get("PYTHONPATH", "")))
    command = [*PYTEST, "-p", plugin, *arguments]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path, **variables})


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    options.add_argument("--tests", type=int, default=12, help="largest number of tests to try for a threshold")
    options.add_argument("--longest", type=float, default=3.0, help="s, duration of the slowest test to try")
    options.add_argument("--workers", type=int, default=2, help="processes at a time")
    options.add_argument("--keep-readers", action="store_true", help="use the record of an earlier run")
    options.add_argument("--further", action="store_true", help="keep what an earlier run has found")
    settings = options.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    if not settings.keep_readers:
        rooms = [f"tests/{room}" for room in ROOMS]
        spread = ("-m", "not repeated", "-n", str(settings.workers), "--dist", "worksteal")
        pytest_with("threshold_readers", *spread, *rooms, DALEMBERT_RECORD_READERS="1").wait()
    readers: dict[str, set[str]] = defaultdict(set)
    durations: dict[str, float] = {}
    for path in OUT.glob("readers-*.json"):
        content = json.loads(path.read_text())
        durations |= content["durations"]
        for key, tests in content["readers"].items():
            readers[key] |= set(tests)
    # tests that read few thresholds say most about each
    count = Counter(test for tests in readers.values() for test in tests)
    nearest = {
        key: sorted(
            (test for test in tests if durations.get(test, 1e9) <= settings.longest),
            key=lambda test: (count[test], durations[test]),
        )
        for key, tests in readers.items()
    }
    known = json.loads(thresholds.NOTICED.read_text()) if settings.further else {}
    rows = [row.key for row in thresholds.thresholds() if nearest.get(row.key) and not known.get(row.key)]
    jobs = []
    for worker in range(settings.workers):
        tests = {key: nearest[key][: settings.tests] for key in rows[worker :: settings.workers]}
        job, out = OUT / f"job-{worker}.json", OUT / f"noticed-{worker}.json"
        job.write_text(json.dumps({"tests": tests, "out": str(out)}))
        files = sorted({test.partition("::")[0] for listed in tests.values() for test in listed})
        jobs.append(pytest_with("threshold_changes", "-s", *files, DALEMBERT_THRESHOLDS=str(job)))
    for process in jobs:
        process.wait()
    noticed: dict[str, str | None] = {row.key: known.get(row.key) for row in thresholds.thresholds()}
    for path in OUT.glob("noticed-*.json"):
        noticed |= json.loads(path.read_text())
    thresholds.NOTICED.write_text(json.dumps(noticed, indent=1, sort_keys=True) + "\n")
    print(f"{sum(map(bool, noticed.values()))} of {len(noticed)} thresholds have a test that notices a change")


if __name__ == "__main__":
    main()
