"""The report: one HTML page about an arm and its motions."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dalembert.arm import Arm
from dalembert.base.arrays import Array
from dalembert.base.environment.progress import OfFraction as Progress
from dalembert.base.environment.progress import reporting
from dalembert.base.files import HTML, check_writable, whole_file
from dalembert.base.wording import counted, shown
from dalembert.errors import DalembertError
from dalembert.robot.model.omitted_terms import OMISSIONS
from dalembert.views.report import figures, tip_figures
from dalembert.views.report.arm_figures import arm_panels
from dalembert.views.report.drive_figures import drives_section, light
from dalembert.views.report.figures import Panel
from dalembert.views.report.html import (
    Byline,
    Column,
    cards,
    csv_text,
    download,
    extent,
    grid,
    key,
    known,
    number,
    page,
    share,
    table,
    table_of_columns,
    text,
)
from dalembert.views.report.plots import monte_carlo_panels
from dalembert.views.report.study import Place, Study
from dalembert.work.sizing.drive_sizing import light_of
from dalembert.work.sizing.sizing import Demand, joint_units
from dalembert.work.trajectory.planning.motion_columns import DERIVED
from dalembert.work.trajectory.planning.motion_file import carried_columns

SMALL = 3  # largest number of joints for which equations and individual torque terms are shown


Section = Callable[[Study, Place], str]  # HTML about a motion; empty if there is nothing to show


def write_report(
    path: str | os.PathLike[str],
    studies: Study | Sequence[Study],
    *,
    title: str | None = None,
    author: str | None = None,
    note: str | None = None,
    date: str | datetime.date | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the report on some motions of one arm, atomically.

    studies    results of :func:`dalembert.study`: one, or a list with one per motion
    title      of the page; by default the arm and its motion
    author     shown under the title
    note       introductory text: one paragraph, or several separated by empty lines
    date       shown beside the author: a text, or a :class:`datetime.date`; None omits it, so that the same input always
               gives the same page
    overwrite  whether an existing file may be replaced

    >>> import tempfile, dalembert as da
    >>> swing = da.study(da.load("pendulum"), da.polynomial([0.0], [1.0], 1.0), title="Swing")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     da.write_report(f"{folder}/swing.html", swing, author="A. Engineer", date="2026-11-16")
    """
    check_writable(path, overwrite=overwrite, kinds=HTML)
    text_of_page = report_html(studies, title=title, author=author, note=note, date=date, progress=progress)
    with whole_file(path, overwrite=overwrite) as file:
        file.write(text_of_page)


def report_html(
    studies: Study | Sequence[Study],
    *,
    title: str | None = None,
    progress: Progress | None = None,
    **byline: Any,
) -> str:
    """The page as text, with author, note and date as for :func:`write_report`. All studies must belong to one arm."""
    heading = Byline(**byline)
    studies = [studies] if isinstance(studies, Study) else studies
    given = studies if isinstance(studies, list | tuple) else [studies]
    if strange := [x for x in given if not isinstance(x, Study)]:
        what = shown(strange[0])
        raise DalembertError(f"a report cannot be made from {what}; give results of da.study, one for each motion")
    if not studies:
        raise DalembertError("there is no motion to report on; give at least one result of da.study")
    arm = studies[0].arm
    if any(study.arm != arm for study in studies):
        raise DalembertError("these motions belong to several arms; write one report per arm")
    title = title or f"{arm.name}: {studies[0].title if len(studies) == 1 else f'{len(studies)} motions'}"
    parts = [_summary(studies), _the_arm(arm)]
    tell, steps = reporting(progress), len(SECTIONS) * len(studies)
    for index, study in enumerate(studies):
        parts.append(_motion_head(study, index, len(studies)))
        about, across = f"of {arm.name}, {study.title}", "two" if arm.n <= 4 else "three"
        place = partial(grid, about=about, prefix=f"m{index + 1}-", across=across)
        for done, section in enumerate(SECTIONS, 1):
            parts.append(section(study, place))
            tell(study.title, (index * len(SECTIONS) + done) / steps)
    parts += [_equations(arm), _words()]
    links = [("arm", "The arm"), *((f"motion-{k + 1}", s.title) for k, s in enumerate(studies))]
    links += [("equations", "Equations of motion")] if _has_equations(arm) else []
    source = f" · {arm.robot.source}" if arm.robot.source else ""
    facts = f"{arm.name}, {counted(arm.n, 'joint')} ({arm.robot.joint_letters}), {number(arm.robot.mass)} kg{source}"
    return page(
        title, text(f"Dynamics report: {facts}"), [*links, ("words", "How to read this report")], parts, heading
    )


# -- the top -------------------------------------------------------------------------------------


def _summary(studies: Sequence[Study]) -> str:
    """The key figures of the motions."""
    parts = ["<h2>At a glance</h2>"]
    for k, study in enumerate(studies, 1):
        power = study.sizing.power.peak
        strongest = int(np.argmax(power))
        facts = [(f"{number(study.sizing.duration)} s", "duration")]
        if (tightest := study.sizing.tightest) is not None:
            x, i = tightest
            words = f"largest utilisation of a limit: {x.name} of {study.arm.joint_names[i]}"
            facts.append((f"{100 * x.used[i]:.0f} %", words))
        facts.append((f"{number(power[strongest], 3)} W", f"peak power, at {study.arm.joint_names[strongest]}"))
        facts.append((f"{number(float(study.sizing.energy.sum()), 3)} J", "total energy delivered by the drives"))
        if len(studies) > 1:
            parts.append(f'<h3><a href="#motion-{k}">{text(study.title)}</a></h3>')
        parts.append(cards(facts))
    beyond = [
        f"<li>{text(study.title) + ': ' if len(studies) > 1 else ''}{_unbroken(text(sentence))}</li>"
        for study in studies
        for sentence in study.sizing.exceeded
    ]
    if beyond:
        parts.append(f'<div class="notice bad"><b>Limits are exceeded.</b><ul>{"".join(beyond)}</ul></div>')
    if missing := studies[0].without_effort_limit:
        parts.append(
            f'<div class="notice">Effort limits are missing at {text(", ".join(missing))}: the margins of their '
            "torques and the effect of scaling are omitted. Use the option --limits to give them.</div>"
        )
    if (h := studies[0].tip_wrench) is not None:
        force, moment = (", ".join(number(x) for x in part) for part in (h[:3], h[3:]))
        parts.append(
            f'<div class="notice">The tip exerts on its environment the constant force ({force}) N and the '
            f"moment ({moment}) N m, in base axes.</div>"
        )
    return "\n".join(parts)


def _unbroken(words: str) -> str:
    """The text with numbers and their units kept on one line."""
    units = r"(?<=\d) (N m|N|rad/s²|rad/s|rad|m/s²|m/s|m|s)\b"
    return re.sub(units, lambda unit: unit[0].replace(" ", "\u00a0"), words)


def _the_arm(arm: Arm) -> str:
    joints, bodies, units = arm.robot.moving_joints, arm.mechanism.bodies, joint_units(arm)
    ranges = [extent(j.limits.lower, j.limits.upper, unit) for j, unit in zip(joints, units["position"], strict=True)]
    columns: list[Column] = [
        ("", "joint", [text(joint.name) for joint in joints]),
        ("", "type", [text(joint.type) for joint in joints]),
        ("limits", "range", ranges),
    ]
    for heading, name, what in (("speed", "velocity", "speed"), ("acceleration",) * 3, ("effort", "effort", "torque")):
        values = [getattr(joint.limits, name) for joint in joints]
        if any(value is not None for value in values):
            columns.append(("limits", heading, list(map(known, values, units[what]))))
    rotors = [joint.rotor for joint in joints]
    if any(rotors):
        parts = (("gear k_r", "gear", ""), ("rotor inertia", "inertia", "kg m²"), ("rotor mass", "mass", "kg"))
        for heading, name, unit in parts:
            columns.append(("drive", heading, [known(getattr(rotor, name, None), unit) for rotor in rotors]))
    if any(body.viscous or any(body.coulomb) for body in bodies):
        columns.append(("friction at the joint", "viscous", [known(body.viscous) for body in bodies]))
        columns.append(("friction at the joint", "Coulomb", [_two_sided(*body.coulomb) for body in bodies]))
    gravity = ", ".join(number(x) for x in arm.robot.gravity)
    payload = ""
    if arm.robot.payload is not None:
        com = ", ".join(number(x) for x in arm.robot.payload.com)
        payload = f" It holds a payload of {number(arm.robot.payload.mass)} kg with its centre of mass at ({com}) m in the tip's frame."
    left_out = (*(OMISSIONS[name] for name in arm.omitted), *arm.robot.left_out)
    notes = "".join(f"<p><b>Omitted from the model: {text(what)}.</b></p>" for what in left_out)
    notes += "".join(f"<p class=soft>{text(note)}</p>" for note in arm.robot.notes)
    if arm.loops:
        names = ", ".join(name for loop in arm.loops for name in loop.passive)
        closing = ", ".join(arm.loop_names)
        payload += f" Its kinematic loops are closed at {text(closing)}; the passive joints {text(names)} follow from those in the table."
    if arm.robot.couplings:
        rules = "; ".join(coupling.text for coupling in arm.robot.couplings)
        payload += f" Some of its joints follow others: {text(rules)}."
    return (
        f'<h2 id="arm">The arm</h2>\n<p>Gravity is ({gravity}) m/s² in base axes.{payload}</p>'
        f"{table_of_columns(columns)}{_terms(arm)}{notes}"
    )


def _terms(arm: Arm) -> str:
    """Friction beyond viscous and Coulomb, springs and losses, including those of passive joints."""
    rows = []
    for joint in arm.robot.tree_joints:
        if joint.friction.further:
            terms = (re.sub(r"-(?=\d)", "−", term.text_at(joint.type)) for term in joint.friction.further)
            rows.append([text(joint.name), "<br>".join(map(text, terms))])
    return table(["joint", "springs and further friction"], rows, words=True) if rows else ""


def _two_sided(positive: float, negative: float) -> str:
    """A Coulomb level, or those at positive and at negative speed."""
    return known(positive) if positive == negative else f"+{known(positive)} / −{known(negative)}"


# -- a motion ------------------------------------------------------------------------------------


def _motion_head(study: Study, index: int, count: int) -> str:
    note = f"<p>{text(study.note)}</p>" if study.note else ""
    head = study.title if count > 1 else f"The motion: {study.title}"
    if len(study.rows) < len(study.at.t):
        note += (
            f"<p class=soft>{len(study.rows):,} of {len(study.at.t):,} samples are drawn and offered for download, including the "
            "peaks; the tables are computed from all samples.</p>"
        )
    if study.events:
        items = "".join(f"<li>{_unbroken(text(event))}</li>" for event in study.events)
        note += f"<p>During part of the motion, shaded in the figures over time:</p><ul>{items}</ul>{key(figures.key_of(study.events), areas=True)}"
    return f'<h2 id="motion-{index + 1}">{text(head)}</h2>\n{note}'


def _start_and_end(study: Study, place: Place) -> str:
    return "<h3>Start and end</h3>\n" + place(
        arm_panels(study.arm, study.shown), "arm", across="two", beside=_ends(study)
    )


def _motion_of(what: str, name: str, panels: Callable[[Study], list[Panel]]) -> Section:
    """The section with the curves of some motion."""
    return lambda study, place: f"<h3>Motion of {what}</h3>\n" + place(panels(study), name, across="three")


def _torques(study: Study, place: Place) -> str:
    """Every joint with its limits."""
    limited = not np.isnan(study.sizing.torque.limit).all()
    dashed = " Dashed lines are limits." if limited else ""
    return (
        f"<h3>Torques{' and forces' if 'N' in study.sizing.torque.units else ''}"
        f"{' against their limits' if limited else ''}</h3>\n"
        f"<p>The torque of each drive at its joint, τ of S (7.42), including that for its rotor.{dashed}</p>"
        + place(figures.torque_panels(study), "torque")
    )


def _causes(study: Study, place: Place) -> str:
    """Where the torques come from; for small arms term by term."""
    out = "<h3>Where the torques come from</h3>\n<p>Contributions of the same sign are stacked; the line is their sum.</p>"
    out += place(figures.stacked_panels(study), "stack", areas=True)
    if study.arm.n <= SMALL:
        out += (
            "<h4>Individual contributions</h4>\n<p>Inertia: torque due to the acceleration of each joint, rotors included. "
            "Velocities: centrifugal torque due to the velocity of one joint, Coriolis torque due to those of two.</p>"
            + place(figures.pair_panels(study), "pairs", across="three")
        )
    return out


def _ellipsoids(study: Study, place: Place) -> str:
    """The acceleration capability of the tip along the motion."""
    head = "<h3>Acceleration capability of the tip</h3>\n"
    shapes = study.ellipsoids
    if isinstance(shapes, str):
        return f"{head}<p>There is no dynamic manipulability ellipsoid: {text(shapes)}.</p>"
    by = "whose fractions of the joint limits have a sum of squares of at most 1"
    by = "of 1 N m (or N) each" if study.without_effort_limit else by
    t, unit, rows = study.shown.t, shapes.units[0], []
    for word, x in (("longest radius", shapes.radii[:, 0]), ("shortest radius", shapes.radii[:, -1])):
        low, high = int(np.argmin(x)), int(np.argmax(x))
        rows.append([f"{word} ({unit})", *map(number, (x[0], x[-1], x[low], t[low], x[high], t[high]))])
    columns = ["", "start", "end", "least", "at (s)", "most", "at (s)"]
    return (
        f"{head}<p>The dynamic manipulability ellipsoid, S (7.149): accelerations that the tip can reach from rest at each pose with torques "
        f"{by}; gravity shifts its centre. Motors that reach their limits individually can do more.</p>"
        + place([tip_figures.acceleration_panel(study, shapes)], "ellipsoids", across="one")
        + table(columns, rows)
    )


def _reactions(study: Study, place: Place) -> str:
    """For closed chains: the loads on the joints at which the loops were cut."""
    if not study.arm.loops:
        return ""
    t, rows = study.shown.t, []
    for k, loop in enumerate(study.arm.loops):
        size = np.linalg.norm(study.reactions[:, k, :3], axis=-1)
        peak, moment = int(np.argmax(size)), np.linalg.norm(study.reactions[:, k, 3:], axis=-1)
        at = ", ".join(number(x, 3) for x in study.reactions[peak, k, :3])
        pair, most = f"{text(loop.link_b)} on {text(loop.link_a)}", known(moment.max() if moment.any() else None, "N m")
        rows.append([text(loop.name), pair, f"{number(size[peak])} N", number(t[peak]), f"({at})", most])
    columns = ["joint", "force of", "peak force", "at (s)", "its components (N)", "peak moment"]
    return (
        "<h3>Reactions at the loop closures</h3>\n<p>The force at each joint that closes a loop, in base axes. For a planar "
        "loop it is the component in its plane: the motion does not determine the load across the plane.</p>"
        + place(figures.reaction_panels(study), "loops", across="three")
        + table(columns, rows)
    )


def _ends(study: Study) -> str:
    """Start and end of the motion, in numbers."""
    units, q = study.sizing.position_units, study.at.q
    rows = [
        [text(name), number(q[0, i]), number(q[-1, i]), number(q[-1, i] - q[0, i], sign=True), units[i]]
        for i, name in enumerate(study.arm.joint_names)
    ]
    first, last = study.tip[0][0], study.tip[0][-1]
    small = 1e-9 * max(float(np.abs(study.tip[0]).max()), 1e-9)
    for k, axis in enumerate("xyz"):
        values = (first[k], last[k], last[k] - first[k])
        rows.append([f"tip {axis}", *(number(0.0 if abs(v) < small else float(v)) for v in values), "m"])
    return f"<div>{table(['', 'start', 'end', 'travel', 'unit'], rows)}</div>"


def _sizing(study: Study, place: Place) -> str:
    """Four tables: joints, power, motors, bearings."""
    s = study.sizing
    every = range(len(s.joints))
    driven = [i for i in every if not np.isnan(s.motor_torque.peak[i])]

    def joints(which: Sequence[int] = every) -> Column:
        return "", "joint", [text(s.joints[i]) for i in which]

    def demand(
        group: str, x: Demand, which: Sequence[int] = every, headings: str = "peak|at (s)|RMS|limit|margin"
    ) -> list[Column]:
        peaks = [f"{number(peak)} {unit}" for peak, unit in zip(x.peak, x.units, strict=True)]
        numbers = [list(map(number, values)) for values in (x.at, x.rms, x.limit)]
        cells = dict(zip(headings.split("|"), (peaks, *numbers, list(map(share, x.margin))), strict=False))
        return [(group, heading, [values[i] for i in which]) for heading, values in cells.items()]

    positions: list[Column] = [
        ("position", "lowest", list(map(number, s.lowest))),
        ("position", "highest", list(map(number, s.highest))),
        ("position", "limits", [extent(s.lower[i], s.upper[i], s.position_units[i]) for i in every]),
        ("position", "left", [_inside(study, i) for i in every]),
    ]
    rows = []
    for i in every:
        numbers = map(number, (s.power.at[i], s.power.rms[i], s.energy[i], s.returned[i]))
        rows.append([text(s.joints[i]), f"{number(s.power.peak[i])} W", *numbers, _net(s.energy[i], s.returned[i])])
    given, returned = float(s.energy.sum()), float(s.returned.sum())
    totals = (number(given), number(returned), _net(given, returned))
    rows.append(["<b>all</b>", "", "", "", *(f"<b>{x}</b>" for x in totals)])
    groups = [("", 1), ("power τ q̇", 3), ("energy (J)", 3)]
    power = table(["joint", "peak", "at (s)", "RMS (W)", "delivered", "returned", "net"], rows, groups)
    motors = "<p class=soft>The robot file defines no rotors and gears, so there are no figures for the motors.</p>"
    if driven:
        gears: Column = ("", "k_r", [known(study.arm.mechanism.bodies[i].gear) for i in driven])
        torque, speed = ("motor torque τ / k_r", s.motor_torque), ("motor speed k_r q̇", s.motor_speed)
        watts: Column = ("power", "peak (W)", [number(s.motor_power.peak[i]) for i in driven])
        columns = [joints(driven), gears, *demand(*torque, driven), *demand(*speed, driven), watts]
        motors = "<h4>Motors, with lossless gears</h4>\n" + table_of_columns(columns)
    bearings, words = [joints()], ("force |f|", "along the axis", "across it", "moment |μ|", "tilting")
    for word, x in zip(words, (s.force, s.axial, s.radial, s.moment, s.tilting), strict=True):
        bearings += demand(word, x, headings="peak|at (s)")
    return (
        "<h3>Sizing</h3>\n<h4>Joints</h4>\n"
        + table_of_columns([joints(), *demand("torque", s.torque), *demand("speed", s.speed)])
        + table_of_columns([joints(), *demand("acceleration", s.acceleration), *positions])
        + f"<h4>Power and energy</h4>\n{power}{motors}<h4>Bearings</h4>\n{table_of_columns(bearings)}"
    )


def _tolerances(study: Study, place: Place) -> str:
    """Margins of robots within their tolerances, if these are given."""
    if (drawn := study.drawn) is None:
        return ""
    middle, most, nearly_all = drawn.quantile((0.5, 0.95, 0.99))
    every = range(study.arm.n)
    limited = ~np.isnan(drawn.limit)
    margin = drawn.margin(0.95)
    causes = [next(iter(drawn.causes(i)), ("", 0.0)) for i in every]  # the parameters with the largest correlations
    columns: list[Column] = [
        ("", "joint", [text(name) for name in drawn.joints]),
        ("peak torque", "nominal", [f"{number(drawn.nominal_peak[i])} {drawn.units[i]}" for i in every]),
        *(("peak torque", f"{share:.0%} quantile", [number(x) for x in values])
          for share, values in ((0.5, middle), (0.95, most), (0.99, nearly_all))),
        ("effort limit", "limit", [number(drawn.limit[i]) for i in every]),
        ("effort limit", "margin at 95 %", [light(light_of(margin[i]), f"{margin[i]:.0%}") if limited[i] else "–" for i in every]),
        ("effort limit", "robots above it", [f"{drawn.exceeded[i]:.2%}" if limited[i] else "–" for i in every]),
        ("", "main cause", [text(f"{name} ({share:+.2f})") if abs(share) > 0.05 else "–" for name, share in causes]),
    ]  # fmt: skip
    return (
        f"<h3>Tolerances</h3>\n<p>Torques of {len(drawn.peak):,} robots whose parameters were sampled within their tolerances: "
        f"{text(drawn.tolerances.text)}. A light is green if 95 % of the robots have a margin of at least 20 % of the limit, amber "
        "if it is smaller, red if they exceed the limit.</p>" + table_of_columns(columns)
        + place(monte_carlo_panels(drawn), "tolerances", across="two")
    )  # fmt: skip


def _net(given: float, returned: float) -> str:
    net = float(given - returned)
    return number(0.0 if abs(net) < 1e-9 * max(given, returned) else net)


def _inside(study: Study, i: int) -> str:
    """The distance of the positions from the nearer of their limits."""
    s = study.sizing
    left = [x for x in (s.lowest[i] - s.lower[i], s.upper[i] - s.highest[i]) if not np.isnan(x)]
    if not left:
        return '<span class="soft">–</span>'
    kind = "bad" if min(left) < 0 else "good"
    return f'<span class="{kind}">{number(float(min(left)), 3)}</span>'


def _scaling(study: Study, place: Place) -> str:
    """The effect of slowing down or speeding up the motion."""
    head = "<h3>Effect of scaling</h3>\n"
    paces, lost = study.paces, {name: why for name, why in study.scaled.items() if isinstance(why, str)}
    if len(paces) == 1:
        return head + f"<p class=soft>Not computed: {text('; '.join(dict.fromkeys(lost.values())))}.</p>"
    rows = [
        [text(word), number(at.sizing.duration), number(at.sizing.duration / study.sizing.duration), *_tightest(at)]
        for word, at in paces.items()
    ]
    columns = ["pace", "duration (s)", "c", "least margin", "of", "at (s)"]
    missing = "".join(
        f"<p class=soft>{text(name.capitalize())}: not computed, {text(why)}.</p>" for name, why in lost.items()
    )
    torque = study.sizing.torque
    by_joint: list[Column] = [("", "joint", [text(joint) for joint in study.arm.joint_names])]
    by_joint += [("peak torque", word, [number(x) for x in at.sizing.torque.peak]) for word, at in paces.items()]
    by_joint += [("", "limit", [number(x) for x in torque.limit]), ("", "unit", torque.units)]
    return (
        head + "<p>Uniformly scaled: time is stretched by a factor c, r = c t, the smallest that satisfies all limits (S 7.7); "
        "below 1 the motion becomes faster. Time-optimal: the same path from rest to rest in minimum time, with variable "
        "speed.</p>" + table(columns, rows) + missing + table_of_columns(by_joint)
        + place(figures.scaling_panels(study), "scaling")
    )  # fmt: skip


def _tightest(study: Study) -> list[str]:
    """The smallest margin, its quantity, and its time."""
    if (tightest := study.sizing.tightest) is None:
        return ["–", "–", "–"]
    x, i = tightest
    return [share(x.margin[i]), f"{text(x.name)} of {text(study.sizing.joints[i])}", number(x.at[i])]


def _downloads(study: Study, place: Place) -> str:
    """One table with everything over the time of the motion, the sizing, and the time-optimal motion."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{study.arm.name}-{study.title}").strip("-").lower()
    derived = _contributions(study) | _columns_of_tip(study)
    columns = _columns_of_motion(study) | {f"{DERIVED}{name}": x for name, x in derived.items()}
    items = [
        download(f"{stem}.csv", "Motion, torques, contributions, tip", csv_text(list(columns), list(columns.values()))),
        download(f"{stem}-sizing.csv", "Sizing", study.sizing.csv()),
    ]
    if study.sizing.drives is not None:
        items.append(download(f"{stem}-drives.csv", "Drives", study.sizing.drives.csv()))
    if (fastest := study.paces.get("time-optimal")) is not None:
        values = _columns_of_motion(fastest)
        items.append(
            download(f"{stem}-time-optimal.csv", "Time-optimal", csv_text(list(values), list(values.values())))
        )
    return f'<h3 class="for-screen">Numbers</h3>\n<ul class="downloads">{"".join(items)}</ul>\n'


def _columns_of_motion(study: Study) -> dict[str, Array]:
    """The columns of a motion file, including payloads and tip wrenches, and the torques: name → (N,)."""
    at = study.shown
    groups = {"q": at.q, "qd": at.qd, "qdd": at.qdd, "tau": study.shown_torque}
    moving = {f"{name}{i + 1}": x[:, i] for name, x in groups.items() for i in range(study.arm.n)}
    return {"t": at.t} | moving | carried_columns(at.payload, at.wrench)


def _contributions(study: Study) -> dict[str, Array]:
    """The torques by cause, for small arms every term; columns that are zero throughout are omitted."""
    parts = vars(study.terms) if study.arm.n <= SMALL else study.terms.by_joint
    columns = {}
    for kind, x in parts.items():
        for index in np.ndindex(x.shape[1:]):
            if (values := x[:, *index]).any():
                columns[kind + "_".join(str(i + 1) for i in index)] = values
    return columns


def _columns_of_tip(study: Study) -> dict[str, Array]:
    """The tip's motion, its ellipsoids, and the reactions of closed chains, in base axes."""
    tip = dict(zip(("", "v", "a"), study.tip, strict=True))
    columns = {f"tip_{letter}{axis}": x[:, k] for letter, x in tip.items() for k, axis in enumerate("xyz")}
    if not isinstance(shapes := study.ellipsoids, str):
        columns |= {f"centre_{row}": shapes.center[:, k] for k, row in enumerate(shapes.rows)}
        columns |= {f"radius{k + 1}": shapes.radii[:, k] for k in range(len(shapes.rows))}
    for k, loop in enumerate(study.arm.loops):
        for j, axis in enumerate(("fx", "fy", "fz", "mx", "my", "mz")):
            columns[f"{loop.name} {axis}"] = study.reactions[:, k, j]
    return columns


# the sections about each motion, in this order
SECTIONS: tuple[Section, ...] = (
    _start_and_end,
    _motion_of("the joints", "motion", figures.motion_panels),
    _torques,
    _causes,
    _motion_of("the tip", "tip", figures.tip_panels),
    _reactions,
    _sizing,
    drives_section,
    _tolerances,
    _ellipsoids,
    _scaling,
    _downloads,
)


# -- the end -------------------------------------------------------------------------------------


def _has_equations(arm: Arm) -> bool:
    """Whether the arm is small and, if it has kinematic loops, they have a closed-form solution."""
    return arm.n <= SMALL and arm.mechanism.linear


def _equations(arm: Arm) -> str:
    """The equations of a small arm, as text."""
    if not _has_equations(arm):
        return ""
    return (
        '<h2 id="equations">Equations of motion</h2>\n<p>The inertia matrix, the matrix of centrifugal and Coriolis terms, '
        "gravity and the torques, in the notation of S 7.3.</p>"
        f'<pre class="equations" tabindex="0">{_lines(arm.equations().text(whole=True))}</pre>'
    )


def _lines(words: str) -> str:
    """Lines of text as HTML."""
    return "\n".join(map(text, words.splitlines()))


def _words() -> str:
    words = [
        ("torque τ", "the torque of a drive at its joint, including friction and the inertia of its rotor: N m, or N for a "
         "prismatic joint"),
        ("motor", "with a lossless gear: torque τ / k_r, speed k_r q̇, and the same power τ q̇"),
        ("margin", "the unused fraction of a limit at the peak; red if the limit is exceeded"),
        ("RMS", "root mean square over the motion, by the trapezoidal rule between the samples"),
        ("delivered, returned", "the integrals of the positive and of the negative power of each drive"),
        ("bearing loads", "the force f and the moment μ, about the origin of the joint's frame, that the link before a joint "
         "exerts on the link after it, S (7.112), (7.113); the tilting moment is the component of μ perpendicular to the axis"),
        ("S", "the textbook chapter on dynamics whose equations and example are used"),
        ("units", "SI, radians"),
    ]  # fmt: skip
    items = "".join(f"<dt>{text(a)}</dt><dd>{text(b)}</dd>" for a, b in words)
    return f'<h2 id="words">How to read this report</h2>\n<dl>{items}</dl>'
