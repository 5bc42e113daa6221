"""``dalembert studio``: the live page with a small local server beside it, for what needs Python."""
