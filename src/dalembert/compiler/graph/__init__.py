"""Graphs of scalar operations: traced, simplified, differentiated, counted. No robots here."""
