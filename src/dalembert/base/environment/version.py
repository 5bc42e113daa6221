"""The version of dalembert, for whatever names it: the package, generated code, reports."""

__version__ = "1.0.0"
