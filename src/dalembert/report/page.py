"""The report: one HTML page about an arm and its motions, for a colleague."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dalembert.analysis.sizing import Quantity
from dalembert.arm import Arm
from dalembert.errors import DalembertError
from dalembert.files import check_writable, whole_file
from dalembert.report import figures, tip_figures
from dalembert.report.html import csv_text, download, grid, number, page, share, table, text
from dalembert.report.study import Study, Variant
from dalembert.report.svg import formula_svg

Progress = Callable[[float], None]

SMALL = 3  # joints up to which an arm gets its equations and every torque term by itself


def write_report(
    path: str | os.PathLike[str],
    studies: Sequence[Study],
    *,
    title: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the report about some motions of one arm, whole or not at all.

    studies    of :func:`dalembert.study`, one for each motion
    title      the page's own; the arm and its motion unless given
    overwrite  whether a file that is there may be replaced

    >>> import tempfile, dalembert as da
    >>> swing = da.study(da.load("pendulum"), da.polynomial([0.0], [1.0], 1.0), title="Swing")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     da.write_report(f"{folder}/swing.html", [swing])
    """
    check_writable(path, overwrite=overwrite)
    made = report_html(studies, title=title, progress=progress)
    with whole_file(path, overwrite=overwrite) as file:
        file.write(made)


def report_html(studies: Sequence[Study], *, title: str | None = None, progress: Progress | None = None) -> str:
    """The page as text. All studies must be of one arm."""
    if not studies:
        raise DalembertError("a report needs at least one motion")
    arm = studies[0].arm
    if any(study.arm != arm for study in studies):
        raise DalembertError("a report is about one arm; these motions belong to several")
    title = title or f"{arm.name}: {studies[0].title if len(studies) == 1 else f'{len(studies)} motions'}"
    parts = [_head(title, studies), "<main>", _summary(studies), _the_arm(arm)]
    steps = 9 * len(studies) + 1
    done = 0
    for index, study in enumerate(studies):
        for part in _motion(study, index, len(studies)):
            parts.append(part)
            done += 1
            if progress is not None:
                progress(min(done / steps, 1.0))
    parts += [_equations(arm), _words(studies), "</main>", _foot()]
    return page(title, "\n".join(parts))


# -- the top -------------------------------------------------------------------------------------


def _head(title: str, studies: Sequence[Study]) -> str:
    arm = studies[0].arm
    links = [("arm", "The arm"), *((f"motion-{k + 1}", s.title) for k, s in enumerate(studies))]
    if _has_equations(arm):
        links.append(("equations", "Equations of motion"))
    links.append(("words", "How to read it"))
    shown = "".join(f'<a href="#{where}">{text(word)}</a>' for where, word in links)
    kinds = "".join("P" if joint.type == "prismatic" else "R" for joint in arm.robot.moving_joints)
    about = f"{arm.n} joint{'s' if arm.n > 1 else ''} ({kinds}), {number(_mass(arm))} kg"
    source = f" · {text(arm.robot.source)}" if arm.robot.source else ""
    return (
        f'<header><div><h1>{text(title)}</h1><p class="soft">Dynamics report: {text(arm.name)}, {about}{source}</p>'
        f"<nav>{shown}</nav></div></header>"
    )


def _mass(arm: Arm) -> float:
    robot = arm.robot
    rotors = sum(joint.rotor.mass for joint in robot.joints if joint.rotor is not None)
    held = robot.payload.mass if robot.payload is not None else 0.0
    return float(sum(link.inertia.mass for link in robot.links) + rotors + held)


def _summary(studies: Sequence[Study]) -> str:
    """The few numbers one looks for first."""
    parts = []
    if len(studies) == 1:
        (study,) = studies
        cards = [(f"{number(study.sizing.duration)} s", "duration")]
        if (tightest := study.sizing.tightest) is not None:
            x, i = tightest
            words = f"of a limit used at most: {x.name} of {study.arm.joint_names[i]}"
            cards.append((f"{100 * x.used[i]:.0f} %", words))
        peak = study.sizing.power
        most = int(np.argmax(peak.peak))
        cards.append((f"{number(peak.peak[most], 3)} W", f"peak power, at {study.arm.joint_names[most]}"))
        cards.append((f"{number(float(study.sizing.energy.sum()), 3)} J", "given by all drives"))
        parts.append("".join(f'<div class="card"><b>{text(b)}</b><span>{text(s)}</span></div>' for b, s in cards))
        parts = [f'<div class="cards">{parts[0]}</div>']
    else:
        rows = []
        for k, study in enumerate(studies, 1):
            sizing, names = study.sizing, study.arm.joint_names
            margin, of, _ = _tightest(study)
            rows.append([
                f'<a href="#motion-{k}">{text(study.title)}</a>', f"{number(sizing.duration)}",
                *(number(x) for x in sizing.torque.peak), f"{margin} {of}",
                number(float(sizing.power.peak.max()), 3), number(float(sizing.energy.sum()), 3),
            ])  # fmt: skip
        joints = [f"{joint} ({unit})" for joint, unit in zip(names, sizing.torque.units, strict=True)]
        columns = ["motion", "duration (s)", *joints, "least margin", "peak power (W)", "energy given (J)"]
        parts.append("<h3>At a glance</h3>" + table(columns, rows, [("", 2), ("peak torque", len(joints)), ("", 3)]))
    beyond = [(study, study.sizing.exceeded) for study in studies if study.sizing.exceeded]
    if beyond:
        lines = "".join(
            f"<li>{text(s.title) + ': ' if len(studies) > 1 else ''}{_unbroken(text(line))}</li>"
            for s, found in beyond
            for line in found
        )
        parts.append(f'<div class="notice bad"><b>Limits are exceeded.</b><ul>{lines}</ul></div>')
    missing = studies[0].without_effort_limit
    if missing:
        parts.append(
            f'<div class="notice">Effort limits are missing at {text(", ".join(missing))}: the margins of their '
            "torques, and what scaling would do, are left out. The option --limits gives them.</div>"
        )
    if (h := studies[0].tip_wrench) is not None:
        force, moment = (", ".join(number(x) for x in part) for part in (h[:3], h[3:]))
        parts.append(
            f'<div class="notice">The tip pushes on its environment with the constant force ({force}) N and the '
            f"moment ({moment}) N m, in base axes.</div>"
        )
    return "\n".join(parts)


def _unbroken(words: str) -> str:
    """A number and its unit on one line."""
    return re.sub(
        r"(?<=\d) (N m|N|rad/s²|rad/s|rad|m/s²|m/s|m|s)\b", lambda unit: unit[0].replace(" ", "\u00a0"), words
    )


def _the_arm(arm: Arm) -> str:
    rows = []
    limits = {"velocity": "speed", "acceleration": "acceleration", "effort": "effort"}
    joints = arm.robot.moving_joints
    with_rotor = any(joint.rotor is not None for joint in joints)
    rubs = any(body.viscous or any(body.coulomb) for body in arm.mechanism.bodies)
    kept = [name for name in limits if any(getattr(joint.limits, name) is not None for joint in joints)]
    for joint, body in zip(joints, arm.mechanism.bodies, strict=True):
        slides = joint.type == "prismatic"
        lim = joint.limits
        row = [
            text(joint.name),
            text(joint.type),
            _range(lim.lower, lim.upper, "m" if slides else "rad"),
        ]
        units = {"velocity": ("rad/s", "m/s"), "acceleration": ("rad/s²", "m/s²"), "effort": ("N m", "N")}
        row += [_known(getattr(lim, name), units[name][slides]) for name in kept]
        if with_rotor:
            rotor = joint.rotor
            row += (
                ["–"] * 3
                if rotor is None
                else [_known(rotor.gear), _known(rotor.inertia, "kg m²"), _known(rotor.mass, "kg")]
            )
        if rubs:
            levels = body.coulomb
            coulomb = _known(levels[0]) if levels[0] == levels[1] else f"+{_known(levels[0])} / −{_known(levels[1])}"
            row += [_known(body.viscous), coulomb]
        rows.append(row)
    columns, groups = ["joint", "type", "range", *(limits[name] for name in kept)], [("", 2), ("limits", 1 + len(kept))]
    if with_rotor:
        columns += ["gear k_r", "rotor inertia", "rotor mass"]
        groups.append(("drive", 3))
    if rubs:
        columns += ["viscous", "Coulomb"]
        groups.append(("friction at the joint", 2))
    gravity = ", ".join(number(x) for x in arm.robot.gravity)
    payload = ""
    if arm.robot.payload is not None:
        com = ", ".join(number(x) for x in arm.robot.payload.com)
        payload = f" It holds {number(arm.robot.payload.mass)} kg, centred at ({com}) m in the tip's frame."
    notes = "".join(f"<p class=soft>{text(note)}</p>" for note in arm.robot.notes)
    if arm.robot.loops:
        names = ", ".join(name for loop in arm.robot.loops for name in loop.passive)
        closing = ", ".join(loop.name for loop in arm.robot.loops)
        payload += f" Its chains are closed at {text(closing)}; the passive joints {text(names)} follow from those of the table."
    if arm.robot.couplings:
        rules = "; ".join(coupling.text for coupling in arm.robot.couplings)
        payload += f" Some of its joints follow others: {text(rules)}."
    return (
        f'<h2 id="arm">The arm</h2>\n<p>Gravity is ({gravity}) m/s² in base axes.{payload}</p>'
        f"{table(columns, rows, groups)}{notes}"
    )


def _range(lower: float | None, upper: float | None, unit: str) -> str:
    shown = _known(lower), _known(upper)
    return "–" if shown == ("–", "–") else f"{shown[0]} … {shown[1]} {unit}"


def _known(value: float | None, unit: str = "") -> str:
    return "–" if value is None else f"{number(float(value))} {unit}".rstrip()


# -- a motion ------------------------------------------------------------------------------------


def _motion(study: Study, index: int, count: int) -> Iterator[str]:
    name, small = f"m{index + 1}", study.arm.n <= SMALL
    across = "two" if study.arm.n <= 4 else "three"
    about = f"of {study.arm.name}, {study.title}"
    note = f"<p>{text(study.note)}</p>" if study.note else ""
    head = study.title if count > 1 else f"The motion: {study.title}"
    yield f'<h2 id="motion-{index + 1}">{text(head)}</h2>\n{note}' + _thinned(study)
    yield (
        "<h3>Start and end</h3>\n" + grid(figures.arm_panels(study), f"{name}-arm", about, beside=_ends(study)) + "<h3>Motion of the joints</h3>\n"
        + grid(figures.motion_panels(study), f"{name}-motion", about, across="three")
    )  # fmt: skip
    limited = not np.isnan(study.sizing.torque.limit).all()
    whole = grid([figures.share_panel(study)], f"{name}-share", about, across="one") if limited and not small else ""
    dashed = " Dashed lines are limits." if limited else ""
    yield (
        f"<h3>Torques{' and forces' if 'N' in study.sizing.torque.units else ''}"
        f"{' against their limits' if limited else ''}</h3>\n"
        f"<p>What each drive gives at its joint, τ of S (7.42), its rotor included.{dashed}</p>{whole}"
        + grid(figures.torque_panels(study), f"{name}-torque", about, across=across)
    )
    yield (
        "<h3>Where the torques come from</h3>\n<p>Causes that push the same way are stacked; their sum is the dark line.</p>"
        + grid(figures.stacked_panels(study), f"{name}-stack", about, across=across, areas=True)
    )  # fmt: skip
    if small:
        yield (
            "<h4>Every contribution by itself</h4>\n<p>Inertia: torque by the acceleration of each joint, rotors included. "
            "Velocities: centrifugal torque by the velocity of one joint, Coriolis torque by those of two.</p>"
            + grid(figures.pair_panels(study), f"{name}-pairs", about, across="three")
        )
    yield "<h3>Motion of the tip</h3>\n" + grid(figures.tip_panels(study), f"{name}-tip", about, across="three")
    yield _ellipsoids(study, name, about)
    if study.arm.robot.loops:
        yield _reactions(study, name, about)
    yield _sizing(study)
    yield _scaling(study, name, about, across)
    yield _downloads(study)


def _ellipsoids(study: Study, name: str, about: str) -> str:
    """What the tip could be accelerated with along the way."""
    head = "<h3>What the tip can be accelerated with</h3>\n"
    shapes = study.ellipsoids
    if isinstance(shapes, str):
        return f"{head}<p>There is no dynamic manipulability ellipsoid: {text(shapes)}.</p>"
    by = (
        "of 1 N m (or N) each"
        if study.without_effort_limit
        else "whose shares of the joints' limits have squares that sum to at most 1"
    )
    t, unit, rows = study.shown.t, shapes.units[0], []
    for word, x in (("longest radius", shapes.radii[:, 0]), ("shortest radius", shapes.radii[:, -1])):
        low, high = int(np.argmin(x)), int(np.argmax(x))
        rows.append([
            f"{word} ({unit})", number(float(x[0])), number(float(x[-1])),
            number(float(x[low])), number(float(t[low])), number(float(x[high])), number(float(t[high])),
        ])  # fmt: skip
    columns = ["", "start", "end", "least", "at (s)", "most", "at (s)"]
    return (
        f"{head}<p>The dynamic manipulability ellipsoid, S (7.149): accelerations of the tip, from rest at each pose, by torques "
        f"{by}; gravity moves its centre. Motors that reach their limits one by one can do more.</p>"
        + grid(tip_figures.along_panels(study, shapes), f"{name}-ellipsoids", about)
        + table(columns, rows)
    )


def _reactions(study: Study, name: str, about: str) -> str:
    """Of closed chains: what the joints at which they were cut must bear."""
    t, rows = study.shown.t, []
    for k, loop in enumerate(study.arm.robot.loops):
        size = np.linalg.norm(study.reactions[:, k, :3], axis=-1)
        peak, moment = int(np.argmax(size)), np.linalg.norm(study.reactions[:, k, 3:], axis=-1)
        at = ", ".join(number(float(x), 3) for x in study.reactions[peak, k, :3])
        rows.append([
            text(loop.name), f"{text(loop.link_b)} on {text(loop.link_a)}", f"{number(float(size[peak]))} N",
            number(float(t[peak])), f"({at})", f"{number(float(moment.max()))} N m" if moment.any() else "–",
        ])  # fmt: skip
    columns = ["joint", "force of", "peak force", "at (s)", "its components (N)", "peak moment"]
    return (
        "<h3>Reactions where the chains are closed</h3>\n<p>The force at each joint that closes a chain, in base axes. Of a "
        "planar loop it is the part in its plane: what the bearing carries across it is not determined by the motion.</p>"
        + grid(figures.reaction_panels(study), f"{name}-loops", about, across="three")
        + table(columns, rows)
    )


def _ends(study: Study) -> str:
    """Where the motion begins and ends, in numbers."""
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


def _thinned(study: Study) -> str:
    if not study.thinned:
        return ""
    return (
        f"<p class=soft>Of {len(study.at.t):,} instants {len(study.rows):,} are drawn and offered for download, the peaks "
        "among them; the tables count all.</p>"
    )


def _sizing(study: Study) -> str:
    """Four tables: joints, power, motors, bearings."""
    s = study.sizing
    every = range(len(s.joints))

    def cells(x: Quantity, i: int, *, rms: bool = True, limit: bool = True) -> list[str]:
        unit = x.units[i]
        row = [f"{number(x.peak[i])} {unit}" if not np.isnan(x.peak[i]) else "–", number(x.at[i])]
        row += [number(x.rms[i])] if rms else []
        return [*row, number(x.limit[i]), share(x.margin[i])] if limit else row

    five = ["peak", "at (s)", "RMS", "limit", "margin"]
    parts = ["<h3>Sizing</h3>\n<h4>Joints</h4>\n"]
    groups, columns = [("", 1), ("torque", 5), ("speed", 5)], ["joint", *five, *five]
    rows = [[text(s.joints[i]), *cells(s.torque, i), *cells(s.speed, i)] for i in every]
    parts.append(table(columns, rows, groups))
    rows = [
        [text(s.joints[i]), *cells(s.acceleration, i), number(s.lowest[i]), number(s.highest[i]),
         _range(s.lower[i], s.upper[i], s.position_units[i]), _inside(study, i)]
        for i in every
    ]  # fmt: skip
    groups = [("", 1), ("acceleration", 5), ("position", 4)]
    parts.append(table(["joint", *five, "lowest", "highest", "limits", "left"], rows, groups))
    parts.append("<h4>Power and energy</h4>\n")
    rows = [
        [text(s.joints[i]), *cells(s.power, i, limit=False), number(s.energy[i]), number(s.returned[i]),
         _net(s.energy[i], s.returned[i])]
        for i in every
    ]  # fmt: skip
    given, returned = float(s.energy.sum()), float(s.returned.sum())
    totals = (number(given), number(returned), _net(given, returned))
    rows.append(["<b>all</b>", "", "", "", *(f"<b>{x}</b>" for x in totals)])
    parts.append(
        table(
            ["joint", "peak", "at (s)", "RMS (W)", "given", "returned", "net"], rows,
            [("", 1), ("power τ q̇", 3), ("energy (J)", 3)],
        )
    )  # fmt: skip
    driven = [i for i in every if not np.isnan(s.motor_torque.peak[i])]
    if driven:
        gears = [body.gear for body in study.arm.mechanism.bodies]
        rows = [
            [text(s.joints[i]), _known(gears[i]),
             *cells(s.motor_torque, i), *cells(s.motor_speed, i), number(s.motor_power.peak[i])]
            for i in driven
        ]  # fmt: skip
        groups = [("", 2), ("motor torque τ / k_r", 5), ("motor speed k_r q̇", 5), ("power", 1)]
        parts.append(
            "<h4>Motors, through their gears</h4>\n" + table(["joint", "k_r", *five, *five, "peak (W)"], rows, groups)
        )
    else:
        parts.append(
            "<p class=soft>The robot file names no rotors and gears, so there are no figures at the motors.</p>"
        )
    loads = (s.force, s.axial, s.radial, s.moment, s.tilting)
    rows = [[text(s.joints[i]), *(c for x in loads for c in cells(x, i, rms=False, limit=False))] for i in every]
    groups = [("", 1), ("force |f|", 2), ("along the axis", 2), ("across it", 2), ("moment |μ|", 2), ("tilting", 2)]
    parts.append("<h4>Bearings</h4>\n" + table(["joint", *["peak", "at (s)"] * 5], rows, groups))
    return "".join(parts)


def _net(given: float, returned: float) -> str:
    net = float(given - returned)
    return number(0.0 if abs(net) < 1e-9 * max(given, returned) else net)


def _inside(study: Study, i: int) -> str:
    """How far the positions stay from the nearer of their limits."""
    s = study.sizing
    left = [x for x in (s.lowest[i] - s.lower[i], s.upper[i] - s.highest[i]) if not np.isnan(x)]
    if not left:
        return '<span class="soft">–</span>'
    kind = "bad" if min(left) < 0 else "good"
    return f'<span class="{kind}">{number(float(min(left)), 3)}</span>'


def _scaling(study: Study, name: str, about: str, across: str) -> str:
    """What slowing down or hurrying up would do."""
    head = "<h3>What scaling would do</h3>\n"
    variants = [study.evenly, study.fastest]
    found = [v for v in variants if v.study is not None]
    if not found:
        why = dict.fromkeys(v.why_not for v in variants)
        return head + f"<p class=soft>Not computed: {text('; '.join(why))}.</p>"
    paces: list[Variant] = [Variant("as given", study), *found]
    rows, peaks = [], []
    for pace in paces:
        at = pace.study
        assert at is not None
        c = at.sizing.duration / study.sizing.duration
        rows.append([text(pace.name), number(at.sizing.duration), number(c), *_tightest(at)])
        peaks.append(at.sizing.torque.peak)
    columns = ["pace", "duration (s)", "c", "least margin", "of", "at (s)"]
    missing = "".join(
        f"<p class=soft>{text(v.name.capitalize())}: not computed, {text(v.why_not)}.</p>"
        for v in variants
        if not v.study
    )
    torque = study.sizing.torque
    by_joint = [
        [text(name), *(number(peak[i]) for peak in peaks), number(torque.limit[i]), torque.units[i]]
        for i, name in enumerate(study.arm.joint_names)
    ]
    return (
        head + "<p>Evenly scaled: every instant c times as late, r = c t, with the least c that no limit forbids (S 7.7); "
        "below 1 the motion becomes faster. Time-optimal: the same path from rest to rest in the least time, at a pace "
        "that varies.</p>" + table(columns, rows) + missing
        + table(["joint", *(pace.name for pace in paces), "limit", "unit"], by_joint, [("", 1), ("peak torque", len(paces)), ("", 2)])
        + grid(figures.scaling_panels(study), f"{name}-scaling", about, across=across)
    )  # fmt: skip


def _tightest(study: Study) -> list[str]:
    """The least margin, what has it, and when."""
    found = study.sizing.tightest
    if found is None:
        return ["–", "–", "–"]
    quantity, i = found
    when = number(float(quantity.at[i]))
    return [share(float(quantity.margin[i])), f"{text(quantity.name)} of {text(study.sizing.joints[i])}", when]


def _downloads(study: Study) -> str:
    arm, at, n = study.arm, study.shown, range(1, study.arm.n + 1)
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{arm.name}-{study.title}").strip("-").lower()
    names = ["t", *(f"{group}{k}" for group in ("q", "qd", "qdd", "tau") for k in n)]
    items = [
        download(f"{stem}.csv", "Motion and torques", csv_text(names, [at.t, at.q, at.qd, at.qdd, study.shown_torque])),
        download(f"{stem}-contributions.csv", "Contributions", _contributions(study)),
        download(
            f"{stem}-tip.csv", "Motion of the tip",
            csv_text(["t", *(f"{g}{a}" for g in ("", "v", "a") for a in "xyz")], [at.t, *study.tip]),
        ),
        download(f"{stem}-sizing.csv", "Sizing", study.sizing.csv()),
    ]  # fmt: skip
    if not isinstance(shapes := study.ellipsoids, str):
        words = ["t", *(f"centre_{row}" for row in shapes.rows), *(f"radius{k + 1}" for k in range(len(shapes.rows)))]
        values = csv_text(words, [at.t, shapes.center, shapes.radii])
        items.append(download(f"{stem}-ellipsoids.csv", "Ellipsoids", values))
    if arm.robot.loops:
        axes = ("fx", "fy", "fz", "mx", "my", "mz")
        words = ["t", *(f"{loop.name} {axis}" for loop in arm.robot.loops for axis in axes)]
        values = csv_text(words, [at.t, study.reactions.reshape(len(at.t), -1)])
        items.append(download(f"{stem}-reactions.csv", "Reactions of the loops", values))
    for variant in (study.evenly, study.fastest):
        if (other := variant.study) is not None:
            columns = [other.shown.t, other.shown.q, other.shown.qd, other.shown.qdd, other.shown_torque]
            items.append(
                download(
                    f"{stem}-{variant.name.replace(' ', '-')}.csv", variant.name.capitalize(), csv_text(names, columns)
                )
            )
    return f'<h3 class="for-screen">The numbers</h3>\n<ul class="downloads">{"".join(items)}</ul>\n'


def _contributions(study: Study) -> str:
    """By cause; for small arms every term."""
    n, terms = range(study.arm.n), study.terms
    columns: dict[str, figures.Array] = {}
    if study.arm.n <= SMALL:
        for kind in ("inertia", "rotor", "centrifugal"):
            columns |= {f"{kind}{i + 1}_{j + 1}": getattr(terms, kind)[:, i, j] for i in n for j in n}
        columns |= {
            f"coriolis{i + 1}_{j + 1}_{k + 1}": terms.coriolis[:, i, j, k] for i in n for j in n for k in n if j < k
        }
        columns |= {
            f"{kind}{i + 1}": getattr(terms, kind)[:, i]
            for kind in ("gravity", "viscous", "coulomb", "contact")
            for i in n
        }
    else:
        columns |= {f"{kind}{i + 1}": x[:, i] for kind, x in terms.by_joint.items() for i in n}
    kept = {name: x for name, x in columns.items() if x.any()}
    return csv_text(["t", *kept], [study.shown.t, *kept.values()])


# -- the end -------------------------------------------------------------------------------------


def _has_equations(arm: Arm) -> bool:
    """Whether the arm is small, and its closed chains, if it has any, have a closed form."""
    return arm.n <= SMALL and (arm.mechanism.identity or arm.mechanism.linear)


def _equations(arm: Arm) -> str:
    """The equations of a small arm, as formulas."""
    if not _has_equations(arm):
        return ""
    made = arm.equations()
    body = made.latex().replace(r"\begin{align*}", "").replace(r"\end{align*}", "").strip()
    rows = []
    for line in body.split(r"\\"):
        left, _, right = line.strip().partition("&=") if "&=" in line else ("", "", line.strip().lstrip("&"))
        right = right.replace(r"\quad", "", 1).strip() if not left else right.strip()
        name, rest = formula_svg(f"{left} =") if left else "", formula_svg((r"\quad " if not left else "") + right)
        rows.append(
            f"<tr{' class=gap' if left.strip().startswith(chr(92) + 'tau') else ''}><td>{name}</td><td>{rest}</td></tr>"
        )
    legend = [re.fullmatch(r"\s*(\S+)\s*= (\S.*?)(?:\s\s+(.*))?", line) for line in made.legend().splitlines()[1:]]
    known = [[text(x or "") for x in found.groups()] for found in legend if found]
    letters = table(["letter", "value (SI)", "what it is"], known, words=True) if known else ""
    return (
        '<h2 id="equations">Equations of motion</h2>\n<p>The inertia matrix, the matrix of centrifugal and Coriolis terms, '
        "gravity and the torques, in the letters of S 7.3.</p>"
        f'<div class="equations"><table>{"".join(rows)}</table></div>{letters}'
    )


def _words(studies: Sequence[Study]) -> str:
    words = [
        ("torque τ", "what the drive of a joint gives at the joint, friction and its rotor's inertia counted in: N m, or N "
         "for a joint that slides"),
        ("motor", "behind a gear without losses: torque τ / k_r, speed k_r q̇, and the same power τ q̇"),
        ("margin", "what a peak leaves of its limit, as a share of the limit; red where the limit is exceeded"),
        ("RMS", "root of the mean square over the motion, by trapezoids between the sample instants"),
        ("given, returned", "the integrals of the positive and of the negative power of each drive"),
        ("bearing loads", "the force f and the moment μ, about the origin of the joint's frame, that the link before a joint "
         "exerts on the link behind it, S (7.112), (7.113); tilting is the part of μ across the axis"),
        ("S", "the textbook chapter on dynamics whose equations and example these are; the numbers are its equations'"),
        ("units", "SI, radians"),
    ]  # fmt: skip
    items = "".join(f"<dt>{text(a)}</dt><dd>{text(b)}</dd>" for a, b in words)
    return f'<h2 id="words">How to read it</h2>\n<dl>{items}</dl>'


def _foot() -> str:
    from dalembert import __version__

    return f"<footer><div>Made by dalembert {__version__}. This page needs no network.</div></footer>"
