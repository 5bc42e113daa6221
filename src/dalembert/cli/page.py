"""``dalembert page``: the live page of an arm and its motions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from dalembert.cli import options
from dalembert.cli.report import example_motions
from dalembert.cli.terminal import say
from dalembert.cli.torques import titled_motions
from dalembert.environment.progress import Bar
from dalembert.errors import DalembertError
from dalembert.files import HTML, check_writable


def page(
    arm: options.ArmArgument,
    motions: options.MotionsArgument = None,
    example: options.ExampleOption = None,
    out: Annotated[Path, Option("--out", "-o", metavar="OUT.html", help="The file for the page.")] = Path("arm.html"),
    title: options.TitleOption = None,
    force: Annotated[bool, options.overwriting("OUT.html")] = False,
    limits: options.LimitsSourceOption = None,
    reading: options.Reading = options.AS_WRITTEN,
    payload: options.PayloadOption = None,
    payload_com: options.PayloadComOption = None,
    loading: options.Loading = options.AS_IT_IS,
) -> None:
    """Write the live page of an arm: one HTML file that computes without a server or a network.

    It shows the arm in 3D, its torques by cause, ellipsoids, motions, a simulation, the design and the equations, all
    computed in the page as you move the controls. It works from a file, offline, in any current browser.
    """
    if motions and example is not None:
        raise DalembertError(f"--example {example} and {motions[0]} are both given; choose one")
    loaded = options.load(arm, loading, payload, payload_com, limits)
    options.not_an_input(out, "the page would overwrite the file it is", arm, limits, *(motions or ()))
    check_writable(out, overwrite=force, kinds=HTML)
    titled = titled_motions(loaded, motions or (), reading) if example is None else example_motions(loaded, example)
    from dalembert.web.page import page_of

    with Bar(f"page of {loaded.name}") as bar:
        live = page_of(loaded, titled or None, title=title, progress=bar)
    live.write(out, overwrite=force)
    say("note", *live.notes)
    print(f"the page is in {out.resolve()} ({out.stat().st_size // 1000} kB)")
