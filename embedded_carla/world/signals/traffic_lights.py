"""Traffic light cycles: when each light is green, and which light governs a vehicle.

As in CARLA, the lights of one OpenDRIVE controller switch together, and the controllers of one junction take turns:
green, yellow, then red for all, then the next controller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled, inner
from embedded_carla.scene import SignalSite
from embedded_carla.types import Float, SignalColour

GREEN_S, YELLOW_S, RED_S = 10.0, 3.0, 2.0  # default durations; red is the all-red phase
_ONE_PLACE_M, _ONE_FACE_DEG = 0.25, 30.0
"""Two lights that are nearer to each other than this, and turned from each other by less, are one head."""

_PHASES = (SignalColour.GREEN, SignalColour.YELLOW, SignalColour.RED)


@dataclass(slots=True)
class _Controller:
    """Lights that switch together. `times_s` are the durations of green, yellow and the all-red phase that follows."""

    lights: list[str]
    times_s: list[float] = field(default_factory=lambda: [GREEN_S, YELLOW_S, RED_S])
    pole_index: int = 0


@dataclass(slots=True)
class _Group:
    """Controllers that take turns."""

    controllers: list[_Controller]
    turn: int = 0
    phase: int = 0
    elapsed_s: float = 0.0
    is_frozen: bool = False


class TrafficLights:
    """All traffic lights of a map; `ids` lists them in the order of `governing`'s indices.

    A new group starts with its first controller on green and all others on red.
    """

    def __init__(self, sites: Sequence[SignalSite], sequences: Sequence[tuple[str, Sequence[str]]]) -> None:
        """`sites` may include other signs, which are ignored; `sequences` as `Scenery.controller_sequences`."""
        lights = [s for s in sites if s.kind == "traffic_light"]
        self.ids = tuple(s.signal_id for s in lights)
        self._groups = _grouped(lights, {junction: list(order) for junction, order in sequences})
        self._place = {
            light: (group, controller)
            for group in self._groups
            for controller in group.controllers
            for light in controller.lights
        }
        self._state: dict[str, SignalColour] = {}
        group = {light: i for i, g in enumerate(self._groups) for c in g.controllers for light in c.lights}
        self._group_of = np.array([group[light] for light in self.ids], dtype=np.intp)
        self.reset_all()
        self._zones = _Zones(lights)

    def step(self, dt_s: float) -> None:
        for group in self._groups:
            if not group.is_frozen:
                self._advance(group, dt_s)

    def _advance(self, group: _Group, dt_s: float) -> None:
        group.elapsed_s += dt_s
        # At most one full round: durations of zero must not hold up the world.
        for _ in range(3 * len(group.controllers)):
            controller = group.controllers[group.turn]
            length = controller.times_s[group.phase]
            if group.elapsed_s < length - 1e-9:
                return
            group.elapsed_s -= length
            group.phase += 1
            if group.phase == len(_PHASES):
                group.phase = 0
                group.turn = (group.turn + 1) % len(group.controllers)
            self._show(group)

    def _show(self, group: _Group) -> None:
        for i, controller in enumerate(group.controllers):
            colour = _PHASES[group.phase] if i == group.turn else SignalColour.RED
            for light in controller.lights:
                self._state[light] = colour

    def state(self, signal_id: str) -> SignalColour:
        return self._state[signal_id]

    def set_state(self, signal_id: str, colour: SignalColour) -> None:
        """Show `colour` on this light until its group next changes phase; freeze the group to keep it."""
        self._place[signal_id]  # KeyError for an unknown light
        self._state[signal_id] = colour

    def take_up(self, signal_id: str, elapsed_s: float) -> None:
        """Let the light's group continue from what its lights show, `elapsed_s` after they last changed."""
        group = self._place[signal_id][0]
        group.phase, group.elapsed_s = _PHASES.index(SignalColour.RED), elapsed_s
        for turn, controller in enumerate(group.controllers):
            colour = self._state[controller.lights[0]]
            if colour in (SignalColour.GREEN, SignalColour.YELLOW):
                group.turn, group.phase = turn, _PHASES.index(colour)
                break
        self._show(group)

    def times_s(self, signal_id: str) -> tuple[float, float, float]:
        """Durations (green, yellow, red) of the light's controller, s; red is the all-red time after its turn."""
        green, yellow, red = self._place[signal_id][1].times_s
        return green, yellow, red

    def set_times(
        self,
        signal_id: str,
        *,
        green_s: float | None = None,
        yellow_s: float | None = None,
        red_s: float | None = None,
    ) -> None:
        """Change durations of the light's controller, which also changes the lights that switch with it."""
        times = self._place[signal_id][1].times_s
        for i, value in enumerate((green_s, yellow_s, red_s)):
            if value is not None:
                times[i] = max(value, 0.0)

    def freeze(self, signal_id: str, is_frozen: bool) -> None:
        """Stop or resume the clock of the light's group."""
        self._place[signal_id][0].is_frozen = is_frozen

    def freeze_all(self, is_frozen: bool) -> None:
        for group in self._groups:
            group.is_frozen = is_frozen

    def is_frozen(self, signal_id: str) -> bool:
        return self._place[signal_id][0].is_frozen

    def reset_group(self, signal_id: str) -> None:
        """Restart the light's group: first controller green, the others red."""
        self._reset(self._place[signal_id][0])

    def reset_all(self) -> None:
        for group in self._groups:
            self._reset(group)

    def _reset(self, group: _Group) -> None:
        group.turn = group.phase = 0
        group.elapsed_s = 0.0
        self._show(group)

    def elapsed_s(self, signal_id: str) -> float:
        """Time since the light's group last changed phase."""
        return self._place[signal_id][0].elapsed_s

    def all_elapsed_s(self) -> Float:
        """`elapsed_s` of each of `ids`."""
        return np.array([group.elapsed_s for group in self._groups], dtype=np.float64)[self._group_of]

    def all_states(self) -> NDArray[np.uint8]:
        """`state` of each of `ids`."""
        return np.array([self._state[light] for light in self.ids], dtype=np.uint8)

    def group(self, signal_id: str) -> list[str]:
        """All lights of the same junction, this one included."""
        return [light for c in self._place[signal_id][0].controllers for light in c.lights]

    def pole_index(self, signal_id: str) -> int:
        """Number of the light's controller within its junction."""
        return self._place[signal_id][1].pole_index

    def governing(self, points: Float) -> NDArray[np.int32]:
        """Index into `ids` of the light whose stop zone holds each of `points` (N, 3); -1 for none."""
        return self._zones.holding(points)

    def governing_bodies(
        self, slots: NDArray[np.intp], location: Float, rotation_deg: Float, half_length_m: Float
    ) -> NDArray[np.int32]:
        """As `governing`, for the vehicles in rows `slots`: the light at the front, else at the origin."""
        return self._zones.holding_bodies(slots, location, rotation_deg, half_length_m)


def _grouped(lights: Sequence[SignalSite], sequences: dict[str, list[str]]) -> list[_Group]:
    """One group per junction, controllers in the file's order; lights without a controller take a turn each.

    Of these, lights at one place switch together: one head hides the other.
    A controller belongs to the junction that lists it, else to that of its first light. Lights that have neither
    junction nor controller run alone.
    """
    home = {controller: junction for junction, order in sequences.items() for controller in order}
    members: dict[tuple[str, str], dict[str, list[str]]] = {}
    free = [site for site in lights if not site.controller_id]
    for site in lights:
        junction = home.get(site.controller_id, site.junction_id) if site.controller_id else site.junction_id
        alone = not junction and not site.controller_id
        first = next((other for other in free if _is_one_head(other, site)), site)
        key = (
            ("light", first.signal_id)
            if alone
            else ("junction", junction)
            if junction
            else ("controller", site.controller_id)
        )
        name = f"controller {site.controller_id}" if site.controller_id else f"light {first.signal_id}"
        members.setdefault(key, {}).setdefault(name, []).append(site.signal_id)
    groups = []
    for (_, junction), controllers in members.items():
        order = [f"controller {c}" for c in sequences.get(junction, [])]
        rank = {name: i for i, name in enumerate(order)}
        names = sorted(controllers, key=lambda name: rank.get(name, len(rank)))
        groups.append(_Group([_Controller(controllers[name], pole_index=i) for i, name in enumerate(names)]))
    return groups


def _is_one_head(one: SignalSite, other: SignalSite) -> bool:
    """Whether two lights of one junction are at one place and face the same traffic."""
    away_m = math.dist(one.pose.location, other.pose.location)
    turned_deg = math.remainder(one.pose.yaw_deg - other.pose.yaw_deg, 360.0)
    return one.junction_id == other.junction_id and away_m < _ONE_PLACE_M and abs(turned_deg) < _ONE_FACE_DEG


_YAW_DEG = 1
"""Column of rotations."""

_ZONE = np.dtype(
    [
        ("centre", np.float64, 3),
        ("half", np.float64, 3),
        ("cos", np.float64),  # of the yaw
        ("sin", np.float64),
        ("light", np.int32),
    ],
    align=True,
)
"""A stop zone, and the number of its light."""


class _Zones:
    """Stop zones of all lights."""

    def __init__(self, lights: Sequence[SignalSite]) -> None:
        zones = [(i, zone) for i, site in enumerate(lights) for zone in site.stop_zones]
        yaws = [math.radians(zone.yaw_deg) for _, zone in zones]
        rows = [(z.centre, z.half, math.cos(yaw), math.sin(yaw), i) for (i, z), yaw in zip(zones, yaws, strict=True)]
        self._zones = np.array(rows, dtype=_ZONE)

    def holding(self, points: Float) -> NDArray[np.int32]:
        out = np.full(len(points), -1, dtype=np.int32)
        _find_zones(self._zones, np.ascontiguousarray(points, dtype=np.float64), out)
        return out

    def holding_bodies(
        self, slots: NDArray[np.intp], location: Float, rotation_deg: Float, half_length_m: Float
    ) -> NDArray[np.int32]:
        out = np.empty(len(slots), dtype=np.int32)
        _find_zones_of_bodies(self._zones, slots, location, rotation_deg, half_length_m, out)
        return out


@inner
def _zone_at(zones: NDArray[np.void], x: float, y: float, z: float) -> int:
    """The light of the first zone that holds the point, or -1."""
    for k in range(len(zones)):
        zone = zones[k]
        dx, dy = x - zone.centre[0], y - zone.centre[1]
        ahead, aside = dx * zone.cos + dy * zone.sin, dy * zone.cos - dx * zone.sin
        if abs(ahead) <= zone.half[0] and abs(aside) <= zone.half[1] and abs(z - zone.centre[2]) <= zone.half[2]:
            return int(zone.light)
    return -1


@compiled
def _find_zones(zones: NDArray[np.void], points: Float, out: NDArray[np.int32]) -> None:
    """Write the light at each of `points` (n, 3) to `out`; -1 for none."""
    for i in range(len(points)):
        out[i] = _zone_at(zones, points[i, 0], points[i, 1], points[i, 2])


@compiled
def _find_zones_of_bodies(
    zones: NDArray[np.void], slots: NDArray[np.intp], location: Float, rotation_deg: Float, half_length_m: Float,
    out: NDArray[np.int32],
) -> None:  # fmt: skip
    """Write the light at each body's front, else at its origin, else -1, to `out`."""
    for i in range(len(slots)):
        x, y, z = location[slots[i], 0], location[slots[i], 1], location[slots[i], 2]
        yaw, half = math.radians(rotation_deg[slots[i], _YAW_DEG]), half_length_m[slots[i]]
        out[i] = _zone_at(zones, x + half * math.cos(yaw), y + half * math.sin(yaw), z)
        if out[i] < 0:
            out[i] = _zone_at(zones, x, y, z)
