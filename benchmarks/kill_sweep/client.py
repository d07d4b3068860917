"""`av-stack run`, which also writes the simulated time of each step to a file: `client.py CLOCK ARGUMENTS...`.

The clock shows how much of a drive is missing in a recording that was cut off by `kill -9`.
"""

from __future__ import annotations

import os
import sys

from av_core.types import SensorFrame, Truth
from av_stack import __main__ as program
from av_stack import run as runner
from av_stack.agents.base import AgentStep
from av_stack.results.drive_log import Outcome
from av_stack.run import Options, Watcher, run
from scenarios.judging.judge import Judge
from scenarios.model import Scenario


def main() -> None:
    clock = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def timed_run(scenario: Scenario, options: Options, watch: Watcher | None = None) -> Outcome:
        def note(frame: SensorFrame, step: AgentStep, truth: Truth, judge: Judge) -> None:
            os.pwrite(clock, f"{frame.stamp.time_s:12.3f}".encode(), 0)
            if watch is not None:
                watch(frame, step, truth, judge)

        return run(scenario, options, note)

    runner.run = timed_run  # the command line imports it when a drive begins
    program.main()


if __name__ == "__main__":
    main()
