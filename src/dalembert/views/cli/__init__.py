"""The command ``dalembert``: one file per command, and the options and terminal functions that they share."""
