"""Compilation of graphs to NumPy gufuncs."""
