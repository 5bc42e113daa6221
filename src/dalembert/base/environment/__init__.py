"""The runtime environment: optional packages, progress on an interactive terminal, and a cluster."""
