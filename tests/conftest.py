"""Every test run compiles into a cache of its own, so that nothing old is tested by mistake."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALEMBERT_CACHE", str(folder / "objects"))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        yield
