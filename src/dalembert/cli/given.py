"""What the user gave: an arm by its name or file, numbers in an option."""

from __future__ import annotations

import math
import warnings
from typing import Literal, cast

from dalembert import Arm
from dalembert import load as load_arm
from dalembert.cli.terminal import say
from dalembert.errors import DalembertError


def load(arm: str, physical: str, tip: str | None) -> Arm:
    """The arm, with its warnings as sentences on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = load_arm(arm, physical=cast(Literal["error", "warn"], physical), tip=tip)
    for warning in caught:
        say("warning", str(warning.message))
    return loaded


def numbers_of(option: str, text: str | None, names: str) -> tuple[float, ...] | None:
    """The numbers in an option's value, as many as there are ``names``."""
    if text is None:
        return None
    words = text.replace(",", " ").split()
    wanted = len(names.split())
    if len(words) != wanted:
        raise DalembertError(f'{option} needs {wanted} numbers, "{names}", and has {len(words)}: "{text}"')
    try:
        values = tuple(map(float, words))
    except ValueError as error:
        raise DalembertError(f'{option} "{text}": {str(error).partition(": ")[2]} is not a number') from None
    if not all(map(math.isfinite, values)):
        raise DalembertError(f'{option} "{text}": every number must be finite')
    return values
