"""States of signal heads in CARLA's own pictures, read from their lamps alone."""

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


def confusion(heads: list[LabelledHead]) -> Counter[tuple[LightState, LightState]]:
    """(true state, state read) -> number of heads."""
    out: Counter[tuple[LightState, LightState]] = Counter()
    for head in heads:
        bgr = cv2.imread(str(head.picture))
        assert bgr is not None
        out[head.state, read_head(np.asarray(bgr, np.uint8), head.box_px)] += 1
    return out


@pytest.fixture(scope="module")
def heads(data_dir: Path) -> list[LabelledHead]:
    """Heads that face the camera, 16 px and higher."""
    every = [head for head in unreal_heads(data_dir / "carla_unreal") if not head.is_aside]
    return [head for head in every if head.box_px[3] - head.box_px[1] >= 16.0]


def test_near_reds_are_not_yellow(heads: list[LabelledHead]) -> None:
    """Their lamps are orange discs: a threshold on green/red alone told yellow 51 times of 52."""
    near = [head for head in heads if head.box_px[3] - head.box_px[1] >= 32.0 and head.state is LightState.RED]
    read = confusion(near)
    assert read[LightState.RED, LightState.YELLOW] == 0
    assert read[LightState.RED, LightState.RED] >= 0.95 * len(near)


def test_states_of_the_town_that_the_fit_never_saw(heads: list[LabelledHead]) -> None:
    held = [head for head in heads if HELD_BACK in head.picture.name]
    read = confusion(held)
    right = sum(count for (true, told), count in read.items() if true is told)
    assert right >= 0.9 * len(held)
    assert read[LightState.RED, LightState.GREEN] == 0
    assert read[LightState.GREEN, LightState.RED] == 0


def test_no_red_is_green_and_no_green_red(heads: list[LabelledHead]) -> None:
    read = confusion(heads)
    assert read[LightState.RED, LightState.GREEN] == read[LightState.GREEN, LightState.RED] == 0
    right = sum(count for (true, told), count in read.items() if true is told)
    assert right >= 0.95 * sum(read.values())
