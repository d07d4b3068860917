"""Sets the scene of an episode for measurements: its weather and its traffic lights."""

from __future__ import annotations

from collections.abc import Mapping

import carla

from av_core.types import LightState
from av_stack.world.carla.actors import traffic_lights
from av_stack.world.carla.episode import Episode
from av_stack.world.carla.weather import weather_of

SILENCE_MAX_S = 60.0
"""Time without an answer after which the server counts as lost while measuring: a busy machine may be slow."""


class Stage:
    """The weather and the traffic lights of an episode; set them between ticks."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    def set_weather(self, name: str) -> None:
        with self._episode.session.answering("weather"):
            self._episode.world.set_weather(weather_of(name))

    def show_lights(self, states: Mapping[str, LightState], others: LightState) -> None:
        """Freeze every traffic light: those in `states` by their OpenDRIVE id, all others in the state `others`."""
        with self._episode.session.answering("lights"):
            for light in traffic_lights(self._episode.world):
                state = states.get(light.get_opendrive_id(), others)
                light.set_state(getattr(carla.TrafficLightState, state.value.capitalize()))
                light.freeze(True)
