"""Parameters from a log."""
