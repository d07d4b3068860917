"""Runs a version of a ladder on CUDA tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch.autograd import forward_ad

from cuda_ops.errors import CudaOpsError
from cuda_ops.library.ladder import (
    ALL_ELEMENTS,
    ELEMENTS,
    ONE,
    Batch,
    Element,
    Ladder,
    Problem,
    Window,
    lanes_for,
    line_of,
)
from cuda_ops.library.recorder import Control, Launch, record
from cuda_ops.runtime.gpu import GpuLauncher, launcher, why_no_gpu
from cuda_ops.runtime.launcher import Ptr, TensorMap
from cuda_ops.runtime.prepared import enter_context

ELEMENT_OF = {getattr(torch, element.name): element for element in ALL_ELEMENTS}
"""The element type of a torch dtype."""
PREPARED_MAX = 4096
"""Maximum number of prepared calls in the cache; there is one for each operator, version, type, size and alignment."""
Start = Callable[..., None]
"""Starts the launches of a version; its arguments are the addresses of the ladder's arrays, 0 for absent ones."""
_PLAIN = (torch.Tensor, torch.nn.Parameter)


def is_direct(x: torch.Tensor, *more: torch.Tensor | None) -> bool:
    """Whether a call may start its kernel without torch's dispatcher, which takes as long as the launch.

    This is an eager call on a GPU without a gradient, a trace or an active mode of torch.
    """
    if torch.compiler.is_compiling() or type(x) not in _PLAIN or not x.is_cuda:
        return False
    needs_grad = x.requires_grad
    for tensor in more:
        if tensor is not None:
            if type(tensor) not in _PLAIN:
                return False
            needs_grad = needs_grad or tensor.requires_grad
    return not (
        (needs_grad and torch.is_grad_enabled())
        or torch._C._len_torch_dispatch_stack()
        or torch._C._len_torch_function_stack()
        or torch._C._functorch.peek_interpreter_stack() is not None
        or torch._C._get_tracing_state() is not None
        or forward_ad._current_level >= 0
        or why_no_gpu() is not None
    )


def run(
    ladder: Ladder,
    version: int,
    x: torch.Tensor,
    addresses: Sequence[int],
    rows: int,
    columns: int,
    epsilon: float = 0.0,
    absent: tuple[str, ...] = (),
    depth: int = 0,
    transposed: tuple[bool, bool] = (False, False),
    batch: Batch = ONE,
    window: Window | None = None,
) -> None:
    """Run version `version` (0: the fastest) on dense arrays at `addresses`, in the ladder's order.

    `x` is one of the arrays; it gives type and device. An array named in `absent` has the address 0. The other
    arguments are those of `Problem`; a flat operator has one row, and `transposed` is for `a` and `b`.
    """
    low = 0
    for address in addresses:
        low |= address
    device = x.get_device()
    start = prepare(
        ladder, version, x.dtype, rows, columns, low & 15, device, epsilon, absent, depth, transposed, batch, window
    )
    if device == torch._C._cuda_getDevice():
        start(*addresses)
    else:
        with torch.cuda.device(device):
            start(*addresses)


@lru_cache(maxsize=PREPARED_MAX)
def prepare(
    ladder: Ladder,
    version: int,
    dtype: torch.dtype,
    rows: int,
    columns: int,
    misaligned: int,
    device: int,
    epsilon: float,
    absent: tuple[str, ...],
    depth: int = 0,
    transposed: tuple[bool, bool] = (False, False),
    batch: Batch = ONE,
    window: Window | None = None,
) -> Start:
    """The launches of a version for these sizes, ready to be started.

    `misaligned` holds the lowest four bits of all addresses, combined by OR. Raises `CudaOpsError` for an unsupported
    type, or a version that cannot run.
    """
    element = ELEMENT_OF[dtype]
    line = None if ladder.is_flat else line_of(rows, columns, depth, transposed)
    lanes = lanes_for(element, [misaligned], line)
    problem = Problem(element, rows, columns, lanes, architecture(device), epsilon, depth, *transposed, batch, window)
    chosen = ladder.choose(problem, version or None)
    enter_context(device)
    with torch.cuda.device(device):
        kernels = launcher(ladder.source(chosen), device, chosen.fused_multiply_add)
        launches = record(ladder, chosen, problem, absent, kernels.resident_blocks)
        starts = [_start(kernels, launch, len(ladder.arrays)) for launch in launches]
    if len(starts) == 1:
        return starts[0]

    def start(*addresses: int) -> None:
        for one in starts:
            one(*addresses)

    return start


def _start(kernels: GpuLauncher, launch: Launch, arrays: int) -> Start:
    """A function that starts one recorded launch; `arrays` is the number of the ladder's arrays."""
    pointers = {
        place: argument.array
        for place, argument in enumerate(launch.arguments)
        if isinstance(argument, Ptr | TensorMap) and argument.array is not None
    }
    prepared = kernels.prepare(
        launch.kernel, launch.grid, launch.block, launch.arguments, list(pointers), launch.shared_bytes, launch.cluster
    )
    sources = [arrays if isinstance(array, Control) else array.index for array in pointers.values()]
    if sources == list(range(arrays)):
        return prepared
    if arrays in sources:

        def start_with_control(*addresses: int) -> None:
            known = (*addresses, kernels.control_address())
            prepared(*[known[source] for source in sources])

        return start_with_control
    return lambda *addresses: prepared(*[addresses[source] for source in sources])


@lru_cache(maxsize=64)
def architecture(device: int) -> int:
    """The architecture of torch's CUDA device `device` as a number: 90 for sm_90."""
    major, minor = torch.cuda.get_device_capability(device)
    return 10 * major + minor


def _element(operator: str, dtype: torch.dtype) -> Element:
    if ELEMENT_OF.get(dtype) not in ELEMENTS:
        allowed = ", ".join(element.name for element in ELEMENTS)
        raise CudaOpsError(f"{operator}: x is {str(dtype).removeprefix('torch.')}, allowed are {allowed}")
    return ELEMENT_OF[dtype]


def check_element(operator: str, tensor: torch.Tensor) -> None:
    """Raise `CudaOpsError` unless the library supports the dtype of `tensor`."""
    _element(operator, tensor.dtype)


def check_rows(operator: str, x: torch.Tensor) -> None:
    """Raise `CudaOpsError` unless `x` has a supported dtype and at least one dimension."""
    _element(operator, x.dtype)
    if x.dim() == 0:
        raise CudaOpsError(f"{operator}: x has no dimension, expected at least one")


def check_like(operator: str, name: str, tensor: torch.Tensor, x: torch.Tensor, shape: Sequence[int]) -> None:
    """Raise `CudaOpsError` unless `tensor` has the dtype and device of `x`, and the shape `shape`."""
    if tensor.shape != shape or tensor.dtype != x.dtype or tensor.device != x.device:
        raise CudaOpsError(
            f"{operator}: {name} is {tensor.dtype} {tuple(tensor.shape)} on {tensor.device}, expected {x.dtype} "
            f"{tuple(shape)} on {x.device}"
        )


def check_dtype(operator: str, a: torch.Tensor, allowed: Sequence[torch.dtype]) -> None:
    """Raise `CudaOpsError` unless the first matrix has one of the dtypes `allowed`."""
    if a.dtype not in allowed:
        names = [str(dtype).removeprefix("torch.") for dtype in (a.dtype, *allowed)]
        verb = "is" if len(allowed) == 1 else "are"
        raise CudaOpsError(f"{operator}: a is {names[0]}, allowed {verb} {' and '.join(names[1:])}")


def check_factors(operator: str, a: torch.Tensor, b: torch.Tensor, allowed: Sequence[torch.dtype]) -> None:
    """Raise `CudaOpsError` unless `a` and `b` are matrices that can be multiplied, of one of the dtypes `allowed`."""
    check_dtype(operator, a, allowed)
    if a.dim() != 2 or b.dim() != 2:
        raise CudaOpsError(f"{operator}: a has shape {tuple(a.shape)} and b {tuple(b.shape)}, expected two dimensions")
    check_like(operator, "b", b, a, (a.shape[1], b.shape[1]))


def as_it_lies(x: torch.Tensor) -> tuple[torch.Tensor, bool]:
    """(the matrix or batch, whether it is in memory column by column); copied if it is neither by rows nor columns."""
    if x.is_contiguous():
        return x, False
    return (x, True) if x.mT.is_contiguous() else (x.contiguous(), False)


def scratch_for(ladder: Ladder, problem: Problem, device: Any) -> dict[str, torch.Tensor]:
    """The scratch arrays of one call."""
    return {name: torch.empty(size(problem), dtype=torch.uint8, device=device) for name, size in ladder.scratch.items()}
