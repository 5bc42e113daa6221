"""Trust checks: what ``make soak`` measures on a large scale and publishes in ``docs/trust.md``.

Each check is one module with one function, ``work``, and one row in :mod:`trust.registry` that says what is counted,
which error is measured, which bound it must keep and how much of it is run. ``tests/soak.py`` runs all rows at the scale
``SOAK`` on several processes; ``tests/trust/test_small.py`` runs the same functions on a few fixed examples in ``make test``.
"""
