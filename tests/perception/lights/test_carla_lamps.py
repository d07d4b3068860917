"""States of signal heads in CARLA's own pictures, read in their labelled boxes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import pytest

from av_core.types import LightState
from av_stack.evaluation.lights import LabelledHead, read_head, unreal_heads

HELD_BACK = "Town02"
"""The coefficients were fitted without this town's pictures."""


def confusion(heads: list[LabelledHead], turned: bool = False) -> Counter[tuple[LightState, LightState]]:
    """(true state, state read) -> number of heads; `turned` reads the heads as horizontal ones."""
    out: Counter[tuple[LightState, LightState]] = Counter()
    for head in heads:
        bgr = cv2.imread(str(head.picture))
        assert bgr is not None
        u0, v0, u1, v1 = head.box_px
        box = (v0, u0, v1, u1) if turned else head.box_px
        picture = np.ascontiguousarray(bgr.transpose(1, 0, 2)) if turned else bgr
        out[head.state, read_head(np.asarray(picture, np.uint8), box)] += 1
    return out


def right_share(read: Counter[tuple[LightState, LightState]]) -> float:
    return sum(count for (true, told), count in read.items() if true is told) / sum(read.values())


@pytest.fixture(scope="module")
def every_head(data_dir: Path) -> list[LabelledHead]:
    return list(unreal_heads(data_dir / "carla_unreal"))


@pytest.fixture(scope="module")
def heads(every_head: list[LabelledHead]) -> list[LabelledHead]:
    """Heads that face the camera, 16 px and higher."""
    return [head for head in every_head if not head.is_aside and head.box_px[3] - head.box_px[1] >= 16.0]


@pytest.fixture(scope="module")
def held_back(heads: list[LabelledHead]) -> list[LabelledHead]:
    return [head for head in heads if HELD_BACK in head.picture.name]


def test_near_reds_are_not_yellow(heads: list[LabelledHead]) -> None:
    """Their lamps are orange discs: a threshold on green/red alone told yellow 51 times of 52."""
    near = [head for head in heads if head.box_px[3] - head.box_px[1] >= 32.0 and head.state is LightState.RED]
    assert len(near) >= 50
    assert set(confusion(near)) == {(LightState.RED, LightState.RED)}


def test_states_of_the_town_that_the_fit_never_saw(held_back: list[LabelledHead]) -> None:
    assert len(held_back) >= 30
    assert right_share(confusion(held_back)) >= 0.98


def test_no_red_is_green_or_yellow(heads: list[LabelledHead]) -> None:
    read = confusion(heads)
    assert right_share(read) >= 0.98
    assert read[LightState.RED, LightState.GREEN] == read[LightState.GREEN, LightState.RED] == 0
    reds = sum(count for (true, _), count in read.items() if true is LightState.RED)
    assert read[LightState.RED, LightState.YELLOW] <= 0.01 * reds


def test_heads_that_lie_on_their_side(held_back: list[LabelledHead]) -> None:
    """The pictures mirrored at their diagonal: red is on the left."""
    assert right_share(confusion(held_back, turned=True)) >= 0.98


def test_heads_seen_from_the_side_are_read_right_or_not_at_all(every_head: list[LabelledHead]) -> None:
    read = confusion([head for head in every_head if head.is_aside])
    wrong = {(true, told) for true, told in read if told not in (true, LightState.OFF, LightState.UNKNOWN)}
    assert sum(read.values()) >= 30
    assert wrong == set()
