"""``dalembert page``: the live page of an arm and its motions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dalembert.base.environment.progress import Bar
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, Limited, Loading, MotionsArgument, Reading
from dalembert.views.cli.terminal import say
from dalembert.views.cli.torques import check_source, motions_of


@dataclass(frozen=True)
class PageOptions:
    """What the page shows, and its file."""

    example: str | None = options.common("example")
    out: Path = options.page_file("arm.html")
    title: str | None = options.common("title")
    force: bool = options.overwriting("OUT.html")


def page(
    arm: ArmArgument,
    *,
    motions: MotionsArgument = None,
    settings: PageOptions,
    load: Limited,
    reading: Reading,
    loading: Loading,
) -> None:
    """Write the live page of an arm: one HTML file that computes without a server or a network.

    It shows the arm in 3D, its torques by cause, ellipsoids, motions, a simulation, the design and the equations, all
    computed in the page as you move the controls. It works from a file, offline, in any current browser.
    """
    out = settings.out
    check_source(motions, settings.example)
    loaded = options.load(arm, loading, load)
    titled = motions_of(loaded, motions, settings.example, reading)
    from dalembert.views.web.live_page import page_of

    with Bar(f"page of {loaded.name}") as bar:
        live = page_of(loaded, titled or None, title=settings.title, progress=bar)
    live.write(out, overwrite=settings.force)
    say("note", *live.notes)
    print(f"the page is in {out.resolve()} ({out.stat().st_size // 1000} kB)")
