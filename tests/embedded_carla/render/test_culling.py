"""What the compiled loops choose, against the same question asked of arrays and of single rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from embedded_carla.render.culling.visibility import Candidates, Chosen, Commands, ShapeTable, arrange, choose_seen
from embedded_carla.render.frame import Camera
from embedded_carla.scene import CameraView
from embedded_carla.types import Float, Transform

ANGLE = st.floats(-180.0, 180.0)


def in_view(camera: Camera, centre: Float, radius: Float, far_m: float) -> NDArray[np.bool_]:
    """(N,) whether the spheres with `centre` (N, 3) and `radius` (N,) may be in view."""
    rel = centre - camera.eye
    depth = rel @ camera.forward
    side, rise = np.abs(rel @ camera.right), np.abs(rel @ camera.up)
    wide, tall = np.hypot(1.0, camera.tan_x), np.hypot(1.0, camera.tan_y)
    seen = (side - depth * camera.tan_x <= radius * wide) & (rise - depth * camera.tan_y <= radius * tall)
    visible: NDArray[np.bool_] = seen & (depth > -radius) & (depth < min(far_m, camera.far_m) + radius)
    return visible


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
    chosen = Chosen(np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int32), np.zeros(n))
    count = choose_seen(
        camera.row(), Candidates(centre, radius, limits, shapes, shapes[:, 0].copy(), shown), 0, 0, chosen
    )

    away = np.linalg.norm(centre - camera.eye, axis=1)
    radius_px = radius / np.maximum(away, 0.5) * camera.focal_px
    expected = np.flatnonzero(in_view(camera, centre, radius, 60.0) & shown & (radius_px > 2.0))
    assert chosen.row[:count].tolist() == expected.tolist()
    assert np.allclose(chosen.distance[:count], away[expected])
    level = (radius_px[expected] < 40.0).astype(int) + (radius_px[expected] < 15.0)
    assert chosen.shape[:count].tolist() == level.tolist()


def test_rows_are_gathered_shape_by_shape_nearest_first() -> None:
    still, moving = np.arange(6, dtype=np.float32).reshape(3, 2), np.arange(6, 10, dtype=np.float32).reshape(2, 2)
    row, shape = np.array([0, 1, 2, 3, 4]), np.array([1, 0, 1, 1, 0], dtype=np.int32)
    distance = np.array([9.0, 2.0, 3.0, 1.0, 1.0])
    by_rank, kind = np.array([1, 0]), np.array([1, 0], dtype=np.int32)
    index_count, first_index, base_vertex = np.array([30, 60]), np.array([5, 7]), np.array([11, 13])
    block, commands = np.zeros((5, 2), dtype=np.float32), np.zeros((2, 5), dtype=np.uint32)
    per_kind = np.zeros(2, dtype=np.int64)
    shapes = ShapeTable(by_rank, kind, index_count, first_index, base_vertex)
    made = arrange(5, Chosen(row, shape, distance), still, moving, shapes, 100, block, Commands(commands, per_kind))
    assert made == 2
    assert per_kind.tolist() == [1, 1]
    assert commands.tolist() == [[60, 3, 7, 13, 100], [30, 2, 5, 11, 103]]
    assert block[:, 0].tolist() == [6.0, 4.0, 0.0, 8.0, 2.0]
