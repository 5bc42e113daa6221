"""What test_foreign.py asks the helper process to do: as foreign readers do, for good and for bad."""

from __future__ import annotations

import mmap
import os
import signal
import sys
import time
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

Answer = tuple[Any, dict[str, Any]]


def echo(plain: Any = None) -> Answer:
    return plain, {}


def about() -> Answer:
    return {
        "pid": os.getpid(),
        "main": [*vars(sys.modules["__main__"])],
        "front": "Arm" in vars(sys.modules["dalembert"]),
    }, {}


def arrays() -> Answer:
    made = {"scalar": np.float64(np.pi), "big": np.arange(6, dtype=">i4").reshape(2, 3), "turned": np.eye(3)[:, ::2]}
    return None, {**made, "none": np.zeros((0, 4)), "flags": np.array([True, False])}


def chatter() -> Answer:
    os.write(1, b"this is no message")
    print("nor is this", flush=True)
    return sys.stdin.read(), {}


def sleep(seconds: float) -> Answer:
    time.sleep(seconds)
    return None, {}


def busy() -> Answer:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        pass


def crash(by: str) -> Answer:
    os.kill(os.getpid(), getattr(signal, by))
    return None, {}


def leave() -> Answer:
    sys.exit(3)


def swallow(gigabytes: float) -> Answer:
    return len(bytearray(int(gigabytes * 2**30))), {}


_kept = []


def keep(gigabytes: float) -> Answer:
    _kept.append(mmap.mmap(-1, int(gigabytes * 2**30)))  # counted, but never touched
    return os.getpid(), {}


def refuse() -> Answer:
    raise DalembertError("arm.xml: it has no wheels")


def stumble() -> Answer:
    return {}["wheels"], {}


def objects() -> Answer:
    return None, {"o": np.array([object()])}


def forge(text: str) -> Answer:
    """An answer by who has taken over the helper, in place of the honest one."""
    import gc
    from io import FileIO

    pipe = next(x for x in gc.get_objects() if isinstance(x, FileIO) and x.writable() and x.fileno() > 2)
    pipe.write(len(text).to_bytes(8, "little") + text.encode())
    os._exit(0)
