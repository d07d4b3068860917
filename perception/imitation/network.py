"""The imitation network: a narrow ResNet-18 that sees the picture, and a head that also gets speed and route.

The outputs are points of the path, and scores of the classes of the target speed. The image-blind baseline has the same
head and no picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn
from torchvision.models.resnet import BasicBlock, ResNet

from perception.imitation.samples import HEIGHT_PX, PATH_AHEAD_M, ROUTE_AHEAD_M, SPEEDS_MPS, WIDTH_PX

RESNET_18 = (2, 2, 2, 2)
"""Blocks of the four stages."""

STRIDE_PX = 32
"""Pixels between two cells of the last stage."""

SPEED_SCALE_MPS, POINT_SCALE_M = 10.0, 20.0
"""Speeds and points are divided by these before the network gets them."""


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """`width` is the number of channels of the first stage (ResNet-18 itself has 64); each stage doubles it.

    `cells` channels of the last stage keep their place in the picture on the way to the head, whose layers have
    `hidden` values. Of the route's points the network gets those at `route_ahead_m`.
    """

    width: int = 32
    cells: int = 24
    hidden: int = 256
    is_blind: bool = False
    route_ahead_m: tuple[float, ...] = (20.0, 40.0)


class ImitationNetwork(nn.Module):
    """Path points (N, points, 2), m, and scores of the speed classes (N, classes).

    Inputs are pictures (N, 3, height, width) in 0..1, speeds (N,), m/s, NaN where the speed is withheld, and route
    points (N, routes, 2), m, at `ROUTE_AHEAD_M`.
    """

    def __init__(self, shape: NetworkShape) -> None:
        super().__init__()
        self.shape = shape
        if not shape.is_blind:
            self.eye = _eye(shape)
        self.senses = nn.Sequential(nn.Linear(2 + 2 * len(shape.route_ahead_m), shape.hidden), nn.ReLU())
        self.mix = nn.Sequential(
            nn.Linear((1 if shape.is_blind else 2) * shape.hidden, shape.hidden),
            nn.ReLU(),
            nn.Linear(shape.hidden, shape.hidden),
            nn.ReLU(),
        )
        self.path = nn.Linear(shape.hidden, 2 * len(PATH_AHEAD_M))
        self.speed = nn.Linear(shape.hidden, len(SPEEDS_MPS))
        self._routes = [ROUTE_AHEAD_M.index(ahead_m) for ahead_m in shape.route_ahead_m]
        self.register_buffer("straight", torch.tensor([[s, 0.0] for s in PATH_AHEAD_M]))

    def forward(
        self, pictures: torch.Tensor, speed_mps: torch.Tensor, route_m: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        is_known = torch.isfinite(speed_mps)
        speed = torch.where(is_known, speed_mps, 0.0) / SPEED_SCALE_MPS
        route = route_m[:, self._routes].flatten(1) / POINT_SCALE_M
        numbers = torch.cat([speed[:, None], is_known.float()[:, None], route], dim=1)
        parts = [self.senses(numbers)]
        if not self.shape.is_blind:
            parts.append(self.eye((pictures - 0.45) / 0.25))
        mixed = self.mix(torch.cat(parts, dim=1))
        path = self.straight + self.path(mixed).reshape(-1, len(PATH_AHEAD_M), 2)
        return path, self.speed(mixed)


def _eye(shape: NetworkShape) -> nn.Sequential:
    """The picture's features (N, hidden): the stages of a ResNet, then what is where."""
    net = ResNet(BasicBlock, list(RESNET_18), width_per_group=64)
    width = shape.width
    net.inplanes = width
    net.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
    net.bn1 = nn.BatchNorm2d(width)
    stages = [
        net._make_layer(BasicBlock, width * 2**k, blocks, stride=1 if k == 0 else 2)
        for k, blocks in enumerate(RESNET_18)
    ]
    rows, columns = -(-HEIGHT_PX // STRIDE_PX), -(-WIDTH_PX // STRIDE_PX)
    return nn.Sequential(
        net.conv1, net.bn1, net.relu, net.maxpool, *stages,
        nn.Conv2d(8 * width, shape.cells, 1), nn.ReLU(), nn.Flatten(),
        nn.Linear(shape.cells * rows * columns, shape.hidden), nn.ReLU(),
    )  # fmt: skip


def speed_shares(speed_mps: torch.Tensor) -> torch.Tensor:
    """(N, classes) How much each speed (N,) belongs to each class: the two neighbours share it, the sum is 1."""
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
"""Probability of standing from which the target speed is 0."""


def chosen_speed(scores: torch.Tensor) -> torch.Tensor:
    """(N,) The target speeds that the scores (N, classes) mean: their mean, or 0 where standing is likely."""
    shares = scores.float().softmax(dim=1)
    mean = shares @ torch.tensor(SPEEDS_MPS, device=scores.device)
    return torch.where(shares[:, 0] > STOP_SHARE, 0.0, mean)


def to_input(bgr: NDArray[Any]) -> torch.Tensor:
    """Pictures (N, height, width, 3) BGR uint8 as (N, 3, height, width) RGB uint8."""
    return torch.from_numpy(bgr).flip(3).permute(0, 3, 1, 2).contiguous()
