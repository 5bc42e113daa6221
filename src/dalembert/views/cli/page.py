"""``dalembert page``: the live page of an arm and its motions."""

from __future__ import annotations

from pathlib import Path

from dalembert.base.environment.progress import Bar
from dalembert.base.files import HTML
from dalembert.base.options import option
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, Limited, Loading, MotionsArgument, Reading
from dalembert.views.cli.terminal import say
from dalembert.views.cli.torques import motions_of


def page(
    arm: ArmArgument,
    *,
    motions: MotionsArgument = None,
    example: str | None = options.common("example"),
    out: Path = option("The file for the page.", Path("arm.html"), spelled="--out -o", metavar="OUT.html", writes=HTML),
    title: str | None = options.common("title"),
    force: bool = options.overwriting("OUT.html"),
    load: Limited,
    reading: Reading,
    loading: Loading,
) -> None:
    """Write the live page of an arm: one HTML file that computes without a server or a network.

    It shows the arm in 3D, its torques by cause, ellipsoids, motions, a simulation, the design and the equations, all
    computed in the page as you move the controls. It works from a file, offline, in any current browser.
    """
    loaded = options.load(arm, loading, load)
    titled = motions_of(loaded, motions, example, reading)
    from dalembert.views.web.live_page import page_of

    with Bar(f"page of {loaded.name}") as bar:
        live = page_of(loaded, titled or None, title=title, progress=bar)
    live.write(out, overwrite=force)
    say("note", *live.notes)
    print(f"the page is in {out.resolve()} ({out.stat().st_size // 1000} kB)")
