"""Asks the imitation network, one picture at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from av_core.types import Float, Image
from perception.imitation.network import chosen_speed, to_input
from perception.imitation.samples import HEIGHT_PX, WIDTH_PX
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

        `bgr` is the picture, `route_m` (routes, 2) are the points of the route in the vehicle frame. Raises ValueError
        for a picture of another size.
        """
        if bgr.shape != (HEIGHT_PX, WIDTH_PX, 3):
            raise ValueError(f"the picture has the shape {bgr.shape}; needed is {WIDTH_PX}x{HEIGHT_PX}")
        with torch.inference_mode():
            picture = to_input(np.ascontiguousarray(bgr)[None]).to(self._device).float() / 255.0
            speed = torch.tensor([speed_mps], dtype=torch.float32, device=self._device)
            route = torch.from_numpy(np.asarray(route_m, np.float32)[None]).to(self._device)
            path, scores = self._network(picture, speed, route)
            return path[0].double().cpu().numpy(), float(chosen_speed(scores)[0])
