"""Figures and formulas as SVG embedded in a page: small, reproducible, without external addresses."""

from __future__ import annotations

import html
import re
import warnings
from io import StringIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.environment.extras import extra
from dalembert.views.report.colours import in_the_dark
from dalembert.views.report.user_text import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"
GRID = 16  # subdivisions of a pixel for the outline of a formula
DEVIATION = 0.1  # points, 1/72 inch: largest deviation of a drawn line from its curve, about 0.15 px of a page
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_STYLED = re.compile(r'(<(?:path|use|text|tspan|g|i|rect)\b[^>]*?) style="([^"]*)"')
_HREF = "{http://www.w3.org/1999/xlink}href"
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
    drawn = file.getvalue()
    root = ElementTree.fromstring(drawn[drawn.index("<svg") :])
    names = {old: f"{name}-{k}" for k, old in enumerate(dict.fromkeys(re.findall(r'(?:url\(|href=")#(\w+)', drawn)))}
    inside = "".join(_element(child, names) for child in root)
    label = html.escape(visible(label), quote=True)
    return f'<svg viewBox="{root.attrib["viewBox"]}" preserveAspectRatio="xMinYMin" role="img" aria-label="{label}">\n{inside}</svg>'


def _element(node: ElementTree.Element, names: dict[str, str]) -> str:
    """One element of matplotlib's file and its content, without redundant attributes; identifiers by their new ``names``."""
    tag = node.tag.rpartition("}")[2]
    if tag in ("metadata", "style"):
        return ""
    inside = html.escape(node.text or "", quote=False) if tag in ("text", "tspan") else ""
    inside += "".join(_element(child, names) for child in node)
    attributes = {}
    for key, value in node.attrib.items():
        if key == "id":
            if value in names:
                attributes["id"] = names[value]
        elif key == _HREF:
            attributes["href"] = f"#{names[value[1:]]}"
        elif key == "clip-path":
            attributes[key] = f"url(#{names[value[5:-1]]})"
        elif key == "style":
            attributes[key] = _style(value)
        elif key == "d":
            attributes[key] = _path(value)
        elif not (key == "transform" and re.match(r"rotate\(-?0 ", value)):
            attributes[key] = _NUMBER.sub(_short, value)
    if tag == "g" and not attributes.get("style"):
        attributes.pop("style", None)
    if tag in ("g", "defs") and not (attributes and inside):
        return inside if tag == "g" or not inside else f"<defs>{inside}</defs>"
    words = "".join(f' {key}="{html.escape(value, quote=True)}"' for key, value in attributes.items())
    return f"<{tag}{words}>{inside}</{tag}>\n" if inside else f"<{tag}{words}/>\n"


def _style(style: str) -> str:
    """The style without the common properties, abbreviated."""
    styles = []
    for entry in style.split(";"):
        key, _, value = entry.strip().partition(": ")
        if key == "font":  # one line for weight, size and family
            weight, size = re.match(r"(?:(\w+) )??([\d.]+px)", value).groups()  # type: ignore[union-attr]
            styles += [f"font-weight:{weight}"] if weight else []
            styles.append(f"font-size:{size}")
        elif key not in ("font-family", "stroke-dashoffset"):
            styles.append(f"{key}:{_NUMBER.sub(_short, value)}")
    return ";".join(styles)


def _path(d: str) -> str:
    """The path, abbreviated: polygons and polylines with as few points as keep their shape to a tenth of a point."""
    if set(re.findall("[A-Za-z]", d)) - set("MLz"):  # curves, as of round markers
        return re.sub(r"\s*([A-Za-z])\s*", r"\1", _NUMBER.sub(_short, " ".join(d.split())))
    out = []
    for piece in d.split("M")[1:]:
        numbers = np.array([float(x) for x in piece.replace("L", " ").replace("z", " ").split()]).reshape(-1, 2)
        tenths = np.round(10 * _fewer(numbers, DEVIATION)).astype(int)
        steps = np.diff(tenths, axis=0)
        steps = steps[steps.any(axis=1)]
        lines = f"l{_numbers(steps)}" if len(steps) else "h0"  # a dot, if its ends are round
        out.append(f"M{_numbers(tenths[:1])}{lines}{'z' if 'z' in piece else ''}")
    return "".join(out)


def _numbers(tenths: NDArray[np.int_]) -> str:
    """Integer tenths as a list of numbers."""
    return _row(tenths.ravel() / 10)


def _row(values: NDArray[Any]) -> str:
    """Numbers separated by blanks only where there is no sign."""
    words = [re.sub(r"^(-?)0\.", r"\1.", f"{x:g}") for x in values.tolist()]
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
    """A page's body with the styles of its figures as classes, and their style sheet.

    Colours are variables there, with one value for light and another for dark screens.
    """
    classes: dict[str, str] = {}

    def named(tag: re.Match[str]) -> str:
        style = _COLOUR.sub(lambda colour: f"var(--c{colour[0][1:]})", tag[2])
        return f'{tag[1]} class="{classes.setdefault(style, f"s{len(classes)}")}"' if style else tag[1]

    body = _STYLED.sub(named, body)
    colours = sorted(set(re.findall(r"var\(--c([0-9a-f]{6})\)", " ".join(classes))))
    light = "".join(f"--c{colour}:#{colour};" for colour in colours)
    dark = "".join(f"--c{colour}:{in_the_dark(f'#{colour}')};" for colour in colours)
    rules = "\n".join(f".{name}{{{style}}}" for style, name in classes.items())
    sheet = f":root{{{light}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n{rules}\n"
    return body, COMMON + (sheet if classes else "")


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def formula_svg(latex: str, size: float = 17.0) -> str:
    """One line of LaTeX, without its dollar signs, as an <svg> aligned with the baseline of the surrounding text."""
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
    words, kinds, pen = [], {1: "M", 2: "l", 3: "q", 4: "c", 79: "z"}, np.zeros(2, int)
    for points, code in path.iter_segments(curves=True, simplify=False):
        letter = kinds[int(code)]
        if letter == "z":
            words.append(letter)
            continue
        at = np.round(GRID * np.column_stack([points[::2] - left, top - points[1::2]])).astype(int)
        words.append(letter + _row(at.ravel() if letter == "M" else (at - pen).ravel()))
        pen = at[-1]
    return (
        f'<svg class="formula" viewBox="0 0 {GRID * width:.0f} {GRID * height:.0f}" width="{width:.1f}" height="{height:.1f}" '
        f'style="vertical-align:{bottom:.1f}px" role="img" aria-label="{html.escape(latex, quote=True)}">'
        f'<path d="{"".join(words)}"/></svg>'
    )
