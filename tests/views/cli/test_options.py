"""An option is declared once; the command line, the checks and the documentation follow from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

import dalembert as da
from dalembert.base.options import Allowed, check, declared, documented, option
from dalembert.views.cli.main import COMMANDS, GROUPS, app
from dalembert.views.cli.options import with_groups
from dalembert.work.excitation.exciting_options import ExcitationOptions
from dalembert.work.identification.fitting import fit_options

DOCS = Path(__file__).parents[3] / "docs"


def test_help_lists_every_command_in_a_group_with_a_whole_summary() -> None:
    """At 80 columns too, no summary is cut off."""
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).stdout
    listed = re.findall(r"^  ([a-z-]+)  +\S", shown, re.M)
    commands = [command.__name__.rstrip("_").replace("_", "-") for command in COMMANDS]
    assert [name for name in listed if not name.startswith("-")] == commands and "..." not in shown.partition("]...")[2]
    assert re.findall(r"^(\w+):$", shown, re.M) == ["Options", *GROUPS]


@dataclass(frozen=True)
class Filtering:
    """A group of options."""

    cutoff: float | None = option("Cut-off of {order}.", unit="Hz")
    order: int = option("The order.", 2, spelled="-n --order", check=Allowed(lambda x: x > 0, "above 0"))
    zero_phase: bool = option("Filter twice.", False, needs=("cutoff", "needs --cutoff"))


def test_an_option_is_declared_once() -> None:
    """Its field makes the option of the command, its help, its check and what it needs."""
    given: list[Filtering] = []

    def command(group: Filtering) -> None:
        given.append(group)

    application = typer.Typer(rich_markup_mode=None)
    application.command()(with_groups(command))
    shown = CliRunner().invoke(application, ["--cutoff", "5", "-n", "3", "--zero-phase"])
    assert shown.exit_code == 0 and given == [Filtering(5.0, 3, True)]
    help = CliRunner().invoke(application, ["--help"]).stdout
    assert "--cutoff HZ" in help and "Cut-off of --order." in help
    refused = CliRunner().invoke(application, ["--zero-phase"]).exception
    assert isinstance(refused, da.DalembertError) and str(refused) == "--zero-phase needs --cutoff"
    refused = CliRunner().invoke(application, ["-n", "0"]).exception
    assert isinstance(refused, da.DalembertError) and str(refused) == "--order is 0; it must be above 0"
    with pytest.raises(da.DalembertError, match="order is 0; it must be above 0"):
        check(Filtering(order=0))
    assert "cutoff      Cut-off of order (Hz)." in (documented(Filtering).__doc__ or "")


@pytest.mark.parametrize("group", [*fit_options.GROUPS.values(), da.SelectionOptions, ExcitationOptions])
def test_every_option_has_a_help_and_a_row_in_the_documentation(group: type) -> None:
    """The reference is made from the docstring, whose table is made from the fields."""
    for field in fields(group):
        about = declared(field)
        assert about is not None and about.help.endswith(".")
        assert re.search(rf"^{field.name} +\S", str(group.__doc__), re.M)


def test_keywords_of_excite_are_its_options() -> None:
    import inspect

    keywords = inspect.signature(da.excite).parameters
    assert {x.name: x.default for x in fields(ExcitationOptions)} == {
        name: x.default for name, x in keywords.items() if name not in ("arm", "progress")
    }
    assert all(re.search(rf"^{x.name} +\S", str(da.excite.__doc__), re.M) for x in fields(ExcitationOptions))


def test_the_page_about_identification_lists_every_option() -> None:
    page = (DOCS / "identification.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)=da\.(\w+)\(…\)` \| (.*) \|$", page, re.M)
    assert {name for name, *_ in rows} == {*fit_options.GROUPS, "selection"}
    for _, group, words in rows:
        names = [field.name for field in fields(getattr(da, group))]
        assert [word for word in re.findall(r"`(\w+)`", words) if word != "False"] == names


def test_pages_name_options_that_exist() -> None:
    commands = get_command(app).commands.values()  # type: ignore[attr-defined]
    known = {word for x in commands for option in x.params for word in (*option.opts, *option.secondary_opts)}
    for page in DOCS.glob("*.md"):
        for command in re.findall(r"^dalembert [a-z-]+ .*$", page.read_text(encoding="utf-8"), re.M):
            assert set(re.findall(r"(?<=\s)--[a-z][a-z-]*", command)) <= known | {"--help", "--version"}, page.name
