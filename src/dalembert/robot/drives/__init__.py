"""Motors and gears as data."""
