"""Arguments for the registered operators of the library, and derivatives by torch: for the CPU and for a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from cuda_ops.library.activation.op import relu, sigmoid
from cuda_ops.library.add.op import add
from cuda_ops.library.linear.op import linear
from cuda_ops.library.matmul.op import matmul
from cuda_ops.library.matmul_batches.op import matmul_batches, matmul_half_batches
from cuda_ops.library.matmul_half.op import matmul_half
from cuda_ops.library.matmul_parts.op import matmul_parts
from cuda_ops.library.matmul_sparse.packing import pack, two_of_four
from cuda_ops.library.matmul_tf32.op import matmul_tf32
from cuda_ops.library.norm.op import layer_norm, rms_norm
from cuda_ops.library.norm_residual.op import residual_layer_norm, residual_rms_norm
from cuda_ops.library.norm_softmax.op import layer_norm_softmax
from cuda_ops.library.reduce.op import dot, max_of, mean_of, sum_of
from cuda_ops.library.softmax.op import log_softmax, softmax

EPSILON = 1e-5
OPS = torch.ops.av_stack

DIFFERENTIABLE: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "add": (add, torch.add, ((7, 5), (7, 5))),
    "relu": (relu, torch.relu, ((7, 5),)),
    "sigmoid": (sigmoid, torch.sigmoid, ((7, 5),)),
    "sum": (sum_of, torch.sum, ((7, 5),)),
    "dot": (dot, torch.dot, ((35,), (35,))),
    "max": (max_of, torch.max, ((7, 5),)),
    "mean": (mean_of, torch.mean, ((7, 5),)),
    "softmax": (softmax, lambda x: functional.softmax(x, -1), ((3, 4, 5),)),
    "log_softmax": (log_softmax, lambda x: functional.log_softmax(x, -1), ((3, 4, 5),)),
    "layer_norm": (
        layer_norm,
        lambda x, weight, bias: functional.layer_norm(x, x.shape[-1:], weight, bias, EPSILON),
        ((3, 4, 8), (8,), (8,)),
    ),
    "residual_layer_norm": (
        lambda *x: sum(residual_layer_norm(*x)),
        lambda x, r, weight, bias: x + r + functional.layer_norm(x + r, x.shape[-1:], weight, bias, EPSILON),
        ((3, 4, 8), (3, 4, 8), (8,), (8,)),
    ),
    "residual_rms_norm": (
        lambda *x: sum(residual_rms_norm(*x)),
        lambda x, r, weight: x + r + functional.rms_norm(x + r, x.shape[-1:], weight, EPSILON),
        ((3, 4, 8), (3, 4, 8), (8,)),
    ),
    "layer_norm_softmax": (
        layer_norm_softmax,
        lambda x, weight, bias: functional.softmax(functional.layer_norm(x, x.shape[-1:], weight, bias, EPSILON), -1),
        ((3, 4, 8), (8,), (8,)),
    ),
    "layer_norm of x alone": (
        lambda x: layer_norm(x),
        lambda x: functional.layer_norm(x, x.shape[-1:], eps=EPSILON),
        ((6, 9),),
    ),
    "layer_norm without bias": (
        lambda x, weight: layer_norm(x, weight),
        lambda x, weight: functional.layer_norm(x, x.shape[-1:], weight, eps=EPSILON),
        ((6, 9), (9,)),
    ),
    "rms_norm": (rms_norm, lambda x, w: functional.rms_norm(x, x.shape[-1:], w, EPSILON), ((3, 4, 8), (8,))),
    "matmul": (matmul, torch.matmul, ((7, 5), (5, 6))),
    "matmul_parts": (matmul_parts, torch.matmul, ((7, 5), (5, 6))),
    "matmul_tf32": (matmul_tf32, torch.matmul, ((7, 5), (5, 6))),
    "matmul_half": (matmul_half, lambda a, b, bias: a @ b + bias, ((7, 5), (5, 6), (6,))),
    "matmul_batches": (
        lambda a, b, c: matmul_batches(a, b, c, 0.5, -2.0),
        lambda a, b, c: 0.5 * a @ b - 2.0 * c,
        ((3, 5, 5), (3, 5, 5), (3, 5, 5)),
    ),
    "matmul_batches of one b": (matmul_batches, torch.matmul, ((3, 7, 5), (5, 6))),
    "matmul_batches of one a": (matmul_batches, torch.matmul, ((7, 5), (3, 5, 6))),
    "matmul_half_batches": (
        lambda a, b, bias, c: matmul_half_batches(a, b, bias, c, 0.5, -2.0),
        lambda a, b, bias, c: 0.5 * a @ b + bias - 2.0 * c,
        ((3, 5, 5), (3, 5, 5), (5,), (3, 5, 5)),
    ),
    "matmul_half_batches of one b": (matmul_half_batches, torch.matmul, ((3, 8, 8), (8, 8))),
    "linear": (linear, functional.linear, ((3, 4, 8), (6, 8), (6,))),
    "linear without bias": (linear, functional.linear, ((16, 8), (8, 8))),
    "rms_norm of x alone": (
        lambda x: rms_norm(x),
        lambda x: functional.rms_norm(x, x.shape[-1:], None, EPSILON),
        ((6, 9),),
    ),
}
"""Each operator, torch's, and the shapes of the arguments."""
DTYPES: dict[str, tuple[torch.dtype, ...]] = {
    "matmul": (torch.float32,),
    "matmul_parts": (torch.float32,),
    "matmul_tf32": (torch.float32,),
    "matmul_half": (torch.bfloat16, torch.float16),
    "matmul_batches": (torch.float32,),
    "matmul_batches of one b": (torch.float32,),
    "matmul_batches of one a": (torch.float32,),
    "matmul_half_batches": (torch.bfloat16, torch.float16),
    "matmul_half_batches of one b": (torch.bfloat16, torch.float16),
}
"""The dtypes of operators that do not take all."""
ROUGH = {"matmul_tf32": 5e-3}
"""Of gradients of operators that are rougher than their dtype, on a GPU."""
UNCHECKED = {"matmul_fp8"}
"""torch checks a registration by multiplying arguments, which fails here; its registration is that of matmul_int8."""
FUSED_SUMS = ("matmul_residual", "matmul_relu", "matmul_silu")
FUSED = {*FUSED_SUMS, "matmul_softmax", "matmul_layer_norm"}
UNDIFFERENTIABLE = {"matmul_fp8", "matmul_int8", "matmul_sparse", *FUSED}
"""Operators without a derivative."""
IN_FLOAT32 = [
    name for name in DIFFERENTIABLE if torch.float32 in DTYPES.get(name, (torch.float32,)) and name not in ROUGH
]
TOLERANCES = {torch.float32: 2e-6, torch.float16: 4e-3, torch.bfloat16: 3e-2}
"""Of gradients beside torch's in double precision."""


def dtype_of(name: str) -> torch.dtype:
    """float32, or the first dtype that the operator takes."""
    return DTYPES.get(name, (torch.float32,))[0]


def arguments(shapes: tuple[tuple[int, ...], ...], device: str, dtype: torch.dtype = torch.float32) -> list[Any]:
    """Random arguments that want gradients, none of them near 0, where ReLU has no derivative."""
    generator = torch.Generator().manual_seed(len(shapes))
    made = []
    for shape in shapes:
        x = torch.randn(shape, generator=generator)
        made.append((x + 0.2 * x.sign()).to(device, dtype).requires_grad_())
    return made


def registered(device: str) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Every registered operator of the library with arguments, for `torch.library.opcheck`."""

    def tensor(*shape: int, wants: bool = True) -> torch.Tensor:
        generator = torch.Generator().manual_seed(sum(shape))
        return torch.randn(shape, generator=generator).to(device).requires_grad_(wants)

    def half(*tensors: torch.Tensor) -> list[torch.Tensor]:
        return [one.detach().bfloat16().requires_grad_() for one in tensors]

    x, weight, vector = tensor(6, 16), tensor(16), tensor(35)
    gradient, y = tensor(6, 16, wants=False), tensor(6, 16, wants=False)
    plain = tensor(16, wants=False)
    halves = gradient.bfloat16(), gradient.T.bfloat16()
    sparse = pack(two_of_four(halves[0]))
    return {
        "add": (OPS.library_add, (x, tensor(6, 16), 0)),
        "relu": (OPS.library_relu, (x, 0)),
        "sigmoid": (OPS.library_sigmoid, (x, 0)),
        "sum": (OPS.library_sum, (x, 0)),
        "max": (OPS.library_max, (x, 0)),
        "mean": (OPS.library_mean, (x, 0)),
        "dot": (OPS.library_dot, (vector, tensor(35), 0)),
        "matmul": (OPS.library_matmul, (x, tensor(16, 9), 0)),
        "matmul_parts": (OPS.library_matmul_parts, (x, tensor(16, 9), 0)),
        "matmul_tf32": (OPS.library_matmul_tf32, (x, tensor(16, 9), 0)),
        **{name: (getattr(OPS, f"library_{name}"), (*halves, plain[:6].bfloat16(), None, 0)) for name in FUSED_SUMS},
        "matmul_softmax": (OPS.library_matmul_softmax, (*halves, plain[:6].bfloat16(), 0)),
        "matmul_layer_norm": (
            OPS.library_matmul_layer_norm,
            (*halves, None, plain[:6].bfloat16(), plain[6:12].bfloat16(), EPSILON, 0),
        ),
        "matmul_int8": (
            OPS.library_matmul_int8,
            (gradient.to(torch.int8), gradient.T.to(torch.int8), plain[:6].clone(), None, 0),
        ),
        "matmul_half": (OPS.library_matmul_half, (*half(x, tensor(16, 9), tensor(9)), 0)),
        "matmul_sparse": (
            OPS.library_matmul_sparse,
            (sparse.values, sparse.pattern, halves[1], plain[:6].bfloat16(), 0),
        ),
        "matmul_batches": (
            OPS.library_matmul_batches,
            (tensor(2, 6, 16), tensor(2, 16, 9), tensor(2, 6, 9), 0.5, 2.0, 0),
        ),
        "matmul_half_batches": (
            OPS.library_matmul_half_batches,
            (*half(tensor(2, 6, 16), tensor(16, 9), tensor(9), tensor(2, 6, 9)), 0.5, 2.0, 0),
        ),
        "matmul_half without bias": (OPS.library_matmul_half, (*half(x, tensor(16, 9)), None, 0)),
        "softmax": (OPS.library_softmax, (x, 0)),
        "log_softmax": (OPS.library_log_softmax, (x, 0)),
        "layer_norm": (OPS.library_layer_norm, (x, weight, tensor(16), EPSILON, 0)),
        "residual_layer_norm": (OPS.library_residual_layer_norm, (x, tensor(6, 16), weight, tensor(16), EPSILON, 0)),
        "residual_rms_norm": (OPS.library_residual_rms_norm, (x, tensor(6, 16), weight, None, EPSILON, 0)),
        "layer_norm_softmax": (OPS.library_layer_norm_softmax, (x, weight, tensor(16), EPSILON, 0)),
        "layer_norm of x alone": (OPS.library_layer_norm, (x, None, None, EPSILON, 0)),
        "rms_norm": (OPS.library_rms_norm, (x, weight, EPSILON, 0)),
        "relu_backward": (OPS.library_relu_backward, (gradient, y, 0)),
        "sigmoid_backward": (OPS.library_sigmoid_backward, (gradient, y, 0)),
        "softmax_backward": (OPS.library_softmax_backward, (gradient, y, 0)),
        "log_softmax_backward": (OPS.library_log_softmax_backward, (gradient, y, 0)),
        "layer_norm_backward": (OPS.library_layer_norm_backward, (gradient, y, plain, EPSILON, 2, 0)),
        "layer_norm_backward of x alone": (OPS.library_layer_norm_backward, (gradient, y, None, EPSILON, 0, 0)),
        "rms_norm_backward": (OPS.library_rms_norm_backward, (gradient, y, plain, EPSILON, 1, 0)),
    }


def check_gradients(name: str, device: str, dtype: torch.dtype) -> None:
    """The gradients are torch's, which are computed in double precision from the same numbers."""
    tolerance = max(TOLERANCES[dtype], ROUGH.get(name, 0.0) if device == "cuda" else 0.0)
    ours, theirs, shapes = DIFFERENTIABLE[name]
    inputs = arguments(shapes, device, dtype)
    wide = [x.detach().double().requires_grad_() for x in inputs]
    out, exact = ours(*inputs), theirs(*wide)
    weights = torch.randn(exact.shape, generator=torch.Generator().manual_seed(1)).to(device, dtype)
    out.backward(weights)
    exact.backward(weights.double())
    for x, one in zip(inputs, wide, strict=True):
        torch.testing.assert_close(x.grad.double(), one.grad, rtol=tolerance, atol=tolerance)


def check_numerically(name: str, device: str) -> None:
    """`torch.autograd.gradcheck` in float32: differences of results; twice, with equal bits."""
    ours, _, shapes = DIFFERENTIABLE[name]
    inputs = tuple(arguments(shapes, device))
    assert torch.autograd.gradcheck(ours, inputs, eps=1e-2, atol=2e-3, rtol=2e-3, nondet_tol=0.0, fast_mode=False)


def check_compiled(name: str, device: str, backend: str) -> None:
    """One graph for all sizes, forward and backward, with the gradients of the eager call."""
    ours, _, shapes = DIFFERENTIABLE[name]
    torch.compiler.reset()
    compiled = torch.compile(lambda *x: ours(*x) * 1.0, backend=backend, fullgraph=True, dynamic=True)
    for factor in (1, 2, 3):
        grown = tuple((shape[0] * factor, *shape[1:]) if shape == shapes[0] else shape for shape in shapes)
        inputs, others = (arguments(grown, device, dtype_of(name)) for _ in range(2))
        ours(*inputs).sum().backward()
        compiled(*others).sum().backward()
        for x, one in zip(inputs, others, strict=True):
            torch.testing.assert_close(x.grad, one.grad, rtol=1e-5, atol=1e-6)
