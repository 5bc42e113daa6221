"""Dynamics of the end effector, S 7.8: operational space, tasks, redundancy, control."""
