"""``dalembert studio``: the live page of an arm in the browser, with a local server for tasks that need Python."""

from __future__ import annotations

import os
from pathlib import Path

import dalembert as da
from dalembert.base.environment.progress import Bar
from dalembert.base.options import Allowed, option
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, Limited, Loading, MotionsArgument, Reading
from dalembert.views.cli.terminal import say, tell
from dalembert.views.cli.torques import motions_of

PORT = Allowed(lambda x: 0 <= x <= 65535, "a number from 1 to 65535, or 0 for a free port")


def studio(
    arm: ArmArgument,
    *,
    motions: MotionsArgument = None,
    example: str | None = options.common("example"),
    port: int = option("The port to listen on, on 127.0.0.1; default: a free one.", 0, metavar="N", check=PORT),
    browser: bool = option("Open the page in a browser, or only print its address.", True),
    load: Limited,
    reading: Reading,
    loading: Loading,
) -> None:
    """Open the live page of an arm in the browser, with a local server for tasks that need Python.

    It loads other robots and logs, identifies parameters, finds the shortest duration of a motion, compiles kernels for
    a changed structure, and saves files. It listens on 127.0.0.1 only, with a token in its address, reads and writes in
    the folder of the robot file (the current folder for a shipped arm), and stops with Ctrl-C.
    """
    loaded = options.load(arm, loading, load)
    titled = motions_of(loaded, motions, example, reading)
    from dalembert.views.studio.folder import RobotFolder
    from dalembert.views.studio.page_tasks import shown_page
    from dalembert.views.studio.server import run_studio
    from dalembert.views.studio.session import STUDIO
    from dalembert.views.studio.structure import Structure

    with Bar(f"page of {loaded.name}") as bar:
        shown = shown_page(lambda _, fraction: bar(fraction), loaded.robot, Structure(), tuple(titled), STUDIO)
    say("note", *shown.notes)
    folder = RobotFolder(os.getcwd() if arm in da.arms() else Path(arm).parent)
    run_studio(folder, shown, port, browser, lambda address: tell(f"the studio is at {address} (Ctrl-C stops it)"))
