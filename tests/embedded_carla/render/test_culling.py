"""What the compiled loops choose, against the same question asked of arrays and of single rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded_carla.render.culling.visibility import arrange, choose_seen
from embedded_carla.render.frame import Camera
from embedded_carla.scene import CameraView
from embedded_carla.types import Transform

ANGLE = st.floats(-180.0, 180.0)


@settings(deadline=None, max_examples=80)
@given(seed=st.integers(0, 2**32 - 1), yaw=ANGLE, pitch=st.floats(-89.0, 89.0), roll=ANGLE, fov=st.floats(20.0, 150.0))
def test_what_is_seen_is_what_the_camera_sees(seed: int, yaw: float, pitch: float, roll: float, fov: float) -> None:
    rng = np.random.default_rng(seed)
    camera = Camera.of(CameraView(640, 360, fov, Transform(3.0, -5.0, 2.0, pitch, yaw, roll)))
    n = 60
    centre, radius = rng.uniform(-80.0, 80.0, (n, 3)), rng.uniform(0.1, 12.0, n)
    shown = rng.random(n) > 0.2
    limits = np.column_stack([np.full(n, 60.0), np.full(n, 2.0), np.full(n, 40.0), np.full(n, 15.0)])
    shapes = np.tile(np.array([0, 1, 2], dtype=np.int32), (n, 1))
    row, shape, distance = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int32), np.zeros(n)
    count = choose_seen(camera.numbers(), centre, radius, limits, shapes, shown, 0, 0, row, shape, distance)

    away = np.linalg.norm(centre - camera.eye, axis=1)
    radius_px = radius / np.maximum(away, 0.5) * camera.focal_px
    expected = np.flatnonzero(camera.sees(centre, radius, 60.0) & shown & (radius_px > 2.0))
    assert row[:count].tolist() == expected.tolist()
    assert np.allclose(distance[:count], away[expected])
    level = (radius_px[expected] < 40.0).astype(int) + (radius_px[expected] < 15.0)
    assert shape[:count].tolist() == level.tolist()


def test_rows_are_gathered_shape_by_shape_nearest_first() -> None:
    still, moving = np.arange(6, dtype=np.float32).reshape(3, 2), np.arange(6, 10, dtype=np.float32).reshape(2, 2)
    row, shape = np.array([0, 1, 2, 3, 4]), np.array([1, 0, 1, 1, 0], dtype=np.int32)
    distance = np.array([9.0, 2.0, 3.0, 1.0, 1.0])
    by_rank, kind = np.array([1, 0]), np.array([1, 0], dtype=np.int32)
    index_count, first_index, base_vertex = np.array([30, 60]), np.array([5, 7]), np.array([11, 13])
    block, commands = np.zeros((5, 2), dtype=np.float32), np.zeros((2, 5), dtype=np.uint32)
    per_kind = np.zeros(2, dtype=np.int64)
    made = arrange(
        5, row, shape, distance, still, moving, by_rank, kind, index_count, first_index, base_vertex, 100, block,
        commands, per_kind,
    )  # fmt: skip
    assert made == 2
    assert per_kind.tolist() == [1, 1]
    assert commands.tolist() == [[60, 3, 7, 13, 100], [30, 2, 5, 11, 103]]
    assert block[:, 0].tolist() == [6.0, 4.0, 0.0, 8.0, 2.0]
