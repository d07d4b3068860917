"""What the first picture would wait for is made when its sensor is: CARLA's own utilities wait one second for it."""

from __future__ import annotations

import dataclasses

import pytest

from embedded_carla.handlers.actors import spawn
from embedded_carla.maps import MapLibrary
from embedded_carla.maps.loader import MapLoader
from embedded_carla.render import Renderer
from embedded_carla.render.look import Look
from embedded_carla.scene import Scenery
from embedded_carla.sensing import drawing
from embedded_carla.simulation import Simulation
from embedded_carla.wire.streaming import StreamHub

SOMEWHERE = [[0.0, 0.0, 20.0], [0.0, 0.0, 0.0]]


def test_the_renderer_is_there_before_the_first_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Counted(Renderer):
        def __init__(self, scenery: Scenery, look: Look) -> None:
            made.append(scenery)
            super().__init__(scenery, look)

    monkeypatch.setattr(drawing, "Renderer", Counted)
    simulation = Simulation(MapLoader(MapLibrary(), 0), StreamHub(lambda _: None), 2001, "country_road", 0)
    try:
        spawn(simulation, [1, "sensor.other.gnss", []], SOMEWHERE, None)
        assert not made
        drawn = simulation.settings
        simulation.settings = dataclasses.replace(drawn, no_rendering_mode=True)
        spawn(simulation, [2, "sensor.camera.rgb", []], SOMEWHERE, None)
        assert not made
        simulation.settings = drawn
        spawn(simulation, [3, "sensor.lidar.ray_cast", []], SOMEWHERE, None)
        assert len(made) == 1
        spawn(simulation, [4, "sensor.camera.depth", []], SOMEWHERE, None)
        assert len(made) == 1
    finally:
        simulation.close()
