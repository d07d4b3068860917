"""Traffic lights that a scenario's script holds in one state."""

from __future__ import annotations

import carla

from av_core.errors import ConfigError
from av_core.types import LightState
from av_stack.world.carla.actors import traffic_lights

HELD_S = 3000.0
"""Length of a phase while a light is held, longer than any drive."""

_STATES = {
    LightState.RED: carla.TrafficLightState.Red,
    LightState.YELLOW: carla.TrafficLightState.Yellow,
    LightState.GREEN: carla.TrafficLightState.Green,
    LightState.OFF: carla.TrafficLightState.Off,
}

_Times = tuple[float, float, float]


class HeldSignals:
    """Holds traffic lights, named by OpenDRIVE id, in a state, and releases them.

    CARLA's `freeze` would stop every light of the map. So the phases of the light's junction are made very long
    instead, and are set back when no light of the junction is held any more.
    """

    def __init__(self, world: carla.World) -> None:
        self._lights = {light.get_opendrive_id(): light for light in traffic_lights(world)}
        self._groups: dict[str, list[str]] = {}
        self._held: set[str] = set()
        self._times: dict[str, _Times] = {}

    def show(self, signal_id: str, state: LightState | None) -> None:
        """Hold the light in `state`; None lets it go. Raises ConfigError for a light that the map does not have."""
        if signal_id not in self._lights:
            known = ", ".join(sorted(self._lights)) or "none"
            raise ConfigError(f"the map has no traffic light {signal_id}; it has {known}")
        if state is not None:
            self._held.add(signal_id)
            self._lengthen(signal_id)
            self._lights[signal_id].set_state(_STATES[state])
        elif signal_id in self._held:
            self._held.discard(signal_id)
            if not self._held & set(self._group(signal_id)):
                self._set_back(signal_id)

    def _group(self, signal_id: str) -> list[str]:
        """The ids of all lights of the light's junction."""
        if signal_id not in self._groups:
            group = self._lights[signal_id].get_group_traffic_lights()
            self._groups[signal_id] = [light.get_opendrive_id() for light in group]
        return self._groups[signal_id]

    def _lengthen(self, signal_id: str) -> None:
        for other in self._group(signal_id):
            if other not in self._times:
                light = self._lights[other]
                self._times[other] = (light.get_green_time(), light.get_yellow_time(), light.get_red_time())
                _set_times(light, (HELD_S, HELD_S, HELD_S))

    def _set_back(self, signal_id: str) -> None:
        for other in self._group(signal_id):
            _set_times(self._lights[other], self._times.pop(other))


def _set_times(light: carla.TrafficLight, times_s: _Times) -> None:
    light.set_green_time(times_s[0])
    light.set_yellow_time(times_s[1])
    light.set_red_time(times_s[2])
