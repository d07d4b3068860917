"""CPU reference of the attention kernel, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuda_ops.attend.host import HEAD, KEY, VALUE


def attend(qkv: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any]) -> NDArray[np.float64]:
    """Attention of `qkv` (N, H, W, 128 heads), `weights` (64 heads, 3, 3), `bias` (64 heads,): (N, H, W, 64 heads)."""
    images, height, width, channels = qkv.shape
    heads = channels // HEAD
    parts = qkv.astype(np.float64).reshape(images, height * width, heads, HEAD)
    query, key, value = parts[..., :KEY], parts[..., KEY : 2 * KEY], parts[..., 2 * KEY :]
    scores = np.einsum("iphk,iqhk->ihpq", query, key) * KEY**-0.5
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = np.einsum("ihpq,iqhv->iphv", powers / powers.sum(axis=-1, keepdims=True), value)
    picture = value.reshape(images, height, width, heads * VALUE)
    padded = np.pad(picture, ((0, 0), (1, 1), (1, 1), (0, 0)))
    out = mixed.reshape(picture.shape) + bias.astype(np.float64)
    for dy in range(3):
        for dx in range(3):
            out += padded[:, dy : dy + height, dx : dx + width] * weights[:, dy, dx].astype(np.float64)
    return np.asarray(out)
