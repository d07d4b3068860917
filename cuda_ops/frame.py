"""One CUDA graph per frame, started by one launch: uploads, GPU operators (networks included), and downloads."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from cuda_ops.errors import CudaOpsError
from cuda_ops.exchange import host as exchange
from cuda_ops.runtime.gpu import launcher, why_no_gpu

if TYPE_CHECKING:
    from cuda_ops.staging import Carrier, Way

Program = Callable[..., Sequence[torch.Tensor]]
WARM_UPS = 3
"""Eager runs of the program before it is captured."""


class FrameGraph:
    """A program captured once as a CUDA graph; each `run` replays it without allocating and synchronises once.

    `program` takes one GPU tensor per input and returns the tensors to download. It must not synchronise, branch on
    values or draw random numbers. On a machine where kernels cannot run, `run` calls it on CPU tensors. Two replays
    with the same input give the same bits. Several threads may call `upload_one` at the same time for different inputs;
    all other methods are for one thread at a time.

    The first `handed` inputs are passed to each `run` as arrays in any host memory. On Linux with at least four cores,
    several threads copy them through pinned memory (`staging`); otherwise the driver uploads them directly. The graph
    itself uploads the remaining inputs, which the caller writes to `inputs`.

    Raises `CudaOpsError` for an unknown `device`, or for 'cuda' on a machine without usable kernels.
    """

    def __init__(self, program: Program, inputs: Sequence[NDArray[Any]], device: str = "auto", handed: int = 0) -> None:
        if device not in ("auto", "cuda", "cpu"):
            raise CudaOpsError(f"frame graph: device {device!r}; allowed are 'auto', 'cuda', 'cpu'")
        reason = "cpu was asked for" if device == "cpu" else why_no_gpu()
        if device == "cuda" and reason is not None:
            raise CudaOpsError(f"frame graph: device 'cuda', but {reason}")
        self.on_gpu = reason is None
        self._program, self._handed = program, handed
        self._given: dict[int, NDArray[Any]] = {}
        self._arrays: list[NDArray[Any]] = []
        self._carrier: Carrier | None = None
        self._ways: list[Way] = []
        self._host = [torch.from_numpy(np.array(array)) for array in inputs]
        if self.on_gpu:
            self._capture()
        self.inputs: list[NDArray[Any]] = [tensor.numpy() for tensor in self._host[handed:]]
        """The inputs that the graph uploads, in pinned memory if there is a GPU: write to them, then call `run`."""

    def run(self, *pictures: NDArray[Any]) -> list[NDArray[Any]]:
        """Run the program on `pictures` and `inputs`; returns views of its results, which the next `run` overwrites.

        Without `pictures`, the pictures of the last `upload` are used. Raises `CudaOpsError` if their number, shapes or
        dtypes differ from those of the captured graph.
        """
        if pictures:
            self.upload(*pictures)
        self.launch()
        return self.wait()

    def upload(self, *pictures: NDArray[Any]) -> None:
        """Upload all handed inputs; the caller must not change them until the results have arrived."""
        if len(pictures) != self._handed:
            raise CudaOpsError(f"frame graph: {len(pictures)} pictures, expected {self._handed}")
        for number, picture in enumerate(pictures):
            self.upload_one(number, picture)

    def upload_one(self, number: int, picture: NDArray[Any]) -> None:
        """Upload one handed input, from any thread; the caller must not change it until the results have arrived."""
        wanted = self._host[number] if number < self._handed else torch.empty(0)
        expected = tuple(wanted.shape), wanted.numpy().dtype
        if (picture.shape, picture.dtype) != expected:
            raise CudaOpsError(
                f"frame graph: a picture is {(picture.shape, picture.dtype)}, the graph was captured for {expected}"
            )
        dense = np.ascontiguousarray(picture)
        if not self.on_gpu:
            self._host[number] = torch.from_numpy(dense)
            return
        if self._carrier is None:
            self._send(number, dense)
            return
        error, is_read_there = self._carrier.carry(dense, self._host[number].numpy(), self._ways[number])
        if error != 0:
            raise CudaOpsError(f"frame graph: the driver answers {error} to an upload")
        if is_read_there:
            self._given[number] = dense

    def _send(self, number: int, dense: NDArray[Any]) -> None:
        """Upload a handed input by the driver, directly from its own memory."""
        from cuda.bindings import driver

        _of(driver.cuCtxSetCurrent(self._context))  # a thread that has not called torch yet has no context
        stream, to = self._stream.cuda_stream, self._device[number].data_ptr()
        _of(driver.cuStreamSynchronize(stream))  # the previous upload may still be in flight
        _of(driver.cuMemcpyHtoDAsync(to, dense.ctypes.data, dense.nbytes, stream))
        self._given[number] = dense  # keep it alive: if it is pinned, the copy is still reading it

    def launch(self) -> None:
        """Start a frame on the uploaded inputs and return at once; `run` is `launch` followed by `wait`."""
        if self.on_gpu:
            self._start()
        else:
            self._arrays = [tensor.numpy() for tensor in self._program(*self._host)]

    def wait(self) -> list[NDArray[Any]]:
        """Wait for the last `launch` and return its results, as `run` does."""
        if self.on_gpu:
            self._stream.synchronize()
        return self._arrays

    def _capture(self) -> None:
        from cuda.bindings import driver

        self._host = [tensor.pin_memory() for tensor in self._host]
        if sys.platform == "linux":
            from cuda_ops.staging import carrier

            self._carrier = carrier()
        self._stream = torch.cuda.Stream()
        self._context = _of(driver.cuCtxGetCurrent())
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            self._device = [tensor.cuda(non_blocking=True) for tensor in self._host]
            for _ in range(WARM_UPS):
                outputs = self._program(*self._device)
            self._results = [torch.empty(out.shape, dtype=out.dtype, pin_memory=True) for out in outputs]
        self._stream.synchronize()
        self._graph = torch.cuda.CUDAGraph(keep_graph=True)
        with uncollected(), torch.cuda.graph(self._graph, stream=self._stream):
            _copy(list(zip(self._host, self._device, strict=True))[self._handed :])
            _copy(list(zip(self._program(*self._device), self._results, strict=True)))
        self._arrays = [tensor.numpy() for tensor in self._results]
        if self._carrier is not None:
            self._ways = self._upload_ways()
        self._start = self._instantiated(self._graph.raw_cuda_graph())

    def _upload_ways(self) -> list[Way]:
        """For each handed input, the `Way` by which `staging` sends its parts to the GPU on the frame's stream."""
        from cuda_ops.staging import Way

        names = b"cuMemcpyHtoDAsync", b"cuCtxSetCurrent", b"cuStreamSynchronize", b"cuPointerGetAttribute"
        send, enter, settle, kind = (_address(name) for name in names)
        stream, context = int(self._stream.cuda_stream), int(self._context)
        return [
            Way(send, tensor.data_ptr(), stream, enter, context, settle, kind)
            for tensor in self._device[: self._handed]
        ]

    def _instantiated(self, graph: int) -> Callable[[], None]:
        """Instantiate the captured graph; returns a function that starts it by one driver call with prepared handles.

        For torch's own replay the stream must be made current first, which takes longer than the launch.
        """
        from cuda.bindings import driver

        executable = _of(driver.cuGraphInstantiate(driver.CUgraph(graph), 0))
        weakref.finalize(self, driver.cuGraphExecDestroy, executable).atexit = False
        stream = driver.CUstream(self._stream.cuda_stream)
        _of(driver.cuGraphUpload(executable, stream))
        self._stream.synchronize()

        def start() -> None:
            error = driver.cuGraphLaunch(executable, stream)[0]
            if int(error) != 0:
                raise CudaOpsError(f"frame graph: the driver answers {error}")

        return start


def _copy(pairs: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> None:
    """Copy the first tensor of each pair to the second, one of which is pinned; one kernel copies all small tensors."""
    small: list[tuple[torch.Tensor, torch.Tensor]] = []
    for source, target in pairs:
        if source.nbytes <= exchange.BYTES_MAX:
            small.append((source.contiguous(), target))
        else:
            target.copy_(source, non_blocking=True)
    if small:
        exchange.run(launcher("exchange", torch.cuda.current_device()), small)


class Branch:
    """A part of a program that runs on a second stream: `with branch.beside():` and, later, `branch.join()`.

    The branch's inputs must be computed before `beside`; its outputs may be read after `join`. Without a GPU the branch
    runs in line.
    """

    def __init__(self) -> None:
        self._stream = torch.cuda.Stream() if torch.cuda.is_available() else None
        self._is_open = False

    @contextmanager
    def beside(self) -> Iterator[None]:
        if self._stream is None:
            yield
            return
        self._stream.wait_stream(torch.cuda.current_stream())
        self._is_open = True
        with torch.cuda.stream(self._stream):
            yield

    def join(self) -> None:
        if self._is_open and self._stream is not None:  # waiting for a stream outside the capture would be an error
            torch.cuda.current_stream().wait_stream(self._stream)
        self._is_open = False


@contextmanager
def uncollected() -> Iterator[None]:
    """Context in which Python's garbage collector is disabled, after one collection on entry.

    A capture fails if the collector frees the graph and memory of an earlier frame during it.
    """
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _address(name: bytes) -> int:
    """Address of a driver function, in the version that CUDA 12.0 defines."""
    from cuda.bindings import driver

    flags = driver.CUdriverProcAddress_flags.CU_GET_PROC_ADDRESS_DEFAULT
    error, place, _ = driver.cuGetProcAddress(name, 12000, flags)
    return int(_of((error, place)))


def _of(answer: tuple[Any, ...]) -> Any:
    """The result of a driver call; raises `CudaOpsError` if the call failed."""
    error, *result = answer
    if int(error) != 0:
        raise CudaOpsError(f"frame graph: the driver answers {error}")
    return result[0] if result else None
