"""Lights of the street lamps: positions, intensities, and the nearest ones, which light every surface."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.frame import MAX_LAMPS, Camera
from embedded_carla.scene import SceneState

F64 = NDArray[np.float64]
REACH_M = 90.0
INTENSITY = 14.0


class StreetLamps:
    """Lights at `places` (n, 3); all are on with the map's own intensity until a client changes them."""

    def __init__(self, places: F64) -> None:
        self._all = np.column_stack([np.asarray(places, dtype=np.float64).reshape(-1, 3), np.ones(len(places))])
        self.burning = self._all

    def show(self, state: SceneState) -> None:
        """Apply the clients' lamp modes and intensities."""
        self._all[:, 3] = np.where(state.lamp_mode == 0, 0.0, state.lamp_intensity)
        self.burning = self._all[self._all[:, 3] > 0.0]

    def near(self, view: Camera, night: float) -> F64:
        """(k, 4) positions of the lamps nearest the camera, relative to it, and their intensity."""
        rel = self.burning[:, :3] - view.eye
        distance = np.linalg.norm(rel - view.forward * 15.0, axis=1)
        near = np.argsort(distance, kind="stable")[:MAX_LAMPS]
        near = near[distance[near] < REACH_M]
        return np.column_stack([rel[near], INTENSITY * night * self.burning[near, 3]])
