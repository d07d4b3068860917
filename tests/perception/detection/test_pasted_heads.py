"""Signal heads pasted into training pictures: where they lie, what their boxes hold, and what has no box."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from perception.detection.classes import CLASSES
from perception.detection.foreign_batches import ForeignBatches, Pictures
from perception.detection.pasted_heads import HeadPaster, faded, free_place, heads_of
from perception.detection.resident import UNLEARNT

RED = float(CLASSES.index("light red"))
CAR = float(CLASSES.index("car"))


def picture_with_head() -> tuple[torch.Tensor, np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """A grey picture (160, 240, 3) with a magenta head of 16x40 px, and its boxes."""
    rgb = torch.full((160, 240, 3), 90, dtype=torch.uint8)
    rgb[60:100, 100:116] = torch.tensor([250, 10, 250], dtype=torch.uint8)
    return rgb, np.array([[RED, 100.0, 60.0, 116.0, 100.0]])


def test_a_pasted_head_is_where_its_box_is() -> None:
    rgb, boxes = picture_with_head()
    paste = HeadPaster(rgb[None], [boxes])
    plain = torch.full((12, 3, 160, 240), 90, dtype=torch.uint8)
    out, labels = paste(plain, [np.zeros((0, 5))] * 12, np.random.default_rng(1))
    assert (plain == 90).all(), "the pictures given stay as they are"
    pasted = [(picture, box) for picture, some in zip(out, labels, strict=True) for box in some]
    assert len(pasted) >= 5
    for picture, (kind, u0, v0, u1, v1) in pasted:
        assert kind == RED
        assert 0.0 <= u0 < u1 <= 240.0
        assert 0.0 <= v0 < v1 <= 160.0
        inside = picture[:, int(v0) : int(v1) + 1, int(u0) : int(u1) + 1].float()
        middle = inside[:, inside.shape[1] // 2, inside.shape[2] // 2]
        assert middle[0] > 2.0 * middle[1], "the head's colour"
        is_head = (picture[0].float() - picture[1].float()) > 40.0
        rows, columns = is_head.nonzero(as_tuple=True)
        within = (rows >= v0 - 2) & (rows <= v1 + 2) & (columns >= u0 - 2) & (columns <= u1 + 2)
        assert within.sum() >= 0.5 * (u1 - u0) * (v1 - v0)


def test_nothing_is_pasted_over_a_labelled_object() -> None:
    rgb, boxes = picture_with_head()
    paste = HeadPaster(rgb[None], [boxes])
    taken = np.array([[CAR, 0.0, 0.0, 240.0, 80.0], [UNLEARNT, 0.0, 80.0, 240.0, 160.0]])
    plain = torch.full((6, 3, 160, 240), 90, dtype=torch.uint8)
    out, labels = paste(plain, [taken] * 6, np.random.default_rng(2))
    assert torch.equal(out, plain)
    assert all(np.array_equal(some, taken) for some in labels)


def test_small_cut_and_other_objects_are_no_heads_to_paste() -> None:
    rgb, boxes = picture_with_head()
    small = np.array([[RED, 10.0, 10.0, 14.0, 20.0]])
    cut = np.array([[RED, 0.0, 10.0, 14.0, 60.0]])
    car = np.array([[CAR, 100.0, 60.0, 116.0, 100.0]])
    assert [len(heads_of(rgb, some)) for some in (boxes, small, cut, car)] == [1, 0, 0, 0]
    with pytest.raises(ValueError, match="no labelled signal head"):
        HeadPaster(rgb[None], [small])


def test_a_free_place_is_inside_and_touches_nothing() -> None:
    rng = np.random.default_rng(3)
    box = np.array([[CAR, 50.0, 0.0, 240.0, 160.0]])
    places = [free_place((30, 20), (160, 240), box, rng) for _ in range(40)]
    found = [place for place in places if place is not None]
    assert found
    assert all(left + 20 <= 50 and top + 30 <= 160 for top, left in found)
    assert free_place((200, 20), (160, 240), box, rng) is None


def test_the_mask_is_full_inside_and_fades_at_the_edges() -> None:
    mask = faded((20, 30), 5.0, torch.device("cpu"))
    assert mask[10, 15] == 1.0
    assert 0.0 < mask[0, 0] < 0.1


def test_a_batch_holds_own_pictures_whose_labels_lack_nothing() -> None:
    rgb, boxes = picture_with_head()
    both = Pictures(rgb[None], [boxes])
    batch = ForeignBatches(both, HeadPaster(both.rgb, both.boxes), both)(8, np.random.default_rng(4))
    assert batch["img"].shape[0] == 8
    lacks = batch["unlabelled"][:, 0]
    assert lacks.any(dim=1).tolist() == [False] * 2 + [True] * 6
    assert batch["img"].min() >= 0.0
    assert batch["img"].max() <= 255.0
