"""``dalembert emit``: code of an arm's quantities for other machines and languages."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from dalembert.cli import options
from dalembert.cli.terminal import plain, print_table, say, tell
from dalembert.documents.sources import cited, introduction
from dalembert.environment.progress import Bar
from dalembert.errors import DalembertError

PATIENCE = 1.0  # seconds before a progress bar is shown


def _list_targets(asked: bool) -> None:
    if asked:
        from dalembert.kernel.targets import TARGETS

        print_table(("target", "what is written"), [(name, entry.summary) for name, entry in TARGETS.items()])
        raise typer.Exit()


def emit(
    arm: options.ArmArgument,
    quantity: Annotated[
        list[str] | None,
        Argument(
            metavar="QUANTITY...", help="What to compute, such as inverse_dynamics; several names make one function."
        ),
    ] = None,
    target: Annotated[str, Option("-t", "--target", help="What to write; --targets lists the targets.")] = "c",
    output: Annotated[
        str | None,
        Option("-o", "--output", metavar="DIR", help="The folder for the files; it is created if necessary."),
    ] = None,
    single: Annotated[bool, Option("--single", help="Single precision instead of double.")] = False,
    float_: Annotated[bool, Option("--float", hidden=True)] = False,
    formulation: Annotated[
        str | None, Option(metavar="NAME", help="The equations to use; default: the fastest.")
    ] = None,
    option: Annotated[
        list[str] | None,
        Option(
            metavar="INPUT",
            help="A further input: tip_wrench, base_motion, or numbers of the arm: parameters, lengths, payload, gravity, gears.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        Option(metavar="INPUT", help="The variables of a derivative such as inverse_dynamics_jacobian."),
    ] = None,
    function: Annotated[
        str | None, Option(metavar="NAME", help="The function's name after the robot's; default: the quantity's.")
    ] = None,
    libm: Annotated[bool, Option("--libm/--no-libm", help="Whether functions of the C library may be called.")] = True,
    separate: Annotated[
        bool, Option("--separate", help="Write one function per quantity in the same file; for the targets c and wasm.")
    ] = False,
    list_quantities: Annotated[bool, Option("--list", help="List the quantities of the arm and exit.")] = False,
    targets: Annotated[
        bool, Option("--targets", help="List the targets and exit.", callback=_list_targets, is_eager=True)
    ] = False,
    loading: options.Loading = options.AS_IT_IS,
    payload: options.PayloadOption = None,
    payload_com: options.PayloadComOption = None,
    force: options.ForceFlag = False,
) -> None:
    """Write the code of an arm's quantities: C99 for a controller, Python for reading, and others.

    Prints the files with their sizes and the operations of the code. Without -o the code is shown. The generated code
    belongs to you: use, change and sell it without conditions.
    """
    if float_:
        say("warning", "--float is now called --single; the old name is accepted until version 2")
    loaded = options.load(arm, loading, payload, payload_com)
    if list_quantities:
        from dalembert.quantities.joints import known

        entries = known(loaded.mechanism)
        tell(introduction(cited(" ".join(entry.summary for entry in entries.values()))))
        print_table(("quantity", "arrays", "what"), [(name, x.arrays, x.summary) for name, x in entries.items()])
        return
    if not quantity:
        raise DalembertError("no quantity is named; name one or more, such as inverse_dynamics; --list lists them")
    with Bar(f"{', '.join(quantity)} of {loaded.name}", PATIENCE):
        source = loaded.emit(
            quantity, target, formulation=formulation, options=tuple(option or ()), by=by or None,
            precision="single" if single or float_ else None, function=function, libm=libm, separate=separate,
        )  # fmt: skip
    if output is None:
        tell("\n".join(plain(line) for line in str(source).splitlines()))
        return
    for path, content in zip(source.write(output, overwrite=force), source.files.values(), strict=True):
        size = len(content.encode() if isinstance(content, str) else content)
        tell(f"{plain(str(path))}  {size:,} bytes")
    for note in source.notes:
        tell(plain(note))
