"""Executes the code of a page and compares what it prints with what the page says.

Blocks run in the order of the page, in one namespace and one working folder. In it, ``examples`` is the folder of that name, and
pictures and pages that are written to the folder become part of the site, as ``pictures/NAME`` and ``live/NAME``:

- ``python`` is executed; a ``text`` block that follows at once is what it prints;
- ``console`` holds commands behind ``$``, ``dalembert …`` or ``python …``, each with the lines that it prints, or none;
- a line ``…`` of what is printed stands for any number of lines;
- ``text measured`` is printed by a block whose output depends on the machine: it is shown as it is here, and not compared;
- ``py`` and ``sh`` are shown and not executed: they need a log, a device or a cluster of the reader's.

    python docs/hooks/executed.py docs/torques.md           says where the page differs from what its code prints
    python docs/hooks/executed.py --update docs/torques.md  writes what was printed into the page
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import os
import re
import runpy
import shlex
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(?P<kind>\w+)(?P<mark>[^\n`]*)\n(?P<text>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
# large libraries that a page may import and that are tested in environments of their own
OPTIONAL = ("torch", "jax", "cupy")
# where the site has files that a page writes, by their suffix
MADE = {".svg": "pictures", ".png": "pictures", ".html": "live"}


class DiffersError(Exception):
    """A page says something else than its code prints."""


def missing(text: str) -> str | None:
    """The library that the code of a page imports and that is not installed here, or None."""
    used = re.findall(rf"^import ({'|'.join(OPTIONAL)})\b", text, re.MULTILINE)
    return next((library for library in used if find_spec(library) is None), None)


def run_script(path: Path, *args: str) -> str:
    """What a script prints when it is run with ``args``."""
    printed = io.StringIO()
    before, sys.argv = sys.argv, [str(path), *args]
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv = before
    return printed.getvalue()


def run_command(command: str) -> str:
    """What a command of a ``console`` block prints."""
    from typer.testing import CliRunner

    from dalembert.views.cli.main import app

    program, *args = shlex.split(command, comments=True)
    if program == "python":
        return run_script(Path(args[0]), *args[1:])
    if program != "dalembert":
        raise ValueError(f"a console block runs 'dalembert' and 'python', and {program!r} is neither")
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, args)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def lines(text: str) -> list[str]:
    """The lines of a text, without what cannot be seen."""
    return [line.rstrip() for line in text.strip().splitlines()]


def compared(name: str, shown: str, printed: str, update: bool) -> str:
    """What a page should show where it shows ``shown`` and ``printed`` was printed; another text is an error unless ``update``.

    A line that is an ellipsis stands for any number of lines.
    """
    pattern = "".join("(?:.*\n)*?" if line == "…" else re.escape(line) + "\n" for line in lines(shown))
    if re.fullmatch(pattern, "".join(line + "\n" for line in lines(printed))):
        return shown
    if not update:
        difference = "\n".join(difflib.unified_diff(lines(shown), lines(printed), "the page", "its code", lineterm=""))
        raise DiffersError(f"{name} says something else than its code prints:\n{difference}")
    return "\n".join(lines(printed)) + "\n"


def executed(text: str, name: str, *, update: bool = False) -> str:
    """The text of a page with what its code prints, run in the current folder.

    ``measured`` blocks are replaced by what was printed. Any other block that differs is a :class:`DiffersError`, or is
    replaced as well with ``update``.
    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed, before, parts, at = "", "", [], 0
    for block in BLOCK.finditer(text):
        kind, code, mark = block["kind"], block["text"], block["mark"].strip()
        gap = text[at : block.start("text")]
        line = text.count("\n", 0, block.start()) + 1
        place, shown = f"{name}, line {line},", code
        if kind == "python" and missing(code) is None:
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile("\n" * line + code, name, "exec"), namespace)
            printed = output.getvalue()
        elif kind == "text" and before.startswith("python") and not text[at : block.start()].strip("`\n "):
            if missing(before.partition("\n")[2]) is None:
                shown = (
                    "\n".join(lines(printed)) + "\n" if mark == "measured" else compared(place, code, printed, update)
                )
        elif kind == "console":
            commands = [part.partition("\n") for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]]
            shown = ""
            for command, _, said in commands:
                result = run_command(command)
                shown += f"$ {command}\n" + (compared(place, said, result, update) if said.strip() else said)
        before = f"{kind}\n{code}"
        parts += [gap, shown]
        at = block.end("text")
    return "".join([*parts, text[at:]])


@contextlib.contextmanager
def working_folder(folder: Path) -> Iterator[None]:
    """The current folder is ``folder``, with the examples in it; pictures and pages are then moved to folders of their own."""
    before = Path.cwd()
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        for suffix, name in MADE.items():
            (folder / name).mkdir(exist_ok=True)
            for path in folder.glob(f"*{suffix}"):
                path.replace(folder / name / path.name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--update", action="store_true", help="write what was printed into the pages")
    parser.add_argument("--into", type=Path, help="run the one page in this folder, and write it there as page.md")
    chosen = parser.parse_args()
    failed = 0
    for page in chosen.pages:
        text = page.read_text(encoding="utf-8")
        folder = chosen.into.resolve() if chosen.into else Path(tempfile.mkdtemp(prefix="dalembert-page-"))
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with working_folder(folder):
                made = executed(text, page.name, update=chosen.update)
        except DiffersError as error:
            print(error, file=sys.stderr)
            failed += 1
            continue
        if chosen.into:
            (folder / "page.md").write_text(made, encoding="utf-8")
        if chosen.update and made != text:
            page.write_text(made, encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
