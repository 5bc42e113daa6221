"""What worker processes of the studio's tests run."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from dalembert.errors import DalembertError
from dalembert.studio.confined import confine


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


def number(tell: Any) -> int:
    return os.getpid()


def read_confined(tell: Any, folder: str, path: str) -> str:
    confine([Path(folder)])
    try:
        return Path(path).read_text()
    except PermissionError as error:
        return f"refused: {error.strerror}"
