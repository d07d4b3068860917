"""An episode staged for measurements: the caller sets its weather and traffic lights.

Does not import carla: `CarlaWorld` provides the module.
"""

from __future__ import annotations

from collections.abc import Mapping

from av_core.types import LightState
from av_stack.world.carla_world import CarlaWorld, weather_of


class StagedWorld(CarlaWorld):
    """A world for measurements without real-time needs; call `set_weather` and `show_lights` between ticks."""

    silence_max_s = 60.0  # a busy machine may be slow

    def set_weather(self, name: str) -> None:
        with self._answering("weather"):
            self._world.set_weather(weather_of(name))

    def show_lights(self, states: Mapping[str, LightState], others: LightState) -> None:
        """Freeze every traffic light: those in `states` by their OpenDRIVE id, all others in the state `others`."""
        with self._answering("lights"):
            for light in self._world.get_actors().filter("traffic.traffic_light*"):
                state = states.get(light.get_opendrive_id(), others)
                light.set_state(getattr(self._api.TrafficLightState, state.value.capitalize()))
                light.freeze(True)
