"""What worker processes of the studio's tests run."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import Any

from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.robot.readers.load import load_robot
from dalembert.views.studio.confined import confine
from dalembert.views.web.page_shapes import shapes_of


def add(tell: Any, a: int, b: int) -> int:
    print("this goes to the terminal, not into the answer")
    tell("adding", 0.5)
    return a + b


def hang(tell: Any) -> None:
    tell("hanging", 0.1)
    while True:
        time.sleep(0.01)


def end(tell: Any) -> None:
    os._exit(3)


def refuse(tell: Any) -> None:
    raise DalembertError("that cannot be")


def fail(tell: Any) -> None:
    raise KeyError("secret")


def read_confined(tell: Any, folder: str, path: str) -> str:
    confine(folder)
    try:
        return Path(path).read_text()
    except PermissionError as error:
        return f"refused: {error.strerror}"


def meshes_confined(tell: Any, folder: str, path: str) -> tuple[int, list[str]]:
    confine(folder)
    data, notes = shapes_of(load_robot(path))
    return len(data["meshes"]), notes


def kept_confined(tell: Any, folder: str) -> list[str]:
    """What is said about the cache while kernels of an arm nobody has had before are made and kept."""
    confine(folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Arm(load_robot("pendulum").replace(gravity=(0.0, -time.time(), 0.0))).gravity_torque([0.1])
    return [str(warning.message) for warning in caught]
