"""The network made of the project's kernels gives the rows of the plain one; here with the kernels' references."""

from __future__ import annotations

import copy
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
if find_spec("ultralytics") is None:
    pytest.skip("ultralytics is not installed", allow_module_level=True)

from cuda_ops.preprocess.op import preprocess  # noqa: E402
from cuda_ops.runtime.gpu import why_no_gpu  # noqa: E402
from perception.detection.offline import ultralytics  # noqa: E402
from perception.on_gpu.optimize_yolo import optimize_yolo  # noqa: E402

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(why_no_gpu() is not None, reason="no GPU here"))]


@pytest.fixture(scope="module")
def plain() -> Any:
    """A network with drawn weights, and biases so wide apart that scores differ."""
    torch.manual_seed(0)  # which the convolutions' weights are drawn with
    model = ultralytics().YOLO("yolo26n.yaml").model
    model.end2end = True
    model = model.fuse(verbose=False).eval()
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.data.normal_(0.0, 0.3, generator=generator)
    return model


@pytest.mark.parametrize("device", DEVICES)
def test_rows_are_the_plain_networks(plain: Any, device: str) -> None:
    bgr = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (60, 100, 3)).astype(np.uint8))
    quick = copy.deepcopy(plain).to(device).half()
    assert optimize_yolo(quick)
    with torch.inference_mode():
        rgb = preprocess([bgr], 64, 96, "bgr", torch.float32, corner=(58, 96))
        expected = plain(rgb)[0][0]
        three = quick(rgb.to(device).half().contiguous(memory_format=torch.channels_last))[0][0].cpu()
        packed = preprocess([bgr.to(device)], 64, 96, "bgr", corner=(58, 96), is_packed=True)
        found = quick(packed)[0][0].cpu()
        quick.model[-1].score_min = float(expected[100, 4])
        few = quick(packed)[0][0].cpu()
    assert torch.equal(found, three)
    count = len(expected)  # as many as there are places in so small a picture
    assert (len(found), count) == (300, 126)
    torch.testing.assert_close(found[:count, 4], expected[:count, 4], rtol=0.0, atol=5e-3)
    clear = [row for row in expected[:count] if row[4] > expected[count - 1, 4] + 5e-3]
    assert len(clear) > 20
    for row in clear:
        same = found[found[:, 5] == row[5]]
        assert float((same[:, :4] - row[:4]).abs().amax(dim=1).min()) < 0.5
    kept = int((few[:, 4] > 0.0).sum())
    assert 0 < kept < count
    assert torch.equal(few[:kept], found[:kept])
    assert not few[kept:].any()


def test_the_resnet_detectors_rows_stay_the_same() -> None:
    from perception.detection.resnet.network import CONFIGURATION, fuse_backbone

    torch.manual_seed(0)
    model = ultralytics().YOLO(str(CONFIGURATION)).model
    model.end2end = True
    model = model.fuse(verbose=False).eval()
    fuse_backbone(model)
    generator = torch.Generator().manual_seed(0)
    for parameter in model.model[4:].parameters():
        if parameter.dim() == 1:
            parameter.data.normal_(0.0, 0.3, generator=generator)
    quick = copy.deepcopy(model).half()
    assert not optimize_yolo(quick), "its first layer takes no packed pictures"
    rgb = torch.rand((1, 3, 64, 96), generator=generator)
    with torch.inference_mode():
        expected = model(rgb)[0][0]
        found = quick(rgb.half())[0][0]
    count = len(expected)
    torch.testing.assert_close(found[:count, 4], expected[:count, 4], rtol=0.0, atol=1e-2)
    clear = [row for row in expected if row[4] > expected[-1, 4] + 1e-2]
    assert len(clear) > 20
    for row in clear:
        same = found[found[:, 5] == row[5]]
        assert float((same[:, :4] - row[:4]).abs().amax(dim=1).min()) < 0.5
