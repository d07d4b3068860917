"""Numbers on signs drawn anew, in both ways that maps write them; all else stays."""

from __future__ import annotations

import re

import numpy as np

from av_stack.world.carla.capture.speed_signs import redraw_speed_limits
from perception.detection.classes import SPEED_LIMITS_KMH

SIGNAL = (
    '<signal name="Speed_90" id="10" s="10" t="-5.6" type="274" subtype="90" value="9.0000000000000000e+1" text="90"/>'
)
OBJECT = '<object type="-1" name="Speed_30" id="30" s="4.0" t="1.0"/>'
OTHERS = '<road id="30"><type><speed max="90"/></type><signal name="Stop" id="90" type="206" value="30"/></road>'


def numbers(text: str, key: str) -> list[int]:
    return [int(n) for n in re.findall(rf'{key}="(?:speed_)?(\d+)"', text, re.IGNORECASE)]


def test_every_sign_gets_one_number_in_all_its_attributes_and_all_numbers_come() -> None:
    seen = set()
    for seed in range(60):
        signal = redraw_speed_limits(SIGNAL, np.random.default_rng(seed))
        (number,) = {*numbers(signal, "name"), *numbers(signal, "subtype"), *numbers(signal, "value")} | {
            *numbers(signal, "text")
        }
        assert 'id="10" s="10" t="-5.6"' in signal
        (other,) = numbers(redraw_speed_limits(OBJECT, np.random.default_rng(seed)), "name")
        seen |= {number, other}
    assert seen == set(SPEED_LIMITS_KMH)


def test_roads_lights_and_other_signs_stay_and_the_same_seed_gives_the_same_map() -> None:
    assert redraw_speed_limits(OTHERS, np.random.default_rng(1)) == OTHERS
    whole = OTHERS + SIGNAL + OBJECT
    first, again = (redraw_speed_limits(whole, np.random.default_rng(1)) for _ in range(2))
    assert first == again != whole
