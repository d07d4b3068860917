"""`lab_mask` as an operator: the CPU's answer on a GPU too; what does not fit is named."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.errors import CudaOpsError  # noqa: E402
from cuda_ops.lab.host import LabRange  # noqa: E402
from cuda_ops.lab.op import lab_mask  # noqa: E402
from cuda_ops.runtime.gpu import why_no_gpu  # noqa: E402

WHITE = LabRange((170.0, 0.0, 0.0), (255.0, 255.0, 255.0))
YELLOW = LabRange((80.0, 110.0, 150.0), (255.0, 160.0, 255.0))


def test_paint_is_told_by_its_colour() -> None:
    image = np.full((2, 3, 3), 90, np.uint8)
    image[0, 1], image[1, 2] = (250, 250, 250), (60, 200, 230)
    assert lab_mask(torch.from_numpy(image), WHITE, YELLOW).tolist() == [[0, 1, 0], [0, 0, 3]]


@pytest.mark.skipif(why_no_gpu() is not None, reason="no GPU here")
@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("size", [(1, 1), (7, 13), (97, 131), (719, 1279), (720, 1280)])
def test_a_gpu_gives_what_numpy_gives(size: tuple[int, int], channels: int) -> None:
    image = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (*size, channels)).astype(np.uint8))
    assert torch.equal(lab_mask(image.cuda(), WHITE, YELLOW).cpu(), lab_mask(image, WHITE, YELLOW))


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(CudaOpsError, match=r"expected \(H, W, 3 or 4\)"):
        lab_mask(torch.zeros((4, 4, 2), dtype=torch.uint8), WHITE, YELLOW)
    with pytest.raises(CudaOpsError, match="image is float32"):
        lab_mask(torch.zeros((4, 4, 3)), WHITE, YELLOW)
