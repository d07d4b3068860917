"""`python -m av_stack.suite.child ARGUMENTS`: the command line, but it ends when the process that started it ends.

The process that started it holds the other end of standard input. When that process dies for any reason, its end
closes. Then the run is interrupted as by Ctrl-C, and its server ends, too. So no run outlives its suite.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from av_stack.interruption import GRACE_S, INTERRUPTED_STATUS
from av_stack.server_process import kill_servers


def main() -> None:
    threading.Thread(target=_end_with_starter, name="starter", daemon=True).start()
    sys.argv[0] = "av-stack"
    from av_stack.cli.main import main as command_line

    command_line()


def _end_with_starter() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(2.0 * GRACE_S)
    kill_servers()
    os._exit(INTERRUPTED_STATUS)


if __name__ == "__main__":
    main()
