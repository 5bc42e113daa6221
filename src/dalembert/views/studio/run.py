"""The studio from its start to Ctrl-C."""

from __future__ import annotations

import signal
import threading
import webbrowser
from collections.abc import Callable
from typing import Any

from dalembert.errors import DalembertError
from dalembert.views.studio.folder import RobotFolder
from dalembert.views.studio.page_tasks import Shown
from dalembert.views.studio.server import StudioServer
from dalembert.views.studio.session import Session
from dalembert.views.studio.upload_bounds import STOP_SECONDS

ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows has no SIGHUP


def run_studio(folder: RobotFolder, shown: Shown, port: int, browser: bool, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C, SIGTERM or the end of the terminal; ``say`` receives the address once the server is ready."""
    session = Session(folder, shown)
    try:
        server = StudioServer(session, port)
    except (OSError, OverflowError) as problem:
        session.close(0.0)
        raise DalembertError(
            f"cannot listen on port {port} ({getattr(problem, 'strerror', None) or problem}); choose another with "
            "--port, or omit it"
        ) from None
    before = {number: signal.getsignal(number) for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, _terminated)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        say(server.gate.address)
        if browser:
            webbrowser.open(server.gate.opening_address)
        while True:
            thread.join(1.0)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        server.shutdown()
        server.server_close()
        session.close(STOP_SECONDS)


def _terminated(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)  # the exit status that shells use for a signal
