"""Kernels compiled as C++ and run on the CPU: a `Launcher` over numpy arrays."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from av_core.disk_cache import key_of
from cuda_ops.runtime.cache import KernelCache, default_folder
from cuda_ops.runtime.compiler import INCLUDE, KernelSource
from cuda_ops.runtime.launcher import F32, I32, I64, Argument, Dim3

CONTROL_WORDS = 128
FLAGS = ("-std=c++17", "-Og", "-g0", "-shared", "-fPIC", "-ffp-contract=off", "-w")
"""-O1 compiles for nearly twice as long, and what it compiles runs 10 % faster, which is less than that."""

RESIDENT_BLOCKS = 6
"""Small, so that cooperative kernels have more work than blocks and their loops are tested."""


def find_compiler() -> str:
    """A C++ compiler's path; skips the test where there is none."""
    for name in (os.environ.get("CXX"), "g++", "clang++", "c++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    pytest.skip("no C++ compiler (g++, clang++ or $CXX): the kernels' logic cannot be run on the CPU")


def build(source: KernelSource, folder: Path) -> ctypes.CDLL:
    """The kernels of `source` as a shared library, from the cache where it was built before."""
    flags = [f"-D{name}" for name in source.definitions]
    return _build(source.text(), source.text(), (*source.kernels(), *source.instances), flags, folder)


def build_together(sources: Sequence[KernelSource], folder: Path) -> ctypes.CDLL:
    """The instances of several sources in one library: the compiler reads the shim and the headers once for all."""
    unit = "".join(f'#include "{source.path}"\n' for source in sources)
    content = "".join(source.text() for source in sources)
    kernels = tuple(dict.fromkeys(instance for source in sources for instance in source.instances))
    return _build(unit, content, kernels, [f"-I{INCLUDE}"], folder)


def _build(unit: str, content: str, kernels: Sequence[str], more_flags: Sequence[str], folder: Path) -> ctypes.CDLL:
    """A library of the `kernels` of one translation unit; the cache's key has the unit's `content`, headers and all."""
    compiler = find_compiler()
    text = f'#include "{INCLUDE / "shim.hpp"}"\n{unit}\n'
    text += "".join(
        f'extern "C" int count_{symbol(name)}() {{ return shim::count(&{name}); }}\n'
        f'extern "C" void run_{symbol(name)}(unsigned gx, unsigned gy, unsigned gz, unsigned threads, unsigned shared, '
        f"int cooperative, unsigned cluster, void** a) {{\n    shim::run({{gx, gy, gz}}, {{threads, 1, 1}}, shared, "
        f"cooperative, cluster, [&] {{ shim::call(&{name}, a); }});\n}}\n"
        for name in kernels
    )
    flags = [*FLAGS, *more_flags]
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True, text=True).stdout
    key = key_of([text, content, (INCLUDE / "shim.hpp").read_text(), *flags, version])

    def make() -> bytes:
        source, library = folder / f"{key[:16]}.cpp", folder / f"{key[:16]}.made.so"
        source.write_text(text)
        done = subprocess.run([compiler, *flags, str(source), "-o", str(library)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:4000]
        return library.read_bytes()

    payload = KernelCache(default_folder() / "cpu").get(key, make)
    path = folder / f"{key[:16]}.so"
    path.write_bytes(payload)
    return ctypes.CDLL(str(path))


def symbol(kernel: str) -> str:
    """The kernel's name, or the template with its arguments, as a name in C."""
    return re.sub(r"\W+", "_", kernel).strip("_")


class ShimLauncher:
    """Runs kernels of one source on numpy arrays, at once."""

    def __init__(self, library: ctypes.CDLL, resident_blocks: int = RESIDENT_BLOCKS) -> None:
        self.library = library
        self._resident = resident_blocks
        self._control = np.zeros(CONTROL_WORDS, np.uint32)
        self._control[0] = 0x80000000  # a grid barrier before left its word so, or 0

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
        assert grid[0] % cluster == 0
        values: list[Any] = [_value(argument) for argument in arguments]
        wanted = getattr(self.library, f"count_{symbol(kernel)}")()
        assert wanted == len(values), f"{kernel} takes {wanted} arguments, not {len(values)}"
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        run = getattr(self.library, f"run_{symbol(kernel)}")
        run(*grid, block, shared_bytes, int(cooperative), cluster, pointers)
        assert not self._control[1:].any(), f"{kernel} left its counters dirty: {self._control}"
        assert cooperative or self._control[0] == 0x80000000, f"{kernel} wrote the barrier's word: {self._control}"

    def resident_blocks(self, kernel: str, block: int, shared_bytes: int = 0, cluster: int = 1) -> int:
        return self._resident

    def control_words(self) -> np.ndarray[Any, Any]:
        return self._control


def _value(argument: Argument) -> Any:
    if isinstance(argument, I32):
        return ctypes.c_int32(argument.value)
    if isinstance(argument, I64):
        return ctypes.c_int64(argument.value)
    if isinstance(argument, F32):
        return ctypes.c_float(argument.value)
    if argument.array is None:
        return ctypes.c_void_p(0)
    assert argument.array.flags.c_contiguous
    return ctypes.c_void_p(argument.array.ctypes.data)
