"""Forward dynamics over time, S 7.6: integrators, dry friction and stops, controllers."""
