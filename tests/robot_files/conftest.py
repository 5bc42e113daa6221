"""These files are collected only by ``make test-robots``, which installs the robots that they read."""

import os

collect_ignore_glob = [] if "DALEMBERT_ROBOT_DATA" in os.environ else ["test_*.py"]
