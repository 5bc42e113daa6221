"""``dalembert cache``."""

from __future__ import annotations

from typing import Annotated

import typer

from dalembert.errors import DalembertError


def cache(
    verify: Annotated[
        bool, typer.Option("--verify", help="Check the signature of every kernel, and remove those that are bad.")
    ] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Remove all kernels.")] = False,
) -> None:
    """Show, verify or clear the kernels that are kept on disk."""
    from dalembert.cli.cache import clear_cache, show_cache, verify_cache

    if verify and clear:
        raise DalembertError("--verify and --clear cannot be used together; choose one of them")
    clear_cache() if clear else verify_cache() if verify else show_cache()
