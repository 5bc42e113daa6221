"""The command ``dalembert``: its subcommands, and the handling of errors, warnings and Ctrl-C."""

from __future__ import annotations

import errno
import importlib
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

from dalembert.base.bibliography import cited, introduction
from dalembert.base.environment.signals import Terminated, ending_by_signals
from dalembert.base.files.writing import remedy
from dalembert.errors import DalembertError
from dalembert.views.cli.options import with_groups
from dalembert.views.cli.terminal import say

WRONG_INPUT = 2
# the commands in groups, in the order of --help; each is a function in the module of its name
GROUPS = {
    "Look": "arms show equations couplings parameters book",
    "Compute": "torques inverse_kinematics ellipsoid map approximate compare",
    "Move": "plan scale simulate",
    "Calibrate": "excite identify payload",
    "Build": "size emit cache",
    "Page": "report page studio",
}
NAMES = " ".join(GROUPS.values()).split()
NAME_WIDTH = max(map(len, NAMES))  # so that the summaries of all groups begin in one column
COMMANDS = tuple(
    getattr(importlib.import_module(f"dalembert.views.cli.{name}"), "map_" if name == "map" else name) for name in NAMES
)


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

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands with their summaries, group by group, none of them cut off."""
        for group, names in GROUPS.items():
            with formatter.section(group):
                listed = {name.replace("_", "-"): self.commands[name.replace("_", "-")] for name in names.split()}
                formatter.write_dl([(f"{name:<{NAME_WIDTH}}", _summary(command)) for name, command in listed.items()])

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the options; a signal ends it with the status that a shell shows."""
        with _ending():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error ends it with exit status 2."""
        with _ending():
            return super().invoke(ctx)


def _summary(command: Any) -> str:
    """The first sentence of a command's help, up to its colon."""
    return str(command.help).partition("\n\n")[0].replace("\n", " ").partition(": ")[0].rstrip(".")


@contextmanager
def _ending() -> Iterator[None]:
    """Turns whatever ends a command early into one sentence and an exit status."""
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
    raise typer.Exit(status)


def _wrong_usage(problem: Any) -> str:
    """A wrong option or argument in one sentence, with the command that lists the right ones."""
    sentence = problem.format_message().rstrip(".")
    for theirs, ours in IN_PLAIN_WORDS.items():
        sentence = sentence.replace(theirs, ours)
    within = problem.ctx is not None and problem.ctx.parent is not None
    command = f"dalembert {problem.ctx.info_name}" if within else "dalembert"
    between = "" if sentence.endswith("?") else ";"
    return f"{sentence[:1].lower()}{sentence[1:]}{between} '{command} -h' lists the arguments and options"


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(requested: bool) -> None:
    if requested:
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
