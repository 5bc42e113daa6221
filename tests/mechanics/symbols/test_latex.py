"""The LaTeX that `equations` writes compiles with Debian's TeX."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from compilers import compiler
from dalembert.views.cli.main import app


@pytest.mark.parametrize("name", ["planar-2r", "parallelogram"])
def test_the_latex_of_the_derivation_compiles_and_fits_the_page(name: str, tmp_path: Path) -> None:
    pdflatex = compiler("pdflatex")
    result = CliRunner().invoke(app, ["equations", name, "--derivation", "-o", str(tmp_path / "arm.tex")])
    assert result.exit_code == 0, result.output
    made = subprocess.run(
        [pdflatex, "-interaction=nonstopmode", "arm.tex"], cwd=tmp_path, capture_output=True, text=True
    )
    assert made.returncode == 0 and "Overfull" not in made.stdout, made.stdout[-2000:]
