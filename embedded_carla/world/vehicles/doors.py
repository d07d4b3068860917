"""Doors of vehicles: which are open, and how they swing open.

As in CARLA, where a joint drives a door, as its own body, to the end of its range: the angular acceleration is a
strength times the angle that is left, minus a damping times the rate, and a door that closes is shut at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from embedded_carla.render.shapes.vehicles.door_frames import DoorFrame, door_frames
from embedded_carla.world.actors import Actor

DOOR_COUNT = 6
"""Number of doors. In CARLA's order: front left, front right, rear left, rear right, bonnet, boot."""

OPEN_RAD = math.radians(70.0)
"""Angle of an open door. CARLA's own angles are in its models, which are not published as text."""

STRENGTH_PER_S2 = 100.0
"""Angular acceleration of a door per angle that is left: CARLA's `DoorOpenStrength`."""

DAMPING_PER_S = 1.0
"""Deceleration of a door per angular velocity: the damping of CARLA's joint."""

MASS_KG = 25.0
STEP_S = 0.01
"""Longest step of a swinging door."""


@dataclass(slots=True)
class Swing:
    """One door that is not closed."""

    number: int
    frame: DoorFrame
    angle_rad: float = 0.0
    rate_radps: float = 0.0
    is_blocked: bool = False

    @property
    def is_moving(self) -> bool:
        return self.angle_rad < OPEN_RAD

    @property
    def momentum(self) -> float:
        """Angular momentum about the hinge, kg m2/s."""
        return MASS_KG * self.frame.length_m**2 / 3.0 * self.rate_radps


class Doors:
    """The open doors of one episode. `Actor.doors` has one bit for each of them."""

    def __init__(self) -> None:
        self._swings: dict[Actor, dict[int, Swing]] = {}

    def set(self, actor: Actor, doors: int) -> None:
        """Let exactly the doors in the bit mask `doors` be open, as far as the vehicle has them."""
        frames, swings = frames_of(actor), self._swings.pop(actor, {})
        mask = sum(1 << number for number in frames if doors >> number & 1)
        for number, frame in frames.items():
            if not mask >> number & 1:
                swings.pop(number, None)
            elif number not in swings:
                swings[number] = Swing(number, frame)
        if swings:
            self._swings[actor] = {number: swings[number] for number in sorted(swings)}
        actor.doors = mask

    def close_all(self, actor: Actor) -> None:
        """Close the vehicle's doors; call also before it is destroyed."""
        if actor.doors:
            self.set(actor, 0)

    def angles_rad(self, actor: Actor) -> tuple[float, ...]:
        """How far the doors front left, front right, rear left, rear right are open; () while all are closed."""
        swings = self._swings.get(actor)
        if swings is None:
            return ()
        return tuple(swings[number].angle_rad if number in swings else 0.0 for number in range(4))

    def __bool__(self) -> bool:
        return bool(self._swings)

    def __iter__(self) -> Iterator[tuple[Actor, Swing]]:
        """The doors that are not closed, in the order in which their vehicles first opened one."""
        return ((actor, swing) for actor, swings in self._swings.items() for swing in swings.values())

    def step(self, delta_s: float, block: Callable[[Actor, Swing, float], bool]) -> None:
        """Let the doors swing for `delta_s`. `block` tells whether something stops a door on its way to an angle."""
        for actor, swing in self:
            if swing.is_moving:
                _swing_on(swing, delta_s, partial(block, actor, swing))


def frames_of(actor: Actor) -> dict[int, DoorFrame]:
    """The doors that a vehicle has and that can open, by number."""
    blueprint = actor.blueprint
    if blueprint is None or blueprint.vehicle is None or actor.description.value("has_dynamic_doors") != "true":
        return {}
    return dict(door_frames(blueprint.vehicle.shape, blueprint.type_id))


def _swing_on(swing: Swing, delta_s: float, is_blocked: Callable[[float], bool]) -> None:
    steps = max(math.ceil(delta_s / STEP_S - 1e-9), 1)
    step_s = delta_s / steps
    for _ in range(steps):
        drive = STRENGTH_PER_S2 * (OPEN_RAD - swing.angle_rad) - DAMPING_PER_S * swing.rate_radps
        swing.rate_radps += drive * step_s
        angle = min(swing.angle_rad + swing.rate_radps * step_s, OPEN_RAD)
        if is_blocked(angle):
            swing.rate_radps, swing.is_blocked = 0.0, True
            return
        swing.angle_rad, swing.is_blocked = angle, False
        if not swing.is_moving:
            swing.rate_radps = 0.0
            return
