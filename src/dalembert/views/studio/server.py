"""The server: one page, one report and a table of actions, for this machine only and for holders of the token."""

from __future__ import annotations

import contextlib
import html
import json
import re
import signal
import socket
import sys
import threading
import time
import traceback
import webbrowser
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dalembert.errors import DalembertError
from dalembert.views.studio import upload_bounds as bounds
from dalembert.views.studio.fields import StudioRequest
from dalembert.views.studio.folder import RobotFolder
from dalembert.views.studio.gate import Gate
from dalembert.views.studio.page_tasks import Shown
from dalembert.views.studio.session import ExistsError, Session
from dalembert.views.studio.uploads import kind_of

ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows has no SIGHUP
PIECE = 1 << 16  # bytes read at a time
REFUSED_BYTES = 1 << 20  # of a refused body: bytes that are still read, so that the sender receives the reason
META = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
STILL = "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Connection": "close",
}


class RefusedError(Exception):
    """A refused request: the status, and a message for the studio's own pages."""

    def __init__(self, status: HTTPStatus, sentence: str = "") -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class StudioServer(ThreadingHTTPServer):
    """Listens on 127.0.0.1 with a limited number of connections; those that have shown the token are counted separately."""

    daemon_threads = True
    request_queue_size = bounds.STRANGERS

    def __init__(self, session: Session, port: int = 0) -> None:
        self.session = session
        self._strangers: dict[socket.socket, None] = {}  # the oldest first
        self._known: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", port), StudioHandler)
        self.gate = Gate(self.server_port)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle a request in its own thread; if too many have not shown the token, the oldest of them is closed."""
        with self._lock:
            while len(self._strangers) >= bounds.STRANGERS:
                oldest = next(iter(self._strangers))
                del self._strangers[oldest]
                _let_go(oldest)
            self._strangers[request] = None
        super().process_request(request, client_address)

    def admit(self, connection: socket.socket) -> bool:
        """Whether there is a place for a connection that has shown the token."""
        with self._lock:
            self._strangers.pop(connection, None)
            free = len(self._known) < bounds.CONNECTIONS
            if free:
                self._known.add(connection)
            return free

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer one request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._strangers.pop(request, None)
                self._known.discard(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore broken connections, and report internal errors in the terminal."""
        problem = sys.exc_info()[1]
        if not isinstance(problem, OSError):
            traceback.print_exception(problem)


class StudioHandler(BaseHTTPRequestHandler):
    """One request on one connection."""

    server: StudioServer
    protocol_version = "HTTP/1.1"
    server_version = "dalembert"
    sys_version = ""
    timeout = bounds.PAUSE_SECONDS

    def setup(self) -> None:
        """Limit the time that a client may take for the header of its request."""
        super().setup()
        self.left = 0  # bytes of the body not yet read
        self.waits = False  # for permission to send the body
        self.clock = threading.Timer(bounds.HEAD_SECONDS, _let_go, (self.connection,))
        self.clock.daemon = True
        self.clock.start()

    def finish(self) -> None:
        """Close; part of a refused body is read first, because the sender would otherwise lose the response."""
        self.clock.cancel()
        with contextlib.suppress(OSError):
            super().finish()
            if self.left:
                self.connection.shutdown(socket.SHUT_WR)
                self.connection.settimeout(1.0)
                unread = min(self.left, REFUSED_BYTES)
                while unread > 0 and (piece := self.connection.recv(PIECE)):
                    unread -= len(piece)

    def handle_expect_100(self) -> bool:
        """Delay the request for the body until its size and sender have been checked."""
        self.waits = True
        return True

    def do_GET(self) -> None:
        """Serve the page or the report."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Perform an action or receive a file."""
        self._answer(self._post)

    def _answer(self, work: Callable[[], None]) -> None:
        self.clock.cancel()
        self.close_connection = True
        error: dict[str, Any]
        try:
            return work()
        except RefusedError as refused:
            status, error = refused.status, {"error": refused.sentence}
        except ExistsError as problem:
            status, error = HTTPStatus.CONFLICT, {"error": str(problem), "exists": True}
        except DalembertError as problem:
            status, error = HTTPStatus.UNPROCESSABLE_ENTITY, {"error": str(problem)}
        except OSError as problem:
            if problem.filename is None:  # the connection
                raise
            status, error = HTTPStatus.UNPROCESSABLE_ENTITY, {"error": f"{problem.filename}: {problem.strerror}"}
        except Exception:  # noqa: BLE001  an internal error: the terminal shows the traceback, the page a message
            traceback.print_exc()
            sentence = "the studio failed on this request; its terminal shows the traceback"
            status, error = HTTPStatus.INTERNAL_SERVER_ERROR, {"error": sentence}
        self._send(status, "application/json", json.dumps(error))

    def _get(self) -> None:
        gate, session = self.server.gate, self.server.session
        self._check_host()
        if gate.opens(self.path):
            self.send_response(HTTPStatus.FOUND)
            self.send_header("Location", f"/{gate.token}/")
            self._end_headers(0)
            return
        text = {"": session.page, "report.html": session.report}.get(self._behind())
        if text is None:
            raise RefusedError(HTTPStatus.NOT_FOUND)
        self._send(HTTPStatus.OK, "text/html; charset=utf-8", text, policy_of(text))

    def _post(self) -> None:
        self.left = _length(self.headers.get_all("Content-Length") or [])
        self._check_host()
        behind = self._behind()
        if not self.server.gate.knows_origin(self.headers.get_all("Origin") or []):
            raise RefusedError(HTTPStatus.FORBIDDEN, "the request does not come from the studio's page")
        if self.headers.get("Transfer-Encoding") is not None or self.left < 0:
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "the request must state the length of its body")
        if behind == "api/upload":
            answer = self._upload()
        else:
            action = self.server.session.actions.get(behind.removeprefix("api/")) if behind.startswith("api/") else None
            if action is None:
                raise RefusedError(HTTPStatus.NOT_FOUND)
            answer = action(StudioRequest(self._json()))
        self._send(HTTPStatus.OK, "application/json", json.dumps(answer, allow_nan=False, default=float))

    def _check_host(self) -> None:
        if not self.server.gate.knows_host(self.headers.get_all("Host") or []):
            raise RefusedError(HTTPStatus.NOT_FOUND)

    def _behind(self) -> str:
        behind = self.server.gate.path_behind(self.path)
        if behind is None:
            raise RefusedError(HTTPStatus.NOT_FOUND)
        if not self.server.admit(self.connection):
            busy = f"the studio is answering {bounds.CONNECTIONS} requests already"
            raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, busy)
        return behind

    def _need_type(self, kind: str) -> None:
        if self.headers.get_content_type() != kind or self.headers.get("Content-Type") is None:
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the request must be {kind}")

    def _json(self) -> dict[str, Any]:
        self._need_type("application/json")
        self._at_most(bounds.JSON_BYTES, "the request")
        content = b"".join(iter(self._pieces(), b""))
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "the request is not valid JSON") from None
        if not isinstance(body, dict):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "the request must be a JSON object")
        return body

    def _upload(self) -> dict[str, Any]:
        self._need_type("application/octet-stream")
        try:
            query = parse_qs(urlsplit(self.path).query, max_num_fields=10)
        except ValueError:
            raise RefusedError(HTTPStatus.BAD_REQUEST, "the address of the request is malformed") from None
        kind, name = ((query.get(key) or [""])[0] for key in ("kind", "name"))
        self._at_most(kind_of(kind, name), f"a {kind} file")
        self.server.session.uploads.take(name, self.left, self._pieces())
        return {"from": "sent", "name": name}

    def _at_most(self, most: int, what: str) -> None:
        if self.left > most:
            sentence = f"{what} has {self.left} bytes; at most {most} ({most >> 20} MiB) are accepted"
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence)

    def _pieces(self) -> Callable[[], bytes]:
        """A function that reads the next piece of the body, up to its stated length and within the time limit."""
        if self.waits:
            self.send_response_only(HTTPStatus.CONTINUE)
            self.end_headers()
        end = time.monotonic() + bounds.BODY_SECONDS

        def read() -> bytes:
            if time.monotonic() > end:
                raise RefusedError(
                    HTTPStatus.REQUEST_TIMEOUT, f"the request took longer than {bounds.BODY_SECONDS:g} s"
                )
            try:
                piece = self.rfile.read1(min(PIECE, self.left)) if self.left else b""
            except TimeoutError:
                raise RefusedError(
                    HTTPStatus.REQUEST_TIMEOUT, f"the request paused for more than {bounds.PAUSE_SECONDS:g} s"
                ) from None
            if self.left and not piece:
                raise RefusedError(HTTPStatus.BAD_REQUEST, "the request is shorter than its stated length")
            self.left -= len(piece)
            return bytes(piece)

        return read

    def _send(self, status: HTTPStatus, kind: str, text: str, policy: str = "default-src 'none'") -> None:
        content = text.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", policy)
        self._end_headers(len(content))
        self.wfile.write(content)

    def _end_headers(self, length: int) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse malformed requests and methods other than GET and POST."""
        self.clock.cancel()
        self.close_connection = True
        status = HTTPStatus(code)
        known = hasattr(self, "headers") and self.command and self.server.gate.path_behind(self.path) is not None
        if status is HTTPStatus.NOT_IMPLEMENTED:
            status = HTTPStatus.METHOD_NOT_ALLOWED if known else HTTPStatus.NOT_FOUND
        self._send(status, "application/json", json.dumps({"error": ""}))

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because addresses contain the token."""


def _let_go(connection: socket.socket) -> None:
    """End a connection whose thread may be waiting for it."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _length(lines: list[str]) -> int:
    """The value of ``Content-Length``; −1 if it is missing or not a number."""
    (line,) = lines if len(lines) == 1 else ("",)
    return int(line) if re.fullmatch(r"[0-9]{1,12}", line) else -1


def policy_of(text: str) -> str:
    """The Content-Security-Policy in the head of a page; one without scripts if the page has none."""
    policy = META.search(text)
    return f"{STILL if policy is None else html.unescape(policy[1])}; frame-ancestors 'none'"


# -- from the start to Ctrl-C ------------------------------------------------------------------------


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
        session.close(bounds.STOP_SECONDS)


def _terminated(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)  # the exit status that shells use for a signal
