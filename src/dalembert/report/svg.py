"""Figures and formulas as SVG that stands inside a page: small, the same every time, no address in it."""

from __future__ import annotations

import html
import re
import warnings
from io import StringIO
from typing import TYPE_CHECKING, Any

from dalembert.environment.extras import extra
from dalembert.report.words import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"
_FAMILIES = re.compile(r'(?<=[\w]px )(?:"[^"]*"|&quot;[^&]*&quot;|\'[^\']*\'|[\w ,-])+(?=[;"])')
_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def figure_svg(figure: Figure, label: str, name: str) -> str:
    """The figure as an <svg>; ``name`` keeps its identifiers apart from those of others on the page."""
    with extra("plot", "a figure"):
        import matplotlib

    file = StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    settings: Any = {"svg.hashsalt": name, "svg.fonttype": "none", "path.simplify": True}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # the browser's fonts draw the words
        figure.savefig(file, format="svg", metadata=nothing)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    # fonts and coordinates, not the words between tags
    text = re.sub(r"<[^>]*>", lambda tag: _NUMBER.sub(_short, _FAMILIES.sub(FONT, tag[0])), text)
    text = re.sub(r"\s*\n\s*", "\n", text)
    box = re.search(r'viewBox="([^"]*)"', text)
    assert box is not None
    head = f'<svg viewBox="{box[1]}" role="img" aria-label="{html.escape(visible(label), quote=True)}">'
    return re.sub(r"<svg[^>]*>", lambda _: head, text, count=1)


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def formula_svg(latex: str, size: float = 17.0) -> str:
    """One line of LaTeX, without its dollars, as an <svg> that sits on the line of the text around it."""
    with extra("plot", "a figure"):
        import matplotlib
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import TextPath

    with matplotlib.rc_context({"mathtext.fontset": "cm"}):
        path: Any = TextPath((0, 0), f"${latex}$", size=size, prop=FontProperties(family="serif"))
    if not len(path.vertices):
        return ""
    (left, bottom), (right, top) = path.vertices.min(axis=0), path.vertices.max(axis=0)
    bottom, top = min(bottom, -0.25 * size), max(top, 0.75 * size)
    width, height = right - left + 1, top - bottom
    words, kinds = [], {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}
    for points, code in path.iter_segments(curves=True, simplify=False):
        pairs = [
            f"{x - left:.2f} {top - y:.2f}" for x, y in zip(points[::2], points[1::2], strict=True)
        ] if code != 79 else []  # fmt: skip
        words.append(kinds[int(code)] + " ".join(pairs))
    return (
        f'<svg class="formula" viewBox="0 0 {width:.2f} {height:.2f}" width="{width:.1f}" height="{height:.1f}" '
        f'style="vertical-align:{bottom:.1f}px" role="img" aria-label="{html.escape(latex, quote=True)}">'
        f'<path d="{"".join(words)}"/></svg>'
    )
