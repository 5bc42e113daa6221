"""Motions that excite the parameters."""
