"""What an operator's host code asks of whoever runs its kernels: a GPU, or the CPU shim in the tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class I32:
    """A 32-bit integer argument."""

    value: int


@dataclass(frozen=True, slots=True)
class F32:
    """A 32-bit float argument."""

    value: float


@dataclass(frozen=True, slots=True)
class Ptr:
    """The address of an array, `None` for a null pointer."""

    array: Any


Argument = I32 | F32 | Ptr


class Launcher(Protocol):
    """Runs kernels of one compiled source, in order, on one stream."""

    def launch(
        self,
        kernel: str,
        grid: Dim3,
        block: int,
        arguments: Sequence[Argument],
        shared_bytes: int = 0,
        cooperative: bool = False,
        early: bool = False,
    ) -> None:
        """Start `kernel`; returns before it has run.

        With `early` its blocks may begin while what was started before still runs: it calls `av_wait_for_earlier`
        before it reads or writes what others do.
        """

    def resident_blocks(self, kernel: str, block: int, shared_bytes: int = 0) -> int:
        """How many blocks run at once: the largest grid of a cooperative launch."""

    def control_words(self) -> Any:
        """128 uint32 private to the stream (or the graph).

        The first is a grid barrier's, whose top bit may stand either way between launches; the others are counters,
        0 between launches.
        """


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)
