"""Recorded data: file formats, meaning of columns, units, conditioning and plausibility checks."""
