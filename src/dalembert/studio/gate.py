"""Who may ask: the token in the address, the names of this machine, and pages that the studio itself has sent."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence


class Gate:
    """What a request must show before anything else of it is looked at.

    The token is compared in constant time. ``Host`` must name this machine, or a page of somebody else whose name was made to
    point here could ask; ``Origin`` must be the studio's own, or any page that a browser has open could.

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
        """Where the page is."""
        return f"http://{self.hosts[0]}/{self.token}/"

    @property
    def opening_address(self) -> str:
        """An address that leads to the page once: whoever sees the command line of the browser learns nothing of use."""
        return f"http://{self.hosts[0]}/{self._opening}"

    def opens(self, path: str) -> bool:
        """Whether this is the path of :attr:`opening_address`, and the first time that it is asked for."""
        if not self._opening or not _same(path, f"/{self._opening}"):
            return False
        self._opening = ""
        return True

    def path_behind(self, path: str) -> str | None:
        """What stands behind the token of a path, without query; None where there is no token, or another."""
        token, slash, rest = path.partition("?")[0].removeprefix("/").partition("/")
        return rest if _same(token, self.token) and slash else None

    def knows_host(self, hosts: Sequence[str]) -> bool:
        """Whether the ``Host`` lines of a request are one, and name this machine."""
        return len(hosts) == 1 and hosts[0].strip().lower() in self.hosts

    def knows_origin(self, origins: Sequence[str]) -> bool:
        """Whether the ``Origin`` lines of a request are one, and that of the studio's page."""
        return len(origins) == 1 and origins[0].strip().lower() in [f"http://{host}" for host in self.hosts]


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())
