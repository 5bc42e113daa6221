"""Inverse kinematics."""
