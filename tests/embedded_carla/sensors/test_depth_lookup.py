"""What a ray reads from a depth picture, and where it crosses vehicles' boxes: against plain definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded_carla.scene import MOST_INSTANCES, ActorView
from embedded_carla.sensors.depth_lookup import depth_at, other_pixel
from embedded_carla.sensors.vehicle_boxes import VehicleBoxes
from embedded_carla.types import SemanticTag, Transform

LINES, ROADS, CAR, SKY = SemanticTag.ROAD_LINES, SemanticTag.ROADS, SemanticTag.CAR, SemanticTag.SKY
SHAPE = (6, 8)


def plain_depth(
    depth_m: np.ndarray, tag: np.ndarray, instance: np.ndarray, row: np.ndarray, column: np.ndarray
) -> np.ndarray:
    """The definition with arrays: the plane through four pixels of one object, or else the nearest pixel."""
    thing = np.where(tag == LINES, ROADS, tag).astype(np.uint32) << np.uint32(16) | instance.astype(np.uint32)
    top = np.clip(np.floor(row).astype(int), 0, SHAPE[0] - 2)
    left = np.clip(np.floor(column).astype(int), 0, SHAPE[1] - 2)
    down, across = row - top, column - left
    inverse, same = np.zeros(len(row)), np.ones(len(row), dtype=bool)
    for dr, dc in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = (down if dr else 1.0 - down) * (across if dc else 1.0 - across)
        inverse += weight / depth_m[top + dr, left + dc]
        same &= thing[top + dr, left + dc] == thing[top, left]
    nearest = depth_m[np.rint(row).astype(int), np.rint(column).astype(int)]
    return np.where(same & (inverse > 0.0), 1.0 / np.maximum(inverse, 1e-6), nearest)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_depth_follows_its_definition_to_the_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    depth_m = rng.uniform(0.2, 1000.0, SHAPE).astype(np.float32)
    tag = rng.choice(np.array([LINES, ROADS, CAR, SKY], np.uint8), SHAPE, p=(0.3, 0.5, 0.1, 0.1))
    instance = np.where(tag == CAR, rng.integers(1, 3, SHAPE), 0).astype(np.uint16)
    row, column = (rng.uniform(0.0, size - 1.0, 200) for size in SHAPE)
    row[:40], column[20:60] = np.rint(row[:40]), np.floor(column[20:60]) + 0.5  # on pixels, and between two
    row[0], column[0] = SHAPE[0] - 1.0, SHAPE[1] - 1.0
    got = depth_at(depth_m, tag, instance, row, column)
    assert np.array_equal(got, plain_depth(depth_m, tag, instance, row, column))


def test_planes_are_exact_and_edges_are_not_smoothed() -> None:
    across = np.arange(SHAPE[1])
    depth_m = np.tile(1.0 / (0.1 + 0.01 * across), (SHAPE[0], 1)).astype(np.float32)
    tag, instance = np.full(SHAPE, ROADS, np.uint8), np.zeros(SHAPE, np.uint16)
    tag[:, 3] = LINES  # a line lies on its road
    at = np.array([2.25, 3.5]), np.array([2.75, 3.4])
    assert depth_at(depth_m, tag, instance, *at) == pytest.approx(1.0 / (0.1 + 0.01 * at[1]), rel=1e-6)
    tag[:, 3:], instance[:, 3:], depth_m[:, 3:] = CAR, 7, 4.0  # a car begins at column 3
    column = np.array([2.49, 2.51])
    nearest = depth_at(depth_m, tag, instance, np.full(2, 2.25), column)
    assert nearest.tolist() == [float(depth_m[2, 2]), 4.0]
    beside = other_pixel(instance, np.full(2, 2.25), column)
    assert np.stack(beside).tolist() == [[2, 2], [3, 2]]


def plain_span(actor: ActorView, origin: np.ndarray, way: np.ndarray) -> tuple[float, float]:
    """Enter and leave of the actor's box, by the slabs of its axes one after the other."""
    pose, half = actor.transform.matrix(), actor.extent
    centre = pose[:3, 3] + pose[:3, 2] * half[2]
    enter, leave = 0.0, math.inf
    for j in range(3):
        at, rate = (origin - centre) @ pose[:3, j], way @ pose[:3, j]
        first, second = float((-half[j] - at) / rate), float((half[j] - at) / rate)
        enter, leave = max(enter, min(first, second)), min(leave, max(first, second))
    return enter, leave


def test_spans_of_rays_in_boxes() -> None:
    """Rays from outside and inside; the ground, a walker, the scenery and an unknown number have no span."""
    rng, origin = np.random.default_rng(3), np.array([1.0, -2.0, 1.5])
    actors = [
        ActorView(k, "sedan", Transform(x, y, 0.5, pitch, yaw, roll), (2.3, 0.95, 0.75), (0.4, 0.1, 0.1), CAR)
        for k, (x, y, pitch, yaw, roll) in enumerate(rng.uniform(-9.0, 9.0, (5, 5)) * (1.0, 1.0, 4.0, 4.0, 4.0), 1)
    ]  # fmt: skip
    actors.append(ActorView(6, "sedan", Transform(1.0, -2.0, 0.8), (2.3, 0.95, 0.75), (0.4, 0.1, 0.1), CAR))
    walker = ActorView(7, "walker", Transform(), (0.2, 0.2, 0.9), (0.4, 0.1, 0.1), SemanticTag.PEDESTRIANS)
    boxes = VehicleBoxes([*actors, walker], origin)
    instance = rng.integers(1, 7, 400).astype(np.uint16)
    ways = rng.normal(size=(400, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    enter, leave = boxes.spans(instance, ways)
    expected = [plain_span(actors[n - 1], origin, way) for n, way in zip(instance, ways, strict=True)]
    assert np.stack([enter, leave], axis=1) == pytest.approx(np.array(expected), rel=1e-9)
    hits = enter <= leave
    assert hits[instance == 6].all(), "the origin lies within the sixth box"
    assert 0 < hits[instance != 6].sum() < (~hits).sum()
    others = np.array([0, 7, 8, MOST_INSTANCES, MOST_INSTANCES + 1, 0xFFFF], np.uint16)
    enter, leave = boxes.spans(others, ways[:6])
    assert not enter.any()
    assert np.isinf(leave).all()
