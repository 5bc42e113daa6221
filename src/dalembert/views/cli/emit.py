"""``dalembert emit``: code of an arm's quantities for other machines and languages."""

from __future__ import annotations

import typer

from dalembert.base.bibliography import cited, introduction
from dalembert.base.environment.progress import Bar
from dalembert.base.options import option
from dalembert.errors import DalembertError
from dalembert.views.cli import options
from dalembert.views.cli.options import ArmArgument, Loading, Payload
from dalembert.views.cli.terminal import plain, print_lines, print_table, say, tell

PATIENCE = 1.0  # seconds before a progress bar is shown


def _list_targets(requested: bool) -> None:
    if requested:
        from dalembert.compiler.kernel.targets import TARGETS

        print_table(("target", "what is written"), [(name, entry.summary) for name, entry in TARGETS.items()])
        raise typer.Exit()


def emit(
    arm: ArmArgument,
    *,
    quantity: list[str] | None = option(
        "What to compute, such as inverse_dynamics; several names make one function.",
        argument=True,
        metavar="QUANTITY...",
    ),
    target: str = option("What to write; --targets lists the targets.", "c", spelled="-t --target"),
    output: str | None = option(
        "The folder for the files, created if necessary.", spelled="-o --output", metavar="DIR"
    ),
    single: bool = option("Single precision instead of double.", False),
    float_: bool = option("", False, hidden=True),
    formulation: str | None = option("The equations to use; default: the fastest.", metavar="NAME"),
    inputs: list[str] | None = option(
        "A further input: tip_wrench, base_motion, or numbers of the arm: parameters, lengths, payload, gravity, gears.",
        spelled="--option",
        metavar="INPUT",
    ),
    by: list[str] | None = option("The variables of a derivative such as inverse_dynamics_jacobian.", metavar="INPUT"),
    function: str | None = option("The function's name after the robot's; default: the quantity's.", metavar="NAME"),
    libm: bool = option("Whether functions of the C library may be called.", True),
    separate: bool = option("Write one function per quantity in the same file; for the targets c and wasm.", False),
    list_quantities: bool = option("List the quantities of the arm and exit.", False, spelled="--list"),
    targets: bool = option("List the targets and exit.", False, callback=_list_targets, is_eager=True),
    load: Payload,
    force: bool = options.overwriting(),
    loading: Loading,
) -> None:
    """Write the code of an arm's quantities: C99 for a controller, Python for reading, and others.

    Prints the files with their sizes and the operations of the code. Without -o the code is shown. The generated code
    belongs to you: use, change and sell it without conditions.
    """
    if float_:
        say("warning", "--float is now called --single; the old name is accepted until version 2")
    loaded = options.load(arm, loading, load)
    if list_quantities:
        from dalembert.compiler.quantities.joints import known

        entries = known(loaded.mechanism)
        tell(introduction(cited(" ".join(entry.summary for entry in entries.values()))))
        print_table(("quantity", "arrays", "what"), [(name, x.arrays, x.summary) for name, x in entries.items()])
        return
    if not quantity:
        raise DalembertError("no quantity is named; name one or more, such as inverse_dynamics; --list lists them")
    with Bar(f"{', '.join(quantity)} of {loaded.name}", PATIENCE):
        source = loaded.emit(
            quantity, target, formulation=formulation, precision="single" if single or float_ else None, function=function,
            options=inputs or (), by=by or None, libm=libm, separate=separate,
        )  # fmt: skip
    if output is None:
        print_lines(str(source))
        return
    for path, content in zip(source.write(output, overwrite=force), source.files.values(), strict=True):
        size = len(content.encode() if isinstance(content, str) else content)
        tell(f"{plain(str(path))}  {size:,} bytes")
    for note in source.notes:
        tell(plain(note))
