"""Benchmark cases of the CUDA operators and their peers, at the sizes of docs/cuda.md."""

from __future__ import annotations

from functools import partial
from math import pi
from typing import Any

import cv2
import numpy as np
import torch

from benchmarks.gpu.timing import Bench, Peer
from cuda_ops.blur.op import gaussian_blur
from cuda_ops.canny.op import canny
from cuda_ops.corner.op import corner_score
from cuda_ops.depth.op import depth_in_boxes
from cuda_ops.detect.op import detect_dense, detect_end_to_end
from cuda_ops.flow.op import track_points
from cuda_ops.hough.op import hough_lines
from cuda_ops.lab.host import LabRange
from cuda_ops.lab.op import lab_mask
from cuda_ops.lanes import reference as lanes_reference
from cuda_ops.lanes.host import WHITE, YELLOW, GroundCamera, GroundGrid
from cuda_ops.lanes.op import colour_mask, ground_mask
from cuda_ops.preprocess.op import preprocess
from perception.detection.offline import ultralytics

WHITE_LAB = LabRange((170.0, 0.0, 0.0), (255.0, 255.0, 255.0))
YELLOW_LAB = LabRange((80.0, 110.0, 150.0), (255.0, 160.0, 255.0))


def picture(height: int, width: int, channels: int, seed: int) -> np.ndarray[Any, Any]:
    """Test picture of filled shapes, lines and a little noise, with edges like those of a street."""
    generator = np.random.default_rng(seed)
    image: np.ndarray[Any, Any] = np.full((height, width, 3), 100, np.uint8)
    for _ in range(60):
        corner = generator.integers(0, (width, height))
        size = generator.integers(10, 200, 2)
        colour = tuple(int(value) for value in generator.integers(0, 256, 3))
        cv2.rectangle(image, tuple(map(int, corner)), tuple(map(int, corner + size)), colour, -1)
        cv2.line(image, tuple(map(int, corner)), tuple(map(int, generator.integers(0, (width, height)))), colour, 5)
    image = cv2.add(cv2.GaussianBlur(image, (0, 0), 1.0), generator.integers(0, 8, image.shape).astype(np.uint8))
    if channels == 1:
        return np.ascontiguousarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY))
    return np.concatenate([image, np.full((height, width, 1), 255, np.uint8)], axis=2)


def bench_preprocess(bench: Bench) -> None:
    arrays = [picture(720, 1280, 4, seed) for seed in range(8)]
    cameras = [torch.from_numpy(array).cuda() for array in arrays]
    moved = 1280 * 720 * 4 + 640 * 384 * 3 * 2

    def torchvision_v2(batch: list[torch.Tensor]) -> torch.Tensor:
        from torchvision.transforms.v2 import functional as v2

        chw = [camera[..., :3].flip(-1).permute(2, 0, 1) for camera in batch]
        fitted = [v2.resize(one, [360, 640], antialias=False) for one in chw]
        return torch.stack([v2.pad(one, [0, 12], fill=[114.0]) for one in fitted]).half() / 255.0

    def kornia(batch: list[torch.Tensor]) -> torch.Tensor:
        from kornia.geometry.transform import resize

        chw = torch.stack(batch)[..., :3].flip(-1).permute(0, 3, 1, 2).half() / 255.0
        return torch.nn.functional.pad(resize(chw, (360, 640)), (0, 0, 12, 12), value=114.0 / 255.0)

    def opencv() -> torch.Tensor:
        fitted = cv2.copyMakeBorder(cv2.resize(arrays[0][..., :3], (640, 360)), 12, 12, 0, 0, 0, value=(114, 114, 114))
        chw = np.ascontiguousarray(fitted[..., ::-1].transpose(2, 0, 1))
        return torch.from_numpy(chw).cuda().half() / 255.0

    def letterbox() -> torch.Tensor:
        ultralytics()  # before any other import of it, which would access the internet
        from ultralytics.data.augment import LetterBox

        fitted = LetterBox((384, 640))(image=arrays[0][..., :3])
        chw = np.ascontiguousarray(fitted[..., ::-1].transpose(2, 0, 1))
        return torch.from_numpy(chw).cuda().half() / 255.0

    for count, goal in ((1, 4.0), (8, 16.0)):
        batch = cameras[:count]
        peers = {
            "torchvision v2": Peer(partial(torchvision_v2, batch)),
            "kornia": Peer(partial(kornia, batch)),
        }
        if count == 1:
            peers["OpenCV on the CPU, then upload"] = Peer(opencv, is_on_cpu=True)
            peers["ultralytics LetterBox on the CPU, then upload"] = Peer(letterbox, is_on_cpu=True)
        name = f"preprocess 1280x720 BGRA -> 640x384 fp16, {count} camera{'s' if count > 1 else ''}"
        bench.add(name, partial(preprocess, batch, 384, 640), moved * count, goal, peers)


def bench_detect(bench: Bench) -> None:
    generator = torch.Generator().manual_seed(0)
    head = torch.rand((1, 84, 8400), generator=generator)
    centres = torch.rand((2, 40), generator=generator) * 600
    head[0, :2] = centres[:, torch.randint(0, 40, (8400,), generator=generator)] + torch.randn(2, 8400) * 8
    head[0, 2:4] = 20 + 80 * head[0, 2:4]
    head[0, 4:] *= torch.where(torch.rand((80, 8400), generator=generator) < 0.0005, 1.0, 0.2)

    def torchvision(heads: torch.Tensor) -> torch.Tensor:
        from torchvision.ops import batched_nms, box_convert

        scores, labels = heads[0, 4:].max(0)
        take = scores > 0.25
        boxes = box_convert(heads[0, :4].T[take].float(), "cxcywh", "xyxy")
        kept: torch.Tensor = batched_nms(boxes, scores[take].float(), labels[take], 0.7)
        return kept[:300]

    for dtype, name in ((torch.float16, "fp16"), (torch.float32, "fp32")):
        heads = head.to(dtype).cuda()
        moved = heads.numel() * heads.element_size()
        bench.add(
            f"YOLO decode + NMS, 84x8400 {name}",
            partial(detect_dense, heads),
            moved,
            10.0,
            {"torchvision decode + batched_nms": Peer(partial(torchvision, heads))},
        )
    depth = torch.rand((1, 720, 1280), device="cuda") * 90
    heads = head.half().cuda()
    bench.add("the same with depth statistics", lambda: detect_dense(heads, depth=depth), heads.numel() * 2, None, {})
    rows = torch.rand((1, 300, 6), generator=generator) * 600
    rows[..., 4] /= 600
    rows = rows.half().cuda()

    def plain() -> torch.Tensor:
        order = rows[0, :, 4].float().argsort(descending=True)
        return rows[0, order][rows[0, order, 4] > 0.25]

    def of_fixed_size() -> tuple[torch.Tensor, torch.Tensor]:
        """Sorted rows, and the number of valid ones: like our operator, without shapes that depend on values."""
        scores, order = rows[0, :, 4].float().sort(descending=True)
        return rows[0, order], (scores > 0.25).sum()

    peers = {"torch, rows that count": Peer(plain), "torch, all rows and their count": Peer(of_fixed_size)}
    bench.add("end-to-end head, 300x6", lambda: detect_end_to_end(rows), 3600, 10.0, peers)
    boxes = torch.rand((300, 4), device="cuda") * 300
    boxes[:, 2:] += boxes[:, :2]
    bench.add("depth in 300 boxes", lambda: depth_in_boxes(depth[0], boxes), 300 * 4096 * 4, None, {})


def bench_canny(bench: Bench) -> None:
    grey = picture(720, 1280, 1, 1)
    on_device = torch.from_numpy(grey).cuda()
    as_float = on_device[None, None].float() / 255.0

    def kornia() -> Any:
        from kornia.filters import canny as kornia_canny

        return kornia_canny(as_float, 0.1, 0.3)

    bench.add(
        "Canny 1280x720",
        lambda: canny(on_device, 60, 150),
        2 * grey.size,
        20.0,
        {"cv2 on the CPU": Peer(lambda: cv2.Canny(grey, 60, 150), is_on_cpu=True), "kornia": Peer(kornia)},
    )


def bench_hough(bench: Bench) -> None:
    edges = np.zeros((720, 1280), np.uint8)
    generator = np.random.default_rng(0)
    while np.count_nonzero(edges) < 20000:
        ends = generator.integers(0, (1280, 720), (2, 2))
        cv2.line(edges, tuple(map(int, ends[0])), tuple(map(int, ends[1])), 255, 1)
    edge_tensor = torch.from_numpy(edges).cuda()
    name = f"Hough, {np.count_nonzero(edges)} edge pixels x 180 angles, with peaks"
    bench.add(
        name,
        lambda: hough_lines(edge_tensor, 100, has_segments=False),
        edges.size,
        15.0,
        {"cv2.HoughLines on the CPU": Peer(lambda: cv2.HoughLines(edges, 1.0, pi / 180, 100), is_on_cpu=True)},
    )

    def with_segments() -> Any:
        return hough_lines(edge_tensor, 100, length_min_px=20, gap_max_px=5)

    bench.add(f"{name} and segments", with_segments, edges.size, None, {})


def bench_ground(bench: Bench) -> None:
    image = torch.from_numpy(picture(720, 1280, 4, 2)).cuda()
    camera = GroundCamera(
        (0.0, -1.0, 0.0, -0.1, 0.0, 1.5, 1.0, 0.0, 0.15), 700.0, 700.0, 640.0, 360.0, (-0.2, 0.05, 1e-3, -1e-3, 0.01)
    )
    grid = GroundGrid(720, 1280, 45.0, 32.0, 0.05)
    px, py, _ = lanes_reference.places(camera, grid)
    place = torch.from_numpy(np.stack([px / 640 - 1, py / 360 - 1], axis=-1)[None]).float().cuda()

    def grid_sample() -> torch.Tensor:
        chw = image[..., :3].permute(2, 0, 1)[None].float() / 255.0
        view = torch.nn.functional.grid_sample(chw, place, align_corners=False)[0]
        high, low = view.amax(0), view.amin(0)
        light, spread = (high + low) / 2, high - low
        saturation = spread / torch.where(light < 0.5, high + low, 2 - high - low).clamp_min(1e-6)
        hue = torch.where(
            high == view[2],
            view[1] - view[0],
            torch.where(high == view[1], view[0] - view[2] + 2, view[2] - view[1] + 4),
        )
        white = (light >= WHITE.low[1] / 255) & (saturation >= 0)
        yellow = (hue > 0.2) & (hue < 1.0) & (light >= YELLOW.low[1] / 255) & (saturation >= YELLOW.low[2] / 255)
        return white.to(torch.uint8) + 2 * yellow.to(torch.uint8)

    bench.add(
        "colour threshold + IPM, 1280x720 in and out",
        lambda: ground_mask(image, camera, grid),
        image.numel() + 720 * 1280 * 4,
        5.0,
        {"torch grid_sample": Peer(grid_sample)},
    )
    bench.add("colour threshold alone, 1280x720", lambda: colour_mask(image), image.numel() + 720 * 1280, None, {})
    bgr, ranges = image.cpu().numpy()[..., :3].copy(), (WHITE_LAB, YELLOW_LAB)

    def opencv_lab() -> Any:
        lab = cv2.cvtColor(bgr, cv2.COLOR_BGR2LAB)
        return [cv2.inRange(lab, part.low, part.high) for part in ranges]

    on_the_cpu = {"cv2 on the CPU": Peer(opencv_lab, is_on_cpu=True)}
    moved = image.numel() + 720 * 1280
    bench.add("Lab threshold, 1280x720", lambda: lab_mask(image, *ranges), moved, None, on_the_cpu)


def bench_features(bench: Bench) -> None:
    grey = picture(720, 1280, 1, 3)
    on_device = torch.from_numpy(grey).cuda()
    peers = {"cv2 on the CPU": Peer(lambda: cv2.GaussianBlur(grey, (5, 5), 1.1), is_on_cpu=True)}
    bench.add("Gaussian blur 5x5, 1280x720", lambda: gaussian_blur(on_device, 5, 1.1), 2 * grey.size, None, peers)
    peers = {"cv2 on the CPU": Peer(lambda: cv2.cornerMinEigenVal(grey, 5), is_on_cpu=True)}
    bench.add("corner score 5x5, 1280x720", lambda: corner_score(on_device, 5), 5 * grey.size, None, peers)
    after = np.roll(grey, (3, 4), (0, 1))
    points = np.random.default_rng(0).uniform(40, 680, (500, 1, 2)).astype(np.float32)
    given = (on_device, torch.from_numpy(after).cuda(), torch.from_numpy(points[:, 0]).cuda())
    moved = np.zeros_like(points)
    peers = {"cv2 on the CPU": Peer(lambda: cv2.calcOpticalFlowPyrLK(grey, after, points, moved), is_on_cpu=True)}
    bench.add("Lucas-Kanade, 500 points, 4 levels", lambda: track_points(*given), 2 * grey.size, None, peers)
