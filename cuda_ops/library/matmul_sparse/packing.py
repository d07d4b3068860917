"""Packs 2:4 sparse matrices: at most two of every four neighbours in a row are nonzero.

The packed matrix has two values of every four, and a pattern with their places, in the layout that the tensor cores of
sm_90 read (`av_sparse_pattern.cuh`).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from cuda_ops.errors import CudaOpsError
from cuda_ops.library.matmul_sparse.ladder import (
    GROUP,
    PATTERN_DEPTH,
    PATTERN_ROWS,
    line_length,
    pattern_blocks,
)

KEPT = 2
"""Number of values that are kept of each group."""


@dataclass(frozen=True, slots=True)
class TwoOfFour:
    """A 2:4 sparse matrix of shape (rows, `depth`), packed by `pack`.

    * `values` (rows, `line_length(depth)`): two values of each group of four.
    * `pattern` (steps, blocks, 128, 2) int32: for each 128 of the depth and each 64 rows, two registers of 128 threads.
    """

    values: torch.Tensor
    pattern: torch.Tensor
    depth: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return int(self.values.shape[0]), self.depth

    def dense(self) -> torch.Tensor:
        """The matrix with its zeros."""
        return unpack(self.values, self.pattern, self.depth)[0]


def _places() -> list[tuple[int, int]]:
    """For each set of nonzero elements of a group, as bits, the places of the two values that are kept.

    If fewer than two elements are nonzero, places of zeros are added.
    """
    made = []
    for bits in range(1 << GROUP):
        taken = sorted(range(GROUP), key=lambda place: (not bits >> place & 1, place))[:KEPT]
        made.append((min(taken), max(taken)))
    return made


def pack(a: torch.Tensor) -> TwoOfFour:
    """Pack a 2:4 sparse matrix of bfloat16 or float16, on its device; its depth is padded to a multiple of 4.

    Raises `CudaOpsError` if `a` is not such a matrix; the message names the first group with more than two nonzero
    numbers. This check reads a result from the GPU, so the function cannot be captured in a graph.
    """
    if a.dim() != 2 or a.dtype not in (torch.bfloat16, torch.float16):
        raise CudaOpsError(f"matmul_sparse: a is {a.dtype} {tuple(a.shape)}, expected a matrix of bfloat16 or float16")
    rows, depth = a.shape
    if a.numel() == 0:
        empty = torch.empty((*pattern_blocks(rows, depth), 128, 2), dtype=torch.int32, device=a.device)
        return TwoOfFour(a.new_empty((rows, line_length(depth))), empty, depth)
    groups = _padded(a, rows, line_length(depth) * 2).reshape(rows, -1, GROUP)
    is_there = groups != 0
    _check_counts(is_there, depth)
    weights = torch.tensor([1, 2, 4, 8], device=a.device, dtype=torch.uint8)
    bits = (is_there * weights).sum(-1, dtype=torch.int64)
    places = torch.tensor(_places(), device=a.device)[bits]
    values = groups.gather(-1, places).reshape(rows, -1)
    return TwoOfFour(values, _pattern(places, rows, depth), depth)


def _padded(x: torch.Tensor, rows: int, columns: int, value: int = 0) -> torch.Tensor:
    """The matrix, padded to `rows` x `columns`."""
    more = (0, columns - x.shape[1], 0, rows - x.shape[0])
    return torch.nn.functional.pad(x, more, value=value) if any(more) else x.contiguous()


def _check_counts(is_there: torch.Tensor, depth: int) -> None:
    counts = is_there.sum(-1)
    if int(counts.max()) <= KEPT:
        return
    place = int((counts > KEPT).reshape(-1).int().argmax())
    row, group = divmod(place, counts.shape[1])
    last = min(depth, GROUP * (group + 1)) - 1
    raise CudaOpsError(
        f"matmul_sparse: a is not 2:4 sparse: {int(counts[row, group])} of the elements {GROUP * group} to {last} of "
        f"row {row} are not zero, at most {KEPT} may be; two_of_four(a) keeps the {KEPT} largest"
    )


def _pattern(places: torch.Tensor, rows: int, depth: int) -> torch.Tensor:
    """The registers of all threads; groups after the end of the matrix have the places 0 and 1."""
    steps, blocks = pattern_blocks(rows, depth)
    codes = places[..., 0] | places[..., 1] << 2
    codes = _padded(codes, blocks * PATTERN_ROWS, steps * PATTERN_DEPTH // GROUP, value=0b0100)
    four = codes.reshape(blocks * PATTERN_ROWS, -1, 4)
    halves = four[..., 0] | four[..., 1] << 4 | four[..., 2] << 8 | four[..., 3] << 12
    halves = torch.where(halves >= 1 << 15, halves - (1 << 16), halves).to(torch.int16)
    # Axes of the rows: block, warp, upper half, row of eight. Axes of the depth: step, register, lane of four.
    split = halves.reshape(blocks, 4, 2, 8, steps, 2, 4).permute(4, 0, 1, 3, 6, 5, 2).contiguous()
    return split.view(torch.int32).reshape(steps, blocks, 128, 2)


def unpack(values: torch.Tensor, pattern: torch.Tensor, depth: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(the dense matrix, mask of its kept elements); two elements of each group are kept, even if they are zero."""
    rows = values.shape[0]
    if values.numel() == 0:
        empty = values.new_zeros((rows, depth))
        return empty, empty != 0
    steps, blocks = pattern_blocks(rows, depth)
    halves = pattern.contiguous().view(torch.int16).reshape(steps, blocks, 4, 8, 4, 2, 2).permute(1, 2, 6, 3, 0, 5, 4)
    words = halves.reshape(blocks * PATTERN_ROWS, -1, 1).to(torch.int64)
    codes = (words >> torch.tensor([0, 4, 8, 12], device=values.device) & 15).reshape(blocks * PATTERN_ROWS, -1)
    codes = codes[:rows, : values.shape[1] // KEPT]
    places = torch.stack([codes & 3, codes >> 2], -1)
    groups = values.new_zeros((rows, codes.shape[1], GROUP))
    is_kept = torch.zeros_like(groups, dtype=torch.bool)
    dense = groups.scatter(-1, places, values.reshape(rows, -1, KEPT)).reshape(rows, -1)
    return dense[:, :depth], is_kept.scatter(-1, places, True).reshape(rows, -1)[:, :depth]


def two_of_four(a: torch.Tensor) -> torch.Tensor:
    """The matrix with the two smallest magnitudes of every four neighbours in a row set to zero.

    An incomplete group at the end of a row keeps its two largest.
    """
    rows, depth = a.shape
    if a.numel() == 0:
        return a.clone()
    groups = _padded(a, rows, line_length(depth) * 2).reshape(rows, -1, GROUP)
    kept = groups.abs().float().topk(KEPT, -1).indices
    return torch.zeros_like(groups).scatter(-1, kept, groups.gather(-1, kept)).reshape(rows, -1)[:, :depth].contiguous()
