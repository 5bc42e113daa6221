"""Recorded data, read and judged: formats, what their columns mean, units, conditioning, suspicions."""
