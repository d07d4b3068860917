"""Optical flow: image motion of each pixel's surface since the sensor's last picture.

A value is the change of normalised picture coordinates (x right, y up, both -1 to 1 over the picture) since the last
measurement. The motion in pixels is x * width / 2 to the right and -y * height / 2 down. CARLA's sensor sends Unreal's
velocity buffer in the same form. Bodies are rigid: the rotation of wheels and the swing of limbs are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from embedded_carla.scene import ActorView, CameraView
from embedded_carla.types import Float, SemanticTag

F32 = NDArray[np.float32]
LIMIT = 2.0  # largest magnitude of a value, as documented
SKY_M = 999.0
_NEAREST = np.float32(1e-3)


def actor_poses(actors: Sequence[ActorView]) -> dict[int, Float]:
    """World matrices (4, 4) of the actors by instance number."""
    return {a.instance: a.transform.matrix() for a in actors}


def optical_flow(
    depth_m: F32, tag: NDArray[np.uint8], instance: NDArray[np.uint16], view: CameraView, before: CameraView,
    poses: Mapping[int, Float], poses_before: Mapping[int, Float],
) -> F32:  # fmt: skip
    """(H, W, 2) flow from the depth, tag and instance pictures (H, W) of `view`.

    `before` and `poses_before` belong to the last picture. An actor that is new since then counts as stationary. The
    sky moves only with the camera's rotation.
    """
    height, width = depth_m.shape
    tan_x = np.tan(np.radians(view.fov_deg) / 2.0)
    tangents = (tan_x, tan_x * height / width)
    x, y = _grid(width, height)
    nearness = np.where((depth_m >= SKY_M) | (tag == SemanticTag.SKY), 0.0, 1.0 / np.maximum(depth_m, _NEAREST))
    now, last = view.transform.matrix(), np.linalg.inv(before.transform.matrix())
    flow = _moved(last @ now, tangents, x, y, nearness.astype(np.float32))
    for number, pose in poses.items():
        earlier = poses_before.get(number)
        if earlier is None or np.array_equal(earlier, pose):
            continue
        rows, columns = np.nonzero(instance == number)
        if len(rows):
            step = last @ earlier @ np.linalg.inv(pose) @ now
            flow[rows, columns] = _moved(step, tangents, x[columns], y[rows, 0], nearness[rows, columns])
    return np.clip(flow, -LIMIT, LIMIT)


def _grid(width: int, height: int) -> tuple[F32, F32]:
    """Normalised coordinates of pixel centres: x (W,) to the right, y (H, 1) upwards."""
    x = (np.arange(width) + 0.5) / width * 2.0 - 1.0
    y = 1.0 - (np.arange(height) + 0.5) / height * 2.0
    return x.astype(np.float32), y.astype(np.float32)[:, None]


def _moved(step: Float, tangents: tuple[float, float], x: F32, y: F32, nearness: F32) -> F32:
    """Flow of points at depth 1 / `nearness` m; `step` (4, 4) transforms this camera's frame to the last one's.

    Divided by its depth, a point is (1, x tan, y tan), and a translation is weighted by `nearness`.
    """
    tan_x, tan_y = tangents
    m = step.astype(np.float32)
    right, up = x * np.float32(tan_x), y * np.float32(tan_y)

    def row(k: int) -> F32:
        value: F32 = m[k, 0] + m[k, 1] * right + m[k, 2] * up + m[k, 3] * nearness
        return value

    ahead = np.maximum(row(0), _NEAREST)
    return np.stack([x - row(1) / ahead / np.float32(tan_x), y - row(2) / ahead / np.float32(tan_y)], axis=-1)
