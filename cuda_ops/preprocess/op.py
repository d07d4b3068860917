"""`preprocess` on torch tensors."""

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
) -> torch.Tensor:
    """Letterboxed RGB in 0..1, (N, 3, height, width) of `dtype`, of N pictures that may differ in size.

    `pictures`: (H, W, 4) uint8 BGRA, or (H * 3 / 2, W) uint8 NV12 with even H and W (`matrix`: "bt601", "bt709").
    Bilinear with pixel centres at half, border 114. Raises `CudaOpsError`.
    """
    if not pictures:
        raise CudaOpsError("preprocess: pictures is empty, expected at least one")
    if dtype not in DTYPES or picture_format not in ("bgra", "nv12") or matrix not in MATRICES:
        raise CudaOpsError(
            f"preprocess: dtype {dtype}, format {picture_format!r}, matrix {matrix!r}; allowed are float16 or float32, "
            "'bgra' or 'nv12', 'bt601' or 'bt709'"
        )
    check_number("preprocess", "height", height, 1, host.SIZE_MAX)
    check_number("preprocess", "width", width, 1, host.SIZE_MAX)
    checked = [_checked(index, picture, picture_format, pictures[0]) for index, picture in enumerate(pictures)]
    result: torch.Tensor = _preprocess(checked, height, width, picture_format, dtype, matrix)
    return result


def _checked(index: int, picture: torch.Tensor, picture_format: Format, like: torch.Tensor) -> torch.Tensor:
    shape: list[int | str] = ["H", "W", 4] if picture_format == "bgra" else ["3H/2", "W"]
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
    pictures: list[torch.Tensor], height: int, width: int, picture_format: Format, dtype: torch.dtype, matrix: str
) -> torch.Tensor:
    out = torch.empty((len(pictures), 3, height, width), dtype=dtype, device=pictures[0].device)
    kernels = launcher("preprocess", out.get_device())
    host.run(kernels, pictures, out, picture_format, dtype == torch.float16, MATRICES[matrix])
    return out


def _cpu(
    pictures: list[torch.Tensor], height: int, width: int, picture_format: Format, dtype: torch.dtype, matrix: str
) -> torch.Tensor:
    arrays = [picture.numpy() for picture in pictures]
    return torch.from_numpy(
        reference.preprocess(arrays, height, width, picture_format, DTYPES[dtype], MATRICES[matrix])
    )


def _fake(
    pictures: list[torch.Tensor], height: int, width: int, picture_format: str, dtype: torch.dtype, matrix: str
) -> torch.Tensor:
    return pictures[0].new_empty((len(pictures), 3, height, width), dtype=dtype)


_preprocess = register(
    "preprocess(Tensor[] pictures, int height, int width, str picture_format, ScalarType dtype, str matrix) -> Tensor",
    _gpu,
    _cpu,
    _fake,
)
