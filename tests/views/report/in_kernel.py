"""What a Jupyter kernel shows: every object on the last line of a cell, with and without pyplot. `make book` runs this."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

BEGIN = """
import dalembert as da, numpy as np
arm = da.load("planar-2r")
motion = da.triangular([0.0, 0.5], [1.0, -1.0], duration=1.0)
run = da.simulate(arm, [0.3, 0.8], None, None, 0.1)
t = np.linspace(0, 4, 1001)
q, qd, qdd = da.fourier(np.random.default_rng(3).normal(size=(2, 2, 3)), 0.5, duration=4.0)(t)
fit = da.identify(arm, {"t": t, "q": q, "qd": qd, "tau": arm.inverse_dynamics(q, qd, qdd)})
sizing, ellipsoid = da.size(arm, motion), arm.dynamic_manipulability([0.3, 0.8])
"""
OBJECTS = ("arm", "motion", "run", "fit", "sizing", "ellipsoid")
SHOWN = {"text/html": "{}", "image/png": "{}.plot()"}  # what a cell must give, by what stands in it


def main() -> int:
    """Execute a notebook with a cell for every object and its plot; say what is missing."""
    import nbformat
    from nbclient import NotebookClient

    lines = [(kind, cell.format(name)) for name in OBJECTS for kind, cell in SHOWN.items()]
    lines.append(("image/png", "import matplotlib.pyplot as plt; plt.figure(); plt.close(); arm.plot()"))
    sources = [BEGIN, *(cell for _, cell in lines)]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    NotebookClient(book, timeout=120, extra_arguments=["--IPKernelApp.log_level=ERROR"]).execute()
    wrong = []
    for (kind, source), cell in zip(lines, book.cells[1:], strict=True):
        given = [output.data for output in cell.outputs if "data" in output]
        if len(given) != 1 or kind not in given[0]:
            wrong.append(f"'{source}' gives {[sorted(data) for data in given]}, not one {kind}")
        elif kind == "text/html":
            ElementTree.fromstring(given[0][kind])
        if any(len(data["text/plain"].splitlines()) > 2 for data in given):
            wrong.append(f"the repr of '{source}' is a wall")
    print(*wrong, f"{len(lines)} cells of a kernel show what they should" if not wrong else "", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
