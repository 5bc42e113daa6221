"""Model selection by cross-validation."""
