"""Animations of a moving arm as a file: ``.gif``, ``.mp4``, or ``.html`` with a small player that needs no network.

The frames are evenly spaced over the motion, which plays in real time, or ``speed`` times as fast.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.environment.brief import brief
from dalembert.environment.extras import extra
from dalembert.environment.progress import Bar
from dalembert.errors import DalembertError
from dalembert.files import check_writable, whole_binary_file
from dalembert.report import arm_figures, figures
from dalembert.report.arm_figures import draw_plate, draw_strokes
from dalembert.report.colours import in_the_dark
from dalembert.report.html import text
from dalembert.report.plots import chosen
from dalembert.report.skeleton import Pose, View, skeleton
from dalembert.report.strokes import by_depth, plate, points_of, size_of, strokes, views_of
from dalembert.report.words import literal, with_glyphs
from dalembert.simulation.simulate import Run
from dalembert.trajectory.trajectory import Trajectory

Array = NDArray[np.floating[Any]]
MOST = 5_000  # largest number of frames
FINER = 8  # points of the tip's path per frame
SIZE, DPI = (6.0, 5.0), 100  # inches, and pixels per inch: video needs even numbers of pixels


@brief
@dataclass(frozen=True)
class Film:
    """An arm at the times t (N,) of its motion: ``poses``, the duration of each frame (s), and the path of the tip.

    tips  (FINER (N − 1) + 1, 3) the positions of the tip, also at times between the frames
    """

    arm: Arm
    t: Array
    poses: list[Pose]
    each: float
    tips: Array

    @property
    def size(self) -> float:
        """The extent of the arm over the whole motion (m)."""
        return size_of(self.arm, self.poses)

    @property
    def view(self) -> View:
        """The view: perpendicular to the plane if the arm stays in one, otherwise from a corner."""
        picked = np.unique(np.linspace(0, len(self.poses) - 1, 12).astype(int))
        return views_of(self.arm, [self.poses[k] for k in picked])[0]


def animate_run(
    run: Run,
    path: str | os.PathLike[str],
    batch: int | tuple[int, ...] | None,
    speed: float,
    fps: float,
    overwrite: bool,
) -> None:
    """See :meth:`Run.animate`."""
    q = run.q[chosen(run, batch)]
    animate(run.arm, run.t - run.t[0], lambda t: _between(t, run.t - run.t[0], q), path, speed, fps, overwrite)


def animate_motion(
    motion: Trajectory, path: str | os.PathLike[str], arm: Arm, speed: float, fps: float, overwrite: bool
) -> None:
    """See :meth:`Trajectory.animate`."""
    motion.fits(arm)
    animate(arm, np.array([0.0, motion.duration]), lambda t: motion(t)[0], path, speed, fps, overwrite)


def _between(t: Array, instants: Array, q: Array) -> Array:
    return np.stack([np.interp(t, instants, column) for column in q.T], axis=-1)


def check_animation(path: str | os.PathLike[str], *, overwrite: bool) -> str:
    """The kind of file; an error, before any computation, if it cannot be written."""
    kind = Path(path).suffix.lower()
    if kind not in WRITERS:
        raise DalembertError(f"{path}: an animation cannot be written as '{kind}'; use one of {', '.join(WRITERS)}")
    if kind == ".mp4":
        _ffmpeg(path)
    if kind != ".html":
        with extra("plot", f"{path}: a film"):
            import matplotlib  # noqa: F401
    check_writable(path, overwrite=overwrite)
    return kind


def animate(
    arm: Arm,
    t: Array,
    q: Callable[[Array], Array],
    path: str | os.PathLike[str],
    speed: float,
    fps: float,
    overwrite: bool,
) -> None:
    """Write the animation of q(t), with t from 0 to its last value."""
    kind = check_animation(path, overwrite=overwrite)
    if not (np.isfinite(speed) and speed > 0):
        raise DalembertError(f"speed is {speed!r}; it must be above 0: 1 is real time, 0.5 is half as fast")
    if not (np.isfinite(fps) and 1 <= fps <= 60):
        raise DalembertError(f"fps is {fps!r}; it must be from 1 to 60 frames per second")
    each = round(100 / fps) / 100 if kind == ".gif" else 1 / fps  # the resolution of a GIF is a hundredth of a second
    count = max(int(np.ceil(float(t[-1]) / (speed * each) - 1e-9)) + 1, 2)
    if count > MOST:
        raise DalembertError(
            f"{path}: the animation would have {count:,} frames, and at most {MOST:,} are allowed; raise speed= or lower fps="
        )
    instants = np.minimum(np.arange(count) * speed * each, t[-1])
    with Bar(f"drawing {os.path.basename(path)}") as bar:
        finer = np.interp(np.arange(FINER * (count - 1) + 1) / FINER, np.arange(count), instants)
        film = Film(arm, instants, skeleton(arm, q(instants)), each, np.asarray(arm.pose(q(finer)))[:, :3, 3])
        with whole_binary_file(path, overwrite=overwrite) as file:
            WRITERS[kind](film, file, bar)


# -- frames ------------------------------------------------------------------------------------


def pictures(film: Film, progress: Callable[[float], None]) -> Iterator[NDArray[np.uint8]]:
    """Every frame as (height, width, 3) bytes; the static parts are drawn only once."""
    with extra("plot", "a film"):
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg

    arm, view, size = film.arm, film.view, film.size
    tips = film.tips @ view.matrix.T
    with matplotlib.rc_context(figures.STYLE):
        figure = figures.new_figure(figsize=SIZE, dpi=DPI)
        canvas: Any = FigureCanvasAgg(figure)
        axes = figure.add_axes((0.13, 0.1, 0.84, 0.82) if view.scales else (0.02, 0.02, 0.96, 0.9))
        everything = np.concatenate([points_of(pose) for pose in film.poses]) @ view.matrix.T
        draw_plate(axes, plate(arm, size) @ view.matrix.T)
        figures.draw_surroundings(axes, arm, view, triad=0.16 * size, base_size=0, margin=0)
        middle = (everything.min(axis=0) + everything.max(axis=0)) / 2
        room = np.array(SIZE) * axes.get_position().size
        axes.set_aspect("auto")  # the limits make both scales equal
        half = room * float(((np.ptp(everything, axis=0) / 2 + 0.16 * size) / room).max())
        axes.set(xlim=(middle[0] - half[0], middle[0] + half[0]), ylim=(middle[1] - half[1], middle[1] + half[1]))
        axes.set_title(literal(arm.name))
        clock = figure.text(0.97, 0.945, "", ha="right", va="baseline", fontsize=10, animated=True)
        with_glyphs(figure)
        canvas.draw()
        still = canvas.copy_from_bbox(figure.bbox)
        renderer = canvas.get_renderer()
        for k, (t, pose) in enumerate(zip(film.t, film.poses, strict=True)):
            canvas.restore_region(still)
            before = len(axes.lines)
            axes.plot(*tips[: FINER * k + 1].T, color=arm_figures.TIP, lw=1.2, zorder=2.5)
            draw_strokes(axes, by_depth(strokes(arm, pose, size), view), view)
            for line in sorted(axes.lines[before:], key=lambda line: line.get_zorder()):
                line.draw(renderer)
            for line in list(axes.lines[before:]):
                line.remove()
            clock.set_text(f"t = {t:.2f} s")
            clock.draw(renderer)
            yield np.asarray(canvas.buffer_rgba())[..., :3].copy()
            progress((k + 1) / len(film.t))


def write_gif(film: Film, file: Any, progress: Callable[[float], None]) -> None:
    """All frames with a common palette and duration, played in an endless loop."""
    with extra("plot", "a GIF"):
        from PIL import Image

    drawn = (Image.fromarray(picture) for picture in pictures(film, progress))
    image = next(drawn)
    palette = image.quantize(128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    frames = (x.quantize(palette=palette, dither=Image.Dither.NONE) for x in itertools.chain([image], drawn))
    look: dict[str, Any] = {"duration": round(1000 * film.each), "loop": 0, "optimize": False}
    next(frames).save(file, "GIF", save_all=True, append_images=frames, **look)


def _ffmpeg(path: str | os.PathLike[str]) -> str:
    """The ffmpeg program: that of the package imageio-ffmpeg, or of this machine."""
    if installed := shutil.which("ffmpeg"):
        return installed
    with extra("video", f"{path}: a video"):
        import imageio_ffmpeg

    return str(imageio_ffmpeg.get_ffmpeg_exe())


def write_mp4(film: Film, file: Any, progress: Callable[[float], None]) -> None:
    """H.264 video for browsers and slides. ffmpeg needs a seekable output, so it writes to a temporary file."""
    width, height = (round(DPI * inches) for inches in SIZE)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "film.mp4"
        command = [
            _ffmpeg("the film"), "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
            "-r", f"{1 / film.each:.6f}", "-i", "-", "-an", "-vcodec", "libx264", "-pix_fmt", "yuv420p", "-crf", "20",
            "-movflags", "+faststart", str(out),
        ]  # fmt: skip
        with (Path(folder) / "log").open("w+b") as log:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)
            assert process.stdin is not None
            try:
                for picture in pictures(film, progress):
                    process.stdin.write(picture.tobytes())
                process.stdin.close()
            except BrokenPipeError:  # ffmpeg has stopped, and reports why
                pass
            finally:
                if process.poll() is None and not process.stdin.closed:
                    process.kill()
                process.wait()
            if process.returncode:
                log.seek(0)
                reason = log.read().decode(errors="replace").strip().splitlines()
                raise DalembertError(
                    f"ffmpeg could not make the video ({reason[-1] if reason else process.returncode})"
                )
        with out.open("rb") as whole:
            shutil.copyfileobj(whole, file)


# -- the page ------------------------------------------------------------------------------------


def write_html(film: Film, file: Any, progress: Callable[[float], None]) -> None:
    """One page: the ends of the strokes over time as differences of integers, and a script that draws them."""
    size, view = film.size, film.view
    frames = []
    for k, pose in enumerate(film.poses):
        frames.append(np.concatenate([stroke.ends for stroke in strokes(film.arm, pose, size)]))
        progress((k + 1) / (len(film.poses) + 1))
    everything = np.concatenate([*frames, plate(film.arm, size)])
    middle = (everything.min(axis=0) + everything.max(axis=0)) / 2
    unit = float(np.linalg.norm(everything - middle, axis=1).max()) / 2000  # m: finer than a pixel
    whole = np.stack([np.round((frame - middle) / unit).astype(int).ravel() for frame in frames])
    steps = np.diff(whole, axis=0, prepend=np.zeros((1, whole.shape[1]), int))
    drawn = strokes(film.arm, film.poses[0], size)
    g = np.array(film.arm.robot.gravity, float)
    data = {
        "each": film.each,
        "step": round(float(film.t[1] - film.t[0]), 9),
        "end": round(float(film.t[-1]), 9),
        "look": [
            [[s.colour, in_the_dark(s.colour)], s.width, int(s.round), int(s.outlined), round(s.lift / unit)]
            for s in drawn
        ],
        "frames": steps.tolist(),
        "plate": np.round((plate(film.arm, size) - middle) / unit).astype(int).ravel().tolist(),
        "view": np.round([*view.matrix, np.cross(*view.matrix)], 6).tolist(),
        "up": (-g / np.linalg.norm(g)).round(6).tolist() if g.any() else [0, 0, 1],
        "flat": bool(view.scales),
        "tip": 2 * (len(drawn) - 3),
    }
    words = json.dumps(data, separators=(",", ":"))
    page = PAGE.replace("{title}", text(film.arm.name)).replace("{data}", words)
    file.write(page.encode())
    progress(1.0)


PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root { color-scheme: light dark; --ink: #1c2733; --page: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #d8dee4; --page: #14181d; } }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px system-ui, sans-serif; }
main { max-width: 760px; margin: 0 auto; padding: 12px; }
h1 { font-size: 1.1rem; margin: 4px 0; overflow-wrap: anywhere; }
canvas { width: 100%; aspect-ratio: 6 / 5; max-height: calc(100vh - 92px); display: block; touch-action: none; }
form { display: flex; gap: 10px; align-items: center; }
input { flex: 1; } output { min-width: 6em; text-align: right; font-variant-numeric: tabular-nums; }
</style></head><body><main><h1>{title}</h1><canvas role="img" aria-label="the moving arm {title}"></canvas>
<form><button type="button" aria-label="play or pause">❚❚</button><input type="range" min="0" step="any" value="0" aria-label="time"><output></output></form>
</main><script>
"use strict";
const D = {data};
let last = new Array(D.frames[0].length).fill(0);
const F = D.frames.map(d => last = d.map((x, i) => x + last[i]));
const canvas = document.querySelector("canvas"), pen = canvas.getContext("2d");
const button = document.querySelector("button"), slider = document.querySelector("input"), clock = document.querySelector("output");
const total = (F.length - 1) * D.each;
let V = D.view, now = 0, playing = true, before = null;
slider.max = total;
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
function turned(v, k, angle) {  // Rodrigues
  const c = Math.cos(angle), s = Math.sin(angle), d = dot(k, v) * (1 - c);
  const x = [k[1] * v[2] - k[2] * v[1], k[2] * v[0] - k[0] * v[2], k[0] * v[1] - k[1] * v[0]];
  return v.map((a, i) => a * c + x[i] * s + k[i] * d);
}
function draw() {
  const ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio); }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, w, h);
  const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--ink"), page = style.getPropertyValue("--page");
  const scale = Math.min(w, h) / 4100, wide = Math.min(w, 1.2 * h) / 620;
  const at = p => [w / 2 + scale * dot(p, V[0]), h / 2 - scale * dot(p, V[1]), dot(p, V[2])];
  const k = Math.min(Math.floor(now / D.each), F.length - 2), part = Math.min(now / D.each - k, 1);
  const value = i => F[k][i] + part * (F[k + 1][i] - F[k][i]);
  const point = j => at([value(3 * j), value(3 * j + 1), value(3 * j + 2)]);
  pen.lineJoin = "round"; pen.lineCap = "round";
  pen.beginPath();
  for (let i = 0; i < D.plate.length; i += 3) pen.lineTo(...at(D.plate.slice(i, i + 3)).slice(0, 2));
  pen.strokeStyle = pen.fillStyle = ink;
  pen.globalAlpha = 0.14; pen.fill(); pen.globalAlpha = 0.5; pen.lineWidth = 1.5; pen.stroke(); pen.globalAlpha = 1;
  pen.beginPath();
  for (let i = 0; i <= k; i++) pen.lineTo(...at(F[i].slice(3 * D.tip, 3 * D.tip + 3)).slice(0, 2));
  pen.lineTo(...point(D.tip).slice(0, 2));
  pen.strokeStyle = ink; pen.lineWidth = 1.3; pen.stroke();
  const strokes = D.look.map((look, i) => [look, point(2 * i), point(2 * i + 1), i >= D.look.length - 3 ? 1e9 : 0]);
  strokes.sort((a, b) => a[1][2] + a[2][2] + 2 * a[0][4] + a[3] - b[1][2] - b[2][2] - 2 * b[0][4] - b[3]);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  for (const [[colours, width, round, outlined], a, b] of strokes) {
    const colour = colours[+dark];
    pen.lineCap = round ? "round" : "butt";
    const end = Math.hypot(a[0] - b[0], a[1] - b[1]) < 0.4;
    for (const [c, more] of outlined ? [[page, 2.5], [colour, 0]] : [[colour, 0]]) {
      pen.strokeStyle = pen.fillStyle = c;
      pen.beginPath();
      if (end) { pen.arc(a[0], a[1], (0.8 * width + more / 2) * wide, 0, 7); pen.fill(); continue; }
      pen.moveTo(a[0], a[1]); pen.lineTo(b[0], b[1]);
      pen.lineWidth = (1.4 * width + more) * wide; pen.stroke();
    }
  }
  clock.textContent = "t = " + Math.min(now / D.each * D.step, D.end).toFixed(2) + " s";
  slider.value = now;
}
function tick(stamp) {
  if (playing) {
    if (before !== null) now += (stamp - before) / 1000;
    if (now > total) now = now > total + 0.7 ? 0 : now;
  }
  before = stamp;
  const kept = now; now = Math.min(now, total); draw(); now = kept;
  requestAnimationFrame(tick);
}
button.onclick = () => { playing = !playing; button.textContent = playing ? "❚❚" : "▶"; if (now > total) now = 0; };
slider.oninput = () => { now = +slider.value; if (playing) button.onclick(); };
let held = null;
canvas.onpointerdown = e => { if (!D.flat) { held = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); } };
canvas.onpointerup = () => held = null;
canvas.onpointermove = e => {
  if (!held) return;
  const dx = e.clientX - held[0], dy = e.clientY - held[1];
  held = [e.clientX, e.clientY];
  V = V.map(v => turned(v, D.up, -dx / 180));
  const k = V[0], tilted = V.map(v => turned(v, k, -dy / 180));
  if (dot(tilted[1], D.up) > 0.05) V = tilted;
};
requestAnimationFrame(tick);
</script></body></html>
"""

WRITERS: dict[str, Callable[[Film, Any, Callable[[float], None]], None]] = {
    ".gif": write_gif,
    ".mp4": write_mp4,
    ".html": write_html,
}
