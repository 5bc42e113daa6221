"""Motions: joint positions, velocities and accelerations as functions of time."""
