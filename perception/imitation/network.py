"""The imitation network: two narrow ResNets for the picture, and a head that also gets speed and route.

One ResNet gets the whole picture, scaled down; the other gets the part far ahead at full size. The outputs are points
of the path, and scores of the classes of the target speed. The image-blind baseline has the same head and no picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from torchvision.models.resnet import BasicBlock, ResNet

from perception.imitation.samples import (
    FAR_HEIGHT_PX,
    FAR_WIDTH_PX,
    HEIGHT_PX,
    PATH_AHEAD_M,
    ROUTE_AHEAD_M,
    SPEEDS_MPS,
    WIDTH_PX,
)

RESNET_18 = (2, 2, 2, 2)
"""Blocks of the four stages."""

FAR_STAGES = (2, 2, 2)
"""Blocks of the stages for the part far ahead. It has one stage fewer, because a light is small there."""

DROPPED = 0.2
"""Dropout probability of the picture's features in training, so that the network does not memorize drives."""

SPEED_SCALE_MPS, POINT_SCALE_M = 10.0, 20.0
"""Scales by which speeds and points are divided at the network's input."""


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """The sizes of an imitation network.

    * `width`: number of channels of the first stage (ResNet-18 itself has 64); each stage doubles it.
    * `far_width`: the same for the part far ahead; 0 for a network that does not get this part.
    * `cells`, `far_cells`: number of channels to which the last stage is reduced; the head gets them at every place of
      the picture.
    * `hidden`: number of values in each layer of the head.
    * `is_blind`: whether the network gets no picture.
    * `route_ahead_m`: the distances, from `ROUTE_AHEAD_M`, whose route points the network gets.
    """

    width: int = 32
    far_width: int = 16
    cells: int = 24
    far_cells: int = 8
    hidden: int = 256
    is_blind: bool = False
    route_ahead_m: tuple[float, ...] = (20.0, 40.0)


class ImitationNetwork(nn.Module):
    """Path points (N, points, 2), m, and scores of the speed classes (N, classes).

    Inputs are pictures (N, 3, height, width) in 0..1, their parts far ahead (N, 3, far height, far width), speeds (N,),
    m/s, NaN where the speed is withheld, and route points (N, routes, 2), m, at `ROUTE_AHEAD_M`.
    """

    def __init__(self, shape: NetworkShape) -> None:
        super().__init__()
        self.shape = shape
        if not shape.is_blind:
            self.eye = _eye(shape.width, RESNET_18, (HEIGHT_PX, WIDTH_PX), shape.cells, shape.hidden)
        if not shape.is_blind and shape.far_width:
            self.far_eye = _eye(
                shape.far_width, FAR_STAGES, (FAR_HEIGHT_PX, FAR_WIDTH_PX), shape.far_cells, shape.hidden
            )
        seen = 0 if shape.is_blind else 1 + (shape.far_width > 0)
        self.senses = nn.Sequential(nn.Linear(2 + 2 * len(shape.route_ahead_m), shape.hidden), nn.ReLU())
        self.mix = nn.Sequential(
            nn.Linear((1 + seen) * shape.hidden, shape.hidden),
            nn.ReLU(),
            nn.Linear(shape.hidden, shape.hidden),
            nn.ReLU(),
        )
        self.path = nn.Linear(shape.hidden, 2 * len(PATH_AHEAD_M))
        self.speed = nn.Linear(shape.hidden, len(SPEEDS_MPS))
        self._routes = [ROUTE_AHEAD_M.index(ahead_m) for ahead_m in shape.route_ahead_m]
        self.register_buffer("straight", torch.tensor([[s, 0.0] for s in PATH_AHEAD_M]))

    def forward(
        self, pictures: torch.Tensor, far: torch.Tensor, speed_mps: torch.Tensor, route_m: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self.answer(self.grasp(pictures, far, speed_mps, route_m))

    def grasp(
        self, pictures: torch.Tensor, far: torch.Tensor, speed_mps: torch.Tensor, route_m: torch.Tensor
    ) -> torch.Tensor:
        """The joint features (N, hidden) of all inputs, from which the outputs are computed."""
        is_known = torch.isfinite(speed_mps)
        speed = torch.where(is_known, speed_mps, 0.0) / SPEED_SCALE_MPS
        route = route_m[:, self._routes].flatten(1) / POINT_SCALE_M
        numbers = torch.cat([speed[:, None], is_known.float()[:, None], route], dim=1)
        parts = [self.senses(numbers)]
        if not self.shape.is_blind:
            parts.append(self.eye(_scaled(pictures)))
            if self.shape.far_width:
                parts.append(self.far_eye(_scaled(far)))
        seen = [functional.dropout(part, DROPPED, self.training) for part in parts[1:]]
        return torch.as_tensor(self.mix(torch.cat([parts[0], *seen], dim=1)))

    def answer(self, mixed: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The path and the scores of the speed classes, computed from the features of `grasp`."""
        path = self.straight + self.path(mixed).reshape(-1, len(PATH_AHEAD_M), 2)
        return path, self.speed(mixed)


def _scaled(pictures: torch.Tensor) -> torch.Tensor:
    return (pictures - 0.45) / 0.25


def _eye(width: int, stages: Sequence[int], size_px: tuple[int, int], cells: int, hidden: int) -> nn.Sequential:
    """A module from pictures of `size_px` (height, width) to features (N, hidden): ResNet stages, then a linear layer.

    The linear layer gets the features of every place in the picture, so that it knows where something is.
    """
    net = ResNet(BasicBlock, list(RESNET_18), width_per_group=64)
    net.inplanes = width
    net.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
    net.bn1 = nn.BatchNorm2d(width)
    layers = [
        net._make_layer(BasicBlock, width * 2**k, blocks, stride=1 if k == 0 else 2) for k, blocks in enumerate(stages)
    ]
    stride_px, channels = 2 ** (len(stages) + 1), width * 2 ** (len(stages) - 1)
    rows, columns = (-(-size // stride_px) for size in size_px)
    return nn.Sequential(
        net.conv1, net.bn1, net.relu, net.maxpool, *layers,
        nn.Conv2d(channels, cells, 1), nn.ReLU(), nn.Flatten(),
        nn.Linear(cells * rows * columns, hidden), nn.ReLU(),
    )  # fmt: skip


def speed_shares(speed_mps: torch.Tensor) -> torch.Tensor:
    """Target distribution (N, classes) for each speed (N,): shared between the two nearest classes, with the sum 1."""
    known = torch.tensor(SPEEDS_MPS, device=speed_mps.device)
    speed = speed_mps.clamp(SPEEDS_MPS[0], SPEEDS_MPS[-1])
    above = torch.bucketize(speed, known[1:-1], right=True) + 1
    below = above - 1
    share = (speed - known[below]) / (known[above] - known[below])
    shares = torch.zeros(len(speed), len(SPEEDS_MPS), device=speed.device)
    rows = torch.arange(len(speed), device=speed.device)
    shares[rows, below] = 1.0 - share
    shares[rows, above] = share
    return shares


STOP_SHARE = 0.5
"""Probability of standing above which the target speed is 0."""


def chosen_speed(scores: torch.Tensor) -> torch.Tensor:
    """Target speeds (N,), m/s, from the scores (N, classes): the mean speed, or 0 where standing is likely."""
    shares = scores.float().softmax(dim=1)
    mean = shares @ torch.tensor(SPEEDS_MPS, device=scores.device)
    return torch.where(shares[:, 0] > STOP_SHARE, 0.0, mean)


def to_input(bgr: NDArray[Any]) -> torch.Tensor:
    """Pictures (N, height, width, 3) BGR uint8 as (N, 3, height, width) RGB uint8."""
    return torch.from_numpy(bgr).flip(3).permute(0, 3, 1, 2).contiguous()
