"""Tables with names, units and places: what their cells hold, and what is said where they are wrong."""
