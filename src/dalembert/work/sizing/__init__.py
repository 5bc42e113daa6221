"""Drives: demand, checks, selection from catalogues, tolerances."""
