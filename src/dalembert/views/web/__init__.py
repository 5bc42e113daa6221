"""The live page: an arm, its dynamics and its motions in one interactive HTML file."""
