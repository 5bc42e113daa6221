"""A pytest plugin that changes one threshold at a time and runs tests that read it until one of them fails.

``DALEMBERT_THRESHOLDS`` is a file with the tests of each threshold, and where to write the test that noticed.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from pathlib import Path
from types import FrameType

import pytest
from _pytest.runner import runtestprotocol

HERE = Path(__file__).resolve().parent
PLACES = (str(HERE.parents[1] / "src"), str(HERE.parent))  # of modules whose caches depend on thresholds
sys.path.insert(0, str(HERE.parents[1] / "docs" / "hooks"))

import thresholds  # noqa: E402

OWN = {(row.module, row.name) for row in thresholds.thresholds()}
PATIENCE = 20  # s for one test with a changed threshold


def changes(value: float) -> Iterator[float]:
    """Other values of a threshold: clearly larger and clearly smaller ones."""
    if isinstance(value, int):
        yield from (4 * value + 1, value // 4)
    else:
        yield from (10.0 * value, 0.1 * value)


def places(module: str, name: str) -> list[dict[str, object]]:
    """The modules, loaded so far, that have the threshold: its own, and those that import it."""
    value = vars(sys.modules[module])[name]
    loaded = [(key, vars(other)) for key, other in list(sys.modules.items()) if key.startswith("dalembert.")]
    return [scope for key, scope in loaded if key == module or (scope.get(name) is value and (key, name) not in OWN)]


def forget() -> None:
    """Clear the caches of the package's and the tests' functions, whose results depend on thresholds, but not kernels."""
    for name, module in list(sys.modules.items()):
        ours = str(getattr(module, "__file__", None)).startswith(PLACES)
        if ours and not name.startswith(("dalembert.compiler", "dalembert.arm")):
            for thing in list(vars(module).values()):
                if isinstance(thing, _lru_cache_wrapper):
                    thing.cache_clear()


class _TooLong(BaseException):
    pass


def _too_long(number: int, frame: FrameType | None) -> None:
    raise _TooLong


def fails(item: pytest.Item) -> bool:
    """Whether the test fails, on its own; a test that takes too long has not noticed anything."""
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(PATIENCE)
    try:
        reports = runtestprotocol(item, log=False, nextitem=None)
    except _TooLong:
        return False
    finally:
        signal.alarm(0)
    return any(report.failed for report in reports)


def noticing(row: thresholds.Threshold, items: list[pytest.Item]) -> str | None:
    """The first test that passes as the threshold is and fails with another value."""
    module = importlib.import_module(row.module)
    for item in items:
        value = vars(module)[row.name]
        for other in changes(value):
            scopes = places(row.module, row.name)
            for scope in scopes:
                scope[row.name] = other
            forget()
            failed = fails(item)
            for scope in scopes:
                scope[row.name] = value
            forget()
            if failed and not fails(item):  # and for no other reason
                return item.nodeid
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    job = json.loads(Path(os.environ["DALEMBERT_THRESHOLDS"]).read_text())
    by_id = {item.nodeid: item for item in session.items}
    result: dict[str, str | None] = {}
    for row in thresholds.thresholds():
        if row.key in job["tests"]:
            items = [by_id[test] for test in job["tests"][row.key] if test in by_id]
            result[row.key] = noticing(row, items)
            Path(job["out"]).write_text(json.dumps(result))
            print(f"{row.key}: {result[row.key]}", flush=True)
    return True
