"""Street lamps, controlled one by one as by CARLA's light manager.

A lamp that no client has set follows the day-night cycle: it is on while the sun is below the horizon. A lamp that a
client sets leaves the cycle until the sun next rises or sets. With the cycle switched off nothing changes by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.scene import F64
from embedded_carla.types import Vector3
from embedded_carla.wire import codec

STREET_GROUP = 2
LAST_GROUP = 4
DEFAULT_INTENSITY = 1000.0
BRIGHTEST = 1.0e9
DEFAULT_COLOUR = (255, 214, 170)
LEAST_SHOWN, MOST_SHOWN = 2, 50
"""Snapshots that announce a change: always the first `LEAST_SHOWN`, up to `MOST_SHOWN` until a client asks."""

AUTO, OFF, ON = -1, 0, 1


class StreetLamps:
    """The lamps of one episode, in the order of `Scenery.lamps`; ids count from 0."""

    def __init__(self, locations: F64, sun_altitude_deg: float) -> None:
        count = len(locations)
        self._location = locations
        self._mode: NDArray[np.int8] = np.full(count, AUTO, dtype=np.int8)
        self._intensity = np.full(count, DEFAULT_INTENSITY)
        self._colour = np.tile(np.array(DEFAULT_COLOUR, dtype=np.float64), (count, 1))
        self._group: NDArray[np.int64] = np.full(count, STREET_GROUP, dtype=np.int64)
        self._is_dark = sun_altitude_deg < 0.0
        self._follows_sun = True
        self._announced = MOST_SHOWN
        self.version = 0
        """Increases whenever a lamp's light changes."""

    def __len__(self) -> int:
        return len(self._location)

    def is_on(self) -> NDArray[np.bool_]:
        """Whether each lamp is lit, (L,)."""
        lit: NDArray[np.bool_] = np.where(self._mode == AUTO, self._is_dark, self._mode == ON)
        return lit

    def rows(self) -> list[codec.Wire]:
        """CARLA's LightState of every lamp."""
        lit = self.is_on()
        return [
            (i, self._location[i].tolist(), float(self._intensity[i]), int(self._group[i]),
             tuple(int(c) for c in self._colour[i]), bool(lit[i]))
            for i in range(len(self))
        ]  # fmt: skip

    def asked(self) -> None:
        """Note that a client has fetched the states: announcements may end."""
        if self._announced >= LEAST_SHOWN:
            self._announced = MOST_SHOWN

    def set(self, lamp: int, *, is_on: bool, intensity: float, colour: Vector3, group: int) -> None:
        """Set one lamp. Ids that do not exist are ignored, as in CARLA."""
        if 0 <= lamp < len(self):
            self._mode[lamp] = ON if is_on else OFF
            self._intensity[lamp], self._colour[lamp], self._group[lamp] = intensity, colour, group
            self._changed()

    def follow_sun(self, follows: bool) -> None:
        """Switch the day-night cycle on or off; when off, every lamp stays as it is now."""
        if not follows:
            self._mode[:] = np.where(self.is_on(), ON, OFF)
        self._follows_sun = follows
        self._changed()

    def set_sun(self, altitude_deg: float) -> None:
        """Set the sun's altitude, deg. When it crosses the horizon, all lamps return to the day-night cycle.

        With the cycle switched off, nothing changes.
        """
        is_dark = altitude_deg < 0.0
        if is_dark != self._is_dark:
            self._is_dark = is_dark
            if self._follows_sun:
                self._mode[:] = AUTO
                self._changed()

    def _changed(self) -> None:
        self.version += 1
        self._announced = 0

    def announce(self) -> bool:
        """Whether the next snapshot must tell clients to fetch the states again; call once per snapshot."""
        if self._announced >= MOST_SHOWN:
            return False
        self._announced += 1
        return True

    def mode(self) -> NDArray[np.int8]:
        """Lamp modes (L,), as `SceneState.lamp_mode`."""
        return self._mode.copy()

    def colour(self) -> F64:
        """Lamp colours (L, 3), sRGB 0 to 1; negative for the lamp's own colour."""
        own = (self._colour == DEFAULT_COLOUR).all(axis=1, keepdims=True)
        return np.where(own, -1.0, self._colour / 255.0)

    def intensity(self) -> F64:
        """Lamp intensities (L,), relative to the lamp's own."""
        relative: F64 = self._intensity / DEFAULT_INTENSITY
        return relative


def state_from_wire(value: Any) -> dict[str, Any]:
    """Decode CARLA's LightState to the arguments of `StreetLamps.set`."""
    number, _location, intensity, group, colour, active = codec.items(value, 6, "light state")[:6]
    red, green, blue = (codec.integer(c, "light colour", 0, codec.U8) for c in codec.items(colour, 3, "colour")[:3])
    return {
        "lamp": codec.integer(number, "light id"), "is_on": bool(active),
        "intensity": max(codec.number(intensity, "light intensity", high=BRIGHTEST), 0.0),
        "colour": (float(red), float(green), float(blue)),
        "group": codec.integer(group, "light group", 0, LAST_GROUP),
    }  # fmt: skip


def nearest_lamps(lamps: F64, posts: Sequence[Vector3], reach_m: float) -> NDArray[np.intp]:
    """Index of the lamp nearest to each post in the plan view; -1 if none is within `reach_m`."""
    if not len(lamps) or not len(posts):
        return np.full(len(posts), -1, dtype=np.intp)
    distance = np.linalg.norm(np.asarray(posts)[:, None, :2] - lamps[None, :, :2], axis=2)
    nearest = distance.argmin(axis=1)
    return np.where(distance[np.arange(len(posts)), nearest] <= reach_m, nearest, -1)
