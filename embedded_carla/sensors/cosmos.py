"""Pictures of `sensor.camera.cosmos_visualization`: traffic classes in flat colours, everything else black."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embedded_carla.types import SemanticTag

_COLOURS: dict[SemanticTag, tuple[int, int, int]] = {
    SemanticTag.POLES: (153, 153, 153),
    SemanticTag.TRAFFIC_LIGHT: (250, 170, 30),
    SemanticTag.TRAFFIC_SIGNS: (220, 220, 0),
    SemanticTag.PEDESTRIANS: (220, 20, 60),
    SemanticTag.RIDER: (255, 0, 0),
    SemanticTag.CAR: (0, 0, 142),
    SemanticTag.TRUCK: (0, 0, 70),
    SemanticTag.BUS: (0, 60, 100),
    SemanticTag.TRAIN: (0, 80, 100),
    SemanticTag.MOTORCYCLE: (0, 0, 230),
    SemanticTag.BICYCLE: (119, 11, 32),
    SemanticTag.ROAD_LINES: (157, 234, 50),
    SemanticTag.GUARD_RAIL: (180, 165, 180),
}
"""R, G, B of the CityScapes palette as CARLA's documentation lists it."""

_TABLE = np.zeros((256, 4), dtype=np.uint8)
_TABLE[:, 3] = 255
for _tag, _rgb in _COLOURS.items():
    _TABLE[int(_tag), :3] = _rgb[::-1]


def traffic_colours(tag: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Semantic labels (H, W) uint8 -> (H, W, 4) uint8 BGRA."""
    return _TABLE[tag]
