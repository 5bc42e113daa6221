"""``dalembert studio``: the live page with a small local server for functions that need Python."""
