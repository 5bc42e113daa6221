"""``dalembert excite``: an arm in, a motion that shows its parameters out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dalembert import Arm
from dalembert.cli.terminal import Bar, console, number, print_table, say
from dalembert.errors import DalembertError
from dalembert.files import check_writable

WORDS = {"condition": "condition number", "scaled-condition": "scaled condition number", "d-optimal": "log det"}


def write(
    arm: Arm, output: Path, *, force: bool, rate: float, criterion: str, limits: str | None, start: str | None, **how: Any
) -> None:  # fmt: skip
    """Search, write the motion, and say how good it is."""
    from dalembert.identification.excitation import excite

    if limits is not None:
        from dalembert.robot.limits_file import with_limits

        arm = Arm(with_limits(arm.robot, limits))
    if not rate > 0:
        raise DalembertError(f"--rate is {rate:g}; it is in samples a second and must be above zero")
    check_writable(output, overwrite=force)
    posture = None if start is None else list(_numbers("--start", start, arm.n))
    with Bar(f"exciting {arm.name}") as bar:

        def tell(fraction: float, best: float) -> None:
            bar.what = f"exciting {arm.name}, best {WORDS[criterion]} so far {best:.4g}"
            bar(fraction)
            if bar.progress is not None:
                bar.progress.update(bar.task, description=bar.what)

        found = excite(arm, criterion=criterion, start=posture, progress=tell, **how)
    for note in found.notes:
        say("note", note)
    if found.interrupted:
        say("note", "stopped by Ctrl-C: this is the best motion so far")
    found.save(output, rate=rate, overwrite=force)
    screen = console()
    motion = found.trajectory
    q, qd, qdd = motion.q, motion.qd, motion.qdd
    tau = arm.inverse_dynamics(q, qd, qdd)
    rows = []
    for j, joint in enumerate(arm.robot.moving_joints):
        given = joint.limits
        rows.append([
            joint.name, f"{number(float(q[:, j].min()))} … {number(float(q[:, j].max()))}",
            _beside(qd[:, j], given.velocity), _beside(qdd[:, j], given.acceleration), _beside(tau[:, j], given.effort),
        ])  # fmt: skip
    print_table(
        screen, "Joints", ["joint", ">q", ">max |qd| / limit", ">max |qdd| / limit", ">max |tau| / limit"], rows
    )
    screen.print(
        f"{found.base.rank} base parameters; condition number {found.condition:.4g} (SI units), {found.condition_scaled:.4g} "
        f"with columns of length one; log det {found.log_det:.4g}",
        soft_wrap=True,
    )
    made = f"a spline of {found.coefficients.shape[-1]} control points"
    if found.base_frequency is not None:
        periods = round(motion.duration * found.base_frequency)
        made = f"{periods} periods of {found.base_frequency:.4g} Hz, {found.coefficients.shape[2]} harmonics"
    screen.print(
        f"{motion.duration:g} s: {made}, found in {found.seconds:.1f} s; the motion is in {output.resolve()}",
        soft_wrap=True,
    )


def _beside(values: Any, limit: float | None) -> str:
    most = float(np.abs(values).max())
    return f"{number(most)} / {number(limit)}" if limit is not None else number(most)


def _numbers(option: str, text: str, count: int) -> tuple[float, ...]:
    from dalembert.cli.given import numbers_of

    found = numbers_of(option, text, " ".join(f"x{k + 1}" for k in range(count)))
    assert found is not None
    return found
