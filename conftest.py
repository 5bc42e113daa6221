"""Modules that stand on a library that is not installed have no examples to run."""

from importlib.util import find_spec

collect_ignore = [f"src/dalembert/compiler/foreign/on_{x}.py" for x in ("torch", "jax", "cupy") if find_spec(x) is None]
