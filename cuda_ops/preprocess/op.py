"""Letterbox and normalisation of camera pictures for a network, on torch tensors."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from cuda_ops.errors import CudaOpsError
from cuda_ops.preprocess import host, reference
from cuda_ops.preprocess.host import Format
from cuda_ops.runtime.checks import check, check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register

DTYPES = {torch.float16: "float16", torch.float32: "float32"}
MATRICES = {"bt601": host.BT601, "bt709": host.BT709}


def preprocess(
    pictures: Sequence[torch.Tensor],
    height: int,
    width: int,
    picture_format: Format = "bgra",
    dtype: torch.dtype = torch.float16,
    matrix: str = "bt601",
    corner: tuple[int, int] | None = None,
    is_packed: bool = False,
) -> torch.Tensor:
    """Letterbox N pictures, which may differ in size, to RGB in 0..1: (N, 3, height, width) of `dtype`.

    * `pictures`: uint8, (H, W, 4) BGRA, (H, W, 3) BGR, or (H * 3 / 2, W) NV12 with even H and W.
    * `matrix`: conversion of NV12, "bt601" or "bt709".
    * `corner` (height, width): scale the pictures to this size in the upper left corner, and round them to bytes.
    * `is_packed`: the result has 8 channels in float16, the last five zero, channels last.

    Interpolation is bilinear with pixel centres at 0.5; the border is 114. Raises `CudaOpsError` for other arguments.
    """
    if not pictures:
        raise CudaOpsError("preprocess: pictures is empty, expected at least one")
    if dtype not in DTYPES or picture_format not in host.BYTES or matrix not in MATRICES:
        raise CudaOpsError(
            f"preprocess: dtype {dtype}, format {picture_format!r}, matrix {matrix!r}; allowed are float16 or float32, "
            "'bgra', 'bgr' or 'nv12', 'bt601' or 'bt709'"
        )
    if is_packed and dtype != torch.float16:
        raise CudaOpsError(f"preprocess: packed as {dtype}, allowed is float16")
    check_number("preprocess", "height", height, 1, host.SIZE_MAX)
    check_number("preprocess", "width", width, 1, host.SIZE_MAX)
    for side, most in zip(corner or (), (height, width), strict=False):
        check_number("preprocess", "corner", side, 1, most)
    checked = [_checked(index, picture, picture_format, pictures[0]) for index, picture in enumerate(pictures)]
    result: torch.Tensor = _preprocess(
        checked, height, width, picture_format, dtype, matrix, list(corner or ()), is_packed
    )
    return result


def _checked(index: int, picture: torch.Tensor, picture_format: Format, like: torch.Tensor) -> torch.Tensor:
    shape: list[int | str] = ["3H/2", "W"] if picture_format == "nv12" else ["H", "W", host.BYTES[picture_format]]
    picture = check("preprocess", f"pictures[{index}]", picture, [torch.uint8], shape, like)
    if max(picture.shape[:2]) > host.SIZE_MAX:
        raise CudaOpsError(
            f"preprocess: pictures[{index}] is {tuple(picture.shape)}, at most {host.SIZE_MAX} px a side"
        )
    if picture_format == "nv12" and (picture.shape[0] % 3 or picture.shape[1] % 2):
        raise CudaOpsError(
            f"preprocess: pictures[{index}] is {tuple(picture.shape)}, NV12 has an even height and width"
        )
    return picture


def _gpu(
    pictures: list[torch.Tensor],
    height: int,
    width: int,
    picture_format: Format,
    dtype: torch.dtype,
    matrix: str,
    corner: list[int],
    is_packed: bool,
) -> torch.Tensor:
    shape = (len(pictures), height, width, 8) if is_packed else (len(pictures), 3, height, width)
    out = torch.empty(shape, dtype=dtype, device=pictures[0].device)
    output: host.Output = "packed" if is_packed else ("half" if dtype == torch.float16 else "float")
    host.run(launcher("preprocess", out.get_device()), pictures, out, picture_format, output, MATRICES[matrix], corner)
    return out.permute(0, 3, 1, 2) if is_packed else out


def _cpu(
    pictures: list[torch.Tensor],
    height: int,
    width: int,
    picture_format: Format,
    dtype: torch.dtype,
    matrix: str,
    corner: list[int],
    is_packed: bool,
) -> torch.Tensor:
    arrays = [picture.numpy() for picture in pictures]
    made = torch.from_numpy(
        reference.preprocess(arrays, height, width, picture_format, DTYPES[dtype], MATRICES[matrix], corner)
    )
    if is_packed:
        made = torch.nn.functional.pad(made, (0, 0, 0, 0, 0, 5)).contiguous(memory_format=torch.channels_last)
    return made


def _fake(
    pictures: list[torch.Tensor],
    height: int,
    width: int,
    picture_format: str,
    dtype: torch.dtype,
    matrix: str,
    corner: list[int],
    is_packed: bool,
) -> torch.Tensor:
    if is_packed:
        return pictures[0].new_empty((len(pictures), height, width, 8), dtype=dtype).permute(0, 3, 1, 2)
    return pictures[0].new_empty((len(pictures), 3, height, width), dtype=dtype)


_preprocess = register(
    "preprocess(Tensor[] pictures, int height, int width, str picture_format, ScalarType dtype, str matrix, "
    "int[] corner, bool is_packed) -> Tensor",
    _gpu,
    _cpu,
    _fake,
)
