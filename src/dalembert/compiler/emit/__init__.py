"""Graphs as source text, with one table of operations per target."""
