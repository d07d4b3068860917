"""Batches of two data sets, and the augmentation that stands for other renderers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np
import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="torch is not installed")

from perception.detection.classes import CLASSES, STOP_SIGN  # after the check for torch
from perception.detection.mixed_loader import UNLABELLED_FILE, MixedLoader, second_size, unlabelled_classes
from perception.detection.resident import ResidentLoader
from perception.detection.varied_augmentation import augment_varied, textured

BOX = (200.0, 120.0, 280.0, 200.0)


def write_data_set(root: Path, kind: str | None, height_px: int, pictures: int = 6) -> None:
    """Dark pictures with a bright block, whose label is `kind`; the block is ignored if that is None."""
    for folder in ("images", "objects", "episodes"):
        (root / folder / "train").mkdir(parents=True, exist_ok=True)
    picture = np.full((height_px, 640, 3), 20, np.uint8)
    picture[120:200, 200:280] = 235
    for number in range(pictures):
        cv2.imwrite(str(root / "images" / "train" / f"town_{number:05d}.jpg"), picture)
        row = {"class": kind, "box_px": BOX, "visible": 0.0 if kind is None else 1.0}
        (root / "objects" / "train" / f"town_{number:05d}.jsonl").write_text(json.dumps(row) + "\n")
    (root / "episodes" / "train" / "town.json").write_text("{}")


def test_a_batch_holds_both_data_sets_and_tells_what_the_second_lacks(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write_data_set(first, "car", 360)
    write_data_set(second, "truck", 380)
    (second / UNLABELLED_FILE).write_text(json.dumps([STOP_SIGN]))
    assert second_size(16) == 2
    lacks = unlabelled_classes(second)
    loader = MixedLoader(
        ResidentLoader(first, "train", 14, "cpu", 28, vary=augment_varied),
        ResidentLoader(second, "train", 2, "cpu", None, vary=augment_varied),
        lacks,
    )
    batches = list(loader)
    assert len(batches) == len(loader) == 2
    for batch in batches:
        assert batch["img"].shape == (16, 3, 384, 640)
        assert batch["img"].dtype == torch.uint8
        for number, kind in zip(batch["batch_idx"].tolist(), batch["cls"].flatten().tolist(), strict=True):
            assert CLASSES[int(kind)] == ("car" if number < 14 else "truck")
        assert not batch["unlabelled"][:14].any()
        assert (batch["unlabelled"][14:] == lacks).all()
        assert [CLASSES[i] for i in torch.nonzero(batch["unlabelled"][15, 0]).flatten()] == [STOP_SIGN]
    assert {int(n) for batch in batches for n in batch["batch_idx"]} & {14, 15}


def test_an_unknown_class_in_the_list_of_missing_labels_is_an_error(tmp_path: Path) -> None:
    assert not unlabelled_classes(tmp_path).any()
    (tmp_path / UNLABELLED_FILE).write_text('["tram"]')
    with pytest.raises(ValueError, match="tram"):
        unlabelled_classes(tmp_path)


def test_what_a_picture_lacks_costs_nothing_in_it_alone() -> None:
    from perception.detection.ignoring_loss import ignoring_loss
    from perception.detection.offline import ultralytics

    ultralytics()
    from ultralytics.cfg import get_cfg
    from ultralytics.nn.tasks import DetectionModel

    model = DetectionModel("yolo26n.yaml", nc=3, verbose=False).train()
    model.args = get_cfg()
    batch = {
        "img": torch.rand(2, 3, 64, 64), "batch_idx": torch.zeros(0), "cls": torch.zeros(0, 1),
        "bboxes": torch.zeros(0, 4), "ignored": torch.zeros(0, 5),
    }  # fmt: skip
    found = model(batch["img"])
    losses = []
    for lacking in (None, 0, 1):
        lacks = torch.zeros(2, 1, 3, dtype=torch.bool)
        if lacking is not None:
            lacks[lacking] = True
        losses.append(float(ignoring_loss(model)(found, {**batch, "unlabelled": lacks})[0].sum().detach()))
    everything, without_first, without_second = losses
    assert without_first > 0.0
    assert without_second > 0.0
    assert without_first + without_second == pytest.approx(everything, rel=1e-4)


def test_textures_keep_hues_and_cover_parts_only() -> None:
    flat = torch.full((24, 3, 128, 128), 100.0) * torch.tensor([1.2, 0.8, 0.4])[None, :, None, None]
    made = textured(flat, np.random.default_rng(4))
    ratio = made / flat
    assert torch.allclose(ratio[:, :1].expand_as(ratio), ratio, atol=1e-5)
    unchanged = (ratio[:, 0] - 1.0).abs() < 1e-6
    assert 0.05 < float(unchanged.float().mean()) < 0.95
    assert 0.02 < float(ratio[:, 0][~unchanged].log().std()) < 0.25


def test_varied_pictures_depend_on_the_seed_alone() -> None:
    pictures = torch.from_numpy(np.random.default_rng(1).integers(0, 255, (8, 3, 360, 640), dtype=np.uint8))
    boxes = [np.array([[0.0, *BOX]])] * 8
    one, again, other = (augment_varied(pictures, boxes, np.random.default_rng(seed)) for seed in (6, 6, 7))
    assert torch.equal(one["img"], again["img"])
    assert torch.equal(one["bboxes"], again["bboxes"])
    assert not torch.equal(one["img"], other["img"])
