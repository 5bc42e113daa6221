"""Animations of a moving arm as a file: ``.gif``, ``.mp4``, or ``.html`` with a small player that needs no network.

The frames are evenly spaced over the motion, which plays in real time, or ``speed`` times as fast.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.extras import extra
from dalembert.base.environment.progress import Bar
from dalembert.base.environment.short_repr import brief
from dalembert.base.files import check_writable, whole_binary_file
from dalembert.errors import DalembertError
from dalembert.views.report import arm_figures, figures
from dalembert.views.report.arm_figures import draw_strokes, draw_surroundings
from dalembert.views.report.html import text
from dalembert.views.report.plots import batch_index
from dalembert.views.report.skeleton import Pose, View, by_depth, plate, size_of, skeleton, strokes, views_of
from dalembert.views.report.user_text import literal, with_glyphs
from dalembert.work.simulation.simulate import Run
from dalembert.work.trajectory.planning.trajectory import Trajectory

MOST = 5_000  # largest number of frames
FINER = 8  # points of the tip's path per frame
PLAYER = Path(__file__).with_name("player.html")
SIZE, DPI = (6.0, 5.0), 100  # inches, and pixels per inch: video needs even numbers of pixels


@brief
@dataclass(frozen=True)
class Film:
    """An arm at the times t (N,) of its motion: ``poses``, the duration of each frame (s), and the path of the tip.

    tips  (FINER (N − 1) + 1, 3) the positions of the tip, also at times between the frames
    size  the extent of the arm over the whole motion (m)
    view  perpendicular to the plane if the arm stays in one, otherwise from a corner
    """

    arm: Arm
    t: Array
    poses: list[Pose]
    each: float
    tips: Array
    size: float
    view: View


def animate_run(run: Run, path: str | os.PathLike[str], batch: int | tuple[int, ...] | None, *look: Any) -> None:
    """See :meth:`Run.animate`."""
    q, instants = run.q[batch_index(run, batch)], run.t - run.t[0]

    def between(t: Array) -> Array:
        return np.stack([np.interp(t, instants, column) for column in q.T], axis=-1)

    animate(run.arm, instants, between, path, *look)


def animate_motion(motion: Trajectory, path: str | os.PathLike[str], arm: Arm, *look: Any) -> None:
    """See :meth:`Trajectory.animate`."""
    motion.fits(arm)
    animate(arm, np.array([0.0, motion.duration]), lambda t: motion(t)[0], path, *look)


def check_animation(path: str | os.PathLike[str], *, overwrite: bool) -> str:
    """The kind of file; an error, before any computation, if it cannot be written."""
    kind = Path(path).suffix.lower()
    if kind not in WRITERS:
        raise DalembertError(f"{path}: an animation cannot be written as '{kind}'; use one of {', '.join(WRITERS)}")
    if kind == ".mp4":
        with extra("video", f"{path}: a video"):
            import imageio_ffmpeg  # noqa: F401
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
        poses, tips = skeleton(arm, q(instants)), np.asarray(arm.pose(q(finer)))[:, :3, 3]
        view, *_ = views_of(arm, [poses[k] for k in np.unique(np.linspace(0, count - 1, 12).astype(int))])
        film = Film(arm, instants, poses, each, tips, size_of(arm, poses), view)
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
        everything = np.concatenate([pose.points for pose in film.poses]) @ view.matrix.T
        draw_surroundings(axes, arm, view, size)
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


def write_mp4(film: Film, file: Any, progress: Callable[[float], None]) -> None:
    """H.264 video for browsers and slides. ffmpeg needs a seekable output, so it writes to a temporary file."""
    with extra("video", "a video"):
        import imageio_ffmpeg

    width, height = (round(DPI * inches) for inches in SIZE)
    look: dict[str, Any] = {"codec": "libx264", "quality": None, "macro_block_size": 2, "ffmpeg_log_level": "error"}
    look["output_params"] = ["-crf", "20", "-movflags", "+faststart"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "film.mp4"
        writer = imageio_ffmpeg.write_frames(str(out), (width, height), fps=1 / film.each, **look)
        with contextlib.closing(writer):
            writer.send(None)
            for picture in pictures(film, progress):
                writer.send(picture)
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
        "look": [[s.colour, s.width, int(s.round), int(s.outlined), round(s.lift / unit)] for s in drawn],
        "frames": steps.tolist(),
        "plate": np.round((plate(film.arm, size) - middle) / unit).astype(int).ravel().tolist(),
        "view": np.round([*view.matrix, np.cross(*view.matrix)], 6).tolist(),
        "up": (-g / np.linalg.norm(g)).round(6).tolist() if g.any() else [0, 0, 1],
        "flat": bool(view.scales),
        "tip": 2 * (len(drawn) - 3),
    }
    words = json.dumps(data, separators=(",", ":"))
    page = PLAYER.read_text(encoding="utf-8").replace("{title}", text(film.arm.name)).replace("{data}", words)
    file.write(page.encode())
    progress(1.0)


WRITERS: dict[str, Callable[[Film, Any, Callable[[float], None]], None]] = {
    ".gif": write_gif,
    ".mp4": write_mp4,
    ".html": write_html,
}
