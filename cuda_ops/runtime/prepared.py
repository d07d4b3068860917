"""Launches whose configuration and numbers are fixed, so that a call passes nothing but addresses.

Two ways to start one: through cuda.core, and through the driver by ctypes, which costs less CPU time.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.launcher import Dim3

CLUSTER_DIMENSION = 4
"""CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION."""


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


class PreparedLaunch:
    """One kernel, its configuration and its arguments; `slots` holds the places of the addresses among them.

    `arguments` are ctypes values, which belong to this object from now on.
    """

    def __init__(
        self, kernel: int, grid: Dim3, block: int, cluster: int, arguments: Sequence[Any], slots: Sequence[int]
    ) -> None:
        self._values = list(arguments)
        self._addresses = [self._values[slot] for slot in slots]
        self._pointers = (ctypes.c_void_p * len(self._values))(*map(ctypes.addressof, self._values))
        self._attribute = _Attribute(CLUSTER_DIMENSION, b"", cluster, 1, 1, b"")
        self._config = _Config(*grid, block, 1, 1, 0, None, ctypes.addressof(self._attribute), int(cluster > 1))
        self._kernel = ctypes.c_void_p(kernel)
        self._config_pointer = ctypes.byref(self._config)
        self._lock = threading.Lock()

    def __call__(self, addresses: Sequence[int], stream: int) -> None:
        """Start the kernel on the stream of that handle; raises `CudaOpsError` with the driver's code."""
        with self._lock:
            self._config.stream = stream
            for value, address in zip(self._addresses, addresses, strict=True):
                value.value = address
            error = _launch_kernel()(self._config_pointer, self._kernel, self._pointers, None)
        if error != 0:
            raise CudaOpsError(f"the driver cannot start a kernel: code {error}")


@cache
def _launch_kernel() -> Any:
    """cuLaunchKernelEx; the interpreter's lock is held, since the call does not wait."""
    function = ctypes.PyDLL("libcuda.so.1").cuLaunchKernelEx
    function.restype = ctypes.c_int
    return function
