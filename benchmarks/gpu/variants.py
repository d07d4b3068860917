"""Compares variants of the kernels: `python -m benchmarks.gpu.variants --out DIR` writes variants.json.

A variant is a kernel compiled with other definitions, or with a changed constant of its host code. Each is checked
against the operator's reference, then timed like `timing.warm`. For kernels with clock stamps (AV_STAMPS), the
clocks between the numbered places are listed too: those of one block, and the longest and shortest of any block.
"""

from __future__ import annotations

import argparse
import json
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import cv2
import numpy as np
import torch

from benchmarks.gpu.operators import picture
from benchmarks.gpu.timing import warm
from cuda_ops.blur import op as blur
from cuda_ops.canny import op as canny
from cuda_ops.corner import op as corner
from cuda_ops.depth import op as depth
from cuda_ops.detect import op as detect
from cuda_ops.flow import host as flow_host
from cuda_ops.flow import op as flow
from cuda_ops.hough import op as hough
from cuda_ops.lanes import op as lanes
from cuda_ops.lanes.host import GroundCamera, GroundGrid
from cuda_ops.preprocess import op as preprocess
from cuda_ops.runtime.compiler import KernelSource
from cuda_ops.runtime.control import control
from cuda_ops.runtime.gpu import GpuLauncher

Tensors = list[torch.Tensor]
STAMPS, SHORTEST = slice(40, 56), slice(56, 72)


@dataclass(frozen=True)
class Variant:
    name: str
    definitions: tuple[str, ...] = ()
    constants: tuple[tuple[ModuleType, str, Any], ...] = ()


@dataclass(frozen=True)
class Case:
    """An operator on one input; `tolerance` 0 demands equality to the bit."""

    name: str
    module: ModuleType
    folder: str
    call: Callable[[Tensors], Any]
    given: Tensors
    variants: list[Variant]
    tolerance: float = 0.0
    has_stamps: bool = False
    others: list[Tensors] = field(default_factory=list)


PLAIN = Variant("as it is")
CAMERA = GroundCamera(
    (0.0, -1.0, 0.0, -0.1, 0.0, 1.5, 1.0, 0.0, 0.15), 700.0, 700.0, 640.0, 360.0, (-0.2, 0.05, 1e-3, -1e-3, 0.01)
)
FRAME_CAMERA = GroundCamera((0.0, -1.0, 0.0, -0.1, 0.0, 1.5, 1.0, 0.0, 0.15), 700.0, 700.0, 640.0, 360.0)
WIDE_GRID, FRAME_GRID = GroundGrid(720, 1280, 45.0, 32.0, 0.05), GroundGrid(400, 256, 44.0, 12.8, 0.1)


@contextmanager
def compiled(case: Case, variant: Variant, definitions: tuple[str, ...] = ()) -> Iterator[None]:
    """Context in which the operator's module launches the variant's code."""
    launcher = GpuLauncher(KernelSource(case.folder, (*variant.definitions, *definitions)), 0)
    with ExitStack() as stack:
        stack.enter_context(patch.object(case.module, "launcher", lambda name, device: launcher))
        for module, name, value in variant.constants:
            stack.enter_context(patch.object(module, name, value))
        yield


def tensors_of(result: Any) -> Tensors:
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (list, tuple)):
        return [part for item in result for part in tensors_of(item)]
    return [getattr(result, name) for name in result.__slots__ if getattr(result, name) is not None]


def difference(case: Case, given: Tensors) -> float:
    """Largest difference from the reference; infinite if shapes or NaNs differ."""
    found = [part.cpu() for part in tensors_of(case.call([part.cuda() for part in given]))]
    expected = tensors_of(case.call([part.cpu() for part in given]))
    worst = 0.0
    for ours, theirs in zip(found, expected, strict=True):
        if ours.shape != theirs.shape:
            return float("inf")
        if not torch.equal(ours, theirs):
            off = (ours.double() - theirs.double()).abs()
            worst = max(worst, float(off.nan_to_num(nan=float("inf")).max()))
    return worst


def stamps(case: Case, variant: Variant, on_device: Tensors) -> list[int]:
    """Median clocks of one block between the numbered places, in eager calls."""
    rows = []
    with compiled(case, variant, ("AV_STAMPS=1",)):
        for _ in range(9):
            case.call(on_device)
            torch.cuda.synchronize()
            words = control(0).get()[STAMPS].cpu().numpy().view(np.uint32).astype(np.int64)
            taken = words[words != 0]
            rows.append(np.diff(taken) % 2**32)
    return [int(value) for value in np.median(np.array(rows), axis=0)]


def extremes(case: Case, variant: Variant, on_device: Tensors) -> tuple[list[int], list[int]]:
    """Median clocks of the slowest and of the fastest block at each place.

    The slowest show what other blocks wait for at a barrier, the fastest how long the barrier itself takes.
    """
    longest, shortest = [], []
    with compiled(case, variant, ("AV_STAMPS=2",)):
        for _ in range(9):
            control(0).get()[STAMPS.start : SHORTEST.stop] = 0
            case.call(on_device)
            torch.cuda.synchronize()
            words = control(0).get().cpu().numpy().view(np.uint32)
            longest.append(words[STAMPS][words[STAMPS] != 0])
            shortest.append(~words[SHORTEST][words[SHORTEST] != 0])
    control(0).get()[STAMPS.start : SHORTEST.stop] = 0
    of_longest, of_shortest = (np.median(np.array(rows, np.int64), axis=0) for rows in (longest, shortest))
    return [int(value) for value in of_longest], [int(value) for value in of_shortest]


def measure(case: Case, variant: Variant) -> dict[str, Any]:
    on_device = [part.cuda() for part in case.given]
    with compiled(case, variant):
        worst = max(difference(case, given) for given in [case.given, *case.others])
        median, spread = warm(lambda: case.call(on_device))
    row = {"case": case.name, "variant": variant.name, "warm_us": median, "spread_us": spread, "worst": worst}
    row["is_right"] = worst <= case.tolerance
    if case.has_stamps:
        row["clocks"] = stamps(case, variant, on_device)
        row["longest_clocks"], row["shortest_clocks"] = extremes(case, variant, on_device)
    return row


def grey(seed: int) -> torch.Tensor:
    return torch.from_numpy(picture(720, 1280, 1, seed))


def noise(seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, (720, 1280)).astype(np.uint8))


def drawn_edges() -> torch.Tensor:
    edges, generator = np.zeros((720, 1280), np.uint8), np.random.default_rng(0)
    while np.count_nonzero(edges) < 20000:
        ends = generator.integers(0, (1280, 720), (2, 2))
        cv2.line(edges, tuple(map(int, ends[0])), tuple(map(int, ends[1])), 255, 1)
    return torch.from_numpy(edges)


def dense_head(seed: int, share: float = 0.0005) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    head = torch.rand((1, 84, 8400), generator=generator)
    centres = torch.rand((2, 40), generator=generator) * 600
    head[0, :2] = centres[:, torch.randint(0, 40, (8400,), generator=generator)]
    head[0, :2] += torch.randn(2, 8400, generator=generator) * 8
    head[0, 2:4] = 20 + 80 * head[0, 2:4]
    head[0, 4:] *= torch.where(torch.rand((80, 8400), generator=generator) < share, 1.0, 0.2)
    return head.half()


def lane_cases() -> list[Case]:
    colour = torch.from_numpy(picture(720, 1280, 4, 2))
    frame = torch.from_numpy(picture(720, 1280, 4, 4))
    mask = lanes.ground_mask(frame, FRAME_CAMERA, FRAME_GRID)[0]
    few = canny.canny(mask, 1, 2)

    def lines(given: Tensors) -> Any:
        found = hough.hough_lines(given[0], 100, length_min_px=20, gap_max_px=5)
        return found.lines[:, ::2], found.count, found.segments

    def frame_lines(given: Tensors) -> Any:
        found = hough.hough_lines(given[0], 30, length_min_px=10, gap_max_px=10)
        return found.lines[:, ::2], found.count, found.segments

    def edges(given: Tensors) -> Any:
        return canny.canny(given[0], 60, 150)

    def wide(given: Tensors) -> Any:
        return lanes.ground_mask(given[0], CAMERA, WIDE_GRID)

    return [
        Case("canny 1280x720", canny, "canny", edges, [grey(1)], [PLAIN], 0.0, True, [[noise(1)]]),
        Case("canny, noise", canny, "canny", edges, [noise(2)], [PLAIN], 0.0, True),
        Case("canny 256x400", canny, "canny", lambda x: canny.canny(x[0], 1, 2), [mask], [PLAIN], 0.0, True),
        Case("hough 20k", hough, "hough", lines, [drawn_edges()], [PLAIN], 0.0, True),
        Case("hough 256x400", hough, "hough", frame_lines, [few], [PLAIN], 0.0, True),
        Case("ground 1280x720", lanes, "lanes", wide, [colour], [PLAIN]),
        Case(
            "ground 256x400", lanes, "lanes", lambda x: lanes.ground_mask(x[0], FRAME_CAMERA, FRAME_GRID), [frame],
            [PLAIN],
        ),
        Case("colour mask", lanes, "lanes", lambda x: lanes.colour_mask(x[0]), [colour], [PLAIN]),
    ]  # fmt: skip


def detect_cases() -> list[Case]:
    depths = torch.rand((1, 720, 1280), generator=torch.Generator().manual_seed(5)) * 90
    boxes = torch.rand((300, 4), generator=torch.Generator().manual_seed(6)) * 300
    boxes[:, 2:] += boxes[:, :2]

    def plain(given: Tensors) -> Any:
        return detect.detect_dense(given[0])

    def deep(given: Tensors) -> Any:
        return detect.detect_dense(given[0], depth=given[1])

    crowd = [dense_head(3, 0.004)]
    rows = torch.rand((1, 300, 6), generator=torch.Generator().manual_seed(8)) * 600
    rows[..., 2:4] = rows[..., :2] + 0.5 * rows[..., 2:4]
    rows[..., 4:] *= torch.tensor([1 / 600, 79 / 600])
    return [
        Case("dense", detect, "detect", plain, [dense_head(0)], [PLAIN], 0.0, True, [crowd]),
        Case("dense, > 1024 found", detect, "detect", plain, crowd, [PLAIN], 0.0, True),
        Case("dense, depth", detect, "detect", deep, [dense_head(0), depths], [PLAIN]),
        Case("end to end", detect, "detect", lambda x: detect.detect_end_to_end(x[0]), [rows.half()], [PLAIN]),
        Case(
            "end to end, depth", detect, "detect", lambda x: detect.detect_end_to_end(x[0], depth=x[1]),
            [rows.half(), depths], [PLAIN],
        ),
        Case("depth, 300 boxes", depth, "depth", lambda x: depth.depth_in_boxes(*x), [depths[0], boxes], [PLAIN]),
    ]  # fmt: skip


def feature_cases() -> list[Case]:
    first = grey(3)
    after = torch.from_numpy(np.roll(first.numpy(), (3, 4), (0, 1)))
    points = torch.from_numpy(cv2.goodFeaturesToTrack(first.numpy(), 500, 0.01, 8)[:, 0])

    def follow(given: Tensors, iterations: int) -> Any:
        found, residual, status = flow.track_points(
            given[0], given[1], given[2], flow_host.Settings(iterations=iterations)
        )
        return torch.where(((status == 1) & (residual < 4.0))[:, None], found, -1.0)

    given, sides, dirty = [first, after, points], [first], [[noise(4)]]
    return [
        Case("blur 5x5", blur, "blur", lambda x: blur.gaussian_blur(x[0], 5, 1.1), sides, [PLAIN], others=dirty),
        Case("blur 15x15", blur, "blur", lambda x: blur.gaussian_blur(x[0], 15, 3.0), sides, [PLAIN]),
        Case(
            "corner 5x5", corner, "corner", lambda x: corner.corner_score(x[0], 5), sides, [PLAIN], 4e-6, others=dirty
        ),
        Case("track 500 points", flow, "flow", lambda x: follow(x, 30), given, [PLAIN], 0.05),
    ]


def pyramids_alone() -> dict[str, Any]:
    images = (grey(3).cuda(), grey(4).cuda())
    sizes = flow_host.level_sizes(720, 1280, 4)
    halves = tuple(images[0].new_empty(sum(tall * wide for tall, wide in sizes[1:])) for _ in images)
    launcher = GpuLauncher(KernelSource("flow"), 0)
    median, spread = warm(lambda: flow_host.build_pyramids(launcher, images, (halves[0], halves[1]), sizes))
    return {"case": "pyramids alone", "variant": "as it is", "warm_us": median, "spread_us": spread, "is_right": True}


def frame_alone() -> dict[str, Any]:
    """Time one frame without the network, its operators one after the other."""
    image = torch.from_numpy(picture(720, 1280, 4, 4)).cuda()
    depths, head = torch.full((1, 720, 1280), 20.0, device="cuda"), dense_head(7).cuda()

    def program() -> Any:
        preprocess.preprocess([image], 384, 640)
        detect.detect_dense(head, depth=depths, depth_place=(0.0, 12.0, 2.0, 2.0))
        mask, _ = lanes.ground_mask(image, FRAME_CAMERA, FRAME_GRID)
        hough.hough_lines(canny.canny(mask, 1, 2), 30, length_min_px=10, gap_max_px=10)

    median, spread = warm(program)
    return {"case": "frame", "variant": "as it is", "warm_us": median, "spread_us": spread, "is_right": True}


def attempt(make: Callable[[], dict[str, Any]], name: str) -> dict[str, Any]:
    """Run `make`; a failure becomes one row of the table, so that the device time of the other rows is not lost."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001
        traceback.print_exc()
        return {"case": name, "variant": "", "is_right": False, "error": f"{type(error).__name__}: {error}"[:200]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    parser.add_argument("--only", default="", help="cases whose names begin so")
    a = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("gpu.variants: torch sees no GPU")
    rows = []
    for case in [*lane_cases(), *detect_cases(), *feature_cases()]:
        if not case.name.startswith(a.only):
            continue
        for variant in case.variants:
            row = attempt(partial(measure, case, variant), f"{case.name}, {variant.name}")
            rows.append(row)
            print(*(f"{key} {value}" for key, value in row.items()), sep="; ", flush=True)
    if not a.only:
        rows += [attempt(pyramids_alone, "pyramids alone"), attempt(frame_alone, "frame")]
        print(*rows[-2:], sep="\n")
    a.out.mkdir(parents=True, exist_ok=True)
    (a.out / "variants.json").write_text(
        json.dumps({"gpu": torch.cuda.get_device_name(), "rows": rows}, indent=1) + "\n"
    )
    if not all(row["is_right"] for row in rows):
        raise SystemExit("gpu.variants: not all are right")


if __name__ == "__main__":
    main()
