"""What training does to pictures and boxes."""

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

from perception.detection.classes import CLASSES  # after the check for torch
from perception.detection.resident import FREQUENCY_MIN, UNLEARNT, ResidentLoader, augment, repeats

BOX = (200.0, 120.0, 280.0, 200.0)


def picture(box: tuple[float, float, float, float] = BOX) -> torch.Tensor:
    """Dark, with a bright block in `box`."""
    out = np.full((360, 640, 3), 20, np.uint8)
    out[int(box[1]) : int(box[3]), int(box[0]) : int(box[2])] = 235
    return torch.from_numpy(out).permute(2, 0, 1)


def row(name: str, box: tuple[float, float, float, float] = BOX) -> np.ndarray:
    return np.array([[CLASSES.index(name), *box]])


def test_boxes_follow_what_they_surround() -> None:
    count = 24
    batch = augment(torch.stack([picture()] * count), [row("car")] * count, np.random.default_rng(3))
    assert batch["img"].shape == (count, 3, 384, 640)
    assert batch["img"].dtype == torch.uint8
    widths = set()
    for i in range(count):
        chosen = batch["bboxes"][batch["batch_idx"] == i].numpy()
        if not len(chosen):
            continue  # it was moved out of the picture, for the most part
        u, v, w, h = chosen[0] * [640, 384, 640, 384]
        grey = batch["img"][i].numpy().astype(float).mean(axis=0)
        bright = grey > 0.75 * np.median(grey[int(v - h / 4) : int(v + h / 4), int(u - w / 4) : int(u + w / 4)])
        rows, columns = np.flatnonzero(bright.any(axis=1)), np.flatnonzero(bright.any(axis=0))
        seen = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
        assert (u - w / 2, v - h / 2, u + w / 2, v + h / 2) == pytest.approx(seen, abs=2.0)
        widths.add(round(float(w)))
    assert len(widths) > 8


def test_pictures_with_signs_are_never_mirrored() -> None:
    left = (10.0, 120.0, 90.0, 200.0)
    count = 32
    pictures = torch.stack([picture(left)] * count)
    signs = augment(pictures, [row("speed limit 30", left)] * count, np.random.default_rng(1))
    assert float(signs["bboxes"][:, 0].max()) < 0.5
    cars = augment(pictures, [row("car", left)] * count, np.random.default_rng(1))
    assert float(cars["bboxes"][:, 0].max()) > 0.5


def test_what_is_too_small_or_hidden_is_set_apart() -> None:
    count = 48
    small, hidden = (300.0, 100.0, 304.0, 107.0), (UNLEARNT, 100.0, 100.0, 140.0, 140.0)
    boxes = [np.array([row("pedestrian", small)[0], hidden])] * count
    batch = augment(torch.stack([picture()] * count), boxes, np.random.default_rng(5))
    heights = (384 * batch["bboxes"][:, 3]).numpy()
    assert (heights >= 6.0).all()
    assert set(batch["cls"].flatten().tolist()) == {CLASSES.index("pedestrian")}
    for number in range(count):
        ignored = batch["ignored"][batch["ignored"][:, 0] == number]
        learnt = int((batch["batch_idx"] == number).sum())
        assert len(ignored) + learnt <= 2
        assert len(ignored) >= 1 - learnt  # the small one is either, where it is still in the picture
    assert 0 < len(heights) < count


def test_pictures_moved_alone_keep_their_pixels() -> None:
    rng = np.random.default_rng(2)
    noise = torch.from_numpy(rng.integers(0, 255, (8, 3, 360, 640), dtype=np.uint8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("perception.detection.resident.UNCHANGED_SHARE", 1.0)
        patch.setattr("perception.detection.resident.recolour", lambda pictures, rng: pictures.round())
        batch = augment(noise, [row("stop sign")] * 8, rng)
    for number in range(8):
        u, v = batch["bboxes"][number, :2] * torch.tensor([640, 384]) - torch.tensor([240.0, 160.0])
        assert u == 0
        assert torch.equal(batch["img"][number, :, int(v) : int(v) + 360], noise[number])


def test_nothing_is_asked_where_an_object_is_ignored() -> None:
    from perception.detection.ignoring_loss import touches_ignored

    anchors = torch.tensor([[4.0, 4.0], [12.0, 4.0], [20.0, 4.0], [28.0, 4.0]])
    ignored = torch.tensor([[1.0, 0.5, 0.5, 0.125, 0.5]])  # 14 to 18 px of 32
    is_ignored = touches_ignored(anchors, torch.full((4, 1), 8.0), ignored, torch.zeros(2, 3, 8, 32))
    assert is_ignored.tolist() == [[False] * 4, [False, True, True, False]]
    assert not touches_ignored(anchors, torch.full((4, 1), 8.0), ignored[:0], torch.zeros(2, 3, 8, 32)).any()


def test_pictures_of_rare_classes_come_more_often() -> None:
    boxes = [row("car")] * 380 + [row("stop sign")] * 5 + [np.concatenate([row("car"), row("light off")])] * 15
    often = repeats([*boxes, np.zeros((0, 5))] * 5)[:400]
    assert often[:380] == pytest.approx(1.0)
    assert often[380:385] == pytest.approx(np.sqrt(FREQUENCY_MIN * 401 / 5))
    assert often[385:] == pytest.approx(np.sqrt(FREQUENCY_MIN * 401 / 15))


def test_the_loader_takes_in_episodes_that_are_finished_later(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no finished episode"):
        ResidentLoader(tmp_path, "train", 2, "cpu", None)
    _write_episode(tmp_path, "town_1", 3)
    loader = ResidentLoader(tmp_path, "train", 2, "cpu", 4)
    assert [len(batch["img"]) for batch in loader] == [2, 2]
    _write_episode(tmp_path, "town_2", 5)
    assert len(list(loader)) == len(loader) == 2
    assert len(loader.labels) == 3  # told to the trainer: what was there at the start
    everything = ResidentLoader(tmp_path, "train", 2, "cpu", None)
    assert len(everything) == 4
    assert {int(row[0]) for row in everything.labels[0]["cls"]} == {CLASSES.index("car")}  # the bus is hardly seen


def _write_episode(root: Path, name: str, pictures: int) -> None:
    for kind in ("images", "objects", "episodes"):
        (root / kind / "train").mkdir(parents=True, exist_ok=True)
    for number in range(pictures):
        stem = f"{name}_{number:05d}"
        cv2.imwrite(str(root / "images" / "train" / f"{stem}.jpg"), picture().permute(1, 2, 0).numpy())
        objects = [{"class": "car", "box_px": BOX, "visible": 0.3}, {"class": "bus", "box_px": BOX, "visible": 0.2}]
        text = "".join(json.dumps(o) + "\n" for o in objects)
        (root / "objects" / "train" / f"{stem}.jsonl").write_text(text)
    (root / "episodes" / "train" / f"{name}.json").write_text("{}")
