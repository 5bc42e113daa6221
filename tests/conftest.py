"""Every run compiles into a cache of its own, so that nothing old is tested by mistake: one for all workers and targets."""

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # workers whose threads wait for one another take many times longer

import pytest
from hypothesis import HealthCheck, settings

import folders  # noqa: F401
import repeated
from compilers import ELSEWHERE

# a shell lets what runs in its background ignore Ctrl-C, children too: it is tested all the same
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# the same examples in every run, so that a red suite can be run again; `make soak` tries new ones
quiet = [HealthCheck.too_slow, HealthCheck.filter_too_much]
settings.register_profile("house", deadline=None, derandomize=True, suppress_health_check=quiet)
settings.register_profile("soak", deadline=None, max_examples=100, suppress_health_check=quiet)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


def failed_in_ci(report: pytest.CollectReport | pytest.TestReport, exempt: bool = False) -> None:
    """With CI set, a skipped test fails unless it needs another machine: what could have run there must have run."""
    if not report.skipped or hasattr(report, "wasxfail") or exempt or "CI" not in os.environ:
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if ELSEWHERE not in reason:
        report.outcome, report.longrepr = "failed", f"with CI set, a test must not be skipped ({reason})"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    failed_in_ci(report, exempt=item.get_closest_marker("gpu") is not None)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    failed_in_ci(report)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    repeated.mark(items)


def pytest_collection_finish() -> None:
    """Look for garbage less often, and not in what was imported and collected: it took a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"  # one for all workers of a run
    folder = Path(os.environ.get("DALEMBERT_TEST_CACHE", folder))  # one for all targets of a run: .ci/run sets it
    folder.mkdir(parents=True, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALEMBERT_CACHE", str(folder / "objects"))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        yield


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages whose figures are made and not drawn, for tests of their words: most of a report's time is drawing."""
    monkeypatch.setattr("dalembert.views.report.html.figure_svg", lambda figure, label, name: "<svg></svg>")
