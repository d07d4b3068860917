"""A picture's whole perception as one graph: the CPU path's lanes to the bit, its detections within bounds.

Without a GPU the graph's program runs on the CPU: the same steps on torch tensors, the kernels' references among them.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from av_core.types import CameraImage, CameraModel, Image, Stamp  # noqa: E402
from cuda_ops.runtime.gpu import why_no_gpu  # noqa: E402
from perception.detection.detector import Detector  # noqa: E402
from perception.detection.weights import COMPACT  # noqa: E402
from perception.lanes.detector import LaneDetector, detect_paint_on_cpu  # noqa: E402
from perception.lanes.road_view import road_view  # noqa: E402
from perception.lanes.segmentation import columns_of  # noqa: E402
from perception.on_gpu.frame import GpuFrame  # noqa: E402

PICTURE = Path(__file__).parents[1] / "pictures" / "detector_street.jpg"
COMPACT_RIG = CameraModel("front", 640, 360, 1.05, 2.1, 0.0, 1.6, pitch_rad=0.03)
WIDE = replace(COMPACT_RIG, width_px=1280, height_px=720)
ODD = replace(COMPACT_RIG, width_px=801, height_px=450)
NEEDS_ULTRALYTICS = pytest.mark.skipif(find_spec("ultralytics") is None, reason="ultralytics is not installed")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(why_no_gpu() is not None, reason="no GPU here"))]


def street(camera: CameraModel, gain: float = 1.0) -> CameraImage:
    bgr = cv2.resize(np.asarray(cv2.imread(str(PICTURE)), np.uint8), (camera.width_px, camera.height_px))
    return CameraImage(Stamp(1, 0.05), camera, np.clip(gain * bgr, 0, 255).astype(np.uint8))


def noise(camera: CameraModel, seed: int, low: int, high: int) -> CameraImage:
    """Painted stripes on a road of any brightness and grain."""
    generator = np.random.default_rng(seed)
    bgr: Image = generator.integers(low, high, (camera.height_px, camera.width_px, 3)).astype(np.uint8)
    for _ in range(6):
        ends = generator.integers(0, (camera.width_px, camera.height_px), (2, 2))
        colour = tuple(int(value) for value in generator.integers(0, 256, 3))
        cv2.line(bgr, tuple(map(int, ends[0])), tuple(map(int, ends[1])), colour, 6)
    return CameraImage(Stamp(seed, 0.05 * seed), camera, bgr)


def dusk(camera: CameraModel, grey: int) -> CameraImage:
    """Stripes a little lighter than an even, dark road, each by a level more: which are paint goes by the light."""
    bgr: Image = np.full((camera.height_px, camera.width_px, 3), grey, np.uint8)
    step = camera.width_px // 16
    for number in range(16):
        bgr[:, number * step : number * step + step // 4] += np.uint8(number + 1)
    return CameraImage(Stamp(grey, 0.05 * grey), camera, bgr)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("camera", [COMPACT_RIG, WIDE, ODD], ids=["640x360", "1280x720", "801x450"])
def test_paint_and_segments_equal_the_cpu_path_to_the_bit(camera: CameraModel, device: str) -> None:
    view = road_view(camera)
    assert view is not None
    columns, frame = columns_of(view), GpuFrame([camera], {}, device)
    pictures = [
        street(camera),
        street(camera, 0.2),
        street(camera, 2.0),
        *(dusk(camera, grey) for grey in (20, 35, 50)),
    ]
    pictures += [noise(camera, seed, low, low + span) for seed, (low, span) in enumerate([(0, 9), (90, 20), (0, 256)])]
    found = 0
    for image in pictures:
        mask, segments = frame.detect_paint(image, view, columns)
        expected, expected_segments = detect_paint_on_cpu(image, view, columns)
        for name in ("white", "yellow", "contrast", "lab", "lane_light"):
            np.testing.assert_array_equal(getattr(mask, name), getattr(expected, name), err_msg=name)
        np.testing.assert_array_equal(segments, expected_segments)
        found += len(segments)
    assert found > 20


@pytest.mark.parametrize("device", DEVICES)
def test_lanes_are_those_of_the_cpu_path(device: str) -> None:
    frame = GpuFrame([COMPACT_RIG], {}, device)
    ours, theirs = LaneDetector(frame.detect_paint), LaneDetector()
    for number in range(4):
        image = replace(street(COMPACT_RIG), stamp=Stamp(number, 0.05 * number))
        assert str(ours.update(image, 8.0, 0.0)) == str(theirs.update(image, 8.0, 0.0))


@NEEDS_ULTRALYTICS
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("camera", [COMPACT_RIG, WIDE], ids=["640x360", "1280x720"])
def test_detections_are_near_the_cpu_paths(camera: CameraModel, device: str) -> None:
    from perception.detection.networks import TorchNetwork

    size = (640, 384)
    frame = GpuFrame([camera], {camera.name: TorchNetwork(COMPACT, size, device)}, device)
    expected = Detector(TorchNetwork(COMPACT, size, "cpu")).detect(street(camera))
    found = frame.detect(street(camera))
    frame.detect(noise(camera, 1, 0, 256))
    assert frame.detect(street(camera)) == found  # replays are the same to the bit
    strong = [one for one in expected if one.confidence > 0.15]
    assert len(strong) > 4
    score_px = (0.01, 0.5) if device == "cpu" else (0.03, 1.0)
    for one in strong:
        near = [two for two in found if two.name == one.name and _gap_px(one.box_px, two.box_px) < score_px[1]]
        assert near, f"{one} is not among {found}"
        assert min(abs(two.confidence - one.confidence) for two in near) < score_px[0]


@pytest.mark.parametrize("device", DEVICES)
def test_the_same_picture_gives_the_same_answer_and_another_camera_none(device: str) -> None:
    frame = GpuFrame([COMPACT_RIG], {}, device)
    view = road_view(COMPACT_RIG)
    assert view is not None
    columns = columns_of(view)
    first = [np.array(part) for part in _parts(frame.detect_paint(street(COMPACT_RIG), view, columns))]
    frame.detect_paint(noise(COMPACT_RIG, 3, 0, 256), view, columns)
    for a, b in zip(first, _parts(frame.detect_paint(street(COMPACT_RIG), view, columns)), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="captured for"):
        frame.detect_paint(street(replace(COMPACT_RIG, z_m=2.0)), view, columns)
    with pytest.raises(ValueError, match="no network"):
        frame.detect(street(COMPACT_RIG))


def rig() -> list[CameraModel]:
    """Cameras of two sizes, and another of the first."""
    return [WIDE, replace(COMPACT_RIG, name="left", yaw_rad=1.5), replace(WIDE, name="rear", yaw_rad=3.1)]


@NEEDS_ULTRALYTICS
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("apart", [(), ("left",)], ids=["one network for all", "one camera has its own"])
def test_several_cameras_see_what_each_would_see_alone(apart: tuple[str, ...], device: str) -> None:
    from perception.detection.networks import TorchNetwork

    cameras, size = rig(), (640, 384)
    shared, own = TorchNetwork(COMPACT, size, device), TorchNetwork(COMPACT, size, device)
    networks = {camera.name: own if camera.name in apart else shared for camera in cameras}
    frame = GpuFrame(cameras, networks, device)
    view = road_view(cameras[0])
    assert view is not None
    columns = columns_of(view)
    images = [street(camera, 0.9**number) for number, camera in enumerate(cameras)]
    for image in images:
        frame.begin(image.camera.name, image.bgr)
    lanes, expected = frame.detect_paint(images[0], view, columns), detect_paint_on_cpu(images[0], view, columns)
    for ours, theirs in zip(_parts(lanes), _parts(expected), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for image in images:
        alone = GpuFrame([image.camera], {image.camera.name: shared}, device).detect(image)
        found = frame.detect(image)
        assert len(alone) > 4
        for one in (one for one in alone if one.confidence > 0.15):
            near = [two for two in found if two.name == one.name and _gap_px(one.box_px, two.box_px) < 1.0]
            assert min(abs(two.confidence - one.confidence) for two in near) < 0.03


@pytest.mark.parametrize("device", DEVICES)
def test_a_frame_that_lacks_a_picture_is_looked_at_when_asked(device: str) -> None:
    cameras = rig()
    frame, view = GpuFrame(cameras, {}, device), road_view(WIDE)
    assert view is not None
    columns = columns_of(view)
    for gain in (1.0, 0.5, 0.8):
        image = street(WIDE, gain)
        if gain != 0.5:  # the rear camera's picture never comes, and once none was begun
            frame.begin("left", street(cameras[1]).bgr)
            frame.begin(image.camera.name, image.bgr)
        found, expected = frame.detect_paint(image, view, columns), detect_paint_on_cpu(image, view, columns)
        for ours, theirs in zip(_parts(found), _parts(expected), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ValueError, match="captured for"):
        frame.begin("left", street(WIDE).bgr)
    with pytest.raises(ValueError, match="distinct names"):
        GpuFrame([WIDE, COMPACT_RIG], {}, device)


def _parts(seen: Any) -> list[Any]:
    mask, segments = seen
    return [mask.white, mask.yellow, mask.contrast, mask.lab, mask.lane_light, segments]


def _gap_px(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    return float(np.abs(np.subtract(a, b)).max())
