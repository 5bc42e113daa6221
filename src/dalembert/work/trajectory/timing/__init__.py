"""How fast a path can be driven: scaling and time-optimal timing, S 7.7."""
