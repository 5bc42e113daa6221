"""SymPy, imported when it is first used: ``from dalembert.mechanics.symbols.sympy_package import sympy``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.base.environment.extras import extra

if TYPE_CHECKING:
    import sympy as sympy
else:

    class _Sympy:
        """The package; an attribute that has been used once is stored."""

        def __getattr__(self, name: str) -> Any:
            with extra("symbols", "the SymPy form of the equations"):
                import sympy

            value = getattr(sympy, name)
            setattr(self, name, value)
            return value

    sympy = _Sympy()
