"""Every test run compiles into a cache of its own, so that nothing old is tested by mistake."""

import gc
import os
import signal

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # workers whose threads wait for one another take many times longer

import pytest
from hypothesis import HealthCheck, settings

import folders  # noqa: F401

# a shell lets what runs in its background ignore Ctrl-C, children too: it is tested all the same
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# the same examples in every run, so that a red suite can be run again; `make soak` tries new ones
quiet = [HealthCheck.too_slow, HealthCheck.filter_too_much]
settings.register_profile("house", deadline=None, derandomize=True, suppress_health_check=quiet)
settings.register_profile("soak", deadline=None, max_examples=100, suppress_health_check=quiet)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


def pytest_collection_finish() -> None:
    """Look for garbage less often, and not in what was imported and collected: it took a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"  # one for all workers of a run
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALEMBERT_CACHE", str(folder / "objects"))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        yield


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages whose figures are made and not drawn, for tests of their words: most of a report's time is drawing."""
    monkeypatch.setattr("dalembert.report.html.figure_svg", lambda figure, label, name: "<svg></svg>")
    monkeypatch.setattr("dalembert.report.page.formula_svg", lambda latex: "<svg></svg>")
