"""Access control: the token in the address, the names of this machine, and the studio's own pages."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence


class Gate:
    """Checks that a request must pass before anything else in it is examined.

    The token is compared in constant time. ``Host`` must name this machine, which prevents DNS rebinding; ``Origin``
    must be the studio's own, which prevents requests from other pages in the browser.

    >>> gate = Gate(8000)
    >>> gate.knows_host(["localhost:8000"]), gate.knows_host(["evil.example:8000"]), gate.path_behind("/guess/")
    (True, False, None)
    """

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(32)
        self.hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._opening = secrets.token_urlsafe(32)

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{self.hosts[0]}/{self.token}/"

    @property
    def opening_address(self) -> str:
        """A one-time address of the page, so that the browser's command line does not reveal the token."""
        return f"http://{self.hosts[0]}/{self._opening}"

    def opens(self, path: str) -> bool:
        """Whether this is the path of :attr:`opening_address`, requested for the first time."""
        if not self._opening or not _same(path, f"/{self._opening}"):
            return False
        self._opening = ""
        return True

    def path_behind(self, path: str) -> str | None:
        """The part of a path after the token, without query; None if the token is missing or wrong."""
        token, slash, rest = path.partition("?")[0].removeprefix("/").partition("/")
        return rest if _same(token, self.token) and slash else None

    def knows_host(self, hosts: Sequence[str]) -> bool:
        """Whether a request has exactly one ``Host`` line, which names this machine."""
        return len(hosts) == 1 and hosts[0].strip().lower() in self.hosts

    def knows_origin(self, origins: Sequence[str]) -> bool:
        """Whether a request has exactly one ``Origin`` line, which is that of the studio's page."""
        return len(origins) == 1 and origins[0].strip().lower() in [f"http://{host}" for host in self.hosts]


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())
