"""Compiled loops that encode depth and labels as CARLA's raw images, in one pass over the picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled

U8 = NDArray[np.uint8]
U16 = NDArray[np.uint16]
U32 = NDArray[np.uint32]
F32 = NDArray[np.float32]
RANGE_M = np.float32(1000.0)
MOST_STEPS = np.float32(2**24 - 1)
STEPS_PER_M = np.float32((2**24 - 1) / 1000.0)
OPAQUE = np.uint32(0xFF000000)


@compiled
def write_depth(depth_m: F32, out: U32) -> None:
    """Planar depth (n,) -> B, G, R, A with R + 256 G + 65536 B = depth / 1000 m * (2^24 - 1), clipped at 1000 m."""
    for i in range(len(depth_m)):
        steps = np.uint32(min(min(depth_m[i], RANGE_M) * STEPS_PER_M, MOST_STEPS))  # exact in float32 below 2^24
        low, middle, high = steps & np.uint32(0xFF), steps & np.uint32(0xFF00), steps >> np.uint32(16)
        out[i] = OPAQUE | (low << np.uint32(16)) | middle | high


@compiled
def write_tags(tag: U8, out: U32) -> None:
    """Labels (n,) -> B, G, R, A with the label in R."""
    for i in range(len(tag)):
        out[i] = OPAQUE | (np.uint32(tag[i]) << np.uint32(16))


@compiled
def write_instances(tag: U8, instance: U16, out: U32) -> None:
    """Labels (n,) -> B, G, R, A with the label in R and the instance in G + 256 B."""
    for i in range(len(tag)):
        number = np.uint32(instance[i])
        low, high = number & np.uint32(0xFF), number >> np.uint32(8)
        out[i] = OPAQUE | (np.uint32(tag[i]) << np.uint32(16)) | (low << np.uint32(8)) | high


def warm_up() -> None:
    """Compile these loops, or load them from disk, so that no picture waits for the compiler."""
    out, tag = np.zeros(0, np.uint32), np.zeros(0, np.uint8)
    write_depth(np.zeros(0, np.float32), out)
    write_tags(tag, out)
    write_instances(tag, np.zeros(0, np.uint16), out)
