"""Graphs compiled and handed out as NumPy gufuncs."""
