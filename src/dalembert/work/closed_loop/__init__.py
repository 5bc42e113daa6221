"""Identification from positions and commands: the controller and the arm as one loop."""
