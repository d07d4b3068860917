"""Launches kernels on a GPU, on torch's current stream, through cuda.core."""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from typing import Any

import torch

from cuda_ops.errors import CompilerMissingError, CudaOpsError
from cuda_ops.runtime.compiler import INSTALL_HINT, KernelSource, compile_cubin, compile_instance, toolkit_version
from cuda_ops.runtime.control import control
from cuda_ops.runtime.launcher import F32, I32, I64, Argument, Dim3, Ptr, TensorMap
from cuda_ops.runtime.prepared import PreparedLaunch

LOG = logging.getLogger(__name__)
DRIVER_MIN = 13000
"""Minimum CUDA version of the driver: 13.0."""
SHARED_UNASKED = 40 << 10
"""Dynamic shared memory that needs no request to the driver, bytes: 48 kB per block minus the static arrays."""


@cache
def why_no_gpu() -> str | None:
    """One line that says why the kernels cannot run on this machine, or None if they can; the reason is logged once."""
    reason = _reason()
    if reason is not None:
        LOG.warning("no CUDA kernels, everything runs on the CPU path: %s", reason)
    return reason


def _reason() -> str | None:
    if not torch.cuda.is_available():
        return "torch sees no GPU"
    try:
        toolkit_version()
        from cuda.bindings import driver

        result, version = driver.cuDriverGetVersion()
    except (CompilerMissingError, RuntimeError) as error:
        return str(error).splitlines()[0]
    if int(result) != 0 or version < DRIVER_MIN:
        return f"the driver speaks CUDA {version // 1000}.{version % 1000 // 10}, 13.0 or newer is needed"
    if torch.cuda.get_device_capability() < (7, 5):
        return f"{torch.cuda.get_device_name()} is older than sm_75"
    return None


def architecture_of(device: int) -> str:
    """NVRTC's architecture name for torch's CUDA device `device`; on Hopper "sm_90a", for its own instructions."""
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}" + ("a" if (major, minor) == (9, 0) else "")


class GpuLauncher:
    """A `Launcher` for the kernels of one source on one GPU; created by `launcher`.

    A template kernel is compiled when it is first used.
    """

    def __init__(self, source: KernelSource, device: int) -> None:
        self._device = device
        self._source = source
        self._architecture = architecture_of(device)
        self._kernels: dict[str, Any] = {}
        self._resident: dict[tuple[str, int, int, int], int] = {}
        self._shared: dict[str, int] = {}
        self._can_start_early = torch.cuda.get_device_capability(device) >= (9, 0)

    def launch(
        self,
        kernel: str,
        grid: Dim3,
        block: int,
        arguments: Sequence[Argument],
        shared_bytes: int = 0,
        cooperative: bool = False,
        early: bool = False,
        cluster: int = 1,
    ) -> None:
        from cuda.core import launch

        if any(isinstance(argument, TensorMap) for argument in arguments):
            self._launch_with_maps(kernel, grid, block, arguments, shared_bytes, cluster)
            return
        stream = _stream(torch.cuda.current_stream(self._device).cuda_stream)
        config = _config(grid, block, shared_bytes, cooperative, early and self._can_start_early, cluster)
        if shared_bytes > self._shared.get(kernel, SHARED_UNASKED):
            self._request_shared(kernel, shared_bytes)
        launch(stream, config, self._kernel(kernel), *[_value(argument) for argument in arguments])

    def _launch_with_maps(
        self, kernel: str, grid: Dim3, block: int, arguments: Sequence[Argument], shared_bytes: int, cluster: int
    ) -> None:
        arrays = {
            place: argument.array
            for place, argument in enumerate(arguments)
            if isinstance(argument, Ptr | TensorMap) and argument.array is not None
        }
        start = self.prepare(kernel, grid, block, arguments, list(arrays), shared_bytes, cluster)
        start(*[array.data_ptr() for array in arrays.values()])

    def resident_blocks(self, kernel: str, block: int, shared_bytes: int = 0, cluster: int = 1) -> int:
        key = (kernel, block, shared_bytes, cluster)
        if key not in self._resident:
            if shared_bytes > self._shared.get(kernel, SHARED_UNASKED):
                self._request_shared(kernel, shared_bytes)
            self._resident[key] = self._count_resident(self._kernel(kernel).occupancy, block, shared_bytes, cluster)
        return self._resident[key]

    def _count_resident(self, occupancy: Any, block: int, shared_bytes: int, cluster: int) -> int:
        if cluster > 1:
            config = _config((cluster, 1, 1), block, shared_bytes, False, False, cluster)
            stream = _stream(torch.cuda.current_stream(self._device).cuda_stream)
            return cluster * int(occupancy.max_active_clusters(config, stream=stream))
        processors = torch.cuda.get_device_properties(self._device).multi_processor_count
        return int(occupancy.max_active_blocks_per_multiprocessor(block, shared_bytes)) * processors

    def prepare(
        self,
        kernel: str,
        grid: Dim3,
        block: int,
        arguments: Sequence[Argument],
        slots: Sequence[int],
        shared_bytes: int = 0,
        cluster: int = 1,
    ) -> PreparedLaunch:
        """A prepared launch of `kernel`; a call passes addresses for the arguments at `slots`, the others are fixed."""
        if shared_bytes > self._shared.get(kernel, SHARED_UNASKED):
            self._request_shared(kernel, shared_bytes)
        values = [_c_value(argument) for argument in arguments]
        handle = int(self._kernel(kernel).handle)
        return PreparedLaunch(handle, self._device, grid, block, cluster, values, slots, shared_bytes)

    def control_words(self) -> torch.Tensor:
        return control(self._device).get()

    def control_address(self) -> int:
        """The address of the control words of the current stream, or of the next captured launch."""
        return int(control(self._device).get().data_ptr())

    def _request_shared(self, kernel: str, shared_bytes: int) -> None:
        from cuda.bindings import driver

        what = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        handle = driver.CUkernel(int(self._kernel(kernel).handle))
        error = driver.cuKernelSetAttribute(what, shared_bytes, handle, driver.CUdevice(self._device))[0]
        if int(error) != 0:
            raise CudaOpsError(f"{kernel}: {shared_bytes} bytes of shared memory, but the driver answers {error}")
        self._shared[kernel] = shared_bytes

    def _kernel(self, name: str) -> Any:
        if name not in self._kernels:
            self._kernels[name] = self._instance(name) if "<" in name else self._code.get_kernel(name)
        return self._kernels[name]

    @cached_property
    def _code(self) -> Any:
        from cuda.core import ObjectCode

        return ObjectCode.from_cubin(compile_cubin(self._source, self._architecture), name=self._source.name)

    def _instance(self, name: str) -> Any:
        from cuda.core import ObjectCode

        cubin, mangled = compile_instance(self._source, name, self._architecture)
        return ObjectCode.from_cubin(cubin, name=name).get_kernel(mangled)


@cache
def launcher(name: str, device: int, fused_multiply_add: bool = False) -> GpuLauncher:
    """The launcher of the kernels in `KernelSource(name)`. Raises `CudaOpsError` if they cannot run on this machine."""
    reason = why_no_gpu()
    if reason is not None:
        raise CudaOpsError(f"{name}: {reason}; {INSTALL_HINT}")
    return GpuLauncher(KernelSource(name, fused_multiply_add=fused_multiply_add), device)


@lru_cache(maxsize=4096)
def _config(grid: Dim3, block: int, shared_bytes: int, cooperative: bool, early: bool, cluster: int) -> Any:
    from cuda.core import LaunchConfig

    return LaunchConfig(
        grid=(grid[0] // cluster, *grid[1:]),  # in cuda.core the grid is counted in clusters
        cluster=cluster if cluster > 1 else None,
        block=block,
        shmem_size=shared_bytes,
        is_cooperative=cooperative,
        programmatic_stream_serialization=early,
    )


@lru_cache(maxsize=256)
def _stream(handle: int) -> Any:
    from cuda.core import Stream

    return Stream.from_handle(handle)


def _c_value(argument: Argument) -> Any:
    if isinstance(argument, Ptr):
        return ctypes.c_void_p(0)
    return argument if isinstance(argument, TensorMap) else _value(argument)


def _value(argument: Argument) -> Any:
    if isinstance(argument, I32):
        return ctypes.c_int32(argument.value)
    if isinstance(argument, I64):
        return ctypes.c_int64(argument.value)
    if isinstance(argument, F32):
        return ctypes.c_float(argument.value)
    return 0 if argument.array is None else argument.array.data_ptr()
