"""``dalembert studio``: the live page of an arm in the browser, with a local server for tasks that need Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from typer import Option

import dalembert as da
from dalembert.cli import options
from dalembert.cli.report import example_motions
from dalembert.cli.terminal import say, tell
from dalembert.cli.torques import titled_motions
from dalembert.environment.progress import Bar
from dalembert.errors import DalembertError


def studio(
    arm: options.ArmArgument,
    motions: options.MotionsArgument = None,
    example: options.ExampleOption = None,
    port: Annotated[int, Option(metavar="N", help="The port to listen on, on 127.0.0.1; default: a free one.")] = 0,
    browser: Annotated[
        bool, Option("--browser/--no-browser", help="Open the page in a browser, or only print its address.")
    ] = True,
    limits: options.LimitsSourceOption = None,
    reading: options.Reading = options.AS_WRITTEN,
    payload: options.PayloadOption = None,
    payload_com: options.PayloadComOption = None,
    loading: options.Loading = options.AS_IT_IS,
) -> None:
    """Open the live page of an arm in the browser, with a local server for tasks that need Python.

    It loads other robots and logs, identifies parameters, finds the shortest duration of a motion, compiles kernels for
    a changed structure, and saves files. It listens on 127.0.0.1 only, with a token in its address, reads and writes in
    the folder of the robot file (the current folder for a shipped arm), and stops with Ctrl-C.
    """
    if motions and example is not None:
        raise DalembertError(f"--example {example} and {motions[0]} are both given; choose one")
    if not 0 <= port <= 65535:
        raise DalembertError(f"--port {port}: a port is a number from 1 to 65535, or 0 for a free one")
    loaded = options.load(arm, loading, payload, payload_com, limits)
    titled = titled_motions(loaded, motions or (), reading) if example is None else example_motions(loaded, example)
    from dalembert.studio.folder import RobotFolder
    from dalembert.studio.page_tasks import shown_page
    from dalembert.studio.run import run_studio
    from dalembert.studio.session import STUDIO
    from dalembert.studio.structure import Structure

    with Bar(f"page of {loaded.name}") as bar:
        shown = shown_page(lambda _, fraction: bar(fraction), loaded.robot, Structure(), tuple(titled), STUDIO)
    say("note", *shown.notes)
    folder = RobotFolder(os.getcwd() if arm in da.arms() else Path(arm).parent)
    run_studio(folder, shown, port, browser, lambda address: tell(f"the studio is at {address} (Ctrl-C stops it)"))
