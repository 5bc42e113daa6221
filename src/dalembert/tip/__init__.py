"""The end effector's own dynamics, S 7.8: operational space, tasks, redundancy, control."""
