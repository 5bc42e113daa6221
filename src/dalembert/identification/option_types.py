"""The allowed types and values of the options of an identification, checked before a log is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from dalembert.arm import Arm
from dalembert.arrays import shown
from dalembert.errors import DalembertError

Options = TypeVar("Options", bound=Any)

MOST_DAMPING = 1e100
MOST_DEVIATION = 1e3  # largest relative deviation of a prior


def checked(options: Options) -> Options:
    """A group of options: arrays are stored as lists, and a field of the wrong kind raises an error."""
    changed = {}
    for entry in fields(options):
        value = getattr(options, entry.name)
        if value is None:
            continue
        if isinstance(value, np.ndarray | np.generic):
            changed[entry.name] = value = value.tolist()
        if entry.name in KINDS:
            possible, words = KINDS[entry.name]
            if not possible(value):
                raise DalembertError(f"{entry.name} is {shown(value)}; it must be {words}")
    return replace(options, **changed)


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "rotor": (lambda x: isinstance(x, bool), "True or False"),
    "physical": (lambda x: isinstance(x, bool), "True or False"),
    "cutoff": (_number, "a number, in Hz"),
    "decimate": (lambda x: _whole(x) and x >= 1, "a whole number of at least 1: one sample in this many is kept"),
    "edge": (lambda x: _number(x) and x >= 0, "a number of at least 0, in seconds"),
    "lag": (_number, "a number, in seconds"),
    "method": (lambda x: isinstance(x, str), "a name such as 'weighted'"),
    "prior_kind": (lambda x: isinstance(x, str), "'entropic' or 'euclidean'"),
    "prior_deviation": (
        lambda x: _number(x) and 0 < x <= MOST_DEVIATION,
        f"a number above 0, at most {MOST_DEVIATION:g}, such as 0.3 for thirty percent",
    ),
    "damping": (lambda x: _number(x) and 0 <= x <= MOST_DAMPING, f"a number from 0 to {MOST_DAMPING:g}"),
    "damped_to": (lambda x: x in ("arm", "zero"), "'arm' or 'zero'"),
    "prior": (lambda x: isinstance(x, Arm), "an arm, as da.load(…) returns it"),
    "bounds": (lambda x: isinstance(x, Mapping), "a dict such as {'link2': {'box': (low, high)}}"),
    "hold_out": (lambda x: _number(x) and 0 <= x < 1, "a fraction of the log between 0 and 1, such as 0.3"),
}
