"""Figures as SVG embedded in a page: small, reproducible, without external addresses."""

from __future__ import annotations

import html
import re
import warnings
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.extras import extra
from dalembert.views.report.user_text import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"
DEVIATION = 0.1  # points, 1/72 inch: largest deviation of a drawn line from its curve, about 0.15 px of a page
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_STYLED = re.compile(r'(<(?:path|use|text|tspan|g|i|rect)\b[^>]*?) style="([^"]*)"')
# properties common to all figures of a page, so that no element has to repeat them
COMMON = f"figure svg {{ stroke-linejoin: round; stroke-linecap: butt; font-family: {FONT}; }}\n"


def figure_svg(figure: Figure, label: str, name: str) -> str:
    """The figure as an <svg>; ``name`` distinguishes its identifiers from those of others on the page.

    Its background is that of the page, and lines are drawn with as few points as keep them within ``DEVIATION``.
    """
    with extra("plot", "a figure"):
        import matplotlib

    for patch in (figure.patch, *(axes.patch for axes in figure.axes)):
        patch.set_visible(False)
    file = StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    settings: Any = {"svg.hashsalt": name, "svg.fonttype": "none", "path.simplify": True}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # the browser's fonts draw the text
        figure.savefig(file, format="svg", metadata=nothing)
    opening, _, drawn = file.getvalue().partition("</defs>")  # those of matplotlib's style sheet
    size = re.findall(r'viewBox="[^"]*"', opening)[0]
    used = set(re.findall(r'(?:url\(|href=")#(\w+)', drawn))
    pieces = re.split(r"(<[^>]*>)", drawn.removesuffix("</svg>\n"))
    inside = "".join(_tag(x, used) if x.startswith("<") else x if x.strip() else "" for x in pieces)
    label = html.escape(visible(label), quote=True)
    return f'<svg {size} preserveAspectRatio="xMinYMin" role="img" aria-label="{label}">\n{inside}</svg>'


def _tag(tag: str, used: set[str]) -> str:
    """A tag of matplotlib's file with short numbers, the ``used`` identifiers only, and no properties that are common."""
    tag = re.sub(r' id="([^"]*)"', lambda name: name[0] if name[1] in used else "", tag)
    tag = re.sub(r' d="([^"]*)"', lambda d: f' d="{_path(d[1])}"', tag)
    tag = re.sub(r' transform="rotate\(-?0 [^"]*"', "", tag.replace("xlink:href", "href"))
    tag = re.sub(r"font: (?:(\w+) )??([\d.]+px)[^;\"]*", r"font-weight: \1; font-size: \2", tag)
    tag = re.sub(r"(?:font-weight: |font-family: [^;\"]*|stroke-dashoffset: 0);? ?(?=[;\"a-z])", "", tag)
    return _NUMBER.sub(_short, tag.replace(": ", ":").replace("; ", ";"))


def _path(d: str) -> str:
    """The path, abbreviated: polygons and polylines with as few points as keep their shape to a tenth of a point."""
    if set(re.findall("[A-Za-z]", d)) - set("MLz"):  # curves, as of round markers
        return re.sub(r"\s*([A-Za-z])\s*", r"\1", " ".join(d.split()))
    out = []
    for piece in d.split("M")[1:]:
        numbers = np.array([float(x) for x in piece.replace("L", " ").replace("z", " ").split()]).reshape(-1, 2)
        tenths = np.round(10 * _fewer(numbers, DEVIATION)).astype(int)
        steps = np.diff(tenths, axis=0)
        steps = steps[steps.any(axis=1)]
        lines = f"l{_row(steps / 10)}" if len(steps) else "h0"  # a dot, if its ends are round
        out.append(f"M{_row(tenths[0] / 10)}{lines}{'z' if 'z' in piece else ''}")
    return "".join(out)


def _row(values: NDArray[Any]) -> str:
    """Numbers separated by blanks only where there is no sign."""
    words = [re.sub(r"^(-?)0\.", r"\1.", f"{x:g}") for x in values.ravel().tolist()]
    return words[0] + "".join(word if word[0] == "-" else f" {word}" for word in words[1:])


def _fewer(points: Array, most: float) -> Array:
    """The points (N, 2) whose polyline stays within ``most`` of all points (Ramer, Douglas and Peucker)."""
    keep = np.zeros(len(points), bool)
    keep[[0, -1]] = True
    open_ = [(0, len(points) - 1)]
    while open_:
        first, last = open_.pop()
        if last - first < 2:
            continue
        chord, away = points[last] - points[first], points[first + 1 : last] - points[first]
        size = float(chord @ chord)
        along = np.clip(away @ chord / size, 0.0, 1.0) if size > 0 else np.zeros(len(away))
        distance = np.linalg.norm(away - along[:, None] * chord, axis=-1)
        farthest = int(np.argmax(distance))
        if distance[farthest] > most:
            middle = first + 1 + farthest
            keep[middle] = True
            open_ += [(first, middle), (middle, last)]
    return points[keep]


def with_classes(body: str) -> tuple[str, str]:
    """A page's body with the styles of its figures as classes, and their style sheet."""
    classes: dict[str, str] = {}

    def named(tag: re.Match[str]) -> str:
        return f'{tag[1]} class="{classes.setdefault(tag[2], f"s{len(classes)}")}"' if tag[2] else tag[1]

    body = _STYLED.sub(named, body)
    return body, COMMON + "".join(f".{name}{{{style}}}\n" for style, name in classes.items())


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
