"""The public interface is the one that version 1 promises, and the examples type-check as a user's own code would."""

from __future__ import annotations

import difflib
import sys

import public_api


def test_the_public_interface_is_the_one_that_is_promised() -> None:
    promised, now = public_api.FILE.read_text(encoding="utf-8"), public_api.public_api()
    changes = "\n".join(
        difflib.unified_diff(promised.splitlines(), now.splitlines(), "promised", "now", lineterm="", n=1)
    )
    assert now == promised, (
        f"the public interface changed:\n{changes}\n\nAdditions need a line in CHANGELOG.md and a minor version; removals and "
        f"changes of meaning need a deprecation first (docs/stability.md). Then: {sys.executable} tests/public_api.py"
    )
