"""Entry point of `python -m av_stack` and `av-stack`: Ctrl-C prints no traceback, even while modules are imported."""

from __future__ import annotations

import signal

from av_stack.interruption import leave_at_once


def main() -> None:
    """Run the command line, which ends the process itself."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave_at_once)
    from av_stack.cli import main as run_command_line

    signal.signal(signal.SIGINT, signal.default_int_handler)
    run_command_line()


if __name__ == "__main__":
    main()
