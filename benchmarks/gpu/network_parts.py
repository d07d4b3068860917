"""Benchmark of the kernels that make up the detector's network, at its sizes, and of torch's."""

from __future__ import annotations

from functools import partial

import torch

from benchmarks.gpu.timing import Bench, Peer
from cuda_ops.attend.op import attend
from cuda_ops.best_rows.op import best_rows
from cuda_ops.bias_silu.op import bias_silu
from cuda_ops.conv.op import conv
from cuda_ops.max_pool.op import max_pools


def bench_network_parts(bench: Bench) -> None:
    x = torch.randn((1, 128, 48, 80), device="cuda").half().to(memory_format=torch.channels_last)
    bias = torch.randn(128, device="cuda").half()
    peers = {"torch, two kernels": Peer(lambda: torch.nn.functional.silu(x + bias[:, None, None]))}
    bench.add("bias and SiLU, 128 channels of 80x48 fp16", lambda: bias_silu(x, bias), 4 * x.numel(), None, peers)
    small = torch.randn((1, 256, 12, 20), device="cuda").half().to(memory_format=torch.channels_last)

    def torch_pools() -> torch.Tensor:
        parts = [small]
        for _ in range(3):
            parts.append(torch.nn.functional.max_pool2d(parts[-1], 5, 1, 2))
        return torch.cat(parts, 1)

    name = "three max pools 5x5 beside the picture, 256 channels of 20x12 fp16"
    bench.add(name, lambda: max_pools(small, 5, 3), 10 * small.numel(), None, {"torch": Peer(torch_pools)})
    for size, channels, (height, width) in ((3, 64, (24, 40)), (1, 512, (12, 20)), (3, 128, (12, 20))):
        bench_conv(bench, size, channels, height, width)
    bench_attend(bench)
    bench_head(bench)


def bench_conv(bench: Bench, size: int, channels: int, height: int, width: int) -> None:
    x = torch.randn((1, channels, height, width), device="cuda").half().to(memory_format=torch.channels_last)
    weight = torch.randn((channels, channels, size, size), device="cuda").half().to(memory_format=torch.channels_last)
    weight, bias = weight * (channels * size * size) ** -0.5, torch.randn(channels, device="cuda").half()

    def by_torch() -> torch.Tensor:
        return torch.nn.functional.silu(torch.nn.functional.conv2d(x, weight, bias, 1, size // 2))

    def joined() -> torch.Tensor:
        return bias_silu(torch.nn.functional.conv2d(x, weight, None, 1, size // 2), bias)

    peers = {"cuDNN and bias_silu": Peer(joined), "torch": Peer(by_torch)}
    name = f"convolution {size}x{size}, {channels} to {channels} channels, bias, SiLU, {width}x{height} fp16"
    bench.add(name, lambda: conv(x, weight, bias), 4 * x.numel() + 2 * weight.numel(), None, peers)


def bench_attend(bench: Bench) -> None:
    qkv = torch.randn((1, 512, 12, 20), device="cuda").half().to(memory_format=torch.channels_last)
    weight, bias = torch.randn((256, 1, 3, 3), device="cuda").half(), torch.randn(256, device="cuda").half()

    def by_torch() -> torch.Tensor:
        query, key, value = qkv.flatten(2).unflatten(1, (4, 128)).split([32, 32, 64], dim=2)
        mixed: torch.Tensor = value @ ((query * 32**-0.5).transpose(-2, -1) @ key).softmax(dim=-1).transpose(-2, -1)
        picture = value.reshape(1, 256, 12, 20)
        return mixed.reshape(picture.shape) + torch.nn.functional.conv2d(picture, weight, bias, padding=1, groups=256)

    peers = {"torch": Peer(by_torch)}
    bench.add("attention, 4 heads, 20x12 places", lambda: attend(qkv, weight, bias), 3 * qkv.numel(), None, peers)


def bench_head(bench: Bench) -> None:
    sizes, strides = ((48, 80), (24, 40), (12, 20)), (8.0, 16.0, 32.0)
    boxes = [torch.rand((1, 4, *size), device="cuda").half() for size in sizes]
    scores = [torch.randn((1, 80, *size), device="cuda").half() - 6.0 for size in sizes]
    boxes, scores = ([one.to(memory_format=torch.channels_last) for one in some] for some in (boxes, scores))

    def by_torch() -> torch.Tensor:
        table = torch.cat([one.flatten(2) for one in scores], 2).sigmoid().transpose(1, 2)
        corners = torch.cat([one.flatten(2) for one in boxes], 2).transpose(1, 2)
        places = table.amax(dim=2).topk(300, dim=1).indices[..., None]
        best, index = table.gather(1, places.expand(-1, -1, 80)).flatten(1).topk(300, dim=1)
        return torch.cat(
            [corners.gather(1, places.gather(1, index[..., None] // 80).expand(-1, -1, 4)), best[..., None]], 2
        )

    moved, peers = 2 * 5040 * 84, {"torch": Peer(by_torch)}
    for score_min in (0.1, 0.001):
        name = f"best 300 rows above {score_min}, 84 of 5040 places"
        bench.add(name, partial(best_rows, boxes, scores, strides, score_min), moved, None, peers)
