"""Optional packages: the extra that installs each of them, and the error message for a missing one.

The core needs NumPy, llvmlite, Typer and Rich. Every other package is imported inside a function, in a
``with extra(…)`` block; ``tests/base/environment`` checks this and runs the core without any of them installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dalembert.errors import MissingExtraError

# by extra, as in pyproject.toml: the imported module, and the package that provides it
EXTRAS = {
    "motion": {"scipy": "SciPy"},
    "symbols": {"sympy": "SymPy"},
    "plot": {"matplotlib": "Matplotlib", "PIL": "Pillow"},
    "video": {"imageio_ffmpeg": "imageio-ffmpeg"},
    "identify": {"scipy": "SciPy", "sympy": "SymPy", "clarabel": "Clarabel"},
    "logs": {
        "scipy": "SciPy", "pyarrow": "pyarrow", "rosbags": "rosbags", "apsw": "rosbags", "ruamel": "rosbags",
        "mcap": "mcap", "lz4": "mcap", "zstandard": "mcap",
    },
    "spreadsheet": {"python_calamine": "python-calamine"},
    "meshes": {"trimesh": "trimesh"},
    "mujoco": {"mujoco": "MuJoCo"},
    "xacro": {"xacro": "xacro", "yaml": "PyYAML"},
    "gpu": {"cuda": "cuda-bindings"},
    "cluster": {"dask": "Dask", "cloudpickle": "Dask", "distributed": "distributed"},
}  # fmt: skip


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Context for the imports of ``what``; a failed import raises an error with the command that installs the extra
    ``name``.

    >>> with extra("plot", "a figure"):
    ...     from matplotlib.pictures import Picture
    Traceback (most recent call last):
    dalembert.errors.MissingExtraError: a figure needs Matplotlib; type: pip install 'dalembert[plot]'
    """
    try:
        yield
    except MissingExtraError:  # raised by a nested block, which is more specific
        raise
    except ImportError as problem:
        package = (problem.name or str(problem)).partition(".")[0]
        why = "" if isinstance(problem, ModuleNotFoundError) else f", which cannot be imported ({problem})"
        raise MissingExtraError(
            f"{what} needs {EXTRAS[name].get(package, package)}{why}; type: pip install 'dalembert[{name}]'"
        ) from None
