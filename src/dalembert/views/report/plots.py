"""The figures of ``.plot()`` for motions, runs, sizings and Monte Carlo studies; each function returns a matplotlib Figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.errors import ShapeError
from dalembert.views.report.colours import INK, RED, joint_colour
from dalembert.views.report.figures import Axes, Figure, Panel, assemble, joint_panels, over_time
from dalembert.views.report.user_text import literal
from dalembert.work.simulation.simulate import Run
from dalembert.work.sizing.monte_carlo import MonteCarlo
from dalembert.work.sizing.sizing import UNITS, Demand, Sizing, joint_units
from dalembert.work.trajectory.planning.limits import ROUNDING
from dalembert.work.trajectory.planning.trajectory import Trajectory

SIZE = (4.8, 2.6)  # inches of a panel over time
ENERGIES = (("#e07b2a", "kinetic"), ("#5b9f70", "potential"), (INK, "sum"))


# -- curves over time ----------------------------------------------------------------------------


def motion_figure(motion: Trajectory, arm: Arm | None = None) -> Figure:
    """See :meth:`Trajectory.plot`."""
    if arm is not None:
        motion.fits(arm)
    names = joint_names(motion.n, arm)
    shown = {"position": motion.q, "speed": motion.qd, "acceleration": motion.qdd}
    shown |= {} if arm is None else {"torque": motion.torques(arm)}
    units = {what: (" or ".join(pair),) * motion.n for what, pair in UNITS.items()} if arm is None else joint_units(arm)
    panels = joint_panels(names, units, motion.t, shown, motion.events, SIZE)
    return assemble(panels, 3 if len(panels) == 3 else 2)


def run_figure(run: Run, batch: int | tuple[int, ...] | None = None) -> Figure:
    """See :meth:`Run.plot`."""
    at = batch_index(run, batch)
    shown = {"position": run.q, "speed": run.qd}
    shown |= {"torque": run.tau} if run.tau.any() else {"acceleration": run.qdd}
    shown |= {"error": run.tracking_error} if run.follows else {}
    units = joint_units(run.arm)
    units["error"] = units["position"]
    panels = joint_panels(run.arm.joint_names, units, run.t, {what: x[at] for what, x in shown.items()}, (), SIZE)
    if not run.follows:
        energies = zip(ENERGIES, (run.kinetic, run.potential, run.energy), strict=True)
        curves = [(colour, word, x[at]) for (colour, word), x in energies]
        panels.append(over_time("Energy (J)", run.t, curves, (), SIZE))
    return assemble(panels)


def batch_index(run: Run, batch: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """The index of one run in its batch; () if it is not a batch."""
    leading = run.q.shape[:-2]
    index = () if batch is None else batch if isinstance(batch, tuple) else (batch,)
    if len(index) != len(leading) or not all(-size <= k < size for k, size in zip(index, leading, strict=True)):
        example = f"batch={(0,) * len(leading) if len(leading) > 1 else 0}" if leading else "no batch="
        shape = f"the run has the batch shape {leading}"
        raise ShapeError(f"batch is {batch}, but {shape}; give the index of one run: {example}")
    return index


def joint_names(n: int, arm: Arm | None) -> tuple[str, ...]:
    """The joints' names; numbers for a motion without an arm."""
    return arm.joint_names if arm is not None else tuple(f"joint {i + 1}" for i in range(n))


# -- sizing --------------------------------------------------------------------------------------


def sizing_figure(sizing: Sizing) -> Figure:
    """See :meth:`Sizing.plot`."""
    limited = [x for x in (sizing.torque, sizing.speed, sizing.acceleration) if not np.isnan(x.limit).all()]
    panels = [_shares(sizing, limited)] if limited else []
    for quantity in (sizing.torque, sizing.speed, sizing.power):
        for unit in dict.fromkeys(quantity.units):
            panels.append(_bars(sizing, quantity, [i for i, u in enumerate(quantity.units) if u == unit]))
    return assemble(panels, 2)


def _are_turned(names: Sequence[str]) -> bool:
    return sum(len(_label(name)) for name in names) + 2 * len(names) > 44


def _foot(names: Sequence[str]) -> float:
    """The height (inches) below the axes for the names of ``_ticks``."""
    return 0.3 + 0.055 * max(len(_label(name)) for name in names) if _are_turned(names) else 0.42


def _label(name: str) -> str:
    """The label of a bar: the middle of a long name is omitted."""
    return name if len(name) <= 24 else f"{name[:12]}…{name[-11:]}"


def _ticks(axes: Axes, names: Sequence[str]) -> None:
    """The joints' names below the bars, rotated if they would overlap."""
    look: Any = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if _are_turned(names) else {}
    axes.set_xticks(range(len(names)), [literal(_label(name)) for name in names], **look)
    axes.tick_params(axis="x", length=0)
    axes.grid(False, axis="x")


def _shares(sizing: Sizing, limited: list[Demand]) -> Panel:
    """The utilisation of each limit in percent, side by side for every joint."""
    colours = ("#1f5fa8", "#93b9e3", "#5b6770")
    width = 0.8 / len(limited)

    def draw(axes: Axes) -> None:
        for k, (quantity, colour) in enumerate(zip(limited, colours, strict=False)):
            x = np.arange(len(sizing.joints)) + (k - (len(limited) - 1) / 2) * width
            used = 100 * np.nan_to_num(quantity.used, nan=0.0, posinf=1e3)
            over = quantity.used > 1 + ROUNDING
            axes.bar(x, used, 0.9 * width, color=np.where(over, RED, colour).tolist(), label=quantity.name)
        axes.axhline(100, color=RED, lw=1.0, ls=(0, (5, 3)))
        axes.set_ylim(0, max(108.0, 1.08 * axes.get_ylim()[1]))
        _ticks(axes, sizing.joints)

    key = [(colour, x.name) for x, colour in zip(limited, colours, strict=False)]
    if any((x.used > 1 + ROUNDING).any() for x in limited):
        key.append((RED, "above the limit"))
    return Panel("Utilisation of the limit (%)", draw, tuple(key), (4.8, 2.8))


def _bars(sizing: Sizing, quantity: Demand, joints: list[int]) -> Panel:
    """Peak and RMS of a quantity for these joints, which have the same unit."""

    def draw(axes: Axes) -> None:
        x = np.arange(len(joints))
        axes.bar(x, quantity.peak[joints], 0.62, color=[joint_colour(i) for i in joints], alpha=0.45)
        axes.bar(x, quantity.rms[joints], 0.62, color=[joint_colour(i) for i in joints])
        _ticks(axes, [sizing.joints[i] for i in joints])

    title = f"{quantity.name.capitalize()}: peak, and RMS in full colour ({quantity.units[joints[0]]})"
    return Panel(title, draw, (), (4.8, 2.8))


def monte_carlo_figure(study: MonteCarlo) -> Figure:
    """See :meth:`MonteCarlo.plot`."""
    return assemble(monte_carlo_panels(study), 2)


def monte_carlo_panels(study: MonteCarlo) -> list[Panel]:
    """The peak torques of many robots with the limits: one panel per unit."""
    return [_spread(study, [i for i, u in enumerate(study.units) if u == unit]) for unit in dict.fromkeys(study.units)]


def _spread(study: MonteCarlo, joints: list[int]) -> Panel:
    """The peaks of most robots for these joints of one unit as bars, with the median, the nominal robot and the limit."""
    low, middle, high = study.quantile((0.01, 0.5, 0.99))[:, joints]
    colours = [joint_colour(i) for i in joints]

    def draw(axes: Axes) -> None:
        x = np.arange(len(joints))
        axes.bar(x, high - low, 0.5, bottom=low, color=colours, alpha=0.55)
        axes.hlines(middle, x - 0.25, x + 0.25, color=colours, lw=2.0)
        axes.plot(x, study.nominal_peak[joints], "o", ms=4.5, mfc="white", mec=INK, zorder=4)
        axes.hlines(study.limit[joints], x - 0.36, x + 0.36, color=RED, lw=1.2, linestyles="dashed")
        axes.set_ylim(bottom=0)
        _ticks(axes, [study.joints[i] for i in joints])

    title = f"Peak torque: 1 %, 50 % and 99 % of {len(study.peak):,} robots ({study.units[joints[0]]})"
    foot = _foot([study.joints[i] for i in joints])
    return Panel(title, draw, ((INK, "○ nominal robot"), (RED, "limit")), (6.4, 2.8 + foot), foot)
