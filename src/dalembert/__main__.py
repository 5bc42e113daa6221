"""``python -m dalembert``, and the command ``dalembert``."""

import _signal  # built in: loading the module signal takes milliseconds, in which Ctrl-C would print a traceback


def main() -> None:
    """Run the command. Until it is loaded, Ctrl-C ends the process silently, as for any program."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    from dalembert.views.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
