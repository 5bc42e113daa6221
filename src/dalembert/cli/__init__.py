"""The command ``dalembert``: a file per command, named for it, and the options and the terminal that they share."""
