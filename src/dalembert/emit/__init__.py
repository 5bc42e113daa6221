"""Graphs as source text, one table of operations a target."""
