"""The command line: ``dalembert arms``, ``dalembert show``, ``dalembert equations``, ``dalembert torques``."""
