"""Training pictures get looks of other cameras: by seed, of the same size, without moving anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch")

from perception.detection.photometric_augmentation import augment_photometric


def street() -> torch.Tensor:
    """Two pictures (2, 3, 48, 80): grey with a bright red spot."""
    pictures = torch.full((2, 3, 48, 80), 90, dtype=torch.uint8)
    pictures[:, 0, 20:24, 40:44] = 250
    pictures[:, 1:, 20:24, 40:44] = 20
    return pictures


def test_looks_follow_the_seed_and_differ_between_pictures() -> None:
    one, again, other = (augment_photometric(street(), np.random.default_rng(seed), share=1.0) for seed in (1, 1, 2))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert not torch.equal(one[0], one[1])


def test_pictures_without_a_look_stay_as_they_are() -> None:
    assert torch.equal(augment_photometric(street(), np.random.default_rng(1), share=0.0), street().float())


@pytest.mark.parametrize("seed", range(8))
def test_a_red_spot_stays_red_and_in_its_place(seed: int) -> None:
    look = augment_photometric(street(), np.random.default_rng(seed), share=1.0)[0].clamp(0.0, 255.0)
    redness = look[0] - 0.5 * (look[1] + look[2])
    row, column = divmod(int(redness.argmax()), look.shape[2])
    assert 18 <= row < 26
    assert 38 <= column < 46
    assert torch.isfinite(look).all()
