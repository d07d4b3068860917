"""The convolution with no GPU: the reference's results, what does not fit, and the machine code of its versions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.errors import CudaOpsError  # noqa: E402
from cuda_ops.library.convolve.ladder import CONVOLVE, patches, tile_of_columns, tile_of_patches  # noqa: E402
from cuda_ops.library.convolve.op import convolve  # noqa: E402
from cuda_ops.library.ladder import BFLOAT16, Problem, Version, Window  # noqa: E402
from cuda_ops.library.recorder import record  # noqa: E402
from cuda_ops.runtime.compiler import KernelSource, compile_instance  # noqa: E402
from tests.cuda_ops.library.test_ladder_machine_code import disassembler, nvrtc  # noqa: E402, F401

WINDOW = Window(1, 40, 40, 256, 3, 3)
PROBLEM = Problem(BFLOAT16, 1600, 1024, 8, 90, depth=2304, b_is_transposed=True, window=WINDOW)
LARGE = Problem(BFLOAT16, 102400, 1024, 8, 90, depth=2304, b_is_transposed=True, window=Window(16, 80, 80, 256, 3, 3))


def test_the_cpu_gives_what_torch_gives() -> None:
    generator = torch.Generator().manual_seed(1)
    x, weight, bias = (torch.randn(size, generator=generator).half() for size in ((2, 5, 7, 9), (6, 5, 3, 1), (6,)))
    found = convolve(x, weight, bias)
    wanted = torch.nn.functional.conv2d(x.double(), weight.double(), bias.double(), padding=(1, 0))
    torch.testing.assert_close(found.double(), wanted, rtol=1e-3, atol=1e-3)
    assert found.is_contiguous(memory_format=torch.channels_last)
    torch.library.opcheck(torch.ops.av_stack.library_convolve.default, (x, weight, bias, 0))


def test_what_does_not_fit_is_named() -> None:
    x = torch.zeros((1, 8, 4, 4), dtype=torch.bfloat16)
    with pytest.raises(CudaOpsError, match="windows of odd sizes"):
        convolve(x, x.new_zeros((8, 8, 2, 2)))
    with pytest.raises(CudaOpsError, match=r"expected torch.bfloat16 \(8, 8, 3, 3\)"):
        convolve(x, x.new_zeros((8, 9, 3, 3)))
    with pytest.raises(CudaOpsError, match="a is float32"):
        convolve(x.float(), x.float())


def test_patches_cover_the_picture() -> None:
    assert patches(WINDOW) == 25
    assert patches(Window(2, 9, 17, 8, 1, 1)) == 12
    assert not any(version.can_run(Problem(BFLOAT16, 64, 64, 8, 90, depth=64)) for version in CONVOLVE.versions)


@pytest.mark.parametrize(
    ("channels", "size", "of_columns", "of_patches"),
    [(64, 160, 64, 64), (128, 80, 128, 128), (256, 40, 256, 256), (512, 20, 256, 192)],
)
@pytest.mark.parametrize("taps", [1, 3, 5])
def test_a_tile_is_as_narrow_as_the_result(
    channels: int, size: int, of_columns: int, of_patches: int, taps: int
) -> None:
    """However long the matrix of windows would take to come from memory."""
    window = Window(16, size, size, channels, taps, taps)
    rows, depth = 16 * size * size, channels * taps * taps
    problem = Problem(BFLOAT16, rows, channels, 8, 90, depth=depth, b_is_transposed=True, window=window)
    assert tile_of_columns(problem).columns == of_columns
    assert tile_of_patches(problem).columns == of_patches


@pytest.mark.parametrize("version", CONVOLVE.versions, ids=lambda version: version.name)
def test_the_machine_code_is_what_the_version_is_about(nvrtc: str, version: Version, tmp_path: Path) -> None:  # noqa: F811
    program, text = disassembler(), ""
    assert version.can_run(LARGE)
    for launch in record(CONVOLVE, version, LARGE):
        file = tmp_path / "kernel.cubin"
        source = KernelSource(CONVOLVE.source(version), fused_multiply_add=version.fused_multiply_add)
        file.write_bytes(compile_instance(source, launch.kernel, "sm_90a")[0])
        text += subprocess.run([program, "-c", str(file)], capture_output=True, text=True, check=True).stdout
    for instruction in version.instructions:
        assert instruction in text
    assert "LDL" not in text
    assert "STL" not in text
