"""Finds the channels of a YOLO network that must be removed together when the network is pruned.

The network is traversed once, without data. Each tensor is a list of segments; a segment is a run of channels that one
convolution computes. A convolution makes a new segment, a concatenation joins lists, and a residual sum unites the
segments of both sides. The result lists for each convolution the segments that it reads and writes, so that a channel
can be removed everywhere at once. Call `offline.ultralytics` before this module is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import nn
from ultralytics.nn.modules import C2PSA, C3, SPPF, C2f, Concat, Conv, Detect
from ultralytics.nn.modules.block import Bottleneck, PSABlock

Tensor = list[int]
"""The segments of a tensor, in order; each is an index into `Channels.widths`."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution, its batch norm if it has one, and the segments that it reads and writes.

    `stride_px` is the distance of its outputs in the picture. A depthwise convolution writes the segments that it
    reads. `is_deployed` is False in the head that only training uses.
    """

    name: str
    conv: nn.Conv2d
    norm: nn.BatchNorm2d | None
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    stride_px: int
    is_deployed: bool

    @property
    def is_depthwise(self) -> bool:
        return self.conv.groups > 1


@dataclass
class Channels:
    """Segments and layers of a network. `root` gives the representative of all segments united with a segment."""

    widths: list[int] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)
    fixed: set[int] = field(default_factory=set)
    """Segments whose channels must not be removed."""

    tied: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of segments that must keep equal numbers of channels, because a module splits their tensor in halves."""

    halving: list[tuple[Any, int]] = field(default_factory=list)
    """Modules that store the width of such a half, and the segment of the half."""

    _same: list[int] = field(default_factory=list)

    def new(self, width: int) -> int:
        self.widths.append(width)
        self._same.append(len(self._same))
        return len(self.widths) - 1

    def root(self, segment: int) -> int:
        while self._same[segment] != segment:
            segment = self._same[segment]
        return segment

    def unite(self, one: Tensor, other: Tensor) -> None:
        """Unite the segments of two tensors that are added: their channels are kept or removed together."""
        if [self.widths[a] for a in one] != [self.widths[b] for b in other]:
            raise ValueError("a sum of tensors with other segments")
        for a, b in zip(one, other, strict=True):
            self._same[self.root(a)] = self.root(b)

    def is_fixed(self, segment: int) -> bool:
        root = self.root(segment)
        return any(self.root(one) == root for one in self.fixed)

    def groups(self) -> list[tuple[int, ...]]:
        """Groups of root segments that are tied to each other, without groups that contain a fixed segment.

        All segments of a group have the same width.
        """
        group = {self.root(segment): {self.root(segment)} for segment in range(len(self.widths))}
        for one, other in self.tied:
            joined = group[self.root(one)] | group[self.root(other)]
            for root in joined:
                group[root] = joined
        found = {tuple(sorted(roots)) for roots in group.values()}
        return sorted(roots for roots in found if not any(self.is_fixed(root) for root in roots))


def channels_of(model: Any) -> Channels:
    """The segments and layers of `model`, a detector of ultralytics with batch norm.

    Raises TypeError for a module of unknown type.
    """
    walk = _Walk()
    outputs: list[Tensor] = []
    strides: list[int] = []
    picture = walk.channels.new(3)
    walk.channels.fixed.add(picture)
    for number, module in enumerate(model.model):
        sources = [module.f] if isinstance(module.f, int) else list(module.f)
        read = [outputs[k] if outputs else [picture] for k in sources]
        walk.stride_px = strides[sources[0]] if strides else 1
        if isinstance(module, Detect):
            walk.head(f"model.{number}", module, read, [strides[k] for k in sources])
            break
        outputs.append(walk.module(f"model.{number}", module, read))
        strides.append(walk.stride_px)
    return walk.channels


class _Walk:
    """State of the traversal: the channels found so far, and the stride of the present tensor."""

    def __init__(self) -> None:
        self.channels, self.stride_px, self._is_deployed = Channels(), 1, True

    def module(self, name: str, module: Any, read: Sequence[Tensor]) -> Tensor:
        """The output of one of the network's modules."""
        if isinstance(module, Concat):
            return [segment for tensor in read for segment in tensor]
        (x,) = read
        if isinstance(module, nn.Upsample):
            self.stride_px //= int(module.scale_factor)  # type: ignore[arg-type]
            return x
        return self._block(name, module, x)

    def head(self, name: str, head: Any, read: Sequence[Tensor], strides_px: Sequence[int]) -> None:
        """Both heads; the one-to-one head alone is deployed."""
        for branch in ("cv2", "cv3", "one2one_cv2", "one2one_cv3"):
            self._is_deployed = branch.startswith("one2one")
            for number, x in enumerate(read):
                self.stride_px = strides_px[number]
                self._block(f"{name}.{branch}.{number}", getattr(head, branch)[number], x)

    def _block(self, name: str, module: Any, x: Tensor) -> Tensor:
        if isinstance(module, Conv):
            return self._conv(name, module, x)
        if isinstance(module, nn.Conv2d):  # last convolution of a head: each channel has a fixed meaning
            written = self._layer(name, module, None, x)
            self.channels.fixed.update(written)
            return written
        if isinstance(module, nn.Sequential):
            for number, each in enumerate(module):
                x = self._block(f"{name}.{number}", each, x)
            return x
        if isinstance(module, Bottleneck):
            y = self._conv(f"{name}.cv2", module.cv2, self._conv(f"{name}.cv1", module.cv1, x))
            return self._sum(x, y) if module.add else y
        if isinstance(module, C2f):  # and C3k2
            return self._halves(name, module, x, list(module.m))
        if isinstance(module, C2PSA):
            return self._halves(name, module, x, [module.m], joins_all=False)
        if isinstance(module, C3):  # and C3k
            y = self._block(f"{name}.m", module.m, self._conv(f"{name}.cv1", module.cv1, x))
            return self._conv(f"{name}.cv3", module.cv3, y + self._conv(f"{name}.cv2", module.cv2, x))
        if isinstance(module, SPPF):
            y = self._conv(f"{name}.cv1", module.cv1, x)
            out = self._conv(f"{name}.cv2", module.cv2, y * (module.n + 1))
            return self._sum(x, out) if module.add else out
        if isinstance(module, PSABlock):
            return self._attention(name, module, x)
        raise TypeError(f"{name} is {type(module).__name__}, a module of unknown type")

    def _halves(self, name: str, module: Any, x: Tensor, blocks: Sequence[Any], joins_all: bool = True) -> Tensor:
        """A module that splits its first convolution's output: one half passes the blocks, then all are joined."""
        first = self._conv(f"{name}.cv1", module.cv1, x, parts=2)
        self.channels.tied.append((first[0], first[1]))
        self.channels.halving.append((module, first[0]))
        joined = list(first) if joins_all else first[:1]
        last = first[1:]
        for number, block in enumerate(blocks):
            last = self._block(f"{name}.m.{number}" if joins_all else f"{name}.m", block, last)
            joined += last
        return self._conv(f"{name}.cv2", module.cv2, joined)

    def _attention(self, name: str, module: Any, x: Tensor) -> Tensor:
        """Attention splits its channels into heads, so they are fixed; those between its last two layers are not."""
        inner = self._conv(f"{name}.attn.qkv", module.attn.qkv, x)
        value = self.channels.new(module.attn.pe.conv.in_channels)
        self.channels.fixed.update([*x, *inner, value])
        self._conv(f"{name}.attn.pe", module.attn.pe, [value])
        given = self._conv(f"{name}.attn.proj", module.attn.proj, [value])
        x = self._sum(x, given) if module.add else given
        y = self._block(f"{name}.ffn", module.ffn, x)
        return self._sum(x, y) if module.add else y

    def _sum(self, x: Tensor, y: Tensor) -> Tensor:
        self.channels.unite(x, y)
        return y

    def _conv(self, name: str, module: Any, x: Tensor, parts: int = 1) -> Tensor:
        return self._layer(f"{name}.conv", module.conv, module.bn, x, parts)

    def _layer(self, name: str, conv: nn.Conv2d, norm: Any, x: Tensor, parts: int = 1) -> Tensor:
        self.stride_px *= conv.stride[0]
        if conv.groups == 1:
            written = [self.channels.new(conv.out_channels // parts) for _ in range(parts)]
        elif conv.groups == conv.in_channels == conv.out_channels:
            written = list(x)
        else:
            raise TypeError(f"{name} has {conv.groups} groups for {conv.in_channels} channels")
        self.channels.layers.append(
            Layer(name, conv, norm, tuple(x), tuple(written), self.stride_px, self._is_deployed)
        )
        return written
