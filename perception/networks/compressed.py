"""Makes weights files smaller without loss; `torch.load` and `ultralytics.YOLO` read them as before.

PyTorch reads a compressed record of a checkpoint, though it writes none: `deflate` compresses them. The bytes of a
large fp16 weight hardly compress together, but the high ones do (sign, exponent, first two bits of the mantissa). So
`save_in_halves` stores high and low bytes apart. Such a weight is pickled as the call `join(version, high, low)`.
"""

from __future__ import annotations

import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np
import torch

VERSION = 1
"""Version of the format of halves; files of a later version are refused."""

SMALLEST = 4096
"""Minimum number of values of a weight that is stored in another form; smaller weights are only 1/40 of the file."""


def deflate(path: Path) -> None:
    """Compress the records of a checkpoint in place; `torch.load` reads them, except with `mmap=True`."""
    with TemporaryDirectory(dir=path.parent) as work:
        made = Path(work) / path.name
        with zipfile.ZipFile(path) as plain, zipfile.ZipFile(made, "w") as small:
            for name in plain.namelist():
                record = zipfile.ZipInfo(name)  # without a time, so that equal weights make equal files
                small.writestr(record, plain.read(name), zipfile.ZIP_DEFLATED, compresslevel=9)
        os.replace(made, path)


def save_in_halves(checkpoint: dict[str, Any], path: Path) -> None:
    """Write an ultralytics checkpoint to `path`, compressed; its large fp16 weights as high and low bytes."""
    torch.save(checkpoint, path, pickle_module=pickle_module(_Pickler))
    deflate(path)


def halves(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The high and the low bytes of an fp16 weight, each uint8 of its shape."""
    pairs = weight.detach().contiguous()[..., None].view(torch.uint8)
    return pairs[..., 1].clone(), pairs[..., 0].clone()


def join(version: int, high: torch.Tensor, low: torch.Tensor) -> torch.nn.Parameter:
    """The fp16 weight of its `halves`; called while a file is read.

    Raises ValueError if `version` is not `VERSION`.
    """
    if version != VERSION:
        raise ValueError(f"weights in halves of version {version}, while this code reads version {VERSION}")
    # numpy, because torch shares even this among threads, which takes 10 times as long on a busy processor
    pairs = np.stack((low.numpy(), high.numpy()), axis=-1)
    return torch.nn.Parameter(torch.from_numpy(pairs.view(np.float16)[..., 0]), requires_grad=False)


def is_large(value: Any) -> bool:
    """Whether `value` is a weight that is stored in another form."""
    return isinstance(value, torch.nn.Parameter) and value.ndim > 1 and value.numel() >= SMALLEST


def pickle_module(pickler: type[pickle.Pickler]) -> ModuleType:
    """A module with the parts of `pickle` that `torch.save` uses, and `pickler`."""
    module = ModuleType("weights_pickle")
    module.Pickler = pickler  # type: ignore[attr-defined]
    return module


class _Pickler(pickle.Pickler):
    """Pickles each large fp16 weight as a call of `join`."""

    def reducer_override(self, value: Any) -> tuple[Callable[..., Any], tuple[Any, ...]] | Any:
        if is_large(value) and value.dtype == torch.half:
            return join, (VERSION, *halves(value))
        return NotImplemented
