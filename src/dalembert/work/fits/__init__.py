"""Saved fits, their comparison and their stability."""
