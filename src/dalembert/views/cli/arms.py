"""``dalembert arms``: the shipped arms."""

from __future__ import annotations

import dalembert as da
from dalembert.views.cli.terminal import number, plain, print_table, tell


def arms() -> None:
    """List the shipped arms."""
    robots = [da.load(name).robot for name in da.arms()]
    rows = [(r.name, r.joint_letters, number(r.mass, "kg"), plain(r.source)) for r in robots]
    print_table(["name", "joints", ">mass", "source of the figures"], rows)
    tell("\nR: revolute, P: prismatic. 'dalembert show NAME' shows the details of an arm.")
