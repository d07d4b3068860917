"""The operators on a GPU against the CPU path: fresh inputs, poisoned outputs, odd sizes, strides, streams, graphs.

Skipped without a GPU; `make test-gpu` runs it on one. AV_STACK_GPU_ROUNDS sets how many random inputs each test draws.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.blur.op import gaussian_blur  # noqa: E402
from cuda_ops.canny.op import canny  # noqa: E402
from cuda_ops.corner.op import corner_score  # noqa: E402
from cuda_ops.depth.op import depth_in_boxes  # noqa: E402
from cuda_ops.detect import reference as detect_reference  # noqa: E402
from cuda_ops.detect.op import detect_dense, detect_end_to_end  # noqa: E402
from cuda_ops.flow.op import track_points  # noqa: E402
from cuda_ops.hough.op import hough_lines  # noqa: E402
from cuda_ops.lanes.host import GroundCamera, GroundGrid  # noqa: E402
from cuda_ops.lanes.op import colour_mask, ground_mask  # noqa: E402
from cuda_ops.preprocess.op import preprocess  # noqa: E402
from cuda_ops.runtime.gpu import why_no_gpu  # noqa: E402
from cuda_ops.triangulate.op import update_depths  # noqa: E402

pytestmark = pytest.mark.skipif(why_no_gpu() is not None, reason=f"no CUDA kernels here: {why_no_gpu()}")
ROUNDS = int(os.environ.get("AV_STACK_GPU_ROUNDS", "20"))
SIZES = [(1, 1), (1, 37), (53, 1), (7, 13), (97, 131), (360, 640), (719, 1279), (720, 1280), (2160, 3840)]


@pytest.fixture(autouse=True)
def poisoned() -> Iterator[None]:
    """`torch.empty` is filled with NaN or the largest integer, so that a value no kernel wrote shows."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    yield
    torch.use_deterministic_algorithms(False)


def random_bytes(seed: int, *shape: int) -> Any:
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8))


def smooth(seed: int, height: int, width: int) -> Any:
    noise = torch.nn.functional.avg_pool2d(random_bytes(seed, 1, 1, height + 4, width + 4).float(), 5, 1)
    return ((noise[0, 0] - 128.0) * 4.0 + 128.0).clamp(0, 255).to(torch.uint8)


def dense_head(seed: int, images: int, classes: int, anchors: int, high: float = 0.002) -> Any:
    generator = torch.Generator().manual_seed(seed)
    head = torch.rand((images, 4 + classes, anchors), generator=generator)
    centres = torch.rand((images, 2, 40), generator=generator) * 600
    pick = torch.randint(0, 40, (images, 1, anchors), generator=generator).expand(-1, 2, -1)
    head[:, :2] = centres.gather(2, pick) + torch.randn((images, 2, anchors), generator=generator) * 8 + 100
    head[:, 2:4] = 20 + 80 * head[:, 2:4]
    scores = head[:, 4:]
    mask = torch.rand(scores.shape, generator=generator) < high
    head[:, 4:] = torch.where(mask, scores, scores * 0.2)
    return head


def compare(found: Any, expected: Any) -> None:
    if isinstance(expected, torch.Tensor):
        assert found.is_cuda
        torch.testing.assert_close(found.cpu(), expected, rtol=0.0, atol=0.0, equal_nan=True)
        return
    for name in expected.__slots__:
        if getattr(expected, name) is not None:
            compare(getattr(found, name), getattr(expected, name))


CAMERA = GroundCamera(
    (0.0, -1.0, 0.0, -0.1, 0.0, 1.5, 1.0, 0.0, 0.15), 700.0, 700.0, 640.0, 360.0, (-0.2, 0.05, 1e-3, -1e-3, 0.01)
)
GRID = GroundGrid(311, 173, 40.0, 8.0, 0.1)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("l2", [False, True])
def test_canny_equals_opencv(size: tuple[int, int], l2: bool) -> None:
    for seed, picture in enumerate((random_bytes(1, *size), smooth(2, *size), smooth(3, *size))):
        low, high = (40.0 * (seed + 1), 110.0 * (seed + 1))
        compare(canny(picture.cuda(), low, high, l2), canny(picture, low, high, l2))


def test_canny_on_many_pictures() -> None:
    for seed in range(ROUNDS):
        picture = smooth(seed, 720, 1280)
        compare(canny(picture.cuda(), 60, 150), canny(picture, 60, 150))


@pytest.mark.parametrize("picture_format", ["bgra", "bgr", "nv12"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("out", [(384, 640), (1, 1), (131, 97)])
def test_preprocess_equals_numpy(picture_format: Any, dtype: Any, out: tuple[int, int]) -> None:
    sizes = [(720, 1280), (1, 1), (37, 53), (1080, 1920), (2, 2000), (480, 640), (11, 7), (2160, 3840), (5, 5)]
    even = [((h + 1) // 2 * 3, (w + 1) // 2 * 2) for h, w in sizes]
    coloured: list[tuple[int, ...]] = [(*size, 4 if picture_format == "bgra" else 3) for size in sizes]
    shapes = list(even) if picture_format == "nv12" else coloured
    pictures = [random_bytes(seed, *shape) for seed, shape in enumerate(shapes)]
    on_device = [picture.cuda() for picture in pictures]
    compare(preprocess(on_device, *out, picture_format, dtype), preprocess(pictures, *out, picture_format, dtype))
    if dtype == torch.float16:
        options: dict[str, Any] = {"corner": ((out[0] + 1) // 2, out[1]), "is_packed": True}
        found, expected = (preprocess(some, *out, picture_format, **options) for some in (on_device, pictures))
        assert found.is_contiguous(memory_format=torch.channels_last)
        compare(found, expected)


@pytest.mark.parametrize("shape", [(1, 80, 8400), (3, 7, 1001), (1, 1, 1), (2, 80, 33)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_dense_detection_equals_numpy(shape: tuple[int, int, int], dtype: Any) -> None:
    for seed in range(3):
        heads = dense_head(seed, *shape).to(dtype)
        depth = torch.rand((shape[0], 360, 640), generator=torch.Generator().manual_seed(seed)) * 90
        place = (100.0, 90.0, 0.9, 0.8)
        compare(
            detect_dense(heads.cuda(), 0.25, 0.6, 100, depth.cuda(), place),
            detect_dense(heads, 0.25, 0.6, 100, depth, place),
        )


def test_keep_set_is_torchvisions() -> None:
    ops = pytest.importorskip("torchvision", reason="torchvision is not installed").ops
    for seed in range(ROUNDS * 5):
        heads = dense_head(seed, 1, 80, 8400, 0.0005)
        boxes, scores, labels = detect_reference.candidates(heads[0].numpy(), 0.25)
        parts = (torch.from_numpy(boxes), torch.from_numpy(scores), torch.from_numpy(labels).long())
        kept = ops.batched_nms(*parts, 0.7)[:300]
        found = detect_dense(heads.cuda(), 0.25, 0.7, 300)
        assert int(found.counts[0, 0]) == len(kept)
        assert torch.equal(found.boxes[0, : len(kept)].cpu(), parts[0][kept])


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_end_to_end_detection_equals_numpy(dtype: Any) -> None:
    generator = torch.Generator().manual_seed(4)
    heads = torch.rand((2, 300, 6), generator=generator)
    heads[..., :4] *= 600
    heads[..., 5] = torch.randint(0, 80, (2, 300), generator=generator)
    heads[0, 3, 4] = float("nan")
    heads = heads.to(dtype)
    depth = torch.rand((2, 360, 640), generator=generator) * 90
    compare(detect_end_to_end(heads.cuda(), 0.5, 300, depth.cuda()), detect_end_to_end(heads, 0.5, 300, depth))


@pytest.mark.parametrize("size", SIZES[:-1])
def test_hough_equals_opencv(size: tuple[int, int]) -> None:
    edges = (random_bytes(5, *size) > 250).to(torch.uint8) * 255
    edges[size[0] // 2] = 255
    found = hough_lines(edges.cuda(), 20, limit=50, length_min_px=5.0, gap_max_px=3)
    alone = hough_lines(edges.cuda(), 20, limit=50, has_segments=False)
    assert torch.equal(alone.lines, found.lines)
    assert alone.segments.shape == (0, 4, 4)
    expected = hough_lines(edges, 20, limit=50, length_min_px=5.0, gap_max_px=3)
    assert torch.equal(found.count.cpu(), expected.count)
    assert torch.equal(found.lines[:, [0, 2]].cpu(), expected.lines[:, [0, 2]])
    torch.testing.assert_close(found.lines[:, 1].cpu(), expected.lines[:, 1], rtol=0.0, atol=1e-6)


def test_hough_of_a_picture_that_takes_several_passes() -> None:
    edges = torch.zeros((2160, 3840), dtype=torch.uint8)
    edges[700, 100:3000] = edges[1500:2100, 3333] = 255
    found = hough_lines(edges.cuda(), 500, limit=20, length_min_px=50.0)
    expected = hough_lines(edges, 500, limit=20, length_min_px=50.0)
    assert int(expected.count[0]) >= 2
    assert torch.equal(found.count.cpu(), expected.count)
    assert torch.equal(found.lines[:, [0, 2]].cpu(), expected.lines[:, [0, 2]])
    assert torch.equal(found.segments.cpu(), expected.segments)


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("size", SIZES)
def test_lane_masks_equal_numpy(size: tuple[int, int], channels: int) -> None:
    image = random_bytes(6, *size, channels)
    compare(colour_mask(image.cuda()), colour_mask(image))
    for found, expected in zip(ground_mask(image.cuda(), CAMERA, GRID), ground_mask(image, CAMERA, GRID), strict=True):
        compare(found, expected)


def test_depth_equals_numpy() -> None:
    generator = torch.Generator().manual_seed(7)
    depth = torch.rand((719, 1279), generator=generator) * 90 - 1
    corner = torch.rand((200, 2), generator=generator) * 1300 - 50
    boxes = torch.cat([corner, corner + torch.rand((200, 2), generator=generator) * 400], dim=1)
    compare(depth_in_boxes(depth.cuda(), boxes.cuda()), depth_in_boxes(depth, boxes))


@pytest.mark.parametrize("size", SIZES)
def test_blur_equals_opencv(size: tuple[int, int]) -> None:
    image = random_bytes(10, *size)
    for kernel, sigma in ((3, 0.0), (5, 1.1), (15, 4.0)):
        compare(gaussian_blur(image.cuda(), kernel, sigma), gaussian_blur(image, kernel, sigma))


@pytest.mark.parametrize("size", SIZES)
def test_corner_score_is_opencvs(size: tuple[int, int]) -> None:
    image = random_bytes(11, *size)
    expected = corner_score(image, 5)
    torch.testing.assert_close(corner_score(image.cuda(), 5).cpu(), expected, rtol=0.0, atol=4e-6)


def test_tracker_follows_a_shift() -> None:
    before = smooth(12, 360, 640)
    after = torch.roll(before, (3, -5), (0, 1))
    points = torch.rand((500, 2), generator=torch.Generator().manual_seed(0)) * torch.tensor([500.0, 250.0]) + 60
    found, residual, status = track_points(before.cuda(), after.cuda(), points.cuda())
    expected, _, expected_status = track_points(before, after, points)
    assert bool((status.cpu() == expected_status).all())
    assert float(status.float().mean()) > 0.95
    good = (expected_status == 1) & (residual.cpu() < 4.0)
    torch.testing.assert_close(found.cpu()[good], expected[good], rtol=0.0, atol=0.01)


def test_triangulation_equals_numpy() -> None:
    generator = torch.Generator().manual_seed(1)
    rays = torch.rand((1001, 2), generator=generator) * 2 - 1
    seen = rays + torch.randn((1001, 2), generator=generator) * 0.05
    state = torch.rand((1001, 2), generator=generator) + 0.01
    pose = (torch.eye(3), torch.tensor([-0.8, 0.05, -0.3]))
    found = update_depths(rays.cuda(), seen.cuda(), state.cuda(), *pose, 0.03)
    for ours, theirs in zip(found, update_depths(rays, seen, state, *pose, 0.03), strict=True):
        compare(ours, theirs)


OPERATIONS: dict[str, tuple[Callable[[Any], Any], Callable[[int], Any]]] = {
    "canny": (lambda x: (canny(x, 60, 150),), lambda seed: smooth(seed, 720, 1280)),
    "hough": (
        lambda x: (hough_lines(x, 60).lines, hough_lines(x, 60).segments),
        lambda seed: (random_bytes(seed, 720, 1280) > 250).to(torch.uint8),
    ),
    "detect": (lambda x: (detect_dense(x).boxes, detect_dense(x).counts), lambda seed: dense_head(seed, 1, 80, 8400)),
    "preprocess": (lambda x: (preprocess([x, x], 384, 640),), lambda seed: random_bytes(seed, 720, 1280, 4)),
    "ground": (lambda x: ground_mask(x, CAMERA, GRID), lambda seed: random_bytes(seed, 720, 1280, 4)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_replays_of_a_graph_are_identical_and_follow_the_input(name: str) -> None:
    operation, make = OPERATIONS[name]
    given = make(0).cuda()
    operation(given)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = operation(given)
    for seed in (1, 2, 1):
        given.copy_(make(seed))
        graph.replay()
        first = [tensor.clone() for tensor in out]
        graph.replay()
        for a, b, c in zip(out, first, operation(given), strict=True):
            assert torch.equal(a, b), "two replays differ"
            assert torch.equal(a, c), "replay and eager call differ"


@pytest.mark.parametrize("name", OPERATIONS)
def test_streams_do_not_disturb_each_other(name: str) -> None:
    operation, make = OPERATIONS[name]
    inputs = [make(seed).cuda() for seed in range(4)]
    expected = [operation(given) for given in inputs]
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in inputs]
    found: list[Any] = []
    for _ in range(5):
        found.clear()
        for stream, given in zip(streams, inputs, strict=True):
            with torch.cuda.stream(stream):
                found.append(operation(given))
    torch.cuda.synchronize()
    for ours, theirs in zip(found, expected, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert torch.equal(a, b)


def test_strided_input_is_taken() -> None:
    wide = random_bytes(8, 200, 600).cuda()
    compare(canny(wide[::2, 5:300], 50, 100), canny(wide.cpu()[::2, 5:300], 50, 100))
    flat = random_bytes(9, 3, 90, 120).permute(1, 2, 0)
    compare(colour_mask(flat.cuda()), colour_mask(flat))


def test_compiles_with_torch_compile() -> None:
    picture = smooth(1, 100, 200).cuda()
    compiled = torch.compile(lambda x: canny(x, 60.0, 150.0) // 255, backend="eager", fullgraph=True)
    assert torch.equal(compiled(picture), canny(picture, 60.0, 150.0) // 255)
