"""Identification of an arm from its motion: regressor, base parameters, estimates, S 7.4."""
