"""``python -m dalembert``, and the command ``dalembert``."""

import signal


def main() -> None:
    """Run the command. Until it is loaded, Ctrl-C ends the process silently, as for any program."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dalembert.views.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
