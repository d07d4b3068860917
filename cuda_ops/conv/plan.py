"""Chooses the plan of a convolution: the measured one for this number of processors, or the best by an estimate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from functools import lru_cache

from cuda_ops.conv import measured
from cuda_ops.conv.host import TILES, TILES_SHARED_MAX, Plan, Window
from cuda_ops.runtime.launcher import ceil_div

SHARES = (1, 2, 3, 4, 6, 8)
LAUNCH_US, BEGIN_US, SHARED_US = 0.48, 1.27, 1.15
"""Microseconds of a launch in a chain, of begin and end of a round of blocks, of waiting for a tile's last block."""
READ_BYTES_PER_US, PARTS_BYTES_PER_US, ELEMENTS_PER_US = 42e3, 92e3, 2.6e3
"""Rates of one processor: bytes read from the L2 cache while multiplying, bytes of partial sums, elements of results.

All six constants are fitted to the times of 1,242 plans on an H200 (docs/cuda/h200_convolutions.json). The mean error
is a tenth, and the plans chosen by the estimate take 2 % longer than the quickest ones.
"""
BLOCKS_PER_PROCESSOR = 2


@lru_cache(maxsize=1024)
def plan_for(window: Window, processors: int) -> Plan:
    """The plan of a convolution on a GPU with `processors` multiprocessors."""
    if processors == measured.PROCESSORS and (found := measured.PLANS.get(astuple(window))):
        tiles = {tile.name: tile for tile in TILES}
        return Plan(tiles[found[0]], found[1])
    return min(possible_plans(window), key=lambda plan: estimate_us(plan, window, processors))


def possible_plans(window: Window) -> Iterator[Plan]:
    """All tiles with all numbers of shares; shares need a counter per tile, and two steps each."""
    for tile in TILES:
        across, down, _ = Plan(tile, 1).grid(window)
        steps = ceil_div(window.depth, tile.depth)
        for shares in SHARES:
            if shares == 1 or (across * down <= TILES_SHARED_MAX and steps >= 2 * shares):
                yield Plan(tile, shares)


def estimate_us(plan: Plan, window: Window, processors: int) -> float:
    """Rough estimate of the time of `plan`, microseconds."""
    across, down, shares = plan.grid(window)
    steps = ceil_div(ceil_div(window.depth, plan.tile.depth), shares)
    blocks = ceil_div(across * down * shares, processors)
    elements = plan.tile.rows * plan.tile.columns
    bytes_read = 2.0 * (plan.tile.rows + plan.tile.columns) * plan.tile.depth * steps
    of_blocks = blocks * (bytes_read / READ_BYTES_PER_US + elements / ELEMENTS_PER_US)
    of_shares = SHARED_US + blocks * 4.0 * elements * shares / PARTS_BYTES_PER_US if shares > 1 else 0.0
    return LAUNCH_US + ceil_div(blocks, BLOCKS_PER_PROCESSOR) * BEGIN_US + of_blocks + of_shares
