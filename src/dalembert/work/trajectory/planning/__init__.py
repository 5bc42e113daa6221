"""Motions: profiles, splines, paths of the tip, files."""
