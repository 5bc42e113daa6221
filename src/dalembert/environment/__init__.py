"""What a program of ours finds where it runs: optional packages, and a terminal with a person before it."""
