"""The studio from its start to Ctrl-C."""

from __future__ import annotations

import signal
import threading
import webbrowser
from collections.abc import Callable
from typing import Any

from dalembert.errors import DalembertError
from dalembert.studio.bounds import STOP_SECONDS
from dalembert.studio.folder import RobotFolder
from dalembert.studio.page_tasks import Shown
from dalembert.studio.server import StudioServer
from dalembert.studio.session import Session

TERMINATED = 128 + signal.SIGTERM  # the exit status of what SIGTERM ended, as a shell shows it


def run_studio(folder: RobotFolder, shown: Shown, port: int, browser: bool, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; ``say`` gets the address when there is somebody to answer there."""
    session = Session(folder, shown)
    try:
        server = StudioServer(session, port)
    except (OSError, OverflowError) as problem:
        session.close(0.0)
        raise DalembertError(
            f"port {port} cannot be listened on ({getattr(problem, 'strerror', None) or problem}); give another by --port, or none"
        ) from None
    before = signal.signal(signal.SIGTERM, _terminated)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        say(server.gate.address)
        if browser:
            webbrowser.open(server.gate.opening_address)
        while True:
            thread.join(1.0)
    finally:
        signal.signal(signal.SIGTERM, before)
        server.shutdown()
        server.server_close()
        session.close(STOP_SECONDS)


def _terminated(number: int, frame: Any) -> None:
    raise SystemExit(TERMINATED)
