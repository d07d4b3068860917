"""Runs a version of a ladder on CUDA tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch

from cuda_ops.errors import CudaOpsError
from cuda_ops.library.ladder import ELEMENTS, Element, Ladder, Problem, lanes_for
from cuda_ops.library.recorder import Control, Slot, record
from cuda_ops.runtime.gpu import GpuLauncher, launcher
from cuda_ops.runtime.launcher import F32, I32, Argument, Ptr
from cuda_ops.runtime.prepared import PreparedLaunch

ELEMENT_OF = {getattr(torch, element.name): element for element in ELEMENTS}
"""The element type of a torch dtype."""
Start = Callable[[Sequence[int]], None]


def run(
    ladder: Ladder,
    version: int,
    arrays: Sequence[torch.Tensor | None],
    rows: int,
    columns: int,
    epsilon: float = 0.0,
    has_rows: bool = True,
) -> None:
    """Run version `version` (0: the fastest) on dense `arrays`, in the ladder's order, of `rows` x `columns` elements.

    A flat operator has one row, and `has_rows` is False.
    """
    first = next(array for array in arrays if array is not None)
    addresses = [0 if array is None else array.data_ptr() for array in arrays]
    misaligned = 0
    for address in addresses:
        misaligned |= address & 15
    start = prepare(
        ladder.name,
        version,
        first.dtype,
        rows,
        columns,
        misaligned,
        first.get_device(),
        epsilon,
        tuple(name for name, array in zip(ladder.arrays, arrays, strict=True) if array is None),
        has_rows,
    )
    start(addresses)


@lru_cache(maxsize=4096)
def prepare(
    name: str,
    version: int,
    dtype: torch.dtype,
    rows: int,
    columns: int,
    misaligned: int,
    device: int,
    epsilon: float,
    absent: tuple[str, ...],
    has_rows: bool,
) -> Start:
    """The launches of ladder `name` for these sizes, ready to be started with the arrays' addresses.

    `misaligned` holds the lowest four bits that are set in any address.
    """
    from cuda_ops.library.catalogue import LADDERS

    ladder = next(ladder for ladder in LADDERS if ladder.name == name)
    element = ELEMENT_OF[dtype]
    lanes = lanes_for(element, [misaligned], columns if has_rows else None)
    problem = Problem(element, rows, columns, lanes, architecture(device), epsilon)
    return _prepared(ladder, version, problem, absent, device)


def _prepared(ladder: Ladder, number: int, problem: Problem, absent: tuple[str, ...], device: int) -> Start:
    version = ladder.choose(problem, number or None)
    kernels = launcher(ladder.source(version), device, version.fused_multiply_add)
    launches = record(ladder, version, problem, absent, kernels.resident_blocks)
    starts = [_start(kernels, launch) for launch in launches]

    def start(addresses: Sequence[int]) -> None:
        for one in starts:
            one(addresses)

    return start


def _start(kernels: GpuLauncher, launch: Any) -> Start:
    """Starts one recorded launch through cuda.core."""

    def start(addresses: Sequence[int]) -> None:
        values = [_filled(argument, addresses, kernels) for argument in launch.arguments]
        kernels.launch(launch.kernel, launch.grid, launch.block, values, cluster=launch.cluster)

    return start


class _Address:
    """An array of which only the address is known."""

    __slots__ = ("_address",)

    def __init__(self, address: int) -> None:
        self._address = address

    def data_ptr(self) -> int:
        return self._address


def _filled(argument: Argument, addresses: Sequence[int], kernels: GpuLauncher) -> Argument:
    if isinstance(argument, Ptr) and isinstance(argument.array, Slot):
        return Ptr(_Address(addresses[argument.array.index]))
    if isinstance(argument, Ptr) and isinstance(argument.array, Control):
        return Ptr(kernels.control_words())
    return argument


@lru_cache(maxsize=64)
def architecture(device: int) -> int:
    """90 for sm_90."""
    major, minor = torch.cuda.get_device_capability(device)
    return 10 * major + minor


def prepared_by_driver(ladder: Ladder, number: int, problem: Problem, device: int) -> tuple[PreparedLaunch, list[int]]:
    """The only launch of a version, started by the driver, and which of the ladder's arrays it takes the addresses of.

    Raises `CudaOpsError` for a version of several launches, or one that takes control words.
    """
    version = ladder.choose(problem, number or None)
    kernels = launcher(ladder.source(version), device, version.fused_multiply_add)
    launches = record(ladder, version, problem, (), kernels.resident_blocks)
    pointers = [argument.array for argument in launches[0].arguments if isinstance(argument, Ptr)]
    if len(launches) > 1 or any(isinstance(array, Control) for array in pointers):
        raise CudaOpsError(f"{ladder.name}: version {version.number} is not one launch on arrays alone")
    launch = launches[0]
    slots = [i for i, argument in enumerate(launch.arguments) if isinstance(argument, Ptr)]
    values = [_c_value(argument) for argument in launch.arguments]
    handle = kernels.handle(launch.kernel)
    prepared = PreparedLaunch(handle, launch.grid, launch.block, launch.cluster, values, slots)
    return prepared, [array.index for array in pointers]


def _c_value(argument: Argument) -> Any:
    if isinstance(argument, Ptr):
        return ctypes.c_void_p(0)
    if isinstance(argument, F32):
        return ctypes.c_float(argument.value)
    return (ctypes.c_int32 if isinstance(argument, I32) else ctypes.c_int64)(argument.value)


def element_of(operator: str, tensor: torch.Tensor) -> Element:
    """The element type of `tensor`; raises `CudaOpsError` for another dtype."""
    if tensor.dtype not in ELEMENT_OF:
        allowed = ", ".join(element.name for element in ELEMENTS)
        raise CudaOpsError(f"{operator}: x is {str(tensor.dtype).removeprefix('torch.')}, allowed are {allowed}")
    return ELEMENT_OF[tensor.dtype]


def check_like(operator: str, name: str, tensor: torch.Tensor, x: torch.Tensor, shape: Sequence[int]) -> None:
    """Raises `CudaOpsError` unless `tensor` has dtype and device of `x`, and that shape."""
    if tensor.dtype != x.dtype or tensor.device != x.device or tuple(tensor.shape) != tuple(shape):
        raise CudaOpsError(
            f"{operator}: {name} is {tensor.dtype} {tuple(tensor.shape)} on {tensor.device}, expected {x.dtype} "
            f"{tuple(shape)} on {x.device}"
        )
