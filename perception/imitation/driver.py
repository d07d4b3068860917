"""Asks the imitation network, one picture at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from av_core.types import Float, Image
from perception.imitation.network import chosen_speed, to_input
from perception.imitation.samples import parts_of
from perception.imitation.weights import load_weights


class ImitationDriver:
    """The network of `weights` on `device`, "cuda" or "cpu". Raises ConfigError as `load_weights` does.

    On the CPU, torch computes in one thread from then on: beside a server that also needs the cores, its threads would
    wait for each other.
    """

    def __init__(self, weights: Path, device: str = "cpu") -> None:
        self._device = torch.device(device)
        if self._device.type == "cpu":
            torch.set_num_threads(1)
        self._network = load_weights(weights).to(self._device)

    def decide(self, bgr: Image, speed_mps: float, route_m: Float) -> tuple[Float, float]:
        """The path points (points, 2) in the vehicle frame, m, and the target speed, m/s.

        `bgr` is the camera's picture, `route_m` (routes, 2) are the points of the route in the vehicle frame. Raises
        ValueError for a picture of another size.
        """
        with torch.inference_mode():
            whole, far = (to_input(part[None]).to(self._device).float() / 255.0 for part in parts_of(bgr))
            speed = torch.tensor([speed_mps], dtype=torch.float32, device=self._device)
            route = torch.from_numpy(np.asarray(route_m, np.float32)[None]).to(self._device)
            path, scores = self._network(whole, far, speed, route)
            return path[0].double().cpu().numpy(), float(chosen_speed(scores)[0])
