"""Checks of a log: units, signs, joint order, impossible values."""
