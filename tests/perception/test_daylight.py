"""Clear daylight, told from pictures; tests/av_stack/drives/test_vehicle_lights.py has those of the renderer."""

from __future__ import annotations

import numpy as np

from av_core.types import Image
from perception.daylight import BRIGHT_ABOVE, DARK_BELOW, Daylight, measure

RNG = np.random.default_rng(7)


def street(brightness: float, contrast: float) -> Image:
    """Blocks of 8 px, like façades and cars far off, about a mean grey level."""
    blocks = RNG.normal(brightness, contrast, (45, 80))
    grey = np.kron(blocks, np.ones((8, 8))).clip(0, 255).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)


DAY, NIGHT, FOG = street(120.0, 30.0), street(30.0, 25.0), street(160.0, 2.0)


def after(daylight: Daylight, pictures: list[Image | None], start_s: float = 0.0) -> bool:
    answer = False
    for number, picture in enumerate(pictures):
        answer = daylight.update(picture, start_s + 0.05 * number)
    return answer


def test_day_is_told_from_night_and_fog() -> None:
    assert after(Daylight(), [DAY] * 3)
    assert not after(Daylight(), [NIGHT] * 3)
    assert not after(Daylight(), [FOG] * 3)


def test_without_a_picture_the_lights_are_needed_and_the_last_answer_holds() -> None:
    assert not after(Daylight(), [None])
    daylight = Daylight()
    assert after(daylight, [DAY])
    assert after(daylight, [None] * 200, 1.0)


def test_a_bridge_overhead_does_not_switch_the_lights_but_a_tunnel_does() -> None:
    daylight = Daylight()
    assert after(daylight, [DAY] * 20)
    assert after(daylight, [NIGHT] * 10, 1.0)
    assert not after(daylight, [NIGHT] * 80, 1.5)
    assert after(daylight, [DAY] * 120, 6.0)


def test_the_own_low_beam_is_no_daylight() -> None:
    """It lights the road and what stands beside it."""
    lit = NIGHT.copy()
    lit[120:] = street(190.0, 30.0)[120:]
    assert lit.mean() > DAY.mean()
    assert not after(Daylight(), [NIGHT, *[lit] * 100])


def test_a_picture_between_the_thresholds_keeps_the_answer() -> None:
    between = street(75.0, 30.0)
    assert DARK_BELOW < measure(between)[0] < BRIGHT_ABOVE
    day, night = Daylight(), Daylight()
    assert after(day, [DAY, *[between] * 100])
    assert not after(night, [NIGHT, *[between] * 100])
