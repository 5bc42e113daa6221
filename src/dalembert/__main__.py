"""``python -m dalembert`` is the command ``dalembert``."""

from dalembert.cli.main import main

if __name__ == "__main__":
    main()
