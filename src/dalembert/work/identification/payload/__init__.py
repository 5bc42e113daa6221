"""Identification of a payload."""
