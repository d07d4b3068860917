"""Launches with a fixed configuration and fixed numbers: a call only passes addresses to the driver."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import torch

from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.launcher import Dim3, TensorMap

CLUSTER_DIMENSION = 4
"""CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION."""
MAP_BYTES, MAP_ALIGNMENT = 128, 64
"""Size and alignment of a CUtensorMap, bytes."""
MAP_TYPES = {1: 0, 2: 1, 4: 2}
"""CU_TENSOR_MAP_DATA_TYPE_UINT8, UINT16 and UINT32 by bytes per element; the copy engine only copies elements."""
SWIZZLE_128B, L2_PROMOTION_128B = 3, 2
"""Values of CUtensorMapSwizzle and CUtensorMapL2promotion; a promotion of 256 bytes is slower for unaligned lines."""
INVALID_CONTEXT = 201
"""CUDA_ERROR_INVALID_CONTEXT: the thread has no context yet."""


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute, with the dimensions of a cluster as its value."""

    _fields_ = (
        ("id", ctypes.c_int),
        ("padding", ctypes.c_char * 4),
        ("x", ctypes.c_uint),
        ("y", ctypes.c_uint),
        ("z", ctypes.c_uint),
        ("rest", ctypes.c_char * 52),
    )


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid_x", ctypes.c_uint),
        ("grid_y", ctypes.c_uint),
        ("grid_z", ctypes.c_uint),
        ("block_x", ctypes.c_uint),
        ("block_y", ctypes.c_uint),
        ("block_z", ctypes.c_uint),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("attribute_count", ctypes.c_uint),
    )


class _Map:
    """The CUtensorMap of one argument; it is encoded again if the matrix's address has changed since the last call."""

    __slots__ = ("_matrix", "_room", "address", "place")

    def __init__(self, matrix: TensorMap) -> None:
        self._matrix = matrix
        self._room = (ctypes.c_char * (MAP_BYTES + MAP_ALIGNMENT))()
        begin = ctypes.addressof(self._room)
        self.place = begin + -begin % MAP_ALIGNMENT
        self.address = 0

    def point_to(self, address: int) -> None:
        """Encode the map for this address. Raises `CudaOpsError` with the driver's code if it rejects the matrix."""
        one = self._matrix
        lengths = [one.columns, one.rows, *(size for size, _ in one.more)]
        rank = len(lengths)
        pitches = [one.element_bytes * prod(lengths[:number]) for number in range(1, rank)]
        sizes, pitches_bytes = (ctypes.c_uint64 * rank)(*lengths), (ctypes.c_uint64 * (rank - 1))(*pitches)
        box = (ctypes.c_uint32 * rank)(one.box_columns, one.box_rows, *(size for _, size in one.more))
        steps = (ctypes.c_uint32 * rank)(*[1] * rank)
        error = _encode_map()(
            self.place,
            MAP_TYPES[one.element_bytes],
            rank,
            address,
            sizes,
            pitches_bytes,
            box,
            steps,
            0,
            SWIZZLE_128B,
            L2_PROMOTION_128B,
            0,
        )
        if error:
            raise CudaOpsError(f"the driver makes no tensor map of {one.rows} x {one.columns}: code {error}")
        self.address = address


class _Call:
    """The memory that one call passes to the driver: configuration, addresses, and pointers to the arguments."""

    __slots__ = ("_attribute", "_values", "addresses", "config", "config_pointer", "maps", "pointers")

    def __init__(
        self, grid: Dim3, block: int, cluster: int, values: list[Any], slots: Sequence[int], shared_bytes: int
    ) -> None:
        self.addresses = (ctypes.c_uint64 * len(slots))()
        self._values = values
        self.maps: list[tuple[int, _Map]] = []
        places = [0 if isinstance(value, TensorMap) else ctypes.addressof(value) for value in values]
        for number, slot in enumerate(slots):
            if isinstance(values[slot], TensorMap):
                one = _Map(values[slot])
                places[slot] = one.place
                self.maps.append((number, one))
            else:
                places[slot] = ctypes.addressof(self.addresses) + number * ctypes.sizeof(ctypes.c_uint64)
        self.pointers = (ctypes.c_void_p * len(places))(*places)
        self._attribute = _Attribute(CLUSTER_DIMENSION, b"", cluster, 1, 1, b"")
        attribute = ctypes.addressof(self._attribute)
        self.config = _Config(*grid, block, 1, 1, shared_bytes, None, attribute, int(cluster > 1))
        self.config_pointer = ctypes.byref(self.config)


class PreparedLaunch:
    """One kernel on one device, with its configuration and its arguments.

    * `kernel`: the driver's handle.
    * `arguments`: ctypes values, which this object owns from now on, and tensor maps.
    * `slots`: indices of the arguments that a call passes as addresses; each tensor map has one.

    Several threads may call it at the same time: each call takes memory from a list and returns it. Both operations are
    one step of the interpreter and need no lock (47 ns instead of 391 ns).
    """

    def __init__(
        self,
        kernel: int,
        device: int,
        grid: Dim3,
        block: int,
        cluster: int,
        arguments: Sequence[Any],
        slots: Sequence[int],
        shared_bytes: int = 0,
    ) -> None:
        self._shape = grid, block, cluster, list(arguments), tuple(slots), shared_bytes
        self._idle = [_Call(*self._shape)]
        self._kernel = ctypes.c_void_p(kernel)
        self._device = device
        self._fill = struct.Struct(f"{len(slots)}Q").pack_into
        self._launch = _launch_kernel()
        self._stream_of = torch._C._cuda_getCurrentRawStream
        """Returns the stream's handle; `torch.cuda.current_stream` makes an object, which takes 20 times as long."""

    def __call__(self, *addresses: int) -> None:
        """Start the kernel on torch's current stream; its device must be torch's current device.

        Raises `CudaOpsError` with the driver's code if it cannot be started.
        """
        try:
            call = self._idle.pop()
        except IndexError:
            call = _Call(*self._shape)
        call.config.stream = self._stream_of(self._device)
        self._fill(call.addresses, 0, *addresses)
        for number, one in call.maps:
            if one.address != addresses[number]:
                one.point_to(addresses[number])
        error = self._launch(call.config_pointer, self._kernel, call.pointers, None)
        if error == INVALID_CONTEXT:
            enter_context(self._device)
            error = self._launch(call.config_pointer, self._kernel, call.pointers, None)
        self._idle.append(call)
        if error:
            raise CudaOpsError(f"the driver cannot start a kernel: code {error}")


def enter_context(device: int) -> None:
    """Set the context of this thread to torch's context on `device`, as torch does before its own first launch.

    A thread of torch's autograd has no context before torch's first launch in it.
    """
    from cuda.bindings import driver

    if int(driver.cuCtxGetCurrent()[1] or 0) != 0:
        return
    error, context = driver.cuDevicePrimaryCtxRetain(driver.CUdevice(device))
    if int(error) == 0:
        (error,) = driver.cuCtxSetCurrent(context)
    if int(error) != 0:
        raise CudaOpsError(f"the driver gives no context on GPU {device}: code {int(error)}")


@cache
def _launch_kernel() -> Any:
    """cuLaunchKernelEx; it is called with the interpreter's lock held, because it does not wait."""
    function = ctypes.PyDLL("libcuda.so.1").cuLaunchKernelEx
    function.restype = ctypes.c_int
    return function


@cache
def _encode_map() -> Any:
    """cuTensorMapEncodeTiled."""
    function = ctypes.PyDLL("libcuda.so.1").cuTensorMapEncodeTiled
    function.restype = ctypes.c_int
    integer, pointer = ctypes.c_int, ctypes.c_void_p
    function.argtypes = (pointer, integer, ctypes.c_uint32, pointer, *[pointer] * 4, *[integer] * 4)
    return function
