"""The live page: one interactive HTML file per arm, which works offline."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from dalembert.arm import Arm
from dalembert.base.environment.progress import OfFraction as Progress
from dalembert.base.environment.progress import reporting
from dalembert.base.files import HTML, check_writable, whole_file
from dalembert.base.wording import shown
from dalembert.errors import DalembertError
from dalembert.views.web.bundle import compressed, encoded, packed, policy, script, style
from dalembert.views.web.kernels import formulations_of, page_kernels
from dalembert.views.web.page_equations import equations_data
from dalembert.views.web.page_model import arm_data, tip_space
from dalembert.views.web.page_shapes import shapes_of
from dalembert.views.web.samples import motions_of

FRAME = 900  # px, the height of a page in a notebook
# unpacks the page's own script; the policy contains the hashes of both
BEGIN = """
const bytes = Uint8Array.from(atob(document.getElementById("code").textContent), (letter) => letter.charCodeAt(0));
const script = document.createElement("script");
script.type = "module";
try {
  script.textContent = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
} catch (problem) {
  document.querySelector("#page p").textContent = "The page cannot start: it needs a browser with DecompressionStream (" + problem.message + ").";
}
document.body.append(script);
"""
STYLES = ("colours.css", "page.css", "stage.css", "shown.css", "simulate.css", "motion.css")


@dataclass(frozen=True)
class Page:
    """A page as text, and ``notes`` on omitted content with the reasons."""

    text: str = field(repr=False)
    notes: tuple[str, ...] = ()

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the page, completely or not at all."""
        with whole_file(path, overwrite=overwrite, kinds=HTML) as file:
            file.write(self.text)

    def _repr_html_(self) -> str:
        """A notebook frame: the page in it can compute and save files but cannot access the notebook."""
        return (
            f'<iframe title="Live page" sandbox="allow-scripts allow-downloads" width="100%" height="{FRAME}" '
            f'frameborder="0" srcdoc="{escape(self.text)}"></iframe>'
        )


def write_page(
    path: str | os.PathLike[str],
    arm: Arm,
    motions: Any = None,
    *,
    title: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the live page of an arm, completely or not at all: one interactive HTML file that needs no server and no
    network.

    motions    motions of the page: a :class:`Trajectory`, a list of them, a dict of them by name, or tuples (name,
               note, motion); None for those of S Example 7.2 if the arm is a two-link arm like planar-2r
    title      title of the page; by default the arm's name
    overwrite  whether an existing file may be replaced

    In the page, ``window.dalembert.inverse_dynamics(q, qd, qdd)`` returns the torques (N m or N).

    >>> import os, tempfile, dalembert as da
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     da.write_page(f"{folder}/arm.html", da.load("pendulum"))
    ...     os.path.getsize(f"{folder}/arm.html") < 300e3
    True
    """
    check_writable(path, overwrite=overwrite, kinds=HTML)
    page_of(arm, motions, title=title, progress=progress).write(path, overwrite=overwrite)


def page_of(
    arm: Arm,
    motions: Any = None,
    *,
    title: str | None = None,
    progress: Progress | None = None,
    studio: Mapping[str, Any] | None = None,
) -> Page:
    """The page; ``studio`` describes the server of a studio page, to which that page may then connect exclusively."""
    if not isinstance(arm, Arm):
        raise DalembertError(f"a page needs an arm, and {shown(arm)} is not one; load an arm with da.load(…)")
    if arm.mechanism.by_newton:
        raise DalembertError(
            f"a page needs closed-form loops, but those of arm '{arm.name}' are closed by Newton's method; use the "
            "report, dalembert report"
        )
    tell = reporting(progress)
    shapes, notes = shapes_of(arm.robot)
    data: dict[str, Any] = {
        **arm_data(arm), **shapes, "title": title or arm.name, "motions": motions_of(arm, motions),
    }  # fmt: skip
    data["equations"] = equations_data(arm)
    tell("model", 0.1)
    data["modules"] = {"kernels": encoded(page_kernels(arm, tip_space(arm)))}
    tell("kernels", 0.6)
    data["formulations"], formulations = formulations_of(arm)
    if formulations is not None:
        data["modules"]["formulations"] = encoded(formulations)
    tell("formulations", 0.9)
    if studio is None:
        text = document(data["title"], packed(data), ("main.js",), STYLES)
    else:
        data["studio"] = dict(studio)
        text = document(data["title"], packed(data), ("studio_tab.js", "main.js"), (*STYLES, "studio.css"), "'self'")
    return Page(text, tuple(notes))


def document(title: str, data: str, modules: tuple[str, ...], styles: tuple[str, ...], connect: str = "'none'") -> str:
    """An HTML page with packed data, one packed script and one style sheet, which runs and loads nothing else."""
    code, css = f"\n{script(*modules)}", f"\n{style(*styles)}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy([BEGIN, code], [css], connect)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{css}</style>
</head>
<body>
<noscript><p class="notice">The page of {escape(title)} is interactive and needs scripts to be enabled.</p></noscript>
<main id="page" aria-busy="true"><p class="notice">Loading …</p></main>
<script type="text/plain" id="data">{data}</script>
<script type="text/plain" id="code">{compressed(code)}</script>
<script type="module">{BEGIN}</script>
</body>
</html>
"""
