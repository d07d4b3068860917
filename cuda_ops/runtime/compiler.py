"""Compiles a kernel's source by NVRTC through cuda.core; needs no GPU, no driver and no nvcc."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path

from av_core.disk_cache import key_of
from cuda_ops.errors import CompilerMissingError, CudaOpsError
from cuda_ops.runtime.cache import KernelCache, default_folder

PACKAGE = Path(__file__).resolve().parent.parent
INCLUDE = PACKAGE / "include"
INSTALL_HINT = "in the project's folder run: pip install -c constraints.txt -e '.[cuda]'"
_LOCAL_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"[^\n]*$', re.MULTILINE)
_KERNEL_NAME = re.compile(r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\s*\(')


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A file of kernels with its compiler options, which are part of the cache key.

    * `name`: folder of an operator, which holds kernel.cu; or the path of another .cu file in the package, without
      ".cu".
    * `definitions`: preprocessor definitions.
    * `fused_multiply_add`: whether the compiler may contract a * b + c to a fused multiply-add.
    * `instances`: instances of template kernels to compile, as C++ names ("softmax_warp<float, 4, 8, 4>").
    """

    name: str
    definitions: tuple[str, ...] = ()
    fused_multiply_add: bool = False
    instances: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        folder = PACKAGE / self.name
        return folder / "kernel.cu" if folder.is_dir() else folder.with_suffix(".cu")

    def text(self) -> str:
        """The source with the package's own headers inlined, so that the cache key covers them."""
        return _with_includes(self.path, set())

    def kernels(self) -> tuple[str, ...]:
        """Names of the `extern "C" __global__` functions."""
        return tuple(_KERNEL_NAME.findall(self.text()))


def compile_cubin(source: KernelSource, architecture: str, cache_folder: Path | None = None) -> bytes:
    """Machine code (cubin) of `source` for `architecture` ("sm_90a"), from the cache or compiled.

    If `source` has an instance, the machine code is preceded by the instance's name in it and a zero byte
    (`compile_instance`). Raises `CompilerMissingError` with the reason if NVRTC cannot be used, and `CudaOpsError` with
    NVRTC's log if the source does not compile.
    """
    text = source.text()
    toolkit = toolkit_version()
    options = [*source.definitions, str(source.fused_multiply_add), *source.instances]
    key = key_of([text, *options, architecture, toolkit])
    return KernelCache(cache_folder or default_folder()).get(key, lambda: _compile(source, text, architecture))


def compile_instance(
    source: KernelSource, instance: str, architecture: str, cache_folder: Path | None = None
) -> tuple[bytes, str]:
    """(machine code of one template kernel of `source`, the kernel's name in it). Raises as `compile_cubin` does."""
    cubin = compile_cubin(replace(source, instances=(instance,)), architecture, cache_folder)
    name, _, code = cubin.partition(b"\0")
    return code, name.decode()


@cache
def toolkit_version() -> str:
    """The versions of NVRTC and cuda.core. Raises `CompilerMissingError` if one of them cannot be used."""
    try:
        from cuda.bindings import nvrtc
        from cuda.core import Program  # noqa: F401 - imported to check that it can be
    except ImportError as error:
        raise CompilerMissingError(f"cuda.core is not usable ({_first_line(error)}); {INSTALL_HINT}") from None
    try:
        result, major, minor = nvrtc.nvrtcVersion()
    except RuntimeError as error:  # pathfinder's DynamicLibNotFoundError derives from it
        raise CompilerMissingError(f"NVRTC is not found ({_first_line(error)}); {INSTALL_HINT}") from None
    if int(result) != 0:
        raise CompilerMissingError(f"NVRTC does not answer (code {int(result)}); {INSTALL_HINT}")
    return f"nvrtc {major}.{minor} cuda.core {metadata.version('cuda-core')}"


def _compile(source: KernelSource, text: str, architecture: str) -> bytes:
    from cuda.core import Program, ProgramOptions

    options = ProgramOptions(
        name=f"{source.name.replace('/', '_')}.cu",
        std="c++17",
        arch=architecture,
        fma=source.fused_multiply_add,
        define_macro=list(source.definitions) or None,
        lineinfo=True,
    )
    try:
        made = Program(text, "c++", options).compile("cubin", name_expressions=source.instances)
    except Exception as error:
        raise CudaOpsError(
            f"{source.path.name} of {source.name} does not compile for {architecture}: {error}"
        ) from error
    if not source.instances:
        return bytes(made.code)
    (mangled,) = made.symbol_mapping.values()
    return (mangled if isinstance(mangled, bytes) else str(mangled).encode()) + b"\0" + bytes(made.code)


def _with_includes(path: Path, seen: set[Path]) -> str:
    seen.add(path)

    def put_in(match: re.Match[str]) -> str:
        target = _find(path, match.group(1), (path.parent, INCLUDE))
        return "" if target in seen else _with_includes(target, seen)

    return _LOCAL_INCLUDE.sub(put_in, path.read_text(encoding="utf-8"))


def _find(path: Path, name: str, folders: Sequence[Path]) -> Path:
    for folder in folders:
        if (folder / name).is_file():
            return (folder / name).resolve()
    raise CudaOpsError(f"{path}: no header {name!r} beside it or in {INCLUDE}")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
