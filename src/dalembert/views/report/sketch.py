"""Small pictures as inline SVG, drawn without matplotlib: for notebooks, light or dark.

Lines and letters without a colour of their own take the colour of the surrounding text.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.views.report.arm_strokes import by_depth, plate, points_of, size_of, strokes
from dalembert.views.report.figures import Curve, evenly
from dalembert.views.report.html import number
from dalembert.views.report.skeleton import Pose, View
from dalembert.views.report.user_text import shortened, visible

POINTS, FINE = 800, 130  # largest number of points of all curves of a picture together, and of each
SHAPE, LINE = "#3f7fc4", "currentColor"


def arm_svg(
    arm: Arm, poses: list[Pose], view: View, *, path: Array | None = None, shape: Array | None = None,
    width: int = 260, height: int = 220,
) -> str:  # fmt: skip
    """The last pose in full and earlier ones as ghosts; ``path`` (k, 3) of the tip, ``shape`` (k, 2) around it on the page."""
    size = size_of(arm, poses)
    disc = plate(arm, size) @ view.matrix.T
    tip = view.matrix @ poses[-1].tip
    drawn = by_depth(strokes(arm, poses[-1], size), view)
    seen = [points_of(pose) @ view.matrix.T for pose in poses] + [disc, *(x.ends @ view.matrix.T for x in drawn)]
    seen += [path @ view.matrix.T] if path is not None else []
    seen += [tip + shape] if shape is not None else []
    to_page = _fitted(np.concatenate(seen), width, height, margin=12)
    out = [
        f'<polygon points="{_points(to_page(disc))}" fill="currentColor" fill-opacity=".12" stroke="currentColor" stroke-opacity=".45"/>'
    ]
    for pose in poses[:-1]:
        lines = "".join(f"M{_points(to_page(line @ view.matrix.T))}" for line in pose.lines)
        out.append(f'<path d="{lines}" fill="none" stroke="{LINE}" stroke-width="2.5" stroke-opacity=".22"/>')
    if path is not None:
        path = path[evenly(len(path), FINE)]
        out.append(_polyline(to_page(path @ view.matrix.T), LINE, 1.2, 'stroke-dasharray="5 2"'))
    for stroke in drawn:
        ends = to_page(stroke.ends @ view.matrix.T)
        cap = "round" if stroke.round else "butt"
        if np.hypot(*(ends[1] - ends[0])) < 0.3:  # seen along its axis
            place = f'cx="{ends[0, 0]:.1f}" cy="{ends[0, 1]:.1f}" r="{0.6 * stroke.width:.1f}"'
            out.append(f'<circle {place} fill="{stroke.colour}"/>')
        else:
            out.append(_polyline(ends, stroke.colour, stroke.width, f'stroke-linecap="{cap}"'))
    if shape is not None:
        edge = f'fill="{SHAPE}" fill-opacity=".18" stroke="{SHAPE}" stroke-width="1.6"'
        out.append(f'<polygon points="{_points(to_page(tip + shape))}" {edge}/>')
    return _svg(width, height, f"the arm {arm.name}", out)


def curves_svg(t: Array, curves: Sequence[Curve], title: str, *, width: int = 300, height: int = 160) -> str:
    """Curves over time with their largest and smallest value at the side, and the times at the bottom."""
    few = evenly(len(t), min(len(t), FINE, max(POINTS // max(len(curves), 1), 16)))
    values = np.stack([y[few] for _, _, y in curves])
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if high - low < 1e-12 * max(abs(low), abs(high), 1e-300):
        low, high = low - 1.0, high + 1.0
    left, right, top, foot = 46.0, width - 8.0, 22.0, height - 20.0
    span = max(float(t[-1] - t[0]), 1e-300)
    x = left + (right - left) * (t[few] - t[0]) / span
    y = foot - (foot - top) * (values - low) / (high - low)
    out = [f'<path d="M{left} {top}V{foot}H{right}" fill="none" stroke="currentColor" stroke-opacity=".35"/>']
    if low < 0 < high:
        zero = foot + (foot - top) * low / (high - low)
        dashes = 'stroke="currentColor" stroke-opacity=".25" stroke-dasharray="3 3"'
        out.append(f'<path d="M{left} {zero:.1f}H{right}" {dashes}/>')
    for (colour, _, _), line in zip(curves, y, strict=True):
        there = np.isfinite(line)
        out.append(_polyline(np.column_stack([x[there], line[there]]), colour, 1.6))
    out += [
        _word(left, 13, title, "start", bold=True),
        _word(left - 4, top + 8, number(high, 3), "end"),
        _word(left - 4, foot, number(low, 3), "end"),
        _word(left, foot + 14, f"{t[0]:.3g}", "start"),
        _word(right, foot + 14, f"{t[-1]:.4g} s", "end"),
    ]
    return _svg(width, height, title, out)


def bars_svg(names: Sequence[str], shares: Array, colours: Sequence[str], title: str, *, width: int = 300) -> str:
    """Fractions as horizontal bars, one per name; the line is at 100 %."""
    step, left, right = (18, 110.0, width - 52.0) if len(names) <= 12 else (12, 110.0, width - 52.0)
    most = max(1.0, float(np.nanmax(np.where(np.isfinite(shares), shares, 0.0), initial=0.0)))
    height = 26 + step * len(names)
    limit = left + (right - left) / most
    dashes = 'stroke="currentColor" stroke-opacity=".5" stroke-dasharray="3 3"'
    out = [_word(4, 13, title, "start", bold=True), f'<path d="M{limit:.1f} 20V{height - 2}" {dashes}/>']
    for k, (name, share, colour) in enumerate(zip(names, shares.tolist(), colours, strict=True)):
        y = 24 + step * k
        known = np.isfinite(share)
        long = (right - left) * min(share, most) / most if known else 0.0
        out.append(_word(left - 6, y + step - 7, shortened(visible(name))[:16], "end"))
        out.append(f'<rect x="{left}" y="{y}" width="{long:.1f}" height="{step - 6}" fill="{colour}"/>')
        out.append(_word(left + long + 4, y + step - 7, f"{100 * share:.3g} %" if known else "no limit", "start"))
    return _svg(width, height, title, out)


def _fitted(points: Array, width: float, height: float, margin: float) -> Any:
    """The map from the plane of the view to the picture: centred, with equal scales."""
    low, high = points.min(axis=0), points.max(axis=0)
    scale = min((width - 2 * margin) / max(high[0] - low[0], 1e-9), (height - 2 * margin) / max(high[1] - low[1], 1e-9))
    middle = (low + high) / 2
    return lambda p: np.column_stack([width / 2, height / 2]) + scale * (p - middle) * np.array([1.0, -1.0])


def _points(p: Array) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in p.tolist())


def _polyline(p: Array, colour: str, width: float, more: str = "") -> str:
    look = f'fill="none" stroke="{colour}" stroke-width="{width:.2g}" stroke-linejoin="round"'
    return f'<polyline points="{_points(p)}" {look} {more}/>'


def _word(x: float, y: float, words: str, anchor: str, *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{html.escape(words)}</text>'


def _svg(width: float, height: float, label: str, parts: Sequence[str]) -> str:
    about = html.escape(visible(label), quote=True)
    font = "font:11px system-ui,sans-serif;fill:currentColor"
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{about}">'
        f'<g style="{font}">{"".join(parts)}</g></svg>'
    )
