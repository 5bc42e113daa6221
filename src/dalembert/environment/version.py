"""The version of dalembert, for whatever names it: the package, generated code, reports."""

__version__ = "0.1.0"
