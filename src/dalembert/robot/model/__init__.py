"""A robot as data, and the mechanism made from it."""
