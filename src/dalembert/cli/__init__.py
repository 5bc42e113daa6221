"""The command line: ``dalembert arms``, ``dalembert show``, ``dalembert torques``."""
