"""Walkers of a scenario, which follow scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import carla
import numpy as np

from av_core.errors import ConfigError
from av_core.types import Float
from av_stack.world.spec import WalkerScript

ARRIVED_M = 0.4
"""A walker this near to its target has arrived."""

DROP_M = 1.0
"""Height above the road from which walkers are dropped."""


@dataclass(slots=True)
class _Walker:
    actor: carla.Walker
    script: WalkerScript
    target: tuple[float, float]
    heading: tuple[float, float] | None = None  # as last commanded; None while standing
    is_done: bool = False


class ScriptedWalkers:
    """Walkers that follow their scripts; call `step` once before each tick."""

    def __init__(self, world: carla.World, scripts: Sequence[WalkerScript], rng: np.random.Generator) -> None:
        self.actors: list[carla.Walker] = []
        self._walkers: list[_Walker] = []
        blueprints = sorted(world.get_blueprint_library().filter("walker.pedestrian.*"), key=lambda b: str(b.id))
        for script in scripts:
            blueprint = blueprints[int(rng.integers(len(blueprints)))]
            if blueprint.has_attribute("is_invincible"):
                blueprint.set_attribute("is_invincible", "false")
            actor = cast("carla.Walker | None", world.try_spawn_actor(blueprint, _place(world, script)))
            if actor is None:
                raise ConfigError(f"a walker cannot be spawned at {script.start}: the place is taken")
            self.actors.append(actor)
            self._walkers.append(_Walker(actor, script, script.end))

    def step(self, ego_xy: tuple[float, float]) -> None:
        """Start, steer and stop the walkers according to the positions of the ego (CARLA x, y) and their own."""
        for walker in self._walkers:
            if walker.is_done:
                continue
            at = walker.actor.get_location()
            if walker.heading is None and not _is_triggered(walker.script, (at.x, at.y), ego_xy):
                continue
            self._walk(walker, np.array([at.x, at.y]))

    def _walk(self, walker: _Walker, at: Float) -> None:
        gap = np.array(walker.target) - at
        if np.hypot(*gap) < ARRIVED_M:
            if not walker.script.is_patrol:
                walker.is_done = True
                walker.actor.apply_control(carla.WalkerControl(speed=0.0))
                return
            walker.target = walker.script.start if walker.target == walker.script.end else walker.script.end
            gap = np.array(walker.target) - at
        heading = gap / np.hypot(*gap)
        if walker.heading is not None and float(heading @ walker.heading) > 0.9998:
            return
        walker.heading = (float(heading[0]), float(heading[1]))
        direction = carla.Vector3D(walker.heading[0], walker.heading[1], 0.0)
        walker.actor.apply_control(carla.WalkerControl(direction, walker.script.speed_mps, False))


def _is_triggered(script: WalkerScript, at: tuple[float, float], ego_xy: tuple[float, float]) -> bool:
    if script.trigger_m is None:
        return True
    return float(np.hypot(at[0] - ego_xy[0], at[1] - ego_xy[1])) <= script.trigger_m


def _place(world: carla.World, script: WalkerScript) -> carla.Transform:
    x, y = script.start
    road = world.get_map().get_waypoint(carla.Location(x=x, y=y))
    yaw = float(np.degrees(np.arctan2(script.end[1] - y, script.end[0] - x)))
    return carla.Transform(carla.Location(x=x, y=y, z=road.transform.location.z + DROP_M), carla.Rotation(yaw=yaw))
