"""The command ``dalembert``: its subcommands, and the handling of errors, warnings and Ctrl-C."""

from __future__ import annotations

import errno
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup

from dalembert.cli.approximate import approximate
from dalembert.cli.arms import arms
from dalembert.cli.book import book
from dalembert.cli.cache import cache
from dalembert.cli.compare import compare
from dalembert.cli.couplings import couplings
from dalembert.cli.ellipsoid import ellipsoid
from dalembert.cli.emit import emit
from dalembert.cli.equations import equations
from dalembert.cli.excite import excite
from dalembert.cli.identify import identify
from dalembert.cli.inverse_kinematics import inverse_kinematics
from dalembert.cli.map import map_
from dalembert.cli.options import with_groups
from dalembert.cli.page import page
from dalembert.cli.parameters import parameters
from dalembert.cli.payload import payload
from dalembert.cli.plan import plan
from dalembert.cli.report import report
from dalembert.cli.scale import scale
from dalembert.cli.show import show
from dalembert.cli.simulate import simulate
from dalembert.cli.size import size
from dalembert.cli.studio import studio
from dalembert.cli.terminal import say
from dalembert.cli.torques import torques
from dalembert.documents.sources import cited, introduction
from dalembert.environment.signals import Terminated, ending_by_signals
from dalembert.errors import DalembertError
from dalembert.files import runs
from dalembert.files.writing import remedy

WRONG_INPUT = 2
# in the order of --help
COMMANDS = (
    arms, show, equations, couplings, parameters, identify, compare, ellipsoid, map_, inverse_kinematics, plan, torques,
    scale, approximate, report, page, studio, size, simulate, excite, payload, emit, book, cache,
)  # fmt: skip


class Command(TyperCommand):
    """A command whose help introduces the documents S and M before it cites them."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """The docstring, with the documents that it or an option cites after its first paragraph."""
        docstring = self.help or ""
        if letters := cited(" ".join([docstring, *(getattr(x, "help", None) or "" for x in self.params)])):
            first, gap, rest = docstring.partition("\n\n")
            opening = (introduction(letters), first) if cited(first) else (first, introduction(letters))
            self.help = "\n\n".join(opening) + gap + rest
        super().format_help_text(ctx, formatter)
        self.help = docstring


UsageError: Any = typer.BadParameter.__base__  # typer does not export it
IN_PLAIN_WORDS = {
    "Input should be a valid number, unable to parse string as a number": "it must be a number",
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
    "Value error, ": "",
    ". Did you mean": "; did you mean",
}


class Commands(TyperGroup):
    """The commands, with user errors reported in one sentence and never as a traceback."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the options; a signal ends it with the status that a shell shows."""
        with _ending():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error ends it with exit status 2."""
        with _ending(), runs.kept_until_written(typer.Exit):
            return super().invoke(ctx)


@contextmanager
def _ending() -> Iterator[None]:
    """Turns whatever ends a command early into one sentence and an exit status; a run that can be resumed is mentioned."""
    try:
        yield
        return
    except BrokenPipeError:  # the reader of the pipe has ended: typer exits silently
        raise
    except KeyboardInterrupt as problem:
        if isinstance(problem, Terminated):
            status = 128 + signal.SIGTERM
            say("error", "stopped by SIGTERM; no file is left half-written")
        else:
            status = 128 + signal.SIGINT
    except DalembertError as problem:
        status = WRONG_INPUT
        say("error", str(problem))
    except UsageError as problem:
        if type(problem).__name__ == "NoArgsIsHelpError":  # which prints the help
            raise
        status = WRONG_INPUT
        say("error", _wrong_usage(problem))
    except OSError as problem:
        # files that we write are named in the error: a full disk without a name is the one that the shell redirected to
        place = problem.filename or ("standard output" if problem.errno == errno.ENOSPC else None)
        status = WRONG_INPUT
        say("error", f"{place}: {problem.strerror}{remedy(problem)}" if place else str(problem))
    if runs.kept:
        say("note", "what was computed so far is kept: the same command resumes the run")
    raise typer.Exit(status)


def _wrong_usage(problem: Any) -> str:
    """A wrong option or argument in one sentence, with the command that lists the right ones."""
    said = problem.format_message().rstrip(".")
    for theirs, ours in IN_PLAIN_WORDS.items():
        said = said.replace(theirs, ours)
    within = problem.ctx is not None and problem.ctx.parent is not None
    command = f"dalembert {problem.ctx.info_name}" if within else "dalembert"
    between = "" if said.endswith("?") else ";"
    return f"{said[:1].lower()}{said[1:]}{between} '{command} -h' lists the arguments and options"


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(asked: bool) -> None:
    if asked:
        from dalembert import __version__

        typer.echo(f"dalembert {__version__}")
        raise typer.Exit()


@app.callback(help=f"Manipulator dynamics: exact torques for any arm.\n\n{introduction()}")
def dalembert(
    version: Annotated[
        bool, Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Manipulator dynamics; the help that is shown also names the documents."""


for command in COMMANDS:
    app.command(command.__name__.rstrip("_").replace("_", "-"), cls=Command)(with_groups(command))


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say("warning", str(message))


def main() -> None:
    """The entry point: ``dalembert`` in a shell."""
    warnings.showwarning = _say_warning
    # numbers that overflow are reported by the checks of results, with the joint and the time
    warnings.filterwarnings("ignore", "(overflow|invalid value|divide by zero) encountered", RuntimeWarning)
    for name in ("stdout", "stderr"):
        if (stream := getattr(sys, name)) is None:  # closed by the caller, as by >&-: what is printed is dropped
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters shows a ? instead
    try:
        with ending_by_signals():
            app(prog_name="dalembert")
    except KeyboardInterrupt as problem:
        sys.exit(128 + (signal.SIGTERM if isinstance(problem, Terminated) else signal.SIGINT))
