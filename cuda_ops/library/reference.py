"""References of the library's operators on torch tensors: computed in double precision, rounded once."""

from __future__ import annotations

from collections.abc import Callable

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
    """The sum of all elements, as a scalar tensor."""
    return x.double().sum().to(x.dtype)


def mean_of(x: torch.Tensor) -> torch.Tensor:
    """The mean of all elements, as a scalar tensor."""
    return x.double().mean().to(x.dtype)


def dot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The sum of x * y over two vectors, as a scalar tensor."""
    return (x.double() * y.double()).sum().to(x.dtype)


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of two matrices."""
    return (a.double() @ b.double()).to(a.dtype)


def matmul_half(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """The product of two matrices, plus `bias` for each column."""
    exact = a.double() @ b.double()
    return (exact if bias is None else exact + bias.double()).to(a.dtype)


def matmul_sparse(a: torch.Tensor, is_kept: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """The product of two matrices, plus `bias` for each column; only the elements of `a` in the mask `is_kept` count.

    Infinities and NaN in `b` have no effect on rows whose element there is not kept.
    """
    wide = b.double()
    exact = a.double() @ torch.where(torch.isfinite(wide), wide, 0.0)
    for k in (~torch.isfinite(wide)).any(-1).nonzero().reshape(-1).tolist():
        row = torch.where(torch.isfinite(wide[k]), 0.0, wide[k])
        exact += torch.where(is_kept[:, k, None] & (row != 0), a[:, k, None].double() * row, 0.0)
    return (exact if bias is None else exact + bias.double()).to(a.dtype).contiguous()


def matmul_batches(
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None,
    c: torch.Tensor | None,
    alpha: float = 1.0,
    beta: float = 1.0,
) -> torch.Tensor:
    """alpha a b + `bias` for each column + beta c, of matrices or batches of them."""
    exact = alpha * (a.double() @ b.double())
    if bias is not None:
        exact = exact + bias.double()
    return (exact if c is None else exact + beta * c.double()).to(a.dtype).contiguous()


def matmul_scaled(
    a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor | None, scale_b: torch.Tensor | None
) -> torch.Tensor:
    """The product of two matrices, times the scales of rows and columns (or a single scale each), in bfloat16."""
    exact = a.double() @ b.double()
    if scale_a is not None:
        exact = exact * scale_a.double().reshape(-1, 1)
    if scale_b is not None:
        exact = exact * scale_b.double().reshape(1, -1)
    return exact.to(torch.bfloat16).contiguous()


def matmul_fused(
    activation: Callable[[torch.Tensor], torch.Tensor],
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None,
    residual: torch.Tensor | None,
) -> torch.Tensor:
    """activation(a b + `bias`) + `residual`."""
    exact = a.double() @ b.double()
    made = activation(exact if bias is None else exact + bias.double())
    return (made if residual is None else made + residual.double()).to(a.dtype).contiguous()


def matmul_softmax(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """The softmax over each row of a b + `bias`."""
    exact = a.double() @ b.double()
    return torch.softmax(exact if bias is None else exact + bias.double(), -1).to(a.dtype)


def matmul_layer_norm(
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None,
    weight: torch.Tensor | None,
    shift: torch.Tensor | None,
    epsilon: float,
) -> torch.Tensor:
    """LayerNorm over each row of a b + `bias`."""
    exact = a.double() @ b.double()
    exact = exact if bias is None else exact + bias.double()
    factor, more = (None if part is None else part.double() for part in (weight, shift))
    return torch.nn.functional.layer_norm(exact, exact.shape[-1:], factor, more, epsilon).to(a.dtype)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax over the last dimension."""
    return torch.softmax(x.double(), -1).to(x.dtype)


def layer_norm(x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None, epsilon: float) -> torch.Tensor:
    """LayerNorm over the last dimension."""
    factor, more = (None if part is None else part.double() for part in (weight, bias))
    return torch.nn.functional.layer_norm(x.double(), x.shape[-1:], factor, more, epsilon).to(x.dtype)


def layer_norm_softmax(
    x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None, epsilon: float
) -> torch.Tensor:
    """Softmax of LayerNorm over the last dimension."""
    factor, more = (None if part is None else part.double() for part in (weight, bias))
    normed = torch.nn.functional.layer_norm(x.double(), x.shape[-1:], factor, more, epsilon)
    return torch.softmax(normed, -1).to(x.dtype)


def rms_norm(x: torch.Tensor, weight: torch.Tensor | None, epsilon: float) -> torch.Tensor:
    """RMSNorm over the last dimension."""
    wide = x.double()
    scaled = wide / torch.sqrt(wide.square().mean(-1, keepdim=True) + epsilon)
    return (scaled if weight is None else scaled * weight.double()).to(x.dtype)


def residual_norm(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    epsilon: float,
    is_rms: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(x + residual, LayerNorm or RMSNorm of this sum before it is rounded)."""
    total = x.double() + residual.double()
    factor, more = (None if part is None else part.double() for part in (weight, bias))
    out = rms_norm(total, factor, epsilon) if is_rms else layer_norm(total, factor, more, epsilon)
    return total.to(x.dtype).contiguous(), out.to(x.dtype, copy=True).contiguous()


def relu_backward(gradient: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """The gradient where `out` is above 0 or NaN, otherwise 0."""
    return torch.where(out <= 0, 0.0, gradient).to(gradient.dtype)


def sigmoid_backward(gradient: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """gradient * out * (1 - out)."""
    wide = out.double()
    return (gradient.double() * wide * (1.0 - wide)).to(gradient.dtype)


def log_softmax(x: torch.Tensor) -> torch.Tensor:
    """The logarithm of softmax over the last dimension."""
    return torch.log_softmax(x.double(), -1).to(x.dtype)


def log_softmax_backward(gradient: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """gradient - e^out * sum of gradient, over the last dimension."""
    g = gradient.double()
    return (g - torch.exp(out.double()) * g.sum(-1, keepdim=True)).to(gradient.dtype)


def softmax_backward(gradient: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """out * (gradient - sum of gradient * out), over the last dimension."""
    g, y = gradient.double(), out.double()
    return (y * (g - (g * y).sum(-1, keepdim=True))).to(gradient.dtype)


def norm_backward(
    gradient: torch.Tensor, x: torch.Tensor, weight: torch.Tensor | None, epsilon: float, is_rms: bool, sums: int = 2
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradients of x, weight and bias of LayerNorm or RMSNorm; with `sums` 1 or 0 the last one or two are empty."""
    g, wide = gradient.double(), x.double()
    mean = torch.zeros_like(wide[..., :1]) if is_rms else wide.mean(-1, keepdim=True)
    scale = 1.0 / torch.sqrt((wide - mean).square().mean(-1, keepdim=True) + epsilon)
    n = (wide - mean) * scale
    h = g if weight is None else g * weight.double()
    level = torch.zeros_like(mean) if is_rms else h.mean(-1, keepdim=True)
    dx = (scale * (h - level - n * (h * n).mean(-1, keepdim=True))).to(x.dtype)
    columns, leading = x.shape[-1], list(range(x.dim() - 1))
    dweight, dbias = ((g * n).sum(leading), g.sum(leading)) if leading else (g * n, g)
    dweight, dbias = dweight[: columns if sums > 0 else 0], dbias[: columns if sums > 1 else 0]
    return dx.contiguous(), dweight.to(x.dtype).contiguous(), dbias.to(x.dtype, copy=True).contiguous()
