"""Shader programs: how many are kept, and that pictures do not depend on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embedded_carla.render import Renderer, programs
from embedded_carla.scene import CameraView
from embedded_carla.types import Transform, WeatherParameters
from tests.embedded_carla.render.street import traffic

VIEW = CameraView(64, 36, 90.0, Transform(-120.0, 1.8, 1.5))
NOON = WeatherParameters(sun_altitude_angle=60.0, sun_azimuth_angle=30.0)
NIGHT = replace(NOON, sun_altitude_angle=-30.0)
WEATHERS = (NOON, replace(NOON, fog_density=60.0), NIGHT, replace(NIGHT, precipitation=80.0, wetness=80.0))
KEPT = 10  # of 41 that these pictures need together
MOST_OF_ONE_PICTURE = 18


def pictures(renderer: Renderer) -> list[bytes]:
    """One in each weather: colour alone, colour and labels, labels alone in turn."""
    made = []
    for k, weather in enumerate(WEATHERS):
        picture = renderer.render(VIEW, traffic(), {}, weather, 1.0, rgb=k % 3 < 2, depth=False, labels=k % 3 > 0)
        layers = (picture.bgra, picture.tag, picture.instance)
        made.append(b"".join(np.ascontiguousarray(layer).tobytes() for layer in layers if layer is not None))
    return made


def test_programs_of_past_weathers_are_given_back(renderer: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = pictures(renderer)
    monkeypatch.setattr(programs, "KEPT", KEPT)
    most = 0
    for _ in range(2):
        for picture, first in zip(pictures(renderer), wanted, strict=True):
            assert picture == first
        most = max(most, len(renderer._programs._built))
    assert most <= KEPT + MOST_OF_ONE_PICTURE
