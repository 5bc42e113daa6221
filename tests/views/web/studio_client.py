"""A client of the studio that speaks to it byte by byte."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

from dalembert.views.studio.server import StudioServer


class Client:
    """Requests to a server, right in everything that is not given otherwise."""

    def __init__(self, server: StudioServer) -> None:
        self.server, self.gate = server, server.gate
        self.host = self.gate.hosts[0]

    def raw(self, request: bytes, seconds: float = 10.0) -> bytes:
        with socket.create_connection(("127.0.0.1", self.server.server_port), timeout=seconds) as connection:
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(1 << 16), b""))

    def request(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str | None] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body; a header that is None is left out."""
        lines: dict[str, str | None] = {"Host": self.host}
        if method == "POST":
            lines |= {
                "Origin": f"http://{self.host}",
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
            }
        lines |= headers or {}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
        answer = self.raw(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        top, _, content = answer.partition(b"\r\n\r\n")
        first, *rest = top.decode().split("\r\n")
        return int(first.split()[1]), dict(line.split(": ", 1) for line in rest), content

    def get(self, path: str = "", **headers: str | None) -> tuple[int, dict[str, str], bytes]:
        return self.request("GET", f"/{self.gate.token}/{path}", headers=dict(headers))

    def post(
        self, action: str, body: Any = None, headers: dict[str, str | None] | None = None
    ) -> tuple[int, dict[str, Any]]:
        content = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
        status, _, answer = self.request("POST", f"/{self.gate.token}/api/{action}", content, headers)
        return status, json.loads(answer)

    def done(self, action: str, body: Any = None) -> dict[str, Any]:
        """The job of an action when it has ended."""
        status, answer = self.post(action, body)
        assert status == 200, answer
        job = answer["job"]
        while job["state"] == "running":
            time.sleep(0.05)
            job = self.post("job", {"kind": job["kind"]})[1]["job"]
        return job
