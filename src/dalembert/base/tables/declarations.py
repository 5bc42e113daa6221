"""The columns and units of motions and logs as plain data, from which the page's reader is made."""

from __future__ import annotations

from typing import Any

from dalembert.base.tables.load_columns import PAYLOADS, WRENCHES
from dalembert.base.tables.signal_columns import NO_UNITS, SIGNALS
from dalembert.base.tables.units import CHARACTERS, RESPELT


def declarations() -> dict[str, Any]:
    """Spellings and units of every column, as JSON can hold them.

    signals    {quantity: {"spellings": […], "revolute": {unit: factor}, "prismatic": {unit: factor}}}
    payloads, wrenches   {column: {unit: factor}}, in the order of a body's parameters and of a wrench
    respelt    [old, new] replacements that normalise a unit, in order; characters {character: replacement}, after them
    no_units   endings of names, as in q_in, that are not units

    >>> declarations()["signals"]["q"]["prismatic"]["mm"], declarations()["payloads"]["payload"]["g"]
    (0.001, 0.001)
    """
    return {
        "signals": {
            key: {
                "spellings": list(column.spellings),
                "revolute": column.units(False),
                "prismatic": column.units(True),
            }
            for key, column in SIGNALS.items()
        },
        "payloads": {column.key: column.units() for column in PAYLOADS},
        "wrenches": {column.key: column.units() for column in WRENCHES},
        "respelt": [list(pair) for pair in RESPELT],
        "characters": CHARACTERS,
        "no_units": list(NO_UNITS),
    }
