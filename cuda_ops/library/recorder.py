"""Records the launches of a version instead of running them, for tests, early compilation and prepared launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cuda_ops.library.ladder import Ladder, Problem, Version
from cuda_ops.runtime.launcher import Argument, Dim3


@dataclass(frozen=True, slots=True)
class Slot:
    """Placeholder for the array at `index` of a call's arrays."""

    index: int


@dataclass(frozen=True, slots=True)
class Control:
    """Placeholder for the control words of the stream on which a call runs."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a kernel; a pointer among its arguments holds a `Slot`, a `Control` or None."""

    kernel: str
    grid: Dim3
    block: int
    arguments: tuple[Argument, ...]
    cluster: int
    shared_bytes: int = 0


@dataclass(slots=True)
class Recorder:
    """A `Launcher` that stores launches in `launches`; `resident` implements `resident_blocks`."""

    resident: Any = lambda kernel, block, shared_bytes, cluster: 6
    launches: list[Launch] = field(default_factory=list)

    def launch(
        self,
        kernel: str,
        grid: Dim3,
        block: int,
        arguments: Sequence[Argument],
        shared_bytes: int = 0,
        cooperative: bool = False,
        early: bool = False,
        cluster: int = 1,
    ) -> None:
        if cooperative or early:
            raise NotImplementedError("cooperative and early launches cannot be recorded")
        self.launches.append(Launch(kernel, grid, block, tuple(arguments), cluster, shared_bytes))

    def resident_blocks(self, kernel: str, block: int, shared_bytes: int = 0, cluster: int = 1) -> int:
        return int(self.resident(kernel, block, shared_bytes, cluster))

    def control_words(self) -> Any:
        return Control()


def record(
    ladder: Ladder, version: Version, problem: Problem, absent: Sequence[str] = (), resident: Any = None
) -> list[Launch]:
    """The launches of `version` for `problem`; arrays named in `absent` are null pointers."""
    recorder = Recorder() if resident is None else Recorder(resident)
    arrays = [None if name in absent else Slot(index) for index, name in enumerate(ladder.arrays)]
    version.launch(recorder, problem, arrays)
    return recorder.launches
