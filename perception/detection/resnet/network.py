"""The network of the ResNet detector: a ResNet-18 with fewer channels, under the neck and head of `network.yaml`.

Importing this module registers the backbone with torchvision, because ultralytics looks it up there when it builds the
network from `network.yaml`. Weights files do not need this: they hold the modules themselves.
"""

from __future__ import annotations

from pathlib import Path

from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval
from torchvision.models._api import register_model  # it has no public name
from torchvision.models.resnet import BasicBlock
from ultralytics.nn.modules.block import TorchVision

CONFIGURATION = Path(__file__).with_name("network.yaml")

WIDTHS = (40, 80, 160, 320)
"""Channels of the four stages: 4.4 million parameters. ResNet-18 has 64, 128, 256 and 512, and 11.2 million."""

BLOCKS = 2
"""Basic blocks of each stage."""


@register_model()  # type: ignore[untyped-decorator]
def narrow_resnet18(weights: None = None) -> nn.Sequential:
    """ResNet-18 (He et al., 2016) without its classifier, with `WIDTHS`, at its initial weights.

    Its modules are the stem's convolution, batch norm, ReLU and max pool, and the four stages. `weights` is not used;
    torchvision passes it to every network.
    """
    stem = nn.Conv2d(3, WIDTHS[0], 7, stride=2, padding=3, bias=False)
    modules = [stem, nn.BatchNorm2d(WIDTHS[0]), nn.ReLU(inplace=True), nn.MaxPool2d(3, stride=2, padding=1)]
    before = WIDTHS[0]
    for stage, width in enumerate(WIDTHS):
        modules.append(_stage(before, width, stride=1 if stage == 0 else 2))
        before = width
    network = nn.Sequential(*modules)
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if isinstance(module, BasicBlock):
            nn.init.zeros_(module.bn2.weight)  # each block is the identity at the start
    return network


def _stage(before: int, width: int, stride: int) -> nn.Sequential:
    """Blocks from `before` to `width` channels, the first of which has `stride`."""
    shortcut = None
    if stride != 1 or before != width:
        shortcut = nn.Sequential(nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width))
    first = BasicBlock(before, width, stride, shortcut)
    return nn.Sequential(first, *(BasicBlock(width, width) for _ in range(BLOCKS - 1)))


def fuse_backbone(model: nn.Module) -> None:
    """Fold batch norm into the convolutions of a torchvision backbone, in place; the outputs stay the same.

    `model` is a network in evaluation mode. Ultralytics' own `fuse` does not change these convolutions.
    """
    for module in model.modules():
        if isinstance(module, TorchVision):
            stages = module.m
            _fuse_pair(stages, "0", "1")
            for block in stages.modules():
                if isinstance(block, BasicBlock):
                    _fuse_pair(block, "conv1", "bn1")
                    _fuse_pair(block, "conv2", "bn2")
                    if block.downsample is not None:
                        _fuse_pair(block.downsample, "0", "1")


def _fuse_pair(parent: nn.Module, conv: str, norm: str) -> None:
    layer, after = parent.get_submodule(conv), parent.get_submodule(norm)
    assert isinstance(layer, nn.Conv2d)
    assert isinstance(after, nn.BatchNorm2d)
    setattr(parent, conv, fuse_conv_bn_eval(layer, after))
    setattr(parent, norm, nn.Identity())
