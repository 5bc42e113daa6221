"""Motions: where the joints are, and how fast, at every instant."""
