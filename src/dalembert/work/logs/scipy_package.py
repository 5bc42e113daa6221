"""SciPy, its parts imported when they are first used: ``from dalembert.work.logs.scipy_package import scipy``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dalembert.base.environment.extras import extra

if TYPE_CHECKING:
    scipy: Any
else:

    class _Scipy:
        """The package; a part that has been used once is stored."""

        def __getattr__(self, name: str) -> Any:
            with extra("identify", "identification"):
                value = import_module(f"scipy.{name}")
            setattr(self, name, value)
            return value

    scipy = _Scipy()
