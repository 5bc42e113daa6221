"""Debian's Firefox, driven over WebDriver BiDi: what Python's Playwright cannot do with a Firefox that is not its own."""

from __future__ import annotations

import base64
import itertools
import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

SECONDS = 60.0  # for an answer or a start, on a machine that is busy
SCREEN = ("-screen", "0", "1600x1200x24", "-nolisten", "tcp")
# no first-run pages, no reports home
PREFERENCES = {
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.update.enabled": False,
    "messaging-system.rsexperimentloader.enabled": False,
    "services.settings.server": "data:,",
    "toolkit.telemetry.enabled": False,
}


@contextmanager
def ended(command: list[str], **options: Any) -> Iterator[Any]:
    """A process that is ended with the block."""
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=SECONDS)


class Firefox:
    """A Firefox with one session, on a display of its own, since it has no WebGL without one.

    ``log`` has what its pages said on their consoles, ``requests`` what they loaded; ``close`` ends it.
    """

    def __init__(self, executable: str, xvfb: str, folder: Path) -> None:
        preferences = (f'user_pref("{name}", {json.dumps(value)});' for name, value in PREFERENCES.items())
        (folder / "user.js").write_text("\n".join(preferences))
        self.said = folder / "said.txt"
        with ExitStack() as stack:
            display = stack.enter_context(ended([xvfb, "-displayfd", "1", *SCREEN], stdout=subprocess.PIPE, text=True))
            number = display.stdout.readline().strip()
            said = stack.enter_context(self.said.open("w"))
            command = [executable, "--no-remote", "--remote-debugging-port=0", "--profile", str(folder)]
            environment = {"DISPLAY": f":{number}", "HOME": str(folder), "LANG": "C.UTF-8"}
            self.process = stack.enter_context(ended(command, stdout=said, stderr=said, env=environment))
            self.socket = stack.enter_context(connect(f"{self.address()}/session", max_size=None, compression=None))
            self.numbers = itertools.count(1)
            self.log: list[dict[str, Any]] = []
            self.requests: list[str] = []
            self.send("session.new", capabilities={})
            self.send("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
            self.close = stack.pop_all().close

    def address(self) -> str:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            if found := re.search(r"WebDriver BiDi listening on (ws://\S+)", self.said.read_text()):
                return found[1]
            time.sleep(0.05)
        raise RuntimeError(f"Firefox does not start: {self.said.read_text()[-500:]}")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Sends a command and returns its result; events that come before it are kept."""
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv(timeout=SECONDS))
            if message["type"] == "event":
                self.keep(message["method"], message["params"])
            elif message["id"] == number:
                if message["type"] == "error":
                    raise RuntimeError(f"{method}: {message['error']}: {message['message']}")
                return dict(message["result"])

    def keep(self, event: str, params: dict[str, Any]) -> None:
        if event == "log.entryAdded":
            self.log.append(params)
        elif event == "network.beforeRequestSent":
            self.requests.append(params["request"]["url"])

    def open(self, address: str, width: int = 1280, height: int = 900) -> Tab:
        """A new tab, once its page has loaded."""
        tab = Tab(self, self.send("browsingContext.create", type="tab")["context"])
        tab.send("browsingContext.setViewport", viewport={"width": width, "height": height})
        tab.send("browsingContext.navigate", url=address, wait="complete")
        return tab


class Tab:
    """One page."""

    def __init__(self, firefox: Firefox, context: str) -> None:
        self.firefox, self.context = firefox, context

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        return self.firefox.send(method, context=self.context, **params)

    def evaluate(self, function: str, *values: Any) -> Any:
        """What a function of JavaScript, or its promise, gives for these values, which travel as JSON."""
        result = self.firefox.send(
            "script.callFunction",
            functionDeclaration=f"async (given) => JSON.stringify((await ({function})(...JSON.parse(given))) ?? null)",
            arguments=[{"type": "string", "value": json.dumps(values)}],
            target={"context": self.context},
            awaitPromise=True,
        )
        if result["type"] == "exception":
            raise RuntimeError(result["exceptionDetails"]["text"])
        return json.loads(result["result"]["value"])

    def wait_for(self, condition: str, *values: Any) -> None:
        """Waits until a function of JavaScript gives what counts as true."""
        end = time.monotonic() + SECONDS
        while not self.evaluate(condition, *values):
            if time.monotonic() > end:
                raise TimeoutError(f"{condition} has not come true in {SECONDS:g} s")
            time.sleep(0.02)

    def press(self, *keys: str) -> None:
        """Presses keys one after the other; special ones by their code, such as ``\\ue014`` for the right arrow."""
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.send("input.performActions", actions=[{"type": "key", "id": "keys", "actions": strokes}])

    def drag(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Drags the mouse with its first button from one point of the window to another."""
        moves: list[dict[str, Any]] = [{"type": "pointerMove", "x": start[0], "y": start[1]}]
        moves += [{"type": "pointerDown", "button": 0}]
        moves += [
            {"type": "pointerMove", "x": end[0], "y": end[1], "duration": 100},
            {"type": "pointerUp", "button": 0},
        ]
        self.send("input.performActions", actions=[{"type": "pointer", "id": "mouse", "actions": moves}])

    def screenshot(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode(self.send("browsingContext.captureScreenshot")["data"])

    def close(self) -> None:
        self.send("browsingContext.close")
