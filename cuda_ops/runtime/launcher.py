"""The interface through which host code launches kernels; implemented for a GPU and for the CPU shim of the tests."""

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
class I64:
    """A 64-bit integer argument."""

    value: int


@dataclass(frozen=True, slots=True)
class F32:
    """A 32-bit float argument."""

    value: float


@dataclass(frozen=True, slots=True)
class Ptr:
    """The address of an array, `None` for a null pointer."""

    array: Any


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A matrix for the copy engine (TMA, sm_90), which copies boxes of it from or to shared memory.

    The kernel's parameter is a `const __grid_constant__ av_tensor_map`. The matrix and each of its rows begin at
    multiples of 16 bytes; a row of a box has at most `SWIZZLE_BYTES`. In shared memory the packs of 16 bytes in each
    row are swizzled: in row r, pack p is at p ^ (r % 8).
    """

    array: Any
    element_bytes: int
    rows: int
    columns: int
    box_rows: int
    box_columns: int
    more: tuple[tuple[int, int], ...] = ()
    """(size, size of a box) of each further dimension of the array, from the third one on."""


SWIZZLE_BYTES = 128

Argument = I32 | I64 | F32 | Ptr | TensorMap


class Launcher(Protocol):
    """Runs the kernels of one compiled source, in order, on one stream."""

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
        """Start `kernel`; returns before it has run.

        `kernel` is the name of an `extern "C"` kernel, or a template with its arguments ("softmax_warp<float, 4>").
        `cluster` consecutive blocks along x run at the same time and can access each other's shared memory (sm_90 and
        later).

        With `early`, its blocks may begin while the kernel before it still runs (programmatic dependent launch). Such a
        kernel must call `av_wait_for_earlier` before it reads or writes memory that earlier kernels use.
        """

    def resident_blocks(self, kernel: str, block: int, shared_bytes: int = 0, cluster: int = 1) -> int:
        """Number of blocks that the device runs at the same time: the largest grid of a cooperative launch.

        The blocks of a cluster run in one group of processors (GPC), so some processors may stay idle: an H100 runs 132
        blocks that each need a whole processor, but at most 128 of them in clusters of 4.
        """

    def control_words(self) -> Any:
        """The 128 uint32 control words of the stream, or of the captured launch.

        The first is the word of the grid barrier; its top bit may be 0 or 1 between launches. The others are counters,
        which are 0 between launches.
        """


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)
