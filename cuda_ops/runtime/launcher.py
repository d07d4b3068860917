"""The interface through which host code launches kernels: implemented for a GPU, and for the tests' CPU shim."""

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

    The kernel takes it as `const __grid_constant__ av_tensor_map`. The matrix begins at a multiple of 16 bytes, and so
    does each of its rows; a row of a box has `SWIZZLE_BYTES` or less. In shared memory the packs of 16 bytes of each
    row are swizzled: in row r, pack p lies at p ^ (r % 8).
    """

    array: Any
    element_bytes: int
    rows: int
    columns: int
    box_rows: int
    box_columns: int
    more: tuple[tuple[int, int], ...] = ()
    """Of an array with further dimensions, outside the rows, their sizes and the box's, from the third one on."""


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
        `cluster` blocks that follow one another along x run at once and share their memory (sm_90 and later).

        With `early`, its blocks may begin while the kernel before it still runs (programmatic dependent launch). Such a
        kernel must call `av_wait_for_earlier` before it reads or writes memory that earlier kernels use.
        """

    def resident_blocks(self, kernel: str, block: int, shared_bytes: int = 0, cluster: int = 1) -> int:
        """Number of blocks that the device runs at once, which is the largest grid of a cooperative launch.

        The blocks of a cluster share a group of processors (a GPC), and what a group has left over stays idle: an H100
        runs 132 blocks of a whole processor, but at most 128 of them in clusters of 4.
        """

    def control_words(self) -> Any:
        """128 uint32 that belong to the stream, or to the captured launch.

        The first is the grid barrier's word, whose top bit may be 0 or 1 between launches. The others are counters, 0
        between launches.
        """


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)
