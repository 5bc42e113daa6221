"""``dalembert arms``: the shipped arms."""

from __future__ import annotations

import dalembert as da
from dalembert.cli.show import joint_letters, total_mass
from dalembert.cli.terminal import console, number, plain, print_table


def arms() -> None:
    """List the shipped arms."""
    robots = [da.load(name).robot for name in da.arms()]
    rows = [(r.name, joint_letters(r), number(total_mass(r), "kg"), plain(r.source)) for r in robots]
    screen = console()
    print_table(screen, "", ["name", "joints", ">mass", "source of the figures"], rows)
    screen.print("\nR turns, P slides. 'dalembert show NAME' tells more.")
