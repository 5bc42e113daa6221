"""The live page: an arm, its dynamics and its motions in one HTML file that computes."""
