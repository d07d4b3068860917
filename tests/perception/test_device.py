"""Which device perception runs on, and the one line that says so."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import cv2
import numpy as np
import pytest

from av_core.errors import ConfigError
from av_core.types import CameraImage, CameraModel, Stamp
from perception.detection.weights import COMPACT
from perception.device import build_backend, resolve_device

NEEDS_OPENVINO = pytest.mark.skipif(find_spec("openvino") is None, reason="openvino is not installed")
FRONT = CameraModel("front", 640, 360, 1.05, 2.1, 0.0, 1.6)
STREET, STAMP = Path(__file__).parent / "pictures" / "detector_street.jpg", Stamp(0, 0.0)


def has_gpu() -> bool:
    if find_spec("torch") is None:
        return False
    from cuda_ops.runtime.gpu import why_no_gpu

    return why_no_gpu() is None


def test_the_cpu_is_taken_where_it_is_asked_for() -> None:
    assert resolve_device("cpu", True) == ("cpu", "perception on the CPU")


def test_other_words_are_refused() -> None:
    with pytest.raises(ConfigError, match="--device 'tpu': allowed are auto, cuda, cpu"):
        resolve_device("tpu", False)


@pytest.mark.skipif(has_gpu(), reason="a GPU is here")
def test_without_a_gpu_auto_is_the_cpu_and_cuda_an_error_each_with_the_reason_in_one_line() -> None:
    device, line = resolve_device("auto", False)
    assert device == "cpu"
    assert line.startswith("perception on the CPU: ")
    reason = line.removeprefix("perception on the CPU: ")
    assert reason
    assert "\n" not in reason
    with pytest.raises(ConfigError) as error:
        resolve_device("cuda", False)
    assert str(error.value) == f"--device cuda: {reason}"


@NEEDS_OPENVINO
def test_cpu_backend_detects_only_with_weights() -> None:
    assert build_backend([FRONT], None, "cpu").detect is None
    assert build_backend([FRONT], COMPACT, "cpu").detect is not None


@NEEDS_OPENVINO
def test_several_cameras_share_one_network_and_keep_their_pictures_apart() -> None:
    street = np.asarray(cv2.imread(str(STREET)), dtype=np.uint8)
    wide = CameraModel("wide", 1280, 720, math.radians(90.0), 2.1, 0.0, 1.6)
    other = replace(FRONT, name="other")
    pictures = {
        FRONT.name: CameraImage(STAMP, FRONT, street),
        wide.name: CameraImage(STAMP, wide, street.repeat(2, axis=0).repeat(2, axis=1)),
        other.name: CameraImage(STAMP, other, np.ascontiguousarray(street[:, ::-1])),
    }
    backend = build_backend([FRONT, wide, other], COMPACT, "cpu")
    assert backend.detect is not None
    assert backend.begin is not None
    for name, image in pictures.items():
        backend.begin(name, image.bgr)
    near, scaled, mirrored = (backend.detect(image) for image in pictures.values())
    alone = build_backend([FRONT], COMPACT, "cpu").detect
    assert alone is not None
    assert near == alone(pictures[FRONT.name])
    assert len(near) > 2
    assert mirrored == alone(replace(pictures[other.name], camera=FRONT))
    assert mirrored != near
    assert [one.name for one in scaled] == [one.name for one in near]  # scaled down it is the same picture
    for one, twice in zip(near, scaled, strict=True):
        np.testing.assert_allclose(np.array(twice.box_px) + 0.5, 2.0 * (np.array(one.box_px) + 0.5), atol=0.01)


@pytest.mark.skipif(not has_gpu(), reason="no GPU here")
def test_gpu_backend() -> None:
    assert resolve_device("auto", False)[0] == resolve_device("cuda", False)[0] == "cuda"
    assert build_backend([FRONT], None, "cuda").detect is None
