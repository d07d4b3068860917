"""References of the library's operators on torch tensors: computed in double precision, rounded once."""

from __future__ import annotations

import torch


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x + y."""
    return (x.double() + y.double()).to(x.dtype)


def relu(x: torch.Tensor) -> torch.Tensor:
    """max(x, 0); NaN stays NaN."""
    return torch.relu(x)


def sigmoid(x: torch.Tensor) -> torch.Tensor:
    """1 / (1 + e^-x)."""
    return torch.sigmoid(x.double()).to(x.dtype)


def sum_of(x: torch.Tensor) -> torch.Tensor:
    """The sum of all elements, without dimensions."""
    return x.double().sum().to(x.dtype)


def dot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The sum of x * y over two vectors, without dimensions."""
    return (x.double() * y.double()).sum().to(x.dtype)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax over the last dimension."""
    return torch.softmax(x.double(), -1).to(x.dtype)


def layer_norm(x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None, epsilon: float) -> torch.Tensor:
    """LayerNorm over the last dimension."""
    factor, more = (None if part is None else part.double() for part in (weight, bias))
    return torch.nn.functional.layer_norm(x.double(), x.shape[-1:], factor, more, epsilon).to(x.dtype)


def rms_norm(x: torch.Tensor, weight: torch.Tensor | None, epsilon: float) -> torch.Tensor:
    """RMSNorm over the last dimension."""
    wide = x.double()
    scaled = wide / torch.sqrt(wide.square().mean(-1, keepdim=True) + epsilon)
    return (scaled if weight is None else scaled * weight.double()).to(x.dtype)
