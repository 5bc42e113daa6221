"""``python -m dalembert`` is the command ``dalembert``."""

from dalembert.cli.main import main

main()
